#include "declaration/envelope.h"

#include <fmt/format.h>

#include "base/base64.h"

namespace mesh::declaration {

namespace {

std::string next_key_text(const std::string& mesh, std::string_view key) {
  std::string out = "mesh-next-key";
  out += '\0';
  out += mesh;
  out += '\0';
  out += key;
  return out;
}

/// The key that a declaration was signed with, of those that are trusted: the pinned one, the
/// recovery key, or a next one that either of them signed.
Result<secrets::PublicKey> signer(const Envelope& envelope, const Declaration& read,
                                  const Trust& trust) {
  std::vector<secrets::PublicKey> trusted{trust.controller, trust.recovery};
  if (read.next_key) {
    MESH_TRY(auto next, secrets::PublicKey::from_bytes(read.next_key->key));
    const auto text = next_key_text(trust.mesh, next.bytes());
    if (secrets::verify(trust.controller, text, read.next_key->signature) ||
        secrets::verify(trust.recovery, text, read.next_key->signature)) {
      trusted.push_back(std::move(next));
    }
  }
  for (auto& key : trusted) {
    if (secrets::verify(key, envelope.bytes, envelope.signature)) {
      return std::move(key);
    }
  }
  return fail(Code::PermissionDenied, "the declaration is not signed by this mesh's controller");
}

/// The key to be pinned after it: a next one that is rightly signed, else the one that is.
secrets::PublicKey pinned_after(const Declaration& read, const Trust& trust) {
  if (read.next_key) {
    auto next = secrets::PublicKey::from_bytes(read.next_key->key);
    const auto text = next ? next_key_text(trust.mesh, next->bytes()) : std::string();
    if (next && (secrets::verify(trust.controller, text, read.next_key->signature) ||
                 secrets::verify(trust.recovery, text, read.next_key->signature))) {
      return *std::move(next);
    }
  }
  return trust.controller;
}

}  // namespace

std::string seal_envelope(const secrets::SigningKey& key, const Declaration& declaration) {
  const auto bytes = write(declaration);
  return base64(key.sign(bytes)) + "\n" + bytes;
}

Result<Envelope> open_envelope(std::string_view text) {
  if (text.size() > kLargest) {
    return fail(Code::Corrupt, fmt::format("the declaration has {} bytes, and may have {}",
                                           text.size(), kLargest));
  }
  const auto end = text.find('\n');
  auto signature = end == std::string_view::npos ? std::nullopt : from_base64(text.substr(0, end));
  if (!signature || signature->size() != secrets::kSignatureBytes) {
    return fail(Code::PermissionDenied, "the declaration is not signed");
  }
  return Envelope{*std::move(signature), std::string(text.substr(end + 1))};
}

Result<Accepted> accept(std::string_view text, const Trust& trust) {
  MESH_TRY(const auto envelope, open_envelope(text));
  // Signed bytes of a later format say so; unsigned ones are not worth reading further.
  auto read_it = read(envelope.bytes);
  if (!read_it && read_it.error().code == Code::Unsupported) {
    const bool ours = secrets::verify(trust.controller, envelope.bytes, envelope.signature) ||
                      secrets::verify(trust.recovery, envelope.bytes, envelope.signature);
    if (!ours) {
      return fail(Code::PermissionDenied,
                  "the declaration is not signed by this mesh's controller");
    }
  }
  MESH_TRY(auto declaration, std::move(read_it));
  MESH_CHECK(signer(envelope, declaration, trust));
  if (declaration.mesh != trust.mesh) {
    return fail(Code::Conflict,
                fmt::format("the declaration is of another mesh, {}", declaration.mesh));
  }
  if (declaration.node != trust.node) {
    return fail(Code::Conflict,
                fmt::format("the declaration is for another node, {}", declaration.node));
  }
  if (declaration.number <= trust.number) {
    return fail(Code::Conflict, fmt::format("the declaration has number {}, and {} was applied",
                                            declaration.number, trust.number));
  }
  auto pinned = pinned_after(declaration, trust);
  return Accepted{std::move(declaration), std::move(pinned)};
}

NextKey sign_next_key(const secrets::SigningKey& by, const std::string& mesh,
                      const secrets::PublicKey& next) {
  return {next.bytes(), by.sign(next_key_text(mesh, next.bytes()))};
}

}  // namespace mesh::declaration
