#pragma once

#include <functional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "broker/config_view.h"
#include "natsconf/document.h"

namespace mesh::broker {

/// Reads a configuration's tree into a view. Keys have the names and aliases that nats-server
/// knows, in any case. Whatever it does not understand, or the server might understand in more than
/// one way (a key that stands twice: the server's order is random), becomes an entry of `unread`.
class ConfigReader {
 public:
  explicit ConfigReader(ConfigView& view) : view_(view) {}
  void read(const natsconf::Value& root);

 private:
  using Value = natsconf::Value;
  using Entry = natsconf::Entry;
  /// An alias and the name that it stands for.
  using Names = std::span<const std::pair<std::string_view, std::string_view>>;
  using Each = std::function<void(std::string_view name, const Entry& entry)>;

  /// Calls `each` for every entry that `names` knows; the others, and seconds, are unread.
  void each(const Value& map, std::string_view path, Names names, const Each& each);
  void read_setting(std::string path, const Value& value);
  void read_account(const Entry& entry);
  void read_jetstream(AccountView& account, const Value& value, const std::string& path);
  void read_limits(AccountView& account, const Value& value, const std::string& path);
  void read_user(AccountView& account, const Value& value, const std::string& path);
  void read_export(AccountView& account, const Value& value, const std::string& path);
  void read_import(AccountView& account, const Value& value, const std::string& path);
  void read_import_source(Import& import, Share share, const Value& value, const std::string& path);
  [[nodiscard]] PermissionsView read_permissions(const Value& value, const std::string& path);
  [[nodiscard]] SideView read_side(const Value& value, const std::string& path);
  [[nodiscard]] std::vector<SubjectOnLine> read_subjects(const Value& value,
                                                         const std::string& path);
  [[nodiscard]] std::optional<ResponsesView> read_responses(const Value& value,
                                                            const std::string& path);
  /// The text of a string; of anything else an empty one, and it is unread.
  [[nodiscard]] std::string text_of(const Value& value, const std::string& path);
  [[nodiscard]] std::int64_t number_of(const Value& value, const std::string& path);
  [[nodiscard]] int small_number_of(const Value& value, const std::string& path);
  /// Calls `item` for each item of an array; anything else is unread.
  void items(const Value& value, const std::string& path,
             const std::function<void(const Value&)>& item);
  void unread(std::string path, std::string why, const Value& value);

  ConfigView& view_;
  std::set<std::string> names_;  // of accounts
};

}  // namespace mesh::broker
