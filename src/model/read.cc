#include "model/read.h"

#include <algorithm>
#include <memory>
#include <unordered_map>
#include <utility>

#include <fmt/format.h>

#include "base/text.h"
#include "model/cross_check.h"
#include "model/paths.h"
#include "model/read_mesh_toml.h"
#include "model/read_module_toml.h"
#include "model/schema_file.h"
#include "model/value.h"

namespace mesh::model {

namespace {

constexpr std::string_view kMeshToml = "mesh.toml";
constexpr std::string_view kModuleToml = "module.toml";
/// What an editor on another system may put before the text.
constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";

std::string_view without_mark(std::string_view bytes) {
  return bytes.starts_with(kByteOrderMark) ? bytes.substr(kByteOrderMark.size()) : bytes;
}

/// Whether the file says more to others than could be read of it.
bool lost_entries(const Value& root, const ModuleFile& file) {
  const auto more = [&](std::string_view key, std::size_t read) {
    const auto value = root.find(key);
    return value && value->size().value_or(read + 1) > read;
  };
  return more("emits", file.emits.size()) || more("holds", file.holds.size()) ||
         more("tools", file.tools.size());
}

class Reader {
 public:
  Reader(const Files& files, std::string_view prefix) : files_(files), prefix_(prefix) {}

  Reading read();

 private:
  Source source(const std::string& path) {
    return {std::make_shared<const std::string>(prefix_ + path), report_};
  }
  std::optional<Mesh> read_all();
  void read_modules(const Value& root, MeshToml& toml);
  std::shared_ptr<const ModuleFile> module_file(const std::string& path, const Value& path_value);
  std::shared_ptr<const ModuleFile> load(const std::string& folder, const Value& path_value);
  /// An empty file in place of one that cannot be read.
  std::shared_ptr<const ModuleFile> broken();
  void read_schemas(const std::string& folder, const Value& root, ModuleFile& file);
  void read_contents(const std::string& folder, ModuleFile& file);
  void report_missing_module(const std::string& folder, const Value& path_value,
                             const Error& error);
  /// What cannot be read is told with the cause that `read` came to.
  void report_unreadable(const Place& place, const Result<std::string>& read);
  /// The bytes, kept for the records; valid until the next are kept.
  const std::string& keep(const std::string& path, std::string bytes);
  std::vector<AcceptedFile> take_files();

  const Files& files_;
  std::string prefix_;
  Report report_;
  std::vector<AcceptedFile> kept_;
  std::unordered_map<std::string, std::shared_ptr<const ModuleFile>> by_folder_;
  Broken broken_;
};

const std::string& Reader::keep(const std::string& path, std::string bytes) {
  kept_.push_back({path, std::move(bytes)});
  return kept_.back().bytes;
}

std::vector<AcceptedFile> Reader::take_files() {
  // Modules are read by name, so most meshes are in order already.
  if (!std::ranges::is_sorted(kept_, {}, &AcceptedFile::path)) {
    std::ranges::sort(kept_, {}, &AcceptedFile::path);
  }
  // Two tools may name one schema.
  const auto repeated = std::ranges::unique(kept_, {}, &AcceptedFile::path);
  kept_.erase(repeated.begin(), repeated.end());
  return std::move(kept_);
}

void Reader::report_unreadable(const Place& place, const Result<std::string>& read) {
  if (read) {  // it has become readable meanwhile
    report_.error(place, "unreadable", "the files changed while they were read", "check again");
    return;
  }
  report_.error(place, "unreadable", read.error().message, read.error().hint);
}

void Reader::report_missing_module(const std::string& folder, const Value& path_value,
                                   const Error& error) {
  const auto place = path_value.place();
  const auto shown = printable(folder.empty() ? "." : folder);
  const auto path = join_path(folder, kModuleToml);
  switch (folder.empty() ? Files::Kind::Directory : files_.kind(folder)) {
    case Files::Kind::Missing:
      report_.error(place, "missing-path", fmt::format("\"{}\" does not exist", shown),
                    "path is the module's folder, as seen from mesh.toml");
      return;
    case Files::Kind::Unreadable:
      report_unreadable(place, files_.read(folder));
      return;
    case Files::Kind::File:
    case Files::Kind::Other:
      report_.error(place, "not-a-folder", fmt::format("\"{}\" is not a folder", shown),
                    "path is the folder that holds the module's module.toml");
      return;
    case Files::Kind::Directory:
      break;
  }
  if (files_.kind(path) == Files::Kind::Missing) {
    report_.error(place, "missing-file", fmt::format("\"{}\" has no module.toml", shown));
    return;
  }
  report_.error({source(path).file, 1, 1}, "unreadable", error.message, error.hint);
}

void Reader::read_schemas(const std::string& folder, const Value& root, ModuleFile& file) {
  for (auto& tool : file.tools) {
    if (!tool.input) {
      continue;
    }
    const auto tidy = parse_relative_path(*tool.input);
    const auto path = tidy ? join_path(folder, *tidy) : *tool.input;
    const auto place = root.find("tools")->find(tool.name.text())->find("input")->place();
    if (auto text = read_schema(files_, path, place, source(path))) {
      tool.input_schema = keep(path, std::move(*text));
    }
  }
}

void Reader::read_contents(const std::string& folder, ModuleFile& file) {
  for (auto& component : file.components) {
    for (const auto& [path, name] : component.files) {
      const auto tidy = parse_inner_path(name);
      if (!tidy || !path.starts_with('/')) {
        continue;  // reported where it was read
      }
      const auto beside = join_path(folder, *tidy);
      auto bytes = files_.read(beside);
      if (!bytes) {
        report_.error(
            component.place, "unreadable",
            fmt::format("{} is to hold \"{}\": {}", path, printable(name), bytes.error().message),
            "files = { \"/path/in/the/container\" = \"file-beside-module.toml\" }");
        continue;
      }
      component.file_bytes[path] = keep(beside, std::move(*bytes));
    }
  }
}

std::shared_ptr<const ModuleFile> Reader::broken() {
  auto file = std::make_shared<const ModuleFile>();
  broken_.insert(file.get());
  return file;
}

std::shared_ptr<const ModuleFile> Reader::load(const std::string& folder, const Value& path_value) {
  const auto path = join_path(folder, kModuleToml);
  auto bytes = files_.read(path);
  if (!bytes) {
    report_missing_module(folder, path_value, bytes.error());
    return broken();
  }
  const auto from = source(path);
  const auto document = Document::parse(without_mark(keep(path, std::move(*bytes))), from);
  if (!document) {
    return broken();
  }
  const auto misplaced = report_.misplaced();
  auto file = std::make_shared<ModuleFile>(read_module_toml(document->root()));
  if (report_.misplaced() > misplaced || lost_entries(document->root(), *file)) {
    broken_.insert(file.get());
  }
  read_schemas(folder, document->root(), *file);
  read_contents(folder, *file);
  return file;
}

std::shared_ptr<const ModuleFile> Reader::module_file(const std::string& path,
                                                      const Value& path_value) {
  const auto folder = parse_relative_path(path);
  if (!folder) {
    report_.error(path_value.place(), "bad-path", folder.error().message, folder.error().hint);
  }
  const auto key = folder.value_or("/");
  const auto [found, fresh] = by_folder_.try_emplace(key);
  if (fresh) {
    found->second = folder ? load(key, path_value) : broken();
  }
  return found->second;
}

void Reader::read_modules(const Value& root, MeshToml& toml) {
  const auto modules = root.find("modules");
  const auto read_one = [&](std::string_view name) -> std::shared_ptr<const ModuleFile> {
    const auto path = modules->find(name)->find("path");
    const auto* text = path ? path->text() : nullptr;
    return text == nullptr ? nullptr : module_file(*text, *path);
  };
  by_folder_.reserve(toml.mesh.modules.size());
  kept_.reserve(toml.mesh.modules.size() + 1);
  for (auto& module : toml.mesh.modules) {
    module.file = read_one(module.name.text());
    if (!module.file) {
      module.file = broken();
    }
  }
  for (const auto& name : toml.misnamed) {
    static_cast<void>(read_one(name));
  }
}

std::optional<Mesh> Reader::read_all() {
  const std::string path(kMeshToml);
  const auto from = source(path);
  auto bytes = files_.read(path);
  if (!bytes) {
    const bool missing = bytes.error().code == Code::NotFound;
    report_.error({from.file, 1, 1}, missing ? "missing-file" : "unreadable", bytes.error().message,
                  missing ? "mesh init writes one" : bytes.error().hint);
    return std::nullopt;
  }
  const auto document = Document::parse(without_mark(keep(path, std::move(*bytes))), from);
  if (!document) {
    return std::nullopt;
  }
  auto toml = read_mesh_toml(document->root());
  read_modules(document->root(), toml);
  cross_check(toml.mesh, broken_, report_);
  return std::move(toml.mesh);
}

Reading Reader::read() {
  Reading out;
  out.mesh = read_all();
  if (report_.failed()) {
    out.mesh.reset();
  }
  out.problems = report_.take();
  out.files = take_files();
  return out;
}

}  // namespace

Reading read_mesh(const Files& files, std::string_view shown_prefix) {
  return Reader(files, shown_prefix).read();
}

}  // namespace mesh::model
