#include "model/schema_file.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/text.h"
#include "model/report.h"
#include "model/schema_check.h"
#include "model/schema_place.h"

namespace mesh::model {

namespace {

/// The offset where `text` stops being JSON, from 0.
std::size_t bad_offset(const std::string& text) {
  try {
    [[maybe_unused]] const auto document = nlohmann::json::parse(text);
  } catch (const nlohmann::json::parse_error& error) {
    return error.byte > 0 ? error.byte - 1 : 0;
  }
  return 0;
}

void report_unread(const Files& files, const std::string& path, const Place& named,
                   const Error& error, Report& report) {
  const bool missing = files.kind(path) == Files::Kind::Missing;
  report.error(named, missing ? "missing-file" : "unreadable",
               missing ? fmt::format("\"{}\" does not exist", printable(path)) : error.message,
               missing ? "input is a JSON Schema file in the module's folder" : error.hint);
}

}  // namespace

std::optional<std::string> read_schema(const Files& files, const std::string& path,
                                       const Place& named, const Source& source) {
  auto text = files.read(path);
  if (!text) {
    report_unread(files, path, named, text.error(), source.report);
    return std::nullopt;
  }
  if (!nlohmann::json::accept(*text)) {
    source.report.error(place_at(*text, bad_offset(*text), source), "bad-json",
                        "the file is not JSON");
    return std::nullopt;
  }
  if (!check_schema(*text, source)) {
    return std::nullopt;
  }
  return std::move(*text);
}

}  // namespace mesh::model
