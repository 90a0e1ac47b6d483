#include "controller/prove_principals.h"

#include <algorithm>
#include <atomic>
#include <future>
#include <mutex>
#include <vector>

#include <fmt/format.h>

#include "bus/jetstream.h"
#include "model/subjects.h"

namespace mesh::controller {

namespace {

constexpr bus::Milliseconds kLoginTimeout{10'000};
constexpr std::size_t kAtOnce = 4;
// A server that has just read its configuration anew can lose a request or its answer (seen on
// 2.10.27): what is not answered is asked again.
constexpr bus::Milliseconds kAnswerTimeout{2'000};
constexpr int kQuestions = 3;

struct Login {
  const broker::Principal* principal = nullptr;
  bus::ConnectOptions options;
};

Status prove(const Login& login) {
  auto connection = bus::Connection::connect(login.options);
  if (!connection) {
    return within("login of " + login.principal->name, std::move(connection).error());
  }
  const auto subject = proof_subject(*login.principal);
  if (subject.empty()) {
    return {};
  }
  const auto timeout = std::min(kAnswerTimeout, login.options.timeout);
  auto answer = connection->request(subject, {}, timeout);
  for (int asked = 1; asked < kQuestions && !answer && answer.error().code == Code::Timeout;
       ++asked) {
    answer = connection->request(subject, {}, timeout);
  }
  if (!answer) {
    return within(fmt::format("{} asks for its consumer", login.principal->name),
                  std::move(answer).error());
  }
  const auto info = bus::read_api_answer(*answer);
  if (!info && info.error().code != Code::NotFound) {
    return within(fmt::format("{} asks for its consumer", login.principal->name), info.error());
  }
  return {};
}

/// Several at once: a login is mostly waiting. The first error is kept.
Status prove_all(std::span<const Login> logins, Steps& steps) {
  std::atomic<std::size_t> next{0};
  std::atomic<bool> failed{false};
  const auto work = [&]() -> Status {
    for (auto i = next++; i < logins.size() && !failed; i = next++) {
      if (auto done = prove(logins[i]); !done) {
        failed = true;
        return done;
      }
    }
    return {};
  };
  MESH_CHECK(steps.next(fmt::format("prove {} new principals", logins.size())));
  std::vector<std::future<Status>> workers;
  for (std::size_t i = 0; i < std::min(kAtOnce, logins.size()); ++i) {
    workers.push_back(std::async(std::launch::async, work));
  }
  Status first;
  for (auto& worker : workers) {
    auto done = worker.get();
    if (!done && first) {
      first = std::move(done);
    }
  }
  return first;
}

}  // namespace

std::string proof_subject(const broker::Principal& principal) {
  if (principal.kind == broker::Kind::Controller || !principal.node) {
    return {};
  }
  return principal.module ? model::consumer_info_subject(model::kEvents,
                                                         *principal.node + "_" + *principal.module)
                          : model::consumer_info_subject(model::kNodes, *principal.node);
}

std::string inbox_of(const broker::Principal& principal) {
  if (principal.kind == broker::Kind::Node) {
    return "_INBOX.node." + principal.name;
  }
  return "_INBOX." + principal.name;
}

Status prove_principals(inventory::State& state, const model::Mesh& mesh, const std::string& root,
                        const BusLink& link, std::span<const broker::Principal> principals,
                        Steps& steps) {
  std::vector<Login> logins;
  const BusAddress address{link.urls, link.managed, link.ca_pem};
  for (const auto& principal : principals) {
    MESH_TRY(auto options,
             connect_options(state, mesh, root, address, principal.name, inbox_of(principal)));
    options.timeout = at_most(kLoginTimeout, steps);
    logins.push_back({&principal, std::move(options)});
  }
  return logins.empty() ? Status() : prove_all(logins, steps);
}

}  // namespace mesh::controller
