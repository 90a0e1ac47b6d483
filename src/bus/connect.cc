// How a connection is opened, and what libnats' callbacks are handed on to.

#include <utility>

#include <fmt/format.h>
#include <nats/nats.h>

#include "base/text.h"
#include "bus/connection_state.h"
#include "bus/nats_message.h"

namespace mesh::bus {

namespace {

using Owner = std::shared_ptr<ConnectionState>;

constexpr Milliseconds kReconnectWait{1000};
constexpr Milliseconds kPingInterval{20'000};
constexpr int kPingsOut = 2;

struct OptionsDeleter {
  void operator()(natsOptions* options) const { natsOptions_Destroy(options); }
};
using OwnedOptions = std::unique_ptr<natsOptions, OptionsDeleter>;

/// Remembers the first of many calls that failed.
class FirstFailure {
 public:
  void operator()(natsStatus status) {
    if (status_ == NATS_OK) {
      status_ = status;
    }
  }
  [[nodiscard]] natsStatus status() const { return status_; }

 private:
  natsStatus status_ = NATS_OK;
};

natsStatus set_servers(natsOptions* options, const std::vector<std::string>& urls) {
  std::vector<const char*> list;
  list.reserve(urls.size());
  for (const std::string& url : urls) {
    list.push_back(url.c_str());
  }
  return natsOptions_SetServers(options, list.data(), static_cast<int>(list.size()));
}

/// The address of a lone `tls://[ADDRESS]:PORT`: libnats (3.4) would look for it with its brackets
/// in the certificate. Of several URLs it is not known which one will be dialled.
std::string host_of_v6(const std::vector<std::string>& urls) {
  const auto open = urls.size() == 1 ? urls.front().find('[') : std::string::npos;
  const auto close = open == std::string::npos ? open : urls.front().find(']', open);
  return close == std::string::npos ? std::string()
                                    : urls.front().substr(open + 1, close - open - 1);
}

Result<OwnedOptions> make_options(const ConnectOptions& wanted) {
  natsOptions* made = nullptr;
  FirstFailure check;
  check(natsOptions_Create(&made));
  OwnedOptions options(made);
  check(set_servers(made, wanted.urls));
  check(natsOptions_SetNoRandomize(made, true));
  check(natsOptions_SetTimeout(made, wanted.timeout.count()));
  check(natsOptions_SetName(made, wanted.name.c_str()));
  // Otherwise its flusher waits a millisecond before each write.
  check(natsOptions_SetSendAsap(made, true));
  check(natsOptions_SetAllowReconnect(made, wanted.reconnect));
  check(natsOptions_SetMaxReconnect(made, -1));
  check(natsOptions_SetReconnectWait(made, kReconnectWait.count()));
  check(natsOptions_SetPingInterval(made, kPingInterval.count()));
  check(natsOptions_SetMaxPingsOut(made, kPingsOut));
  if (!wanted.user.empty()) {
    check(natsOptions_SetUserInfo(made, wanted.user.c_str(), wanted.password.c_str()));
  }
  if (!wanted.ca_pem.empty()) {
    check(natsOptions_SetSecure(made, true));
    check(natsOptions_SetCATrustedCertificates(made, wanted.ca_pem.c_str()));
    if (const std::string host = host_of_v6(wanted.urls); !host.empty()) {
      check(natsOptions_SetExpectedHostname(made, host.c_str()));
    }
  }
  if (check.status() != NATS_OK) {
    return nats_failure(check.status(), "the options of the connection");
  }
  return options;
}

std::unexpected<Error> connect_failure(natsStatus status, const ConnectOptions& options) {
  const std::string where = join(options.urls, ", ");
  if (status == NATS_CONNECTION_AUTH_FAILED) {
    return fail(Code::PermissionDenied,
                fmt::format("the bus at {} refused the login of {}", where,
                            options.user.empty() ? "nobody" : options.user));
  }
  if (status == NATS_NO_SERVER) {
    return fail(Code::Unavailable, fmt::format("no bus answers at {}", where));
  }
  return nats_failure(status, fmt::format("connect to the bus at {}", where));
}

}  // namespace

Status ConnectionState::open(const ConnectOptions& wanted) {
  if (wanted.urls.empty()) {
    return fail(Code::InvalidArgument, "no address of the bus is known");
  }
  MESH_TRY(const OwnedOptions options, make_options(wanted));
  auto owner = std::make_unique<Owner>(shared_from_this());
  natsOptions_SetErrorHandler(options.get(), &on_error, owner.get());
  natsOptions_SetDisconnectedCB(options.get(), &on_disconnected, owner.get());
  natsOptions_SetReconnectedCB(options.get(), &on_reconnected, owner.get());
  natsOptions_SetClosedCB(options.get(), &on_closed, owner.get());
  // No callback comes where this fails (libnats 3.4 and 3.10); after it the last is `closed`.
  const natsStatus status = natsConnection_Connect(&connection_, options.get());
  if (status != NATS_OK) {
    connection_ = nullptr;
    return connect_failure(status, wanted);
  }
  static_cast<void>(owner.release());
  return {};
}

void ConnectionState::on_error(natsConnection* /*connection*/, natsSubscription* /*subscription*/,
                               natsStatus status, void* closure) {
  natsStatus last = NATS_OK;
  const char* text = nats_GetLastError(&last);
  if (status == NATS_NOT_PERMITTED && text != nullptr) {
    (*static_cast<Owner*>(closure))->refused(text);
  }
}

void ConnectionState::on_disconnected(natsConnection* /*connection*/, void* closure) {
  (*static_cast<Owner*>(closure))->link(Link::Lost);
}

void ConnectionState::on_reconnected(natsConnection* /*connection*/, void* closure) {
  (*static_cast<Owner*>(closure))->link(Link::Back);
}

void ConnectionState::on_closed(natsConnection* /*connection*/, void* closure) {
  const std::unique_ptr<Owner> owner(static_cast<Owner*>(closure));
  (*owner)->link(Link::Closed);
}

}  // namespace mesh::bus
