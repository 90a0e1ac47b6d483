#include "tests/support/certificates.h"

#include <openssl/bio.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509.h>
#include <openssl/x509v3.h>

#include <fstream>
#include <memory>
#include <stdexcept>

namespace mesh::test {

namespace {

template <auto free>
struct Free {
  template <class T>
  void operator()(T* object) const {
    free(object);
  }
};
using Key = std::unique_ptr<EVP_PKEY, Free<EVP_PKEY_free>>;
using Certificate = std::unique_ptr<X509, Free<X509_free>>;
using Memory = std::unique_ptr<BIO, Free<BIO_free_all>>;
using Extension = std::unique_ptr<X509_EXTENSION, Free<X509_EXTENSION_free>>;

constexpr long kDay = 86400;

void check(bool good, const char* what) {
  if (!good) {
    throw std::runtime_error(std::string("certificates: ") + what);
  }
}

Key new_key() {
  Key key(EVP_EC_gen("P-256"));
  check(key != nullptr, "key");
  return key;
}

void add_extension(X509* certificate, int which, const char* value) {
  const Extension extension(X509V3_EXT_conf_nid(nullptr, nullptr, which, value));
  check(extension != nullptr && X509_add_ext(certificate, extension.get(), -1) == 1, value);
}

/// A certificate for `key` called `name`, good for a day; not signed yet.
Certificate new_certificate(EVP_PKEY* key, const char* name, long serial) {
  Certificate certificate(X509_new());
  check(certificate != nullptr, "certificate");
  X509_set_version(certificate.get(), X509_VERSION_3);
  ASN1_INTEGER_set(X509_get_serialNumber(certificate.get()), serial);
  X509_gmtime_adj(X509_getm_notBefore(certificate.get()), -kDay);
  X509_gmtime_adj(X509_getm_notAfter(certificate.get()), kDay);
  X509_set_pubkey(certificate.get(), key);
  std::string text(name);
  const auto* bytes = reinterpret_cast<const unsigned char*>(text.data());
  X509_NAME_add_entry_by_txt(X509_get_subject_name(certificate.get()), "CN", MBSTRING_UTF8, bytes,
                             static_cast<int>(text.size()), -1, 0);
  return certificate;
}

std::string contents(BIO* memory) {
  char* bytes = nullptr;
  const long size = BIO_get_mem_data(memory, &bytes);
  return {bytes, static_cast<std::size_t>(size)};
}

std::string pem(X509* certificate) {
  const Memory memory(BIO_new(BIO_s_mem()));
  check(PEM_write_bio_X509(memory.get(), certificate) == 1, "PEM");
  return contents(memory.get());
}

std::string pem(EVP_PKEY* key) {
  const Memory memory(BIO_new(BIO_s_mem()));
  check(PEM_write_bio_PrivateKey(memory.get(), key, nullptr, nullptr, 0, nullptr, nullptr) == 1,
        "PEM");
  return contents(memory.get());
}

void write_text(const std::filesystem::path& file, const std::string& text) {
  std::ofstream(file, std::ios::binary | std::ios::trunc) << text;
}

}  // namespace

Certificates make_certificates() {
  const Key ca_key = new_key();
  const Certificate ca = new_certificate(ca_key.get(), "test authority", 1);
  X509_set_issuer_name(ca.get(), X509_get_subject_name(ca.get()));
  add_extension(ca.get(), NID_basic_constraints, "critical,CA:TRUE");
  check(X509_sign(ca.get(), ca_key.get(), EVP_sha256()) != 0, "signature");
  const Key key = new_key();
  const Certificate server = new_certificate(key.get(), "127.0.0.1", 2);
  X509_set_issuer_name(server.get(), X509_get_subject_name(ca.get()));
  add_extension(server.get(), NID_subject_alt_name, "IP:127.0.0.1,DNS:127.0.0.1,DNS:localhost");
  check(X509_sign(server.get(), ca_key.get(), EVP_sha256()) != 0, "signature");
  return {pem(ca.get()), pem(server.get()), pem(key.get())};
}

void write_certificates(const Certificates& certificates, const std::filesystem::path& directory) {
  write_text(directory / "ca.pem", certificates.ca_pem);
  write_text(directory / "server.pem", certificates.certificate_pem);
  write_text(directory / "server.key", certificates.key_pem);
}

}  // namespace mesh::test
