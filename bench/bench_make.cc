/// bench_make DIR MODULES NODES: the files of the bench's mesh in DIR, and two configurations of
/// the server with its users, `accounts.conf` as Mesh composes it and `one.conf` with the same
/// users in one account. Passwords are plain (`pw-` and the user) or, in the files ending in
/// `.bcrypt.conf`, their bcrypt hashes. `@DIR@` and `@PORT@` stand for where it runs. Each file has
/// a twin, `*.more.conf`, with one module more.
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include "broker/accounts.h"
#include "broker/compose.h"
#include "secrets/bcrypt.h"
#include "tests/support/generated_mesh.h"
#include "tests/support/one_account.h"

namespace {

namespace broker = mesh::broker;

void write(const std::filesystem::path& path, const std::string& text) {
  std::filesystem::create_directories(path.parent_path());
  std::ofstream(path, std::ios::binary) << text;
}

std::string composed(const std::vector<broker::Account>& accounts,
                     const std::vector<broker::Principal>& principals,
                     const std::string& one_hash) {
  broker::Hashes hashes;
  for (const auto& account : accounts) {
    for (const auto& user : account.users) {
      hashes[user] = one_hash.empty() ? "pw-" + user : one_hash;
    }
  }
  broker::ServerSettings settings;
  settings.listen = "127.0.0.1:@PORT@";
  settings.store_dir = "@DIR@/jetstream";
  settings.server_name = "bench";
  auto text = broker::compose(settings, accounts, principals, hashes);
  if (!text) {
    std::fprintf(stderr, "%s\n", text.error().message.c_str());
    std::exit(1);
  }
  return *text;
}

void write_configurations(const std::filesystem::path& folder, const std::string& suffix,
                          const mesh::model::Mesh& declared, const std::string& hash) {
  const auto principals = broker::principals(declared);
  const auto accounts = broker::accounts(declared, principals);
  write(folder / ("accounts" + suffix), composed(accounts, principals, hash));
  write(folder / ("one" + suffix),
        composed(mesh::test::in_one_account(accounts), principals, hash));
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 4) {
    std::fprintf(stderr, "usage: bench_make DIR MODULES NODES\n");
    return 64;
  }
  const std::filesystem::path folder = argv[1];
  const std::size_t modules = std::stoul(argv[2]);
  const std::size_t nodes = std::stoul(argv[3]);
  const auto declared = mesh::test::bench_mesh(modules, nodes);
  for (const auto& [path, text] : mesh::test::to_toml(declared)) {
    write(folder / "mesh" / path, text);
  }
  // One hash for all, of the password `pw`: what a hash costs does not depend on whose it is.
  const auto hash = mesh::secrets::bcrypt_hash("pw", "0123456789abcdef");
  if (!hash) {
    return 1;
  }
  write_configurations(folder, ".conf", declared, "");
  write_configurations(folder, ".bcrypt.conf", declared, *hash);
  write_configurations(folder, ".more.conf", mesh::test::bench_mesh(modules + 1, nodes), "");
  return 0;
}
