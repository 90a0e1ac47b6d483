#include "cli/tap.h"

#include <poll.h>

#include <atomic>
#include <charconv>
#include <mutex>

#include <fmt/format.h>

#include "base/base64.h"
#include "base/text.h"
#include "broker/subject_algebra.h"
#include "cli/declarations.h"
#include "cli/verbs.h"
#include "controller/bus_link.h"
#include "controller/steps.h"

namespace mesh::cli {

namespace {

constexpr int kSlice = 100;  // milliseconds

/// Prints messages as they come, from the subscription's thread.
class Printer {
 public:
  Printer(Context& context, std::uint64_t most) : context_(context), left_(most) {}

  void print(const bus::Message& message) {
    const std::lock_guard lock(mutex_);
    if (done_) {
      return;
    }
    const auto time = os::rfc3339(context_.clock.now());
    const auto line =
        context_.json
            ? message_document(message, time).dump(-1, ' ', false, Json::error_handler_t::replace)
            : fmt::format("{}  {}  {}", time, message.subject, printable(message.data, 4096));
    const bool last = left_ == 1;
    left_ -= left_ > 0 ? 1 : 0;
    written_ = context_.console.out(line + "\n");
    ++heard_;
    done_ = !written_ || last;
  }
  [[nodiscard]] bool done() const { return done_; }
  /// How it ended: all that were asked for were heard, or nobody reads any more.
  [[nodiscard]] Status outcome(std::uint64_t wanted) {
    const std::lock_guard lock(mutex_);
    if (!written_ && written_.error().code != Code::Unavailable) {
      return written_;
    }
    if (wanted == 0 || done_) {
      return {};
    }
    return fail(Code::Timeout, fmt::format("the deadline passed, and of {} only {} came",
                                           counted(wanted, "message"), heard_));
  }

 private:
  Context& context_;
  std::mutex mutex_;
  std::uint64_t left_;  // 0: no end
  std::uint64_t heard_ = 0;
  Status written_;
  std::atomic<bool> done_{false};
};

Result<std::uint64_t> count_of(const Arguments& arguments) {
  const auto given = arguments.value("--count");
  const auto text = given.value_or("0");
  std::uint64_t count = 0;
  const auto* const end = text.data() + text.size();
  if (const auto read = std::from_chars(text.data(), end, count);
      read.ec != std::errc() || read.ptr != end || (given && count == 0)) {
    return fail(Code::Usage, "--count takes a number, at least 1");
  }
  return count;
}

Result<Outcome> run_tap(Context& context, const Arguments& arguments) {
  const auto subject = arguments.positional("SUBJECT").value_or(">");
  if (!broker::is_subject(subject)) {
    return fail(Code::Usage, fmt::format("'{}' is no subject", printable(subject)),
                "as mesh.mod.shop.event.order.placed, or with wildcards: mesh.mod.*.event.>");
  }
  MESH_TRY(const auto count, count_of(arguments));
  const os::Deadline deadline(context.within(controller::Steps::kNoEnd));
  MESH_TRY(const auto declared, declarations(context));
  MESH_TRY(auto state, open_state(context, declared));
  MESH_TRY(auto link,
           controller::connect_bus(state, declared.mesh(), declared.location.root,
                                   controller::at_most(controller::kBusTimeout, deadline)));
  Printer printer(context, count);
  MESH_TRY(const auto subscription,
           link.mesh.subscribe(subject, {}, [&](const bus::Message& one) { printer.print(one); }));
  MESH_CHECK(link.mesh.flush(controller::at_most(controller::kBusTimeout, deadline)));
  context.say("listening to " + subject + (context.timeout ? "" : ", until Ctrl-C"));
  while (!printer.done() && !deadline.passed() && !context.interrupt.requested()) {
    if (!link.mesh.is_connected()) {
      return fail(Code::Unavailable, "the bus closed the connection");
    }
    pollfd one{context.interrupt.descriptor(), POLLIN, 0};
    (void)::poll(&one, 1, kSlice);
  }
  MESH_CHECK(printer.outcome(count));
  return Outcome{};
}

}  // namespace

Json message_document(const bus::Message& message, const std::string& time) {
  auto headers = Json::array();
  for (const auto& header : message.headers) {
    headers.push_back({{"name", header.name}, {"value", header.value}});
  }
  const bool text = is_utf8(message.data);
  return {{"time", time},
          {"subject", message.subject},
          {"reply", message.reply.empty() ? Json(nullptr) : Json(message.reply)},
          {"headers", std::move(headers)},
          {"data", text ? Json(message.data) : Json(nullptr)},
          {"data_base64", text ? Json(nullptr) : Json(base64(message.data))}};
}

Verb tap_verb() {
  return {
      {.name = "tap",
       .summary = "shows what passes on the bus",
       .example = "mesh tap 'mesh.mod.*.event.>'\nmesh tap 'mesh.seat.>' --json --count 10",
       .positionals = {{"SUBJECT", "a subject, wildcards allowed", PositionalSpec::Count::One, {}}},
       .options = {{"--count", "N", "end after so many messages"}}},
      run_tap};
}

}  // namespace mesh::cli
