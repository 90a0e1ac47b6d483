#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <vector>

#include "base/text.h"
#include "oci/challenge.h"
#include "oci/location.h"
#include "oci/retry.h"

namespace {

void require(bool holds) {
  if (!holds) {
    std::abort();
  }
}

void answer_challenges(const std::vector<std::string>& lines) {
  const auto challenges = mesh::oci::parse_challenges(lines);
  const auto registry = mesh::Url::parse("https://registry.example/v2/").value();
  const auto demand = mesh::oci::choose_demand(challenges);
  if (!demand || demand->kind != mesh::oci::Demand::Kind::Bearer) {
    return;
  }
  const auto realm = mesh::oci::check_realm(demand->realm, registry);
  if (!realm) {
    return;
  }
  require(realm->is_https());
  const auto url = mesh::oci::token_url(*realm, *demand, demand->scopes, "user");
  require(mesh::Url::parse(url.text()).has_value());
  require(url.text().find("scope=&") == std::string::npos ||
          realm->query().find("scope=&") != std::string::npos);
  require(mesh::oci::merged(demand->scopes, demand->scopes) == demand->scopes);
}

void follow(const std::string& text) {
  const auto here = mesh::Url::parse("https://registry.example/v2/a/blobs/uploads/").value();
  if (const auto onward = mesh::oci::upload_location(here, text)) {
    require(onward->url.is_https() && (!onward->credentials || onward->url.same_origin(here)));
    const auto put = mesh::oci::with_digest(onward->url, mesh::oci::digest_of("")).text();
    require(mesh::Url::parse(put).value().text() == put);
  }
  if (const auto onward = mesh::oci::redirect(here, text, 0, true)) {
    require(onward->url.is_https() && (!onward->credentials || onward->url.same_origin(here)));
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string text(data, data + size);
  std::vector<std::string> lines;
  for (const auto line : mesh::split(text, '\n')) {
    lines.emplace_back(line);
  }
  answer_challenges(lines);
  follow(text);
  if (const auto token = mesh::oci::read_token(text)) {
    require(!token->token.empty() && token->expires_in >= 1);
  }
  const auto error = mesh::oci::parse_error_body(text);
  require(error.message.size() < 256 &&
          error.text().find_first_of("\n\r\x1b") == std::string::npos);
  if (const auto wait = mesh::oci::parse_retry_after(text, 1785542400)) {
    require(wait->count() >= 0);
  }
  (void)mesh::oci::parse_rate_limit(text);
  for (const std::uint64_t sent : {std::uint64_t{0}, std::uint64_t{1}, std::uint64_t{100}}) {
    const auto offset = mesh::oci::resume_upload_at(text, sent);
    require(!offset || *offset <= sent);
  }
  (void)mesh::oci::check_content_range(text, 10, 100);
  return 0;
}
