#include <algorithm>
#include <chrono>
#include <cmath>

#include <fmt/format.h>

#include "base/json_text.h"
#include "base/text.h"
#include "oci/challenge.h"
#include "oci/moment.h"

namespace mesh::oci {

namespace {

constexpr std::size_t kLongestToken = 65536;
constexpr std::int64_t kUsualSeconds = 60;            // distribution's token specification
constexpr std::int64_t kMostSeconds = 366LL * 86400;  // longer says nothing more

std::unexpected<Error> bad_token(std::string_view why) {
  return fail(Code::Corrupt, fmt::format("the token server's answer cannot be used: {}", why));
}

/// A token goes into a header: visible ASCII only.
bool is_token_text(std::string_view text) {
  return text.size() <= kLongestToken &&
         std::all_of(text.begin(), text.end(), [](char c) { return c > ' ' && c < 0x7F; });
}

std::string token_field(const nlohmann::json& root, const char* key) {
  const auto found = root.find(key);
  return found != root.end() && found->is_string() ? found->get<std::string>() : std::string();
}

std::int64_t seconds_field(const nlohmann::json& root) {
  const auto found = root.find("expires_in");
  if (found == root.end() || !found->is_number()) {
    return kUsualSeconds;
  }
  const auto seconds = found->get<double>();
  if (!(seconds >= 1)) {
    return kUsualSeconds;
  }
  return static_cast<std::int64_t>(
      std::min(std::floor(seconds), static_cast<double>(kMostSeconds)));
}

std::optional<Scope> parse_scope(std::string_view text) {
  const auto first = text.find(':');
  const auto last = text.rfind(':');
  if (first == std::string_view::npos || first == last || first == 0 || last == first + 1) {
    return std::nullopt;
  }
  Scope scope{std::string(text.substr(0, first)),
              std::string(text.substr(first + 1, last - first - 1)),
              {}};
  for (const auto action : split(text.substr(last + 1), ',')) {
    if (!action.empty()) {
      scope.actions.emplace_back(action);
    }
  }
  return scope;
}

void put_in_order(std::vector<std::string>& actions) {
  std::sort(actions.begin(), actions.end());
  actions.erase(std::unique(actions.begin(), actions.end()), actions.end());
}

void add_scope(std::vector<Scope>& scopes, Scope scope) {
  const auto same = [&](const Scope& other) {
    return other.type == scope.type && other.name == scope.name;
  };
  const auto found = std::find_if(scopes.begin(), scopes.end(), same);
  if (found == scopes.end()) {
    put_in_order(scope.actions);
    scopes.push_back(std::move(scope));
    return;
  }
  found->actions.insert(found->actions.end(), scope.actions.begin(), scope.actions.end());
  put_in_order(found->actions);
}

}  // namespace

std::string Scope::text() const {
  return fmt::format("{}:{}:{}", type, name, join(actions, ","));
}

std::vector<Scope> parse_scopes(std::string_view text) {
  std::vector<Scope> out;
  for (const auto entry : split(text, ' ')) {
    if (auto scope = parse_scope(entry)) {
      add_scope(out, std::move(*scope));
    }
  }
  return out;
}

std::vector<Scope> merged(std::vector<Scope> a, const std::vector<Scope>& b) {
  std::vector<Scope> out;
  for (auto& scope : a) {
    add_scope(out, std::move(scope));
  }
  for (const auto& scope : b) {
    add_scope(out, scope);
  }
  return out;
}

Scope repository_scope(std::string_view path, bool push) {
  return {"repository", std::string(path),
          push ? std::vector<std::string>{"pull", "push"} : std::vector<std::string>{"pull"}};
}

Url token_url(const Url& realm, const Demand& demand, const std::vector<Scope>& scopes,
              std::string_view account) {
  Url url = realm;
  if (!demand.service.empty()) {
    url = url.with_query("service=" + url_escaped(demand.service));
  }
  for (const auto& scope : scopes) {
    url = url.with_query("scope=" + url_escaped(scope.text()));
  }
  return account.empty() ? url : url.with_query("account=" + url_escaped(account));
}

std::string refresh_form(const Demand& demand, const std::vector<Scope>& scopes,
                         std::string_view identity_token) {
  std::string form = "grant_type=refresh_token&client_id=mesh";
  if (!demand.service.empty()) {
    form += "&service=" + url_escaped(demand.service);
  }
  std::vector<std::string> texts;
  for (const auto& scope : scopes) {
    texts.push_back(scope.text());
  }
  if (!texts.empty()) {
    form += "&scope=" + url_escaped(join(texts, " "));
  }
  return form + "&refresh_token=" + url_escaped(identity_token);
}

Result<TokenAnswer> read_token(std::string_view body) {
  const auto root = parse_json(body, {std::size_t{1} << 20U, 16});
  if (!root) {
    return bad_token(root.error().message);
  }
  if (!root->is_object()) {
    return bad_token("it is not a JSON object");
  }
  TokenAnswer out;
  out.token = token_field(*root, "token");
  if (out.token.empty()) {
    out.token = token_field(*root, "access_token");
  }
  out.refresh_token = token_field(*root, "refresh_token");
  if (out.token.empty()) {
    return bad_token("it holds neither \"token\" nor \"access_token\"");
  }
  if (!is_token_text(out.token) || !is_token_text(out.refresh_token)) {
    return bad_token("its token is too long or holds characters that no header has");
  }
  out.expires_in = seconds_field(*root);
  out.issued_at = parse_rfc3339(token_field(*root, "issued_at"));
  return out;
}

}  // namespace mesh::oci
