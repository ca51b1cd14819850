// A queue of 1,000 launch scripts, judged by one `flightplan validate --batch` on one core: reading the files, telling
// the stack, judging, and writing the table. Run by hand; no test asserts a time.
#include <sched.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <fstream>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "clients/cli/command.h"
#include "tests/support/temporary_folder.h"

namespace flightplan {
namespace {

constexpr int kScripts = 1000;
constexpr int kRuns = 5;

// No two alike, so that nothing is answered from memory; a third of them is wrong.
std::string Script(int i) {
  const int tp = 1 << (i % 4);
  const int pp = i % 3 == 0 ? 3 : 4;  // 32 layers do not divide by 3
  return absl::StrCat(
      "#!/bin/bash\n#SBATCH --nodes=", 4 + 4 * (i % 8), "\n#SBATCH --gpus-per-node=8\n",
      "export CUDA_DEVICE_MAX_CONNECTIONS=1\nexport NCCL_DEBUG=WARN\nMODEL_ARGS=(\n  --num-layers 32\n  --hidden-size "
      "4096\n"
      "  --ffn-hidden-size 14336\n  --num-attention-heads 32\n  --group-query-attention\n  --num-query-groups 8\n"
      "  --seq-length 4096\n  --max-position-embeddings 32768\n  --num-experts 8\n  --moe-router-topk 2\n"
      "  --moe-grouped-gemm\n  --moe-token-dispatcher-type alltoall\n  --moe-aux-loss-coeff 1e-2\n  "
      "--disable-bias-linear\n)\nTRAINING_ARGS=(\n"
      "  --micro-batch-size 1\n  --global-batch-size ",
      128 * (1 + i % 5), "\n  --lr 1e-4\n  --train-iters ", 1000 + i,
      "\n  --lr-decay-iters 320000\n  --lr-decay-style cosine\n  --min-lr 1.0e-5\n  --weight-decay 0.1\n  --clip-grad "
      "1.0\n"
      "  --bf16\n  --recompute-granularity full\n  --recompute-method uniform\n  --recompute-num-layers 1\n)\n"
      "srun torchrun --nnodes $SLURM_NNODES --nproc-per-node 8 --rdzv-id $RANDOM pretrain_gpt.py ${MODEL_ARGS[@]} "
      "${TRAINING_ARGS[@]} --tensor-model-parallel-size ",
      tp, " --pipeline-model-parallel-size ", pp,
      " --expert-model-parallel-size 4 --use-distributed-optimizer --sequence-parallel --mock-data --tokenizer-type "
      "NullTokenizer --vocab-size 32000 --data-cache-path /data/",
      i, "\n");
}

bool PinToOneCore() {
  cpu_set_t now, one;
  if (sched_getaffinity(0, sizeof(now), &now) != 0) return false;
  CPU_ZERO(&one);
  for (int core = 0; core < CPU_SETSIZE; ++core) {
    if (!CPU_ISSET(core, &now)) continue;
    CPU_SET(core, &one);
    return sched_setaffinity(0, sizeof(one), &one) == 0;
  }
  return false;
}

int Main() {
  const TemporaryFolder folder;
  if (!PinToOneCore()) {
    std::fprintf(stderr, "cannot pin to one core\n");
    return 1;
  }
  size_t bytes = 0;
  for (int i = 0; i < kScripts; ++i) {
    const std::string text = Script(i);
    bytes += text.size();
    std::ofstream(folder.File(absl::StrCat(i, ".sbatch"))) << text;
  }
  std::vector<double> seconds, cpu_seconds;
  for (int run = 0; run < kRuns; ++run) {
    cli::Context context;
    const auto start = std::chrono::steady_clock::now();
    const std::clock_t cpu_start = std::clock();
    const int code = cli::RunCommandLine(std::vector<std::string>{"validate", "--batch", folder.path()}, context);
    seconds.push_back(std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
    cpu_seconds.push_back(static_cast<double>(std::clock() - cpu_start) / CLOCKS_PER_SEC);
    if (run == 0) {
      const size_t line = context.out.rfind('\n', context.out.find("files:")) + 1;
      std::printf("exit code %d, %s", code, context.out.substr(line, context.out.find('\n', line) + 1 - line).c_str());
    }
  }
  std::sort(seconds.begin(), seconds.end());
  std::sort(cpu_seconds.begin(), cpu_seconds.end());
  std::printf("%d scripts of %zu bytes on one core: median %.3f s of %d runs (%.3f..%.3f), CPU time %.3f s\n", kScripts,
              bytes / kScripts, seconds[kRuns / 2], kRuns, seconds.front(), seconds.back(), cpu_seconds[kRuns / 2]);
  return 0;
}

}  // namespace
}  // namespace flightplan

int main() { return flightplan::Main(); }
