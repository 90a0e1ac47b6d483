#include "host/identity.h"

#include <nlohmann/json.hpp>

#include "base/base64.h"
#include "base/json_text.h"
#include "os/files.h"

namespace mesh::host {

namespace {

constexpr std::size_t kLargestIdentity = 256U << 10U;

std::string identity_file(const std::string& state) {
  return state + "/identity.json";
}

std::string text_of(const nlohmann::json& document, const char* key) {
  const auto found = document.find(key);
  return found != document.end() && found->is_string() ? found->get<std::string>() : std::string();
}

std::string bytes_of(const nlohmann::json& document, const char* key) {
  return from_base64(text_of(document, key)).value_or("");
}

std::unexpected<Error> damaged(const std::string& state) {
  return fail(
      Code::Corrupt, identity_file(state) + " is damaged",
      "what runs goes on; `mesh node remove` and `mesh node add` give the machine a new one, "
      "once its state is removed");
}

}  // namespace

Result<Identity> Identity::from_token(const declaration::Token& token, os::Random& random) {
  auto seed = random.bytes(secrets::kSeedBytes);
  auto key = secrets::SigningKey::from_seed(seed);
  secrets::wipe(seed);
  MESH_TRY(auto made, std::move(key));
  return Identity{token.mesh,       token.node,     token.urls,      token.ca,
                  token.controller, token.recovery, std::move(made), token.password.copy(),
                  std::nullopt,     false};
}

Result<Identity> read_identity(const std::string& state) {
  MESH_TRY(auto bytes, os::read_private_file(identity_file(state), kLargestIdentity));
  const auto document = parse_json(bytes, {.bytes = kLargestIdentity, .depth = 4});
  secrets::wipe(bytes);
  if (!document || !document->is_object()) {
    return damaged(state);
  }
  auto controller = secrets::PublicKey::from_bytes(bytes_of(*document, "controller"));
  auto recovery = secrets::PublicKey::from_bytes(bytes_of(*document, "recovery"));
  auto seed = bytes_of(*document, "seed");
  auto key = secrets::SigningKey::from_seed(seed);
  secrets::wipe(seed);
  auto password = text_of(*document, "password");
  auto former = text_of(*document, "former");
  const auto mesh = text_of(*document, "mesh");
  const auto node = text_of(*document, "node");
  std::vector<std::string> urls;
  for (const auto& url : document->value("urls", nlohmann::json::array())) {
    urls.push_back(url.is_string() ? url.get<std::string>() : std::string());
  }
  if (!controller || !recovery || !key || mesh.empty() || node.empty() || urls.empty()) {
    return damaged(state);
  }
  Identity out{mesh,
               node,
               std::move(urls),
               text_of(*document, "ca"),
               *std::move(controller),
               *std::move(recovery),
               *std::move(key),
               secrets::Secret::take(password),
               std::nullopt,
               document->value("joined", false)};
  if (!former.empty()) {
    out.former = secrets::Secret::take(former);
  }
  return out;
}

Status write_identity(const std::string& state, const Identity& identity) {
  const nlohmann::json document = {
      {"mesh", identity.mesh},
      {"node", identity.node},
      {"urls", identity.urls},
      {"ca", identity.ca},
      {"controller", base64(identity.controller.bytes())},
      {"recovery", base64(identity.recovery.bytes())},
      {"seed", base64(identity.key.seed().reveal())},
      {"password", identity.password.reveal()},
      {"former", identity.former ? identity.former->reveal() : std::string_view()},
      {"joined", identity.joined}};
  auto text = document.dump(2) + "\n";
  auto done = os::write_file_atomic(identity_file(state), text, os::kPrivateFile);
  secrets::wipe(text);
  return done;
}

}  // namespace mesh::host
