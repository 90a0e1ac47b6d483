// All that knows OpenSSL's certificates.

#include <arpa/inet.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/rand.h>
#include <openssl/x509v3.h>

#include <algorithm>
#include <array>
#include <ctime>
#include <memory>
#include <optional>

#include <fmt/format.h>

#include "base/text.h"
#include "certificates/certificate.h"

namespace mesh::certificates {
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
using Names = std::unique_ptr<GENERAL_NAMES, Free<GENERAL_NAMES_free>>;
using Name = std::unique_ptr<GENERAL_NAME, Free<GENERAL_NAME_free>>;
using Number = std::unique_ptr<BIGNUM, Free<BN_free>>;

constexpr std::size_t kSerialBytes = 16;
constexpr std::size_t kLongestCommonName = 64;
constexpr std::size_t kV4 = 4;
constexpr std::size_t kV6 = 16;

std::unexpected<Error> openssl_failed(const char* doing) {
  std::array<char, 256> words{};
  ::ERR_error_string_n(::ERR_get_error(), words.data(), words.size());
  ::ERR_clear_error();
  return fail(Code::Internal, fmt::format("{}: OpenSSL says {}", doing, words.data()));
}

Memory memory_of(std::string_view bytes) {
  return Memory(::BIO_new_mem_buf(bytes.data(), static_cast<int>(bytes.size())));
}

std::string contents(BIO* memory) {
  char* bytes = nullptr;
  const long size = BIO_get_mem_data(memory, &bytes);
  return {bytes, static_cast<std::size_t>(size)};
}

/// Keys are never encrypted: nobody is asked for a password.
int no_password(char* /*buffer*/, int /*size*/, int /*writing*/, void* /*context*/) {
  return 0;
}

Certificate parse_certificate(std::string_view pem) {
  const Memory memory = memory_of(pem);
  Certificate out(::PEM_read_bio_X509(memory.get(), nullptr, no_password, nullptr));
  ::ERR_clear_error();
  return out;
}

Key parse_key(std::string_view pem) {
  const Memory memory = memory_of(pem);
  Key out(::PEM_read_bio_PrivateKey(memory.get(), nullptr, no_password, nullptr));
  ::ERR_clear_error();
  return out;
}

Result<std::string> pem_of(X509* certificate) {
  const Memory memory(::BIO_new(::BIO_s_mem()));
  if (!memory || ::PEM_write_bio_X509(memory.get(), certificate) != 1) {
    return openssl_failed("writing a certificate");
  }
  return contents(memory.get());
}

Result<secrets::Secret> pem_of(EVP_PKEY* key) {
  const Memory memory(::BIO_new(::BIO_s_secmem()));
  if (!memory || ::PEM_write_bio_PKCS8PrivateKey(memory.get(), key, nullptr, nullptr, 0, nullptr,
                                                 nullptr) != 1) {
    return openssl_failed("writing a key");
  }
  std::string text = contents(memory.get());
  return secrets::Secret::take(text);
}

/// The 4 or 16 bytes of an address; nothing where it is a name.
std::optional<std::string> address_bytes(const std::string& host) {
  std::array<unsigned char, kV6> bytes{};
  for (const auto& [family, size] : {std::pair(AF_INET, kV4), std::pair(AF_INET6, kV6)}) {
    if (::inet_pton(family, host.c_str(), bytes.data()) == 1) {
      return std::string(bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(size));
    }
  }
  return std::nullopt;
}

std::string lower(std::string text) {
  std::ranges::transform(text, text.begin(), [](char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c;
  });
  return text;
}

std::string address_text(std::string_view bytes) {
  std::array<char, INET6_ADDRSTRLEN> text{};
  const int family = bytes.size() == kV4 ? AF_INET : AF_INET6;
  const bool known = bytes.size() == kV4 || bytes.size() == kV6;
  return known && ::inet_ntop(family, bytes.data(), text.data(), text.size()) != nullptr
             ? text.data()
             : std::string();
}

/// OpenSSL's own kind of text, owned by the general name that it goes into.
Name general_name(const std::string& host) {
  const auto address = address_bytes(host);
  const std::string& bytes = address ? *address : host;
  ASN1_STRING* text = ::ASN1_STRING_type_new(address ? V_ASN1_OCTET_STRING : V_ASN1_IA5STRING);
  Name name(::GENERAL_NAME_new());
  if (text == nullptr || !name ||
      ::ASN1_STRING_set(text, bytes.data(), static_cast<int>(bytes.size())) != 1) {
    ::ASN1_STRING_free(text);
    return nullptr;
  }
  ::GENERAL_NAME_set0_value(name.get(), address ? GEN_IPADD : GEN_DNS, text);
  return name;
}

bool add_hosts(X509* certificate, std::span<const std::string> hosts) {
  const Names names(::GENERAL_NAMES_new());
  for (const std::string& host : hosts) {
    Name name = general_name(host);
    if (!name || sk_GENERAL_NAME_push(names.get(), name.get()) <= 0) {
      return false;
    }
    static_cast<void>(name.release());
  }
  return ::X509_add1_ext_i2d(certificate, NID_subject_alt_name, names.get(), 0, 0) == 1;
}

bool add_extension(X509* certificate, X509* issuer, int which, const char* value) {
  X509V3_CTX context{};
  ::X509V3_set_ctx(&context, issuer, certificate, nullptr, nullptr, 0);
  const Extension extension(::X509V3_EXT_conf_nid(nullptr, &context, which, value));
  return extension && ::X509_add_ext(certificate, extension.get(), -1) == 1;
}

bool set_serial(X509* certificate) {
  std::array<unsigned char, kSerialBytes> bytes{};
  if (::RAND_bytes(bytes.data(), static_cast<int>(bytes.size())) != 1) {
    return false;
  }
  bytes[0] = static_cast<unsigned char>((bytes[0] & 0x7FU) | 0x40U);  // positive, always as long
  const Number number(::BN_bin2bn(bytes.data(), static_cast<int>(bytes.size()), nullptr));
  return number &&
         ::BN_to_ASN1_INTEGER(number.get(), ::X509_get_serialNumber(certificate)) != nullptr;
}

std::time_t seconds(os::WallTime time) {
  return std::chrono::floor<std::chrono::seconds>(time).time_since_epoch().count();
}

bool set_times(X509* certificate, os::WallTime from, os::WallTime until) {
  return ::ASN1_TIME_set(::X509_getm_notBefore(certificate), seconds(from)) != nullptr &&
         ::ASN1_TIME_set(::X509_getm_notAfter(certificate), seconds(until)) != nullptr;
}

bool set_name(X509* certificate, const std::string& name) {
  const std::string cut = name.substr(0, kLongestCommonName);
  const auto* bytes = reinterpret_cast<const unsigned char*>(cut.data());
  return ::X509_NAME_add_entry_by_txt(::X509_get_subject_name(certificate), "CN", MBSTRING_UTF8,
                                      bytes, static_cast<int>(cut.size()), -1, 0) == 1;
}

/// Not signed yet; the times are `from` to `until`.
Certificate new_certificate(EVP_PKEY* key, const std::string& name, os::WallTime from,
                            os::WallTime until) {
  Certificate out(::X509_new());
  const bool made = out && ::X509_set_version(out.get(), X509_VERSION_3) == 1 &&
                    set_serial(out.get()) && set_times(out.get(), from, until) &&
                    set_name(out.get(), name) && ::X509_set_pubkey(out.get(), key) == 1;
  return made ? std::move(out) : nullptr;
}

Result<Pair> signed_pair(const Certificate& certificate, const Key& key, X509* issuer,
                         EVP_PKEY* issuer_key) {
  if (::X509_set_issuer_name(certificate.get(), ::X509_get_subject_name(issuer)) != 1 ||
      ::X509_sign(certificate.get(), issuer_key, ::EVP_sha256()) == 0) {
    return openssl_failed("signing a certificate");
  }
  MESH_TRY(std::string text, pem_of(certificate.get()));
  MESH_TRY(secrets::Secret key_text, pem_of(key.get()));
  return Pair{std::move(text), std::move(key_text)};
}

Result<os::WallTime> time_of(const ASN1_TIME* time) {
  std::tm parts{};
  if (::ASN1_TIME_to_tm(time, &parts) != 1) {
    return fail(Code::Corrupt, "a certificate's time cannot be read");
  }
  return os::WallTime(std::chrono::seconds(::timegm(&parts)));
}

std::vector<std::string> hosts_of(X509* certificate) {
  std::vector<std::string> out;
  const Names names(static_cast<GENERAL_NAMES*>(
      ::X509_get_ext_d2i(certificate, NID_subject_alt_name, nullptr, nullptr)));
  for (int i = 0; names && i < sk_GENERAL_NAME_num(names.get()); ++i) {
    int kind = 0;
    const auto* text = static_cast<const ASN1_STRING*>(
        ::GENERAL_NAME_get0_value(sk_GENERAL_NAME_value(names.get(), i), &kind));
    if (kind != GEN_IPADD && kind != GEN_DNS) {
      continue;
    }
    const std::string bytes(reinterpret_cast<const char*>(::ASN1_STRING_get0_data(text)),
                            static_cast<std::size_t>(::ASN1_STRING_length(text)));
    out.push_back(kind == GEN_IPADD ? address_text(bytes) : bytes);
  }
  return normal_hosts(out);
}

Status check_hosts(std::span<const std::string> hosts) {
  if (hosts.empty()) {
    return fail(Code::InvalidArgument, "a certificate needs a host that it is for");
  }
  for (const std::string& host : hosts) {
    const bool plain = std::ranges::all_of(host, [](char c) { return c > ' ' && c <= '~'; });
    if (host.empty() || host.size() > 253 || !plain) {
      return fail(Code::InvalidArgument,
                  fmt::format("\"{}\" cannot stand in a certificate", printable(host)));
    }
  }
  return {};
}

/// The block of that kind; what stands around it is no matter.
constexpr std::string_view kBegin = "-----BEGIN ";

std::string_view block(std::string_view pem, std::string_view kind) {
  const std::string begin = std::string(kBegin) + std::string(kind) + "-----";
  const std::string end = "-----END " + std::string(kind) + "-----";
  const auto from = pem.find(begin);
  const auto to = from == std::string_view::npos ? from : pem.find(end, from);
  return to == std::string_view::npos ? std::string_view()
                                      : pem.substr(from, to + end.size() - from);
}

}  // namespace

secrets::Secret Pair::together() const {
  std::string text = certificate;
  text.append(key.reveal());
  return secrets::Secret::take(text);
}

Result<Pair> read_pair(std::string_view pem) {
  const std::string_view certificate = block(pem, "CERTIFICATE");
  const std::string_view key = block(pem, "PRIVATE KEY");
  const Certificate parsed = parse_certificate(certificate);
  const Key parsed_key = parse_key(key);
  if (!parsed || !parsed_key || ::X509_check_private_key(parsed.get(), parsed_key.get()) != 1) {
    ::ERR_clear_error();
    return fail(Code::Corrupt, "this is not a certificate and its key");
  }
  std::string key_text = std::string(key) + "\n";
  return Pair{std::string(certificate) + "\n", secrets::Secret::take(key_text)};
}

Result<Pair> make_authority(const std::string& id, os::WallTime now) {
  const Key key(EVP_EC_gen("P-256"));
  if (!key) {
    return openssl_failed("drawing a key");
  }
  const Certificate made =
      new_certificate(key.get(), "mesh " + id, now - kSkew, now + kAuthorityLife);
  if (!made || !add_extension(made.get(), made.get(), NID_basic_constraints, "critical,CA:TRUE") ||
      !add_extension(made.get(), made.get(), NID_key_usage, "critical,keyCertSign,cRLSign") ||
      !add_extension(made.get(), made.get(), NID_subject_key_identifier, "hash")) {
    return openssl_failed("making an authority");
  }
  return signed_pair(made, key, made.get(), key.get());
}

Result<Pair> issue(const Pair& authority, std::span<const std::string> hosts, os::WallTime now) {
  MESH_CHECK(check_hosts(hosts));
  const std::vector<std::string> normal = normal_hosts(hosts);
  const Certificate issuer = parse_certificate(authority.certificate);
  const Key issuer_key = parse_key(authority.key.reveal());
  const Key key(EVP_EC_gen("P-256"));
  if (!issuer || !issuer_key || !key) {
    return openssl_failed("reading the authority");
  }
  MESH_TRY(const os::WallTime last, time_of(::X509_get0_notAfter(issuer.get())));
  const Certificate made = new_certificate(key.get(), normal.front(), now - kSkew,
                                           std::min<os::WallTime>(now + kServerLife, last));
  if (!made || !add_hosts(made.get(), normal) ||
      !add_extension(made.get(), issuer.get(), NID_basic_constraints, "critical,CA:FALSE") ||
      !add_extension(made.get(), issuer.get(), NID_key_usage, "critical,digitalSignature") ||
      !add_extension(made.get(), issuer.get(), NID_ext_key_usage, "serverAuth") ||
      !add_extension(made.get(), issuer.get(), NID_authority_key_identifier, "keyid")) {
    return openssl_failed("making a certificate");
  }
  return signed_pair(made, key, issuer.get(), issuer_key.get());
}

Result<Facts> read_facts(std::string_view certificate) {
  const Certificate parsed = parse_certificate(certificate);
  if (!parsed) {
    return fail(Code::Corrupt, "this is no certificate");
  }
  Facts out;
  out.hosts = hosts_of(parsed.get());
  MESH_TRY(out.from, time_of(::X509_get0_notBefore(parsed.get())));
  MESH_TRY(out.until, time_of(::X509_get0_notAfter(parsed.get())));
  return out;
}

bool is_signed_by(std::string_view certificate, std::string_view authority) {
  const Certificate parsed = parse_certificate(certificate);
  const Certificate issuer = parse_certificate(authority);
  const bool is =
      parsed && issuer && ::X509_verify(parsed.get(), ::X509_get0_pubkey(issuer.get())) == 1;
  ::ERR_clear_error();
  return is;
}

std::vector<std::string> normal_hosts(std::span<const std::string> hosts) {
  std::vector<std::string> out;
  for (const std::string& host : hosts) {
    const auto address = address_bytes(host);
    out.push_back(address ? address_text(*address) : lower(host));
  }
  std::ranges::sort(out);
  const auto again = std::ranges::unique(out);
  out.erase(again.begin(), again.end());
  return out;
}

}  // namespace mesh::certificates
