#include "registry/engine.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "os/dial.h"

namespace mesh::registry {
namespace {

constexpr os::Milliseconds kListensWithin{2'000};
constexpr int kHttpsPort = 443;

/// Whether somebody takes connections at `HOST[:PORT]`.
bool listens(const std::string& domain) {
  const auto endpoint = oci::endpoint_of(domain);
  const std::string place = endpoint.substr(0, endpoint.find('/'));
  const auto colon = place.rfind(':');
  const bool has_port = colon != std::string::npos && place.find(']', colon) == std::string::npos;
  auto host = place.substr(0, has_port ? colon : place.size());
  if (host.starts_with('[') && host.ends_with(']')) {
    host = host.substr(1, host.size() - 2);
  }
  int port = kHttpsPort;
  if (has_port) {
    std::from_chars(place.data() + colon + 1, place.data() + place.size(), port);
  }
  return os::dial(host, port, os::Deadline(kListensWithin)).has_value();
}

constexpr std::size_t kImagesAtOnce = 6;
// What was finished is written down at least this often: a commit waits for the disk.
constexpr os::Milliseconds kRecordEvery{250};
constexpr os::Milliseconds kLockEvery{100};

std::string remark_of(const Error& error, const oci::Reference& source, const oci::Digest& digest) {
  return fmt::format("upstream cannot be asked what {} means now ({}); going on with {}",
                     source.familiar(), error.message, digest.text());
}

bool is_out_of_reach(const Error& error) {
  return error.code == Code::Unavailable || error.code == Code::Timeout;
}

}  // namespace

Mirror::Engine::Engine(MirrorOptions options, Services services, Ledger& ledger, Progress& progress)
    : options_(std::move(options)),
      services_(std::move(services)),
      ledger_(ledger),
      progress_(progress),
      credentials_(services_),
      loop_(services_.clock,
            {.idle = {}, .stop_fd = options_.stop_fd, .timeout = options_.timeout}),
      own_({.loop = loop_,
            .services = services_,
            .credentials = credentials_,
            .account = nullptr,
            .domain = options_.registry,
            .access = options_.access,
            .remark = [this](const std::string& line) { progress_.remark(line); }}),
      upstreams_({.loop = loop_,
                  .services = services_,
                  .credentials = credentials_,
                  .account = account_,
                  .access = options_.upstreams,
                  .remark = [this](const std::string& line) { progress_.remark(line); },
                  .own = own_}),
      manifests_(loop_, upstreams_, ledger_),
      blobs_({.loop = loop_,
              .own = own_,
              .upstreams = upstreams_,
              .ledger = ledger_,
              .progress = progress_,
              .at_once = options_.blobs_at_once}),
      images_({.loop = loop_,
               .own = own_,
               .manifests = manifests_,
               .blobs = blobs_,
               .progress = progress_,
               .storage = options_.storage}),
      turns_(loop_) {}

std::vector<Result<Mirrored>> Mirror::Engine::run(std::span<const MirrorPair> pairs) {
  std::vector<std::optional<Result<Mirrored>>> done(pairs.size());
  Status written;
  loop_.spawn([&] {
    // A pair that fails leaves the others alone.
    Status all = each(loop_, pairs.size(), kImagesAtOnce, [&](std::size_t at) -> Status {
      done[at] = mirror(at, pairs[at]);
      progress_.image_ends(at, done[at]->has_value());
      return {};
    });
    written = all ? flush() : all;
    lock_.reset();
  });
  const Status ran = loop_.run();
  std::vector<Result<Mirrored>> out;
  for (auto& one : done) {
    if (one && *one && !written) {
      out.emplace_back(std::unexpected(written.error()));
    } else {
      out.push_back(one ? std::move(*one) : Result<Mirrored>(std::unexpected(ran.error())));
    }
  }
  return out;
}

Result<oci::Digest> Mirror::Engine::resolve(const oci::Reference& source) {
  std::optional<Result<oci::Digest>> digest;
  loop_.spawn([&] { digest = upstreams_.resolve(source); });
  MESH_CHECK(loop_.run());
  return *std::move(digest);
}

Result<bool> Mirror::Engine::holds(const std::string& repository, const oci::Digest& digest) {
  std::optional<Result<Held>> asked;
  loop_.spawn([&] { asked = held(repository, digest); });
  MESH_CHECK(loop_.run());
  MESH_TRY(const auto found, *std::move(asked));
  return found.image && !found.unreadable;
}

Status Mirror::Engine::reach() {
  Status reached;
  loop_.spawn([&] { reached = reach_own(); });
  MESH_CHECK(loop_.run());
  return reached;
}

Error Mirror::Engine::about_own(Error error) const {
  if (is_out_of_reach(error) && error.hint.empty()) {
    error.hint = options_.storage.empty()
                     ? "it is the mesh's registry: start it, or correct `advertise` of [registry]"
                     : "it is the mesh's registry: `mesh doctor` looks for the reason";
  }
  return error;
}

Status Mirror::Engine::reach_own() {
  MESH_TRY(const auto turn, turns_.take("reach"));
  if (!reached_) {
    // A connection is enough, and costs no request. Where there is none a proxy may still lead
    // there.
    Status status = listens(own_.domain()) ? Status() : own_.reach();
    reached_ = status ? status
                      : Status(within("asking the mesh's registry whether it answers",
                                      about_own(std::move(status).error())));
  }
  return *reached_;
}

Result<Mirror::Engine::Meant> Mirror::Engine::meant(const MirrorPair& pair) {
  if (!pair.source.digest()) {
    MESH_CHECK(reach_own());
  }
  auto digest = upstreams_.resolve(pair.source);
  if (digest) {
    return Meant{*std::move(digest), ""};
  }
  if (pair.locked && is_out_of_reach(digest.error())) {
    return Meant{*pair.locked, remark_of(digest.error(), pair.source, *pair.locked)};
  }
  return within("asking what " + pair.source.familiar() + " is", std::move(digest).error());
}

Result<Standing> Mirror::Engine::asks(const std::string& repository, const oci::Digest& digest) {
  auto standing = own_.standing(repository, digest);
  if (!standing) {
    return within(
        fmt::format("asking {} whether it holds {}@{}", own_.domain(), repository, digest.text()),
        about_own(std::move(standing).error()));
  }
  return standing;
}

Result<Mirror::Engine::Held> Mirror::Engine::held(const std::string& repository,
                                                  const oci::Digest& digest) {
  for (const LedgerHolding& mine : unrecorded_) {  // brought a moment ago
    if (mine.repository == repository && mine.image.digest == digest.text()) {
      return Held{mine.image};
    }
  }
  MESH_TRY(auto image, ledger_.image(own_.domain(), digest.text()));
  if (!image) {
    return Held{};
  }
  MESH_TRY(const auto repositories, ledger_.repositories(own_.domain(), digest.text()));
  if (std::ranges::find(repositories, repository) == repositories.end()) {
    return Held{};
  }
  MESH_TRY(const Standing standing, asks(repository, digest));
  if (standing == Standing::Missing) {
    MESH_CHECK(forget(repository, digest));
    return Held{};
  }
  return Held{std::move(image), standing == Standing::Unreadable};
}

Result<Mirrored> Mirror::Engine::mirror(std::size_t number, const MirrorPair& pair) {
  MESH_TRY(const Meant meaning, meant(pair));
  const std::string& repository = pair.repository.text();
  Mirrored out{
      .digest = meaning.digest,
      .reference = fmt::format("{}/{}@{}", own_.domain(), repository, meaning.digest.text()),
      .held = true,
      .bytes = 0,
      .remark = meaning.remark};
  ImageCopier::Job job{number, pair.source, repository, meaning.digest, {}};
  // The same pair twice in one run is brought once.
  MESH_TRY(const auto turn, turns_.take(repository + "@" + meaning.digest.text()));
  MESH_TRY(auto found, held(repository, meaning.digest));
  if (!found.image) {
    MESH_CHECK(reach_own());
    MESH_CHECK(lock_out_others());
    // Another process may just have brought it.
    MESH_TRY(found, held(repository, meaning.digest));
  }
  if (!found.image) {
    MESH_CHECK(bring(job, {}, out));
    return out;
  }
  // One that cannot be read is no use to anybody: it is repaired, asked for or not.
  if (options_.verify || found.unreadable) {
    MESH_CHECK(lock_out_others());
    MESH_CHECK(verify(job, *found.image, out));
  }
  return out;
}

Status Mirror::Engine::bring(ImageCopier::Job job, const Damage& damage, Mirrored& out) {
  job.anew = damage.wrong;
  MESH_TRY(const ImageCopier::Copied copied, images_.copy(job));
  out.held = out.held && !copied.asked_upstream;
  out.bytes += copied.bytes;
  return record(job.repository, copied.image);
}

Status Mirror::Engine::verify(const ImageCopier::Job& job, const LedgerImage& image,
                              Mirrored& out) {
  const auto look = [&] {
    return walk(loop_, own_, job.repository, image, [&](const LedgerMember& member) {
      progress_.blob_ends(member.digest, member.size, Progress::How::Held);
    });
  };
  progress_.image_known(job.number, image.members.size(), 0);
  MESH_TRY(Damage damage, look());
  if (damage.none()) {
    return record(job.repository, image);
  }
  // Until it is repaired it is not held, whatever happens to us.
  MESH_CHECK(forget(job.repository, job.digest));
  progress_.remark(fmt::format("{}/{}: {} missing and {} damaged; fetching these again",
                               own_.domain(), job.repository, damage.missing.size(),
                               damage.wrong.size()));
  for (int attempt = 0; attempt < 2; ++attempt) {
    MESH_CHECK(clear_away(own_, job.repository, options_.storage, damage.wrong));
    MESH_CHECK(bring(job, damage, out));
    MESH_TRY(damage, look());
    if (damage.none()) {
      return {};
    }
    // What a mount brought back was no better.
    damage.wrong.merge(damage.missing);
  }
  MESH_CHECK(forget(job.repository, job.digest));
  return std::unexpected(keeps_damaged(own_.domain(), *damage.wrong.begin()));
}

Status Mirror::Engine::lock_out_others() {
  MESH_TRY(const auto turn, turns_.take("lock"));
  bool said = false;
  while (!lock_) {
    auto taken = os::Lock::take(options_.state + "/mirror.lock", "mirror",
                                os::rfc3339(services_.clock.now()));
    if (taken) {
      lock_ = std::move(*taken);
      return {};
    }
    if (taken.error().code != Code::Conflict) {
      return std::unexpected(std::move(taken).error());
    }
    if (!std::exchange(said, true)) {
      progress_.remark("waiting for another mirror: " + taken.error().message);
    }
    MESH_CHECK(loop_.sleep(kLockEvery));
  }
  return {};
}

Status Mirror::Engine::record(const std::string& repository, const LedgerImage& image) {
  unrecorded_.push_back({repository, image});
  return services_.clock.monotonic() - flushed_ >= kRecordEvery ? flush() : Status();
}

Status Mirror::Engine::forget(const std::string& repository, const oci::Digest& digest) {
  std::erase_if(unrecorded_, [&](const LedgerHolding& mine) {
    return mine.repository == repository && mine.image.digest == digest.text();
  });
  return ledger_.forget(own_.domain(), repository, digest.text());
}

Status Mirror::Engine::flush() {
  flushed_ = services_.clock.monotonic();
  if (unrecorded_.empty()) {
    return {};
  }
  MESH_CHECK(manifests_.flush());
  return ledger_.record(own_.domain(), std::exchange(unrecorded_, {}));
}

}  // namespace mesh::registry
