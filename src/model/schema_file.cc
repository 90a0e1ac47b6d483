#include "model/schema_file.h"

#include <algorithm>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/text.h"
#include "model/report.h"

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

Place place_of(const std::string& text, std::size_t offset, const Source& source) {
  const auto before = std::string_view(text).substr(0, offset);
  const auto line = std::ranges::count(before, '\n') + 1;
  const auto start = before.rfind('\n') + 1;  // npos + 1 is 0
  return {source.file, static_cast<int>(line), static_cast<int>(before.size() - start) + 1};
}

/// A schema is an object, or true or false.
bool is_schema(std::string_view json) {
  const auto first = json.find_first_of("{[\"tfn-0123456789");
  return first != std::string_view::npos &&
         (json[first] == '{' || json[first] == 't' || json[first] == 'f');
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
    source.report.error(place_of(*text, bad_offset(*text), source), "bad-json",
                        "the file is not JSON");
    return std::nullopt;
  }
  if (!is_schema(*text)) {
    source.report.error({source.file, 1, 1}, "bad-schema",
                        "a JSON Schema is an object, or true or false");
    return std::nullopt;
  }
  return std::move(*text);
}

}  // namespace mesh::model
