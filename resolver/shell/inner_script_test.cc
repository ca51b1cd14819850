#include "resolver/shell/inner_script.h"

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "resolver/shell/reader.h"

namespace flightplan {
namespace {

// The words of the launch; what only a run would know has a '?' in front.
std::string Launched(absl::string_view script) {
  std::string words;
  for (const Argument& arg : ReadShellLaunch(script, {}).args) {
    absl::StrAppend(&words, words.empty() ? "" : " ", arg.unknown ? "?" : "", arg.text);
  }
  return words;
}

TEST(HereDocument, IsReadIntoVariables) {
  EXPECT_EQ(Launched("read TP PP <<EOF\n2 4\nEOF\npython x.py --tp $TP --pp $PP\n"), "--tp 2 --pp 4");
  EXPECT_EQ(Launched("N=8\nread -r -d '' ARGS <<EOF || true\n  --tp 2\n  --layers $N\nEOF\npython x.py $ARGS\n"),
            "--tp 2 --layers 8");
  EXPECT_EQ(Launched("read -r -d '' ARGS <<'EOF'\n--tp $N\nEOF\npython x.py $ARGS\n"), "--tp $N");
  EXPECT_EQ(Launched("read -ra ARGS <<EOF\n--tp 2\nEOF\npython x.py ${ARGS[@]} --pp 1\n"), "--tp 2 --pp 1");
  EXPECT_EQ(Launched("read TP <<EOF\n$(nproc)\nEOF\npython x.py --tp $TP\n"), "--tp ?$TP");
  EXPECT_EQ(Launched("read -n 1 TP <<EOF\n16\nEOF\npython x.py --tp $TP\n"), "--tp ?$TP");
}

TEST(HereDocument, IsWhatCatPrints) {
  EXPECT_EQ(Launched("N=4\nARGS=$(cat <<EOF\n--tp 2\n--layers $N\nEOF\n)\npython x.py $ARGS\n"), "--tp 2 --layers 4");
  EXPECT_EQ(Launched("ARGS=$(cat <<'EOF'\n--tp $N\nEOF\n)\npython x.py $ARGS\n"), "--tp $N");
  EXPECT_EQ(Launched("python x.py $(cat <<EOF | tr a b\n--tp 2\nEOF\n)\n").substr(0, 1), "?");
}

// As the model files of slime write the list of their layers.
TEST(PrintedList, IsKnown) {
  EXPECT_EQ(Launched("A=()\nfor ((i=0; i<3; i++)); do A+=($((i > 0))); done\n"
                     "printf -v F \"[%s]\" \"$(IFS=', '; echo \"${A[*]}\")\"\npython x.py --freq \"$F\" ${A[*]}\n"),
            "--freq [0,1,1] 0 1 1");
  // Where no branch that is taken launches anything, each of them is read, and each loop once.
  EXPECT_EQ(Launched("X=stop\nif [ $X = go ]; then\nA=()\nfor ((i=0; i<3; i++)); do A+=(1); done\n"
                     "printf -v F \"[%s]\" \"$(IFS=', '; echo \"${A[*]}\")\"\npython x.py --freq \"$F\"\nfi\n"),
            "--freq ?[$(IFS=', '; echo \"${A[*]}\")]");
  EXPECT_EQ(Launched("printf -v N %02d 5\npython x.py --n $N\n"), "--n ?$N");
  EXPECT_EQ(Launched("printf -v N '%s-%d' a 5\npython x.py --n $N\n"), "--n a-5");
  EXPECT_EQ(Launched("python x.py --n $(IFS=,; date)\n"), "--n ?$(IFS=,; date)");
}

TEST(InnerScript, StandsBehindOptionsOfTheShell) {
  for (const absl::string_view shell : {"bash -c", "bash -x -c", "bash -exc", "bash -o pipefail -c", "sh -ce",
                                        "bash --norc -c", "bash -euo pipefail -c", "srun -N 2 bash -x -lc"}) {
    EXPECT_EQ(Launched(absl::StrCat(shell, " 'python x.py --tp 2'\n")), "--tp 2") << shell;
  }
  EXPECT_EQ(Launched("ssh node1 'cd /work && python x.py --tp 2'\n"), "--tp 2");
}

TEST(InnerScript, IsSubmittedToSlurm) {
  const ShellLaunch document = ReadShellLaunch(
      "NODES=2\nsbatch --gpus-per-node 8 --ntasks-per-node 8 <<EOF\n#!/bin/bash\n#SBATCH --nodes=$NODES\nsrun python "
      "x.py --nodes "
      "\\$SLURM_NNODES --ours $NODES\nEOF\n",
      {});
  ASSERT_EQ(document.args.size(), 4U);
  EXPECT_EQ(document.args[1].text, "2");
  EXPECT_EQ(document.args[3].text, "2");
  EXPECT_EQ(document.world_size, 16);
  const ShellLaunch wrapped =
      ReadShellLaunch("sbatch -N 4 -n 32 --gpus-per-node=8 --wrap=\"srun python x.py --tp 2\"\n", {});
  ASSERT_EQ(wrapped.args.size(), 2U);
  EXPECT_EQ(wrapped.world_size, 32);
  EXPECT_EQ(Launched("sbatch --wrap 'python x.py --tp 2'\n"), "--tp 2");
  EXPECT_EQ(Launched("ssh node1 <<EOF\npython x.py --tp 2\nEOF\n"), "--tp 2");
}

TEST(InnerScript, IsWrittenAndRun) {
  const std::string write = "N=8\ncat > job.sh <<EOF\n#!/bin/bash\n#SBATCH --nodes=2\npython x.py --n $N\nEOF\n";
  for (const absl::string_view run :
       {"bash job.sh", "bash -x ./job.sh", "chmod +x job.sh; ./job.sh", "sbatch -p a job.sh"}) {
    EXPECT_EQ(Launched(absl::StrCat(write, run, "\n")), "--n 8") << run;
  }
  EXPECT_EQ(Launched(absl::StrCat(write, "sed -i s/8/9/ job.sh\nbash job.sh\n")), "");
  EXPECT_EQ(Launched(absl::StrCat(write, "cat job.sh\n")), "");
  EXPECT_EQ(ReadShellLaunch(absl::StrCat(write, "sbatch --gpus-per-node=4 job.sh\n"), {}).world_size, 8);
}

TEST(InnerScript, ATrainingThatNoStackIsKnownToStartIsNamed) {
  EXPECT_EQ(ReadShellLaunch("torchrun -m verl.trainer.sft_trainer engine=megatron\n", {}).unread_module,
            "-m verl.trainer.sft_trainer");
  EXPECT_EQ(ReadShellLaunch("python -m pip install x\n", {}).unread_module, "");
  EXPECT_EQ(ReadShellLaunch("ray job submit -- python3 -m recipe.x.main trainer.nnodes=2\n", {}).unread_module,
            "-m recipe.x.main");
  const ShellLaunch recipe = ReadShellLaunch(
      "ray job submit --no-wait -- python3 -m recipe.x.main actor_rollout_ref.actor.megatron.param_offload=True\n", {});
  EXPECT_EQ(recipe.script, "-m recipe.x.main");
  EXPECT_EQ(recipe.args.size(), 2U);
}

TEST(InnerScript, WordsOfTheCommandOverruleTheLinesOfItsScript) {
  const absl::string_view options[] = {"--nodes", "4"};
  EXPECT_EQ(ReadSbatch(options, "#!/bin/bash\n#SBATCH --nodes=2 --gpus-per-node=8\n").GpuCount(), 32);
}

}  // namespace
}  // namespace flightplan
