#include "service/self_check.h"

#include <arpa/inet.h>
#include <netdb.h>
#include <openssl/ssl.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <memory>
#include <optional>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "service/local/steady_time.h"
#include "service/net/descriptor.h"
#include "service/net/listen_address.h"

namespace flightplan::service {
namespace {

constexpr absl::Duration kPause = absl::Seconds(1);
constexpr absl::Duration kPatience = absl::Seconds(2);
// HTTP/2's preface and an empty SETTINGS frame.
constexpr absl::string_view kPreface("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\4\0\0\0\0\0", 33);

struct Place {
  sockaddr_storage address{};
  socklen_t size = 0;
};

Place UnixPlace(absl::string_view path, bool abstract) {
  Place place;
  auto* un = reinterpret_cast<sockaddr_un*>(&place.address);
  un->sun_family = AF_UNIX;
  const size_t begin = abstract ? 1 : 0;
  const size_t length = std::min(path.size(), sizeof un->sun_path - 1 - begin);
  std::memcpy(un->sun_path + begin, path.data(), length);
  place.size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + begin + length + (abstract ? 0 : 1));
  return place;
}

Place PlaceAt(const std::string& host, int port) {
  addrinfo wanted = {};
  wanted.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  Place place;
  if (::getaddrinfo(host.c_str(), std::to_string(port).c_str(), &wanted, &found) != 0) return place;
  const std::unique_ptr<addrinfo, void (*)(addrinfo*)> owned(found, ::freeaddrinfo);
  std::memcpy(&place.address, found->ai_addr, found->ai_addrlen);
  place.size = found->ai_addrlen;
  return place;
}

// Where a client of this machine finds the address: at the first of them that answers.
std::vector<Place> PlacesOf(const OwnAddress& own) {
  absl::string_view rest = own.listen;
  if (absl::ConsumePrefix(&rest, "unix-abstract:")) return {UnixPlace(rest, /*abstract=*/true)};
  if (absl::ConsumePrefix(&rest, "unix:")) return {UnixPlace(rest, /*abstract=*/false)};
  const std::optional<HostPort> at = SplitHostPort(rest);
  if (!at.has_value()) return {};
  if (at->host == "0.0.0.0") return {PlaceAt("127.0.0.1", own.port)};
  // A host without IPv6 serves every address, too: gRPC listens on 0.0.0.0 then.
  if (at->host == "::" || at->host.empty()) return {PlaceAt("::1", own.port), PlaceAt("127.0.0.1", own.port)};
  return {PlaceAt(std::string(at->host), own.port)};
}

// What a TLS client says first. It goes no further: a handshake that is begun and left is no error to anybody.
std::string ClientHello() {
  const std::unique_ptr<SSL_CTX, void (*)(SSL_CTX*)> context(SSL_CTX_new(TLS_client_method()), SSL_CTX_free);
  if (context == nullptr) return "";
  const std::unique_ptr<SSL, void (*)(SSL*)> ssl(SSL_new(context.get()), SSL_free);
  if (ssl == nullptr) return "";
  BIO* const in = BIO_new(BIO_s_mem());
  BIO* const out = BIO_new(BIO_s_mem());
  SSL_set_bio(ssl.get(), in, out);
  constexpr unsigned char kH2[] = {2, 'h', '2'};
  SSL_set_alpn_protos(ssl.get(), kH2, sizeof kH2);
  SSL_set_connect_state(ssl.get());
  SSL_do_handshake(ssl.get());
  char* data = nullptr;
  const long size = BIO_get_mem_data(out, &data);
  return size > 0 ? std::string(data, static_cast<size_t>(size)) : "";
}

// Whether `events` come before `end`, of SteadyNow().
bool Waits(int fd, short events, absl::Duration end) {
  for (;;) {
    pollfd ask = {fd, events, 0};
    const int64_t left = absl::ToInt64Milliseconds(end - SteadyNow());
    if (left <= 0) return false;
    const int ready = ::poll(&ask, 1, static_cast<int>(left));
    if (ready > 0) return true;
    if (ready == 0 || errno != EINTR) return false;
  }
}

Dialled Dial(const Place& place, bool encrypted, absl::Duration end) {
  if (place.size == 0) return Dialled::kNotTold;
  const Descriptor socket(::socket(place.address.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (socket.get() < 0) return Dialled::kNotTold;
  if (::connect(socket.get(), reinterpret_cast<const sockaddr*>(&place.address), place.size) != 0) {
    // A full backlog: of a unix socket EAGAIN, of a port a connection that is never made.
    if (errno != EINPROGRESS) return Dialled::kSilent;
    if (!Waits(socket.get(), POLLOUT, end)) return Dialled::kSilent;
  }
  const std::string first = encrypted ? ClientHello() : std::string(kPreface);
  if (::send(socket.get(), first.data(), first.size(), MSG_NOSIGNAL) != static_cast<ssize_t>(first.size())) {
    return Dialled::kSilent;
  }
  // The end of the connection is an answer too: somebody accepted it.
  return Waits(socket.get(), POLLIN, end) ? Dialled::kAnswered : Dialled::kSilent;
}

}  // namespace

Dialled DialSelf(const OwnAddress& address, absl::Duration within) {
  const absl::Duration end = SteadyNow() + within;
  Dialled dialled = Dialled::kNotTold;
  for (const Place& place : PlacesOf(address)) {
    const Dialled there = Dial(place, address.encrypted, end);
    if (there != Dialled::kNotTold) dialled = there;
    if (there == Dialled::kAnswered) break;
  }
  return dialled;
}

SelfCheck::SelfCheck(std::vector<OwnAddress> addresses)
    : addresses_(std::move(addresses)), thread_([this] { Run(); }) {}

SelfCheck::~SelfCheck() {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    stopping_ = true;
  }
  wake_.notify_all();
  thread_.join();
}

void SelfCheck::Run() {
  std::unique_lock<std::mutex> lock(mutex_);
  while (!wake_.wait_for(lock, absl::ToChronoMilliseconds(kPause), [this] { return stopping_; })) {
    lock.unlock();
    bool answered = true, silent = false;
    for (const OwnAddress& address : addresses_) {
      const Dialled dialled = DialSelf(address, kPatience);
      answered = answered && dialled == Dialled::kAnswered;
      silent = silent || dialled == Dialled::kSilent;
    }
    answered_ = answered;
    silent_ = silent ? silent_ + 1 : 0;
    lock.lock();
  }
}

}  // namespace flightplan::service
