// A file descriptor that is closed with its owner.
#pragma once

#include <unistd.h>

#include <utility>

namespace flightplan::service {

class Descriptor {
 public:
  explicit Descriptor(int fd = -1) : fd_(fd) {}  // negative: none
  ~Descriptor() { Close(); }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;

  bool is_open() const { return fd_ >= 0; }
  int get() const { return fd_; }
  void Reset(int fd) {
    Close();
    fd_ = fd;
  }
  void Close() {
    if (fd_ >= 0) ::close(std::exchange(fd_, -1));
  }

 private:
  int fd_;
};

}  // namespace flightplan::service
