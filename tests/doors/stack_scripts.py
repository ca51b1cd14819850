#!/usr/bin/env python3
"""The launches in the checkouts of training stacks, each read and judged: `flightplan validate` on every script that its
authors keep, of NeMo-RL, Primus, FlagScale and ROLL every YAML of their examples, of Megatron-LM those of its functional tests.
The verdicts stand in stack_scripts.tsv: path, verdict, reason.

usage: stack_scripts.py FLIGHTPLAN_BINARY STACK=CHECKOUT... [--write]
       stack_scripts.py --page
  Says what differs from the table; --write puts the verdicts into it. Exit 1 where something differs. --page writes
  docs/stacks.md from the tables.
"""
import ast
import collections
import concurrent.futures
import json
import os
import pathlib
import subprocess
import sys
import tarfile

TABLE = pathlib.Path(__file__).resolve().with_suffix(".tsv")
ROOT = TABLE.parents[2]
PAGE = ROOT / "docs/stacks.md"
# Launches that are kept in tests/data, and what their authors cannot run: REFUSED of the test beside this file.
KEPT = {"slime": "slime_scripts.tar.gz", "miles": "miles_launches.tar.gz"}
GPU = "h100-sxm"
# Those whose launches are settings: what stands in such a file and in no other of theirs.
SETTINGS = {"nemo-rl": "", "primus": "framework: megatron\n", "flagscale": "flagscale/train/train_gpt.py",
            "roll": "strategy_name: megatron_train\n", "megatron-lm": "MODEL_ARGS:"}
FOLDERS = {"megatron-lm": "tests/functional_tests/test_cases"}
GPUS_OF_NAMES = ("gb200-nvl72",)  # that a path names
AMD = ("primus",)  # GPUs that the catalogue does not have

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
        return sorted(path for path in root.rglob("*.sh") if path.is_file())
    found = (path for path in (root / FOLDERS.get(stack, "examples")).rglob("*.yaml") if path.is_file())
    return sorted(path for path in found if SETTINGS[stack] in path.read_text(errors="replace"))


def judge(flightplan, stack, root, path):
    """A row, or None for a script that is no launch of the stack."""
    words = ["--target", stack] if stack == "nemo-rl" else []  # some of its files say in others that Megatron trains
    words += [] if stack in AMD else ["--gpu", next((gpu for gpu in GPUS_OF_NAMES if gpu[:5] in str(path)), GPU)]
    done = subprocess.run([flightplan, "validate", path, "--stack-root", root, "--format", "json", *words],
                          capture_output=True, text=True, timeout=120, stdin=subprocess.DEVNULL)
    if done.returncode not in (0, 1):
        return None
    answer = json.loads(done.stdout)
    if not answer["target"].startswith(stack + " "):
        return None
    if any("megatron_cfg.enabled is not true" in f.get("seen", "") for f in answer["findings"]):
        return None
    errors = sorted({f["rule_id"] for f in answer["findings"] if f["severity"] == "SEVERITY_ERROR"})
    verdict = "refused" if errors else "passed"
    memory = answer.get("memory", {})
    held = "fits" if memory.get("fit") == "FIT_VERDICT_FITS" else memory.get("fit", "").replace("FIT_VERDICT_", "").lower()
    reason = ",".join(errors) if errors else "memory %s" % (held.replace("_", " ") or "unknown")
    return Row(stack, str(path.relative_to(root)), verdict, reason)


def judged(flightplan, stack, root):
    root = root.resolve()
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        found = pool.map(lambda path: judge(flightplan, stack, root, path), scripts(stack, root))
        return [row for row in found if row is not None]


def kept():
    """Rows of the launches in tests/data, as the test of each stack holds them; their memory is no part of it."""
    found = []
    for stack, name in KEPT.items():
        [refused] = [node.value for node in ast.parse(TABLE.with_name(f"{stack}_test.py").read_text()).body
                     if isinstance(node, ast.Assign) and node.targets[0].id == "REFUSED"]
        refused = ast.literal_eval(refused)
        with tarfile.open(ROOT / "tests/data" / name) as archive:
            names = [name.removeprefix("./") for name in archive.getnames()]
            paths = [path for path in names if path.endswith(".sh") and "/models/" not in "/" + path]
        found += [Row(stack, path, "refused" if path in refused else "passed", refused.get(path, "memory -")) for path in paths]
    return found


def page():
    """docs/stacks.md: what is shown of each stack, of the tables that tests hold."""
    table, heads = rows() + kept(), commits()
    lines = [line for line in (ROOT / "resolver/runlog/testdata/sources.tsv").read_text().splitlines() if line and line[0] != "#"]
    logs = [line.split("\t") for line in lines[1:]]
    text = f"""# What is shown of each stack

Written by `tests/doors/stack_scripts.py --page` from what its tests hold. Each launch that a stack's authors keep in their
repository is read and judged with `flightplan validate --gpu h100-sxm` (Primus, whose GPUs are AMD's, without a GPU). Refused are
those that cannot start as they are written, by the rule that is named (`fit.static-memory`: on the GPUs that were asked about). A
memory verdict is there where the launch says model, sizes and GPUs.

| stack | read at | launches | passed | refused, by rule | with a memory verdict |
|---|---|---|---|---|---|
"""
    for stack in sorted({row.stack for row in table}):
        of = [row for row in table if row.stack == stack]
        rules = collections.Counter(row.reason for row in of if row.verdict == "refused")
        said = [row for row in of if row.verdict == "passed" and row.reason not in ("memory unknown", "memory -")]
        weighed = "-" if stack in KEPT else str(len(said))
        why = ", ".join(f"{count} `{rule}`" for rule, count in sorted(rules.items())) or "none"
        text += f"| {stack} | {heads.get(stack, '[tests/data](../tests/data/README.md)')} | {len(of)} | " \
                f"{len(of) - sum(rules.values())} | {why} | {weighed} |\n"
    text += f"""
- Runs: `flightplan observe` reads {len(logs)} excerpts of what public runs printed, and each must yield the figures beside it
  ([`sources.tsv`](../resolver/runlog/testdata/sources.tsv), test `resolver/runlog`).
- Recipes: the functions of Megatron-Bridge's library, by name and started on the GPUs that their names say, are refused for
  a check of Megatron's or Bridge's own or not at all ([the list](../resolver/library_recipes_test.cc)).
- Adapters: published runs are found, cited and held out of every fit, with their errors, in
  [tests/evidence](../tests/evidence/README.md) (time) and [tests/memory](../tests/memory/README.md).
- Agents and editors: `flightplan mcp` and `flightplan lsp` are driven by public clients (tests `stdio/mcp_client`, the protocol's
  official Python client, and `stdio/lsp_client`, pygls'); `stdio/lsp` prints the time from a keystroke to the diagnostics of a
  script of a thousand lines.
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
