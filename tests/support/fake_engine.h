#pragma once

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "tests/support/nats_server.h"
#include "tests/support/scripted_http.h"

namespace mesh::test {

inline constexpr int kFakeKilled = 137;  // the exit code of what was killed

/// A container of the fake.
struct FakeContainer {
  std::string id;
  std::string name;
  std::string body;  // the JSON of the request that made it
  std::string state = "created";
  int exit_code = 0;
  bool out_of_memory = false;
  std::string started;
  std::string ended;
  int starts = 0;
  std::vector<std::pair<std::string, std::string>> log;  // time, line
};

/// How a request goes wrong.
enum class Trouble {
  Refused,     // 500, nothing done
  DiskFull,    // 500, nothing done: no space left on device
  Hangs,       // nothing done, nothing answered
  Dropped,     // nothing done, the connection closed
  AnswerLost,  // done, the connection closed
};

/// The part of the Docker Engine API that Mesh uses, from memory, on a unix socket, served by the
/// test's own process. Time does not pass in it: a stop is over at once. What a container does is
/// told by the words of its command, which the test image of podman_service.h understands too:
///
///     act forever        runs until it is told to stop, and exits 0 then
///     act deaf           runs, and ends only when killed
///     act exit N         exits
///     act say N          writes `line 1` to `line N`, then as forever
///     act show PATH…     writes its environment (as /proc/1/environ has it) to /out/environ and
///                        the bytes of each path to /out/0, /out/1, …; exits 0
///     act eat            takes memory until it is killed for it
class FakeEngine {
 public:
  FakeEngine();
  ~FakeEngine();
  FakeEngine(const FakeEngine&) = delete;
  FakeEngine& operator=(const FakeEngine&) = delete;

  [[nodiscard]] std::string socket() const;

  /// An image that is here, and one that a pull can fetch (`password`: only with it).
  void add_image(const std::string& reference);
  void add_upstream(const std::string& reference, const std::string& password = "");
  void remove_image(const std::string& reference);

  /// The `nth` request from now (1: the next) whose `METHOD /path` contains `part` has this
  /// trouble.
  void trouble(const std::string& part, int nth, Trouble what);
  /// Forgets all trouble that has not come yet.
  void calm();
  /// Everything does, or again nothing: as if the disk were full.
  void fill_disk(bool full);
  /// A name that no container has and that cannot be had, until its id is removed.
  void take_name(const std::string& name);

  /// The engine is gone, with its containers running on; and is back.
  void leave();
  void come_back();
  /// The machine was switched off and on: nothing runs.
  void reboot();
  /// A container ends by itself.
  void end(const std::string& name, int exit_code, bool out_of_memory = false);
  /// Removes one without the API's knowing why.
  void lose(const std::string& name);

  [[nodiscard]] std::vector<FakeContainer> containers() const;  // by name
  [[nodiscard]] std::vector<std::string> volumes() const;
  /// `POST /containers/x/start`, without the API's version, in the order of their coming.
  [[nodiscard]] std::vector<std::string> requests() const;

 private:
  struct Fault {
    std::string part;
    int left = 1;
    Trouble what = Trouble::Refused;
  };
  using Words = std::vector<std::string>;  // of the path

  HttpReply handle(const HttpRequest& request);
  HttpReply route(const HttpRequest& request, const std::string& path);
  HttpReply containers_route(const HttpRequest& request, const Words& words);
  HttpReply images_route(const HttpRequest& request, const std::string& path);
  HttpReply volumes_route(const HttpRequest& request, const Words& words);
  HttpReply create(const HttpRequest& request);
  HttpReply list(const HttpRequest& request) const;
  HttpReply start(FakeContainer& container);
  HttpReply stop(FakeContainer& container);
  HttpReply log_of(const HttpRequest& request, const FakeContainer& container) const;
  HttpReply exec(const HttpRequest& request);
  HttpReply pull(const HttpRequest& request);
  [[nodiscard]] std::optional<Trouble> trouble_of(const std::string& line);
  FakeContainer* find(const std::string& id);
  void ended(FakeContainer& container, int code);
  void tell(const FakeContainer& container, const char* what);
  std::string now();

  TemporaryDirectory directory_;
  mutable std::mutex mutex_;                         // guards what is below
  std::map<std::string, FakeContainer> containers_;  // by name
  std::map<std::string, std::string> volumes_;       // name -> body
  std::set<std::string> images_;
  std::map<std::string, std::string> upstream_;  // reference -> password
  std::map<std::string, std::string> taken_;     // name -> id
  std::map<std::string, int> execs_;             // id -> exit code
  std::vector<Fault> faults_;
  std::vector<std::string> requests_;
  bool disk_full_ = false;
  std::uint64_t counter_ = 0;
  std::unique_ptr<ScriptedHttp> server_;
};

}  // namespace mesh::test
