// extremes_check [--random N] [--seed S] [--first K]
//
// Sets every number of every request to its extremes, one at a time, and every knob; then N requests with several
// numbers at once. With --first only the latter, from the K-th on: to see again what a run has said. Each must be
// answered, or refused as the caller's mistake: never INTERNAL, never with a figure that is no number or an id that
// nothing explains. Exit status: 0 all hold, 1 some do not, 2 misuse.
#include <sys/time.h>

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "flightplan/v1/evidence.pb.h"
#include "flightplan/v1/profile.pb.h"
#include "flightplan/v1/resolver_service.pb.h"
#include "google/protobuf/descriptor.h"
#include "resolver/catalog/catalog.h"
#include "resolver/normalize/profile_message.h"
#include "resolver/plan/knob.h"
#include "resolver/resolver.h"
#include "tests/properties/extremes.h"

namespace flightplan::properties {
namespace {

using google::protobuf::Message;

// ---- questions

const Resolver& TheResolver() {
  static const auto* const kResolver = new Resolver(std::make_shared<const Catalog>(*Catalog::Builtin()));
  return *kResolver;
}

template <class Response>
absl::Status Sound(const absl::Status& status, const Response& response) {
  if (!status.ok()) return status;
  const std::string odd = NotANumber(response);
  if (!odd.empty()) return absl::InternalError(absl::StrCat(odd, " of the answer is no number"));
  const std::string id = UnexplainedId(response);
  if (!id.empty()) return absl::InternalError(absl::StrCat("nothing explains ", id, " of the answer"));
  return status;
}

absl::Status AskResolve(const Message& message) {
  v1::ResolveConfigResponse response;
  const absl::Status status =
      TheResolver().ResolveConfig(static_cast<const v1::ResolveConfigRequest&>(message), &response);
  return Sound(status, response);
}
absl::Status AskValidate(const Message& message) {
  v1::ValidateConfigResponse response;
  const absl::Status status =
      TheResolver().ValidateConfig(static_cast<const v1::ValidateConfigRequest&>(message), &response);
  return Sound(status, response);
}
absl::Status AskMeasurement(const Message& message) {
  return TheResolver().ReadMeasurement(static_cast<const v1::Measurement&>(message), std::nullopt).status();
}
absl::Status AskProfile(const Message& message) {
  Violations violations;
  ProfileFromMessage(static_cast<const v1::HardwareProfile&>(message), "profile", &violations);
  return violations.ToStatus();
}
absl::Status AskPlan(const Message& message) {
  int calls = 0;  // a search is cut short: what it judges first is as good as what it judges last
  PlanHooks hooks;
  hooks.progress = [&calls](const PlanProgress&) { return ++calls < 3; };
  v1::PlanResult result;
  const absl::Status status =
      TheResolver().PlanLayouts(static_cast<const v1::PlanLayoutsRequest&>(message), hooks, &result);
  return Sound(status, result);
}

// A sample, and how it is asked.
struct Question : Sample {
  absl::Status (*ask)(const Message&);
};

std::vector<Question> Questions() {
  const std::pair<const google::protobuf::Descriptor*, absl::Status (*)(const Message&)> asks[] = {
      {v1::ResolveConfigRequest::descriptor(), AskResolve}, {v1::ValidateConfigRequest::descriptor(), AskValidate},
      {v1::Measurement::descriptor(), AskMeasurement},      {v1::HardwareProfile::descriptor(), AskProfile},
      {v1::PlanLayoutsRequest::descriptor(), AskPlan},
  };
  std::vector<Question> questions;
  for (Sample& sample : Samples(TheResolver().catalog())) {
    const auto* const row = std::find_if(std::begin(asks), std::end(asks), [&](const auto& candidate) {
      return candidate.first == sample.message->GetDescriptor();
    });
    if (row == std::end(asks)) std::abort();
    questions.push_back({std::move(sample), row->second});
  }
  return questions;
}

// ---- the check

// Of processor time for one request, two orders above the dearest: one that takes more has no end.
constexpr int kLongestSeconds = 60;

// For the end of a process that a request ends, or holds for ever.
std::string* Asked() {
  static auto* const kAsked = new std::string();
  return kAsked;
}

class Tally {
 public:
  void Ask(const Question& question, const Message& request, const std::string& what) {
    ++asked_;
    const itimerval longest = {{0, 0}, {kLongestSeconds, 0}};
    setitimer(ITIMER_VIRTUAL, &longest, nullptr);
    *Asked() = absl::StrCat(question.name, ", with ", what);
    const absl::Time start = absl::Now();
    const absl::Status status = question.ask(request);
    const absl::Duration taken = absl::Now() - start;
    if (taken > slowest_) slowest_ = taken, slowest_of_ = absl::StrCat(question.name, ", with ", what);
    if (status.ok()) ++answered_;
    const bool ours = status.code() == absl::StatusCode::kInternal || status.code() == absl::StatusCode::kUnknown;
    if (!ours) return;
    ++broken_;
    const std::string line = absl::StrCat(question.name, ": ", status.message());
    if (shown_.insert(line).second && shown_.size() <= 40) {
      std::printf("BROKEN %s, with %s\n", line.c_str(), what.c_str());
    }
  }
  // The same of what has to be refused.
  void Refuse(const Question& question, const Message& request, const std::string& what) {
    const int64_t answered = answered_;
    Ask(question, request, what);
    if (answered_ == answered) return;
    ++broken_;
    std::printf("BROKEN %s, with %s: is answered\n", question.name.c_str(), what.c_str());
  }
  std::string Slowest() const { return absl::StrCat(absl::FormatDuration(slowest_), ": ", slowest_of_); }
  int64_t asked() const { return asked_; }
  int64_t answered() const { return answered_; }
  int64_t broken() const { return broken_; }

 private:
  int64_t asked_ = 0, answered_ = 0, broken_ = 0;
  std::set<std::string> shown_;
  absl::Duration slowest_;
  std::string slowest_of_;
};

void OneAtATime(const Question& question, Tally* tally) {
  for (const Way& number : NumbersOf(*question.message)) {
    for (size_t choice = 0; choice < std::max(Reals().size(), Integers().size()); ++choice) {
      const std::unique_ptr<Message> request(question.message->New());
      request->CopyFrom(*question.message);
      SetExtreme(number, choice, request.get());
      tally->Ask(question, *request, Named(number, choice));
    }
  }
}

// A text, list or map that alone fills a request is refused.
void LongLists(const Question& question, Tally* tally) {
  // A report is bounded as a whole (service/evidence/report_limits.h).
  if (question.message->GetDescriptor() == v1::Measurement::descriptor()) return;
  for (const Way& list : ListsOf(*question.message)) {
    // What is judged may be as long as a request. Its readers have their bounds, and say what they leave unread
    // (hostile_check).
    const google::protobuf::Descriptor* const holder = list.back()->containing_type();
    const bool judged = holder == v1::ArgumentList::descriptor() ||
                        (holder == v1::TextFile::descriptor() && list.back()->name() == "text");
    if (judged && list.size() == 2) continue;
    for (size_t choice = 0; choice < kLongWays; ++choice) {
      const std::unique_ptr<Message> request(question.message->New());
      request->CopyFrom(*question.message);
      SetLong(list, choice, request.get());
      tally->Refuse(question, *request, Named(list, choice));
    }
  }
}

void EveryKnob(const Question& question, Tally* tally) {
  for (int id = 0; id < kKnobCount; ++id) {
    const Knob knob = static_cast<Knob>(id);
    for (size_t choice = 0; choice < Reals().size() + Integers().size(); ++choice) {
      auto request = static_cast<const v1::ResolveConfigRequest&>(*question.message);
      v1::KnobSetting* pin = request.add_pinned_knobs();
      pin->set_name(std::string(Name(knob)));
      if (choice < Reals().size()) {
        pin->mutable_value()->set_double_value(Reals()[choice]);
      } else {
        pin->mutable_value()->set_int_value(Integers()[choice - Reals().size()]);
      }
      tally->Ask(question, request, absl::StrCat(Name(knob), " at extreme ", choice));
    }
  }
}

void SeveralAtOnce(const std::vector<Question>& questions, int64_t first, int64_t count, uint64_t seed, Tally* tally) {
  std::mt19937_64 random(seed);
  std::vector<std::vector<Way>> numbers;
  numbers.reserve(questions.size());
  for (const Question& question : questions) numbers.push_back(NumbersOf(*question.message));
  for (int64_t n = 0; n < count; ++n) {
    const size_t at = random() % questions.size();
    const std::unique_ptr<Message> request(questions[at].message->New());
    request->CopyFrom(*questions[at].message);
    std::string what = absl::StrCat("the ", n, "th of seed ", seed, ": ");
    for (size_t sets = 2 + random() % 4, left = sets; left > 0; --left) {
      const Way& way = numbers[at][random() % numbers[at].size()];
      const size_t choice = random() % 64;
      SetExtreme(way, choice, request.get());
      absl::StrAppend(&what, left == sets ? "" : ", ", Named(way, choice));
    }
    if (n >= first) tally->Ask(questions[at], *request, what);
  }
}

int Main(int argc, char** argv) {
  std::setvbuf(stdout, nullptr, _IOLBF, 0);  // what was said stands, however this ends
  // With what the process is ended by; SIGVTALRM is ours.
  for (const int fatal : {SIGVTALRM, SIGSEGV, SIGFPE, SIGABRT, SIGBUS}) {
    std::signal(fatal, [](int signal) {
      std::printf("BROKEN %s: %s\n", Asked()->c_str(), signal == SIGVTALRM ? "has no end" : "ends the process");
      std::fflush(stdout);
      std::_Exit(1);
    });
  }
  int64_t random = 20'000, first = -1;
  uint64_t seed = 1;
  for (int i = 1; i < argc; i += 2) {
    const std::string flag = argv[i];
    if (i + 1 == argc || !((flag == "--random" && absl::SimpleAtoi(argv[i + 1], &random)) ||
                           (flag == "--seed" && absl::SimpleAtoi(argv[i + 1], &seed)) ||
                           (flag == "--first" && absl::SimpleAtoi(argv[i + 1], &first)))) {
      std::fprintf(stderr, "usage: extremes_check [--random N] [--seed S] [--first K]\n");
      return 2;
    }
  }
  const std::vector<Question> questions = Questions();
  Tally tally;
  for (const Question& question : questions) {
    if (first >= 0) break;
    const absl::Status plain = question.ask(*question.message);
    if (!plain.ok()) std::printf("BROKEN %s: the sample itself: %s\n", question.name.c_str(), plain.ToString().c_str());
    if (!plain.ok()) return 1;
    OneAtATime(question, &tally);
    LongLists(question, &tally);
    std::printf("%s: %s\n", question.name.c_str(), tally.Slowest().c_str());
  }
  if (first < 0) EveryKnob(questions[0], &tally);
  SeveralAtOnce(questions, first, random, seed, &tally);
  std::printf("%lld requests with extreme numbers: %lld answered, %lld refused, %lld broken\n",
              static_cast<long long>(tally.asked()), static_cast<long long>(tally.answered()),
              static_cast<long long>(tally.asked() - tally.answered() - tally.broken()),
              static_cast<long long>(tally.broken()));
  std::printf("slowest: %s\n", tally.Slowest().c_str());
  return tally.broken() == 0 ? 0 : 1;
}

}  // namespace
}  // namespace flightplan::properties

int main(int argc, char** argv) { return flightplan::properties::Main(argc, argv); }
