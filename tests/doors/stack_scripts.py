#!/usr/bin/env python3
"""The launches in the checkouts of training stacks, each read and judged: `flightplan validate` on every script that its
authors keep, of NeMo-RL, Primus, FlagScale and ROLL every YAML of their examples, of Megatron-LM those of its functional tests.
The verdicts stand in stack_scripts.tsv: path, verdict, reason.

usage: stack_scripts.py FLIGHTPLAN_BINARY STACK=CHECKOUT... [--write]
       stack_scripts.py --page
  Says what differs from the table; --write puts the verdicts into it. Exit 1 where something differs. CHECKOUT `kept`: the
  launches of that stack in tests/data. --page writes docs/stacks.md from the tables.
"""
import collections
import concurrent.futures
import json
import os
import pathlib
import re
import subprocess
import sys
import tarfile
import tempfile
import textwrap

TABLE = pathlib.Path(__file__).resolve().with_suffix(".tsv")
ROOT = TABLE.parents[2]
PAGE = ROOT / "docs/stacks.md"
# Launches that are kept in tests/data; the test of that name beside this file holds their verdicts, too.
KEPT = {"slime": "slime_scripts.tar.gz", "miles": "miles_launches.tar.gz"}
# What scripts run whose repository cannot be had whole: read one by one.
VIME = TABLE.with_name("vime_launches.tsv")
# Programs over a stack of another name, whose scripts are read as that stack's.
OVER = {"pai-megatron-patch": "megatron-lm"}
GPU = "h100-sxm"
# Those whose launches are settings: what stands in such a file and in no other of theirs.
SETTINGS = {"nemo-rl": "", "primus": "framework: megatron\n", "flagscale": "flagscale/train/train_gpt.py",
            "roll": "strategy_name: megatron_train\n", "megatron-lm": "MODEL_ARGS:"}
FOLDERS = {"megatron-lm": "tests/functional_tests/test_cases"}
GPUS_OF_NAMES = {"gb200": "gb200-nvl72", "rubin": "vr200-nvl"}  # that a path names
AMD = ("primus",)  # GPUs that the catalogue does not have
NAMED = ("nemo-rl", "miles")  # some of their files do not show whose they are
# As `tests/stdio/lsp_test.py BINARY --time` printed it.
LATENCY = """The editor's latency: in a script of 992 lines diagnostics come 29 ms after a keystroke (median), 32 ms (95th percentile), on
  two idle cores (76 and 120 ms under a load of 15; `tests/stdio/lsp_test.py BINARY --time`)"""

Row = collections.namedtuple("Row", "stack path verdict reason")


def rows():
    lines = [line.rstrip("\n").split("\t") for line in TABLE.read_text().splitlines() if line and line[0] != "#"]
    return [Row(*line) for line in lines]


def commits():
    """The commit of each stack that the table is of."""
    heads = [line[2:].split(" ") for line in TABLE.read_text().splitlines() if line.startswith("# ") and "@" in line]
    return {words[0]: words[1].split("@")[1] for words in heads}


def scripts(stack, root):
    if stack not in SETTINGS:
        return sorted(path for path in root.rglob("*.sh") if path.is_file() and (stack not in KEPT or "models" not in path.parts))
    found = (path for path in (root / FOLDERS.get(stack, "examples")).rglob("*.yaml") if path.is_file())
    return sorted(path for path in found if SETTINGS[stack] in path.read_text(errors="replace"))


def gpu_of(stack, path):
    named = [gpu for name, gpu in GPUS_OF_NAMES.items() if name in str(path)]
    return named[0] if named and stack not in KEPT else GPU  # as the tests of those that are kept have it


def judge(flightplan, stack, root, path):
    """A row, or None for a script that is no launch of the stack."""
    words = ["--target", stack] if stack in NAMED else []
    words += [] if stack in AMD else ["--gpu", gpu_of(stack, path)]
    done = subprocess.run([flightplan, "validate", path, "--stack-root", root, "--format", "json", *words],
                          capture_output=True, text=True, timeout=120, stdin=subprocess.DEVNULL)
    if done.returncode not in (0, 1):
        return None
    answer = json.loads(done.stdout)
    if not answer["target"].startswith(OVER.get(stack, stack) + " "):
        return None
    if any("megatron_cfg.enabled is not true" in f.get("seen", "") for f in answer["findings"]):
        return None
    errors = sorted({f["rule_id"] for f in answer["findings"] if f["severity"] == "SEVERITY_ERROR"})
    verdict = "refused" if errors else "passed"
    memory = answer.get("memory", {})
    held = "fits" if memory.get("fit") == "FIT_VERDICT_FITS" else memory.get("fit", "").replace("FIT_VERDICT_", "").lower()
    reason = ",".join(errors) if errors else "memory %s" % (held.replace("_", " ") or "unknown")
    if not errors and held in ("", "unknown"):
        reason = "memory unknown: " + why_unknown(answer)
    return Row(stack, str(path.relative_to(root)), verdict, reason)


def write_vime(folder):
    """The launches of vime_launches.tsv as scripts."""
    for line in VIME.read_text().splitlines():
        if line[0] == "#" or line.startswith("path\t"):
            continue
        name, _, words = line.split("\t")
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        runtime = """--runtime-env-json='{"env_vars": {"CUDA_DEVICE_MAX_CONNECTIONS": "1"}}'"""
        words = words.replace("{}", "'{}'")
        path.write_text(f"#!/bin/bash\nset -f\nray job submit {runtime} -- python3 train.py {words}\n")


# What an answer says of memory that it does not weigh, and how the page counts it; whose gap it is: the launch leaves it out,
# or we do not have it.
REASONS = (
    (r"no GPU is given", "the GPUs are AMD's, which the catalogue does not have", "ours"),
    (r"the number of GPUs", "the number of GPUs is not said", "the launch's"),
    (r"the GPU's memory", "its GPU's memory is not published", "the vendor's"),
    (r"(.*) are not modelled", "not modelled: {}", "ours"),
    (r"(.*): this attention is not weighed", "not modelled: {}", "ours"),
    (r"(.*) holds memory of the same GPUs", "{} beside it: how much it holds is not said", "the launch's"),
    (r"at most \d+ GiB, with (logits|optimizer states)", "does not fit with {} that are not there all the time", "ours"),
    (r"values stand in \S*\$", "does not fit or has no size, unless words that only a run has say otherwise", "the launch's"),
    (r"values stand (in|where)", "values stand in a file that is not there", "the launch's"),
    (r"(\S+) cannot be read here", "a size that only a run has", "the launch's"),
    (r".*come out even", "the layout does not come out even on the GPUs that are said", "the launch's"),
)
PLACEHOLDER = re.compile(r"config.json of (/path/to|the model$|Follow instructions|<|\S*your)|^the model$", re.I)


def why_unknown(answer):
    said = [what[len("memory: "):] for what in answer["not_judged"] if what.startswith("memory: ")]
    if not said:
        sizeless = answer.get("memory", {}).get("usable_bytes", "0") in ("0", 0)
        return "its GPU's memory is not published" if sizeless else "-"
    if "is not given" in said[0] or "are not given" in said[0]:
        where = [what for what in answer["not_judged"] if "config.json of " in what]
        if not where:
            return "a model's size is not said"
        model = where[0].split("config.json of ")[1].split(" || ")[0]
        placeholder = PLACEHOLDER.search("config.json of " + model)
        return "the model is a placeholder" if placeholder else "the model is not in the catalogue: " + model.rstrip("/").split("/")[-1]
    for pattern, text, _ in REASONS:
        if (found := re.match(pattern, said[0])) is not None:
            return text.format(*found.groups())
    return said[0]


def judged(flightplan, stack, root):
    if str(root) == "kept":
        with tempfile.TemporaryDirectory() as folder:
            if stack == "vime":
                write_vime(pathlib.Path(folder))
            else:
                with tarfile.open(ROOT / "tests/data" / KEPT[stack]) as archive:
                    archive.extractall(folder)
            return judged(flightplan, stack, pathlib.Path(folder))
    root = root.resolve()
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        found = pool.map(lambda path: judge(flightplan, stack, root, path), scripts(stack, root))
        return [row for row in found if row is not None]


def whose(reason):
    """Whose gap a reason is; see REASONS."""
    reason = reason.removeprefix("memory unknown: ")
    if reason.startswith("the model is not in the catalogue"):
        return "ours"
    for _, text, gap in REASONS:
        if re.fullmatch(".*".join(map(re.escape, text.split("{}"))), reason):
            return gap
    return "the launch's"


def page():
    """docs/stacks.md: what is shown of each stack, of the tables that tests hold."""
    table, heads = rows(), commits()
    lines = [line for line in (ROOT / "resolver/runlog/testdata/sources.tsv").read_text().splitlines() if line and line[0] != "#"]
    logs = [line.split("\t") for line in lines[1:]]
    text = f"""# What is shown of each stack

Written by `tests/doors/stack_scripts.py --page` from the table of `stack_scripts.py BINARY STACK=CHECKOUT --write`, which tests hold.
Each launch that a stack's authors keep in their repository is read and judged with `flightplan validate --gpu h100-sxm` (Primus,
whose GPUs are AMD's, without a GPU). Refused are those that cannot start as they are written, by the rule that is named
(`fit.static-memory`: on the GPUs that were asked about). A memory verdict is there where the launch says model, sizes and GPUs.
slime's and miles' launches stand in [tests/data](../tests/data/README.md).

| stack | read at | launches | passed | refused, by rule | with a memory verdict |
|---|---|---|---|---|---|
"""
    unknown = collections.defaultdict(collections.Counter)
    for stack in sorted({row.stack for row in table}):
        of = [row for row in table if row.stack == stack]
        rules = collections.Counter(row.reason for row in of if row.verdict == "refused")
        without = [row for row in of if row.reason.startswith("memory unknown")]
        for row in without:
            unknown[re.sub(r"(not in the catalogue): .*", r"\1", row.reason.removeprefix("memory unknown: "))][stack] += 1
        why = ", ".join(f"{count} `{rule}`" for rule, count in sorted(rules.items())) or "none"
        passed = len(of) - sum(rules.values())
        text += f"| {stack} | {heads[stack]} | {len(of)} | {passed} | {why} | {passed - len(without)} |\n"
    text += """
Of vime, whose repository (vllm-project/vime) cannot be had whole, eight scripts were read one by one; what they run is
[`vime_launches.tsv`](../tests/doors/vime_launches.tsv).

## Why launches have no memory verdict

Whose gap it is: what the launch leaves out is asked for by name in the answer (`missing_input`, `not_judged`); the rest is what
Flightplan does not have.

| reason | launches | whose |
|---|---|---|
"""
    for reason, counts in sorted(unknown.items(), key=lambda entry: (whose(entry[0]), -sum(entry[1].values()), entry[0])):
        each = ", ".join(f"{count} {stack}" for stack, count in sorted(counts.items()))
        text += f"| {reason} | {each} | {whose(reason)} |\n"
    models = collections.Counter(row.reason.split(": ", 2)[2] for row in table if "not in the catalogue: " in row.reason)
    lacking = ", ".join(f"{model} ({count})" for model, count in sorted(models.items()))
    lacking = textwrap.fill(f"Models that the catalogue does not have: {lacking}. Of those that see or hear, the tower beside the "
                            "language model is not weighed either.", 130, break_on_hyphens=False)
    text += f"""
{lacking}

## The rest

- Runs: `flightplan observe` reads {len(logs)} excerpts of what public runs printed, and each must yield the figures beside it
  ([`sources.tsv`](../resolver/runlog/testdata/sources.tsv), test `resolver/runlog`).
- Recipes: the functions of Megatron-Bridge's library, by name and started on the GPUs that their names say, are refused for
  a check of Megatron's or Bridge's own or not at all ([the list](../resolver/library_recipes_test.cc)).
- Adapters: published runs are found, cited and held out of every fit, with their errors, in
  [tests/evidence](../tests/evidence/README.md) (time) and [tests/memory](../tests/memory/README.md).
- Agents and editors: `flightplan mcp` and `flightplan lsp` are driven by public clients (tests `stdio/mcp_client`, the protocol's
  official Python client, and `stdio/lsp_client`, pygls'); their transcripts are the tests `stdio/mcp` and `stdio/lsp`
  ([tests/stdio](../tests/stdio)).
- {LATENCY}.
"""
    return text


def main(argv):
    if argv[0] == "--page":
        PAGE.write_text(page())
        return 0
    write = "--write" in argv
    flightplan, *checkouts = [os.path.abspath(argv[0])] + [word for word in argv[1:] if word != "--write"]
    table = rows()
    differs = False
    for word in checkouts:
        stack, root = word.split("=", 1)
        found = judged(flightplan, stack, pathlib.Path(root))
        old = {row for row in table if row.stack == stack}
        for sign, which in (("-", old - set(found)), ("+", set(found) - old)):
            for row in sorted(which):
                print(sign, *row, sep="\t")
                differs = True
        table = [row for row in table if row.stack != stack] + found
        print("%s: %d launches, %d refused" % (stack, len(found), sum(row.verdict == "refused" for row in found)))
    if write:
        head = [line for line in TABLE.read_text().splitlines() if line.startswith("#")]
        TABLE.write_text("\n".join(head + ["\t".join(row) for row in sorted(table)]) + "\n")
    return 1 if differs and not write else 0


if __name__ == "__main__":
    if len(sys.argv) < 3 and sys.argv[1:] != ["--page"]:
        sys.exit(__doc__)
    sys.exit(main(sys.argv[1:]))
