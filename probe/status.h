// Why the worker cannot do what it was asked. Codes are part of the protocol (README.md).
#pragma once

#include <string>
#include <utility>

namespace flightplan::probe {

// The process ends with this as its exit code.
enum class Code {
  kOk = 0,
  kFailed = 1,       // a CUDA call failed, or a bug of ours
  kBadOption = 2,    // the command line
  kNoGpu = 3,        // no driver, or no device with this index
  kBusy = 4,         // others compute on the device
  kNotOurs = 5,      // MIG, exclusive or prohibited compute mode
  kLocked = 6,       // another probe runs on the device
  kOutOfTime = 7,    // the hard limit passed; what was measured until then was printed
  kUnsupported = 8,  // this device or toolkit cannot do it: the row is absent
  kWithheld = 9,     // inside a run only: an output was wrong, the row is not told and the profile is partial
};

struct [[nodiscard]] Status {
  Code code = Code::kOk;
  std::string message;

  bool ok() const { return code == Code::kOk; }
};

inline Status Ok() { return {}; }
inline Status Fail(Code code, std::string message) { return {code, std::move(message)}; }

// "no_gpu", as in the error line.
const char* Name(Code code);

}  // namespace flightplan::probe
