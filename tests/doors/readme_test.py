#!/usr/bin/env python3
"""Runs every `flightplan` example of the README and of the doors' own READMEs, as it stands.

A line may leave out what the page has shown before: "..." stands for the question of the first example. The clients'
own READMEs are run by their own tests (clients/*/test.sh).

usage: readme_test.py FLIGHTPLAN_BINARY
"""
import json
import os
import pathlib
import re
import shlex
import subprocess
import sys
import tempfile
import time

FLIGHTPLAN = os.path.abspath(sys.argv[1])
ROOT = pathlib.Path(__file__).resolve().parents[2]
PAGES = ["README.md", "clients/slurm/README.md", "clients/kubernetes/README.md"]

TRAIN = """#!/bin/bash
export CUDA_DEVICE_MAX_CONNECTIONS=1
torchrun --nnodes 2 --nproc-per-node 8 pretrain_gpt.py --num-layers 32 --hidden-size 4096 --num-attention-heads 32 \\
  --seq-length 4096 --max-position-embeddings 4096 --micro-batch-size 1 --global-batch-size 128 --bf16 --train-iters 10 \\
  --lr 1e-4 --mock-data --tokenizer-type NullTokenizer --vocab-size 32000 --pipeline-model-parallel-size 2 \\
  --tensor-model-parallel-size 3
"""
CONFIG_JSON = {
    "architectures": ["Qwen3MoeForCausalLM"], "model_type": "qwen3_moe", "hidden_size": 2048, "intermediate_size": 6144,
    "num_hidden_layers": 24, "num_attention_heads": 32, "num_key_value_heads": 4, "head_dim": 128, "vocab_size": 151936,
    "num_experts": 64, "num_experts_per_tok": 8, "moe_intermediate_size": 768, "norm_topk_prob": True,
    "decoder_sparse_step": 1, "mlp_only_layers": [], "hidden_act": "silu", "rms_norm_eps": 1e-06,
    "rope_theta": 1000000.0, "max_position_embeddings": 40960, "tie_word_embeddings": False,
}
PROFILE = {
    "name": "h200", "device_name": "NVIDIA H200", "measure_time": "2026-01-01T00:00:00Z", "kind": "measured",
    "rows": [{"id": "launch.empty", "unit": "us", "value": 2.2, "low": 2.1, "high": 2.3, "sample_count": 30,
              "kind": "measured"}],
}

# What "..." stands for, by how the line begins.
LEFT_OUT = {
    "flightplan diff": "--model deepseek-v3 --gpu h100-sxm",
    "flightplan resolve": "--model deepseek-v3 --gpu h100-sxm --gpus 1024 --tp 2 --pp 8 --vpp 4 --ep 64",
    "flightplan resolve ... --profile": "--model qwen3-30b-a3b --gpu h200-sxm --gpus 16 --tp 1 --pp 1 --ep 8",
    "flightplan timeline": "--model deepseek-v3 --gpu h100-sxm",
    "flightplan validate": "--num-layers 24 --hidden-size 1024 --num-attention-heads 16",
}
# Exit code and text of its output, by how a line begins; the longest counts. Others end with 0 and print something.
EXPECTED = {
    "flightplan timeline": (0, None),  # into a file, which is looked at below
    "flightplan diff": (0, "expert_model_parallel_size"),
    "flightplan resolve --model deepseek-v3 --gpu h100-sxm --gpus 1024 --tp 2 --pp 8 --vpp 4 --ep 64 --format argv":
        (0, "--expert-model-parallel-size\n64\n"),
    "flightplan plan": (0, "qwen3-30b-a3b"),
    "flightplan explain": (0, "alltoall"),
    "flightplan models --import": (0, "24"),
    "flightplan validate": (1, "fix"),  # the layout of the script does not fit, whoever is asked
    "flightplan validate --batch": (1, "train"),
    "flightplan validate --batch @changed-files.txt": (1, None),  # into a file, which is looked at below
    "flightplan validate --gpus 16 --": (1, "micro_batch_size"),
    "flightplan validate dump.yaml": (1, "megatron-bridge"),
    "flightplan fix": (0, "+"),
    "flightplan convert": (1, "pipeline"),
    "flightplan schema": (0, None),  # into a file
    "flightplan observe": (0, "4200"),
    "flightplan observe run.log": (0, "4.2 s"),
    "flightplan probe --out": ((0, 1), None),  # 1: no GPU here
    "flightplan probe --model": ((0, 1), None),
    "flightplan probe --fake": (0, ""),
}
# What a run of a script prints, that the layout of TRAIN does not fit.
RUN = "".join(f" iteration {i:8d}/      10 | elapsed time per iteration (ms): 4200.{i} | global batch size:   128 |\n" for i in range(1, 11))
# What nccl-tests prints for two GPUs of one node.
EXCHANGE = """# Collective test starting: alltoall_perf
#  Rank  0 Group  0 Pid 1 on node1 device  0 [0000:4e:00] NVIDIA H200
#  Rank  1 Group  0 Pid 2 on node1 device  1 [0000:5f:00] NVIDIA H200
   524288000      32768000     float    none      -1  1174.14  446.53  223.27       0  1163.40  450.65  225.33    N/A
"""
# Not run here: these go on until they are ended; the tests of the server and of the webhook start them.
ENDLESS = ["flightplan serve"]


def examples():
    """(page, line) of every example, without its comment."""
    for page in PAGES:
        text = (ROOT / page).read_text()
        lines = [line for line in re.findall(r"^    (?:\$ )?(?:build/release/bin/)?(flightplan .*)$", text, re.M)]
        lines += re.findall(r"`(flightplan (?:validate|resolve|plan|convert) [^`]*)`", text.replace("\n", " "))
        for line in dict.fromkeys(re.sub(r"\s+# .*| {4,}.*", "", line).strip() for line in lines):
            if not any(line.startswith(endless) for endless in ENDLESS):
                yield page, line


def longest(table, line):
    return table.get(max((key for key in table if line.startswith(key)), key=len, default=None))


def prepare(work):
    (work / "queue").mkdir()
    for name in ("train.sh", "pretrain.sh", "train.sbatch", "queue/train.sbatch"):
        (work / name).write_text(TRAIN)
    (work / "changed-files.txt").write_text("train.sh\n")
    (work / "config.json").write_text(json.dumps(CONFIG_JSON))
    model = "  num_layers: 24\n  hidden_size: 1024\n  num_attention_heads: 16\n"
    (work / "dump.yaml").write_text(f"model:\n{model}  recompute_granularity: full\n")
    (work / "h200.json").write_text(json.dumps(PROFILE))
    (work / "alltoall_perf.log").write_text(EXCHANGE)
    (work / "logs").mkdir()
    for name in ("run.log", "logs/rank0.log"):
        (work / name).write_text(RUN)
    (work / "probe").symlink_to(ROOT / "probe")
    (work / "flightplan").symlink_to(FLIGHTPLAN)


def judge(line, done):
    """What is wrong with how the line ended; empty: nothing."""
    code, text = longest(EXPECTED, line) or (0, "")
    codes = code if isinstance(code, tuple) else (code,)
    if done.returncode not in codes:
        return f"ends with {done.returncode}, not {codes}"
    if text is None:
        return ""
    printed = done.stdout + done.stderr
    return "" if printed.strip() and text in printed else f"prints no {text!r}"


def front_page(output):
    """The page at the head of the README has the parts that the program prints."""
    shown = (ROOT / "README.md").read_text().split("\n## ")[0].partition("    $ flightplan resolve ")[2]
    heads = r"^    ([a-z/A-Z]+)(?= )"
    parts = set(re.findall(heads, shown, re.M)) - {"flightplan"}
    printed = set(re.findall(heads.replace("^    ", "^"), output, re.M))
    assert len(parts) > 10, parts
    return [part for part in sorted(parts) if part not in printed]


def main():
    lines = list(examples())
    assert len(lines) >= 25, lines
    failed = 0
    with tempfile.TemporaryDirectory() as folder:
        work = pathlib.Path(folder)
        prepare(work)
        environment = {**os.environ, "PATH": f"{work}:{os.environ['PATH']}", "FLIGHTPLAN_PROFILE_DIR": f"{work}/profiles",
                       "COLUMNS": "100"}
        socket = work / "flightplan.sock"
        server = subprocess.Popen([FLIGHTPLAN, "serve", f"--listen=unix:{socket}", "--http_listen=", "--drain_delay=0s"],
                                  stderr=subprocess.DEVNULL)
        try:
            while not socket.exists() and server.poll() is None:
                time.sleep(0.05)
            for page, line in lines:
                question = longest(LEFT_OUT, line)
                command = line.replace("/run/flightplan/flightplan.sock", str(socket))
                if question is not None:
                    command = command.replace(" ...", f" {question}")
                done = subprocess.run(["bash", "-c", command], cwd=work, env=environment, capture_output=True, text=True,
                                      timeout=120)
                wrong = judge(line, done)
                if not wrong and shlex.split(line)[1:] == shlex.split(f"resolve {LEFT_OUT['flightplan resolve']}"):
                    missing = front_page(done.stdout)
                    wrong = f"the page lacks {missing}" if missing else ""
                print("FAIL" if wrong else "ok  ", page, line, wrong)
                if wrong:
                    print(done.stdout + done.stderr)
                    failed += 1
        finally:
            server.terminate()
            server.wait()
        assert '"version": "2.1.0"' in (work / "launches.sarif").read_text()
        assert "</svg>" in (work / "step.svg").read_text()
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
