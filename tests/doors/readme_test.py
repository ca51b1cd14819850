#!/usr/bin/env python3
"""Runs every `flightplan` line of the README's section on doors, and of the doors' own READMEs, as it stands.

usage: readme_test.py FLIGHTPLAN_BINARY
"""
import os
import pathlib
import re
import subprocess
import sys
import tempfile

FLIGHTPLAN = os.path.abspath(sys.argv[1])
ROOT = pathlib.Path(__file__).resolve().parents[2]

TRAIN = """#!/bin/bash
export CUDA_DEVICE_MAX_CONNECTIONS=1
torchrun --nnodes 2 --nproc-per-node 8 pretrain_gpt.py --num-layers 32 --hidden-size 4096 --num-attention-heads 32 \\
  --seq-length 4096 --max-position-embeddings 4096 --micro-batch-size 1 --global-batch-size 128 --bf16 --train-iters 10 \\
  --lr 1e-4 --mock-data --tokenizer-type NullTokenizer --vocab-size 32000 --pipeline-model-parallel-size 2 \\
  --tensor-model-parallel-size 3
"""


def examples():
    readme = (ROOT / "README.md").read_text()
    section = readme.split("## The doors")[1].split("\n## ")[0]
    texts = [section] + [(ROOT / f"clients/{door}/README.md").read_text() for door in ("slurm", "kubernetes")]
    for text in texts:
        yield from re.findall(r"^    (flightplan (?:validate|convert) .*)$", text, re.M)
        yield from re.findall(r"`(flightplan validate [^`]*)`", text.replace("\n", " "))


def main():
    lines = list(examples())
    assert len(lines) >= 6, lines
    failed = 0
    with tempfile.TemporaryDirectory() as folder:
        work = pathlib.Path(folder)
        (work / "queue").mkdir()
        for name in ("train.sh", "train.sbatch", "queue/train.sbatch"):
            (work / name).write_text(TRAIN)
        (work / "changed-files.txt").write_text("train.sh\n")
        (work / "flightplan").symlink_to(FLIGHTPLAN)
        environment = {**os.environ, "PATH": f"{work}:{os.environ['PATH']}"}
        for line in lines:
            done = subprocess.run(["bash", "-c", line], cwd=work, env=environment, capture_output=True, text=True, timeout=60)
            good = done.returncode == 1  # the script's layout does not fit, whoever is asked
            print("ok  " if good else "FAIL", done.returncode, line)
            if not good:
                print(done.stdout + done.stderr)
                failed += 1
        assert '"version": "2.1.0"' in (work / "launches.sarif").read_text()
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
