#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "broker/principals.h"

/// Who may say and hear what, answered from the grants alone: through wildcards, with reasons.
namespace mesh::broker {

enum class Direction { Publish, Hear };

/// A principal and why it may: for each grant that meets the question its declaration.
struct Able {
  std::string name;
  std::vector<Because> because;
};

enum class Verdict { Yes, No, Part };

/// `Yes`: every subject of the question; `Part`: some; `No`: none.
struct Explanation {
  Verdict verdict = Verdict::No;
  std::vector<Because> because;  // never empty
};

/// `yes`, `no` or `part`.
[[nodiscard]] const char* verdict_name(Verdict verdict);

/// Every principal that may for at least one subject that `subject` (which may have wildcards)
/// stands for, in the order of `principals`. Errors: InvalidArgument where it is no subject.
[[nodiscard]] Result<std::vector<Able>> who(std::span<const Principal> principals,
                                            Direction direction, std::string_view subject);

/// Whether the principal called `name` may. Of a yes: the grants, and for `Hear` from whom it
/// comes; of a part: what of it; of a no: which declaration is missing. `principals` is sorted by
/// name. Errors: NotFound where there is no such principal (the hint is the nearest name),
/// InvalidArgument where `subject` is none.
[[nodiscard]] Result<Explanation> explain(std::span<const Principal> principals,
                                          std::string_view name, Direction direction,
                                          std::string_view subject);

}  // namespace mesh::broker
