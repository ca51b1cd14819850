#include "service/observe/grpc_log.h"

#include <mutex>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "grpc/support/log.h"

namespace flightplan::service {
namespace {

std::mutex mutex;       // also held while a line is written, so that no log ends meanwhile
Log* in_use = nullptr;  // guarded by mutex

LogLevel LevelOf(gpr_log_severity severity) {
  switch (severity) {
    case GPR_LOG_SEVERITY_DEBUG:
      return LogLevel::kDebug;
    case GPR_LOG_SEVERITY_INFO:
      return LogLevel::kInfo;
    case GPR_LOG_SEVERITY_ERROR:
      break;
  }
  return LogLevel::kError;
}

void Write(gpr_log_func_args* line) {
  absl::string_view file = line->file;
  file = file.substr(file.rfind('/') + 1);
  const std::lock_guard<std::mutex> lock(mutex);
  if (in_use == nullptr) return;
  in_use->Write(LevelOf(line->severity), "gRPC",
                {{"what", absl::string_view(line->message)}, {"at", absl::StrCat(file, ":", line->line)}});
}

}  // namespace

GrpcLog::GrpcLog(Log* log) : log_(log) {
  const std::lock_guard<std::mutex> lock(mutex);
  in_use = log;
  gpr_set_log_function(Write);
}

GrpcLog::~GrpcLog() {
  const std::lock_guard<std::mutex> lock(mutex);
  if (in_use != log_) return;
  in_use = nullptr;
  gpr_set_log_function(nullptr);
}

}  // namespace flightplan::service
