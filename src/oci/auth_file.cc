#include "oci/auth_file.h"

#include <algorithm>
#include <optional>

#include <fmt/format.h>

#include "base/base64.h"
#include "base/json_text.h"
#include "base/text.h"
#include "oci/reference.h"

namespace mesh::oci {

namespace {

using nlohmann::json;

constexpr std::string_view kDockerServer = "https://index.docker.io/v1/";
constexpr std::string_view kDockerKey = "docker.io";

/// A key as it is compared: `host`, or `host/ns/repo`. One with a scheme means the host alone.
std::string comparable_key(std::string_view written) {
  const auto scheme = written.find("://");
  if (scheme != std::string_view::npos) {
    written.remove_prefix(scheme + 3);
    written = written.substr(0, written.find('/'));
    written = written.substr(written.rfind('@') + 1);  // a user in a URL is no part of the host
  }
  while (written.ends_with('/')) {
    written.remove_suffix(1);
  }
  const auto slash = written.find('/');
  const std::string host = credential_key(written.substr(0, slash));
  const std::string_view path = slash == std::string_view::npos ? "" : written.substr(slash);
  return path == "/v1" || path == "/v2" ? host : host + std::string(path);
}

/// `docker-credential-NAME` becomes a program's name.
bool is_helper_name(std::string_view name) {
  const auto fits = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
           c == '_' || c == '.';
  };
  return !name.empty() && std::all_of(name.begin(), name.end(), fits);
}

std::unexpected<Error> bad_auth(const std::string& file, std::string_view what,
                                std::string_view why) {
  return fail(Code::Corrupt, fmt::format("{}: {}{}", printable(file, 200), what, why),
              "log in again with podman or docker, or repair the file");
}

std::string auth_text(const json& object, const char* key) {
  const auto found = object.find(key);
  return found != object.end() && found->is_string() ? found->get<std::string>() : std::string();
}

/// `user:password` of an `auth` field; the password may hold colons, and docker ends it with zeros.
std::optional<BasicPair> decoded_pair(std::string_view auth) {
  const auto text = from_base64(auth);
  const auto colon = text ? text->find(':') : std::string::npos;
  if (colon == std::string::npos) {
    return std::nullopt;
  }
  std::string password = text->substr(colon + 1);
  password.erase(password.find_last_not_of('\0') + 1);
  return BasicPair{text->substr(0, colon), std::move(password)};
}

/// What one entry of `auths` holds; nothing for an empty one, which docker writes beside a store.
Result<std::vector<CredentialSource>> read_entry(const json& entry) {
  std::vector<CredentialSource> out;
  if (!entry.is_object()) {
    return entry.is_null() ? Result<std::vector<CredentialSource>>(out)
                           : fail(Code::Corrupt, "is not an object");
  }
  if (auto token = auth_text(entry, "registrytoken"); !token.empty()) {
    out.emplace_back(RegistryToken{std::move(token)});
  }
  if (auto token = auth_text(entry, "identitytoken"); !token.empty()) {
    out.emplace_back(IdentityToken{std::move(token)});
  }
  const std::string auth = auth_text(entry, "auth");
  BasicPair pair{auth_text(entry, "username"), auth_text(entry, "password")};
  if (!auth.empty()) {
    auto decoded = decoded_pair(auth);
    if (!decoded) {
      return fail(Code::Corrupt, "has an \"auth\" that is not user:password in base 64");
    }
    pair = std::move(*decoded);
  }
  if (!pair.user.empty() && !pair.password.empty()) {
    out.emplace_back(std::move(pair));
  }
  return out;
}

/// The keys to look for, the most particular first: `host/a/b`, `host/a`, `host`.
std::vector<std::string> keys_for(std::string_view domain, std::string_view path) {
  std::vector<std::string> out;
  const std::string host = credential_key(domain);
  while (!path.empty()) {
    out.push_back(host + "/" + std::string(path));
    const auto slash = path.rfind('/');
    path = slash == std::string_view::npos ? std::string_view() : path.substr(0, slash);
  }
  out.push_back(host);
  return out;
}

}  // namespace

Result<AuthFile> AuthFile::parse(std::string_view bytes, const std::string& name) {
  const auto root = parse_json(bytes);
  if (!root || !root->is_object()) {
    return bad_auth(name, "", root ? "it is not a JSON object" : root.error().message);
  }
  AuthFile out;
  const auto auths = root->find("auths");
  if (auths != root->end() && auths->is_object()) {
    for (const auto& [key, value] : auths->items()) {
      const std::string compared = comparable_key(key);
      auto found = read_entry(value);
      if (!found) {
        return bad_auth(name, fmt::format("the entry of \"{}\" ", printable(compared, 200)),
                        found.error().message);
      }
      // Podman's own spelling of a key comes before docker's.
      auto& entries = out.auths_[compared];
      entries.insert(key == compared ? entries.begin() : entries.end(),
                     Entry{key, std::move(*found)});
    }
  }
  const auto helpers = root->find("credHelpers");
  if (helpers != root->end() && helpers->is_object()) {
    for (const auto& [key, value] : helpers->items()) {
      const std::string helper = value.is_string() ? value.get<std::string>() : std::string();
      if (!is_helper_name(helper)) {
        return bad_auth(name, fmt::format("credHelpers of \"{}\": ", printable(key, 200)),
                        "it is not a helper's name");
      }
      out.helpers_.insert_or_assign(comparable_key(key), Helper{helper, key});
    }
  }
  out.store_ = auth_text(*root, "credsStore");
  if (!out.store_.empty() && !is_helper_name(out.store_)) {
    return bad_auth(name, "credsStore: ", "it is not a helper's name");
  }
  return out;
}

std::vector<CredentialSource> AuthFile::sources(std::string_view domain,
                                                std::string_view path) const {
  const auto keys = keys_for(domain, path);
  std::vector<CredentialSource> out;
  const auto helper = std::find_if(keys.begin(), keys.end(),
                                   [&](const std::string& key) { return helpers_.contains(key); });
  if (helper != keys.end()) {
    out.emplace_back(helpers_.at(*helper));
  }
  std::string server = keys.back() == kDockerKey ? std::string(kDockerServer) : std::string(domain);
  for (const auto& key : keys) {
    const auto found = auths_.find(key);
    for (std::size_t i = 0; found != auths_.end() && i < found->second.size(); ++i) {
      const Entry& entry = found->second[i];
      out.insert(out.end(), entry.found.begin(), entry.found.end());
      if (key == keys.back() && entry.found.empty() && key != kDockerKey) {
        server = entry.written;  // docker's mark: the store has it under this name
      }
    }
  }
  if (!store_.empty()) {
    out.emplace_back(Helper{store_, std::move(server)});
  }
  return out;
}

Result<CredentialSource> read_helper_answer(std::string_view output, int exit_status,
                                            const Helper& helper) {
  const std::string who = fmt::format("docker-credential-{}", printable(helper.name, 60));
  const auto none = [&] {
    return fail(Code::NotFound,
                fmt::format("{} holds no credentials for {}", who, printable(helper.server, 200)));
  };
  if (exit_status != 0) {
    const std::string_view line = output.substr(0, output.find_first_of("\r\n"));
    if (line.find("credentials not found") != std::string_view::npos) {
      return none();
    }
    const bool silent = line.empty() || output.find('{') != std::string_view::npos;
    return fail(
        Code::Unavailable,
        fmt::format("{} failed ({}){}", who, exit_status, silent ? "" : ": " + printable(line)),
        "run it by hand: echo SERVER | " + who + " get");
  }
  const auto root = parse_json(output, {std::size_t{1} << 20U, 8});
  if (!root || !root->is_object()) {
    return fail(Code::Corrupt, fmt::format("{} answered something that is not its protocol", who));
  }
  std::string user = auth_text(*root, "Username");
  std::string secret = auth_text(*root, "Secret");
  if (secret.empty()) {
    return none();
  }
  if (user == "<token>") {
    return CredentialSource(IdentityToken{std::move(secret)});
  }
  return CredentialSource(BasicPair{std::move(user), std::move(secret)});
}

}  // namespace mesh::oci
