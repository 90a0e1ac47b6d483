#include "registry/mirror.h"

#include <algorithm>
#include <memory>
#include <span>

#include <fmt/format.h>

#include "base/text.h"
#include "cli/declarations.h"
#include "cli/mirror_progress.h"
#include "cli/verbs.h"
#include "controller/image_ledger.h"
#include "controller/lock_file.h"
#include "controller/mirroring.h"
#include "controller/registry_link.h"
#include "controller/tag_notes.h"
#include "model/problem.h"
#include "oci/reference.h"
#include "os/files.h"

namespace mesh::cli {

namespace {

constexpr std::size_t kMostPairsFile = std::size_t{4} << 20U;

/// The pairs of a run, and how each source was written.
struct Pairs {
  std::vector<registry::MirrorPair> pairs;
  std::vector<std::string> sources;

  Status add(const std::string& source, const std::string& repository) {
    MESH_TRY(auto reference, oci::Reference::parse(source));
    MESH_TRY(auto name, oci::Repository::parse(repository));
    pairs.push_back({std::move(reference), std::move(name), std::nullopt});
    sources.push_back(source);
    return {};
  }
};

struct WordOfLine {
  std::string text;
  int column = 1;  // in bytes, from 1
};

std::vector<WordOfLine> words_of(std::string_view line) {
  std::vector<WordOfLine> out;
  for (std::size_t at = 0; at < line.size();) {
    const auto begin = line.find_first_not_of(" \t\r", at);
    if (begin == std::string_view::npos || line[begin] == '#') {
      break;
    }
    at = std::min(line.find_first_of(" \t\r", begin), line.size());
    out.push_back({std::string(line.substr(begin, at - begin)), static_cast<int>(begin) + 1});
  }
  return out;
}

/// A pair a line; blank lines and what follows a `#` count for nothing. Returns all that is wrong.
std::vector<model::Problem> read_pairs(std::string_view text, const std::string& file, Pairs& out) {
  std::vector<model::Problem> problems;
  const auto name = std::make_shared<const std::string>(file);
  int number = 0;
  for (const auto line : split(text, '\n')) {
    ++number;
    const auto words = words_of(line);
    const auto wrong = [&](const WordOfLine& word, const char* code, const Error& error) {
      problems.push_back({model::Severity::Error, code, error.message, error.hint,
                          Place{name, number, word.column}});
    };
    if (words.empty()) {
      continue;
    }
    if (words.size() != 2) {
      wrong(words.size() > 2 ? words[2] : words[0], "no-pair",
            {Code::InvalidArgument,
             fmt::format("{} word{} where a source and a repository belong", words.size(),
                         words.size() == 1 ? "" : "s"),
             "as `debian:12 base/debian`, a pair a line",
             {}});
      continue;
    }
    const auto source = oci::Reference::parse(words[0].text);
    const auto repository = oci::Repository::parse(words[1].text);
    if (!source) {
      wrong(words[0], "bad-source", source.error());
    }
    if (!repository) {
      wrong(words[1], "bad-repository", repository.error());
    }
    if (source && repository) {
      out.pairs.push_back({*source, *repository, std::nullopt});
      out.sources.push_back(words[0].text);
    }
  }
  return problems;
}

/// Ends the verb with all that is wrong with the file: the document has the first as its error.
std::unexpected<Error> invalid_pairs(Context& context,
                                     const std::vector<model::Problem>& problems) {
  auto outcome = problems_outcome(problems, context.colour_err());
  outcome.diagnostics = std::move(outcome.text);
  outcome.text.clear();
  const auto& first = problems.front();
  const Error error{Code::InvalidArgument, first.message, first.hint, first.place};
  outcome.document["error"] = error_document(error)["error"];
  if (context.json) {
    context.console.err(outcome.diagnostics);
  }
  context.invalid = std::move(outcome);
  return std::unexpected(error);
}

/// The file's text. One that cannot be read is a wrong file, whatever kept it from being read.
Result<std::string> pairs_text(Context& context, const std::string& from) {
  if (from == "-") {
    return context.console.in(kMostPairsFile);
  }
  auto text = os::read_file(context.absolute(from), kMostPairsFile);
  if (!text) {
    Error error = std::move(text).error();
    error.code = Code::InvalidArgument;
    if (error.hint.empty()) {
      error.hint = "--from takes a file of pairs, as `debian:12 base/debian`, one a line";
    }
    return std::unexpected(std::move(error));
  }
  return text;
}

Result<Pairs> pairs_of(Context& context, const Arguments& arguments) {
  const auto source = arguments.positional("SOURCE");
  const auto repository = arguments.positional("REPOSITORY");
  const auto from = arguments.value("--from");
  Pairs out;
  if (from && !source) {
    MESH_TRY(const std::string text, pairs_text(context, *from));
    if (const auto problems = read_pairs(text, *from, out); !problems.empty()) {
      return invalid_pairs(context, problems);
    }
    return out;
  }
  if (from || !source || !repository) {
    return fail(Code::Usage, "mirror takes a source and a repository, or --from FILE",
                "as `mesh mirror debian:12 base/debian`");
  }
  if (Status added = out.add(*source, *repository); !added) {
    added.error().code = Code::Usage;
    return std::unexpected(std::move(added).error());
  }
  return out;
}

Json asked_json(std::span<const registry::Asked> asked) {
  Json out = Json::array();
  for (const auto& one : asked) {
    out.push_back({{"method", one.method},
                   {"url", one.url},
                   {"status", one.status ? Json(*one.status) : Json(nullptr)}});
  }
  return out;
}

std::string asked_text(std::span<const registry::Asked> asked) {
  if (asked.empty()) {
    return "upstream was asked nothing\n";
  }
  std::string out =
      fmt::format("upstream was asked {} time{}:\n", asked.size(), asked.size() == 1 ? "" : "s");
  for (const auto& one : asked) {
    out += fmt::format("  {} {} {}\n", one.method, one.url,
                       one.status ? std::to_string(*one.status) : "(no answer)");
  }
  return out;
}

std::string quota_text(std::span<const registry::Quota> quotas) {
  std::string out;
  for (const auto& one : quotas) {
    out += fmt::format("{} has {} of {} pulls left{}\n", one.domain, one.remaining, one.limit,
                       one.until ? ", until " + os::rfc3339(*one.until) + " at the latest" : "");
  }
  return out;
}

/// What upstream or the registry sent may be damaged; the operator's own files are well.
int exit_of(Code code) {
  return code == Code::Corrupt ? exit_code::kFailed : exit_code_of(code);
}

/// The worst of several failures decides: what could not be reached may be tried again.
int worse(int exit, Code code) {
  const int other = exit_of(code);
  return exit == exit_code::kDone || other == exit_code::kInterrupted ? other : exit;
}

Outcome outcome_of(const Pairs& pairs, std::span<const Result<registry::Mirrored>> done,
                   const registry::Mirror& mirror, bool colour) {
  Outcome outcome;
  Json images = Json::array();
  Json failed = Json::array();
  for (std::size_t at = 0; at < done.size(); ++at) {
    if (!done[at]) {
      Error error = done[at].error();
      error.message = pairs.sources[at] + ": " + error.message;
      outcome.diagnostics += error_text(error, colour);
      outcome.exit = worse(outcome.exit, error.code);
      failed.push_back({{"source", pairs.sources[at]},
                        {"repository", pairs.pairs[at].repository.text()},
                        {"error", error_document(done[at].error())["error"]}});
      continue;
    }
    const registry::Mirrored& one = *done[at];
    outcome.text += one.reference + "\n";
    outcome.diagnostics += one.remark.empty() ? "" : one.remark + "\n";
    images.push_back({{"source", pairs.sources[at]},
                      {"reference", one.reference},
                      {"digest", one.digest.text()},
                      {"held", one.held},
                      {"bytes", one.bytes},
                      {"remark", one.remark.empty() ? Json(nullptr) : Json(one.remark)}});
  }
  outcome.diagnostics += asked_text(mirror.asked()) + quota_text(mirror.quotas());
  outcome.document = {{"images", std::move(images)},
                      {"upstream", asked_json(mirror.asked())},
                      {"failed", std::move(failed)}};
  if (done.size() == 1 && !done[0]) {
    // Of one image that was not brought there is no answer to document.
    outcome.document = error_document(done[0].error());
  }
  return outcome;
}

/// What tags meant before, for the case that upstream cannot be asked now: as the last mirror
/// found it, else by mesh.lock, else as the last build took it.
Status remember_tags(inventory::Inventory& inventory, const controller::Location& location,
                     Pairs& pairs) {
  MESH_TRY(const auto lock, controller::read_lock(location));
  for (auto& pair : pairs.pairs) {
    if (pair.source.digest()) {
      continue;
    }
    MESH_TRY(pair.locked,
             controller::noted_tag(inventory, pair.source, controller::TagNote::Mirrored));
    const auto locked = lock.images.find(pair.source.name() + ":" + pair.source.target());
    if (!pair.locked && locked != lock.images.end()) {
      MESH_TRY(pair.locked, oci::Digest::parse(locked->second));
    }
    if (!pair.locked) {
      MESH_TRY(pair.locked,
               controller::noted_tag(inventory, pair.source, controller::TagNote::Built));
    }
  }
  return {};
}

Status keep_tags(inventory::Inventory& inventory, const Pairs& pairs,
                 std::span<const Result<registry::Mirrored>> done) {
  for (std::size_t at = 0; at < done.size(); ++at) {
    if (done[at] && done[at]->remark.empty()) {
      MESH_CHECK(controller::note_tag(inventory, pairs.pairs[at].source,
                                      controller::TagNote::Mirrored, done[at]->digest));
    }
  }
  return {};
}

Result<Outcome> run_mirror(Context& context, const Arguments& arguments) {
  MESH_TRY(auto pairs, pairs_of(context, arguments));
  MESH_TRY(const auto declared, declarations(context));
  MESH_TRY(auto state, open_state(context, declared));
  MESH_CHECK(controller::reach_registry(state, declared.mesh(), declared.location.root,
                                        context.interrupt.descriptor()));
  auto options =
      controller::mirror_options(declared.mesh(), declared.location.root, declared.location.state);
  options.verify = arguments.flag("--verify");
  options.timeout = context.timeout;
  options.stop_fd = context.interrupt.descriptor();
  MESH_CHECK(remember_tags(state.inventory, declared.location, pairs));
  controller::ImageLedger ledger(state.inventory);
  MirrorProgress progress(context);
  registry::Mirror mirror(std::move(options), {context.clock, context.random, context.variable},
                          ledger, progress);
  const auto done = mirror.run(pairs.pairs);
  progress.clear();
  MESH_CHECK(keep_tags(state.inventory, pairs, done));
  auto outcome = outcome_of(pairs, done, mirror, context.colour_err());
  outcome.acted = true;
  if (context.json) {
    // With a document the frame prints no diagnostics; what was not brought is said in any case.
    context.console.err(outcome.diagnostics);
  }
  return outcome;
}

}  // namespace

Verb mirror_verb() {
  return {{.name = "mirror",
           .summary = "copies images into the mesh's registry",
           .example = "mesh mirror debian:12 base/debian\nmesh mirror --from bases.txt --verify",
           .positionals = {{"SOURCE",
                            "an image reference, best with its digest",
                            PositionalSpec::Count::Optional,
                            {}},
                           {"REPOSITORY",
                            "where it is kept in the mesh's registry",
                            PositionalSpec::Count::Optional,
                            {}}},
           .options = {{"--from", "FILE", "many pairs, one a line; `-` reads stdin"},
                       {"--verify", "", "read and hash what is held; fetch again what is damaged"}},
           .ends_itself = true},
          run_mirror};
}

}  // namespace mesh::cli
