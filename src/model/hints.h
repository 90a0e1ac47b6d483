#pragma once

#include <string>

#include "model/cross_check.h"

namespace mesh::model {

// Each gives the hint for a name that is not there: the nearest that is, or what to write.

[[nodiscard]] std::string module_hint(const Crossing& crossing, const std::string& name);
[[nodiscard]] std::string seat_hint(const Crossing& crossing, const std::string& name);
[[nodiscard]] std::string tool_hint(const Crossing& crossing, const Module& module,
                                    const std::string& name);
/// `owner` is shown before the event: `shop.` or `sender:`.
[[nodiscard]] std::string event_hint(const Crossing& crossing,
                                     const std::vector<Located<EventName>>& emits,
                                     const std::string& owner, const std::string& name);
[[nodiscard]] std::string verb_hint(const Crossing& crossing, const Seat& seat,
                                    const std::string& name);

}  // namespace mesh::model
