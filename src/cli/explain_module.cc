#include "cli/explain_module.h"

#include <fmt/format.h>

#include "base/text.h"
#include "cli/declarations.h"

namespace mesh::cli {

Result<Outcome> explain_module(Context& context, const std::string& module) {
  MESH_TRY(const auto declared, declarations(context));
  if (declared.mesh().module(module) != nullptr) {
    return fail(Code::Unsupported, fmt::format("how module {} runs is not known yet", module),
                "`mesh status` shows what runs");
  }
  std::vector<std::string> names;
  for (const auto& each : declared.mesh().modules) {
    names.push_back(each.name.text());
  }
  const auto meant = nearest(module, names);
  return fail(Code::NotFound, fmt::format("there is no module '{}'", printable(module)),
              meant.empty() ? "of a principal say also publish or hear, and a subject"
                            : fmt::format("did you mean {}?", meant));
}

}  // namespace mesh::cli
