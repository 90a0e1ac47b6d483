#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "broker/accounts.h"
#include "natsconf/document.h"

/// What a server's configuration says about who may do what, read from its text alone: the
/// independent second reading beside compose.h, and the observed side of a plan.
namespace mesh::broker {

/// Something of the file, and the line that says it.
template <class T>
struct OnLine {
  T value{};
  int line = 0;
};

using SubjectOnLine = OnLine<std::string>;

/// One side of a permissions block, `publish` or `subscribe`. An `allow` that is missing or empty
/// means everything to the server; the same list as text or bare array is `allow`.
struct SideView {
  std::optional<std::vector<SubjectOnLine>> allow;
  std::vector<SubjectOnLine> deny;
  int line = 0;
};

struct ResponsesView {
  std::optional<std::int64_t> max;
  std::optional<std::string> ttl;
  int line = 0;
};

struct PermissionsView {
  std::optional<SideView> publish;
  std::optional<SideView> subscribe;
  std::optional<ResponsesView> responses;
  int line = 0;
};

struct UserView {
  std::string name;
  std::string password;                        // the hash
  std::optional<PermissionsView> permissions;  // missing: everything of the account
  int line = 0;

  /// The allowed subjects, sorted, each once; for comparison with a principal's grants.
  [[nodiscard]] std::vector<std::string> publish() const;
  [[nodiscard]] std::vector<std::string> subscribe() const;
};

struct AccountView {
  std::string name;
  bool jetstream = false;
  std::vector<UserView> users;  // as in the file, like all lists here
  std::vector<OnLine<Export>> exports;
  std::vector<OnLine<Import>> imports;
  Limits limits;
  int line = 0;
};

/// Something in the file that this reading knows nothing of: whoever must vouch for the file
/// refuses it. `path` is the keys that lead there, joined by `.`.
struct Unread {
  std::string path;
  std::string why;
  int line = 0;
};

/// The whole file. `settings` holds the values beside accounts, by their path (`listen`,
/// `jetstream.store_dir`), as text.
struct ConfigView {
  std::map<std::string, OnLine<std::string>> settings;
  std::vector<AccountView> accounts;
  std::vector<Unread> unread;

  [[nodiscard]] const AccountView* account(std::string_view name) const;
  [[nodiscard]] const UserView* user(std::string_view name) const;
  /// The setting's text, or an empty string.
  [[nodiscard]] std::string setting(const std::string& path) const;
};

[[nodiscard]] ConfigView read_view(const natsconf::Document& document);

/// Parses `text` (no includes, no environment) and reads it. Errors: InvalidArgument where it is
/// not the server's grammar.
[[nodiscard]] Result<ConfigView> read_view(std::string_view text);

}  // namespace mesh::broker
