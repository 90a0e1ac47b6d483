#include "declaration/token.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/base64.h"
#include "base/digest.h"
#include "base/json_text.h"
#include "declaration/fields.h"
#include "secrets/base64url.h"

namespace mesh::declaration {

namespace {

constexpr std::string_view kPrefix = "mesh-join-";
constexpr std::size_t kChecksum = 8;  // hexadecimal digits

std::string join_text(const std::string& mesh, const std::string& node,
                      const std::string& incarnation) {
  std::string out = "mesh-join";
  for (const auto& part : {mesh, node, incarnation}) {
    out += '\0';
    out += part;
  }
  return out;
}

std::unexpected<Error> no_token(const char* why) {
  return fail(Code::InvalidArgument, fmt::format("that is no join token: {}", why),
              "`mesh node add` prints one; it is one line that begins with mesh-join-");
}

std::string_view trimmed(std::string_view text) {
  const auto begin = text.find_first_not_of(" \t\r\n");
  const auto end = text.find_last_not_of(" \t\r\n");
  return begin == std::string_view::npos ? std::string_view() : text.substr(begin, end - begin + 1);
}

}  // namespace

secrets::Secret write_token(const Token& token) {
  const nlohmann::json document = {{"mesh", token.mesh},
                                   {"node", token.node},
                                   {"urls", token.urls},
                                   {"ca", token.ca},
                                   {"controller", base64(token.controller.bytes())},
                                   {"recovery", base64(token.recovery.bytes())},
                                   {"password", token.password.reveal()},
                                   {"expires", token.expires}};
  auto text = document.dump();
  auto out =
      std::string(kPrefix) + secrets::base64url(text) + "-" + sha256_hex(text).substr(0, kChecksum);
  secrets::wipe(text);
  return secrets::Secret::take(out);
}

Result<Token> read_token(std::string_view given) {
  const auto text = trimmed(given);
  if (!text.starts_with(kPrefix)) {
    return no_token("it does not begin with mesh-join-");
  }
  const auto body = text.substr(kPrefix.size());
  if (body.size() <= kChecksum + 1 || body[body.size() - kChecksum - 1] != '-') {
    return no_token("its end is missing");
  }
  auto decoded = secrets::from_base64url(body.substr(0, body.size() - kChecksum - 1));
  if (!decoded ||
      sha256_hex(*decoded).substr(0, kChecksum) != body.substr(body.size() - kChecksum)) {
    return no_token("it is cut off or mistyped");
  }
  auto document = parse_json(*decoded, {.bytes = 65536, .depth = 4});
  secrets::wipe(*decoded);
  if (!document) {
    return no_token("it cannot be read");
  }
  Fields fields(*document, "the token");
  auto password = fields.text("password");
  const auto controller = secrets::PublicKey::from_bytes(fields.bytes("controller"));
  const auto recovery = secrets::PublicKey::from_bytes(fields.bytes("recovery"));
  const auto mesh = fields.text("mesh");
  const auto node = fields.text("node");
  const auto urls = fields.texts("urls");
  const auto ca = fields.text("ca");
  const auto expires = fields.integer("expires");
  if (!fields.done() || !controller || !recovery) {
    return no_token("something is missing in it");
  }
  return Token{mesh,   node, urls, ca, *controller, *recovery, secrets::Secret::take(password),
               expires};
}

JoinRequest request_join(const secrets::SigningKey& key, const std::string& mesh,
                         const std::string& node, const std::string& incarnation) {
  return {key.public_key(), key.sign(join_text(mesh, node, incarnation))};
}

bool is_proved(const JoinRequest& request, const std::string& mesh, const std::string& node,
               const std::string& incarnation) {
  return secrets::verify(request.key, join_text(mesh, node, incarnation), request.proof);
}

}  // namespace mesh::declaration
