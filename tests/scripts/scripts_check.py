#!/usr/bin/env python3
"""What is said of the scripts in the stacks' own repositories, and that it stays so.

usage: scripts_check.py FLIGHTPLAN                     the recorded launches (record.jsonl.gz), judged again
       scripts_check.py FLIGHTPLAN CHECKOUT...         every script and model file of checkouts, against the record
       scripts_check.py FLIGHTPLAN --write CONDENSE CHECKOUT...   write the record and SCRIPTS.md anew

CHECKOUT is a clone of Megatron-LM, Megatron-Bridge or LoongForge; of another revision only the files that are the same
are compared, and how many are not is said. CONDENSE is the program condense_launch. The record holds, for each file that
is judged, where it is from, the hash of its text, the verdict with the rules that it rests on, and what a shell script
would run: no text of theirs. Exit status: 0 nothing has changed, 1 something has, 2 misuse.
"""
import collections
import gzip
import hashlib
import io
import json
import pathlib
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
RECORD = HERE / "record.jsonl.gz"
PAGE = HERE / "SCRIPTS.md"
BEGIN, END = "<!-- scripts: begin -->\n", "<!-- scripts: end -->\n"

# Where each repository is told by, and the revision that is recorded.
REPOSITORIES = {
    "NVIDIA/Megatron-LM": ("pretrain_gpt.py", "d98e8a64d"),
    "NVIDIA-NeMo/Megatron-Bridge": ("src/megatron/bridge", "067f987df"),
    "baidu-baige/LoongForge": ("loongforge", "c62756618"),
}

# What does not start as it is written, and why; each was read in upstream's code.
FP32_NAMES = ("its `--use-fp32-dtype-for-param-pattern` takes names (the fork's transformer_config.py:2052 has the 18 of them), "
              "and is given regular expressions")
ONE_NODE = "its own NUM_NODES=1 starts 8 processes, and TP 8 x PP 16 needs 128 or a multiple"
REFUSED = {
    "examples/academic_paper_scripts/detxoify_lm/finetune_gpt_distributed-1.3b.sh":
        "`--checkpoint-activations` is gone: validate_args prints what to use and stops",
    "examples/bert/train_bert_340m_distributed.sh": ONE_NODE + "; 24 layers do not divide by 16 stages",
    "examples/gpt3/train_gpt3_175b_distributed.sh":
        ONE_NODE + "; `--global-batch-size` beside `--step-batch-size-schedule` is refused (arguments.py:698)",
    "examples/models/qwen/qwen35_vl/slurm_sft_fsdp.sh": "32 samples, four at a time, on the 16 replicas of its two nodes",
    "examples/gptoss/02_train.sh": "a stage for each of its 8 GPUs, and 12 layers do not divide by 8",
    "examples/deepseek_v3/finetuning/sft_deepseek_v3_group_bf16.sh": FP32_NAMES,
    "examples/deepseek_v3/finetuning/sft_deepseek_v3_group_fp8.sh": FP32_NAMES,
    "examples/deepseek_v3/pretrain/pretrain_deepseek_v3_group_bf16.sh": FP32_NAMES,
    "examples/deepseek_v3/pretrain/pretrain_deepseek_v3_group_fp8.sh": FP32_NAMES,
}


def judge(flightplan, folder):
    """What `validate --batch` says of every file below a folder: {path: (verdict, rules, reason)}."""
    done = subprocess.run([flightplan, "validate", "--batch", ".", "--format", "jsonl"], cwd=folder, capture_output=True,
                          text=True, timeout=300, stdin=subprocess.DEVNULL)
    if done.returncode not in (0, 1):
        sys.exit(done.stderr)
    said = {}
    for row in map(json.loads, done.stdout.splitlines()):
        wanted = {"refused": "error", "warned": "warning"}.get(row["verdict"])
        rules = sorted({f["rule_id"] for f in row["findings"] if f["severity"] == wanted})
        said[row["path"].removeprefix("./")] = (row["verdict"], rules, (row["not_judged"] or [""])[0])
    return said


def blob(path):
    """The name that git has for the text."""
    text = path.read_bytes()
    return hashlib.sha1(b"blob %d\0" % len(text) + text).hexdigest()[:12]


def repository(checkout):
    for name, (mark, _) in REPOSITORIES.items():
        if (checkout / mark).exists():
            return name
    sys.exit(f"{checkout}: no checkout of " + ", ".join(REPOSITORIES))


def read_record():
    with gzip.open(RECORD, "rt", encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]


def verdicts_of(flightplan, launches):
    """The verdicts of texts: {key: (verdict, rules)}."""
    with tempfile.TemporaryDirectory() as folder:
        root = pathlib.Path(folder)
        names = {f"{i:04}.sh": key for i, key in enumerate(launches)}
        for name, key in names.items():
            (root / name).write_text(launches[key], encoding="utf-8")
        return {names[path]: (verdict, rules) for path, (verdict, rules, _) in judge(flightplan, root).items()}


def condensed(condense, checkout, paths):
    done = subprocess.run([condense, *paths], cwd=checkout, capture_output=True, timeout=300)
    if done.returncode != 0:
        sys.exit(done.stderr.decode())
    words = done.stdout.decode("utf-8", errors="surrogateescape").split("\0")[:-1]
    return dict(zip(words[::2], words[1::2]))


def rows_of(flightplan, condense, checkout):
    """The rows of the record for a checkout, and how many files are not judged by reason."""
    name = repository(checkout)
    said = judge(flightplan, checkout)
    judged = {path: what for path, what in said.items() if what[0] != "not_judged"}
    launches = condensed(condense, checkout, [path for path in judged if path.endswith(".sh")])
    again = verdicts_of(flightplan, {path: text for path, text in launches.items() if text})
    rows = []
    for path, (verdict, rules, _) in sorted(judged.items()):
        row = {"repository": name, "path": path, "blob": blob(checkout / path), "verdict": verdict, "rules": rules}
        if again.get(path) == (verdict, rules):
            row["launch"] = launches[path]
        rows.append(row)
    aside = collections.Counter(reason for verdict, _, reason in said.values() if verdict == "not_judged")
    return rows, {"repository": name, "files": len(said), "aside": dict(sorted(aside.items()))}


def write(flightplan, condense, checkouts):
    rows, totals = [], []
    for checkout in checkouts:
        more, total = rows_of(flightplan, condense, checkout)
        rows += more
        totals.append(total)
    packed = io.BytesIO()
    with gzip.GzipFile(fileobj=packed, mode="wb", mtime=0) as out:
        for row in totals + rows:
            out.write((json.dumps(row, sort_keys=True) + "\n").encode())
    RECORD.write_bytes(packed.getvalue())
    text = PAGE.read_text()
    head, tail = text[:text.index(BEGIN)], text[text.index(END):]
    PAGE.write_text(head + BEGIN + table(totals, rows) + tail)


def table(totals, rows):
    lines = ["\n| repository | files | judged | allowed | warned | refused | not judged |\n|---|---|---|---|---|---|---|\n"]
    for total in totals:
        count = collections.Counter(row["verdict"] for row in rows if row["repository"] == total["repository"])
        revision = REPOSITORIES[total["repository"]][1]
        lines.append(f"| {total['repository']}@{revision} | {total['files']} | {sum(count.values())} | {count['allowed']} "
                     f"| {count['warned']} | {count['refused']} | {sum(total['aside'].values())} |\n")
    lines.append("\n| refused | rules | why that is right |\n|---|---|---|\n")
    for row in rows:
        if row["verdict"] == "refused":
            lines.append(f"| {row['repository']} `{row['path']}` | {', '.join(row['rules'])} "
                         f"| {REFUSED.get(row['path'], 'not explained')} |\n")
    lines.append("\n| warned for | files |\n|---|---|\n")
    warned = collections.Counter(rule for row in rows if row["verdict"] == "warned" for rule in row["rules"])
    lines += [f"| {rule} | {count} |\n" for rule, count in sorted(warned.items(), key=lambda item: (-item[1], item[0]))]
    lines.append("\n| not judged because | files |\n|---|---|\n")
    aside = sum((collections.Counter(total["aside"]) for total in totals), collections.Counter())
    lines += [f"| {reason} | {count} |\n" for reason, count in sorted(aside.items(), key=lambda item: (-item[1], item[0]))]
    return "".join(lines) + "\n"


def split(record):
    return [row for row in record if "aside" in row], [row for row in record if "verdict" in row]


def check_record(flightplan):
    """The recorded launches say what they said; the page is the record's; each refusal has a reason."""
    totals, rows = split(read_record())
    faults = []
    launches = {(row["repository"], row["path"]): row["launch"] for row in rows if "launch" in row}
    said = verdicts_of(flightplan, launches)
    for row in rows:
        key = (row["repository"], row["path"])
        if "launch" in row and said[key] != (row["verdict"], row["rules"]):
            faults.append(f"{' '.join(key)}: {row['verdict']} {row['rules']} has become {said[key][0]} {said[key][1]}")
    refused = {row["path"] for row in rows if row["verdict"] == "refused"}
    faults += [f"{path}: refused without a reason in REFUSED" for path in sorted(refused - set(REFUSED))]
    faults += [f"{path}: no longer refused" for path in sorted(set(REFUSED) - refused)]
    if BEGIN + table(totals, rows) + END not in PAGE.read_text():
        faults.append("SCRIPTS.md is not the record's table")
    if not launches:
        faults.append("no launch is recorded")
    print(f"{len(launches)} recorded launches judged again, {len(rows)} files in the record")
    return faults


def check_checkout(flightplan, checkout):
    name = repository(checkout)
    recorded = {row["path"]: row for row in split(read_record())[1] if row["repository"] == name}
    said = judge(flightplan, checkout)
    faults, other = [], 0
    for path, row in recorded.items():
        if path not in said or blob(checkout / path) != row["blob"]:
            other += 1
        elif said[path][:2] != (row["verdict"], row["rules"]):
            faults.append(f"{name} {path}: {row['verdict']} {row['rules']} has become {said[path][0]} {said[path][1]}")
    new = [path for path, what in said.items() if what[0] != "not_judged" and path not in recorded]
    faults += [f"{name} {path}: {said[path][0]} {said[path][1]}, not in the record" for path in new]
    print(f"{name}: {len(said)} files, {len(recorded) - other} compared, {other} of the record are not there as they were")
    if other == len(recorded):
        faults.append(f"{name}: no file is as it was recorded")
    return faults


def main(args):
    if not args or args[0].startswith("-"):
        print(__doc__)
        return 2
    flightplan = str(pathlib.Path(args[0]).resolve())
    if args[1:2] == ["--write"]:
        write(flightplan, str(pathlib.Path(args[2]).resolve()), [pathlib.Path(path) for path in args[3:]])
        return 0
    if len(args) == 1:
        faults = check_record(flightplan)
    else:
        faults = [fault for path in args[1:] for fault in check_checkout(flightplan, pathlib.Path(path))]
    print("\n".join(faults))
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
