#include "http/curl_transfer.h"

#include <curl/curl.h>
#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "base/text.h"

namespace mesh::http {
namespace {

constexpr std::size_t kMostErrorBody = std::size_t{64} << 10U;
constexpr std::size_t kMostHeaders = 256;
constexpr long kStreamBuffer = 128L << 10U;

std::string_view trimmed(std::string_view text) {
  const auto first = text.find_first_not_of(" \t\r\n");
  if (first == std::string_view::npos) {
    return {};
  }
  return text.substr(first, text.find_last_not_of(" \t\r\n") - first + 1);
}

/// The status of `HTTP/1.1 200 OK`, 0 where the line is none.
int status_of(std::string_view line) {
  const auto blank = line.find(' ');
  int status = 0;
  if (line.starts_with("HTTP/") && blank != std::string_view::npos) {
    const auto rest = line.substr(blank + 1);
    std::from_chars(rest.data(), rest.data() + rest.size(), status);
  }
  return status;
}

bool is_tls_trouble(int code) {
  switch (code) {
    case CURLE_SSL_CONNECT_ERROR:
    case CURLE_PEER_FAILED_VERIFICATION:
    case CURLE_SSL_CERTPROBLEM:
    case CURLE_SSL_CIPHER:
    case CURLE_SSL_CACERT_BADFILE:
    case CURLE_SSL_ISSUER_ERROR:
      return true;
    default:
      return false;
  }
}

/// Whether libcurl's words about a failed connection name somebody else than `place`: a proxy.
bool dialled_another(std::string_view words, std::string_view place) {
  constexpr std::string_view kBegin = "Failed to connect to ";
  if (!words.starts_with(kBegin)) {
    return false;
  }
  words.remove_prefix(kBegin.size());
  const auto host = words.substr(0, words.find(' '));
  const auto number = words.find(" port ");
  const auto digits =
      number == std::string_view::npos ? std::string_view() : words.substr(number + 6);
  const auto port = digits.substr(0, digits.find_first_not_of("0123456789"));
  const bool other_port =
      place.find(':') != std::string_view::npos && !place.ends_with(":" + std::string(port));
  return place.find(host) == std::string_view::npos || other_port;
}

/// This machine is never reached through a proxy, whatever the environment says.
bool is_this_machine(std::string_view place) {
  return place.starts_with("127.") || place.starts_with("localhost") || place.starts_with("[::1]");
}

}  // namespace

CurlTransfer::CurlTransfer(void* handle, const Request& request, Task& task, const os::Clock& clock)
    : handle_(handle),
      request_(request),
      task_(task),
      clock_(clock),
      started_(clock.monotonic()),
      mark_(started_),
      sent_(started_) {
  set_up();
  if (request_.source != nullptr) {
    request_.source->begin(*this);
  }
}

CurlTransfer::~CurlTransfer() {
  curl_easy_reset(handle_);
  curl_slist_free_all(sent_headers_);
}

void CurlTransfer::set_up() {
  curl_easy_setopt(handle_, CURLOPT_PRIVATE, this);
  curl_easy_setopt(handle_, CURLOPT_ERRORBUFFER, words_.data());
  curl_easy_setopt(handle_, CURLOPT_NOSIGNAL, 1L);
  curl_easy_setopt(handle_, CURLOPT_PROTOCOLS_STR, "http,https");
  curl_easy_setopt(handle_, CURLOPT_FOLLOWLOCATION, 0L);
  curl_easy_setopt(handle_, CURLOPT_TCP_NODELAY, 1L);
  curl_easy_setopt(handle_, CURLOPT_SUPPRESS_CONNECT_HEADERS, 1L);
  curl_easy_setopt(handle_, CURLOPT_CONNECTTIMEOUT_MS,
                   static_cast<long>(request_.limits.connect.count()));
  curl_easy_setopt(
      handle_, CURLOPT_HTTP_VERSION,
      static_cast<long>(request_.http2 ? CURL_HTTP_VERSION_2TLS : CURL_HTTP_VERSION_1_1));
  curl_easy_setopt(handle_, CURLOPT_HEADERFUNCTION, &on_header);
  curl_easy_setopt(handle_, CURLOPT_HEADERDATA, this);
  curl_easy_setopt(handle_, CURLOPT_WRITEFUNCTION, &on_body);
  curl_easy_setopt(handle_, CURLOPT_WRITEDATA, this);
  if (request_.sink != nullptr) {
    curl_easy_setopt(handle_, CURLOPT_BUFFERSIZE, kStreamBuffer);
  }
  set_url_and_method();
  set_headers();
  set_trust();
}

void CurlTransfer::set_url_and_method() {
  curl_easy_setopt(handle_, CURLOPT_URL, request_.url.c_str());
  if (!request_.unix_socket.empty()) {
    curl_easy_setopt(handle_, CURLOPT_UNIX_SOCKET_PATH, request_.unix_socket.c_str());
  }
  if (request_.direct || !request_.unix_socket.empty() || is_this_machine(place_of(request_))) {
    curl_easy_setopt(handle_, CURLOPT_PROXY, "");
  }
  if (request_.source != nullptr) {
    curl_easy_setopt(handle_, CURLOPT_UPLOAD, 1L);
    curl_easy_setopt(handle_, CURLOPT_UPLOAD_BUFFERSIZE, kStreamBuffer);
    curl_easy_setopt(handle_, CURLOPT_INFILESIZE_LARGE, static_cast<curl_off_t>(request_.length));
    curl_easy_setopt(handle_, CURLOPT_READFUNCTION, &on_read);
    curl_easy_setopt(handle_, CURLOPT_READDATA, this);
  } else if (request_.method == "HEAD") {
    curl_easy_setopt(handle_, CURLOPT_NOBODY, 1L);
  } else if (request_.method != "GET" && request_.method != "DELETE") {
    curl_easy_setopt(handle_, CURLOPT_POSTFIELDSIZE_LARGE,
                     static_cast<curl_off_t>(request_.body.size()));
    curl_easy_setopt(handle_, CURLOPT_POSTFIELDS, request_.body.data());
  }
  if (request_.method != "HEAD") {
    curl_easy_setopt(handle_, CURLOPT_CUSTOMREQUEST, request_.method.c_str());
  }
}

void CurlTransfer::set_headers() {
  const auto append = [&](const std::string& line) {
    sent_headers_ = curl_slist_append(sent_headers_, line.c_str());
  };
  append("Expect:");
  append("Accept-Encoding: identity");
  if (!request_.headers.has("Accept")) {
    append("Accept: */*");
  }
  if (!request_.headers.has("Content-Type")) {
    append("Content-Type:");  // not libcurl's guess
  }
  for (const auto& [name, value] : request_.headers.fields()) {
    append(value.empty() ? name + ";" : name + ": " + value);
  }
  curl_easy_setopt(handle_, CURLOPT_HTTPHEADER, sent_headers_);
}

void CurlTransfer::set_trust() {
  // Beside the system's authorities, which libcurl looks up in its directory of hashed names.
  if (!request_.ca_file.empty()) {
    curl_easy_setopt(handle_, CURLOPT_CAINFO, request_.ca_file.c_str());
    curl_easy_setopt(handle_, CURLOPT_CAPATH, "/etc/ssl/certs");
  }
}

bool CurlTransfer::sends() const {
  return request_.source != nullptr && !source_ended_;
}

os::Milliseconds CurlTransfer::since(os::Monotonic then) const {
  return std::chrono::duration_cast<os::Milliseconds>(clock_.monotonic() - then);
}

void CurlTransfer::fail_with(Failure failure) {
  if (!failure_) {
    failure_ = std::move(failure);
  }
}

void CurlTransfer::cancel(Error error) {
  fail_with({Failure::Stage::Ours, std::move(error)});
}

bool CurlTransfer::carry_out() {
  if (!std::exchange(wants_resume_, false) || failure_) {
    return false;
  }
  if (!std::exchange(paused_, false)) {
    return false;
  }
  mark_ = clock_.monotonic();
  window_bytes_ = 0;
  curl_easy_pause(handle_, CURLPAUSE_CONT);
  return true;
}

void CurlTransfer::moved(std::size_t bytes) {
  window_bytes_ += bytes;
}

void CurlTransfer::check_limits() {
  const Limits& limits = request_.limits;
  const std::string place = place_of(request_);
  const auto over = [&](os::Milliseconds limit, os::Monotonic then) {
    return limit.count() > 0 && since(then) > limit;
  };
  if (over(limits.overall, started_)) {
    fail_with({Failure::Stage::Exchange,
               {Code::Timeout,
                fmt::format("{} did not finish within {} s", place, limits.overall.count() / 1000),
                {},
                {}}});
    return;
  }
  if (paused_) {
    return;
  }
  if (!head_done_ && !sends()) {
    if (over(limits.answer, sent_)) {
      fail_with({Failure::Stage::Exchange,
                 {Code::Timeout,
                  fmt::format("{} did not answer within {} s", place, limits.answer.count() / 1000),
                  {},
                  {}}});
    }
    return;
  }
  if (!over(limits.stall, mark_)) {
    return;
  }
  const auto milliseconds = static_cast<std::uint64_t>(limits.stall.count());
  if (window_bytes_ < limits.floor * milliseconds / 1000) {
    fail_with({Failure::Stage::Exchange,
               {Code::Unavailable,
                fmt::format("{} stalled: {} bytes in {} ms", place, window_bytes_, milliseconds),
                {},
                {}}});
  }
  mark_ = clock_.monotonic();
  window_bytes_ = 0;
}

std::size_t CurlTransfer::take_header(std::string_view line) {
  moved(line.size());
  const std::string_view text = trimmed(line);
  if (const int status = status_of(line); status > 0 && !head_done_) {
    response_.status = status;
    response_.headers = {};
  } else if (text.empty()) {
    head_done_ = response_.status >= 200;
    mark_ = clock_.monotonic();
    window_bytes_ = 0;
  } else if (const auto colon = text.find(':');
             colon != std::string_view::npos && response_.headers.fields().size() < kMostHeaders) {
    response_.headers.add(std::string(trimmed(text.substr(0, colon))),
                          std::string(trimmed(text.substr(colon + 1))));
  }
  return line.size();
}

Status CurlTransfer::begin_sink() {
  if (request_.sink == nullptr || sink_begun_ || !response_.ok()) {
    return {};
  }
  sink_begun_ = true;
  return request_.sink->begin(response_, *this);
}

std::size_t CurlTransfer::keep_body(std::string_view bytes) {
  const std::size_t most = response_.ok() ? request_.most_body : kMostErrorBody;
  const std::size_t room = most - std::min(most, response_.body.size());
  if (bytes.size() > room && response_.ok()) {
    fail_with({Failure::Stage::Ours,
               {Code::Corrupt,
                fmt::format("{} sent more than {} bytes", place_of(request_), most),
                {},
                {}}});
    return CURL_WRITEFUNC_ERROR;
  }
  response_.body.append(bytes.substr(0, room));
  return bytes.size();
}

std::size_t CurlTransfer::take_body(std::string_view bytes) {
  if (failure_) {
    return CURL_WRITEFUNC_ERROR;
  }
  if (request_.sink == nullptr || !response_.ok()) {
    moved(bytes.size());
    return keep_body(bytes);
  }
  Status begun = begin_sink();
  Result<bool> taken =
      begun ? request_.sink->take(bytes) : Result<bool>(std::unexpected(begun.error()));
  if (!taken) {
    fail_with({Failure::Stage::Ours, std::move(taken).error()});
    return CURL_WRITEFUNC_ERROR;
  }
  if (!*taken) {
    paused_ = true;
    return CURL_WRITEFUNC_PAUSE;
  }
  moved(bytes.size());
  return bytes.size();
}

std::size_t CurlTransfer::give_body(std::span<char> room) {
  if (failure_) {
    return CURL_READFUNC_ABORT;
  }
  Result<std::optional<std::size_t>> given = request_.source->give(room);
  if (!given) {
    fail_with({Failure::Stage::Ours, std::move(given).error()});
    return CURL_READFUNC_ABORT;
  }
  if (!*given) {
    paused_ = true;
    return CURL_READFUNC_PAUSE;
  }
  const std::size_t bytes = **given;
  moved(bytes);
  sent_ = clock_.monotonic();
  source_ended_ = source_ended_ || bytes == 0;
  return bytes;
}

std::size_t CurlTransfer::on_header(char* bytes, std::size_t one, std::size_t count, void* self) {
  return static_cast<CurlTransfer*>(self)->take_header({bytes, one * count});
}

std::size_t CurlTransfer::on_body(char* bytes, std::size_t one, std::size_t count, void* self) {
  return static_cast<CurlTransfer*>(self)->take_body({bytes, one * count});
}

std::size_t CurlTransfer::on_read(char* room, std::size_t one, std::size_t count, void* self) {
  return static_cast<CurlTransfer*>(self)->give_body({room, one * count});
}

std::string CurlTransfer::trouble(int code) const {
  const std::string_view said = words_.data();
  return printable(said.empty() ? curl_easy_strerror(static_cast<CURLcode>(code)) : said, 200);
}

Failure CurlTransfer::failure_of(int code) const {
  const std::string place = place_of(request_);
  if (is_tls_trouble(code)) {
    return {Failure::Stage::Tls,
            {Code::Unavailable,
             fmt::format("no trusted connection to {}: {}", place, trouble(code)),
             request_.ca_file.empty()
                 ? "a registry with a certificate of its own needs `ca` in mesh.toml"
                 : fmt::format("trusted are the authorities of {} (`ca` in mesh.toml) and the "
                               "system's: none of them has signed its certificate, or it is no "
                               "server of TLS",
                               request_.ca_file),
             {}}};
  }
  switch (code) {
    case CURLE_URL_MALFORMAT:
    case CURLE_UNSUPPORTED_PROTOCOL:
      return {Failure::Stage::Ours,
              {Code::InvalidArgument, fmt::format("{} is no address to ask", place), {}, {}}};
    case CURLE_COULDNT_RESOLVE_HOST:
    case CURLE_COULDNT_RESOLVE_PROXY:
    case CURLE_COULDNT_CONNECT: {
      const bool proxy =
          code == CURLE_COULDNT_RESOLVE_PROXY || dialled_another(words_.data(), place);
      return {Failure::Stage::Connect,
              {Code::Unavailable,
               fmt::format("cannot connect to {}{}: {}", proxy ? "the proxy for " : "", place,
                           trouble(code)),
               proxy ? "see http_proxy, https_proxy and no_proxy of the environment" : "",
               {}}};
    }
    case CURLE_OPERATION_TIMEDOUT:
      return {Failure::Stage::Connect,
              {Code::Unavailable,
               fmt::format("cannot connect to {}: no answer in {} s", place,
                           request_.limits.connect.count() / 1000),
               {},
               {}}};
    case CURLE_PARTIAL_FILE:
      return {Failure::Stage::Exchange,
              {Code::Unavailable,
               fmt::format("{} broke off in the middle: {}", place, trouble(code)),
               {},
               {}}};
    default:
      return {Failure::Stage::Exchange,
              {Code::Unavailable,
               fmt::format("the connection to {} failed: {}", place, trouble(code)),
               {},
               {}}};
  }
}

Fetched CurlTransfer::finish(int code) {
  Fetched done = outcome(code);
  if (!done) {
    done.error().answered = head_done_;
  }
  return done;
}

Fetched CurlTransfer::outcome(int code) {
  if (!failure_ && code == 0) {
    // An empty body never came to the sink.
    if (Status begun = begin_sink(); !begun) {
      fail_with({Failure::Stage::Ours, begun.error()});
    }
  }
  if (sink_begun_) {
    request_.sink->end();
  }
  if (request_.source != nullptr) {
    request_.source->end();
  }
  if (failure_) {
    return std::unexpected(std::move(*failure_));
  }
  // A server may answer and close before it has read a whole upload: the answer counts.
  if (code != 0 && !(code == CURLE_SEND_ERROR && head_done_)) {
    return std::unexpected(failure_of(code));
  }
  return std::move(response_);
}

}  // namespace mesh::http
