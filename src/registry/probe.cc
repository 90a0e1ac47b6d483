#include "registry/probe.h"

#include <utility>
#include <vector>

#include <fmt/format.h>

#include "http/loop.h"
#include "oci/reference.h"

namespace mesh::registry {
namespace {

std::vector<std::string> bases_of(const std::string& domain, const Access& access) {
  const std::string endpoint = oci::endpoint_of(domain);
  const std::string https = "https://" + endpoint;
  const std::string http = "http://" + endpoint;
  if (!access.ca_file.empty()) {
    return {https};
  }
  if (oci::is_loopback_domain(domain)) {
    return {http, https};
  }
  return access.insecure ? std::vector{https, http} : std::vector{https};
}

Result<std::string> read_probe(const std::string& base, const http::Fetched& fetched) {
  if (!fetched) {
    return fail(Code::Unavailable, fetched.error().error.message);
  }
  const bool login = fetched->status == 401 || fetched->status == 403;
  if (!login && !fetched->ok()) {
    return fail(Code::Conflict,
                fmt::format("{}/v2/ is no registry: it answers {}", base, fetched->status));
  }
  return base;
}

}  // namespace

Result<std::string> probe(const os::Clock& clock, const std::string& domain, const Access& access,
                          os::Milliseconds timeout) {
  http::Loop::Options options;
  options.timeout = timeout;
  http::Loop loop(clock, std::move(options));
  Result<std::string> found = fail(Code::Unavailable, domain + " was not asked");
  loop.spawn([&] {
    for (const std::string& base : bases_of(domain, access)) {
      http::Request request;
      request.url = base + "/v2/";
      request.ca_file = access.ca_file;
      found = read_probe(base, loop.fetch(request));
      if (found) {
        return;
      }
    }
  });
  MESH_CHECK(loop.run());
  return found;
}

}  // namespace mesh::registry
