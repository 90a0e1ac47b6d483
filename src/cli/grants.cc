#include <fmt/format.h>

#include "base/text.h"
#include "broker/principals.h"
#include "cli/declarations.h"
#include "cli/reasons.h"
#include "cli/verbs.h"

namespace mesh::cli {

namespace {

using broker::Grant;
using broker::Principal;

const char* kind_name(broker::Kind kind) {
  switch (kind) {
    case broker::Kind::Controller:
      return "controller";
    case broker::Kind::Node:
      return "node";
    case broker::Kind::Module:
      return "module";
  }
  return "module";
}

Json grants_json(const std::vector<Grant>& grants) {
  auto list = Json::array();
  for (const auto& grant : grants) {
    list.push_back({{"subject", grant.subject}, {"because", because_json(grant.because)}});
  }
  return list;
}

Json responses_json(const Principal& principal) {
  if (!principal.allow_responses) {
    return nullptr;
  }
  return {{"max", broker::kMostResponses}, {"ttl", broker::kResponseTtl}};
}

Json optional_json(const std::optional<std::string>& text) {
  return text ? Json(*text) : Json(nullptr);
}

Json principal_json(const Principal& principal) {
  return {{"name", principal.name},
          {"kind", kind_name(principal.kind)},
          {"node", optional_json(principal.node)},
          {"module", optional_json(principal.module)},
          {"account", principal.account},
          {"publish", grants_json(principal.publish)},
          {"subscribe", grants_json(principal.subscribe)},
          {"allow_responses", responses_json(principal)}};
}

std::string grants_text(std::string_view title, const std::vector<Grant>& grants) {
  std::string text = fmt::format("  {}\n", title);
  for (const auto& grant : grants) {
    text += fmt::format("    {:<60} {}\n", grant.subject, reason_text(grant.because));
  }
  return text;
}

std::string principal_text(const Principal& principal) {
  std::string text = fmt::format("{} ({}, account {})\n", principal.name, kind_name(principal.kind),
                                 principal.account);
  text += grants_text("may publish", principal.publish);
  text += grants_text("may hear", principal.subscribe);
  if (principal.allow_responses) {
    text += fmt::format("  may answer each request it hears {} time, within {}\n",
                        broker::kMostResponses, broker::kResponseTtl);
  }
  return text;
}

Result<Outcome> run_grants(Context& context, const Arguments& arguments) {
  MESH_TRY(const auto declared, declarations(context));
  auto principals = broker::principals(declared.mesh());
  if (const auto name = arguments.positional("PRINCIPAL")) {
    MESH_TRY(auto one, find_principal(principals, *name));
    principals = {std::move(one)};
  }
  Outcome outcome;
  outcome.document = Json{{"principals", Json::array()}};
  for (const auto& principal : principals) {
    outcome.document["principals"].push_back(principal_json(principal));
    outcome.text += principal_text(principal);
  }
  return outcome;
}

}  // namespace

Verb grants_verb() {
  return {{.name = "grants",
           .summary = "what each principal may publish and hear, and why",
           .example = "mesh grants\nmesh grants two.shop",
           .positionals = {{"PRINCIPAL",
                            "one principal alone, as controller, one or two.shop",
                            PositionalSpec::Count::Optional,
                            {}}},
           .options = {}},
          run_grants};
}

}  // namespace mesh::cli
