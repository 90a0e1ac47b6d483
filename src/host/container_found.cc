#include "host/container_found.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>

namespace mesh::host {

namespace {

constexpr std::size_t kIdDigits = 64;
constexpr std::string_view kHexDigits = "0123456789abcdef";

std::string label(const engine::Inspected& inspected, const char* name) {
  const auto found = inspected.labels.find(name);
  return found == inspected.labels.end() ? "" : found->second;
}

std::string digest_of(const engine::Inspected& inspected) {
  const std::string labelled = label(inspected, kImageLabel);
  const std::string& reference = labelled.empty() ? inspected.image : labelled;
  const auto at = reference.find('@');
  return at == std::string::npos ? reference : reference.substr(at + 1);
}

std::string binding(const engine::Published& port) {
  const std::string address =
      port.address.find(':') == std::string::npos ? port.address : "[" + port.address + "]";
  return fmt::format("{}/{} -> {}:{}", port.container, port.udp ? "udp" : "tcp",
                     address.empty() ? "0.0.0.0" : address, port.host);
}

bool is_wildcard(const std::string& address) {
  return address.empty() || address == "0.0.0.0" || address == "::";
}

/// Where its ports answer from here: its own address where this machine is on the engine's network,
/// or else what is published. Ports that are not among `ports` are at the same number.
void reach(const engine::Inspected& inspected, bool rootless, Found& out) {
  const bool at_address = !rootless && !inspected.address.empty();
  if (inspected.network == "host") {
    out.address = "127.0.0.1";
    return;
  }
  out.address = at_address ? inspected.address : "";
  for (const engine::Published& port : inspected.ports) {
    if (port.udp || port.host == 0) {
      continue;
    }
    if (!at_address && out.address.empty()) {
      out.address = is_wildcard(port.address) ? "127.0.0.1" : port.address;
    }
    out.ports[port.container] = at_address ? port.container : port.host;
  }
}

}  // namespace

converge::UnitState state_of(std::string_view word, bool started) {
  constexpr std::array<std::string_view, 5> kRunning{"running", "paused", "restarting", "stopping",
                                                     "pausing"};
  constexpr std::array<std::string_view, 3> kCreated{"created", "configured", "initialized"};
  if (std::ranges::find(kRunning, word) != kRunning.end()) {
    return converge::UnitState::Running;
  }
  const bool made = std::ranges::find(kCreated, word) != kCreated.end();
  return made && !started ? converge::UnitState::Created : converge::UnitState::Exited;
}

bool is_whole(std::string_view word) {
  return word != "removing" && word != "dead" && !word.empty();
}

Found found_from(const engine::Inspected& inspected, bool rootless) {
  Found out;
  out.name = {label(inspected, kModuleLabel), label(inspected, kComponentLabel),
              label(inspected, kGenerationLabel)};
  out.state = state_of(inspected.state, inspected.started.has_value());
  out.id = inspected.id;
  out.image = digest_of(inspected);
  out.started = inspected.started;
  if (out.state == converge::UnitState::Exited) {
    out.exit_code = inspected.exit_code;
    out.out_of_memory = inspected.out_of_memory;
    out.ended = inspected.ended;
  }
  if (out.state == converge::UnitState::Running) {
    reach(inspected, rootless, out);
    for (const engine::Published& port : inspected.ports) {
      if (port.host != 0) {
        out.bindings.push_back(binding(port));
      }
    }
    std::ranges::sort(out.bindings);
  }
  return out;
}

std::string id_in(std::string_view words) {
  for (std::size_t at = 0; at < words.size();) {
    const auto begin = words.find_first_of(kHexDigits, at);
    if (begin == std::string_view::npos) {
      break;
    }
    const auto end = std::min(words.find_first_not_of(kHexDigits, begin), words.size());
    if (end - begin == kIdDigits) {
      return std::string(words.substr(begin, kIdDigits));
    }
    at = end;
  }
  return {};
}

}  // namespace mesh::host
