#pragma once

// What nearly every file uses and what is slow to read; see CONTRIBUTING.md, "Build time". Each
// file still includes what it uses.
#include <algorithm>
#include <chrono>
#include <compare>
#include <cstdint>
#include <expected>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>
