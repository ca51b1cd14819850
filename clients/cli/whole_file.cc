#include "clients/cli/whole_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <memory>

#include "absl/strings/str_cat.h"

namespace flightplan::cli {
namespace {

constexpr mode_t kModeBits = 07777;
constexpr mode_t kUsualMode = 0666;

absl::Status Failure(absl::string_view what, const std::string& path) {
  return absl::DataLossError(absl::StrCat(what, " ", path, ": ", std::strerror(errno)));
}

bool WriteAll(int file, absl::string_view text) {
  while (!text.empty()) {
    const ssize_t count = write(file, text.data(), text.size());
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return false;
    text.remove_prefix(static_cast<size_t>(count));
  }
  return true;
}

absl::Status WriteDirectly(const std::string& path, absl::string_view text) {
  const int file = open(path.c_str(), O_WRONLY | O_CLOEXEC);
  if (file < 0) return Failure("cannot write", path);
  const bool whole = WriteAll(file, text);
  const absl::Status status = whole ? absl::OkStatus() : Failure("cannot write", path);
  return close(file) == 0 || !whole ? status : Failure("cannot write", path);
}

mode_t UsualMode() {
  const mode_t mask = umask(0);
  umask(mask);
  return kUsualMode & ~mask;
}

}  // namespace

absl::Status WriteWholeFile(const std::string& path, absl::string_view text) {
  const std::unique_ptr<char, void (*)(void*)> real(realpath(path.c_str(), nullptr), free);
  const std::string target = real == nullptr ? path : real.get();
  struct stat info {};
  const bool is_new = stat(target.c_str(), &info) != 0;
  if (!is_new && !S_ISREG(info.st_mode) && !S_ISDIR(info.st_mode)) return WriteDirectly(target, text);
  std::string beside = absl::StrCat(target, ".XXXXXX");
  const int file = mkstemp(beside.data());
  if (file < 0) return Failure("cannot write beside", path);
  bool whole =
      WriteAll(file, text) && fchmod(file, is_new ? UsualMode() : info.st_mode & kModeBits) == 0 && fsync(file) == 0;
  absl::Status status = whole ? absl::OkStatus() : Failure("cannot write", path);
  if (close(file) != 0 && whole) status = Failure("cannot write", path);
  if (status.ok() && rename(beside.c_str(), target.c_str()) != 0) status = Failure("cannot write", path);
  if (!status.ok()) unlink(beside.c_str());
  return status;
}

}  // namespace flightplan::cli
