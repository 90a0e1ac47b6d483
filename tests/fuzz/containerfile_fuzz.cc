#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>

#include "containerfile/builder.h"
#include "containerfile/ignore.h"

using namespace mesh::containerfile;

namespace {

void must(bool holds) {
  if (!holds) {
    std::abort();
  }
}

/// What is written for the builder is a file again, of as many stages as are needed, that needs no
/// image but the pinned ones.
void check_rewritten(const Rewritten& rewritten) {
  const auto again = parse(rewritten.text);
  must(!again.stages.empty());
  const auto resolved = resolve(again, {.target = rewritten.target});
  for (const auto& image : resolved.images) {
    must(image.text == "registry.example/pinned@sha256:0" || image.text == kFilesContext);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string text(data, data + size);
  const auto file = parse(text);
  for (const auto& problem : file.problems) {
    must(problem.spot.line > 0 && problem.spot.column > 0 && !problem.message.empty());
  }
  const auto resolved = resolve(file, {.args = {{"A", "x"}}, .platform = "linux/arm64"});
  if (!file.has_errors() && !resolved.has_errors()) {
    (void)what_builder_cannot_read(file, resolved, {});
    const auto out = rewrite(file, resolved, [](const ImageUse&) {
      return PinnedImage{"registry.example/pinned@sha256:0",
                         std::map<std::string, std::string>{{"PATH", "/bin"}},
                         {}};
    });
    if (out) {
      check_rewritten(*out);
    }
  }
  std::vector<Problem> problems;
  const auto rules = read_ignore_rules(text, problems);
  (void)rules.ignores("a/b/c.txt");
  return 0;
}
