#include "clients/cli/standard_streams.h"

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "clients/cli/command.h"

namespace flightplan::cli {
namespace {

constexpr size_t kMostOfStdio = size_t{64} << 10;
constexpr int kBySignal = 128;  // what a shell adds to the number of a signal

// 0, or the errno of the write that failed.
int WriteAll(int fd, absl::string_view text) {
  while (!text.empty()) {
    const ssize_t count = write(fd, text.data(), text.size());
    if (count > 0) {
      text.remove_prefix(static_cast<size_t>(count));
    } else if (errno == EAGAIN) {  // another process that shares the pipe made it non-blocking
      pollfd writable{fd, POLLOUT, 0};
      (void)poll(&writable, 1, -1);
    } else if (errno != EINTR) {
      return errno;
    }
  }
  return 0;
}

// What stdio holds (the help of `serve`). Once a text larger than its buffer has failed, stdio has forgotten why.
int FlushStdio() {
  if (std::fflush(stdout) != 0) return errno;
  return std::ferror(stdout) != 0 ? EIO : 0;
}

// A network file system says at the end that it is full.
int Close(int fd) { return close(fd) == 0 || errno == EINTR ? 0 : errno; }

[[noreturn]] void EndBySigpipe() {
  std::signal(SIGPIPE, SIG_DFL);
  sigset_t pipe;
  sigemptyset(&pipe);
  sigaddset(&pipe, SIGPIPE);
  pthread_sigmask(SIG_UNBLOCK, &pipe, nullptr);
  std::raise(SIGPIPE);
  _exit(kBySignal + SIGPIPE);
}

}  // namespace

void OpenStandardStreams() {
  for (const int fd : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (fcntl(fd, F_GETFD) >= 0 || errno != EBADF) continue;
    // The lowest free number, so this one.
    if (open("/dev/null", fd == STDIN_FILENO ? O_WRONLY : O_RDONLY) != fd) std::abort();
  }
  // So that what stdio holds is written by FlushStdio, which can say why it failed.
  static char buffer[kMostOfStdio];
  (void)std::setvbuf(stdout, buffer, _IOFBF, sizeof buffer);
}

int WriteStandardStreams(const std::string& out, const std::string& err, int code) {
  int failed = FlushStdio();
  if (failed == 0) failed = WriteAll(STDOUT_FILENO, out);
  if (failed == 0) failed = Close(STDOUT_FILENO);
  if (failed == EPIPE) EndBySigpipe();
  std::string messages = err;
  if (failed != 0) {
    absl::StrAppend(&messages, "flightplan: cannot write standard output: ", std::strerror(failed), "\n");
    code = kExitOutput;
  }
  // A verdict is in the exit code too, so that it stands where only the words about it are lost.
  return WriteAll(STDERR_FILENO, messages) != 0 && code == kExitOk ? kExitOutput : code;
}

}  // namespace flightplan::cli
