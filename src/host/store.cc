#include "host/store.h"

#include <cstdio>
#include <filesystem>
#include <set>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/json_text.h"
#include "os/files.h"
#include "secrets/sealed_box.h"

namespace mesh::host {

namespace {

constexpr std::size_t kLargestNotes = std::size_t{4} << 20U;

nlohmann::json note_json(const ModuleNote& note) {
  return {{"accepted", note.accepted},
          {"accepted_number", note.accepted_number},
          {"rejected", note.rejected},
          {"because", note.because}};
}

/// The envelope of a file: it was believed once, and is believed again by the same keys.
Result<declaration::Declaration> read_kept(const std::string& text, const Identity& identity) {
  const declaration::Trust trust{identity.mesh, identity.node, identity.controller,
                                 identity.recovery, 0};
  MESH_TRY(auto accepted, declaration::accept(text, trust));
  return std::move(accepted.declaration);
}

}  // namespace

Result<Opened> open_values(declaration::Declaration declaration, const Identity& identity) {
  Opened out{std::move(declaration), {}};
  if (out.declaration.sealed.empty()) {
    return out;
  }
  MESH_TRY(const auto text, secrets::open_sealed(identity.key, out.declaration.sealed));
  MESH_TRY(out.values, declaration::read_values(text));
  return out;
}

std::string Store::declaration_file(std::int64_t number) const {
  return fmt::format("{}/declarations/{}", directory_, number);
}

void Store::set_aside(const std::string& path, const std::string& why) {
  trouble_ = fmt::format(
      "{} cannot be read ({}): put aside; what runs goes on, and the next "
      "declaration replaces it",
      path, why);
  std::error_code ignored;
  std::filesystem::rename(path, path + ".damaged", ignored);
}

void Store::read_notes() {
  auto text = os::read_file(notes_file(), kLargestNotes);
  if (!text) {
    if (text.error().code != Code::NotFound) {
      trouble_ = text.error().message;
    }
    return;
  }
  const auto document = parse_json(*text, {.bytes = kLargestNotes, .depth = 6});
  if (!document || !document->is_object() || !document->contains("number") ||
      !(*document)["number"].is_number_integer()) {
    set_aside(notes_file(), document ? "it has no number" : document.error().message);
    return;
  }
  number_ = (*document)["number"].get<std::int64_t>();
  const auto modules = document->value("modules", nlohmann::json::object());
  for (const auto& [module, entry] : modules.items()) {
    notes_[module] = {entry.value("accepted", ""), entry.value("accepted_number", std::int64_t{0}),
                      entry.value("rejected", ""), entry.value("because", "")};
  }
}

void Store::read_declarations(const Identity& identity) {
  std::error_code ignored;
  for (const auto& entry :
       std::filesystem::directory_iterator(directory_ + "/declarations", ignored)) {
    const auto name = entry.path().filename().string();
    if (name.empty() || name.find_first_not_of("0123456789") != std::string::npos) {
      continue;
    }
    auto text = os::read_file(entry.path().string(), 2 * declaration::kLargest);
    auto kept = text ? read_kept(*text, identity)
                     : Result<declaration::Declaration>(std::unexpected(text.error()));
    if (!kept) {
      set_aside(entry.path().string(), kept.error().message);
      continue;
    }
    auto opened = open_values(*std::move(kept), identity);
    if (!opened) {
      set_aside(entry.path().string(), opened.error().message);
      continue;
    }
    const auto number = opened->declaration.number;
    former_.emplace(number, *std::move(opened));
  }
}

Result<Store> Store::open(std::string directory, const Identity& identity) {
  Store out(std::move(directory));
  MESH_CHECK(os::make_private_dir(out.directory_));
  MESH_CHECK(os::make_private_dir(out.directory_ + "/declarations"));
  out.read_notes();
  out.read_declarations(identity);
  // The greatest is the current one: it was kept before its number was noted.
  if (!out.former_.empty() && out.former_.rbegin()->first >= out.number_) {
    out.number_ = out.former_.rbegin()->first;
    out.current_ = std::move(out.former_.rbegin()->second);
    out.former_.erase(out.number_);
  }
  return out;
}

const Opened* Store::at(std::int64_t number) const {
  if (current_ && current_->declaration.number == number) {
    return &*current_;
  }
  const auto found = former_.find(number);
  return found == former_.end() ? nullptr : &found->second;
}

Status Store::write_notes() const {
  auto modules = nlohmann::json::object();
  for (const auto& [module, note] : notes_) {
    modules[module] = note_json(note);
  }
  const nlohmann::json document = {{"number", number_}, {"modules", std::move(modules)}};
  return os::write_file_atomic(notes_file(), document.dump() + "\n", os::kPrivateFile);
}

Status Store::keep(const std::string& envelope, declaration::Accepted accepted,
                   const Identity& identity) {
  MESH_TRY(auto opened, open_values(std::move(accepted.declaration), identity));
  const auto number = opened.declaration.number;
  MESH_CHECK(os::write_file_atomic(declaration_file(number), envelope, os::kPrivateFile));
  if (current_) {
    const auto was = current_->declaration.number;
    former_.emplace(was, std::move(*current_));
  }
  current_ = std::move(opened);
  number_ = number;
  trouble_.clear();
  MESH_CHECK(write_notes());
  return sweep();
}

Status Store::note(const std::string& module, ModuleNote note) {
  auto& kept = notes_[module];
  if (kept == note) {
    return {};
  }
  kept = std::move(note);
  MESH_CHECK(write_notes());
  return sweep();
}

Status Store::sweep() {
  if (!current_) {
    return {};
  }
  std::set<std::int64_t> needed;
  std::set<std::string> declared;
  for (const auto& module : current_->declaration.modules) {
    declared.insert(module.name);
  }
  bool changed = false;
  for (auto it = notes_.begin(); it != notes_.end();) {
    if (!declared.contains(it->first)) {
      it = notes_.erase(it);
      changed = true;
      continue;
    }
    needed.insert(it->second.accepted_number);
    ++it;
  }
  if (changed) {
    MESH_CHECK(write_notes());
  }
  for (auto it = former_.begin(); it != former_.end();) {
    if (needed.contains(it->first)) {
      ++it;
      continue;
    }
    MESH_CHECK(os::remove_tree(declaration_file(it->first)));
    it = former_.erase(it);
  }
  return {};
}

}  // namespace mesh::host
