#include "model/subjects.h"

namespace mesh::model {

namespace {

const std::string kModuleRoot = "mesh.mod.";
const std::string kSeatRoot = "mesh.seat.";
const std::string kNodeRoot = "mesh.node.";

}  // namespace

std::string event_subject(const ModuleName& module, const EventName& event) {
  return kModuleRoot + module.text() + ".event." + event.text();
}

std::string event_subject(const SeatName& seat, const EventName& event) {
  return kSeatRoot + seat.text() + ".event." + event.text();
}

std::string event_subject(const EventRef& event) {
  const auto& root = event.source == EventRef::Source::Seat ? kSeatRoot : kModuleRoot;
  return root + event.owner + ".event." + event.event;
}

std::string tool_subject(const ModuleName& module, const ToolName& tool) {
  return kModuleRoot + module.text() + ".tool." + tool.text();
}

std::string tools_subject(const ModuleName& module) {
  return kModuleRoot + module.text() + ".tool.>";
}

std::string accept_subject(const SeatName& seat, const VerbName& verb) {
  return kSeatRoot + seat.text() + ".accept." + verb.text();
}

std::string accepts_subject(const SeatName& seat) {
  return kSeatRoot + seat.text() + ".accept.>";
}

std::string declare_subject(const NodeName& node) {
  return kNodeRoot + node.text() + ".declare";
}

std::string report_subject(const NodeName& node) {
  return kNodeRoot + node.text() + ".report";
}

std::string ask_subject(const NodeName& node) {
  return kNodeRoot + node.text() + ".ask";
}

std::string retries_subject(const InstanceName& instance) {
  return "mesh.retry." + instance.text() + ".>";
}

std::string inbox_prefix(const InstanceName& instance) {
  return "_INBOX." + instance.text();
}

std::string inbox_prefix(const NodeName& node) {
  return "_INBOX.node." + node.text();
}

std::string seat_stream(const SeatName& seat) {
  std::string out = "SEAT_";
  for (const char c : seat.text()) {
    if (c == '-') {
      out.push_back('_');
    } else {
      out.push_back(c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c);
    }
  }
  return out;
}

std::string seat_consumer(const SeatName& seat) {
  return seat_stream(seat) + "_worker";
}

std::string instance_consumer(const InstanceName& instance) {
  return instance.node.text() + "_" + instance.module.text();
}

std::string deliver_subject(const std::string& consumer) {
  return "_DELIVER." + consumer;
}

std::string ack_subject(const std::string& stream, const std::string& consumer) {
  return "$JS.ACK." + stream + "." + consumer + ".>";
}

std::string consumer_info_subject(const std::string& stream, const std::string& consumer) {
  return "$JS.API.CONSUMER.INFO." + stream + "." + consumer;
}

std::string next_subject(const std::string& stream, const std::string& consumer) {
  return "$JS.API.CONSUMER.MSG.NEXT." + stream + "." + consumer;
}

std::string node_account(const NodeName& node) {
  return "NODE_" + node.text();
}

}  // namespace mesh::model
