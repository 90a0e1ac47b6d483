#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

/// What the words of numbers and dates mean to nats-server.
namespace mesh::natsconf {

enum class NumberError { None, NotANumber, OutOfRange, UnknownSuffix };

struct IntegerReading {
  std::int64_t value = 0;
  NumberError error = NumberError::None;
};

/// Digits with a suffix or none: `k` is 1000, `kb`, `ki` and `kib` are 1024, and so on with m, g,
/// t, p, e, in any case. The product wraps around as the server's does. UnknownSuffix (`1kbb`)
/// makes the server forget the value without a word.
[[nodiscard]] IntegerReading read_integer(std::string_view text);

/// Errors: OutOfRange, NotANumber (digits that are not ASCII), as nullopt.
[[nodiscard]] std::optional<double> read_float(std::string_view text);

/// Seconds since 1970 of `2006-01-02T15:04:05Z`; nullopt where there is no such day or time.
[[nodiscard]] std::optional<std::int64_t> read_datetime(std::string_view text);

}  // namespace mesh::natsconf
