#include "controller/node_logs.h"

#include <condition_variable>
#include <mutex>
#include <thread>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/text.h"
#include "controller/bus_link.h"
#include "model/subjects.h"

namespace mesh::controller {

namespace {

constexpr bus::Milliseconds kAnswer{2'000};
constexpr int kAsks = 3;  // a host that is started again in this moment answers the next
constexpr std::chrono::milliseconds kFollowEvery{250};
constexpr std::size_t kFollowedLines = 500;

}  // namespace

std::string LogSource::name() const {
  return fmt::format("{}.{}.{}", node.text(), module, component);
}

std::vector<LogSource> log_sources(const model::Mesh& mesh) {
  std::vector<LogSource> out;
  for (const auto& module : mesh.modules) {
    for (const auto& node : module.on) {
      for (const auto& component : module.file->components) {
        out.push_back({node, module.name.text(), component.name.text()});
      }
    }
  }
  return out;
}

Result<std::vector<std::string>> ask_logs(bus::Connection& connection, LogSource& source,
                                          std::size_t most) {
  const nlohmann::json question = {{"ask", "logs"},
                                   {"module", source.module},
                                   {"component", source.component},
                                   {"cursor", source.cursor},
                                   {"most", most}};
  auto answer = connection.request(model::ask_subject(source.node), question.dump(), kAnswer);
  for (int asked = 1; !answer && answer.error().code == Code::Timeout && asked < kAsks; ++asked) {
    answer = connection.request(model::ask_subject(source.node), question.dump(), kAnswer);
  }
  if (!answer) {
    return within("node " + source.node.text(), std::move(answer).error());
  }
  const auto document = nlohmann::json::parse(answer->data, nullptr, false);
  if (!document.is_object() || document.contains("error") || !document.contains("lines")) {
    const auto why = document.is_object() && document.contains("error")
                         ? document["error"].value("message", "")
                         : std::string("its answer makes no sense");
    return fail(Code::NotFound,
                fmt::format("node {}: {}", source.node.text(), printable(why, 400)));
  }
  source.cursor = document.value("next", "");
  return document["lines"].get<std::vector<std::string>>();
}

Result<bus::ConnectOptions> asking_options(inventory::State& state, const model::Mesh& mesh,
                                           const std::string& root) {
  MESH_TRY(const auto address, bus_address(mesh, state.paths));
  return connect_options(state, mesh, root, address, model::kControllerTools,
                         std::string("_INBOX.") + model::kControllerTools);
}

struct LogFollower::Parts {
  bus::Connection connection;
  std::vector<LogSource> sources;
  std::function<void(const std::string&, std::string_view)> on_line;
  std::mutex mutex;
  std::condition_variable ending;
  bool end = false;  // guarded
  std::thread thread{};

  [[nodiscard]] bool ended() {
    const std::lock_guard lock(mutex);
    return end;
  }

  void follow() {
    while (true) {
      for (auto& source : sources) {
        // A node that is not there yet, or not any more, is asked again.
        const auto lines = ask_logs(connection, source, kFollowedLines);
        for (const auto& line : lines ? *lines : std::vector<std::string>()) {
          on_line(source.name(), line);
        }
        if (ended()) {
          return;
        }
      }
      std::unique_lock lock(mutex);
      if (ending.wait_for(lock, kFollowEvery, [&] { return end; })) {
        return;
      }
    }
  }
};

LogFollower::LogFollower(std::unique_ptr<Parts> parts) : parts_(std::move(parts)) {
  parts_->thread = std::thread([parts = parts_.get()] { parts->follow(); });
}

Result<std::unique_ptr<LogFollower>> LogFollower::start(
    const bus::ConnectOptions& dial, std::vector<LogSource> sources,
    std::function<void(const std::string&, std::string_view)> on_line) {
  MESH_TRY(auto connection, bus::Connection::connect(dial));
  auto parts =
      std::make_unique<Parts>(std::move(connection), std::move(sources), std::move(on_line));
  return std::unique_ptr<LogFollower>(new LogFollower(std::move(parts)));
}

LogFollower::~LogFollower() {
  {
    const std::lock_guard lock(parts_->mutex);
    parts_->end = true;
  }
  parts_->ending.notify_all();
  parts_->thread.join();
}

}  // namespace mesh::controller
