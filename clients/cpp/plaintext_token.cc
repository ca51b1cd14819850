#include "clients/cpp/plaintext_token.h"

#include <algorithm>
#include <cctype>
#include <cstdlib>

namespace flightplan {
namespace {

bool StartsWith(const std::string& text, const std::string& start) { return text.compare(0, start.size(), start) == 0; }

bool IsDigits(const std::string& text) {
  return !text.empty() && text.find_first_not_of("0123456789") == std::string::npos;
}

// 127.A.B.C, digits only: "127.0.0.1.example.com" is a name anyone may own.
bool IsLoopbackV4(const std::string& host) {
  size_t begin = 0;
  int count = 0;
  while (true) {
    const size_t end = std::min(host.find('.', begin), host.size());
    const std::string part = host.substr(begin, end - begin);
    if (!IsDigits(part) || part.size() > 3 || std::stoi(part) > 255 || (count == 0 && part != "127")) return false;
    ++count;
    if (end == host.size()) return count == 4;
    begin = end + 1;
  }
}

// HOST or HOST:PORT; empty: neither.
std::string HostOf(const std::string& part) {
  const bool bracketed = StartsWith(part, "[");
  const size_t close = bracketed ? part.find(']') : std::string::npos;
  if (bracketed && close == std::string::npos) return "";
  if (!bracketed && std::count(part.begin(), part.end(), ':') > 1) return part;  // IPv6 without a port
  const size_t end = bracketed ? close + 1 : std::min(part.find(':'), part.size());
  const bool fits = end == part.size() || (part[end] == ':' && IsDigits(part.substr(end + 1)));
  if (!fits) return "";
  return bracketed ? part.substr(1, close - 1) : part.substr(0, end);
}

bool IsLocalHost(std::string host) {
  std::transform(host.begin(), host.end(), host.begin(), [](unsigned char c) { return std::tolower(c); });
  return host == "localhost" || host == "::1" || IsLoopbackV4(host);
}

}  // namespace

bool IsLocalAddress(const std::string& address) {
  std::string rest = address;
  for (const std::string scheme : {"unix:", "unix-abstract:"}) {
    if (StartsWith(address, scheme)) return true;
  }
  for (const std::string scheme : {"dns:", "ipv4:", "ipv6:", "passthrough:"}) {
    if (StartsWith(address, scheme)) rest = address.substr(scheme.size());
  }
  if (StartsWith(rest, "///")) rest = rest.substr(3);
  size_t begin = 0;
  while (true) {  // ipv4:A:1,B:1 are several
    const size_t end = std::min(rest.find(',', begin), rest.size());
    if (!IsLocalHost(HostOf(rest.substr(begin, end - begin)))) return false;
    if (end == rest.size()) return true;
    begin = end + 1;
  }
}

bool MayCarryPlaintextToken(const std::string& address) {
  const char* allowed = std::getenv(kAllowPlaintextToken);
  return IsLocalAddress(address) || (allowed != nullptr && std::string(allowed) == "1");
}

std::string PlaintextTokenRefusal(const std::string& address) {
  return "a token is not sent to " + address + " in plain text: use TLS, or set " + kAllowPlaintextToken + "=1";
}

}  // namespace flightplan
