// What the nodes report, judged against what they were told.

#include <algorithm>
#include <condition_variable>
#include <deque>
#include <mutex>

#include <fmt/format.h>

#include "base/base64.h"
#include "base/text.h"
#include "bus/jetstream.h"
#include "controller/nodes.h"
#include "model/subjects.h"

namespace mesh::controller {

namespace {

constexpr os::Milliseconds kStandingLook{500};

/// Why a node is not as declared, in one sentence.
std::string why_not(const declaration::Report& report) {
  if (report.refused) {
    return report.refused->because;
  }
  for (const auto& module : report.modules) {
    if (!module.converged && !module.because.empty()) {
      return module.name + ": " + module.because;
    }
  }
  return {};
}

bool has_failed(const declaration::Report& report) {
  return report.refused.has_value() ||
         std::ranges::any_of(report.modules, &declaration::ModuleReport::failed);
}

/// The latest report of each node, as the stream keeps it; and those that come.
class Reports {
 public:
  explicit Reports(bus::Connection& connection) : connection_(connection) {}

  Status begin() {
    MESH_TRY(subscription_, connection_.subscribe(model::kEveryReport, "", [this](auto message) {
      const std::lock_guard lock(mutex_);
      heard_.push_back(std::move(message));
      came_.notify_all();
    }));
    return connection_.flush(kBusTimeout);
  }

  /// Those that came since the last call; waits a moment for one.
  std::deque<bus::Message> take() {
    std::unique_lock lock(mutex_);
    came_.wait_for(lock, kStandingLook, [&] { return !heard_.empty(); });
    return std::exchange(heard_, {});
  }

 private:
  bus::Connection& connection_;
  std::mutex mutex_;
  std::condition_variable came_;
  std::deque<bus::Message> heard_;
  bus::Subscription subscription_;
};

/// One wait; its owner says until when.
class Wait {
 public:
  Wait(std::vector<NodeStanding> standings, std::vector<std::string> nodes, Steps& steps)
      : standings_(std::move(standings)), nodes_(std::move(nodes)), steps_(steps) {}

  void take(const bus::Message& message, const std::vector<inventory::NodeRecord>& records) {
    auto report = declaration::read_report(message.data);
    if (!report) {
      return;
    }
    const auto found = std::ranges::find(standings_, report->node, &NodeStanding::name);
    const auto node = model::NodeName::parse(report->node);
    if (found == standings_.end() || !node || message.subject != model::report_subject(*node)) {
      return;
    }
    const auto record = std::ranges::find(records, report->node, &inventory::NodeRecord::name);
    const auto before = found->state;
    const auto name = report->node;  // the report moves on
    *found = judge_node(name, record == records.end() ? std::nullopt : std::optional(*record),
                        std::move(*report), os::Milliseconds{0});
    if (found->state != before && waited_for(*found)) {
      steps_.say(found->because.empty()
                     ? fmt::format("{}: {}", found->name, found->state)
                     : fmt::format("{}: {}: {}", found->name, found->state, found->because));
    }
  }

  [[nodiscard]] bool waited_for(const NodeStanding& node) const {
    return std::ranges::find(nodes_, node.name) != nodes_.end();
  }

  [[nodiscard]] std::vector<std::string> open() const {
    std::vector<std::string> out;
    for (const auto& node : standings_) {
      if (waited_for(node) && (node.state == "converging" || node.state == "silent")) {
        out.push_back(node.name);
      }
    }
    return out;
  }

  std::vector<NodeStanding> done() { return std::move(standings_); }

 private:
  std::vector<NodeStanding> standings_;
  std::vector<std::string> nodes_;
  Steps& steps_;
};

}  // namespace

NodeStanding judge_node(const std::string& node, const std::optional<inventory::NodeRecord>& record,
                        std::optional<declaration::Report> report, os::Milliseconds age) {
  NodeStanding out;
  out.name = node;
  if (!record || !record->key) {
    out.because = record && record->expires ? "it is invited, and has not joined yet"
                                            : "no machine has joined as it: `mesh node add`";
    return out;
  }
  out.declared = record->declared;
  if (!report || report->key != base64(record->key->bytes())) {
    out.state = "silent";
    out.because = "it has not reported yet";
    return out;
  }
  out.number = report->number;
  out.since = report->time;
  if (age > kSilentAfter) {
    out.state = "silent";
    out.because = "its last report is of " + report->time;
  } else if (report->number != record->declared) {
    out.state = report->refused ? "failed" : "converging";
    out.because = report->refused ? report->refused->because : "";
  } else if (report->converged) {
    out.state = "converged";
  } else {
    out.state = has_failed(*report) ? "failed" : "converging";
    out.because = why_not(*report);
  }
  out.report = std::move(report);
  return out;
}

Result<std::vector<NodeStanding>> node_standings(inventory::State& state, const model::Mesh& mesh,
                                                 bus::Connection& connection, os::WallTime now) {
  MESH_TRY(const auto records, state.inventory.nodes());
  bus::JetStream jetstream(connection);
  std::vector<NodeStanding> out;
  for (const auto& node : mesh.nodes) {
    const auto record = std::ranges::find(records, node.name.text(), &inventory::NodeRecord::name);
    const bool joined = record != records.end() && record->key;
    std::optional<declaration::Report> report;
    os::Milliseconds age{0};
    if (joined) {
      const auto last = jetstream.last_message(model::kReports, model::report_subject(node.name));
      if (!last && last.error().code != Code::NotFound) {
        return std::unexpected(last.error());
      }
      if (last) {
        auto read = declaration::read_report(last->data);
        report = read ? std::optional(*std::move(read)) : std::nullopt;
        const auto stored = os::parse_rfc3339(last->time);
        age = stored ? now - *stored : os::Milliseconds{0};
      }
    }
    out.push_back(judge_node(node.name.text(),
                             record == records.end() ? std::nullopt : std::optional(*record),
                             std::move(report), age));
  }
  return out;
}

Result<std::vector<NodeStanding>> wait_for_nodes(inventory::State& state, const Location& location,
                                                 const model::Mesh& mesh,
                                                 const std::vector<std::string>& nodes, Edges edges,
                                                 Steps& steps) {
  MESH_TRY(auto link, connect_bus(state, mesh, location.root, at_most(kBusTimeout, steps)));
  Reports reports(link.mesh);
  MESH_CHECK(reports.begin());
  MESH_TRY(const auto records, state.inventory.nodes());
  MESH_TRY(auto standings, node_standings(state, mesh, link.mesh, edges.clock.now()));
  Wait wait(std::move(standings), nodes, steps);
  std::string said;
  while (true) {
    const auto open = wait.open();
    if (open.empty()) {
      break;
    }
    const auto what = fmt::format("wait for {}", join(open, ", "));
    if (what != said) {
      steps.say(what);
      said = what;
    }
    if (auto go_on = steps.next(what); !go_on) {
      if (go_on.error().code == Code::Timeout) {
        break;
      }
      return std::unexpected(std::move(go_on).error());
    }
    for (const auto& message : reports.take()) {
      wait.take(message, records);
    }
  }
  return wait.done();
}

}  // namespace mesh::controller
