#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/url.h"
#include "http/loop.h"
#include "oci/challenge.h"
#include "oci/retry.h"
#include "registry/account.h"
#include "registry/authorizer.h"

namespace mesh::registry {

/// One question to a registry.
struct Call {
  std::string method = "GET";
  std::string target;      // path and query: `/v2/library/debian/manifests/12`
  std::optional<Url> url;  // in place of `target`: where an upload goes on
  bool bare = false;       // without Authorization (an upload at another host)
  std::string path;        // the repository, for credentials
  std::vector<oci::Scope> scopes;
  std::string what;  // for messages: `manifest sha256:… of library/debian`
  http::Headers headers;
  std::string body;
  http::Source* source = nullptr;
  std::uint64_t length = 0;
  http::Sink* sink = nullptr;
  std::size_t most_body = std::size_t{4} << 20U;
  http::Limits limits;
  /// Asked before a body is sent again; false: it cannot be. Where it is not set, `body` is what is
  /// sent, as often as needed.
  std::function<bool()> rewind;
  /// Where not: a broken exchange is reported and not repeated (the caller resumes).
  bool repeat_broken = true;
  int attempts = oci::RetryPolicy{}.attempts;
  /// What is still temporary after the last attempt is the answer, and no error.
  bool takes_temporary = false;
};

/// How one registry is talked to: the scheme is found out, challenges are answered, redirects of
/// GET and HEAD followed, waits obeyed for the whole host, and what is temporary is repeated.
class Session {
 public:
  struct Setting {
    http::Loop& loop;
    const Services& services;
    Credentials& credentials;
    Account* account;    // null: not an upstream, nothing is noted
    std::string domain;  // for messages and credentials: `docker.io`
    Access access;
    std::function<void(const std::string&)> remark;  // waits of more than a moment
  };
  explicit Session(Setting setting);

  /// The answer, whatever its status but for 401 and what is still temporary after the last
  /// attempt. From within a task. Errors: PermissionDenied, Unavailable (the registry cannot be
  /// reached, says 429 or 5xx to the end; the message says what was tried), Timeout, and what the
  /// sink said.
  [[nodiscard]] Result<http::Response> ask(const Call& call);

  /// The error of an answer that is not what was hoped for. NotFound for 404, PermissionDenied for
  /// 401 and 403, Unavailable for 429 and 5xx, otherwise Unsupported.
  [[nodiscard]] Error refusal(const Call& call, const http::Response& answer) const;

  [[nodiscard]] const std::string& domain() const { return setting_.domain; }
  /// The address of a path and query at this registry.
  [[nodiscard]] Result<Url> address(const std::string& target) const;
  /// Passes time between two attempts of the caller's own.
  [[nodiscard]] Status pause(os::Milliseconds time) { return setting_.loop.sleep(time); }
  /// Whether it has asked for tokens, which expire.
  [[nodiscard]] bool uses_tokens() const { return authorizer_.uses_tokens(); }
  struct QuotaSeen {
    std::int64_t limit = 0;
    std::int64_t remaining = 0;
    std::optional<os::WallTime> until;
  };
  [[nodiscard]] const std::optional<QuotaSeen>& quota() const { return quota_; }

 private:
  struct Attempt {  // one exchange and where it was made
    http::Fetched fetched;
    Url url;
    bool first_host = true;  // not redirected elsewhere
  };

  [[nodiscard]] Result<Url> url_of(const Call& call, bool https) const;
  [[nodiscard]] Result<Attempt> exchange(const Call& call, const std::string& authorization);
  [[nodiscard]] bool wants_https(const Call& call, const http::Response& answer);
  [[nodiscard]] Result<Attempt> settled_exchange(const Call& call,
                                                 const std::string& authorization);
  [[nodiscard]] Result<Attempt> follow(const Call& call, const std::string& authorization,
                                       bool https);
  [[nodiscard]] http::Fetched fetch(const Call& call, const Url& url,
                                    const std::string& authorization);
  [[nodiscard]] Status pass_gate();
  [[nodiscard]] Status after_failure(const Call& call, const http::Fetched& fetched, int attempt);
  void note_quota(const http::Response& answer);
  [[nodiscard]] std::int64_t wall_seconds() const;

  Setting setting_;
  Authorizer authorizer_;
  std::string endpoint_;
  std::vector<bool> schemes_;  // to try, in order: true is https
  std::optional<bool> https_;  // the scheme that answered
  bool settling_ = false;
  http::Waiters settled_;
  os::Monotonic not_before_{};   // nothing is asked earlier
  std::optional<Error> closed_;  // nor at all, until …
  os::Monotonic closed_until_{};
  std::optional<QuotaSeen> quota_;
};

}  // namespace mesh::registry
