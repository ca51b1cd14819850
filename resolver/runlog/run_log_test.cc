#include "resolver/runlog/run_log.h"

#include <cmath>
#include <random>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "gtest/gtest.h"
#include "resolver/runlog/line_splitter.h"
#include "resolver/runlog/step_statistics.h"

namespace flightplan {
namespace {

std::string Report(int iteration, double ms, int batch = 128) {
  return absl::StrFormat(
      " [2026-01-01 00:00:00] iteration %8d/    1000 | consumed samples: %12d | elapsed time per iteration (ms): %.1f "
      "| "
      "throughput per GPU (TFLOP/s/GPU): 200.0 | global batch size: %5d | lm loss: 2.0E+00 | number of skipped "
      "iterations:   0 | number of nan iterations:   0 |\n",
      iteration, iteration * batch, ms, batch);
}

RunLog Read(const std::string& text) {
  LineSplitter splitter;
  RunLogReader reader;
  const auto take = [&reader](absl::string_view line, bool complete) { reader.Add(line, complete); };
  splitter.Push(text, take);
  splitter.Finish(take);
  return reader.Log();
}

TEST(RunLog, LeavesWarmUpAndCheckpointsOut) {
  std::string text;
  for (int i = 1; i <= 100; ++i) {
    if (i % 50 == 0) text += "saving checkpoint at iteration to somewhere\n";
    text += Report(i, i == 1 ? 60000 : i == 2 ? 9000 : i % 50 == 0 ? 30000 : 5000 + i % 3);
  }
  const StepStatistics steps = StatisticsOf(Read(text));
  EXPECT_EQ(steps.warm_up, 2);
  EXPECT_EQ(steps.outliers, 2);
  EXPECT_EQ(steps.checkpoint_outliers, 2);
  EXPECT_EQ(steps.used, 96);
  EXPECT_NEAR(steps.median_ms, 5001, 0.5);
  EXPECT_GT(steps.slowest_ms, 29999);
}

TEST(RunLog, CountsARestartAndItsWarmUp) {
  std::string text;
  for (int i = 1; i <= 20; ++i) text += Report(i, i == 1 ? 60000 : 5000 + i);
  for (int i = 11; i <= 30; ++i) text += Report(i, i == 11 ? 50000 : 5000 + i + 100);
  const RunLog log = Read(text);
  EXPECT_EQ(log.restarts, 1);
  EXPECT_EQ(log.reports, 40);
  EXPECT_EQ(StatisticsOf(log).warm_up, 2);
  EXPECT_EQ(log.first_iteration, 1);
  EXPECT_EQ(log.last_iteration, 30);
}

TEST(RunLog, TakesOneReportOfEachIterationWhereSeveralRanksPrintIt) {
  std::string text;
  for (int i = 1; i <= 10; ++i) {
    for (int rank = 0; rank < 4; ++rank) absl::StrAppend(&text, rank, ": ", Report(i, 5000 + rank));
  }
  const RunLog log = Read(text);
  EXPECT_EQ(log.reports, 10);
  EXPECT_EQ(log.repeated, 30);
  EXPECT_EQ(log.restarts, 0);
}

TEST(RunLog, TakesTheLastBatchOfARampUp) {
  std::string text;
  for (int i = 1; i <= 30; ++i) text += Report(i, i <= 10 ? 2000 : 5000, i <= 10 ? 32 : 128);
  const StepStatistics steps = StatisticsOf(Read(text));
  EXPECT_EQ(steps.other_batch, 10);
  EXPECT_EQ(steps.global_batch, 128);
  EXPECT_NEAR(steps.median_ms, 5000, 0.1);
}

TEST(RunLog, ReadsSeveralReportsOfOneLine) {
  const RunLog log = Read(
      "[Rank 2] (after 1 iterations) memory (MB) | allocated: 9334.37 | max allocated: 12680.63 | reserved: 13236.0 | "
      "max "
      "reserved: 13236.0[Rank 6] (after 1 iterations) memory (MB) | allocated: 10850.67 | max allocated: 10850.70 | "
      "reserved: 11000.0 | max reserved: 11000.0\n");
  ASSERT_EQ(log.ranks.size(), 2U);
  EXPECT_NEAR(log.ranks.at(2).max_reserved / 1048576, 13236, 0.01);
  EXPECT_NEAR(log.ranks.at(6).max_allocated / 1048576, 10850.70, 0.01);
}

TEST(RunLog, ReadsBridgeMemoryInPowersOfTen) {
  const RunLog log = Read(
      "[Rank 0] (after 1 iterations) memory (GB) | mem-allocated-gigabytes: 51.072 | mem-max-allocated-gigabytes: "
      "194.41 "
      "| mem-max-reserved-gigabytes: 216.89 | mem-alloc-retires: 0\n");
  EXPECT_NEAR(log.ranks.at(0).max_allocated, 194.41e9, 1);
}

TEST(RunLog, ReadsTheOptimizersTimers) {
  const std::string old =
      "time (ms) | forward-compute: 193.77 | optimizer-copy-to-main-grad: 12.19 | optimizer: 63.01 | x: 1\n";
  EXPECT_NEAR(StatisticsOf(Read(Report(1, 5000) + old)).optimizer_ms, 63.01, 1e-3);
  const std::string block =
      "(min, max) time across ranks (ms):\n    optimizer-inner-step ...........................: (1.00, 2.00)\n"
      "    optimizer ......................................: (55.25, 60.50)\n";
  EXPECT_NEAR(StatisticsOf(Read(Report(1, 5000) + block)).optimizer_ms, 60.5, 1e-3);
  for (const char* bad :
       {"optimizer ....: (1.0, ", "optimizer ....: (nan, nan)\n", "optimizer: 5\n", "optimizer ....\n"}) {
    EXPECT_EQ(StatisticsOf(Read(Report(1, 5000) + bad)).optimizer_ms, 0) << bad;
  }
}

TEST(RunLog, ReadsLoongForge) {
  const StepStatistics steps =
      StatisticsOf(Read(" [2026-01-01 00:00:00] iteration        2/     100 | consumed samples:          256 | elapsed "
                        "time per iteration "
                        "(ms): 4000.0 | throughput (token/sec/GPU): 1024.5 | flop throughput (TFLOP/sec/GPU): 310.2 | "
                        "global batch size:   "
                        "128 |\n"));
  EXPECT_NEAR(steps.tokens, 1024.5, 0.01);
  EXPECT_NEAR(steps.tflops, 310.2, 0.01);
}

TEST(RunLog, ReadsTheArgumentsOfTheLastStart) {
  const RunLog log = Read(
      "------------------------ arguments ------------------------\n"
      "  tensor_model_parallel_size ...................... 4\n"
      "-------------------- end of arguments ---------------------\n"
      "0: ------------------------ arguments ------------------------\n"
      "0:   tensor_model_parallel_size ...................... 8\n"
      "0:   moe_layer_freq .................................. [0, 1, 1]\n"
      "0: -------------------- end of arguments ---------------------\n"
      "  hidden_size ..................................... 9\n");
  EXPECT_EQ(log.arguments.size(), 2U);
  EXPECT_EQ(log.arguments.at("tensor_model_parallel_size"), "8");
  EXPECT_EQ(log.arguments.at("moe_layer_freq"), "[0, 1, 1]");
}

TEST(RunLog, DoesNotTrustWhatALastLineCutsOff) {
  std::string text = Report(1, 5000) + Report(2, 5000);
  text += " iteration        3/    1000 | elapsed time per iteration (ms): 54";
  const RunLog log = Read(text);
  EXPECT_EQ(log.reports, 2);
}

TEST(RunLog, RefusesTimesThatNoStepHas) {
  for (const char* time : {"nan", "inf", "-5.0", "0.0", "1e300", "x", ""}) {
    EXPECT_EQ(Read(absl::StrCat(" iteration 3/ 10 | elapsed time per iteration (ms): ", time, " |\n")).reports, 0)
        << time;
  }
}

TEST(RunLog, CountsStepsWhoseLossOrNormIsNoNumber) {
  const auto read = [](absl::string_view fields) {
    return Read(absl::StrCat(Report(1, 5000), " iteration 2/ 10 | elapsed time per iteration (ms): 5000.0 | ", fields,
                             " | number of nan iterations: 0 |\n"));
  };
  for (const char* fields : {"lm loss: NAN", "lm loss: inf", "grad norm: nan", "lm loss: nan | grad norm: -inf"}) {
    EXPECT_EQ(read(fields).nan_iterations, 1) << fields;
  }
  EXPECT_EQ(read("lm loss: 2.0E+00 | grad norm: 1.000").nan_iterations, 0);
  EXPECT_TRUE(std::isnan(read("lm loss: NAN").last_loss));
}

TEST(RunLog, MergesFilesOfOneRun) {
  RunLog first, second;
  std::string text, more;
  for (int i = 1; i <= 10; ++i) text += Report(i, 5000 + i);
  for (int i = 6; i <= 20; ++i) more += Report(i, 5000 + i);
  RunLog log;
  Merge(Read(text), &log);
  Merge(Read(more), &log);
  EXPECT_EQ(log.reports, 20);
  EXPECT_EQ(log.repeated, 5);
  EXPECT_EQ(log.last_iteration, 20);
}

TEST(RunLog, KeepsItsMemoryBounded) {
  LineSplitter splitter;
  RunLogReader reader;
  const auto take = [&reader](absl::string_view line, bool complete) { reader.Add(line, complete); };
  for (int i = 1; i <= 400000; ++i) splitter.Push(Report(i, 5000 + i % 7), take);
  const RunLog log = reader.Log();
  EXPECT_EQ(log.reports, 400000);
  EXPECT_LT(log.steps.size(), RunLog::kMostSamples);
  EXPECT_GT(log.steps.size(), RunLog::kMostSamples / 4);
  EXPECT_GT(log.stride, 1U);
  EXPECT_NEAR(StatisticsOf(log).median_ms, 5003, 1);
}

TEST(LineSplitter, CutsALineThatDoesNotEnd) {
  LineSplitter splitter;
  size_t lines = 0, longest = 0;
  const auto take = [&](absl::string_view line, bool) {
    ++lines;
    longest = std::max(longest, line.size());
  };
  for (int i = 0; i < 1000; ++i) splitter.Push(std::string(1000, 'x'), take);
  splitter.Push("\nshort\n", take);
  EXPECT_EQ(lines, 2U);
  EXPECT_EQ(longest, LineSplitter::kMaxLineBytes);
  EXPECT_EQ(splitter.cut_lines(), 1U);
}

// Whatever bytes come, in whatever pieces, nothing breaks and no figure leaves its range.
TEST(RunLog, SurvivesAnyBytes) {
  std::mt19937 random(7);  // NOLINT(cert-msc32-c,cert-msc51-cpp): the same in each run
  const std::string seed =
      Report(1, 5000) + Report(2, 5000) +
      "[Rank 0] (after 2 iterations) memory (MB) | allocated: 1.0 | max allocated: 2.0 | reserved: "
      "3.0 | max reserved: 4.0\n|   0  A100   On   | 0 |\n| N/A |  33717MiB / 81252MiB |\n"
      "index, memory.used [MiB], memory.total [MiB]\n0, 5 MiB, 6 MiB\n"
      " > number of parameters on (tensor, pipeline) model parallel rank (0, 1): 12\n"
      "-------- arguments --------\n  a ..... 1\nStep Time : 5.39s GPU utilization: 2347.0MODEL_T\n";
  for (int round = 0; round < 2000; ++round) {
    std::string text = seed;
    for (int change = 0; change < 40; ++change) {
      const size_t at = random() % text.size();
      switch (random() % 4) {
        case 0:
          text[at] = static_cast<char>(random());
          break;
        case 1:
          text.erase(at, random() % 20);
          break;
        case 2:
          text.insert(at, text.substr(random() % text.size(), random() % 60));
          break;
        default:
          text.insert(at, std::string(random() % 40, "0123456789.|:/()[]-\x1b\r\n"[random() % 22]));
      }
      if (text.empty()) text = "x";
    }
    const RunLog log = Read(text);
    const StepStatistics steps = StatisticsOf(log);
    EXPECT_GE(steps.median_ms, 0);
    EXPECT_LE(steps.median_ms, 6.048e8);
    for (const auto& [rank, report] : log.ranks) EXPECT_LE(report.max_allocated, 1e15);
  }
}

}  // namespace
}  // namespace flightplan
