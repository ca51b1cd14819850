#include "resolver/explain/verdict_message.h"

namespace flightplan {

v1::VerdictKind ToMessage(Verdict verdict) {
  switch (verdict) {
    case Verdict::kAccepted:
      return v1::VERDICT_KIND_ACCEPTED_BY_STACK;
    case Verdict::kWillRun:
      return v1::VERDICT_KIND_WILL_RUN;
    case Verdict::kAdvice:
      return v1::VERDICT_KIND_ADVICE;
  }
  return v1::VERDICT_KIND_UNSPECIFIED;
}

}  // namespace flightplan
