#include "builder/failure.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <iterator>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "base/text.h"

namespace mesh::builder {

namespace {

/// The text without its blanks, since buildah prints instructions with its own.
std::string packed(std::string_view text) {
  std::string out;
  std::ranges::copy_if(text, std::back_inserter(out), [](char c) { return c != ' ' && c != '\t'; });
  return out;
}

/// What buildah's copier means by `lstat "/link"("/target"): …: no such file or directory`.
std::optional<std::string> dangling_link(std::string_view text) {
  constexpr std::string_view kMissing = ": no such file or directory";
  const auto start = text.rfind("lstat \"/");
  const auto middle = text.find("\"(\"/", start);
  const auto end = middle == std::string_view::npos ? middle : text.find("\")", middle + 4);
  if (start == std::string_view::npos || end == std::string_view::npos ||
      !text.ends_with(kMissing)) {
    return std::nullopt;
  }
  return fmt::format("{} is a link to {}, which is not there",
                     printable(text.substr(start + 8, middle - start - 8)),
                     printable(text.substr(middle + 4, end - middle - 4)));
}

bool read_number(std::string_view& text, int& out) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), out);
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  return error == std::errc();
}

}  // namespace

void StepWatcher::take(std::string_view line) {
  const auto step = line.find("STEP ");
  if (step < 12 && line.find(": ", step) != std::string_view::npos) {
    step_ = std::string(line.substr(step));
    return;
  }
  if (line.starts_with("Error: ")) {
    error_ = std::string(line.substr(7));
  }
}

int StepWatcher::line_of(std::string_view instruction) const {
  const auto wanted = packed(instruction);
  const auto lines = split(rewritten_.text, '\n');
  for (std::size_t i = 0; i < lines.size() && i < rewritten_.lines.size(); ++i) {
    if (packed(lines[i]) == wanted) {
      return rewritten_.lines[i];
    }
  }
  return 0;
}

BuildFailure StepWatcher::failure(const std::string& status,
                                  std::vector<std::string> last_lines) const {
  BuildFailure out;
  out.step = step_;
  out.last_lines = std::move(last_lines);
  const auto colon = step_.find(": ");
  const auto instruction = colon == std::string::npos ? std::string() : step_.substr(colon + 2);
  out.line = instruction.empty() ? 0 : line_of(instruction);
  const auto cause = error_.rfind(": ");
  const auto last = dangling_link(error_).value_or(
      cause == std::string::npos ? error_ : error_.substr(cause + 2));
  out.message = instruction.empty() ? (error_.empty() ? status : error_)
                                    : fmt::format("{}: {}", printable(instruction, 200),
                                                  last.empty() ? status : last);
  return out;
}

bool is_damage(std::string_view text) {
  constexpr std::array<std::string_view, 12> kSigns{"registry 404",
                                                    "manifest unknown",
                                                    "blob unknown",
                                                    "name unknown",
                                                    "flate: corrupt",
                                                    "gzip: invalid",
                                                    "invalid tar header",
                                                    "unexpected EOF",
                                                    "magic number mismatch",
                                                    "igest did not match",
                                                    "does not match config's DiffID",
                                                    "does not match digest"};
  return std::ranges::any_of(
      kSigns, [&](std::string_view sign) { return text.find(sign) != std::string_view::npos; });
}

std::optional<containerfile::BuilderVersion> read_version(std::string_view text) {
  constexpr std::string_view kBefore = "version ";
  const auto at = text.find(kBefore);
  if (at == std::string_view::npos) {
    return std::nullopt;
  }
  text.remove_prefix(at + kBefore.size());
  containerfile::BuilderVersion out;
  if (!read_number(text, out.major) || !text.starts_with('.')) {
    return std::nullopt;
  }
  text.remove_prefix(1);
  return read_number(text, out.minor) ? std::optional(out) : std::nullopt;
}

}  // namespace mesh::builder
