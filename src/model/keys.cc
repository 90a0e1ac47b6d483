#include "model/keys.h"

#include <array>

namespace mesh::model {

namespace {

constexpr std::string_view kText = "text in quotes";
constexpr std::string_view kFlag = "true or false";
constexpr std::string_view kCount = "a whole number, such as 3";
constexpr std::string_view kTime = "a duration in quotes, such as \"30s\"";
constexpr std::string_view kSize = "a size in quotes, such as \"64MiB\"";
constexpr std::string_view kTimes = "a list of durations, such as [\"1s\", \"5s\"]";
constexpr std::string_view kCommand = "a list of texts, such as [\"nats-server\", \"-t\"]";
constexpr std::string_view kEvents = "a list of events, such as [\"order.placed\"]";
constexpr std::string_view kEnv = "a table of texts, such as { LOG_LEVEL = \"info\" }";

constexpr std::array kMeshTopKeys = {Key{"mesh", "the mesh's name, such as \"home\"", true},
                                     Key{"bus", "a table, [bus]"},
                                     Key{"events", "a table, [events]"},
                                     Key{"delivery", "a table, [delivery]"},
                                     Key{"registry", "a table, [registry]"},
                                     Key{"upstreams", "tables such as [upstreams.\"docker.io\"]"},
                                     Key{"nodes", "tables such as [nodes.one]"},
                                     Key{"seats", "tables such as [seats.sender]"},
                                     Key{"modules", "tables such as [modules.shop]"}};

constexpr std::array kBusKeys = {
    Key{"server", "\"managed\" or \"external\""},
    Key{"listen", "an address, such as \"127.0.0.1:4222\""},
    Key{"advertise", "a URL or a list of them, such as \"nats://10.0.0.1:4222\""},
    Key{"program", "the path of a nats-server in quotes"},
    Key{"replicas", kCount},
    Key{"insecure", kFlag},
    Key{"config", "the path of a file in quotes"},
    Key{"test", kCommand},
    Key{"reload", kCommand},
    Key{"ca", "the path of a file in quotes"}};

constexpr std::array kEventsKeys = {Key{"keep", kTime}, Key{"per-event", kCount},
                                    Key{"largest", kSize}, Key{"disk", kSize},
                                    Key{"duplicates", kTime}};

constexpr std::array kDeliveryKeys = {Key{"within", kTime}, Key{"attempts", kCount},
                                      Key{"backoff", kTimes}, Key{"in-flight", kCount}};

constexpr std::array kRegistryKeys = {Key{"server", "\"managed\" or \"external\""},
                                      Key{"listen", "an address, such as \"127.0.0.1:5000\""},
                                      Key{"advertise", "HOST or HOST:PORT in quotes"},
                                      Key{"insecure", kFlag},
                                      Key{"ca", "the path of a file in quotes"}};

constexpr std::array kUpstreamKeys = {Key{"insecure", kFlag},
                                      Key{"ca", "the path of a file in quotes"},
                                      Key{"mirror", "HOST or HOST:PORT in quotes"}};

constexpr std::array kNodeKeys = {
    Key{"bus", "the bus's URL as this node sees it, such as \"nats://10.0.0.1:4222\""},
    Key{"registry", "the registry's HOST:PORT as this node sees it, in quotes"}, Key{"env", kEnv}};

constexpr std::array kSeatKeys = {
    Key{"accepts", "a list of verbs, such as [\"send\"]", true},
    Key{"emits", kEvents},
    Key{"from", "a table of lists, such as { send = [\"shop.order.placed\"] }"},
    Key{"within", kTime},
    Key{"attempts", kCount},
    Key{"backoff", kTimes},
    Key{"in-flight", kCount}};

constexpr std::array kModuleKeys = {
    Key{"path", "the module's folder in quotes, such as \"modules/shop\"", true},
    Key{"on", "a list of nodes, such as [\"one\"], or \"all\"", true}, Key{"env", kEnv},
    Key{"each", kFlag}};

constexpr std::array kModuleTopKeys = {
    Key{"description", kText},
    Key{"emits", kEvents},
    Key{"subjects", "a table of texts, such as { \"order.placed\" = \"orders.placed\" }"},
    Key{"consumes", "a list of events, such as [\"shop.order.placed\", \"sender:delivered\"]"},
    Key{"holds", "a list of seats, such as [\"sender\"]"},
    Key{"uses", "a list of seats' verbs, such as [\"sender.send\"]"},
    Key{"calls", "a list of modules' tools, such as [\"audit.search\"]"},
    Key{"tools", "tables such as [tools.search]"},
    Key{"components", "tables such as [components.server]"}};

constexpr std::array kConsumeKeys = {Key{"event", "an event, such as \"shop.order.placed\"", true},
                                     Key{"from", "\"new\", \"all\" or an age, such as \"2h\""}};

constexpr std::array kToolKeys = {
    Key{"description", kText},
    Key{"input", "the path of a JSON Schema file, such as \"schemas/price.json\""},
    Key{"timeout", kTime}};

constexpr std::array kComponentKeys = {
    Key{"build", "a path, such as \".\", or a table, such as { context = \".\" }"},
    Key{"image", "an image's reference in quotes"},
    Key{"run", "a list of texts, such as [\"node\", \"server.js\"]"},
    Key{"command", "a list of texts, such as [\"serve\", \"--quiet\"]"},
    Key{"entrypoint", "a list of texts, such as [\"/bin/server\"]"},
    Key{"user", "a user's name or number in quotes, such as \"1000\""},
    Key{"env", "a table of texts, such as { LOG_LEVEL = \"info\" }"},
    Key{"secrets", "a list of secrets' names, such as [\"STRIPE_KEY\"]"},
    Key{"files", "a table of paths, such as { \"/etc/app.conf\" = \"app.conf\" }"},
    Key{"ports", "a list of strings, such as [\"8080:80\"]"},
    Key{"volumes", "a list of strings, such as [\"data:/data\"]"},
    Key{"devices", "a list of strings, such as [\"/dev/ttyUSB0\"]"},
    Key{"network", "\"bridge\", \"host\" or \"none\""},
    Key{"capabilities", "a list of strings, such as [\"NET_ADMIN\"]"},
    Key{"read-only", kFlag},
    Key{"tmpfs", "a list of paths, such as [\"/tmp\"]"},
    Key{"memory", kSize},
    Key{"cpus", "a number, such as 0.5"},
    Key{"pids", "a whole number, such as 100"},
    Key{"init", kFlag},
    Key{"grace", kTime},
    Key{"log-size", kSize},
    Key{"restart", "\"always\", \"on-failure\" or \"never\""},
    Key{"after", "a list of components, such as [\"database\"]"},
    Key{"health", "a table, such as { http = \"/healthz\", port = 80 }"}};

constexpr std::array kBuildKeys = {
    Key{"context", "a path in quotes, such as \".\""},
    Key{"containerfile", "a path in quotes, such as \"Containerfile\""},
    Key{"target", "a stage's name in quotes"},
    Key{"args", "a table of texts, such as { VERSION = \"1\" }"},
    Key{"secrets", "a list of secrets' names, such as [\"NPM_TOKEN\"]"},
    Key{"platforms", "a list of platforms, such as [\"linux/amd64\"]"}};

constexpr std::array kHealthKeys = {
    Key{"http", "a path in quotes, such as \"/healthz\""},
    Key{"tcp", "true, with a port beside it"},
    Key{"command", "a list of texts, such as [\"check\", \"--quick\"]"},
    Key{"port", "a port's number, such as 80"},
    Key{"interval", kTime},
    Key{"timeout", kTime},
    Key{"retries", kCount},
    Key{"start", kTime}};

constexpr std::array kSecretValueKeys = {
    Key{"secret", "a secret's name in quotes, such as \"STRIPE_KEY\"", true}};

struct Absent {
  std::string_view key;
  std::string_view says;
};

constexpr std::string_view kInstances = "several instances of a module on one node are";
constexpr std::string_view kSchedules = "schedules and jobs are";
constexpr std::string_view kPlacement = "placement is";
constexpr std::string_view kIngress = "ingress is";
constexpr std::string_view kGroups = "tags and groups of nodes are";
constexpr std::string_view kState = "key-value state is";
constexpr std::string_view kLeafnodes = "leafnodes are";

constexpr std::array kAbsent = {Absent{"replicas", kInstances},  Absent{"instances", kInstances},
                                Absent{"scale", kInstances},     Absent{"count", kInstances},
                                Absent{"schedule", kSchedules},  Absent{"schedules", kSchedules},
                                Absent{"cron", kSchedules},      Absent{"job", kSchedules},
                                Absent{"jobs", kSchedules},      Absent{"every", kSchedules},
                                Absent{"placement", kPlacement}, Absent{"constraints", kPlacement},
                                Absent{"affinity", kPlacement},  Absent{"ingress", kIngress},
                                Absent{"routes", kIngress},      Absent{"domains", kIngress},
                                Absent{"domain", kIngress},      Absent{"tags", kGroups},
                                Absent{"labels", kGroups},       Absent{"groups", kGroups},
                                Absent{"group", kGroups},        Absent{"kv", kState},
                                Absent{"state", kState},         Absent{"buckets", kState},
                                Absent{"key-value", kState},     Absent{"leafnodes", kLeafnodes},
                                Absent{"leafnode", kLeafnodes}};

}  // namespace

const Kind kMeshTop{"mesh.toml", kMeshTopKeys};
const Kind kBus{"[bus]", kBusKeys};
const Kind kEventsTable{"[events]", kEventsKeys};
const Kind kDelivery{"[delivery]", kDeliveryKeys};
const Kind kRegistry{"[registry]", kRegistryKeys};
const Kind kUpstream{"[upstreams.\"NAME\"]", kUpstreamKeys};
const Kind kNode{"[nodes.NAME]", kNodeKeys};
const Kind kSeat{"[seats.NAME]", kSeatKeys};
const Kind kModule{"[modules.NAME]", kModuleKeys};
const Kind kModuleTop{"module.toml", kModuleTopKeys};
const Kind kConsume{"an entry of consumes", kConsumeKeys};
const Kind kTool{"[tools.NAME]", kToolKeys};
const Kind kComponent{"[components.NAME]", kComponentKeys};
const Kind kBuild{"[components.NAME.build]", kBuildKeys};
const Kind kHealth{"[components.NAME.health]", kHealthKeys};
const Kind kSecretValue{"a value of env", kSecretValueKeys};

const Key* Kind::find(std::string_view key) const {
  for (const auto& known : keys) {
    if (known.name == key) {
      return &known;
    }
  }
  return nullptr;
}

std::span<const Kind* const> all_kinds() {
  static constexpr std::array kAll = {&kMeshTop,   &kBus,       &kEventsTable, &kDelivery,
                                      &kRegistry,  &kUpstream,  &kNode,        &kSeat,
                                      &kModule,    &kModuleTop, &kConsume,     &kTool,
                                      &kComponent, &kBuild,     &kHealth,      &kSecretValue};
  return kAll;
}

std::string_view not_in_this_version(std::string_view key) {
  for (const auto& absent : kAbsent) {
    if (absent.key == key) {
      return absent.says;
    }
  }
  return {};
}

}  // namespace mesh::model
