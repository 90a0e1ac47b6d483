#include <dirent.h>

#include <algorithm>
#include <memory>
#include <utility>

#include <fmt/format.h>

#include "base/text.h"
#include "host/container_found.h"
#include "host/containers.h"
#include "os/files.h"

namespace mesh::host {

namespace {

constexpr const char* kMeshFolder = "/run/mesh";

/// `/tmp` or `/tmp:size=64m,mode=1777`.
std::pair<std::string, std::string> tmpfs_of(const std::string& text) {
  const auto colon = text.find(':');
  return {text.substr(0, colon), colon == std::string::npos ? "" : text.substr(colon + 1)};
}

/// Engines take `NET_ADMIN`, some also `CAP_NET_ADMIN`.
std::string bare_capability(std::string text) {
  std::ranges::transform(text, text.begin(), [](char c) {
    return c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
  });
  return text.starts_with("CAP_") ? text.substr(4) : text;
}

std::vector<engine::Published> published(const declaration::Component& component) {
  std::vector<engine::Published> out;
  if (component.network != "bridge") {
    return out;  // they are the machine's own, or none
  }
  for (const declaration::Port& port : component.ports) {
    out.push_back({port.container, port.udp, port.address, port.host});
  }
  return out;
}

/// The same things in the engine's words.
engine::ContainerSpec translated(const declaration::Component& component) {
  engine::ContainerSpec out;
  out.image = component.image;
  out.entrypoint = component.entrypoint;
  out.command = component.command;
  out.user = component.user.value_or("");
  out.ports = published(component);
  out.devices = component.devices;
  out.network = component.network;
  out.read_only = component.read_only;
  out.memory = component.memory;
  out.cpus = component.cpus;
  out.pids = component.pids;
  out.init = component.init;
  out.log_size = component.log_size;
  out.grace = component.grace;
  for (const std::string& one : component.tmpfs) {
    out.tmpfs.insert(tmpfs_of(one));
  }
  for (const std::string& one : component.capabilities) {
    out.capabilities.push_back(bare_capability(one));
  }
  return out;
}

std::vector<std::string> entries_of(const std::string& folder) {
  std::vector<std::string> out;
  const auto close = [](DIR* open) { ::closedir(open); };
  const std::unique_ptr<DIR, decltype(close)> open(::opendir(folder.c_str()), close);
  while (const dirent* entry = open == nullptr ? nullptr : ::readdir(open.get())) {
    const std::string name(static_cast<const char*>(entry->d_name));
    if (name != "." && name != "..") {
      out.push_back(name);
    }
  }
  return out;
}

}  // namespace

std::string Containers::files_folder(const std::string& container) const {
  return options_.folder + "/" + container;
}

Status Containers::write_files(const UnitSpec& spec, engine::ContainerSpec& out) const {
  if (spec.component.files.empty()) {
    return {};
  }
  // Closed to this machine's other users by the folder above; within the container open to all.
  const std::string folder = files_folder(out.name);
  MESH_CHECK(os::make_private_dir(options_.folder));
  MESH_CHECK(os::make_dirs(folder));
  int number = 0;
  for (const auto& [path, bytes] : spec.component.files) {
    const std::string file = fmt::format("{}/{}", folder, number++);
    MESH_CHECK(os::write_file_atomic(file, bytes, os::kOrdinaryFile));
    out.mounts.push_back({engine::Mount::Kind::Bind, file, path, true});
  }
  return {};
}

Status Containers::mount_volumes(const UnitSpec& spec, engine::ContainerSpec& out) {
  for (const declaration::Volume& volume : spec.component.volumes) {
    if (volume.is_path()) {
      if (!os::exists(volume.source)) {
        return fail(Code::NotFound,
                    fmt::format("the volume {} of {}.{} is not on this machine",
                                printable(volume.source), spec.name.module, spec.name.component),
                    "make that directory, or correct the path");
      }
      out.mounts.push_back(
          {engine::Mount::Kind::Bind, volume.source, volume.target, volume.read_only});
      continue;
    }
    engine::Volume wanted{volume_name(spec.name.module, volume.source), our_labels()};
    wanted.labels[kModuleLabel] = spec.name.module;
    wanted.labels[kVolumeLabel] = volume.source;
    MESH_TRY(const auto made, engine_.create_volume(wanted));
    if (!is_ours(made.labels)) {
      return fail(Code::Conflict,
                  fmt::format("the volume {} is not of this mesh and node", wanted.name),
                  "rename or remove it");
    }
    out.mounts.push_back(
        {engine::Mount::Kind::Volume, wanted.name, volume.target, volume.read_only});
  }
  return {};
}

Result<engine::ContainerSpec> Containers::container_spec(const UnitSpec& spec) {
  if (spec.component.image.empty()) {
    return fail(Code::Unsupported, fmt::format("{}.{} is a command: it runs on the machine itself",
                                               spec.name.module, spec.name.component));
  }
  engine::ContainerSpec out = translated(spec.component);
  out.name = container_name(spec.name);
  out.labels = our_labels();
  out.labels[kModuleLabel] = spec.name.module;
  out.labels[kComponentLabel] = spec.name.component;
  out.labels[kGenerationLabel] = spec.name.generation;
  out.labels[kImageLabel] = spec.component.image;
  if (const auto& health = spec.component.health;
      health && health->kind == declaration::Health::Kind::Command) {
    out.check = health->command;
  }
  out.environment = spec.environment;
  MESH_CHECK(mount_volumes(spec, out));
  MESH_CHECK(write_files(spec, out));
  if (!spec.files.empty()) {
    out.mounts.push_back({engine::Mount::Kind::Bind, spec.files, kMeshFolder, true});
  }
  return out;
}

/// Once: the files of containers that a process of before was about to make, or had removed.
void Containers::sweep_files(const std::vector<engine::Listed>& listed) {
  const std::lock_guard lock(mutex_);
  if (std::exchange(swept_, true)) {
    return;
  }
  for (const std::string& name : entries_of(options_.folder)) {
    const bool used = making_.contains(name) ||
                      std::ranges::find(listed, name, &engine::Listed::name) != listed.end();
    if (!used) {
      (void)os::remove_tree(files_folder(name));
    }
  }
}

}  // namespace mesh::host
