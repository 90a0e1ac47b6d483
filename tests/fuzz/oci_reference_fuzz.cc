#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>

#include "oci/platform.h"
#include "oci/reference.h"

namespace {

void require(bool holds) {
  if (!holds) {
    std::abort();
  }
}

/// A refusal is one line that a terminal can show.
void require_clean(const mesh::Error& error) {
  require(!error.message.empty() && error.message.find_first_of("\n\r\x1b") == std::string::npos);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string text(data, data + size);
  if (const auto reference = mesh::oci::Reference::parse(text)) {
    require(mesh::oci::Reference::parse(reference->text()).value() == *reference);
    require(mesh::oci::Reference::parse(reference->familiar()).value() == *reference);
    require(mesh::oci::Repository::parse(reference->path()).has_value());
    require(!mesh::oci::credential_key(reference->domain()).empty());
    require(!mesh::oci::endpoint_of(reference->domain()).empty());
    (void)mesh::oci::is_loopback_domain(reference->domain());
  } else {
    require_clean(reference.error());
  }
  if (const auto repository = mesh::oci::Repository::parse(text)) {
    require(repository->text() == text && text.size() <= 255);
  } else {
    require_clean(repository.error());
  }
  if (const auto digest = mesh::oci::Digest::parse(text)) {
    require(digest->text() == text);
  } else {
    require_clean(digest.error());
  }
  if (const auto platform = mesh::oci::parse_platform(text)) {
    require(mesh::oci::parse_platform(platform->text()).value() == *platform);
    require(mesh::oci::runs_on(*platform, *platform));
  }
  (void)mesh::oci::parse_tag(text);
  return 0;
}
