#pragma once

#include <string>

#include "model/names.h"

/// The one place where subjects, streams and consumers get their names. Composer, raiser, runtime
/// and tests call these functions; nobody spells a subject out.
namespace mesh::model {

// Streams.
inline constexpr const char* kEvents = "EVENTS";
inline constexpr const char* kNodes = "NODES";
inline constexpr const char* kReports = "REPORTS";
inline constexpr const char* kAdvisories = "ADVISORIES";
inline constexpr const char* kParked = "PARKED";

// Accounts.
inline constexpr const char* kMeshAccount = "MESH";
inline constexpr const char* kToolsAccount = "TOOLS";
inline constexpr const char* kSystemAccount = "SYS";

// Users of the controller.
inline constexpr const char* kController = "controller";
inline constexpr const char* kControllerTools = "controller.tools";
inline constexpr const char* kControllerSystem = "controller.system";

/// A subject on which nobody answers; see the account's import of `$JS.API.INFO`.
inline constexpr const char* kVoid = "mesh.void";

// What many principals' subjects have in common; the prefix of the controller's inbox in TOOLS.
inline constexpr const char* kEveryModuleEvent = "mesh.mod.*.event.>";
inline constexpr const char* kEverySeatEvent = "mesh.seat.*.event.>";
inline constexpr const char* kEveryAccept = "mesh.seat.*.accept.*";
inline constexpr const char* kEveryTool = "mesh.mod.*.tool.>";
inline constexpr const char* kEveryDeclare = "mesh.node.*.declare";
inline constexpr const char* kEveryReport = "mesh.node.*.report";
inline constexpr const char* kEveryAsk = "mesh.node.*.ask";
inline constexpr const char* kEveryRetry = "mesh.retry.>";
inline constexpr const char* kEveryParked = "mesh.parked.>";
inline constexpr const char* kControllerToolsInbox = "_INBOX.controller.tools";

std::string event_subject(const ModuleName& module, const EventName& event);
std::string event_subject(const SeatName& seat, const EventName& event);
std::string event_subject(const EventRef& event);
std::string tool_subject(const ModuleName& module, const ToolName& tool);
/// `mesh.mod.<module>.tool.>`
std::string tools_subject(const ModuleName& module);
std::string accept_subject(const SeatName& seat, const VerbName& verb);
/// `mesh.seat.<seat>.accept.>`
std::string accepts_subject(const SeatName& seat);
std::string declare_subject(const NodeName& node);
std::string report_subject(const NodeName& node);
std::string ask_subject(const NodeName& node);
/// `mesh.retry.<node>.<module>.>`
std::string retries_subject(const InstanceName& instance);

/// `_INBOX.<node>.<module>` and `_INBOX.node.<node>`: the prefix, without `.>`.
std::string inbox_prefix(const InstanceName& instance);
std::string inbox_prefix(const NodeName& node);

/// The stream of a seat: `SEAT_` and its name in upper case, `-` as `_`.
std::string seat_stream(const SeatName& seat);
/// The durable of a seat, which is its deliver group too: `SEAT_<SEAT>_worker`.
std::string seat_consumer(const SeatName& seat);
/// The durable of an instance on EVENTS: `<node>_<module>`.
std::string instance_consumer(const InstanceName& instance);

/// `_DELIVER.<consumer>`
std::string deliver_subject(const std::string& consumer);
/// `$JS.ACK.<stream>.<consumer>.>`
std::string ack_subject(const std::string& stream, const std::string& consumer);
/// `$JS.API.CONSUMER.INFO.<stream>.<consumer>`
std::string consumer_info_subject(const std::string& stream, const std::string& consumer);
/// `$JS.API.CONSUMER.MSG.NEXT.<stream>.<consumer>`
std::string next_subject(const std::string& stream, const std::string& consumer);

/// The account of a node: `NODE_<node>`. A module's account has the module's name.
std::string node_account(const NodeName& node);

}  // namespace mesh::model
