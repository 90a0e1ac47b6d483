#include "secrets/credential.h"

#include "secrets/base64url.h"
#include "secrets/bcrypt.h"

namespace mesh::secrets {

Result<Credential> new_credential(std::string_view random) {
  if (random.size() != kCredentialRandomBytes) {
    return fail(Code::InvalidArgument, "a credential takes 48 random bytes");
  }
  std::string text = base64url(random.substr(0, 32));
  Secret secret = Secret::take(text);
  MESH_TRY(std::string hash, bcrypt_hash(secret.reveal(), random.substr(32)));
  return Credential{std::move(secret), std::move(hash)};
}

}  // namespace mesh::secrets
