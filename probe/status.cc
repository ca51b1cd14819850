#include "probe/status.h"

namespace flightplan::probe {

const char* Name(Code code) {
  switch (code) {
    case Code::kOk:
      return "ok";
    case Code::kFailed:
      return "failed";
    case Code::kBadOption:
      return "bad_option";
    case Code::kNoGpu:
      return "no_gpu";
    case Code::kBusy:
      return "busy";
    case Code::kNotOurs:
      return "not_ours";
    case Code::kLocked:
      return "locked";
    case Code::kOutOfTime:
      return "out_of_time";
    case Code::kUnsupported:
      return "unsupported";
    case Code::kWithheld:
      return "withheld";
  }
  return "failed";
}

}  // namespace flightplan::probe
