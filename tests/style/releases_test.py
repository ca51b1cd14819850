#!/usr/bin/env python3
"""A release is known in resolver/catalog/releases.yaml alone: no source lists releases, and what names one names a known one."""
import re
import sys

from sources import ROOT, code_only, report, tracked

sys.path.insert(0, str(ROOT / "resolver/catalog"))
import releases  # noqa: E402 (of the catalogue, which is no package)

KNOWN = releases.load()
NUMBERS = {"core": [releases.number(name) for name in KNOWN.core], "bridge": [releases.number(name) for name in KNOWN.bridge]}
RANGE = re.compile(r"\.(core|bridge) = \{([^}]*)\}")
TAGGED = re.compile(r"(Megatron-LM|Megatron-Bridge) (0\.\d+\.\d+):")
COMMITS = {repository.split("/")[1]: commit for repository, commit in KNOWN.stacks.values()}
COMMIT = re.compile(r"(?:^|[ /(])(%s)@([0-9a-f]{7,})" % "|".join(COMMITS))


def lists_in(code):
    """Three releases in a row, as a list of the known ones would hold: {15, 16, 17, ...} or {4, 5, 6, kMain}."""
    for numbers in NUMBERS.values():
        for i in range(len(numbers) - 2):
            words = [r"kMain" if n == releases.MAIN else str(n) for n in numbers[i:i + 3]]
            if any(w == "kMain" for w in words) or numbers is NUMBERS["core"]:
                yield from re.finditer(r"\b%s\b" % r"\s*,\s*".join(words), code)


def cases_in(code):
    """A table from one release to another, as `case 4: return 17;`."""
    pins = [(releases.number(b), releases.number(c)) for b, c in KNOWN.core_of_bridge.items() if b != "main"]
    for bridge, core in pins:
        yield from re.finditer(r"\bcase %d:\s*return %d;" % (bridge, core), code)


def bounds_of(text):
    for i, word in enumerate(part.strip() for part in text.split(",")):
        name, _, value = word.partition(" = ") if word.startswith(".") else ((".since", ".until")[i], "", word)
        yield name, value


def range_faults(where, text):
    """A rule's bound is a known release; 0 is the beginning."""
    for match in RANGE.finditer(text):
        stack = match.group(1)
        for name, value in bounds_of(match.group(2)):
            number = releases.MAIN if value == "kMain" else int(value) if value.isdigit() else None
            if number is None or (number not in NUMBERS[stack] and not (name == ".since" and number == 0)
                                  and not (match.group(2).replace(" ", "") == "1,0")):
                yield f"{where}: {match.group(0)}: {name} is no release of releases.yaml"


def tag_faults(where, text):
    tags = {("Megatron-LM", tag.removeprefix("core_v")) for (stack, _), tag in KNOWN.tags.items() if stack == "core"}
    tags |= {("Megatron-Bridge", tag.removeprefix("v")) for (stack, _), tag in KNOWN.tags.items() if stack == "bridge"}
    yield from (f"{where}: cites {' '.join(match)}, which releases.yaml did not read" for match in TAGGED.findall(text)
                if match not in tags)
    yield from (f"{where}: names {name}@{commit}; releases.yaml read {COMMITS[name]}" for name, commit in COMMIT.findall(text)
                if not (commit.startswith(COMMITS[name]) or COMMITS[name].startswith(commit)))


def faults_in(where, text):
    code = code_only(text)
    yield from (f"{where}: lists releases: {match.group(0)}" for match in (*lists_in(code), *cases_in(code)))
    if where.startswith(("resolver/rules/", "resolver/stacks/")) and not where.startswith("resolver/rules/decide/"):
        yield from range_faults(where, text)
        yield from tag_faults(where, text)


def golden_faults():
    """Every release has verdicts of the real code."""
    names = {f"core_bridge@{stack}-{row}" for stack in ("core", "bridge") for row in getattr(KNOWN, stack)[:-1]}
    names |= {f"mlm_cli@{row}" for row in KNOWN.core[:-1] if releases.number(row) >= releases.number(KNOWN.first_command_line)}
    there = {path.name.removesuffix(".jsonl.gz") for path in (ROOT / "tests/golden/data").glob("*@*.jsonl.gz")}
    yield from (f"tests/golden/data/{name}.jsonl.gz: is missing" for name in sorted(names - there))
    yield from (f"tests/golden/data/{name}.jsonl.gz: of no release of releases.yaml" for name in sorted(there - names))


PLANTED = (
    "constexpr int kAll[] = {15, 16, 17, 18};", "constexpr int kAll[] = {5, 6, kMain};",
    "switch (b) {\n case 4:\n      return 17;\n}", ".core = {.since = 20}", ".core = {0, 14}", ".bridge = {.until = 3}",
    '.source = "Megatron-LM 0.18.1:megatron/x.py:3"', "// NVIDIA/Megatron-LM@0123456789")


def main():
    blind = [text for text in PLANTED if not list(faults_in("resolver/rules/core/planted.cc", text))]
    faults = [f"the test does not see: {text}" for text in blind]
    files = tracked("*.cc", "*.h", "*.def")
    for path in files:
        faults += faults_in(str(path.relative_to(ROOT)), path.read_text())
    faults += golden_faults()
    return report(faults if files else ["no files"], "a release is a row of resolver/catalog/releases.yaml")


if __name__ == "__main__":
    sys.exit(main())
