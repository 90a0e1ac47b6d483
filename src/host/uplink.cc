#include "host/uplink.h"

#include <algorithm>
#include <chrono>
#include <memory>
#include <utility>

#include <fmt/format.h>

#include "model/subjects.h"

namespace mesh::host {

namespace {

constexpr bus::Milliseconds kDialTimeout{5'000};
constexpr std::chrono::milliseconds kFirstPause{500};
constexpr std::chrono::milliseconds kLongestPause{15'000};

}  // namespace

/// One connection and what hangs on it; the subscriptions go before it.
struct Uplink::Live {
  bus::Connection connection;
  bus::Subscription declarations;
  bus::Subscription questions;
};

Uplink::Uplink(UplinkOptions options, Handlers handlers)
    : handlers_(std::move(handlers)), options_(std::move(options)) {
  thread_ = std::thread([this] { loop(); });
}

Uplink::~Uplink() {
  {
    const std::lock_guard lock(mutex_);
    ending_ = true;
    changed_.notify_all();
  }
  thread_.join();
}

void Uplink::change(UplinkOptions options) {
  const std::lock_guard lock(mutex_);
  if (options == options_) {
    return;
  }
  options_ = std::move(options);
  again_ = true;
  changed_.notify_all();
}

Status Uplink::flush() {
  std::shared_ptr<Live> live;
  {
    const std::lock_guard lock(mutex_);
    live = live_;
  }
  return live ? live->connection.flush(kDialTimeout)
              : Status(fail(Code::Unavailable, "the bus is not connected"));
}

Status Uplink::publish(std::string_view subject, std::string_view payload) {
  std::shared_ptr<Live> live;
  {
    const std::lock_guard lock(mutex_);
    live = live_;
  }
  if (!live || !live->connection.is_connected()) {
    return fail(Code::Unavailable, "the bus is not connected");
  }
  return live->connection.publish(subject, payload);
}

void Uplink::tell(Result<std::size_t> link) {
  const auto text = link ? fmt::format("up {}", *link) : link.error().message;
  {
    const std::lock_guard lock(mutex_);
    if (told_ == text) {
      return;
    }
    told_ = text;
  }
  handlers_.link(std::move(link));
}

Result<std::size_t> Uplink::connect_once(const UplinkOptions& options) {
  Error last{Code::Internal, "no password", "", {}};
  for (std::size_t at = 0; at < options.passwords.size(); ++at) {
    bus::ConnectOptions dial;
    dial.urls = options.urls;
    dial.user = options.node.text();
    dial.password = options.passwords[at];
    dial.ca_pem = options.ca;
    dial.inbox = model::inbox_prefix(options.node);
    dial.name = "mesh-host " + options.node.text();
    dial.timeout = kDialTimeout;
    dial.reconnect = true;
    dial.on_link = [this, at](bus::Link link) {
      if (link != bus::Link::Closed) {
        tell(link == bus::Link::Back ? Result<std::size_t>(at)
                                     : fail(Code::Unavailable, "the bus is out of reach"));
        return;
      }
      const std::lock_guard lock(mutex_);
      again_ = true;
      changed_.notify_all();
    };
    auto connection = bus::Connection::connect(dial);
    if (connection) {
      const std::lock_guard lock(mutex_);
      live_ = std::make_shared<Live>(Live{*std::move(connection), {}, {}});
      again_ = false;
      return at;
    }
    last = std::move(connection).error();
    if (last.code != Code::PermissionDenied) {
      break;
    }
  }
  return std::unexpected(std::move(last));
}

Status Uplink::subscribe(const UplinkOptions& options) {
  std::shared_ptr<Live> live;
  {
    const std::lock_guard lock(mutex_);
    live = live_;
  }
  if (handlers_.asked) {
    MESH_TRY(live->questions,
             live->connection.subscribe(model::ask_subject(options.node), "", handlers_.asked));
  }
  MESH_TRY(live->declarations,
           live->connection.subscribe(model::deliver_subject(options.node.text()), "",
                                      handlers_.declared));
  return live->connection.flush(kDialTimeout);
}

void Uplink::loop() {
  auto pause = kFirstPause;
  while (true) {
    std::unique_lock before(mutex_);
    if (ending_) {
      break;
    }
    const auto options = options_;
    before.unlock();
    auto made = connect_once(options);
    if (made) {
      if (auto heard = subscribe(options); !heard) {
        made = std::unexpected(std::move(heard).error());
      }
    }
    const bool up = made.has_value();
    tell(std::move(made));
    std::unique_lock lock(mutex_);
    if (up) {
      pause = kFirstPause;
      changed_.wait(lock, [&] { return again_ || ending_; });
    } else {
      changed_.wait_for(lock, pause, [&] { return ending_ || (again_ && live_ == nullptr); });
      pause = std::min(pause * 2, kLongestPause);
    }
    again_ = false;
    auto gone = std::exchange(live_, nullptr);
    lock.unlock();
    gone.reset();  // not under the lock: it waits for its callbacks
  }
}

}  // namespace mesh::host
