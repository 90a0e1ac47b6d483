#include "bus/message.h"

#include <algorithm>

namespace mesh::bus {

std::string_view Message::header(std::string_view name) const {
  const auto found = std::find_if(headers.rbegin(), headers.rend(),
                                  [&](const Header& header) { return header.name == name; });
  return found == headers.rend() ? std::string_view{} : std::string_view{found->value};
}

}  // namespace mesh::bus
