"""What tests of the doors that install themselves share: a launch, and a stand-in for the wheel."""
import base64
import hashlib
import pathlib
import re
import shlex
import zipfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
VERSION = re.search(r"^project\(flightplan VERSION ([0-9.]+)", (ROOT / "CMakeLists.txt").read_text(), re.M).group(1)

# Good with tp 2, refused with tp 3.
LAUNCH = """#!/bin/bash
export CUDA_DEVICE_MAX_CONNECTIONS=1
torchrun --nnodes 2 --nproc-per-node 8 pretrain_gpt.py --num-layers 32 --hidden-size 4096 --num-attention-heads 32 \\
  --seq-length 4096 --max-position-embeddings 4096 --micro-batch-size 1 --global-batch-size 128 --bf16 --train-iters 10 \\
  --lr 1e-4 --mock-data --tokenizer-type NullTokenizer --vocab-size 32000 --pipeline-model-parallel-size 2 \\
  --tensor-model-parallel-size {tp}
"""


def write_wheel(folder, program):
    """A wheel named flightplan whose command is that program."""
    info = f"flightplan-{VERSION}.dist-info"
    files = {
        f"flightplan-{VERSION}.data/scripts/flightplan": f"#!/bin/sh\nexec {shlex.quote(program)} \"$@\"\n",
        f"{info}/METADATA": f"Metadata-Version: 2.1\nName: flightplan\nVersion: {VERSION}\n",
        f"{info}/WHEEL": "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    }
    record = ""
    for name, text in files.items():
        digest = base64.urlsafe_b64encode(hashlib.sha256(text.encode()).digest()).rstrip(b"=").decode()
        record += f"{name},sha256={digest},{len(text.encode())}\n"
    files[f"{info}/RECORD"] = record + f"{info}/RECORD,,\n"
    with zipfile.ZipFile(folder / f"flightplan-{VERSION}-py3-none-any.whl", "w") as wheel:
        for name, text in files.items():
            entry = zipfile.ZipInfo(name)
            entry.external_attr = (0o100755 if "/scripts/" in name else 0o100644) << 16
            wheel.writestr(entry, text)
