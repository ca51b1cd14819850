#include "service/net/why_not_listen.h"

#include <netdb.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <memory>
#include <optional>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "service/net/descriptor.h"
#include "service/net/listen_address.h"

namespace flightplan::service {
namespace {

std::string InWords(int error) {
  switch (error) {
    case EADDRINUSE:
      return "another program listens there: end it, or choose another port";
    case EADDRNOTAVAIL:
      return "this machine has no such address";
    case EACCES:
      return "this user may not use that port: choose one of 1024 or above";
    default:
      return std::strerror(error);
  }
}

// Why what is at the path may not be replaced by a socket. gRPC removes a socket that it finds, whoever listens on it.
std::string WhyNotReplaced(const std::string& path) {
  struct stat file = {};
  if (::lstat(path.c_str(), &file) != 0) return "";
  if (!S_ISSOCK(file.st_mode)) return "it exists and is no socket: remove it, or choose another path";
  const Descriptor fd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!fd.is_open()) return InWords(errno);
  sockaddr_un address = {};
  address.sun_family = AF_UNIX;
  std::memcpy(address.sun_path, path.data(), std::min(path.size(), sizeof address.sun_path - 1));
  const int error = ::connect(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0 ? 0 : errno;
  // EAGAIN: more wait there than may.
  if (error == 0 || error == EAGAIN) return "another program listens there: end it, or choose another path";
  if (error == EACCES) return "another user's program may listen there: remove it, or choose another path";
  return "";
}

std::string WhyNoSocketFile(absl::string_view path) {
  std::string why = WhyNotReplaced(std::string(path));
  if (!why.empty()) return why;
  absl::string_view folder = path.substr(0, path.rfind('/'));
  if (folder.empty() || folder.size() == path.size()) folder = folder.empty() ? "/" : ".";
  if (::access(std::string(folder).c_str(), W_OK | X_OK) == 0) return "";
  return absl::StrCat("no socket can be made in ", folder, ": ", std::strerror(errno));
}

}  // namespace

std::string WhyNotListen(const std::string& address) {
  absl::string_view rest = address;
  if (absl::ConsumePrefix(&rest, "unix:")) return WhyNoSocketFile(rest);
  const std::optional<HostPort> at = SplitHostPort(rest);
  if (!at.has_value()) return absl::StrCat("it must be ", absl::StripSuffix(kHostPortForms, ","));
  addrinfo wanted = {};
  wanted.ai_socktype = SOCK_STREAM;
  wanted.ai_flags = AI_PASSIVE | AI_NUMERICSERV;
  addrinfo* found = nullptr;
  const int code = ::getaddrinfo(at->host.c_str(), at->port.c_str(), &wanted, &found);
  if (code != 0) return ::gai_strerror(code);
  const std::unique_ptr<addrinfo, void (*)(addrinfo*)> owned(found, ::freeaddrinfo);
  const Descriptor fd(::socket(found->ai_family, found->ai_socktype | SOCK_CLOEXEC, found->ai_protocol));
  if (!fd.is_open()) return InWords(errno);
  const int on = 1;  // as a server does, so that connections of one that has just ended do not count
  ::setsockopt(fd.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  return ::bind(fd.get(), found->ai_addr, found->ai_addrlen) == 0 ? "" : InWords(errno);
}

}  // namespace flightplan::service
