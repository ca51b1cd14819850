#!/usr/bin/env python3
"""operators.py against stand-ins for PyTorch and the libraries (testdata/stand_ins): each computes its operator and its gradients by
a way of its own, and takes as long as a known rate says, on a device behind a slow host. So the rows have that rate where sizes,
passes and windows are counted right, and what computes wrongly has none. No GPU and no PyTorch."""
import json
import pathlib
import shutil
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).parent
PACKAGES = {"torch": "2.9.0", "mamba_ssm": "2.3.0", "flash-linear-attention": "0.5.0", "megatron-core": "0.19.0"}
CONFIG = {"mamba_num_heads": 128, "mamba_head_dim": 64, "ssm_state_size": 256, "n_groups": 8,
          "text_config": {"linear_num_value_heads": 64, "linear_key_head_dim": 128, "linear_value_head_dim": 64}}
faults = []


def rate(row):
    """What the stand-in for this row takes, in the row's unit."""
    p = row["parameters"]
    if row["id"].startswith("attn.core"):
        top, half = (600e12, 430) if row["id"].endswith("fwd") else (500e12, 920)
        return top / (1 + half / p["sequence"])
    if row["id"] == "dsa.index.fwd":
        return 2 * p["tokens"] * p["sequence"] * p["heads"] * p["head_dim"] / 50e12 * 1e6
    sizes = ("head_dim", "state") if row["id"].startswith("mamba") else ("key_dim", "value_dim")
    ps = {"mamba.scan.fwd": 0.01, "mamba.scan.bwd": 0.03, "delta.scan.fwd": 0.3, "delta.scan.bwd": 0.9}[row["id"]]
    return p["tokens"] * p["heads"] * p[sizes[0]] * p[sizes[1]] * ps / 1e6


def expect(what, holds):
    if not holds:
        faults.append(what)


class Place:
    """A folder of stand-ins and a profile."""

    def __init__(self, work):
        self.path = pathlib.Path(work)
        shutil.copytree(HERE / "testdata/stand_ins", self.path / "site")
        for name, version in PACKAGES.items():
            info = self.path / "site" / f"{name.replace('-', '_')}-{version}.dist-info"
            info.mkdir()
            (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n")

    def run(self, *arguments, fault="", **profile):
        path = self.path / "profile.json"
        path.write_text(json.dumps({"device_name": "NVIDIA H200", "rows": [], **profile}))
        return subprocess.run([sys.executable, "-B", str(HERE / "operators.py"), str(path), *arguments], capture_output=True,
                              text=True, check=False, env={"PYTHONPATH": str(self.path / "site"), "PATH": "/usr/bin:/bin", "FAULT": fault})

    def rows(self, *arguments, fault="", code=0, **profile):
        ended = self.run(*arguments, fault=fault, **profile)
        if ended.returncode != code:
            sys.exit(f"{arguments} {fault}: exit {ended.returncode}\n{ended.stderr}")
        return json.loads(ended.stdout)


def check_rows(profile, ids):
    rows = [row for row in profile["rows"] if row["id"] != "hbm.copy"]
    expect(f"rows {sorted({row['id'] for row in rows})}", {row["id"] for row in rows} == set(ids))
    for row in rows:
        wrong = abs(row["value"] / rate(row) - 1) > 1e-6 or not row["low"] <= row["value"] <= row["high"]
        expect(f"{row['id']} {row['parameters']}: {row['value']:.6g}, not {rate(row):.6g}", not wrong)
        unit = "flops_per_second" if row["id"].startswith("attn") else "us"
        expect(f"{row}", row["kind"] == "measured" and row["checked"] and row["unit"] == unit and row["sample_count"] == 15)


def main():
    scans = ["mamba.scan.fwd", "mamba.scan.bwd", "delta.scan.fwd", "delta.scan.bwd"]
    with tempfile.TemporaryDirectory() as work:
        place = Place(work)
        old = [{"id": "mamba.scan.fwd", "value": 1}, {"id": "hbm.copy", "value": 2}]
        profile = place.rows(name="mine", rows=old, notes=["mamba.scan: old", "kept"])
        check_rows(profile, [*scans, "attn.core.fwd", "attn.core.bwd", "dsa.index.fwd"])
        expect(profile["name"], profile["name"] == "mine-operators")
        expect("the worker's rows stay, others' old ones go", profile["rows"][0]["id"] == "hbm.copy")
        expect(str(profile["notes"]), "kept" in profile["notes"] and "mamba.scan: old" not in profile["notes"])
        expect(str(profile["notes"]), any("measured by mamba_ssm 2.3.0, PyTorch 2.9.0" in note and "1980 MHz" in note
                                          for note in profile["notes"]))
        expect("sixteen of attention", sum(row["id"].startswith("attn") for row in profile["rows"]) == 16)

        # The caller's model: whole sizes shared out by TP, and nothing of what it has not.
        config = place.path / "config.json"
        config.write_text(json.dumps(CONFIG))
        profile = place.rows("--config", str(config), "--tp", "4", "--seq", "2048", "--mbs", "2", "--groups", "mamba,delta,indexer")
        check_rows(profile, scans)
        sizes = {row["id"]: row["parameters"] for row in profile["rows"]}
        expect(str(sizes), sizes["mamba.scan.bwd"] == {"tokens": 4096, "sequence": 2048, "heads": 32, "head_dim": 64, "state": 256,
                                                        "groups": 2})
        expect(str(sizes), sizes["delta.scan.fwd"] == {"tokens": 4096, "sequence": 2048, "heads": 16, "key_dim": 128, "value_dim": 64})
        expect(str(profile["notes"]), "dsa.index: absent: the config has no index_n_heads" in profile["notes"])
        config.write_text(json.dumps({"num_attention_heads": 128, "kv_lora_rank": 512}))
        profile = place.rows("--config", str(config), "--groups", "attention")
        expect(str(profile["notes"]), profile["notes"] == ["attn.core: absent: latent attention has heads of two sizes"])
        profile = place.rows("--tp", "3", "--groups", "mamba")
        expect(str(profile["notes"]), profile["notes"] == ["mamba.scan: absent: --tp 3 does not divide 64 heads"])

        # What computes wrongly has no rows; what does not fit or cannot be told from the host's time is named.
        for fault, group, text in (("attention scale", "attention", "forward pass"), ("mamba skip", "mamba", "forward pass"),
                                   ("delta gradient", "delta", "gradient of k"), ("worst keys", "indexer", "chosen keys of query")):
            profile = place.rows("--groups", group, fault=fault, code=1)
            expect(f"{fault}: {profile}", not profile["rows"] and "withheld" in profile["notes"][0] and text in profile["notes"][0])
        for fault, text in (("delta memory", "does not fit"), ("slow host", "the host queues more slowly")):
            profile = place.rows("--groups", "delta", fault=fault)
            expect(f"{fault}: {profile}", not profile["rows"] and text in profile["notes"][0])
        shutil.rmtree(place.path / "site/megatron_core-0.19.0.dist-info")  # a source tree has none
        check_rows(place.rows("--groups", "indexer"), ["dsa.index.fwd"])
        shutil.rmtree(place.path / "site/mamba_ssm")
        profile = place.rows("--groups", "mamba,delta")
        expect(str(profile["notes"]), profile["notes"][0].startswith("mamba.scan: absent: mamba_ssm is not installed"))
        check_rows(profile, scans[2:])

        ended = place.run(device_name="NVIDIA H100 80GB HBM3")
        expect(f"another GPU's profile: {ended.stderr}", ended.returncode != 0 and "this GPU is NVIDIA H200" in ended.stderr)
        expect("an unknown group", place.run("--groups", "mamba,fft").returncode == 2)
    for fault in faults:
        print(fault, file=sys.stderr)
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
