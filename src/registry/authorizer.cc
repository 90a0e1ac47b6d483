#include "registry/authorizer.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/base64.h"
#include "oci/retry.h"

namespace mesh::registry {
namespace {

// A token is not used in its last seconds: a request takes time.
constexpr os::Milliseconds kMargin{10'000};
constexpr os::Milliseconds kTokenDeadline{60'000};
constexpr std::size_t kMostToken = std::size_t{1} << 20U;
constexpr int kTokenAttempts = 3;

constexpr const char* kLoginHint = "give this machine credentials for it, as `podman login` does";

std::string key_of(const std::vector<oci::Scope>& scopes) {
  std::string out;
  for (const auto& scope : scopes) {
    out += scope.text() + " ";
  }
  return out;
}

template <class Kind>
const Kind* first_of(const std::vector<oci::CredentialSource>& sources) {
  for (const auto& source : sources) {
    if (const auto* found = std::get_if<Kind>(&source)) {
      return found;
    }
  }
  return nullptr;
}

/// What would have been asked for credentials and is not there.
std::string missing_text(const Credentials::Known& known) {
  return known.missing.empty() ? "" : fmt::format(" ({} is not on PATH)", known.missing.front());
}

std::string login_hint(const Credentials::Known& known) {
  return known.missing.empty() ? kLoginHint
                               : "install that helper, or take it out of the file and log in anew";
}

std::string basic_header(const oci::BasicPair& pair) {
  return "Basic " + base64(pair.user + ":" + pair.password);
}

}  // namespace

Result<std::string> Authorizer::authorization(const Url& registry, const std::string& path,
                                              const std::vector<oci::Scope>& scopes) {
  if (!demand_) {
    return std::string();
  }
  return demand_->kind == oci::Demand::Kind::Basic ? basic(path) : bearer(registry, path, scopes);
}

Status Authorizer::challenged(const http::Response& answer, const std::string& used) {
  const auto headers = answer.headers.all("WWW-Authenticate");
  MESH_TRY(oci::Demand demand, oci::choose_demand(oci::parse_challenges(headers)));
  std::erase_if(tokens_, [&](const auto& entry) { return "Bearer " + entry.second.text == used; });
  if (demand.kind == oci::Demand::Kind::Basic && used.starts_with("Basic ")) {
    return fail(Code::PermissionDenied,
                fmt::format("{} refuses the user and the password of {}", setting_.domain, file_),
                fmt::format("log in again, as `podman login {}` does", setting_.domain));
  }
  demand_ = std::move(demand);
  return {};
}

Result<Credentials::Known> Authorizer::credentials(const std::string& path) {
  return setting_.auth_file.empty()
             ? setting_.credentials.find(setting_.domain, path)
             : Credentials::find_in(setting_.auth_file, setting_.domain, path);
}

Result<std::string> Authorizer::basic(const std::string& path) {
  MESH_TRY(const auto known, credentials(path));
  const auto* pair = first_of<oci::BasicPair>(known.sources);
  if (pair == nullptr) {
    return fail(Code::PermissionDenied,
                fmt::format("{} asks for a user and a password, and none are known{}",
                            setting_.domain, missing_text(known)),
                login_hint(known));
  }
  file_ = known.file;
  return basic_header(*pair);
}

Result<std::string> Authorizer::bearer(const Url& registry, const std::string& path,
                                       const std::vector<oci::Scope>& scopes) {
  // What this request needs and, of what was asked for, the part about the same repository.
  std::vector<oci::Scope> wanted = scopes;
  for (const auto& scope : demand_->scopes) {
    if (scopes.empty() || std::ranges::any_of(scopes, [&](const oci::Scope& mine) {
          return mine.type == scope.type && mine.name == scope.name;
        })) {
      wanted = oci::merged(std::move(wanted), {scope});
    }
  }
  const std::string key = key_of(wanted);
  while (fetching_) {
    MESH_CHECK(setting_.loop.wait(fetched_));
  }
  const auto known = tokens_.find(key);
  if (known != tokens_.end() && setting_.loop.clock().monotonic() < known->second.until) {
    return "Bearer " + known->second.text;
  }
  fetching_ = true;
  auto token = fetch_token(registry, path, wanted);
  fetching_ = false;
  setting_.loop.wake(fetched_);
  if (!token) {
    return within("a token of " + setting_.domain, std::move(token).error());
  }
  tokens_.insert_or_assign(key, *token);
  return "Bearer " + token->text;
}

Result<http::Response> Authorizer::ask(const http::Request& request, const Url& shown) {
  for (int attempt = 1;; ++attempt) {
    auto fetched = setting_.loop.fetch(request);
    if (setting_.account != nullptr) {
      setting_.account->add(request.method, shown.shown(),
                            fetched ? std::optional(fetched->status) : std::nullopt);
    }
    if (!fetched && fetched.error().stage == http::Failure::Stage::Ours) {
      return std::unexpected(std::move(fetched.error().error));
    }
    oci::Failure failure;
    if (fetched) {
      if (fetched->status < 500 && fetched->status != 429) {
        return std::move(*fetched);
      }
      failure.status = fetched->status;
      failure.retry_after = oci::parse_retry_after(
          fetched->headers.get("Retry-After"),
          std::chrono::floor<std::chrono::seconds>(setting_.services.clock.now())
              .time_since_epoch()
              .count());
    }
    const auto decision = oci::decide(failure, attempt, {.attempts = kTokenAttempts}, 0.5);
    if (!decision.again) {
      return fetched ? Result<http::Response>(std::move(*fetched))
                     : std::unexpected(std::move(fetched.error().error));
    }
    MESH_CHECK(setting_.loop.sleep(decision.wait));
  }
}

Result<Authorizer::Token> Authorizer::fetch_token(const Url& registry, const std::string& path,
                                                  const std::vector<oci::Scope>& scopes) {
  const oci::Demand demand = *demand_;
  MESH_TRY(const Url realm, oci::check_realm(demand.realm, registry));
  MESH_TRY(const auto known, credentials(path));
  const auto& sources = known.sources;
  const os::Monotonic now = setting_.loop.clock().monotonic();
  if (const auto* given = first_of<oci::RegistryToken>(sources)) {
    return Token{given->token, now + std::chrono::hours(1)};
  }
  const auto* pair = first_of<oci::BasicPair>(sources);
  const auto* identity = first_of<oci::IdentityToken>(sources);
  http::Request request;
  request.ca_file = setting_.ca_file;
  request.limits.overall = kTokenDeadline;
  request.most_body = kMostToken;
  if (pair == nullptr && identity != nullptr) {
    request.method = "POST";
    request.url = realm.text();
    request.headers.add("Content-Type", "application/x-www-form-urlencoded");
    request.body = oci::refresh_form(demand, scopes, identity->token);
  } else {
    request.url = oci::token_url(realm, demand, scopes, pair == nullptr ? "" : pair->user).text();
    if (pair != nullptr) {
      request.headers.add("Authorization", basic_header(*pair));
    }
  }
  MESH_TRY(const http::Response answer, ask(request, realm));
  if (!answer.ok()) {
    const bool refused = answer.status == 401 || answer.status == 403 || answer.status == 400;
    return fail(refused ? Code::PermissionDenied : Code::Unavailable,
                fmt::format("{} answered {}{}", realm.shown(), answer.status,
                            pair == nullptr && identity == nullptr
                                ? " to a request without credentials" + missing_text(known)
                                : " to the credentials of " + known.file),
                refused ? login_hint(known) : "");
  }
  MESH_TRY(const oci::TokenAnswer token, oci::read_token(answer.body));
  const os::Milliseconds valid = std::chrono::seconds(token.expires_in);
  return Token{token.token, now + std::max(valid - kMargin, valid / 2)};
}

}  // namespace mesh::registry
