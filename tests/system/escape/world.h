#pragma once

#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "broker/accounts.h"
#include "broker/principals.h"
#include "tests/support/nats_server.h"
#include "tests/support/raw_client.h"

/// A mesh on a real server in which one instance, `two.thief`, is taken over. Whoever else there is
/// listens to all that it may, the controller listens to everything, and the streams are counted:
/// what an attempt does outside the thief's grants is seen.
namespace mesh::test::escape {

/// Accounts: as Mesh composes it. OneAccount: the same users and grants, all in one account with
/// JetStream, as one would write by hand; there the suite must find ways out.
enum class Layout { Accounts, OneAccount };

inline constexpr const char* kThief = "two.thief";
/// The one event that the thief is declared to emit.
inline constexpr const char* kOwnEvent = "mesh.mod.thief.event.loot.found";
/// Part of every payload that the thief must never read.
inline constexpr const char* kSecret = "SECRET";

class World {
 public:
  World(const std::string& version, Layout layout);

  /// A fresh connection as that principal. The world's passwords are known to the test alone.
  [[nodiscard]] RawClient login(const std::string& principal) const;

  /// Connects the thief anew (an attempt may have cost it its connection) and forgets what was
  /// seen.
  RawClient& begin();

  /// Forgets what others heard and how the streams stood, but not what the thief heard: for an
  /// attempt in which somebody else had to act.
  void begin_again();

  /// Waits until the thief hears something; what it heard counts for `effects`.
  void let_thief_hear(Milliseconds at_most);

  /// Everything that happened outside the thief's grants since `begin`: heard by others, stored,
  /// changed in a stream or consumer, or read by the thief. A line each; sorted.
  [[nodiscard]] std::set<std::string> effects();

  /// An answer of the JetStream API, asked by the controller.
  [[nodiscard]] nlohmann::json api(const std::string& subject, const std::string& body = "{}");
  /// Stores as the controller would, or as `principal`; waits for the acknowledgement.
  void emit(const std::string& principal, const std::string& subject, const std::string& payload,
            const std::string& header = {});

  [[nodiscard]] RawClient& watcher(const std::string& principal) { return watchers_.at(principal); }
  [[nodiscard]] const NatsServer& server() const { return *server_; }
  [[nodiscard]] NatsServer& server() { return *server_; }
  [[nodiscard]] const std::vector<broker::Principal>& principals() const { return principals_; }

 private:
  void compose(Layout layout);
  void raise();
  void watch();
  void seed();
  [[nodiscard]] bool thief_may(const std::string& subject) const;
  [[nodiscard]] std::map<std::string, std::string> state();
  void heard_by_others(std::set<std::string>& found);
  void read_by_thief(std::set<std::string>& found);

  std::vector<broker::Principal> principals_;
  std::string config_;
  nlohmann::json streams_;
  nlohmann::json consumers_;
  std::unique_ptr<NatsServer> server_;
  std::unique_ptr<RawClient> controller_;  // asks
  std::map<std::string, RawClient> watchers_;
  std::unique_ptr<RawClient> thief_;
  std::vector<RawMessage> thief_heard_;
  std::map<std::string, std::string> before_;
};

}  // namespace mesh::test::escape
