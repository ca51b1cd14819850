#include "service/local/probe_worker.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <climits>
#include <cstdlib>
#include <cstring>
#include <iterator>
#include <set>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "probe/limits.h"
#include "resolver/base/reason.h"
#include "resolver/base/status_macros.h"
#include "resolver/base/utf8.h"
#include "resolver/normalize/request_bounds.h"
#include "resolver/normalize/violations.h"
#include "service/local/probe_layer.h"
#include "service/local/probe_lines.h"
#include "service/local/retry.h"

namespace flightplan::service {
namespace {

using Why = ChildEnd::Why;

using probe::kLeastTeam, probe::kMostTeam;

constexpr auto kGroups = [] {
  std::array<absl::string_view, std::size(probe::kGroups)> groups;
  std::copy(std::begin(probe::kGroups), std::end(probe::kGroups), groups.begin());
  return groups;
}();
constexpr char kProgram[] = "flightplan-probe";
constexpr int kMaxDevice = probe::kMostDevices - 1;
constexpr absl::Duration kLockRetry = absl::Seconds(5);
// The worker ends itself at 1.5 times its budget; ours is the second line.
constexpr double kWorkerOwnLimit = 1.5;
constexpr absl::Duration kSpare = absl::Seconds(2);

absl::Duration BudgetOf(const v1::RunProbeRequest& request) {
  if (!request.has_budget()) return kDefaultProbeBudget;
  return absl::Seconds(request.budget().seconds()) + absl::Nanoseconds(request.budget().nanos());
}

// The budget with which the worker, its own limit included, ends before the job's time is over.
absl::Duration FittingBudget(const ProbeJob& job) {
  const absl::Duration wanted = BudgetOf(job.request);
  if (job.most == absl::InfiniteDuration()) return wanted;
  return std::min(wanted, (job.most - kSpare) / kWorkerOwnLimit);
}

std::vector<std::string> CommandOf(const ProbeJob& job, const std::string& worker, absl::Duration budget,
                                   const std::string& shape) {
  std::vector<std::string> argv = {worker, "--budget-seconds", absl::StrCat(absl::ToDoubleSeconds(budget))};
  if (job.request.has_device_index()) argv.insert(argv.end(), {"--device", absl::StrCat(job.request.device_index())});
  if (job.request.all_devices()) argv.insert(argv.end(), {"--devices", "all"});
  if (job.request.device_indices_size() > 0)
    argv.insert(argv.end(), {"--devices", absl::StrJoin(job.request.device_indices(), ",")});
  if (job.request.groups_size() > 0) argv.insert(argv.end(), {"--groups", absl::StrJoin(job.request.groups(), ",")});
  if (!shape.empty()) argv.insert(argv.end(), {"--shape", shape});
  if (job.request.has_memory_limit_bytes()) {
    argv.insert(argv.end(), {"--memory-mib", absl::StrCat(job.request.memory_limit_bytes() >> 20)});
  }
  if (!job.fake.empty()) argv.insert(argv.end(), {"--fake", job.fake});
  argv.insert(argv.end(), job.extra_arguments.begin(), job.extra_arguments.end());
  return argv;
}

// What an error line of the worker means to the caller.
struct CodeRow {
  absl::string_view code;
  ProbeResult result;
  absl::StatusCode status;
  absl::string_view reason;
};
constexpr CodeRow kCodes[] = {
    {"no_gpu", ProbeResult::kRefused, absl::StatusCode::kFailedPrecondition, "NO_GPU"},
    {"busy", ProbeResult::kRefused, absl::StatusCode::kFailedPrecondition, "GPU_BUSY"},
    {"not_ours", ProbeResult::kRefused, absl::StatusCode::kFailedPrecondition, "GPU_NOT_OURS"},
    {"unsupported", ProbeResult::kRefused, absl::StatusCode::kFailedPrecondition, "PROBE_UNSUPPORTED"},
    {"locked", ProbeResult::kBusy, absl::StatusCode::kUnavailable, "PROBE_BUSY"},
    {"bad_option", ProbeResult::kRefused, absl::StatusCode::kInvalidArgument, "REQUEST_INVALID"},
    {"out_of_time", ProbeResult::kTimeOver, absl::StatusCode::kDeadlineExceeded, "PROBE_FAILED"},
    {"failed", ProbeResult::kCrashed, absl::StatusCode::kAborted, "PROBE_FAILED"},
};

ProbeEnd End(ProbeResult result, absl::StatusCode code, absl::string_view reason, absl::string_view message) {
  ProbeEnd end;
  end.result = result;
  end.status = WithReason(absl::Status(code, message), reason);
  if (code == absl::StatusCode::kUnavailable) end.status = WithRetry(std::move(end.status), kLockRetry);
  return end;
}

std::string LastLine(const std::string& text) {
  const std::vector<std::string> lines = absl::StrSplit(text, '\n', absl::SkipWhitespace());
  return lines.empty() ? "" : absl::Utf8SafeCEscape(Utf8Repaired(Utf8Prefix(lines.back(), 200)));
}

// How the worker ended, for people.
std::string HowItEnded(const ChildEnd& child, absl::Duration most) {
  std::string text;
  switch (child.why) {
    case Why::kSignalled:
      text = absl::StrCat("was killed by signal ", child.code, " (", strsignal(child.code), ")");
      break;
    case Why::kTimeOver:
      text = absl::StrCat("did not end within ", absl::FormatDuration(most), " and was killed");
      break;
    case Why::kTooMuch:
      text = absl::StrCat("printed ", child.detail, " and was killed");
      break;
    case Why::kExited:
      text = absl::StrCat("ended with exit code ", child.code, child.torn_line ? " in the middle of a line" : "");
      break;
    case Why::kStopped:
    case Why::kRefused:
    case Why::kNotStarted:
      text = child.detail;
      break;
  }
  const std::string last = LastLine(child.last_words);
  return last.empty() ? text : absl::StrCat(text, "; its last message: ", last);
}

ProbeEnd WithProfile(const ProbeLines& lines, const std::string& obituary) {
  ProbeEnd end;
  end.profile = lines.profile();
  if (!lines.complete()) {
    end.profile.set_partial(true);
    end.profile.add_notes(absl::StrCat("the worker ", obituary, "; ", lines.row_count(), " rows had come"));
  }
  end.result = end.profile.partial() ? ProbeResult::kPartial : ProbeResult::kOk;
  return end;
}

ProbeEnd FromErrorLine(const ProbeLines& lines) {
  for (const CodeRow& row : kCodes) {
    if (row.code != lines.error_code()) continue;
    // The worker knows what its kernels are built for; what it calls a flag is the caller's model.
    absl::string_view message = lines.error_message();
    if (row.status != absl::StatusCode::kInvalidArgument || !absl::ConsumePrefix(&message, "--shape: "))
      return End(row.result, row.status, row.reason, message);
    ProbeEnd end;
    Violations violations;
    violations.Add("model", absl::StrCat("its layer cannot be measured: ", message));
    end.result = row.result;
    end.status = violations.ToStatus();
    return end;
  }
  return End(ProbeResult::kGarbage, absl::StatusCode::kAborted, "PROBE_FAILED",
             absl::StrCat("the probe worker gave an unknown error code: ", lines.error_code()));
}

}  // namespace

absl::string_view ProbeResultName(ProbeResult result) {
  constexpr absl::string_view kNames[kProbeResults] = {"ok",      "partial",   "refused", "missing",  "busy",
                                                       "crashed", "time_over", "garbage", "cancelled"};
  return kNames[static_cast<size_t>(result)];
}

absl::Span<const absl::string_view> ProbeGroups() { return kGroups; }

namespace {

bool IsDevice(int index) { return index >= 0 && index <= kMaxDevice; }

// One device, some together or all: whichever, it is said once.
void CheckDevices(const v1::RunProbeRequest& request, Violations* violations) {
  if (request.has_device_index() && !IsDevice(request.device_index()))
    violations->Add("device_index", absl::StrCat("must be 0..", kMaxDevice, ", not ", request.device_index()));
  const auto& together = request.device_indices();
  if (request.has_device_index() && (request.all_devices() || !together.empty()))
    violations->Add("device_index", "is one device alone: leave it out beside device_indices or all_devices");
  if (together.empty()) return;
  if (request.all_devices()) violations->Add("device_indices", "are some of all_devices: give one of both");
  const std::set<int> different(together.begin(), together.end());
  const bool indices = std::all_of(together.begin(), together.end(), IsDevice);
  if (!indices || different.size() != static_cast<size_t>(together.size()) || together.size() < kLeastTeam ||
      together.size() > kMostTeam) {
    violations->Add("device_indices", absl::StrCat("must be ", kLeastTeam, " to ", kMostTeam,
                                                   " different indices, each 0..", kMaxDevice));
  }
}

}  // namespace

absl::Status CheckProbeRequest(const v1::RunProbeRequest& request, const Catalog& catalog, std::string* shape) {
  Violations violations;
  CheckDevices(request, &violations);
  CheckCount("groups", request.groups_size(), kMaxChoices, &violations);
  for (int i = 0; i < request.groups_size(); ++i) {
    if (std::find(std::begin(kGroups), std::end(kGroups), absl::string_view(request.groups(i))) == std::end(kGroups)) {
      violations.Add(absl::StrCat("groups[", i, "]"),
                     absl::StrCat("'", absl::CEscape(request.groups(i).substr(0, 64)), "' is not known; use ",
                                  absl::StrJoin(kGroups, ", ")));
    }
  }
  if (const absl::Duration budget = BudgetOf(request); budget < kLeastProbeBudget || budget > kMostProbeBudget) {
    violations.Add("budget", absl::StrCat("must be 1 s..30 s, not ", absl::FormatDuration(budget)));
  }
  if (const int64_t bytes = request.memory_limit_bytes();
      request.has_memory_limit_bytes() && (bytes < kLeastProbeMemory || bytes > kMostProbeMemory)) {
    violations.Add("memory_limit_bytes",
                   absl::StrCat("must be ", kLeastProbeMemory, "..", kMostProbeMemory, " (64 GiB), not ", bytes));
  }
  *shape = ProbedLayer(request, catalog, &violations);
  return violations.ToStatus();
}

absl::StatusOr<std::string> FindProbeWorker(const std::string& configured) {
  const auto runs = [](const std::string& path) { return access(path.c_str(), X_OK) == 0; };
  if (!configured.empty()) {
    if (runs(configured)) return configured;
    return absl::NotFoundError(absl::StrCat("cannot run the probe worker ", configured));
  }
  char self[PATH_MAX];
  const ssize_t length = readlink("/proc/self/exe", self, sizeof self - 1);
  std::string beside;
  if (length > 0) {
    const absl::string_view path(self, static_cast<size_t>(length));
    beside = absl::StrCat(path.substr(0, path.rfind('/')), "/", kProgram);
    if (runs(beside)) return beside;
  }
  const char* search = std::getenv("PATH");
  for (absl::string_view folder : absl::StrSplit(search == nullptr ? "" : search, ':', absl::SkipEmpty())) {
    const std::string path = absl::StrCat(folder, "/", kProgram);
    if (runs(path)) return path;
  }
  return absl::NotFoundError(
      absl::StrCat("no probe worker: ", kProgram, " is neither at ", beside, " nor on the PATH"));
}

ProbeEnd RunProbeWorker(const ProbeJob& job, const StopSwitch& stop,
                        const std::function<void(const v1::ProbeProgress&)>& progress) {
  ProbeEnd end;
  std::string shape;
  if (end.status = CheckProbeRequest(job.request, *job.catalog, &shape); !end.status.ok()) {
    end.result = ProbeResult::kRefused;
    return end;
  }
  const absl::StatusOr<std::string> worker = FindProbeWorker(job.worker);
  if (!worker.ok()) {
    return End(ProbeResult::kMissing, absl::StatusCode::kFailedPrecondition, "PROBE_NOT_INSTALLED",
               std::string(worker.status().message()));
  }
  const absl::Duration budget = FittingBudget(job);
  if (budget < kLeastProbeBudget) {
    return End(ProbeResult::kTimeOver, absl::StatusCode::kDeadlineExceeded, "PROBE_FAILED",
               absl::StrCat("a probe of a second needs a deadline of ",
                            absl::FormatDuration(kLeastProbeBudget * kWorkerOwnLimit + kSpare)));
  }
  ProbeLines lines(progress);
  absl::Status wrong;
  ChildLimits limits;
  limits.run = budget * kWorkerOwnLimit + kSpare / 2;
  const ChildEnd child = RunChild(CommandOf(job, *worker, budget, shape), limits, stop, [&](absl::string_view line) {
    wrong = lines.Take(line);
    return wrong.ok();
  });
  if (child.why == Why::kStopped) {
    end = End(ProbeResult::kCancelled, absl::StatusCode::kCancelled, "PROBE_FAILED", "the probe was stopped");
  } else if (child.why == Why::kNotStarted) {
    end = End(ProbeResult::kMissing, absl::StatusCode::kFailedPrecondition, "PROBE_NOT_INSTALLED", child.detail);
  } else if (child.why == Why::kRefused || child.why == Why::kTooMuch) {
    // Whoever prints this cannot be trusted with what it printed before.
    end = End(ProbeResult::kGarbage, absl::StatusCode::kAborted, "PROBE_FAILED",
              absl::StrCat("the probe worker printed what is no profile: ",
                           child.why == Why::kRefused ? std::string(wrong.message()) : child.detail));
  } else if (lines.complete() || (lines.has_device() && lines.row_count() > 0)) {
    end = WithProfile(lines, HowItEnded(child, limits.run));
  } else if (!lines.error_code().empty()) {
    end = FromErrorLine(lines);
  } else if (child.why == Why::kTimeOver) {
    end = End(ProbeResult::kTimeOver, absl::StatusCode::kDeadlineExceeded, "PROBE_FAILED",
              absl::StrCat("the probe worker ", HowItEnded(child, limits.run)));
  } else {
    end = End(ProbeResult::kCrashed, absl::StatusCode::kAborted, "PROBE_FAILED",
              absl::StrCat("the probe worker ", HowItEnded(child, limits.run), ", without a row"));
  }
  end.stuck_pid = child.stuck_pid;
  return end;
}

}  // namespace flightplan::service
