#include "cli/outcome.h"

#include <fmt/format.h>

namespace mesh::cli {

namespace {

Json file_json(const Place& place) {
  return place.file_name().empty() ? Json(nullptr) : Json(place.file_name());
}

Json count_json(int value) {
  return value > 0 ? Json(value) : Json(nullptr);
}

}  // namespace

int exit_code_of(Code code) {
  switch (code) {
    case Code::Usage:
      return exit_code::kUsage;
    case Code::InvalidArgument:
    case Code::Corrupt:
      return exit_code::kInvalid;
    case Code::Unavailable:
      return exit_code::kUnreachable;
    case Code::Interrupted:
      return exit_code::kInterrupted;
    case Code::NotFound:
    case Code::Conflict:
    case Code::PermissionDenied:
    case Code::Timeout:
    case Code::Unsupported:
    case Code::Resource:
    case Code::Internal:
      return exit_code::kFailed;
  }
  return exit_code::kFailed;
}

Json error_document(const Error& error) {
  return {{"error",
           {{"code", code_name(error.code)},
            {"message", error.message},
            {"file", file_json(error.place)},
            {"line", count_json(error.place.line)},
            {"column", count_json(error.place.column)},
            {"hint", error.hint.empty() ? Json(nullptr) : Json(error.hint)}}}};
}

Json because_json(const Because& because) {
  return {{"text", because.text},
          {"file", file_json(because.place)},
          {"line", count_json(because.place.line)}};
}

std::string error_text(const Error& error, bool colour) {
  std::string text;
  if (!error.place.file_name().empty()) {
    text = error.place.line > 0 ? fmt::format("{}:{}:{}: ", error.place.file_name(),
                                              error.place.line, error.place.column)
                                : fmt::format("{}: ", error.place.file_name());
  }
  text += colour ? "\x1b[1;31merror:\x1b[0m " : "error: ";
  text += error.message + "\n";
  if (!error.hint.empty()) {
    text += fmt::format("  {}: {}\n", colour ? "\x1b[36mhint\x1b[0m" : "hint", error.hint);
  }
  return text;
}

}  // namespace mesh::cli
