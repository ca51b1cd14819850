#include "resolver/shell/reader.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "resolver/base/work.h"
#include "resolver/shell/state.h"
#include "tests/bench/allocations.h"

namespace flightplan {
namespace {

std::vector<std::string> Texts(const ShellLaunch& launch) {
  std::vector<std::string> texts;
  for (const Argument& arg : launch.args) texts.push_back(arg.text);
  return texts;
}
using Words = std::vector<std::string>;

std::string Repeat(absl::string_view text, int times) {
  std::string repeated;
  for (int i = 0; i < times; ++i) absl::StrAppend(&repeated, text);
  return repeated;
}

TEST(ShellReader, FollowsContinuationsQuotesAndVariables) {
  const ShellLaunch launch = ReadShellLaunch(R"(#!/bin/bash
export CUDA_DEVICE_MAX_CONNECTIONS=1
TP=2
MODEL_ARGS="--num-layers 4 \
  --hidden-size 128"   # the shape
PARALLEL=(
  --tensor-model-parallel-size $TP
  --pipeline-model-parallel-size ${PP:-1}
)
PARALLEL+=(--sequence-parallel)
NCCL_ALGO=Ring torchrun --nproc_per_node 8 --nnodes=4 pretrain_gpt.py \
    $MODEL_ARGS \
    ${PARALLEL[@]} \
    --moe-layer-freq '([0]*1+[1]*3)' --data-path "$DATA" 2>&1 | tee log.txt
)",
                                             {{"DATA", "/my data"}});
  EXPECT_EQ(Texts(launch), (Words{"--num-layers", "4", "--hidden-size", "128", "--tensor-model-parallel-size", "2",
                                  "--pipeline-model-parallel-size", "1", "--sequence-parallel", "--moe-layer-freq",
                                  "([0]*1+[1]*3)", "--data-path", "/my data"}));
  EXPECT_TRUE(launch.findings.empty());
  EXPECT_EQ(launch.vars, (EnvVars{{"CUDA_DEVICE_MAX_CONNECTIONS", "1"}, {"NCCL_ALGO", "Ring"}}));
  EXPECT_EQ(launch.world_size, 32);
}

// Read as they were meant, with the error that bash and sbatch would make of it; what launches nothing has none.
TEST(ShellReader, TakesLinesThatEndAsOnWindows) {
  const ShellLaunch launch = ReadShellLaunch("#!/bin/bash\npython x.py --num-layers 4 \\\r\n  --bf16\r\n", {});
  EXPECT_EQ(Texts(launch), (Words{"--num-layers", "4", "--bf16"}));
  ASSERT_EQ(launch.findings.size(), 1u);
  EXPECT_EQ(launch.findings[0].finding.rule_id, "input.line-ends");
  EXPECT_EQ(launch.findings[0].finding.severity, Severity::kError);
  EXPECT_EQ(launch.findings[0].at.line, 2);
  EXPECT_TRUE(ReadShellLaunch("echo hi\r\n", {}).findings.empty());
}

TEST(ReadShellLaunch, ReadsOnWhereALaunchIsCutShort) {
  for (const auto& [between, why] :
       {std::pair{"\\\n  # a comment\n  ", "(a comment)"}, std::pair{"\\ \n  ", "(a blank behind the backslash)"},
        std::pair{"\n  ", "(no backslash)"}}) {
    const ShellLaunch launch =
        ReadShellLaunch(absl::StrCat("python a.py --num-layers 4 ", between, "--bf16 --seq-length 8\n"), {});
    ASSERT_EQ(launch.findings.size(), 1u) << between;
    EXPECT_EQ(launch.findings[0].finding.rule_id, "input.continuation");
    EXPECT_TRUE(absl::StrContains(launch.findings[0].finding.seen, why)) << launch.findings[0].finding.seen;
    ASSERT_EQ(launch.args.size(), 5u) << between;
    EXPECT_EQ(launch.args[2].text, "--bf16");
  }
  EXPECT_TRUE(ReadShellLaunch("python a.py --num-layers 4 \\\n  --bf16\necho\n", {}).findings.empty());
  // Where its first word is a list of flags from a file that is not here.
  const ShellLaunch cut = ReadShellLaunch("python a.py --num-layers 4\n  ${MODEL_ARGS[@]} \\\n  --bf16\n", {});
  EXPECT_EQ(cut.args.back().text, "--bf16");
  EXPECT_EQ(cut.cut_at, 29);
}

TEST(ShellReader, PointsAtWhatWasWritten) {
  const ShellLaunch launch = ReadShellLaunch("A='--num-layers 4'\npython x.py $A --bf16\n", {});
  ASSERT_EQ(launch.args.size(), 3u);
  EXPECT_EQ(launch.args[1].at.line, 1);  // inside the assignment
  EXPECT_EQ(launch.args[1].at.column, 17);
  EXPECT_EQ(launch.args[2].at.line, 2);
  EXPECT_EQ(launch.args[2].at.column, 16);
  EXPECT_EQ(launch.args[2].at.index, 2);
}

TEST(ShellReader, SaysWhichCpusTheLauncherGivesTheRanks) {
  const auto binding = [](absl::string_view launcher) {
    return ReadShellLaunch(absl::StrCat(launcher, " pretrain_gpt.py --num-layers 4\n"), {}).cpu_binding;
  };
  EXPECT_EQ(binding("torchrun --nproc-per-node 8").torchrun, "");
  EXPECT_EQ(binding("torchrun --numa-binding node").torchrun, "node");
  EXPECT_EQ(binding("torchrun --numa_binding=socket").torchrun, "socket");
  EXPECT_EQ(binding("torchrun --numa-binding $MODE").torchrun, "");
  EXPECT_EQ(binding("torchrun --numa-bindings node").torchrun, "");

  CpuBinding read = binding("srun numactl --cpunodebind=$((SLURM_LOCALID/4)) --membind=$((SLURM_LOCALID/4)) python");
  EXPECT_EQ(read.ranks_a_node, 4);
  EXPECT_FALSE(read.around_torchrun);
  read = binding("numactl -N $(( ${SLURM_LOCALID} / 2 )) python");
  EXPECT_EQ(read.ranks_a_node, 2);
  read = binding("/usr/bin/numactl --cpunodebind 0 torchrun --nproc-per-node 8");
  EXPECT_EQ(read.numactl, "0");
  EXPECT_EQ(read.ranks_a_node, 0);
  EXPECT_TRUE(read.around_torchrun);
  EXPECT_TRUE(binding("numactl --cpunodebind=0 python -m torch.distributed.run").around_torchrun);
  EXPECT_EQ(binding("srun -N 4 python").numactl, "");  // srun's own -N counts nodes
  read = ReadShellLaunch("srun bash -c 'numactl --cpunodebind=$((SLURM_LOCALID/8)) python a.py --num-layers 4'\n", {})
             .cpu_binding;
  EXPECT_EQ(read.ranks_a_node, 8);
}

TEST(ShellReader, LooksIntoShellCommands) {
  const ShellLaunch launch =
      ReadShellLaunch("srun --ntasks 16 bash -lc 'export A=1; python -u pretrain_gpt.py --bf16 --num-layers 4'", {});
  EXPECT_EQ(Texts(launch), (Words{"--bf16", "--num-layers", "4"}));
  EXPECT_EQ(launch.vars.at("A"), "1");
  EXPECT_EQ(launch.world_size, 16);
}

TEST(ShellReader, LooksIntoEveryBranch) {
  const ShellLaunch launch = ReadShellLaunch(R"(for f in a.py b.py --x=1; do :; done
if [ "$MODE" = big ]; then TP=8
fi
case x in x) torchrun pretrain_gpt.py --tensor-model-parallel-size $TP ;; esac
)",
                                             {{"MODE", "big"}});
  EXPECT_EQ(launch.script, "pretrain_gpt.py");
  EXPECT_EQ(Texts(launch), (Words{"--tensor-model-parallel-size", "8"}));
}

TEST(ShellReader, QuotesAndEscapesAsTheShellDoes) {
  const ShellLaunch launch = ReadShellLaunch(R"(A='a b' B="$A \"q\" \x" C=
C+=c
python x.py "$A" $A '' "$B" a\ b "x"'y' --end 2>log > out.txt --behind
)",
                                             {});
  EXPECT_EQ(Texts(launch), (Words{"a b", "a", "b", "", "a b \"q\" \\x", "a b", "xy", "--end", "--behind"}));
  EXPECT_EQ(ReadShellLaunch("C=\nC+=c\nexport C\npython x.py --a \"", {}).vars.at("C"), "c");
}

TEST(ShellReader, CountsProcessesOnlyWhereAllIsKnown) {
  EXPECT_EQ(ReadShellLaunch("torchrun --nproc_per_node=8 --nnodes $N x.py --a", {}).world_size, std::nullopt);
  EXPECT_EQ(ReadShellLaunch("torchrun --nproc_per_node=8 x.py --a", {}).world_size, 8);
  EXPECT_EQ(ReadShellLaunch("torchrun --nproc_per_node=8 x.py --a", {{"PET_NNODES", "2"}}).world_size, 16);
  EXPECT_EQ(ReadShellLaunch("torchrun --nnodes 4 --nproc_per_node=8 x.py --a", {{"PET_NNODES", "2"}}).world_size, 32);
  const ShellLaunch assumed = ReadShellLaunch("torchrun --nproc_per_node=8 --nnodes=${N:-2} x.py --a", {});
  EXPECT_EQ(assumed.world_size, 16);
  EXPECT_TRUE(assumed.world_size_assumed);
}

TEST(ShellReader, SrunStartsTheTasksOfTheJob) {
  const EnvVars job = {{"SLURM_NTASKS", "128"}};
  EXPECT_EQ(ReadShellLaunch("srun python x.py --a", job).world_size, 128);
  EXPECT_EQ(ReadShellLaunch("srun -n 4 python x.py --a", job).world_size, 4);
  EXPECT_EQ(ReadShellLaunch("python x.py --a", job).world_size, std::nullopt);
  EXPECT_EQ(ReadShellLaunch("srun python x.py --a", {}).world_size, std::nullopt);
  // A step runs on the job's nodes unless told, and short options may have their value right behind.
  EXPECT_EQ(ReadShellLaunch("srun --ntasks-per-node=8 python x.py --a", {{"SLURM_NNODES", "2"}}).world_size, 16);
  EXPECT_EQ(ReadShellLaunch("srun -N1 --ntasks-per-node=8 python x.py --a", {{"SLURM_NNODES", "2"}}).world_size, 8);
  EXPECT_EQ(ReadShellLaunch("srun -n16 python x.py --a", {{"SLURM_NTASKS", "2"}}).world_size, 16);
  EXPECT_EQ(ReadShellLaunch("srun -N2 -n16 --ntasks-per-node=8 python x.py --a", {}).world_size, 16);
  EXPECT_EQ(ReadShellLaunch("srun --ntasks-per-node=1 torchrun --nnodes=2 --nproc-per-node=4 x.py --a",
                            {{"SLURM_NNODES", "2"}})
                .world_size,
            8);
}

TEST(ShellReader, AnArrayThatOnlyARunWouldFillIsSpelledAsAllOfIt) {
  const ShellLaunch launch = ReadShellLaunch(R"sh(LINE="$(python3 model_args.py qwen3-4B)" || exit 1
read -ra MODEL <<< "${LINE}"
ALL=("${MODEL[@]}" --bf16)
ALL=("${ALL[@]}" --swiglu)
torchrun pretrain_gpt.py --colocate ${ALL[@]} --n ${#ALL[@]}
)sh",
                                             {});
  EXPECT_EQ(Texts(launch), (Words{"--colocate", "${ALL[@]}", "--bf16", "--swiglu", "--n", "${#ALL[@]}"}));
  EXPECT_TRUE(launch.args[1].unknown);
  EXPECT_TRUE(launch.args[5].unknown);
}

TEST(ShellReader, NeverExecutesAndSaysSo) {
  const ShellLaunch launch = ReadShellLaunch(
      "N=$(nproc)\nif [ -f \"$X\" ]; then L=4; fi\npython a.py --num-layers $L --lr `cat lr` --x $UNSET\n", {});
  ASSERT_EQ(launch.args.size(), 6u);
  EXPECT_EQ(launch.args[1].text, "4");
  EXPECT_TRUE(launch.args[3].unknown);
  EXPECT_TRUE(launch.args[5].unknown);
  EXPECT_EQ(launch.args[5].text, "$UNSET");
  for (const ParseFinding& finding : launch.findings) EXPECT_EQ(finding.finding.rule_id, "input.not-judged");
  EXPECT_GE(launch.findings.size(), 4u);
}

TEST(ShellReader, SaysWhenThereIsNoLaunch) {
  for (const char* text :
       {"", "\n\n", "echo hello", "#only a comment", "'unterminated", "$(", "`", "((((", "A=(", "\\"}) {
    const ShellLaunch launch = ReadShellLaunch(text, {});
    EXPECT_TRUE(launch.args.empty() && launch.script.empty()) << text;
  }
}

TEST(ShellReader, HoldsItsBounds) {
  std::string doubling = "A=xxxxxxxxxxxxxxxx\n";
  for (int i = 0; i < 60; ++i) doubling += "A=$A$A\n";
  doubling += "python a.py --load $A\n";
  EXPECT_EQ(ReadShellLaunch(doubling, {}).findings[0].finding.rule_id, "input.limit");

  std::string many = "A=" + std::string(1000, 'y') + "\npython a.py";
  for (int i = 0; i < 100'000; ++i) many += " $A";
  EXPECT_EQ(ReadShellLaunch(many, {}).findings[0].finding.rule_id, "input.limit");
  EXPECT_EQ(ReadShellLaunch(std::string(kMaxScriptBytes + 1, 'a'), {}).findings[0].finding.rule_id, "input.limit");

  std::string nested = "python a.py --bf16";
  for (int i = 0; i < 8; ++i) nested = absl::StrCat("bash -c \"", nested, "\"");
  ReadShellLaunch(nested, {});  // quotes do not nest like this; it must only end
}

// Each once took seconds to a minute.
TEST(ShellReader, AScriptThatTakesTooMuchWorkIsNotReadToItsEnd) {
  const std::string value = absl::StrCat("x=aaaaaaaa\n", Repeat("x=$x$x\n", 14));  // 128 KiB
  const std::string array = absl::StrCat("a=(1)\n", Repeat("a=(${a[@]} ${a[@]})\n", 11));
  const std::string nothings = absl::StrCat("a=('')\n", Repeat("a=(\"${a[@]}\" \"${a[@]}\")\n", 11));
  const std::string text = absl::StrCat("x=aaaaaaaa\n", Repeat("x=$x$x\n", 9), "x=${x:0:4000}\n");
  const std::string pattern = absl::StrCat("*", std::string(120, 'a'), "b");
  const auto often = [](absl::string_view body) {
    const std::string items = Repeat("1 ", 64);
    return absl::StrCat("for i in ", items, "; do for j in ", items, "; do ", body, " done; done\n");
  };
  for (const std::string& script : {
           absl::StrCat(value, often(Repeat("y=${x:0:1};", 90))),
           absl::StrCat(array, often(Repeat("y=${a[@]:0:1};", 70))), absl::StrCat(nothings, often("a=(\"${a[@]}\");")),
           absl::StrCat(text, often(absl::StrCat("y=${x##", pattern, "};"))),
           absl::StrCat(text, "case $x in\n", Repeat(absl::StrCat(pattern, ") ;;\n"), 7000), "esac\n"),
           absl::StrCat("export x\n", value, often(Repeat("x+=a;", 100))),
           Repeat("a[ \n", 40'000),  // no bracket closes
       }) {
    const ShellLaunch launch = ReadShellLaunch(script + "torchrun pretrain_gpt.py --num-layers 4\n", {});
    EXPECT_TRUE(launch.too_much_work) << script.substr(0, 80);
    EXPECT_TRUE(launch.args.empty());
    ASSERT_EQ(launch.findings.size(), 1u);
    EXPECT_EQ(launch.findings[0].finding.rule_id, "input.limit");
  }
}

// What stands behind a list is once more in each of its words: 1 MiB of script was 430 MiB of memory.
TEST(ShellReader, WordsOfAListAreTogetherNoLongerThanOneWordMayBe) {
  const std::string tail(100'000, 'a');
  const ShellLaunch launch =
      ReadShellLaunch(absl::StrCat("echo {1..4000}", tail, "\ntorchrun pretrain_gpt.py --num-layers 4\n"), {});
  EXPECT_EQ(launch.args.size(), 2u);
  ASSERT_EQ(launch.findings.size(), 1u);
  EXPECT_EQ(launch.findings[0].finding.needs, "more words than are read");
  const Work work(uint64_t{1} << 24);
  ReadShellLaunch(absl::StrCat("echo {1..4000}", tail, "\n"), {});
  EXPECT_LT(work.used(), uint64_t{4} << 20);
}

// Of many that are met one counts: what is exported is not copied for each. Once it was, for 16 s.
TEST(ShellReader, ALaunchInALoopCostsNoMoreWhereMoreIsExported) {
  const auto allocations = [](int variables, absl::string_view launcher) {
    std::string script = "export";
    const std::string value(40, 'a');  // a map that is copied over another allocates no more than these
    for (int i = 0; i < variables; ++i) absl::StrAppend(&script, " A", i, "=", value);
    const std::string items = Repeat("1 ", 60);
    absl::StrAppend(&script, "\nfor i in ", items, "; do for j in ", items, "; do ", launcher, "; done; done\n");
    const int64_t before = bench::Allocations();
    const ShellLaunch launch = ReadShellLaunch(script, {});
    EXPECT_EQ(launch.vars.size(), static_cast<size_t>(variables)) << launcher;
    return bench::Allocations() - before;
  };
  for (const absl::string_view launcher :
       {"a.py --bf16", "torchrun --nproc-per-node 8 a.py --bf16", "srun -n 8 a.py --bf16",
        "ray job submit --runtime-env-json={} -- a.py --bf16"}) {
    EXPECT_LT(allocations(1000, launcher), allocations(1, launcher) + int64_t{1000} * 32) << launcher;
  }
}

// What a shell changes is gone with it: that is a copy of all that it starts with, and counted.
TEST(ShellReader, AShellInALoopIsCountedAsWork) {
  const auto script = [](int variables) {
    std::string text = "export";
    for (int i = 0; i < variables; ++i) absl::StrAppend(&text, " A", i, "=", std::string(40, 'a'));
    const std::string items = Repeat("1 ", 60);
    return absl::StrCat(text, "\nfor i in ", items, "; do for j in ", items,
                        "; do bash -c 'a.py --bf16'; done; done\n");
  };
  EXPECT_TRUE(ReadShellLaunch(script(1000), {}).too_much_work);
  EXPECT_EQ(ReadShellLaunch(script(10), {}).vars.size(), 10u);
}

// What is exported behind the launch is not the launch's, whatever was met before.
TEST(ShellReader, TheLaunchThatCountsHasTheVariablesThatStoodThen) {
  const ShellLaunch launch = ReadShellLaunch(
      "export A=1 B=1 C=1\npython a.py --seq-length 1\nexport A=2 D=2\npython a.py --seq-length 2\n"
      "export A=3 B=3 E=3\nA=4 python tool.py --x\nexport A=5 F=5\npython tool.py\n",
      {});
  EXPECT_EQ(launch.vars, (EnvVars{{"A", "2"}, {"B", "1"}, {"C", "1"}, {"D", "2"}}));
}

// A new variable takes hundreds of bytes and half a microsecond, however short it is: of a script of 1 MB 130,000 took
// half a second.
TEST(ShellReader, EachVariableCountsAsWork) {
  const auto units = [](const std::string& script) {
    const Work work(uint64_t{1} << 40);
    ReadShellLaunch(script + "\npython a.py --bf16\n", {});
    return work.used();
  };
  const auto numbered = [](absl::string_view before, absl::string_view behind) {
    std::string text;
    for (int i = 0; i < 10'000; ++i) absl::StrAppend(&text, before, i, behind);
    return text;
  };
  for (const std::string& script :
       {numbered("A", "=\n"), numbered("A", "= "), absl::StrCat("declare -A m\n", numbered("m[k", "]=\n"))}) {
    EXPECT_GT(units(script), uint64_t{10'000} * 500) << script.substr(0, 40);
  }
  EXPECT_GT(units(absl::StrCat("export ", numbered("A", "= "))), uint64_t{10'000} * 1000);  // its name twice
  EXPECT_GT(units(absl::StrCat(numbered("A", "=\n"), numbered(": $A", "\n"))), uint64_t{10'000} * 600);
  const std::string json = numbered("\"A", "\":\"\",");
  EXPECT_GT(
      units(absl::StrCat("ray job submit --runtime-env-json='{\"env_vars\":{", json, "\"B\":\"\"}}' -- b.py --x")),
      uint64_t{10'000} * 1200);
  // One that is set again is no new one; and a script of a thousand lines stays far from the bound.
  EXPECT_LT(units(Repeat("export A=1\n", 1000)), kMaxScriptWork / 32);
}

// A repair copies them for every change that it tries: 30,000 of them took 5.4 s.
TEST(ShellReader, ExportedVariablesHaveABound) {
  std::string script;
  for (size_t i = 0; i <= kMaxShellExports; ++i) absl::StrAppend(&script, "export A", i, "=1\n");
  const ShellLaunch launch = ReadShellLaunch(script + "A0=2 python a.py --bf16\n", {});
  EXPECT_EQ(launch.vars.size(), kMaxShellExports);
  EXPECT_EQ(launch.vars.at("A0"), "2");
  ASSERT_EQ(launch.findings.size(), 1u);
  EXPECT_EQ(launch.findings[0].finding.rule_id, "input.limit");
  EXPECT_EQ(launch.findings[0].finding.needs, "at most 1024 exported variables are read");
}

TEST(ShellReader, NumbersThatSeqPrintsCountAsWords) {
  const auto units = [](absl::string_view script) {
    const Work work(uint64_t{1} << 40);
    ReadShellLaunch(script, {});
    return work.used();
  };
  EXPECT_GT(units("x=$(seq 1 1000)\n"), units("x=$(seq 1 1)\n") + 1000 * kShellWordCosts);
}

// A training that no Python file starts.
TEST(ShellReader, ReadsTheCommandOfAStack) {
  const ShellLaunch launch =
      ReadShellLaunch("NPROC_PER_NODE=8 /opt/bin/megatron sft --lr 1e-5\nmegatron merge --lr 2e-5\n", {});
  EXPECT_EQ(launch.script, "megatron sft");
  ASSERT_EQ(launch.args.size(), 3U);
  EXPECT_EQ(launch.args[0].text, "sft");
  EXPECT_EQ(launch.args[2].text, "1e-5");
  EXPECT_EQ(launch.vars.at("NPROC_PER_NODE"), "8");
}

// With its variables, unless the delimiter is quoted; what a run alone knows is no value.
TEST(ShellReader, KeepsTheSettingsThatAScriptWrites) {
  const auto written = [](const std::string& script) {
    return ReadShellLaunch(absl::StrCat("TP=4\n", script, "\npython x.py --bf16\n"), {}).written_files;
  };
  using Files = std::map<std::string, std::string>;
  EXPECT_EQ(written("cat > ./conf/a.yaml <<EOF\ntp: ${TP}\nlr: \"$LR\"\nn: $(nproc)\ncost: \\$TP\nEOF"),
            (Files{{"conf/a.yaml", "tp: 4\nlr: \"${not_known}\"\nn: ${not_known}\ncost: $TP\n"}}));
  EXPECT_EQ(written("cat <<'EOF' >a.yml\ntp: $TP\nEOF"), (Files{{"a.yml", "tp: $TP\n"}}));
  EXPECT_EQ(written("cat <<-EOF > a.yaml\na: 1\n\tEOF\ncat >> a.yaml <<EOF\nb: $TP\nEOF"),
            (Files{{"a.yaml", "a: 1\nb: 4\n"}}));
  EXPECT_EQ(written("cat > a.yaml <<EOF\na: 1\nEOF\ncat a.yaml\nchmod 600 a.yaml\npython y.py --f a.yaml"),
            (Files{{"a.yaml", "a: 1\n"}}));
  EXPECT_EQ(written("tee a.yaml > /dev/null <<EOF\na: $TP\nEOF"), (Files{{"a.yaml", "a: 4\n"}}));
  for (const char* script : {
           "cat > $DIR/a.yaml <<EOF\na: 1\nEOF",                        // nobody knows where
           "cat > a.yaml <<EOF\nlist: [$LR]\nEOF",                      // no YAML with another word there
           "cat > hosts <<EOF\n$NODES\nEOF",                            // no settings
           "cat 2> a.yaml <<EOF\na: 1\nEOF",                            // errors
           "cat b > a.yaml <<EOF\na: 1\nEOF",                           // another file
           "if [ $(x) = 1 ]; then\ncat > a.yaml <<EOF\na: 1\nEOF\nfi",  // only a run knows whether
           "echo > a.yaml; cat <<EOF\na: 1\nEOF",
           "cat > a.yaml <<EOF\na: 1\nEOF\nsed -i s/1/2/ ./a.yaml",
           "cat > a.yaml <<EOF\na: 1\nEOF\necho 'b: 2' >> a.yaml",
           "cat > a.yaml <<EOF\na: 1\nEOF\nif [ $(x) = 1 ]; then\ncat > a.yaml <<EOF\na: 2\nEOF\nfi",
       }) {
    EXPECT_EQ(written(script), Files()) << script;
  }
}

}  // namespace
}  // namespace flightplan
