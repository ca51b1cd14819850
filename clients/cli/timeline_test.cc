// The pages of a timeline, from one written by hand; and the command from its flags to its output.
#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <string>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "clients/cli/command.h"
#include "clients/cli/text.h"
#include "clients/cli/timeline_page.h"
#include "clients/cli/timeline_svg.h"
#include "clients/cli/timeline_trace.h"
#include "clients/cli/timeline_words.h"
#include "flightplan/v1/timeline.pb.h"
#include "google/protobuf/struct.pb.h"
#include "google/protobuf/text_format.h"
#include "google/protobuf/util/json_util.h"
#include "tests/support/golden.h"

namespace flightplan::cli {
namespace {

v1::DescribeTimelineResponse Written() {
  v1::DescribeTimelineResponse message;
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(
      R"pb(
        step_time_us: 1000000
        scheduled_us: 1000000
        replayed_us: 990000
        schedule: TIMELINE_SCHEDULE_INTERLEAVED
        combined: true
        pipeline_model_parallel_size: 2
        virtual_pipeline_model_parallel_size: 2
        microbatch_count: 8
        slowest_pipeline_rank: 1
        target: "megatron-lm main"
        will_run: true
        totals { kind: TIMELINE_KIND_FORWARD scheduled_us: 300000 forecast_us: 300000 }
        totals { kind: TIMELINE_KIND_EXPERT_EXCHANGE scheduled_us: 90000 hidden_us: 210000 forecast_us: 80000 }
        totals { kind: TIMELINE_KIND_BUBBLE scheduled_us: 610000 forecast_us: 620000 }
        ranks {
          pipeline_rank: 0
          busy_us: 380000
          bubble_us: 600000
          once_us: 10000
          layer_counts: 3
          layer_counts: 2
          embedding: true
        }
        ranks {
          pipeline_rank: 1
          busy_us: 390000
          bubble_us: 590000
          transfer_us: 10000
          layer_counts: 2
          layer_counts: 2
          loss: true
        }
        views {
          zoom: TIMELINE_ZOOM_STEP
          duration_us: 1000000
          title: "one step by pipeline rank, 8 microbatches"
          events {
            kind: TIMELINE_KIND_FORWARD
            stream: TIMELINE_STREAM_COMPUTE
            duration_us: 300000
            exposed_us: 300000
            name: "F 0.0"
            microbatch_index: 0
          }
          events {
            kind: TIMELINE_KIND_BUBBLE
            stream: TIMELINE_STREAM_COMPUTE
            start_us: 300000
            duration_us: 500000
            exposed_us: 500000
            name: "waits"
          }
          events {
            kind: TIMELINE_KIND_PIPELINE_TRANSFER
            stream: TIMELINE_STREAM_PIPELINE
            start_us: 300000
            duration_us: 30000
            exposed_us: 10000
            name: "activations"
          }
          events {
            kind: TIMELINE_KIND_PASSES
            stream: TIMELINE_STREAM_COMPUTE
            pipeline_rank: 1
            start_us: 330000
            duration_us: 500000
            exposed_us: 500000
            name: "14 passes"
            repeat_count: 14
          }
          events {
            kind: TIMELINE_KIND_GRADIENT_REDUCE
            stream: TIMELINE_STREAM_DATA
            pipeline_rank: 1
            start_us: 830000
            duration_us: 100000
            exposed_us: 40000
            name: "gradients reduced"
          }
        }
        views {
          zoom: TIMELINE_ZOOM_LAYER
          duration_us: 900
          title: "layer 3 on rank 1: forward, then backward"
          events {
            kind: TIMELINE_KIND_FORWARD
            stream: TIMELINE_STREAM_COMPUTE
            pipeline_rank: 1
            duration_us: 400
            exposed_us: 400
            name: "experts <b>"
            layer_index: 3
          }
          events {
            kind: TIMELINE_KIND_DISPATCH
            stream: TIMELINE_STREAM_EXPERT
            pipeline_rank: 1
            start_us: 250.0004
            duration_us: 650
            exposed_us: 500
            name: "dispatch"
            layer_index: 3
            backward: true
          }
        }
        notes: "The replayed schedule ends 10.0 ms (1.00 % of the step) before the forecast's step."
      )pb",
      &message));
  return message;
}

Terminal Narrow() {
  Terminal terminal;
  terminal.width = 80;
  return terminal;
}

constexpr char kHeading[] = "deepseek-v3 on 1,024 x h100-sxm";

TEST(TimelinePage, ShowsAStepInEightyColumns) {
  const std::string text = TimelineText(Written(), kHeading, Narrow());
  for (absl::string_view line : absl::StrSplit(text, '\n')) EXPECT_LE(DisplayWidth(line), 80) << line;
  ExpectGolden("timeline.txt", text);
}

TEST(TimelinePage, AddsUpTheTotals) {
  ExpectGolden("timeline_table.txt", TimelineTable(Written(), kHeading, Narrow()));
}

TEST(TimelineSvg, IsOnePictureWithoutReferences) {
  const std::string svg = TimelineSvg(Written(), kHeading);
  ExpectGolden("timeline.svg", svg);
  EXPECT_TRUE(absl::StrContains(svg, "prefers-color-scheme:dark"));
  EXPECT_FALSE(absl::StrContains(svg, "href"));
}

TEST(TimelineSvg, ShowsHostileTextAsText) {
  v1::DescribeTimelineResponse timeline = Written();
  timeline.set_target("\"><script>");
  const std::string svg = TimelineSvg(timeline, "</svg><script>alert('x')</script>");
  EXPECT_FALSE(absl::StrContains(svg, "<script"));
  EXPECT_FALSE(absl::StrContains(svg, "<b>"));
}

TEST(TimelineWords, KnowsEveryKindAndStream) {
  for (int kind = v1::TimelineKind_MIN + 1; kind <= v1::TimelineKind_MAX; ++kind) {
    EXPECT_EQ(LookOf(static_cast<v1::TimelineKind>(kind)).kind, kind);
  }
  for (int stream = v1::TimelineStream_MIN + 1; stream <= v1::TimelineStream_MAX; ++stream) {
    EXPECT_NE(StreamName(static_cast<v1::TimelineStream>(stream)), "other");
  }
  EXPECT_EQ(LookOf(static_cast<v1::TimelineKind>(99)).name, "other");
  EXPECT_EQ(DurationText(999'960), "1000 ms");
  EXPECT_EQ(DurationText(1'234'567), "1.23 s");
  EXPECT_EQ(DurationText(12.34), "12.3 µs");
}

// Trace Event Format: complete events of a process and a thread that have names; none of a thread begins inside another
// and ends behind it, which viewers show wrongly. Returns the number of complete events.
int CheckTrace(const std::string& json) {
  google::protobuf::Struct trace;
  EXPECT_TRUE(google::protobuf::util::JsonStringToMessage(json, &trace).ok());
  std::map<std::pair<int, int>, double> ends;
  std::map<std::pair<int, int>, bool> named;
  int complete = 0;
  for (const google::protobuf::Value& value : trace.fields().at("traceEvents").list_value().values()) {
    const auto& event = value.struct_value().fields();
    const std::pair<int, int> thread(static_cast<int>(event.at("pid").number_value()),
                                     static_cast<int>(event.at("tid").number_value()));
    if (event.at("ph").string_value() == "M") {
      EXPECT_EQ(event.at("args").struct_value().fields_size(), 1);
      named[thread] |= event.at("name").string_value() == "thread_name";
      continue;
    }
    EXPECT_EQ(event.at("ph").string_value(), "X");
    EXPECT_FALSE(event.at("name").string_value().empty());
    EXPECT_TRUE(named[thread]);
    const double start = event.at("ts").number_value(), length = event.at("dur").number_value();
    EXPECT_GT(length, 0);
    EXPECT_GE(start, ends[thread] - 0.0011) << event.at("name").string_value();
    ends[thread] = start + length;
    ++complete;
  }
  return complete;
}

TEST(TimelineTrace, IsReadByViewersOfTraces) {
  const std::string json = TimelineTrace(Written());
  ExpectGolden("timeline_trace.json", json);
  EXPECT_EQ(CheckTrace(json), 7);
  v1::DescribeTimelineResponse hostile = Written();
  hostile.mutable_views(0)->mutable_events(0)->set_name("a\"b\\c\nd");
  EXPECT_EQ(CheckTrace(TimelineTrace(hostile)), 7);
}

// ---- the command

struct Ran {
  int exit;
  std::string out, err;
};
Ran Ask(const std::vector<std::string>& args) {
  Context context;
  context.terminal = Narrow();
  const int exit = RunCommandLine(args, context);
  return {exit, context.out, context.err};
}

const std::vector<std::string> kQuestion = {
    "timeline", "--model", "qwen3-30b-a3b", "--gpu", "h100", "--gpus", "32",    "--tp", "1",
    "--pp",     "4",       "--vpp",         "2",     "--ep", "8",      "--gbs", "256"};
std::vector<std::string> With(std::vector<std::string> more) {
  std::vector<std::string> args = kQuestion;
  args.insert(args.end(), more.begin(), more.end());
  return args;
}

TEST(TimelineCommand, DrawsAPlan) {
  const Ran text = Ask(With({}));
  EXPECT_EQ(text.exit, kExitOk) << text.err;
  EXPECT_TRUE(absl::StrContains(text.out, "interleaved 1F1B")) << text.out;
  for (absl::string_view line : absl::StrSplit(text.out, '\n')) EXPECT_LE(DisplayWidth(line), 80) << line;
  EXPECT_GT(CheckTrace(Ask(With({"--format", "trace"})).out), 500);
  const Ran one = Ask(With({"--format", "json", "--zoom", "step", "--rank", "2"}));
  v1::DescribeTimelineResponse answer;
  ASSERT_TRUE(google::protobuf::util::JsonStringToMessage(one.out, &answer).ok());
  ASSERT_EQ(answer.views_size(), 1);
  for (const v1::TimelineEvent& event : answer.views(0).events()) EXPECT_EQ(event.pipeline_rank(), 2);
  double sum = 0, forecast = 0;
  for (const v1::TimelineTotal& total : answer.totals()) sum += total.scheduled_us(), forecast += total.forecast_us();
  EXPECT_NEAR(sum, answer.step_time_us(), 1e-6 * answer.step_time_us());
  EXPECT_NEAR(forecast, answer.step_time_us(), 1e-6 * answer.step_time_us());
  for (const v1::TimelinePass& pass : answer.passes()) {
    double us = 0;
    for (const v1::TimelinePart& part : pass.parts()) us += part.exposed_us();
    EXPECT_NEAR(us, pass.duration_us(), 1e-6);
  }
}

TEST(TimelineCommand, DrawsArguments) {
  const Ran ran = Ask({"timeline",
                       "--gpu",
                       "h100",
                       "--gpus",
                       "16",
                       "--set",
                       "vocab_size=32000",
                       "--format",
                       "table",
                       "--",
                       "--num-layers",
                       "24",
                       "--hidden-size",
                       "2048",
                       "--num-attention-heads",
                       "16",
                       "--seq-length",
                       "4096",
                       "--max-position-embeddings",
                       "4096",
                       "--micro-batch-size",
                       "1",
                       "--global-batch-size",
                       "128",
                       "--pipeline-model-parallel-size",
                       "2",
                       "--train-iters",
                       "10",
                       "--lr",
                       "1e-4",
                       "--bf16"});
  EXPECT_EQ(ran.exit, kExitOk) << ran.err;
  EXPECT_TRUE(absl::StrContains(ran.out, "1F1B")) << ran.out;
}

TEST(TimelineCommand, NamesTheFlagThatIsWrong) {
  EXPECT_TRUE(absl::StrContains(Ask(With({"--rank", "9"})).err, "--rank: 9 is none of 0..3"));
  EXPECT_TRUE(absl::StrContains(Ask(With({"--layer", "48"})).err, "--layer: 48 is none of 0..47"));
  EXPECT_TRUE(absl::StrContains(Ask(With({"--max-events", "5"})).err, "--max-events: must be 64..32768"));
  EXPECT_TRUE(absl::StrContains(Ask(With({"--rank", "x"})).err, "--rank wants"));
  const Ran both = Ask({"timeline", "--model", "qwen3-30b-a3b", "script.sh"});
  EXPECT_EQ(both.exit, kExitMisuse);
  const Ran no_gpu = Ask({"timeline", "--", "--num-layers", "24"});
  EXPECT_EQ(no_gpu.exit, kExitMisuse) << no_gpu.err;
  EXPECT_TRUE(absl::StrContains(no_gpu.err, "--gpu: ")) << no_gpu.err;
  const Ran odd_gpu = Ask({"timeline", "--gpu", "h1000", "--gpus", "8", "--", "--num-layers", "24"});
  EXPECT_EQ(odd_gpu.exit, kExitMisuse) << odd_gpu.err;
  EXPECT_TRUE(absl::StrContains(odd_gpu.err, "--gpu: no GPU named 'h1000' in the catalogue; nearest")) << odd_gpu.err;
}

}  // namespace
}  // namespace flightplan::cli
