#include "registry/verifier.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <array>

#include "os/fd.h"
#include "os/files.h"
#include "registry/turns.h"

namespace mesh::registry {
namespace {

constexpr std::size_t kReadAtOnce = 4;

/// NotFound and Corrupt are answers to the question how things are; other errors are not.
Status note(const oci::Digest& digest, const Status& read, Damage& damage) {
  if (read) {
    return {};
  }
  if (read.error().code == Code::NotFound) {
    damage.missing.insert(digest);
    return {};
  }
  if (read.error().code == Code::Corrupt) {
    damage.wrong.insert(digest);
    return {};
  }
  return read;
}

Status read_member(Client& own, const std::string& repository, const LedgerMember& member,
                   const oci::Digest& digest) {
  if (member.manifest) {
    return read_manifest_back(own, repository, digest);
  }
  const Expected expected{digest, member.size, "text/html",
                          fmt::format("blob {} of {}", digest.text(), repository)};
  Incoming incoming(expected, nullptr, {});
  Status done = own.blob(repository, expected, incoming);
  // A body that ends early every time is not a bad connection but a short file.
  if (!done && done.error().code == Code::Unavailable && incoming.received() > 0) {
    return fail(Code::Corrupt, done.error().message);
  }
  return done;
}

/// Hashes a file in pieces; nothing where it cannot be read.
std::optional<oci::Digest> hash_file(const std::string& path, oci::Algorithm algorithm) {
  const os::Fd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file.valid()) {
    return std::nullopt;
  }
  oci::Hasher hasher(algorithm);
  std::array<char, std::size_t{64} << 10U> piece;
  for (;;) {
    const ssize_t got = ::read(file.get(), piece.data(), piece.size());
    if (got < 0) {
      return std::nullopt;
    }
    if (got == 0) {
      return hasher.finish();
    }
    hasher.update({piece.data(), static_cast<std::size_t>(got)});
  }
}

/// The distribution project's layout, below the storage: docker/registry/v2/blobs/sha256/ab/abcd….
std::string data_folder(const oci::Digest& digest) {
  return fmt::format("docker/registry/v2/blobs/{}/{}/{}", oci::algorithm_name(digest.algorithm()),
                     digest.hex().substr(0, 2), digest.hex());
}

}  // namespace

Status read_manifest_back(Client& own, const std::string& repository, const oci::Digest& digest) {
  const auto body = own.manifest(repository, digest.text(), 2);
  // A registry that fails over this one and answers otherwise cannot read what it has.
  const bool unreadable = !body && body.error().code == Code::Unavailable && own.answers();
  return body         ? Status()
         : unreadable ? Status(fail(Code::Corrupt, body.error().message))
                      : Status(std::unexpected(body.error()));
}

Error keeps_damaged(const std::string& domain, const oci::Digest& digest) {
  return {
      Code::Corrupt,
      fmt::format("{} keeps damaged bytes of {} and takes no others", domain, digest.text()),
      fmt::format("remove the folder {} below its storage's root, restart it, and run this again",
                  data_folder(digest)),
      {}};
}

Result<Damage> walk(http::Loop& loop, Client& own, const std::string& repository,
                    const LedgerImage& image,
                    const std::function<void(const LedgerMember&)>& read) {
  Damage damage;
  MESH_CHECK(each(loop, image.members.size(), kReadAtOnce, [&](std::size_t at) -> Status {
    const LedgerMember& member = image.members[at];
    MESH_TRY(const auto digest, oci::Digest::parse(member.digest));
    MESH_CHECK(note(digest, read_member(own, repository, member, digest), damage));
    if (read) {
      read(member);
    }
    return {};
  }));
  return damage;
}

Status clear_away(Client& own, const std::string& repository, const std::string& storage,
                  const std::set<oci::Digest>& wrong) {
  for (const auto& digest : wrong) {
    // Also makes the registry forget what it remembers of it.
    own.forget(repository, digest);
    if (storage.empty()) {
      continue;
    }
    const std::string folder = storage + "/" + data_folder(digest);
    const auto found = hash_file(folder + "/data", digest.algorithm());
    if (found && *found != digest) {
      MESH_CHECK(os::remove_tree(folder));
    }
  }
  return {};
}

}  // namespace mesh::registry
