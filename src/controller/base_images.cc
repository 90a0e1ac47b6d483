#include "controller/base_images.h"

#include <algorithm>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "base/text.h"
#include "controller/building.h"
#include "controller/image_plan.h"
#include "controller/tag_notes.h"
#include "oci/manifest.h"

namespace mesh::controller {

namespace {

std::string platforms_of(const oci::Manifest& index) {
  std::vector<std::string> names;
  for (const auto& child : index.children) {
    if (child.platform && !oci::is_attestation(child)) {
      names.push_back(child.platform->text());
    }
  }
  return names.empty() ? "none" : join(names, ", ");
}

}  // namespace

Result<oci::Repository> base_repository(const oci::Reference& base) {
  std::string domain;
  for (const char c : base.domain()) {
    // A port and the brackets of an address are no part of a repository's name.
    domain += c == ':'               ? "_"
              : c == '[' || c == ']' ? ""
                                     : std::string(1, static_cast<char>(std::tolower(c)));
  }
  return oci::Repository::parse("base/" + domain + "/" + base.path());
}

Result<oci::Repository> repository_of_image(const std::string& own, const oci::Reference& image) {
  return image.domain() == own ? oci::Repository::parse(image.path()) : base_repository(image);
}

Status BaseImages::add(const std::string& text, const oci::Reference& reference) {
  Base base{reference, std::nullopt, lock_name(reference)};
  MESH_TRY(base.repository, repository_of_image(own_, reference));
  bases_.emplace(text, std::move(base));
  return {};
}

Status BaseImages::collect_images(const model::Mesh& mesh) {
  for (const auto& module : mesh.modules) {
    for (const auto& component : module.file->components) {
      if (!component.image || module.on.empty() || bases_.contains(*component.image)) {
        continue;
      }
      auto reference = oci::Reference::parse(*component.image);
      if (!reference) {
        return fail(Code::InvalidArgument, reference.error().message, reference.error().hint,
                    component.place);
      }
      MESH_CHECK(add(*component.image, *reference));
    }
  }
  return {};
}

Status BaseImages::collect(const std::vector<BuildInput>& inputs) {
  for (const auto& input : inputs) {
    for (const auto& resolved : input.platforms) {
      for (const auto& use : resolved.images) {
        if (bases_.contains(use.text)) {
          continue;
        }
        auto reference = oci::Reference::parse(use.text);
        if (!reference) {
          auto error = std::move(reference).error();
          error.place = input.place(use.spot);
          error.code = Code::InvalidArgument;
          return std::unexpected(std::move(error));
        }
        MESH_CHECK(add(use.text, *reference));
      }
    }
  }
  return {};
}

void BaseImages::say_what_is_asked(const std::vector<Base*>& bases,
                                   const std::vector<registry::MirrorPair>& pairs) {
  std::vector<std::string> asked;
  for (std::size_t i = 0; i < pairs.size(); ++i) {
    const auto& digest = pairs[i].source.digest();
    const bool held = digest && mirror_.holds(pairs[i].repository, *digest).value_or(false);
    if (!held) {
      asked.push_back(bases[i]->reference.familiar());
    }
  }
  say_(asked.empty() ? fmt::format("bases: {}, all held: upstream is asked nothing", pairs.size())
                     : fmt::format("bases: {}, upstream is asked for {}: {}", pairs.size(),
                                   asked.size(), join(asked, ", ")));
}

/// Upstream does not have what mesh.lock says that a tag is.
Error BaseImages::locked_is_gone(const Base& base, Error error) {
  if (error.code == Code::NotFound) {
    error.message += fmt::format("; mesh.lock says that {} is this digest", base.name);
    error.hint = "`mesh build --update` asks what the tag means now, and moves mesh.lock";
  }
  return error;
}

Status BaseImages::bring(builder::LockFile& lock, bool update, std::vector<std::string>& notes) {
  std::vector<Base*> bases;
  std::vector<registry::MirrorPair> pairs;
  for (auto& [text, base] : bases_) {
    const auto locked = lock.images.find(base.name);
    std::optional<oci::Digest> before;
    if (!base.name.empty() && locked != lock.images.end()) {
      before = oci::Digest::parse(locked->second).value();
    }
    auto source = base.reference;
    if (before && !update) {
      source = oci::Reference::parse(base.reference.pinned(*before)).value();
    }
    if (!before) {
      MESH_TRY(before, noted_tag(inventory_, base.reference, TagNote::Built));
    }
    if (!before) {
      MESH_TRY(before, noted_tag(inventory_, base.reference, TagNote::Mirrored));
    }
    bases.push_back(&base);
    pairs.push_back({std::move(source), *base.repository, before});
  }
  if (pairs.empty()) {
    return {};
  }
  say_what_is_asked(bases, pairs);
  const auto done = mirror_.run(pairs);
  for (std::size_t i = 0; i < done.size(); ++i) {
    auto& base = *bases[i];
    if (!done[i]) {
      const bool by_lock = !base.name.empty() && pairs[i].source.digest();
      base.digest = within(base.reference.familiar(),
                           by_lock ? locked_is_gone(base, done[i].error()) : done[i].error());
      continue;
    }
    base.digest = done[i]->digest.text();
    if (!done[i]->remark.empty()) {
      notes.push_back(base.reference.familiar() + ": " + done[i]->remark);
    }
    if (base.name.empty()) {
      continue;
    }
    MESH_CHECK(note_tag(inventory_, base.reference, TagNote::Built, done[i]->digest));
    auto& entry = lock.images[base.name];
    if (!entry.empty() && entry != *base.digest) {
      notes.push_back(fmt::format("{}: {} -> {}", base.reference.familiar(), entry, *base.digest));
    }
    entry = *base.digest;
  }
  return {};
}

Result<std::string> BaseImages::digest(const std::string& text) const {
  const auto found = bases_.find(text);
  return found == bases_.end()
             ? Result<std::string>(fail(Code::Internal, "an unknown base: " + printable(text)))
             : found->second.digest;
}

Result<std::string> BaseImages::pin(const std::string& text, const std::string& platform) {
  MESH_TRY(const auto digest, this->digest(text));
  const auto& base = bases_.at(text);
  MESH_TRY(const auto kept, ledger_.manifest(digest));
  std::string chosen = digest;
  if (kept) {
    MESH_TRY(const auto manifest,
             oci::read_manifest(kept->bytes, {.content_type = kept->media_type}));
    if (manifest.kind == oci::MediaKind::Index) {
      MESH_TRY(const auto wanted, oci::parse_platform(platform));
      const auto* child = oci::choose(manifest, wanted);
      if (child == nullptr) {
        return fail(Code::Unsupported,
                    fmt::format("{} has no image for {}: it has {}", base.reference.familiar(),
                                platform, platforms_of(manifest)),
                    "take another base, or leave the platform out");
      }
      chosen = child->digest.text();
    }
  }
  return fmt::format("{}/{}@{}", own_, base.repository->text(), chosen);
}

std::vector<std::string> BaseImages::locked_names() const {
  std::vector<std::string> names;
  for (const auto& [text, base] : bases_) {
    if (!base.name.empty()) {
      names.push_back(base.name);
    }
  }
  return names;
}

}  // namespace mesh::controller
