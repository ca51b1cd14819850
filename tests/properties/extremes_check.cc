// extremes_check [--random N] [--seed S] [--first K]
//
// Sets every number of every request to its extremes, one at a time, and every knob; then N requests with several
// numbers at once. With --first only the latter, from the K-th on: to see again what a run has said. Each must be answered, or refused as the caller's mistake: never INTERNAL, never with a figure that
// is no number. Exit status: 0 all hold, 1 some do not, 2 misuse.
#include <sys/time.h>

#include <cmath>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <limits>
#include <memory>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "flightplan/v1/evidence.pb.h"
#include "flightplan/v1/profile.pb.h"
#include "flightplan/v1/resolver_service.pb.h"
#include "google/protobuf/descriptor.h"
#include "google/protobuf/text_format.h"
#include "resolver/catalog/catalog.h"
#include "resolver/normalize/model_message.h"
#include "resolver/normalize/profile_message.h"
#include "resolver/plan/knob.h"
#include "resolver/resolver.h"

namespace flightplan::properties {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;

constexpr int kMaxDepth = 4;  // of messages in messages; no request is deeper

const double kReals[] = {0,
                         -0.0,
                         std::numeric_limits<double>::denorm_min(),
                         1e-300,
                         1e-9,
                         0.5,
                         1,
                         999'999,
                         1e6,
                         1e9,
                         1e12,
                         1e15,
                         1.1e15,
                         1e18,
                         1e300,
                         std::numeric_limits<double>::max(),
                         -1,
                         -1e300,
                         std::numeric_limits<double>::infinity(),
                         -std::numeric_limits<double>::infinity(),
                         std::numeric_limits<double>::quiet_NaN()};
const int64_t kIntegers[] = {std::numeric_limits<int64_t>::min(),
                             std::numeric_limits<int32_t>::min(),
                             -1,
                             0,
                             1,
                             2,
                             3,
                             7,
                             64,
                             1000,
                             (1 << 16) - 1,
                             1 << 20,
                             (1 << 24) + 1,
                             1 << 30,
                             std::numeric_limits<int32_t>::max(),
                             int64_t{1} << 40,
                             int64_t{1} << 53,
                             std::numeric_limits<int64_t>::max()};

// ---- numbers of messages

// The way to one number: fields from the outermost message inwards; of repeated fields and maps the first entry.
using Way = std::vector<const FieldDescriptor*>;

bool IsNumber(const FieldDescriptor& field) {
  switch (field.cpp_type()) {
    case FieldDescriptor::CPPTYPE_INT32:
    case FieldDescriptor::CPPTYPE_INT64:
    case FieldDescriptor::CPPTYPE_UINT32:
    case FieldDescriptor::CPPTYPE_UINT64:
    case FieldDescriptor::CPPTYPE_FLOAT:
    case FieldDescriptor::CPPTYPE_DOUBLE:
    case FieldDescriptor::CPPTYPE_ENUM:
      return true;
    case FieldDescriptor::CPPTYPE_BOOL:
    case FieldDescriptor::CPPTYPE_STRING:
    case FieldDescriptor::CPPTYPE_MESSAGE:
      return false;
  }
  return false;
}

// Singular numbers of singular messages; and of the first entries that `message` has already.
void FindNumbers(const Message& message, Way* way, std::vector<Way>* found) {
  for (int i = 0; i < message.GetDescriptor()->field_count(); ++i) {
    const FieldDescriptor* field = message.GetDescriptor()->field(i);
    if (field->is_repeated() && (field->cpp_type() != FieldDescriptor::CPPTYPE_MESSAGE ||
                                 message.GetReflection()->FieldSize(message, field) == 0)) {
      continue;
    }
    way->push_back(field);
    if (IsNumber(*field)) {
      found->push_back(*way);
    } else if (field->cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE && static_cast<int>(way->size()) < kMaxDepth) {
      const Message& inner = field->is_repeated() ? message.GetReflection()->GetRepeatedMessage(message, field, 0)
                                                  : message.GetReflection()->GetMessage(message, field);
      FindNumbers(inner, way, found);
    }
    way->pop_back();
  }
}

// `choice` counts through the extremes of the field's type.
void SetExtreme(const Way& way, size_t choice, Message* message) {
  for (size_t i = 0; i + 1 < way.size(); ++i) {
    message = way[i]->is_repeated() ? message->GetReflection()->MutableRepeatedMessage(message, way[i], 0)
                                    : message->GetReflection()->MutableMessage(message, way[i]);
  }
  const FieldDescriptor* field = way.back();
  const google::protobuf::Reflection& to = *message->GetReflection();
  const double real = kReals[choice % std::size(kReals)];
  const int64_t integer = kIntegers[choice % std::size(kIntegers)];
  switch (field->cpp_type()) {
    case FieldDescriptor::CPPTYPE_INT32:
      return to.SetInt32(message, field, static_cast<int32_t>(integer));
    case FieldDescriptor::CPPTYPE_INT64:
      return to.SetInt64(message, field, integer);
    case FieldDescriptor::CPPTYPE_UINT32:
      return to.SetUInt32(message, field, static_cast<uint32_t>(integer));
    case FieldDescriptor::CPPTYPE_UINT64:
      return to.SetUInt64(message, field, static_cast<uint64_t>(integer));
    case FieldDescriptor::CPPTYPE_FLOAT:
      return to.SetFloat(message, field, static_cast<float>(real));
    case FieldDescriptor::CPPTYPE_DOUBLE:
      return to.SetDouble(message, field, real);
    case FieldDescriptor::CPPTYPE_ENUM:
      return to.SetEnumValue(message, field, static_cast<int>(integer));
    case FieldDescriptor::CPPTYPE_BOOL:
    case FieldDescriptor::CPPTYPE_STRING:
    case FieldDescriptor::CPPTYPE_MESSAGE:
      return;
  }
}

// The first figure of an answer that is no number: its name; empty: none.
std::string NotANumber(const Message& message) {
  std::vector<const FieldDescriptor*> fields;
  message.GetReflection()->ListFields(message, &fields);
  for (const FieldDescriptor* field : fields) {
    const google::protobuf::Reflection& from = *message.GetReflection();
    const int count = field->is_repeated() ? from.FieldSize(message, field) : 1;
    for (int i = 0; i < count; ++i) {
      if (field->cpp_type() == FieldDescriptor::CPPTYPE_DOUBLE) {
        const double value =
            field->is_repeated() ? from.GetRepeatedDouble(message, field, i) : from.GetDouble(message, field);
        if (!std::isfinite(value)) return std::string(field->full_name());
      } else if (field->cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE) {
        std::string inner = NotANumber(field->is_repeated() ? from.GetRepeatedMessage(message, field, i)
                                                            : from.GetMessage(message, field));
        if (!inner.empty()) return inner;
      }
    }
  }
  return "";
}

// ---- questions

const Resolver& TheResolver() {
  static const auto* const kResolver = new Resolver(std::make_shared<const Catalog>(*Catalog::Builtin()));
  return *kResolver;
}

template <class Response>
absl::Status Sound(const absl::Status& status, const Response& response) {
  if (!status.ok()) return status;
  const std::string odd = NotANumber(response);
  return odd.empty() ? status : absl::InternalError(absl::StrCat(odd, " of the answer is no number"));
}

// One kind of request: its sample, and how it is asked.
struct Question {
  const char* name;
  std::unique_ptr<Message> sample;
  std::function<absl::Status(const Message&)> ask;
};

template <class Request, class Ask>
Question Make(const char* name, const std::string& text, Ask ask) {
  auto sample = std::make_unique<Request>();
  if (!google::protobuf::TextFormat::ParseFromString(text, sample.get())) std::abort();
  return {name, std::move(sample), [ask](const Message& request) { return ask(static_cast<const Request&>(request)); }};
}

std::string ProfileText() {
  std::string text = "device_name: 'NVIDIA H100 80GB HBM3' gpu: 'h100-sxm' kind: 'measured' sm_count: 132 ";
  const auto row = [&](absl::string_view id, absl::string_view unit, absl::string_view parameter, double at,
                       double value, absl::string_view labels = "") {
    absl::StrAppend(&text, "rows { id: '", id, "' unit: '", unit, "' kind: 'measured' value: ", value,
                    " low: ", 0.9 * value, " high: ", 1.1 * value, " sample_count: 9 parameters { key: '", parameter,
                    "' value: ", at, " } ", labels, " } ");
  };
  for (const double at : {1.0, 8.0, 32.0, 132.0}) {
    row("hbm.sm_curve", "bytes_per_second", "sms", at, 2e10 * at);
    row("a2a.p2p.push", "bytes_per_second", "sms", at, 1e10 * at);
    row("a2a.nccl", "bytes_per_second", "bytes", 65536 * at, 1e9 * at);
    row("gemm.fc1", "flops_per_second", "rows", 128 * at, 5e12 * at);
    row("gemm.fc2", "flops_per_second", "rows", 128 * at, 5e12 * at);
    row("gemm.wgrad", "flops_per_second", "rows", 128 * at, 5e12 * at);
    for (const char* side : {"compute", "communication"}) {
      row("corun.matrix", "ratio", "sms", at, 1.2, absl::StrCat("labels { key: 'side' value: '", side, "' }"));
    }
  }
  row("mm.dense", "flops_per_second", "rows", 8192, 6e14);
  row("hbm.copy", "bytes_per_second", "bytes", 1 << 28, 2.6e12);
  row("offload.d2h", "bytes_per_second", "bytes", 1 << 28, 5e10);
  return text;
}

std::vector<Question> Questions() {
  const std::string resolve =
      "model { name: 'qwen3-30b-a3b' } hardware { gpu: 'h100-sxm' gpu_count: 16 fabric { gpus_per_node_count: 8 } } "
      "workload { seq_length: 4096 global_batch_size: 128 } target { framework: 'megatron-lm' } layout { "
      "tensor_model_parallel_size: 1 pipeline_model_parallel_size: 2 expert_model_parallel_size: 8 }";
  const auto ask_resolve = [](const v1::ResolveConfigRequest& request) {
    v1::ResolveConfigResponse response;
    const absl::Status status = TheResolver().ResolveConfig(request, &response);
    return Sound(status, response);
  };
  const auto ask_validate = [](const v1::ValidateConfigRequest& request) {
    v1::ValidateConfigResponse response;
    const absl::Status status = TheResolver().ValidateConfig(request, &response);
    return Sound(status, response);
  };
  v1::ModelSpec spec;
  ModelToMessage(**TheResolver().catalog().FindModel("deepseek-v3"), &spec);
  std::string spec_text;
  google::protobuf::TextFormat::PrintToString(spec, &spec_text);

  std::vector<Question> questions;
  questions.push_back(Make<v1::ResolveConfigRequest>("resolve", resolve, ask_resolve));
  questions.push_back(Make<v1::ResolveConfigRequest>(
      "resolve, own model",
      absl::StrCat("model { spec { ", spec_text,
                   " } } hardware { gpu: 'gb200-nvl72' gpu_count: 256 } workload { seq_length: 4096 global_batch_size: "
                   "2048 } target { framework: 'megatron-bridge' } layout { tensor_model_parallel_size: 1 "
                   "pipeline_model_parallel_size: 4 expert_model_parallel_size: 64 } pinned_knobs { name: "
                   "'moe_expert_capacity_factor' value { double_value: 1 } }"),
      ask_resolve));
  questions.push_back(Make<v1::ResolveConfigRequest>(
      "resolve, after a run", resolve + " profile { step_time_us: 1e6 host_gap_ratio: 0.2 }", ask_resolve));
  questions.push_back(Make<v1::ResolveConfigRequest>(
      "resolve, probe's profile", absl::StrCat(resolve, " probe_profile { ", ProfileText(), " }"), ask_resolve));
  questions.push_back(Make<v1::ValidateConfigRequest>(
      "validate",
      "target { framework: 'megatron-lm' } hardware { gpu: 'h100-sxm' gpu_count: 16 } repair: true knobs { settings { "
      "name: 'num_layers' value { int_value: 24 } } settings { name: 'hidden_size' value { int_value: 1024 } } "
      "settings { name: 'num_attention_heads' value { int_value: 16 } } }",
      ask_validate));
  questions.push_back(Make<v1::Measurement>(
      "measurement",
      "id: 'run' metric: 'step_time_us' value: 2e6 quality: 'matched' model: 'qwen3-30b-a3b' gpu: 'h100-sxm' "
      "gpu_count: "
      "16 workload { seq_length: 4096 global_batch_size: 128 } target { framework: 'megatron-lm' } layout { "
      "expert_model_parallel_size: 8 }",
      [](const v1::Measurement& measurement) {
        return TheResolver().ReadMeasurement(measurement, std::nullopt).status();
      }));
  questions.push_back(Make<v1::HardwareProfile>("profile", ProfileText(), [](const v1::HardwareProfile& profile) {
    Violations violations;
    ProfileFromMessage(profile, "profile", &violations);
    return violations.ToStatus();
  }));
  questions.push_back(Make<v1::PlanLayoutsRequest>(
      "plan layouts", "plan_count: 2 base { " + resolve + " }", [](const v1::PlanLayoutsRequest& request) {
        int calls = 0;  // a search is cut short: what it judges first is as good as what it judges last
        PlanHooks hooks;
        hooks.progress = [&calls](const PlanProgress&) { return ++calls < 3; };
        v1::PlanResult result;
        const absl::Status status = TheResolver().PlanLayouts(request, hooks, &result);
        return Sound(status, result);
      }));
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

std::string Named(const Way& way, size_t choice) {
  std::vector<std::string> names;
  for (const FieldDescriptor* field : way) names.emplace_back(field->name());
  return absl::StrCat(absl::StrJoin(names, "."), " at extreme ", choice);
}

void OneAtATime(const Question& question, Tally* tally) {
  Way way;
  std::vector<Way> numbers;
  FindNumbers(*question.sample, &way, &numbers);
  for (const Way& number : numbers) {
    for (size_t choice = 0; choice < std::max(std::size(kReals), std::size(kIntegers)); ++choice) {
      const std::unique_ptr<Message> request(question.sample->New());
      request->CopyFrom(*question.sample);
      SetExtreme(number, choice, request.get());
      tally->Ask(question, *request, Named(number, choice));
    }
  }
}

void EveryKnob(const Question& question, Tally* tally) {
  for (int id = 0; id < kKnobCount; ++id) {
    const Knob knob = static_cast<Knob>(id);
    for (size_t choice = 0; choice < std::size(kReals) + std::size(kIntegers); ++choice) {
      auto request = static_cast<const v1::ResolveConfigRequest&>(*question.sample);
      v1::KnobSetting* pin = request.add_pinned_knobs();
      pin->set_name(std::string(Name(knob)));
      if (choice < std::size(kReals)) {
        pin->mutable_value()->set_double_value(kReals[choice]);
      } else {
        pin->mutable_value()->set_int_value(kIntegers[choice - std::size(kReals)]);
      }
      tally->Ask(question, request, absl::StrCat(Name(knob), " at extreme ", choice));
    }
  }
}

void SeveralAtOnce(const std::vector<Question>& questions, int64_t first, int64_t count, uint64_t seed, Tally* tally) {
  std::mt19937_64 random(seed);
  std::vector<std::vector<Way>> numbers(questions.size());
  for (size_t i = 0; i < questions.size(); ++i) {
    Way way;
    FindNumbers(*questions[i].sample, &way, &numbers[i]);
  }
  for (int64_t n = 0; n < count; ++n) {
    const size_t at = random() % questions.size();
    const std::unique_ptr<Message> request(questions[at].sample->New());
    request->CopyFrom(*questions[at].sample);
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
    const absl::Status plain = question.ask(*question.sample);
    if (!plain.ok()) std::printf("BROKEN %s: the sample itself: %s\n", question.name, plain.ToString().c_str());
    if (!plain.ok()) return 1;
    OneAtATime(question, &tally);
    std::printf("%s: %s\n", question.name, tally.Slowest().c_str());
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
