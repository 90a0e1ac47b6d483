#include "controller/prune_plan.h"

#include <algorithm>
#include <set>

#include <fmt/format.h>

namespace mesh::controller {

namespace {

using Why = std::map<std::string, std::string>;  // digest -> why it stays

/// One repository: what stays of it, and why.
class RepositoryPrune {
 public:
  RepositoryPrune(std::vector<const HeldManifest*> held, const Why& named, bool all)
      : held_(std::move(held)) {
    std::set<std::string> parts;
    for (const auto* one : held_) {
      by_digest_[one->digest] = one;
      parts.insert(one->children.begin(), one->children.end());
    }
    for (const auto* one : held_) {
      if (const auto because = name_of(*one, named); !because.empty()) {
        keep(*one, because, kept_);
      }
    }
    if (const auto whole = named.find(held_.front()->repository); whole != named.end()) {
      for (const auto* one : held_) {
        if (!parts.contains(one->digest) && !stays(one->digest)) {
          keep(*one, whole->second, kept_);
        }
      }
    }
    for (const auto* one : held_) {
      if (!all && !one->ours && !parts.contains(one->digest) && !stays(one->digest)) {
        keep(*one, "mesh has no record of putting it there", foreign_);
      }
    }
    keep_around();
  }

  [[nodiscard]] bool stays(const std::string& digest) const { return stay_.contains(digest); }

  /// Those that stay for a reason of their own; parts of these are not listed.
  void list_kept(PrunePlan& plan) const {
    for (const auto& [digest, because] : kept_) {
      plan.kept.push_back({held_.front()->repository, digest, because});
    }
    for (const auto& [digest, because] : foreign_) {
      plan.foreign.push_back({held_.front()->repository, digest, because});
    }
  }

  void list_unused(PrunePlan& plan) const {
    std::set<std::string> parts;
    for (const auto* one : held_) {
      if (!stays(one->digest)) {
        parts.insert(one->children.begin(), one->children.end());
      }
    }
    std::set<std::string> listed;
    for (const auto* one : held_) {
      if (!stays(one->digest) && !parts.contains(one->digest)) {
        plan.unused.push_back(unused(*one, listed));
      }
    }
  }

 private:
  void keep(const HeldManifest& one, const std::string& because, Why& to) {
    to.emplace(one.digest, because);
    walk(one);
  }

  /// Who names it by its digest or by a tag; empty where nobody does.
  static std::string name_of(const HeldManifest& one, const Why& named) {
    auto found = named.find(one.digest);
    for (auto tag = one.tags.begin(); found == named.end() && tag != one.tags.end(); ++tag) {
      found = named.find(one.repository + ":" + *tag);
    }
    return found == named.end() ? std::string() : found->second;
  }

  /// It stays, its parts and its subject.
  void walk(const HeldManifest& one) {
    if (!stay_.insert(one.digest).second) {
      return;
    }
    unreadable_ = unreadable_ || !one.readable;
    auto more = one.children;
    more.push_back(one.subject);
    for (const auto& digest : more) {
      if (const auto found = by_digest_.find(digest); found != by_digest_.end()) {
        walk(*found->second);
      }
    }
  }

  /// What refers to something that stays, again and again until nothing is new.
  void keep_around() {
    for (bool more = true; more;) {
      more = false;
      for (const auto* one : held_) {
        if (stays(one->digest)) {
          continue;
        }
        if (const auto to = refers_to_kept(*one); !to.empty()) {
          keep(*one, fmt::format("it says something about {}", to), kept_);
          more = true;
        } else if (unreadable_) {
          keep(*one, "an image of this repository that stays cannot be read", kept_);
          more = true;
        }
      }
    }
  }

  [[nodiscard]] std::string refers_to_kept(const HeldManifest& one) const {
    if (stays(one.subject)) {
      return one.subject;
    }
    for (const auto& tag : one.tags) {
      constexpr std::string_view kPrefix = "sha256-";
      constexpr std::size_t kHex = 64;
      if (tag.starts_with(kPrefix) && stays("sha256:" + tag.substr(kPrefix.size(), kHex))) {
        return "sha256:" + tag.substr(kPrefix.size(), kHex);
      }
    }
    return {};
  }

  /// The image with those parts that nothing before it has listed.
  [[nodiscard]] UnusedImage unused(const HeldManifest& root, std::set<std::string>& listed) const {
    UnusedImage out{root.repository, root.digest, root.tags, {}, 0};
    std::set<std::string> counted;
    std::vector<const HeldManifest*> todo{&root};
    for (std::size_t at = 0; at < todo.size(); ++at) {
      const auto& one = *todo[at];
      if (!counted.insert(one.digest).second) {
        continue;
      }
      out.bytes += one.size;
      for (const auto& [digest, bytes] : one.blobs) {
        out.bytes += counted.insert(digest).second ? bytes : 0;
      }
      if (!stays(one.digest) && listed.insert(one.digest).second) {
        out.manifests.push_back(one.digest);
      }
      for (const auto& child : one.children) {
        if (const auto found = by_digest_.find(child); found != by_digest_.end()) {
          todo.push_back(found->second);
        }
      }
    }
    return out;
  }

  std::vector<const HeldManifest*> held_;
  std::map<std::string, const HeldManifest*> by_digest_;
  std::set<std::string> stay_;
  Why kept_;
  Why foreign_;
  bool unreadable_ = false;
};

}  // namespace

PrunePlan plan_prune(const std::vector<HeldManifest>& held,
                     const std::map<std::string, std::string>& named, bool all) {
  std::map<std::string, std::vector<const HeldManifest*>> repositories;
  for (const auto& one : held) {
    repositories[one.repository].push_back(&one);
  }
  PrunePlan plan;
  std::set<std::string> needed;                  // contents of what stays, in any repository
  std::map<std::string, std::uint64_t> dropped;  // contents of what goes
  for (auto& [name, manifests] : repositories) {
    std::ranges::sort(manifests, {}, [](const auto* one) { return one->digest; });
    const RepositoryPrune repository(manifests, named, all);
    repository.list_kept(plan);
    repository.list_unused(plan);
    for (const auto* one : manifests) {
      if (repository.stays(one->digest)) {
        needed.insert(one->digest);
        for (const auto& blob : one->blobs) {
          needed.insert(blob.first);
        }
      } else {
        dropped[one->digest] = one->size;
        dropped.insert(one->blobs.begin(), one->blobs.end());
      }
    }
  }
  for (const auto& [digest, bytes] : dropped) {
    plan.frees += needed.contains(digest) ? 0 : bytes;
  }
  return plan;
}

}  // namespace mesh::controller
