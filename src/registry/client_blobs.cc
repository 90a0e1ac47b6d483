#include <fmt/format.h>

#include "registry/client.h"

namespace mesh::registry {
namespace {

// Downloads that bring nothing more are given up after this many in a row.
constexpr int kBrokenInARow = 4;
constexpr os::Milliseconds kPauseBetween{500};
// Registries hash a whole blob again before they answer its PUT.
constexpr os::Milliseconds kUploadAnswer{600'000};

std::string blob_text(const std::string& repository, const oci::Digest& digest) {
  return fmt::format("blob {} of {}", digest.text(), repository);
}

/// What is said of an upload that did not go through: one that the registry has forgotten, or has
/// other bytes of than we think, is begun again.
std::unexpected<Error> refused_upload(const Session& session, const Call& call,
                                      const http::Response& answer) {
  Error error = session.refusal(call, answer);
  if (answer.status == 404 || answer.status == 416) {
    error.code = Code::Unavailable;
  }
  return std::unexpected(std::move(error));
}

bool is_refused_mount(int status) {
  return status == 400 || status == 401 || status == 403 || status == 404 || status == 405;
}

}  // namespace

Status Client::blob(const std::string& repository, const Expected& expected, Incoming& incoming) {
  Call call;
  call.target = fmt::format("/v2/{}/blobs/{}", repository, expected.digest.text());
  call.path = repository;
  call.scopes = {oci::repository_scope(repository, false)};
  call.what = blob_text(repository, expected.digest);
  call.sink = &incoming;
  call.repeat_broken = false;
  std::uint64_t before = 0;
  for (int broken = 0;;) {
    call.headers = {};
    if (incoming.received() > 0) {
      call.headers.add("Range", fmt::format("bytes={}-", incoming.received()));
    }
    auto answer = session_.ask(call);
    if (answer && !answer->ok()) {
      return std::unexpected(session_.refusal(call, *answer));
    }
    Status whole = answer ? incoming.finish() : Status(std::unexpected(std::move(answer).error()));
    const bool again =
        !whole && (whole.error().code == Code::Unavailable || whole.error().code == Code::Timeout);
    if (!again || incoming.abandoned()) {
      return whole;
    }
    broken = incoming.received() > before ? 0 : broken + 1;
    before = incoming.received();
    if (broken == kBrokenInARow) {
      return whole;
    }
    MESH_CHECK(session_.pause(kPauseBetween));
  }
}

Result<bool> Client::has_blob(const std::string& repository, const oci::Digest& digest) {
  Call call;
  call.method = "HEAD";
  call.target = fmt::format("/v2/{}/blobs/{}", repository, digest.text());
  call.path = repository;
  call.scopes = {oci::repository_scope(repository, false)};
  call.what = blob_text(repository, digest);
  MESH_TRY(const http::Response answer, session_.ask(call));
  if (!answer.ok() && answer.status != 404) {
    return std::unexpected(session_.refusal(call, answer));
  }
  return answer.ok();
}

Result<Upload> Client::begin_upload(const std::string& repository, const oci::Digest& digest,
                                    const std::string& from) {
  Call call;
  call.method = "POST";
  call.path = repository;
  call.scopes = {oci::repository_scope(repository, true)};
  call.what = blob_text(repository, digest);
  const std::string plain = fmt::format("/v2/{}/blobs/uploads/", repository);
  call.target = plain;
  const bool mounts = mounts_ && !from.empty();
  if (mounts) {
    call.target += fmt::format("?mount={}&from={}", url_escaped(digest.text()), url_escaped(from));
    if (from != repository) {
      call.scopes.push_back(oci::repository_scope(from, false));
    }
  }
  auto answer = session_.ask(call);
  const bool refused =
      answer ? is_refused_mount(answer->status) : answer.error().code == Code::PermissionDenied;
  if (mounts && refused) {
    mounts_ = false;
    MESH_TRY(const bool held, has_blob(repository, digest));
    if (held) {
      return Upload{true, std::nullopt};
    }
    call.target = plain;
    call.scopes = {oci::repository_scope(repository, true)};
    answer = session_.ask(call);
  }
  if (!answer) {
    return std::unexpected(std::move(answer).error());
  }
  if (answer->status == 201) {
    return Upload{true, std::nullopt};
  }
  if (answer->status != 202) {
    return std::unexpected(session_.refusal(call, *answer));
  }
  MESH_TRY(const Url asked, session_.address(call.target));
  MESH_TRY(oci::Onward onward, oci::upload_location(asked, answer->headers.get("Location")));
  return Upload{false, std::move(onward)};
}

Call Client::push_call(const std::string& method, const std::string& repository,
                       const oci::Digest& digest, const oci::Onward& to) const {
  Call call;
  call.method = method;
  call.url = to.url;
  call.bare = !to.credentials;
  call.path = repository;
  call.scopes = {oci::repository_scope(repository, true)};
  call.what = blob_text(repository, digest);
  call.headers.add("Content-Type", "application/octet-stream");
  call.limits.answer = kUploadAnswer;
  return call;
}

Status Client::upload(const std::string& repository, const oci::Digest& digest,
                      const oci::Onward& to, Window& window) {
  // A token may expire while a large body is on its way, and such a body cannot be sent again: the
  // request that ends the upload is then one of its own.
  if (session_.uses_tokens() && !window.holds_all()) {
    return upload_in_two(repository, digest, to, window);
  }
  Outgoing outgoing(window);
  Call call = push_call("PUT", repository, digest, to);
  call.url = oci::with_digest(to.url, digest);
  call.source = &outgoing;
  call.length = window.size();
  call.rewind = [&] { return window.rewind(); };
  call.repeat_broken = window.holds_all();
  MESH_TRY(const http::Response answer, session_.ask(call));
  return answer.ok() ? Status() : Status(refused_upload(session_, call, answer));
}

Status Client::upload_in_two(const std::string& repository, const oci::Digest& digest,
                             const oci::Onward& to, Window& window) {
  Outgoing outgoing(window);
  Call patch = push_call("PATCH", repository, digest, to);
  patch.source = &outgoing;
  patch.length = window.size();
  patch.rewind = [&] { return window.rewind(); };
  patch.repeat_broken = false;
  MESH_TRY(const http::Response sent, session_.ask(patch));
  if (!sent.ok()) {
    return refused_upload(session_, patch, sent);
  }
  MESH_TRY(const oci::Onward last, oci::upload_location(to.url, sent.headers.get("Location")));
  Call put = push_call("PUT", repository, digest, last);
  put.url = oci::with_digest(last.url, digest);
  MESH_TRY(const http::Response answer, session_.ask(put));
  return answer.ok() ? Status() : Status(refused_upload(session_, put, answer));
}

void Client::cancel_upload(const std::string& repository, const oci::Onward& to) {
  Call call;
  call.method = "DELETE";
  call.url = to.url;
  call.bare = !to.credentials;
  call.path = repository;
  call.scopes = {oci::repository_scope(repository, true)};
  call.what = "upload to " + repository;
  call.limits.overall = os::Milliseconds(5'000);
  call.repeat_broken = false;
  static_cast<void>(session_.ask(call).has_value());
}

void Client::forget(const std::string& repository, const oci::Digest& digest) {
  Call call;
  call.method = "DELETE";
  call.target = fmt::format("/v2/{}/blobs/{}", repository, digest.text());
  call.path = repository;
  call.scopes = {oci::repository_scope(repository, true)};
  call.what = blob_text(repository, digest);
  // A registry that fails over what is damaged fails again.
  call.attempts = 1;
  static_cast<void>(session_.ask(call).has_value());
  static_cast<void>(remove_manifest(repository, digest, 1).has_value());
}

}  // namespace mesh::registry
