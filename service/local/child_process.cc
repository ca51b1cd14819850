#include "service/local/child_process.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "service/local/steady_time.h"

extern char** environ;

namespace flightplan::service {
namespace {

constexpr size_t kLastWords = 2048;
constexpr absl::Duration kTick = absl::Milliseconds(20);

class Descriptor {
 public:
  Descriptor() = default;
  explicit Descriptor(int fd) : fd_(fd) {}
  Descriptor(Descriptor&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }
  ~Descriptor() { Close(); }
  void Close() {
    if (fd_ >= 0) close(fd_);
    fd_ = -1;
  }
  int get() const { return fd_; }
  bool open() const { return fd_ >= 0; }

 private:
  int fd_ = -1;
};

struct Pipe {
  Descriptor read, write;
};

bool MakePipe(Pipe* pipe) {
  int fds[2];
  if (pipe2(fds, O_CLOEXEC) != 0) return false;
  pipe->read = Descriptor(fds[0]);
  pipe->write = Descriptor(fds[1]);
  return true;
}

// What a program on a GPU needs to run. Our own variables, passwords of databases and tokens of clouds are none of it.
constexpr absl::string_view kPassed[] = {"PATH",
                                         "HOME",
                                         "USER",
                                         "LANG",
                                         "TZ",
                                         "TMPDIR",
                                         "XDG_RUNTIME_DIR",
                                         "LD_LIBRARY_PATH",
                                         "LD_PRELOAD",
                                         "NVIDIA_VISIBLE_DEVICES",
                                         "NVIDIA_DRIVER_CAPABILITIES",
                                         "ASAN_OPTIONS",
                                         "UBSAN_OPTIONS",
                                         "TSAN_OPTIONS",
                                         "LSAN_OPTIONS"};
constexpr absl::string_view kPassedPrefixes[] = {"LC_", "CUDA_", "CUBLAS_", "NCCL_"};
constexpr absl::string_view kNeverPassed[] = {"KEY", "TOKEN", "SECRET", "PASS", "CREDENTIAL"};

bool MayPass(absl::string_view variable) {
  const absl::string_view name = variable.substr(0, variable.find('='));
  const auto names = [&](absl::string_view word) { return absl::StrContains(name, word); };
  if (std::any_of(std::begin(kNeverPassed), std::end(kNeverPassed), names)) return false;
  return std::find(std::begin(kPassed), std::end(kPassed), name) != std::end(kPassed) ||
         std::any_of(std::begin(kPassedPrefixes), std::end(kPassedPrefixes),
                     [&](absl::string_view prefix) { return absl::StartsWith(name, prefix); });
}

// Everything the child needs between fork and exec, made before the fork: other threads of ours may hold any lock.
struct Program {
  std::vector<char*> argv, env;

  explicit Program(const std::vector<std::string>& arguments) {
    for (const std::string& argument : arguments) argv.push_back(const_cast<char*>(argument.c_str()));
    argv.push_back(nullptr);
    for (char** variable = environ; *variable != nullptr; ++variable) {
      if (MayPass(*variable)) env.push_back(*variable);
    }
    env.push_back(nullptr);
  }
};

// Only what is safe after a fork of a process with threads.
[[noreturn]] void Become(const Program& program, pid_t parent, int out, int err, int report) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent) _exit(126);  // the parent died before the line above
  setpgid(0, 0);
  const rlimit none{0, 0};
  setrlimit(RLIMIT_CORE, &none);
  sigset_t all;
  sigemptyset(&all);
  sigprocmask(SIG_SETMASK, &all, nullptr);
  for (int signal : {SIGPIPE, SIGXFSZ, SIGTERM, SIGINT, SIGHUP, SIGCHLD}) {
    struct sigaction action {};
    action.sa_handler = SIG_DFL;
    sigaction(signal, &action, nullptr);
  }
  const int null = open("/dev/null", O_RDONLY);
  dup2(null, STDIN_FILENO);
  dup2(out, STDOUT_FILENO);
  dup2(err, STDERR_FILENO);
  // The report's own descriptor is closed by exec; a descriptor that someone opened without that flag is closed here.
  if (report != 3) {
    dup3(report, 3, O_CLOEXEC);
    report = 3;
  }
  syscall(SYS_close_range, 4U, ~0U, 0U);
  execve(program.argv[0], program.argv.data(), program.env.data());
  const int error = errno;
  if (write(report, &error, sizeof error) < 0) _exit(126);
  _exit(127);
}

class Child {
 public:
  Child(const ChildLimits& limits, const StopSwitch& stop, const std::function<bool(absl::string_view)>& on_line)
      : limits_(limits), stop_(stop), on_line_(on_line) {}

  ChildEnd Run(const std::vector<std::string>& argv) {
    if (!Start(argv)) return std::move(end_);
    const absl::Duration over = SteadyNow() + limits_.run;
    while (!decided_) {
      if (stop_.stopped()) {
        Decide(ChildEnd::Why::kStopped);
      } else if (SteadyNow() >= over) {
        Decide(ChildEnd::Why::kTimeOver);
      } else {
        Wait(std::min(kTick, over - SteadyNow()));
        Reap();
      }
    }
    Kill();
    return std::move(end_);
  }

 private:
  bool Start(const std::vector<std::string>& argv) {
    Pipe out, err, report;
    if (stop_.fd() < 0 || !MakePipe(&out) || !MakePipe(&err) || !MakePipe(&report)) {
      end_.detail = absl::StrCat("no pipe: ", std::strerror(errno));
      return false;
    }
    const Program program(argv);
    const pid_t parent = getpid();
    pid_ = fork();
    if (pid_ == 0) Become(program, parent, out.write.get(), err.write.get(), report.write.get());
    if (pid_ < 0) {
      end_.detail = absl::StrCat("cannot fork: ", std::strerror(errno));
      return false;
    }
    setpgid(pid_, pid_);  // both sides do it: whoever comes first
    report.write.Close();
    int error = 0;
    ssize_t got = 0;
    while ((got = read(report.read.get(), &error, sizeof error)) < 0 && errno == EINTR) {
    }
    if (got > 0) {
      waitpid(pid_, nullptr, 0);
      end_.code = error;
      end_.detail = absl::StrCat("cannot run ", argv[0], ": ", std::strerror(error));
      return false;
    }
    out_ = std::move(out.read);
    err_ = std::move(err.read);
    fcntl(out_.get(), F_SETFL, O_NONBLOCK);
    fcntl(err_.get(), F_SETFL, O_NONBLOCK);
    return true;
  }

  void Wait(absl::Duration most) {
    std::array<pollfd, 3> fds = {{{stop_.fd(), POLLIN, 0}, {out_.get(), POLLIN, 0}, {err_.get(), POLLIN, 0}}};
    poll(fds.data(), fds.size(), static_cast<int>(std::max<int64_t>(1, absl::ToInt64Milliseconds(most))));
    if (fds[1].revents != 0) ReadOutput();
    if (fds[2].revents != 0) ReadMessages();
  }

  // All that is there now. False: the other side has closed.
  template <class Take>
  static bool ReadAll(const Descriptor& from, Take&& take) {
    char buffer[1 << 16];
    for (;;) {
      const ssize_t got = read(from.get(), buffer, sizeof buffer);
      if (got > 0) {
        if (!take(absl::string_view(buffer, static_cast<size_t>(got)))) return true;
        continue;
      }
      if (got < 0 && errno == EINTR) continue;
      return got < 0;  // would block
    }
  }

  void ReadOutput() {
    if (!out_.open()) return;
    if (!ReadAll(out_, [this](absl::string_view bytes) { return TakeOutput(bytes); })) out_.Close();
  }
  void ReadMessages() {
    if (!err_.open()) return;
    if (!ReadAll(err_, [this](absl::string_view bytes) { return TakeMessages(bytes); })) err_.Close();
  }

  bool TakeOutput(absl::string_view bytes) {
    output_ += bytes.size();
    while (!bytes.empty()) {
      const size_t end = bytes.find('\n');
      line_.append(bytes.data(), std::min(end, bytes.size()));
      if (line_.size() > limits_.line_bytes) {
        return Decide(ChildEnd::Why::kTooMuch, absl::StrCat("a line longer than ", limits_.line_bytes, " bytes"));
      }
      if (end == absl::string_view::npos) break;
      bytes.remove_prefix(end + 1);
      if (!on_line_(line_)) return Decide(ChildEnd::Why::kRefused);
      line_.clear();
    }
    if (output_ <= limits_.output_bytes) return true;
    return Decide(ChildEnd::Why::kTooMuch, absl::StrCat("more than ", limits_.output_bytes, " bytes of output"));
  }

  bool TakeMessages(absl::string_view bytes) {
    messages_ += bytes.size();
    end_.last_words.append(bytes.data(), bytes.size());
    if (end_.last_words.size() > kLastWords) end_.last_words.erase(0, end_.last_words.size() - kLastWords);
    if (messages_ <= limits_.stderr_bytes) return true;
    return Decide(ChildEnd::Why::kTooMuch, absl::StrCat("more than ", limits_.stderr_bytes, " bytes of messages"));
  }

  // Always false, for the readers to stop.
  bool Decide(ChildEnd::Why why, std::string detail = "") {
    if (decided_) return false;
    decided_ = true;
    end_.why = why;
    end_.detail = std::move(detail);
    return false;
  }

  // True once it is gone.
  bool Reap() {
    if (gone_) return true;
    siginfo_t info{};
    if (waitid(P_PID, static_cast<id_t>(pid_), &info, WEXITED | WNOHANG | WNOWAIT) == 0 && info.si_pid == 0)
      return false;
    // What it started goes with it, while its own process id cannot be anyone else's yet.
    kill(-pid_, SIGKILL);
    int status = 0;
    const pid_t got = waitpid(pid_, &status, 0);
    gone_ = true;
    ReadMessages();
    if (!decided_) ReadOutput();  // what it had left in the pipe
    if (decided_) return true;
    end_.torn_line = !line_.empty();
    if (got > 0 && WIFSIGNALED(status)) {
      end_.code = WTERMSIG(status);
      Decide(ChildEnd::Why::kSignalled);
    } else {
      end_.code = got > 0 ? WEXITSTATUS(status) : 0;
      Decide(ChildEnd::Why::kExited);
    }
    return true;
  }

  bool GoneWithin(absl::Duration time) {
    const absl::Duration over = SteadyNow() + time;
    while (!Reap()) {
      if (SteadyNow() >= over) return false;
      ReadMessages();  // a full pipe must not keep it from ending
      absl::SleepFor(absl::Milliseconds(5));
    }
    return true;
  }

  // The child and all that it started.
  void Kill() {
    if (gone_) return;
    kill(-pid_, SIGTERM);
    if (GoneWithin(limits_.grace)) return;
    kill(-pid_, SIGKILL);
    if (!GoneWithin(limits_.reap)) end_.stuck_pid = pid_;
  }

  const ChildLimits& limits_;
  const StopSwitch& stop_;
  const std::function<bool(absl::string_view)>& on_line_;
  ChildEnd end_;
  pid_t pid_ = -1;
  Descriptor out_, err_;
  std::string line_;
  size_t output_ = 0, messages_ = 0;
  bool decided_ = false, gone_ = false;
};

}  // namespace

StopSwitch::StopSwitch() : fd_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {}

StopSwitch::~StopSwitch() {
  if (fd_ >= 0) close(fd_);
}

void StopSwitch::Stop() {
  stopped_.store(true, std::memory_order_release);
  const uint64_t one = 1;
  if (write(fd_, &one, sizeof one) < 0) return;  // full: it is readable already
}

ChildEnd RunChild(const std::vector<std::string>& argv, const ChildLimits& limits, const StopSwitch& stop,
                  const std::function<bool(absl::string_view line)>& on_line) {
  return Child(limits, stop, on_line).Run(argv);
}

}  // namespace flightplan::service
