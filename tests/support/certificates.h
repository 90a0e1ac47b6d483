#pragma once

#include <filesystem>
#include <string>

namespace mesh::test {

/// A certificate authority of its own, and a server's certificate for 127.0.0.1 that it signed.
struct Certificates {
  std::string ca_pem;
  std::string certificate_pem;
  std::string key_pem;
};

/// New ones, good for a day; throws where OpenSSL cannot make them.
[[nodiscard]] Certificates make_certificates();

/// Writes ca.pem, server.pem and server.key into `directory`.
void write_certificates(const Certificates& certificates, const std::filesystem::path& directory);

}  // namespace mesh::test
