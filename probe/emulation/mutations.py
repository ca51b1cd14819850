#!/usr/bin/env python3
"""The emulation's own test: kernels with a fault in them have to fail on it.

usage: mutations.py COMPILE_COMMANDS OBJECTS LIBRARIES
Each mutation below takes one thing away that a kernel cannot do without, on a copy of its file; the copy is compiled,
linked with the test's other objects (OBJECTS and LIBRARIES: lists with commas), and the test has to fail.
FLIGHTPLAN_MUTATIONS=REGEXP runs those alone whose names it finds.
"""

import concurrent.futures
import json
import os
import pathlib
import re
import shlex
import subprocess
import sys
import tempfile

PROBE = pathlib.Path(__file__).resolve().parent.parent
TMA, MMA = "gemm_tma.cu", "gemm_mma.cu"
GEMM_TESTS = "GemmsTest.*:*/ceilings*"
TEAM_TESTS = "TeamTest.EveryRank*"
# name, file of probe/kernels, what is replaced (once), by what, the tests that run
MUTATIONS = [
    ("TMA: barriers are not fenced", TMA, "    FenceBarriers();\n", "", GEMM_TESTS),
    ("TMA: consumers do not wait for a stage", TMA, "WaitFor(full + s, turn / kStages % 2, &in_vain);", "", GEMM_TESTS),
    ("TMA: the producer does not wait for readers", TMA, "WaitFor(empty + s, turn / kStages % 2 ^ 1, &in_vain);", "", GEMM_TESTS),
    ("TMA: the producer waits for the wrong phase", TMA, "turn / kStages % 2 ^ 1", "turn / kStages % 2", GEMM_TESTS),
    ("TMA: a stage is given back while it is read", TMA, "WaitForMatrices<1>();", "WaitForMatrices<2>();", GEMM_TESTS),
    ("TMA: sums are stored before they are there", TMA, "    WaitForMatrices<0>();\n", "", GEMM_TESTS),
    ("TMA: fewer bytes are expected than come", TMA, "ArriveAndExpect(full + s, kStageBytes)", "ArriveAndExpect(full + s, kABytes)", GEMM_TESTS),
    ("TMA: a map is not acquired", TMA, "      AcquireMap(b);\n", "", GEMM_TESTS),
    ("TMA: one warp's reading is enough", TMA, "InitBarrier(empty + s, kComputeWarps)", "InitBarrier(empty + s, 1)", GEMM_TESTS),
    ("TMA: the last stage is never given back", TMA, "    if (lane == 0) Arrive(empty + (turn - 1) % kStages);\n    Store", "    Store", GEMM_TESTS),
    ("TMA: a group is begun without its fence", TMA, "      BeginMatrices();\n", "", GEMM_TESTS),
    ("TMA: tiles are of the other operand's height", TMA, "k, n, kTileN, b)", "k, n, kTileM, b)", GEMM_TESTS),
    ("read: a block's words are put together before all are there", "ceilings.cu", "  __syncthreads();\n  if (threadIdx.x != 0) return;", "  if (threadIdx.x != 0) return;", "*/ceilings*"),
    ("mma.sync: no barrier before a stage is read", MMA, "      __syncthreads();  // everyone's copies", "      // everyone's copies", GEMM_TESTS),
    ("mma.sync: copies are waited for one step late", MMA, "WaitForCopies<kStages - 2>();", "WaitForCopies<kStages - 1>();", GEMM_TESTS),
    ("GEMM: more shared memory than was asked for", "gemm.cu", "const int shared = static_cast<int>(own.shared_bytes);", "const int shared = static_cast<int>(own.shared_bytes) / 2;", GEMM_TESTS),
    ("permute: places are read before they are written", "dispatch.cu", "  __syncthreads();\n  for (int i = static_cast<int>(threadIdx.x); i < words; i += kRowThreads) {\n    const uint4 word", "  for (int i = static_cast<int>(threadIdx.x); i < words; i += kRowThreads) {\n    const uint4 word", "*/dispatch*"),
    ("unpermute: warps' sums are read before they are written", "dispatch.cu", "  __syncthreads();\n  if (threadIdx.x < kTopk)", "  if (threadIdx.x < kTopk)", "*/dispatch*"),
    ("map: the scan reads what others have written", "routing.cu", "    const int before = e >= step ? total[e - step] : 0;\n    __syncthreads();\n", "    const int before = e >= step ? total[e - step] : 0;\n", "*/dispatch*"),
    ("cast: a square's largest is read before it is written", "fp8.cu", "  __syncthreads();\n#pragma unroll\n  for (int w = 0;", "#pragma unroll\n  for (int w = 0;", "*/experts*"),
    ("cast: a row's block has four threads too few", "fp8.cu", "for (int step = kLanes / 2;", "for (int step = kLanes / 4;", "*/experts*"),
    ("exchange: its shared memory is not asked for", "exchange.cu", "  CUDA_TRY(cudaFuncSetAttribute(SendKernel, cudaFuncAttributeMaxDynamicSharedMemorySize, shared));\n", "", "*/exchange*"),
    ("push: stores are not fenced", "peers.cu", "  FenceSystem();\n  __syncthreads();", "  __syncthreads();", TEAM_TESTS),
    ("push: a peer is told before all blocks have sent", "peers.cu", "  if (atomicAdd(&e.own->ended, 1u) + 1 < gridDim.x) return;\n", "  if (atomicAdd(&e.own->ended, 1u) > 0) return;\n", TEAM_TESTS),
    ("push: a rank goes on before its peers have sent", "peers.cu", "  WaitForAll(e, e.own->arrived, turn);\n", "", TEAM_TESTS),
    ("push: a peer's flag is another rank's", "peers.cu", "arrived[e.rank], turn", "arrived[(e.rank + 1) % 2], turn", TEAM_TESTS),
    ("pull: a peer is read before it is ready", "peers.cu", "    WaitForAll(e, e.own->ready, turn);\n", "", TEAM_TESTS),
    ("pull: a rank never says that it is ready", "peers.cu", "first && p < e.peers", "false && first && p < e.peers", TEAM_TESTS),
    ("combine: a peer is left out", "peers.cu", "          if (first + p >= e.peers) continue;\n", "          if (first + p + 1 >= e.peers) continue;\n", TEAM_TESTS),
    ("combine: peers are read before they are ready", "peers.cu", "  const uint32_t turn = BeginToRead(e);\n  Add(e);", "  bool first = false;\n  const uint32_t turn = threadIdx.x == 0 ? Begin(e, &first) : 0;\n  Add(e);", TEAM_TESTS),
    ("copies: a rank goes on before its peers have copied", "team.cu", "    for (cudaEvent_t event : sent_) CUDA_TRY(cudaStreamWaitEvent(stream_of(gpu), event));\n", "    stream_of(gpu);\n", TEAM_TESTS),
    ("copies: what is sent is not waited for", "team.cu", "    for (cudaStream_t branch : gpu.branches) CUDA_TRY(cudaStreamWaitEvent(branch, gpu.fork));\n", "", TEAM_TESTS),
    ("NCCL: a part comes from another place", "team.cu", "rank.send + rank.send_at[at], bytes", "rank.send, bytes", TEAM_TESTS),
    ("co-run: compute does not wait for the exchange", "corun.cu", "HasCome(counter, blocks)) return;", "true) return;", "Gate*"),
    ("exchange: its blocks are not counted", "exchange.cu", "  if (threadIdx.x == 0 && e.started != nullptr) atomicAdd(e.started, 1u);\n", "", "Gate*"),
    ("pair: a node does not wait for the one before", "pair.cu", "    if (chained) CUDA_TRY(cudaStreamWaitEvent(stream, chain));\n", "", "LayerPair*"),
    ("pair: the last exchange is not waited for", "pair.cu", "  CUDA_TRY(cudaStreamWaitEvent(compute, end_));\n", "", "LayerPair*"),
]


def compiler_of(commands, source):
    """The compiler and its options for a file, without the file and its outputs."""
    command = next(c for c in commands if c["file"] == str(source))
    words, kept = shlex.split(command["command"]), []
    skip = False
    for word in words:
        if skip or word in ("-c", str(source)):
            skip = False
        elif word in ("-o", "-MF", "-MT"):
            skip = True
        elif word != "-MD":
            kept.append(word)
    return kept, command["directory"]


def survives(mutation, commands, objects, libraries, work):
    """Null if the test failed, as it has to; else what went wrong."""
    _, name, old, new, tests = mutation
    source = PROBE / "kernels" / name
    text = source.read_text()
    if text.count(old) != 1:
        return f"stands {text.count(old)} times in {name}: the mutation wants to be written anew"
    work.mkdir(parents=True)
    mutated, compiled, program = work / name, work / "mutated.o", work / "test"
    mutated.write_text(text.replace(old, new))
    words, directory = compiler_of(commands, source)
    # What is unused without the line that was taken away is no matter here.
    done = subprocess.run(words + ["-Wno-error", "-w", "-c", str(mutated), "-o", str(compiled)], cwd=directory,
                          capture_output=True, text=True)
    if done.returncode != 0:
        return "does not compile:\n" + done.stderr[-2000:]
    others = [o for o in objects if pathlib.Path(o).name != name + ".o"]
    if len(others) + 1 != len(objects):
        return f"no object of {name} among the test's"
    cxx = [w for w in words if w.endswith("c++") or w.endswith("g++") or "clang++" in w][:1]
    flags = [w for w in words if w.startswith("-fsanitize")]
    subprocess.run(cxx + flags + [str(compiled)] + others + libraries + ["-pthread", "-ldl", "-rdynamic", "-o", str(program)],
                   cwd=directory, check=True)
    try:
        # What hangs is ended by the emulation, which counts turns and no time; a busy machine takes its time.
        ran = subprocess.run([str(program), "--gtest_filter=" + tests, "--gtest_fail_fast"], capture_output=True,
                             text=True, timeout=3000)
    except subprocess.TimeoutExpired:
        return "the test does not end"
    return "the test passes" if ran.returncode == 0 else None


def main():
    commands = json.loads(pathlib.Path(sys.argv[1]).read_text())
    objects, libraries = sys.argv[2].split(","), sys.argv[3].split(",")
    chosen = [m for m in MUTATIONS if re.search(os.environ.get("FLIGHTPLAN_MUTATIONS", ""), m[0])]
    with tempfile.TemporaryDirectory() as folder, concurrent.futures.ThreadPoolExecutor(2) as pool:
        runs = [pool.submit(survives, m, commands, objects, libraries, pathlib.Path(folder) / str(i))
                for i, m in enumerate(chosen)]
        outcomes = []
        for mutation, run in zip(chosen, runs):
            outcomes.append(run.result())
            print(("killed   " if outcomes[-1] is None else "SURVIVED ") + mutation[0], outcomes[-1] or "", flush=True)
    killed = outcomes.count(None)
    print(f"{killed} of {len(chosen)} mutations killed")
    return 0 if chosen and killed == len(chosen) else 1


if __name__ == "__main__":
    sys.exit(main())
