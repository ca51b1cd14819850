// Scripts that launch several trainings.
#include "resolver/shell/launches.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "gtest/gtest.h"
#include "resolver/base/work.h"
#include "resolver/shell/reader.h"

namespace flightplan {
namespace {

std::string Words(const LaunchCommand& launch) {
  return absl::StrJoin(launch.args, " ", [](std::string* out, const Argument& arg) { *out += arg.text; });
}

// The words of each launch, the one that is read last.
std::string Launches(absl::string_view script, std::optional<int> wanted = std::nullopt) {
  const ShellLaunch launch = ReadShellLaunch(script, {}, {}, wanted);
  std::string all;
  for (const LaunchCommand& other : launch.others) absl::StrAppend(&all, Words(other), " | ");
  return all + Words(launch);
}

struct Case {
  absl::string_view script, launches;
};

TEST(OtherLaunches, AreKeptOnceEach) {
  constexpr absl::string_view kTwo = "--train-iters 1 | --train-iters 2";
  for (const Case& c : std::initializer_list<Case>{
           {"torchrun a.py --train-iters 1\ntorchrun a.py --train-iters 2\n", kTwo},
           {"for n in 1 2; do torchrun a.py --train-iters $n; done", kTwo},
           {"f() { torchrun a.py --train-iters $1; }\nf 1\nf 2\n", kTwo},
           {"torchrun a.py --train-iters 1\ntorchrun a.py --train-iters 1\ntorchrun a.py --train-iters 2", kTwo},
           {"torchrun a.py --train-iters 2\ntorchrun a.py --train-iters 1\ntorchrun a.py --train-iters 2", kTwo},
           // Of these one runs, and nobody knows which.
           {"if [ -f x ]; then torchrun a.py --train-iters 1; else torchrun a.py --train-iters 2; fi", kTwo},
           {"case $(hostname) in a) torchrun a.py --train-iters 1;; *) torchrun a.py --train-iters 2;; esac", kTwo},
           {"if [ 1 = 2 ]; then torchrun a.py --train-iters 1; else torchrun a.py --train-iters 2; fi",
            "--train-iters 2"},
           // A tool is no training, and what comes before the first training is none either.
           {"python get.py --all 1\ntorchrun a.py --train-iters 2\npython plot.py --all 1\n", "--train-iters 2"},
           {"uv run run_sft.py --config a.yaml\npython plot.py --all 1\n", "--config a.yaml"},
           {"case $1 in a) torchrun a.py --train-iters 1;; b) torchrun a.py --train-iters 2;; esac", kTwo},
           // Of those that no run reaches one is read, so that there is something to judge.
           {"if [ 1 = 2 ]; then torchrun a.py --train-iters 1; fi\nif [ 1 = 3 ]; then torchrun a.py --train-iters 2; "
            "fi",
            "--train-iters 2"},
       }) {
    EXPECT_EQ(Launches(c.script), c.launches) << c.script;
  }
}

TEST(OtherLaunches, DifferInWhatIsJudged) {
  const auto count = [](absl::string_view round) {
    return ReadShellLaunch(absl::StrCat("for n in 2 4; do\n", round, " a.py --train-iters 1\ndone\n"), {})
        .others.size();
  };
  EXPECT_EQ(count("torchrun"), 0U);
  EXPECT_EQ(count("RUN_NAME=$n torchrun"), 0U);
  EXPECT_EQ(count("MASTER_PORT=$n torchrun"), 0U) << "nothing is judged by a port";
  EXPECT_EQ(count("NCCL_CTAS=$n torchrun"), 1U);
  EXPECT_EQ(count("export CUDA_DEVICE_MAX_CONNECTIONS=$n\ntorchrun"), 1U);
  EXPECT_EQ(count("torchrun --nproc-per-node $n"), 1U);
}

TEST(OtherLaunches, HaveTheirOwnEnvironmentAndSize) {
  const ShellLaunch launch = ReadShellLaunch(
      "export NCCL_A=1\ntorchrun --nproc-per-node 4 a.py --train-iters 1\n"
      "export NCCL_A=2\nsrun --ntasks 16 bash -c 'python a.py --train-iters 2'\npython a.py --train-iters 3\n",
      {});
  ASSERT_EQ(launch.others.size(), 2U);
  EXPECT_EQ(launch.others[0].vars.at("NCCL_A"), "1");
  EXPECT_EQ(launch.others[0].world_size, 4);
  EXPECT_EQ(launch.others[0].at.line, 2);
  EXPECT_EQ(launch.others[1].vars.at("NCCL_A"), "2");
  EXPECT_EQ(launch.others[1].world_size, 16) << "of the launcher around it";
  EXPECT_EQ(launch.world_size, std::nullopt) << "another launch's launcher is none of its own";
}

TEST(OtherLaunches, HaveTheFilesThatWereWrittenBeforeThem) {
  const ShellLaunch launch = ReadShellLaunch(
      "for n in 1 2; do\ncat > m.yaml <<EOF\ntp: $n\nEOF\ntorchrun a.py --train-iters 1 --config m.yaml\ndone\n", {});
  ASSERT_EQ(launch.others.size(), 1U);
  EXPECT_EQ(launch.others[0].written_files.at("m.yaml"), "tp: 1\n");
  EXPECT_EQ(launch.written_files.at("m.yaml"), "tp: 2\n");
}

TEST(OtherLaunches, HaveABound) {
  const ShellLaunch launch = ReadShellLaunch("for n in {1..40}; do torchrun a.py --train-iters $n; done", {});
  EXPECT_EQ(launch.others.size(), kMaxOtherLaunches);
  EXPECT_EQ(launch.others_left_out, 40 - 1 - static_cast<int>(kMaxOtherLaunches));
  EXPECT_EQ(Words(launch), "--train-iters 40");
  // What a launch costs is counted, however many variables there are.
  std::string script;
  for (int i = 0; i < 1000; ++i) absl::StrAppend(&script, "export NCCL_A", i, "=1\n");
  absl::StrAppend(&script, "for n in {1..1000}; do export NCCL_B=$n; torchrun a.py --train-iters $n; done\n");
  EXPECT_TRUE(ReadShellLaunch(script, {}).too_much_work);
}

// A repair reads its own text again, and wants the launch that it repairs, whatever became of its words.
TEST(OtherLaunches, OneIsFoundAgain) {
  constexpr absl::string_view kThree = "for n in 1 2 3; do torchrun a.py --train-iters $n; done";
  EXPECT_EQ(Launches(kThree, 1), "--train-iters 1 | --train-iters 3 | --train-iters 2");
  EXPECT_EQ(Launches(kThree, 2), Launches(kThree));
  EXPECT_EQ(Launches("for n in 1 3 3; do torchrun a.py --train-iters $n; done", 1),
            "--train-iters 1 | --train-iters 3");
  EXPECT_EQ(Launches("for n in 1 1 3; do torchrun a.py --train-iters $n; done", 1),
            "--train-iters 3 | --train-iters 1");
  EXPECT_EQ(Launches("for n in 3 1 3; do torchrun a.py --train-iters $n; done", 0),
            "--train-iters 1 | --train-iters 3");
  const ShellLaunch found = ReadShellLaunch("for n in {1..40}; do torchrun a.py --train-iters $n; done", {}, {}, 30);
  EXPECT_EQ(Words(found), "--train-iters 31");
  EXPECT_EQ(found.others.size(), kMaxOtherLaunches + 1);
}

}  // namespace
}  // namespace flightplan
