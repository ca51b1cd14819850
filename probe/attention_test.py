#!/usr/bin/env python3
"""attention.py against a stand-in for PyTorch, whose kernels take as long as a known rate says: the rows have that rate, so
FLOPs, passes and windows are counted right. No GPU and no PyTorch."""
import json
import pathlib
import subprocess
import sys
import tempfile

SCRIPT = pathlib.Path(__file__).with_name("attention.py")
RATES = {"attn.core.fwd": 600e12, "attn.core.bwd": 500e12}
HALF = {"attn.core.fwd": 430, "attn.core.bwd": 920}

TORCH = '''
import types
__version__, bfloat16 = "2.9.0", "bf16"
clock = [0.0]  # seconds


class Tensor:
    def __init__(self, *shape):
        self.shape = shape


def randn(*shape, device, dtype, requires_grad):
    assert device == "cuda" and dtype == bfloat16 and requires_grad
    return Tensor(*shape)


def randn_like(tensor):
    return Tensor(*tensor.shape)


class Event:
    def __init__(self, enable_timing):
        assert enable_timing

    def record(self):
        self.at = clock[0]

    def synchronize(self):
        pass

    def elapsed_time(self, end):
        return (end.at - self.at) * 1000


chosen = []


def attend(queries, keys, values, is_causal, enable_gqa):
    assert is_causal and enable_gqa and chosen == ["cudnn"] and keys.shape == values.shape
    batch, heads, sequence, size = queries.shape
    assert keys.shape == (batch, keys.shape[1], sequence, size) and heads % keys.shape[1] == 0
    pairs = sequence * sequence / 2
    clock[0] += batch * heads * pairs * 4 * size / 600e12 * (1 + 430 / sequence)
    return Tensor(*queries.shape)


def grad(out, inputs, gradient, retain_graph):
    assert retain_graph and len(inputs) == 3 and gradient.shape == out.shape
    batch, heads, sequence, size = out.shape
    clock[0] += 2.5 * batch * heads * sequence * sequence / 2 * 4 * size / 500e12 * (1 + 920 / sequence)


cuda = types.SimpleNamespace(Event=Event, is_available=lambda: True, get_device_name=lambda: "NVIDIA H200")
backends = types.SimpleNamespace(cudnn=types.SimpleNamespace(version=lambda: 91002))
autograd = types.SimpleNamespace(grad=grad)
'''
NN = "from . import attention, functional\n"
FUNCTIONAL = "from .. import attend as scaled_dot_product_attention\n"
ATTENTION = '''
import contextlib
import types
from .. import chosen
SDPBackend = types.SimpleNamespace(CUDNN_ATTENTION="cudnn")


@contextlib.contextmanager
def sdpa_kernel(backend):
    chosen.append(backend)
    yield
    chosen.pop()
'''


def main():
    faults = []
    with tempfile.TemporaryDirectory() as work:
        package = pathlib.Path(work, "torch")
        (package / "nn").mkdir(parents=True)
        (package / "__init__.py").write_text(TORCH + "from . import nn\n")
        (package / "nn/__init__.py").write_text(NN)
        (package / "nn/functional.py").write_text(FUNCTIONAL)
        (package / "nn/attention.py").write_text(ATTENTION)

        def run(profile):
            path = pathlib.Path(work, "profile.json")
            path.write_text(json.dumps(profile))
            return subprocess.run([sys.executable, str(SCRIPT), str(path)], capture_output=True, text=True, check=False,
                                  env={"PYTHONPATH": work, "PATH": "/usr/bin:/bin"})

        old = {"id": "attn.core.fwd", "value": 1}
        ended = run({"name": "mine", "device_name": "NVIDIA H200", "rows": [old, {"id": "hbm.copy", "value": 2}]})
        if ended.returncode != 0:
            sys.exit(ended.stderr)
        profile = json.loads(ended.stdout)
        rows = [row for row in profile["rows"] if row["id"] in RATES]
        if profile["name"] != "mine-attention" or profile["rows"][0]["id"] != "hbm.copy" or len(rows) != 16:
            faults.append(f"{profile['name']}: {len(rows)} rows of attention, beginning with {profile['rows'][0]['id']}")
        for row in rows:
            want = RATES[row["id"]] / (1 + HALF[row["id"]] / row["parameters"]["sequence"])
            if abs(row["value"] / want - 1) > 1e-9 or not row["low"] <= row["value"] <= row["high"]:
                faults.append(f"{row['id']} {row['parameters']}: {row['value']:.4g}, not {want:.4g}")
            if row["kind"] != "imported" or row["checked"] or row["unit"] != "flops_per_second":
                faults.append(f"{row['id']}: {row}")
        other = run({"device_name": "NVIDIA H100 80GB HBM3", "rows": []})
        if other.returncode == 0 or "this GPU is NVIDIA H200" not in other.stderr:
            faults.append(f"another GPU's profile: {other.stderr}")
    for fault in faults:
        print(fault, file=sys.stderr)
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
