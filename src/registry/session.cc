#include "registry/session.h"

#include <fmt/format.h>

#include <algorithm>

#include "oci/location.h"
#include "oci/reference.h"

namespace mesh::registry {
namespace {

constexpr os::Milliseconds kWorthARemark{3'000};
constexpr int kMostChallenges = 2;  // in one question: no token yet, and one that has expired

bool is_redirect(int status) {
  return status == 301 || status == 302 || status == 303 || status == 307 || status == 308;
}

bool is_temporary(int status) {
  return status == 408 || status == 429 || status == 500 || status == 502 || status == 503 ||
         status == 504;
}

/// A TLS port's answer to plain http: "Client sent an HTTP request to an HTTPS server".
bool says_https(const http::Response& answer) {
  return answer.status == 400 && answer.body.find("HTTPS") != std::string::npos;
}

std::string host_part(const std::string& endpoint) {
  return endpoint.substr(0, endpoint.find('/'));
}

}  // namespace

Session::Session(Setting setting)
    : setting_(std::move(setting)),
      authorizer_({.loop = setting_.loop,
                   .services = setting_.services,
                   .credentials = setting_.credentials,
                   .account = setting_.account,
                   .domain = setting_.domain,
                   .ca_file = setting_.access.ca_file,
                   .auth_file = setting_.access.auth_file}),
      endpoint_(host_part(oci::endpoint_of(setting_.domain))) {
  const bool loopback = oci::is_loopback_domain(setting_.domain);
  if (!setting_.access.ca_file.empty()) {
    https_ = true;  // who names an authority wants nobody else to answer
  } else if (loopback) {
    schemes_ = {false, true};
  } else if (setting_.access.insecure) {
    schemes_ = {true, false};
  } else {
    https_ = true;
  }
}

std::int64_t Session::wall_seconds() const {
  return std::chrono::floor<std::chrono::seconds>(setting_.services.clock.now())
      .time_since_epoch()
      .count();
}

Result<Url> Session::url_of(const Call& call, bool https) const {
  if (call.url) {
    return *call.url;
  }
  return Url::parse((https ? "https://" : "http://") + endpoint_ + call.target);
}

Result<Url> Session::address(const std::string& target) const {
  return Url::parse((https_.value_or(true) ? "https://" : "http://") + endpoint_ + target);
}

http::Fetched Session::fetch(const Call& call, const Url& url, const std::string& authorization) {
  http::Request request;
  request.method = call.method;
  request.url = url.text();
  request.headers = call.headers;
  if (!authorization.empty()) {
    request.headers.add("Authorization", authorization);
  }
  request.body = call.body;
  request.source = call.source;
  request.length = call.length;
  request.sink = call.sink;
  request.most_body = call.most_body;
  request.ca_file = setting_.access.ca_file;
  request.direct = setting_.access.direct;
  request.limits = call.limits;
  auto fetched = setting_.loop.fetch(request);
  if (setting_.account != nullptr) {
    setting_.account->add(call.method, url.shown(),
                          fetched ? std::optional(fetched->status) : std::nullopt);
  }
  return fetched;
}

Result<Session::Attempt> Session::follow(const Call& call, const std::string& authorization,
                                         bool https) {
  MESH_TRY(Url url, url_of(call, https));
  const Url first = url;
  bool credentials = !call.bare;
  for (int hops = 0;; ++hops) {
    Attempt attempt{fetch(call, url, credentials ? authorization : std::string()), url,
                    url.same_origin(first)};
    const bool read = call.method == "GET" || call.method == "HEAD";
    if (!attempt.fetched || !read || !is_redirect(attempt.fetched->status)) {
      return attempt;
    }
    auto onward = oci::redirect(url, attempt.fetched->headers.get("Location"), hops, credentials);
    if (!onward) {
      return within(fmt::format("{} of {}", call.what, setting_.domain), std::move(onward).error());
    }
    url = onward->url;
    credentials = credentials && onward->credentials;
  }
}

/// Whether what answered in plain http speaks https alone. An answer to HEAD has no body that could
/// say so: that is asked for.
bool Session::wants_https(const Call& call, const http::Response& answer) {
  if (call.method != "HEAD" || answer.status != 400) {
    return says_https(answer);
  }
  Call words;
  words.target = "/v2/";
  words.what = "its API";
  words.limits = call.limits;
  const auto said = follow(words, "", false);
  return said && said->fetched && says_https(*said->fetched);
}

Result<Session::Attempt> Session::settled_exchange(const Call& call,
                                                   const std::string& authorization) {
  std::vector<std::string> tried;
  std::string hint;
  auto stage = http::Failure::Stage::Connect;
  for (const bool https : schemes_) {
    MESH_TRY(Attempt attempt, follow(call, authorization, https));
    if (attempt.fetched && (https || !wants_https(call, *attempt.fetched))) {
      https_ = https;
      return attempt;
    }
    if (!attempt.fetched && attempt.fetched.error().answered) {
      https_ = https;
      return attempt;
    }
    if (!attempt.fetched && attempt.fetched.error().stage == http::Failure::Stage::Ours) {
      return attempt;
    }
    // Somebody was there and hung up: that may be repeated.
    if (!attempt.fetched && attempt.fetched.error().stage == http::Failure::Stage::Exchange) {
      stage = http::Failure::Stage::Exchange;
    }
    if (!attempt.fetched && !attempt.fetched.error().error.hint.empty()) {
      hint = attempt.fetched.error().error.hint;
    }
    tried.push_back(
        fmt::format("{}: {}", https ? "https" : "plain http",
                    attempt.fetched ? "it wants https" : attempt.fetched.error().error.message));
  }
  return Attempt{std::unexpected(http::Failure{stage,
                                               {Code::Unavailable,
                                                fmt::format("{} cannot be reached ({}; {})",
                                                            setting_.domain, tried[0], tried[1]),
                                                hint,
                                                {}}}),
                 Url::parse("http://" + endpoint_).value(), true};
}

Result<Session::Attempt> Session::exchange(const Call& call, const std::string& authorization) {
  while (settling_) {
    MESH_CHECK(setting_.loop.wait(settled_));
  }
  if (https_ || call.url) {
    return follow(call, authorization, https_.value_or(true));
  }
  settling_ = true;
  auto attempt = settled_exchange(call, authorization);
  settling_ = false;
  setting_.loop.wake(settled_);
  return attempt;
}

Status Session::pass_gate() {
  for (;;) {
    const os::Monotonic now = setting_.loop.clock().monotonic();
    if (closed_ && now < closed_until_) {
      return std::unexpected(*closed_);
    }
    closed_.reset();
    if (now >= not_before_) {
      return {};
    }
    MESH_CHECK(setting_.loop.sleep(std::chrono::ceil<os::Milliseconds>(not_before_ - now)));
  }
}

void Session::note_quota(const http::Response& answer) {
  const auto remaining = oci::parse_rate_limit(answer.headers.get("ratelimit-remaining"));
  const auto limit = oci::parse_rate_limit(answer.headers.get("ratelimit-limit"));
  if (!remaining) {
    return;
  }
  quota_ = QuotaSeen{limit ? limit->count : 0, remaining->count, std::nullopt};
  if (remaining->window) {
    quota_->until = setting_.services.clock.now() + *remaining->window;
  }
}

Error Session::refusal(const Call& call, const http::Response& answer) const {
  const std::string said = oci::parse_error_body(answer.body).text();
  Error error{Code::Unsupported,
              fmt::format("{} answered {} for {}{}{}", setting_.domain, answer.status, call.what,
                          said.empty() ? "" : ": ", said),
              {},
              {}};
  if (answer.status == 404) {
    error.code = Code::NotFound;
  } else if (answer.status == 401 || answer.status == 403) {
    error.code = Code::PermissionDenied;
  } else if (is_temporary(answer.status) || answer.status > 500) {
    error.code = Code::Unavailable;
  }
  return error;
}

Status Session::after_failure(const Call& call, const http::Fetched& fetched, int attempt) {
  oci::Failure failure;
  Error error;
  if (fetched) {
    failure.status = fetched->status;
    failure.retry_after =
        oci::parse_retry_after(fetched->headers.get("Retry-After"), wall_seconds());
    const auto remaining = oci::parse_rate_limit(fetched->headers.get("ratelimit-remaining"));
    failure.limit = oci::limit_of(oci::parse_error_body(fetched->body), remaining);
    failure.window = remaining ? remaining->window : std::nullopt;
    error = refusal(call, *fetched);
  } else {
    error = fetched.error().error;
  }
  const unsigned char random = static_cast<unsigned char>(setting_.services.random.bytes(1)[0]);
  const auto decision = oci::decide(failure, attempt, {.attempts = call.attempts}, random / 256.0);
  const os::Monotonic now = setting_.loop.clock().monotonic();
  if (!decision.again) {
    error.message += fmt::format(" ({})", decision.reason);
    if (decision.closed) {
      closed_ = error;
      closed_until_ = now + *decision.closed;
    }
    return std::unexpected(std::move(error));
  }
  not_before_ = std::max(not_before_, now + decision.wait);
  if (call.rewind && !call.rewind()) {
    return std::unexpected(std::move(error));
  }
  if (decision.wait >= kWorthARemark && setting_.remark) {
    setting_.remark(fmt::format("waiting {} s for {}: {}", decision.wait.count() / 1000,
                                setting_.domain, error.message));
  }
  return {};
}

Result<http::Response> Session::ask(const Call& call) {
  int challenges = 0;
  for (int attempt = 1;; ++attempt) {
    MESH_CHECK(pass_gate());
    std::string authorization;
    if (!call.bare) {
      MESH_TRY(const Url registry,
               Url::parse((https_.value_or(true) ? "https://" : "http://") + endpoint_ + "/v2/"));
      MESH_TRY(authorization, authorizer_.authorization(registry, call.path, call.scopes));
    }
    MESH_TRY(Attempt made, exchange(call, authorization));
    if (!made.fetched) {
      const http::Failure& failure = made.fetched.error();
      const bool broken = failure.stage == http::Failure::Stage::Exchange;
      if (!broken || !call.repeat_broken) {
        return std::unexpected(failure.error);
      }
      MESH_CHECK(after_failure(call, made.fetched, attempt));
      continue;
    }
    note_quota(*made.fetched);
    if (made.fetched->status == 401) {
      if (call.bare || !made.first_host || ++challenges > kMostChallenges ||
          !made.fetched->headers.has("WWW-Authenticate")) {
        return std::unexpected(refusal(call, *made.fetched));
      }
      if (Status challenged = authorizer_.challenged(*made.fetched, authorization); !challenged) {
        return within(call.what, std::move(challenged).error());
      }
      if (call.rewind && !call.rewind()) {
        // With what is known now it will do, but the body has to come from its beginning.
        Error error = refusal(call, *made.fetched);
        error.code = Code::Unavailable;
        return std::unexpected(std::move(error));
      }
      --attempt;
      continue;
    }
    const bool last = call.takes_temporary && attempt >= call.attempts;
    if (is_temporary(made.fetched->status) && !last) {
      MESH_CHECK(after_failure(call, made.fetched, attempt));
      continue;
    }
    return std::move(*made.fetched);
  }
}

}  // namespace mesh::registry
