#pragma once

#include <span>
#include <string>
#include <string_view>

namespace mesh::model {

/// One key that a table may have. `form` completes "KEY must be …".
struct Key {
  std::string_view name;
  std::string_view form;
  bool required = false;
};

/// One kind of table. `shown` names it to the operator, with NAME for what it is a table of.
struct Kind {
  std::string_view shown;
  std::span<const Key> keys;

  [[nodiscard]] const Key* find(std::string_view key) const;
};

// mesh.toml
extern const Kind kMeshTop;
extern const Kind kBus;
extern const Kind kEventsTable;
extern const Kind kDelivery;
extern const Kind kRegistry;
extern const Kind kUpstream;
extern const Kind kNode;
extern const Kind kSeat;
extern const Kind kModule;
// module.toml
extern const Kind kModuleTop;
extern const Kind kConsume;
extern const Kind kTool;
extern const Kind kComponent;
extern const Kind kBuild;
extern const Kind kHealth;
// both
extern const Kind kSecretValue;

/// Every kind there is: the published schemas are compared with these.
[[nodiscard]] std::span<const Kind* const> all_kinds();

/// What is said of a key that asks for something that this version does not have, or an empty text.
[[nodiscard]] std::string_view not_in_this_version(std::string_view key);

}  // namespace mesh::model
