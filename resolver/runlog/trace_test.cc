#include "resolver/runlog/trace.h"

#include <random>
#include <string>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"

namespace flightplan {
namespace {

std::string Event(const std::string& category, const std::string& name, double begin, double length,
                  const std::string& args = "") {
  return absl::StrCat("  {\n    \"ph\": \"X\", \"cat\": \"", category, "\", \"name\": \"", name,
                      "\", \"pid\": 0, \"tid\": 7, ", "\"ts\": ", begin, ", \"dur\": ", length,
                      ", \"args\": {\"stream\": 7", args, "}\n  },\n");
}

// 0..100 compute, 80..150 all-to-all (50 exposed), 150..170 nothing, 170..200 a copy, 200..220 a send of the pipeline.
std::string Trace() {
  return absl::StrCat(
      "{\n  \"schemaVersion\": 1,\n  \"deviceProperties\": [{\"id\": 0, \"name\": \"a \\\"[GPU]\\\" {\"}],\n",
      "  \"traceEvents\": [\n", Event("cpu_op", "aten::mm", 0, 1e6), Event("user_annotation", "ProfilerStep#3", 0, 220),
      Event("kernel", "void gemm<{[\\\"x\\\"]}>", 0, 100),
      Event("kernel", "ncclDevKernel_SendRecv(ncclDevKernelArgs)", 80, 70,
            R"(, "Collective name": "all_to_allv", "Process Group Description": "EXPERT_MODEL_PARALLEL_GROUP")"),
      Event("gpu_memcpy", "Memcpy DtoH (Device -> Pinned)", 170, 30),
      Event("kernel", "ncclDevKernel_SendRecv(ncclDevKernelArgs)", 200, 20,
            R"(, "Collective name": "send", "Process Group Description": "PIPELINE_MODEL_PARALLEL_GROUP")"),
      "  {\"ph\": \"i\", \"name\": \"Record Window End\", \"ts\": 300}\n ],\n \"traceName\": \"x\"\n}\n");
}

TEST(Trace, SaysWhatIsExposedAndWhatIsIdle) {
  const std::string text = Trace();
  EXPECT_TRUE(TraceReader::Recognises(text));
  for (const size_t piece : {size_t{1}, size_t{13}, text.size()}) {
    TraceReader reader;
    for (size_t at = 0; at < text.size(); at += piece) reader.Push(absl::string_view(text).substr(at, piece));
    const TraceSummary summary = reader.Summary();
    EXPECT_EQ(summary.kernels, 4);
    EXPECT_EQ(summary.steps, 1);
    EXPECT_DOUBLE_EQ(summary.span_us, 220);
    EXPECT_DOUBLE_EQ(summary.compute_us, 100);
    EXPECT_DOUBLE_EQ(summary.exposed_us, 70);
    EXPECT_DOUBLE_EQ(summary.hidden_us, 20);
    EXPECT_DOUBLE_EQ(summary.idle_us, 20);
    EXPECT_DOUBLE_EQ(summary.exposed_by_path.at("expert_parallel"), 50);
    EXPECT_DOUBLE_EQ(summary.exposed_by_path.at("pipeline_parallel"), 20);
  }
}

TEST(Trace, ReadsOneThatEndsTooEarly) {
  TraceReader reader;
  reader.Push(Trace().substr(0, 900));
  EXPECT_GE(reader.Summary().kernels, 1);
}

TEST(Trace, PassesOverAnEventThatIsTooLong) {
  TraceReader reader;
  reader.Push(absl::StrCat("{\"traceEvents\": [", Event("kernel", std::string(100000, 'x'), 0, 1),
                           Event("kernel", "gemm", 0, 5), "]}"));
  EXPECT_EQ(reader.Summary().kernels, 1);
  EXPECT_EQ(reader.Summary().skipped_events, 1);
}

TEST(Trace, SurvivesAnyBytes) {
  std::mt19937 random(11);  // NOLINT(cert-msc32-c,cert-msc51-cpp): the same in each run
  for (int round = 0; round < 500; ++round) {
    std::string text = Trace();
    for (int change = 0; change < 20; ++change) text[random() % text.size()] = "{}[]\",:\\0e9 \n"[random() % 13];
    TraceReader reader;
    reader.Push(text);
    const TraceSummary summary = reader.Summary();
    EXPECT_GE(summary.idle_us, 0);
    EXPECT_GE(summary.exposed_us, -1e-3);
  }
}

}  // namespace
}  // namespace flightplan
