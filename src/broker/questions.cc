#include "broker/questions.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "base/text.h"
#include "broker/missing.h"
#include "broker/subject_algebra.h"
#include "model/subjects.h"

namespace mesh::broker {

namespace {

const std::vector<Grant>& grants(const Principal& principal, Direction direction) {
  return direction == Direction::Publish ? principal.publish : principal.subscribe;
}

std::vector<const Grant*> meeting(const std::vector<Grant>& all, std::string_view subject) {
  std::vector<const Grant*> out;
  for (const auto& grant : all) {
    if (overlaps(grant.subject, subject)) {
      out.push_back(&grant);
    }
  }
  return out;
}

/// The grant's reason, with its subject where that is not the question itself.
Because reason(const Grant& grant, std::string_view subject) {
  Because out = grant.because;
  if (grant.subject != subject) {
    out.text = fmt::format("{}: {}", grant.subject, out.text);
  }
  return out;
}

std::vector<Because> reasons(const std::vector<const Grant*>& met, std::string_view subject) {
  std::vector<Because> out;
  out.reserve(met.size());
  for (const auto* grant : met) {
    out.push_back(reason(*grant, subject));
  }
  return out;
}

Status check(std::string_view subject) {
  if (is_subject(subject)) {
    return {};
  }
  return fail(Code::InvalidArgument, fmt::format("`{}` is no subject", printable(subject)),
              "a subject is tokens joined by dots, as mesh.mod.shop.event.order.placed; "
              "* stands for one token, > for all that follow");
}

Result<const Principal*> find(std::span<const Principal> principals, std::string_view name) {
  for (const auto& principal : principals) {
    if (principal.name == name) {
      return &principal;
    }
  }
  std::vector<std::string> names;
  names.reserve(principals.size());
  for (const auto& principal : principals) {
    names.push_back(principal.name);
  }
  const auto near = nearest(name, names);
  return fail(Code::NotFound, fmt::format("there is no principal `{}`", printable(name)),
              near.empty() ? "`mesh grants` lists them" : fmt::format("did you mean `{}`?", near));
}

/// True for a subject that reaches `hearer` when `speaker` publishes it: tools and questions are
/// called from TOOLS and from modules, everything else that the controller says comes from MESH.
bool reaches(const Principal& speaker, const Principal& hearer, std::string_view subject) {
  if (speaker.name != model::kController) {
    return speaker.name != hearer.name || speaker.kind == Kind::Module;
  }
  return hearer.kind == Kind::Node && !overlaps(subject, model::kEveryAsk);
}

/// From whom comes what is heard by these grants: with the reason of each, grouped by speaker.
void add_speakers(std::vector<Because>& out, std::span<const Principal> principals,
                  const Principal& hearer, const std::vector<const Grant*>& met) {
  for (const auto* heard : met) {
    for (const auto& speaker : principals) {
      for (const auto& said : speaker.publish) {
        if (said.subject.starts_with('$') || !overlaps(said.subject, heard->subject) ||
            heard->subject.starts_with('_') || !reaches(speaker, hearer, heard->subject)) {
          continue;
        }
        out.push_back(
            {fmt::format("{} comes from {}: {}", heard->subject, speaker.name, said.because.text),
             said.because.place});
      }
    }
  }
}

/// What a grant alone does not show.
void add_notes(std::vector<Because>& out, const Principal& principal, std::string_view subject,
               const std::vector<const Grant*>& met) {
  const auto place = met.front()->because.place;
  if (principal.name == model::kController &&
      (includes(model::kEveryTool, subject) || includes(model::kEveryAsk, subject))) {
    out.push_back({fmt::format("tools and machines are asked as {}; what {} says on this subject "
                               "stays in account {}",
                               model::kControllerTools, principal.name, principal.account),
                   place});
  }
  const auto is_event = [](const Grant& g) {
    return overlaps(g.subject, model::kEveryModuleEvent) ||
           overlaps(g.subject, model::kEverySeatEvent);
  };
  const bool own_consumer = std::any_of(met.begin(), met.end(), [](const Grant* g) {
    return g->subject.starts_with("$JS.") && g->subject.find(".EVENTS.") != std::string::npos;
  });
  if (principal.kind == Kind::Module && own_consumer &&
      std::none_of(principal.subscribe.begin(), principal.subscribe.end(), is_event)) {
    out.push_back(
        {fmt::format("{} consumes nothing, so there is no such consumer yet", *principal.module),
         place});
  }
}

Explanation refusal(const Principal& principal, Direction direction, std::string_view subject) {
  Explanation out;
  // The first grant is a fixed one: it stands where the principal is declared.
  const auto& place = grants(principal, direction).front().because.place;
  out.because.push_back({missing(principal, direction, subject), place});
  if (direction == Direction::Publish && principal.allow_responses &&
      overlaps(subject, "_INBOX.>")) {
    out.because.push_back({fmt::format("but it may answer what it is asked: {} answer to each "
                                       "request, within {}, on the request's reply subject",
                                       kMostResponses, kResponseTtl),
                           place});
  }
  return out;
}

}  // namespace

const char* verdict_name(Verdict verdict) {
  switch (verdict) {
    case Verdict::Yes:
      return "yes";
    case Verdict::No:
      return "no";
    case Verdict::Part:
      break;
  }
  return "part";
}

Result<std::vector<Able>> who(std::span<const Principal> principals, Direction direction,
                              std::string_view subject) {
  MESH_CHECK(check(subject));
  std::vector<Able> out;
  for (const auto& principal : principals) {
    const auto met = meeting(grants(principal, direction), subject);
    if (!met.empty()) {
      out.push_back({principal.name, reasons(met, subject)});
    }
  }
  return out;
}

Result<Explanation> explain(std::span<const Principal> principals, std::string_view name,
                            Direction direction, std::string_view subject) {
  MESH_CHECK(check(subject));
  MESH_TRY(const auto* principal, find(principals, name));
  const auto met = meeting(grants(*principal, direction), subject);
  if (met.empty()) {
    return refusal(*principal, direction, subject);
  }
  std::vector<std::string_view> granted;
  granted.reserve(met.size());
  for (const auto* grant : met) {
    granted.push_back(grant->subject);
  }
  Explanation out;
  out.verdict = covers(granted, subject) ? Verdict::Yes : Verdict::Part;
  out.because = reasons(met, subject);
  if (direction == Direction::Hear && principal->kind != Kind::Controller) {
    add_speakers(out.because, principals, *principal, met);
  }
  add_notes(out.because, *principal, subject, met);
  return out;
}

}  // namespace mesh::broker
