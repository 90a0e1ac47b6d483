#include "registry/mirror.h"

#include <fmt/format.h>

#include "base/text.h"
#include "cli/declarations.h"
#include "cli/mirror_progress.h"
#include "cli/verbs.h"
#include "controller/image_ledger.h"
#include "controller/lock_file.h"
#include "controller/mirroring.h"
#include "controller/registry_link.h"
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

std::vector<std::string> words_of(std::string_view line) {
  std::vector<std::string> out;
  for (std::size_t at = 0; at < line.size();) {
    const auto begin = line.find_first_not_of(" \t\r", at);
    if (begin == std::string_view::npos || line[begin] == '#') {
      break;
    }
    at = std::min(line.find_first_of(" \t\r", begin), line.size());
    out.emplace_back(line.substr(begin, at - begin));
  }
  return out;
}

/// A pair a line; blank lines and what follows a `#` count for nothing.
Status read_pairs(std::string_view text, const std::string& file, Pairs& out) {
  int number = 0;
  for (const auto line : split(text, '\n')) {
    ++number;
    const auto words = words_of(line);
    if (words.empty()) {
      continue;
    }
    const Place place{std::make_shared<const std::string>(file), number, 1};
    if (words.size() != 2) {
      return fail(Code::InvalidArgument,
                  fmt::format("{} word{} where a source and a repository belong", words.size(),
                              words.size() == 1 ? "" : "s"),
                  "as `debian:12 base/debian`, a pair a line", place);
    }
    if (Status added = out.add(words[0], words[1]); !added) {
      Error error = std::move(added).error();
      error.code = Code::InvalidArgument;
      error.place = place;
      return std::unexpected(std::move(error));
    }
  }
  return {};
}

Result<Pairs> pairs_of(Context& context, const Arguments& arguments) {
  const auto source = arguments.positional("SOURCE");
  const auto repository = arguments.positional("REPOSITORY");
  const auto from = arguments.value("--from");
  Pairs out;
  if (from && !source) {
    MESH_TRY(const std::string text, *from == "-"
                                         ? context.console.in(kMostPairsFile)
                                         : os::read_file(context.absolute(*from), kMostPairsFile));
    MESH_CHECK(read_pairs(text, *from, out));
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
  for (std::size_t at = 0; at < done.size(); ++at) {
    if (!done[at]) {
      Error error = done[at].error();
      error.message = pairs.sources[at] + ": " + error.message;
      outcome.diagnostics += error_text(error, colour);
      outcome.exit = worse(outcome.exit, error.code);
      continue;
    }
    const registry::Mirrored& one = *done[at];
    outcome.text += one.reference + "\n";
    outcome.diagnostics += one.remark.empty() ? "" : one.remark + "\n";
    images.push_back({{"source", pairs.sources[at]},
                      {"reference", one.reference},
                      {"digest", one.digest.text()},
                      {"held", one.held},
                      {"bytes", one.bytes}});
  }
  outcome.diagnostics += asked_text(mirror.asked()) + quota_text(mirror.quotas());
  // Of one image that was not brought there is no answer to document.
  outcome.document = done.size() == 1 && !done[0] ? error_document(done[0].error())
                                                  : Json{{"images", std::move(images)},
                                                         {"upstream", asked_json(mirror.asked())}};
  return outcome;
}

/// Where the inventory keeps what a tag meant when it was last mirrored.
std::string note_of(const oci::Reference& source) {
  return "tag " + source.name() + ":" + source.target();
}

/// What tags meant before, for the case that upstream cannot be asked now: as the last mirror found
/// it, or else as the bases of builds are locked.
Status remember_tags(inventory::Inventory& inventory, const controller::Location& location,
                     Pairs& pairs) {
  MESH_TRY(const auto lock, controller::read_lock(location));
  for (auto& pair : pairs.pairs) {
    if (pair.source.digest()) {
      continue;
    }
    const std::string name = pair.source.name() + ":" + pair.source.target();
    MESH_TRY(auto known, inventory.note(note_of(pair.source)));
    if (const auto locked = lock.images.find(name); !known && locked != lock.images.end()) {
      known = locked->second;
    }
    if (auto digest = oci::Digest::parse(known.value_or(""))) {
      pair.locked = *std::move(digest);
    }
  }
  return {};
}

Status keep_tags(inventory::Inventory& inventory, const Pairs& pairs,
                 std::span<const Result<registry::Mirrored>> done) {
  for (std::size_t at = 0; at < done.size(); ++at) {
    const auto& source = pairs.pairs[at].source;
    const bool asked = !source.digest() && done[at] && done[at]->remark.empty();
    if (asked && pairs.pairs[at].locked != done[at]->digest) {
      MESH_CHECK(inventory.set_note(note_of(source), done[at]->digest.text()));
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
