#include "registry/client.h"

#include <fmt/format.h>

#include "oci/manifest.h"
#include "oci/media_type.h"

namespace mesh::registry {
namespace {

// Of one small exchange, whatever happens.
constexpr os::Milliseconds kSmallDeadline{120'000};

http::Limits small_limits() {
  http::Limits limits;
  limits.overall = kSmallDeadline;
  return limits;
}

std::string manifest_text(const std::string& repository, const std::string& target) {
  return fmt::format("manifest {} of {}", target, repository);
}

bool is_page(std::string_view content_type) {
  const auto type = oci::parse_media_type(content_type);
  return type && *type == "text/html";
}

}  // namespace

Client::Client(Session::Setting setting) : session_(std::move(setting)) {}

Call Client::manifest_call(const std::string& method, const std::string& repository,
                           const std::string& target) const {
  Call call;
  call.method = method;
  call.target = fmt::format("/v2/{}/manifests/{}", repository, target);
  call.path = repository;
  call.scopes = {oci::repository_scope(repository, method == "PUT" || method == "DELETE")};
  call.what = manifest_text(repository, target);
  call.limits = small_limits();
  call.most_body = oci::kMostManifestBytes;
  if (method == "GET" || method == "HEAD") {
    call.headers.add("Accept", std::string(oci::manifest_accept()));
  }
  return call;
}

Status Client::check_digest_header(const http::Response& answer, std::string_view bytes,
                                   const std::string& what) const {
  const std::string_view said = answer.headers.get("Docker-Content-Digest");
  const auto digest = oci::Digest::parse(said);
  if (said.empty() || !digest || oci::digest_of(bytes, digest->algorithm()) == *digest) {
    return {};
  }
  return fail(Code::Corrupt,
              fmt::format("{} calls {} {}, and its bytes are something else", domain(), what,
                          digest->text()),
              "nothing of it was kept");
}

Result<ManifestHead> Client::head(const std::string& repository, const std::string& target) {
  const Call call = manifest_call("HEAD", repository, target);
  MESH_TRY(const http::Response answer, session_.ask(call));
  if (!answer.ok()) {
    return std::unexpected(session_.refusal(call, answer));
  }
  ManifestHead head;
  if (auto digest = oci::Digest::parse(answer.headers.get("Docker-Content-Digest"))) {
    head.digest = std::move(*digest);
  }
  head.media_type = answer.headers.get("Content-Type");
  return head;
}

Result<Standing> Client::standing(const std::string& repository, const oci::Digest& digest) {
  Call call = manifest_call("HEAD", repository, digest.text());
  call.attempts = 2;
  call.takes_temporary = true;
  MESH_TRY(const http::Response answer, session_.ask(call));
  if (answer.ok() || answer.status == 404) {
    return answer.ok() ? Standing::There : Standing::Missing;
  }
  if (answer.status == 500) {
    return Standing::Unreadable;
  }
  const auto head = this->head(repository, digest.text());
  return head                                  ? Result<Standing>(Standing::There)
         : head.error().code == Code::NotFound ? Result<Standing>(Standing::Missing)
                                               : std::unexpected(head.error());
}

Result<ManifestBody> Client::manifest(const std::string& repository, const std::string& target,
                                      int attempts) {
  Call call = manifest_call("GET", repository, target);
  call.attempts = attempts;
  MESH_TRY(http::Response answer, session_.ask(call));
  if (!answer.ok()) {
    return std::unexpected(session_.refusal(call, answer));
  }
  const std::string type(answer.headers.get("Content-Type"));
  if (is_page(type)) {
    return fail(Code::Corrupt,
                fmt::format("{} answered with an HTML page in place of {}", domain(), call.what),
                "a proxy or a login page stands between; look at the address with a browser");
  }
  const auto asked = oci::Digest::parse(target);
  oci::Digest got =
      oci::digest_of(answer.body, asked ? asked->algorithm() : oci::Algorithm::Sha256);
  if (asked && got != *asked) {
    // The digest of a signed schema 1 is not over all of its bytes, which is a reason of its own.
    const auto read = oci::read_manifest(answer.body, {.content_type = type});
    if (!read && read.error().code == Code::Unsupported) {
      return within(call.what, read.error());
    }
    return fail(Code::Corrupt,
                fmt::format("{} answered with {} in place of {}", domain(), got.text(), call.what));
  }
  MESH_CHECK(check_digest_header(answer, answer.body, call.what));
  return ManifestBody{std::move(got), type, std::move(answer.body)};
}

Status Client::put_manifest(const std::string& repository, const oci::Digest& digest,
                            const std::string& media_type, const std::string& bytes) {
  Call call = manifest_call("PUT", repository, digest.text());
  call.headers.add("Content-Type", media_type);
  call.body = bytes;
  MESH_TRY(const http::Response answer, session_.ask(call));
  if (!answer.ok()) {
    return std::unexpected(session_.refusal(call, answer));
  }
  return check_digest_header(answer, bytes, call.what);
}

Status Client::reach(int attempts) {
  Call call;
  call.target = "/v2/";
  call.what = "its API";
  call.limits = small_limits();
  call.attempts = attempts;
  const auto answer = session_.ask(call);
  const bool answers = answer || answer.error().code == Code::PermissionDenied;
  return answers ? Status() : std::unexpected(answer.error());
}

Status Client::remove_manifest(const std::string& repository, const oci::Digest& digest,
                               int attempts) {
  Call call = manifest_call("DELETE", repository, digest.text());
  call.attempts = attempts;
  MESH_TRY(const http::Response answer, session_.ask(call));
  if (answer.ok() || answer.status == 404) {
    return {};
  }
  return std::unexpected(session_.refusal(call, answer));
}

}  // namespace mesh::registry
