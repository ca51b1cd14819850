// Checks from outside whether the server still answers on its addresses. gRPC 1.51 stops accepting connections for good
// once the process has run out of descriptors (CVE-2023-4785), and does not report it.
#pragma once

#include <atomic>
#include <condition_variable>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "absl/time/time.h"

namespace flightplan::service {

// An address of --listen, and the port that it became.
struct OwnAddress {
  std::string listen;  // HOST:PORT, [HOST]:PORT, unix:PATH or unix-abstract:NAME
  int port = 0;
  bool encrypted = false;
};

enum class Dialled {
  kAnswered,  // something came back
  kSilent,    // nobody accepted the connection, or said anything within the time
  kNotTold,   // no connection could be made from here: no descriptor is free
};
// Connects, says what a client says first, and waits for the first byte of the answer. No call is made.
Dialled DialSelf(const OwnAddress& address, absl::Duration within);

// Dials all addresses once a second, on a thread of its own, as long as it lives.
class SelfCheck {
 public:
  explicit SelfCheck(std::vector<OwnAddress> addresses);
  ~SelfCheck();
  SelfCheck(const SelfCheck&) = delete;
  SelfCheck& operator=(const SelfCheck&) = delete;

  // Strangers are answered: of /readyz.
  bool answered() const { return answered_; }
  // Several times in a row they were not, though a connection could be made: of /healthz. Nothing but a new process
  // helps.
  bool lost() const { return silent_ >= kLost; }

 private:
  static constexpr int kLost = 3;

  void Run();

  const std::vector<OwnAddress> addresses_;
  std::atomic<bool> answered_{true};
  std::atomic<int> silent_{0};
  std::mutex mutex_;
  std::condition_variable wake_;
  bool stopping_ = false;
  std::thread thread_;
};

}  // namespace flightplan::service
