#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "broker/principals.h"

namespace mesh::broker {

enum class Share { Service, Stream };

/// What an account offers to the other accounts of the file.
struct Export {
  Share share = Share::Service;
  std::string subject;
  bool stream_response = false;  // response_type: "stream"
  std::optional<int> account_token_position;
  friend auto operator<=>(const Export&, const Export&) = default;
};

/// What an account takes from another.
struct Import {
  Share share = Share::Service;
  std::string account;
  std::string subject;
  std::string to;  // the local subject; empty: the same
  friend auto operator<=>(const Import&, const Import&) = default;
};

/// Limits of an account; 0 is none.
struct Limits {
  int connections = 0;
  int subscriptions = 0;
  int payload = 0;  // bytes
};

/// One account of the server's configuration: lists sorted, each entry once.
struct Account {
  std::string name;
  bool jetstream = false;
  std::vector<std::string> users;  // principals' names
  std::vector<Export> exports;
  std::vector<Import> imports;
  Limits limits;
  Because because;
};

/// The accounts that hold `principals` (which are `principals(mesh)`), sorted by name, SYS
/// included.
[[nodiscard]] std::vector<Account> accounts(const model::Mesh& mesh,
                                            std::span<const Principal> principals);

}  // namespace mesh::broker
