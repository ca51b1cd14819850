#!/usr/bin/env python3
"""Follows a stack's code from one checkout to another, so that a release is a program's run and then a person's judgement.

  follow.py record CHECKOUT             writes the rows of citations.tsv for the citations of CHECKOUT's stack
  follow.py follow OLD NEW [--at BASE]  says what moved, changed, vanished and came between two checkouts of a stack;
                                        BASE: the checkout whose lines the rules cite (without it: OLD)
  follow.py score OLD NEW --at BASE --from 0.18 --to 0.19
                                        holds what follow finds to the releases that the rules and the knob table state
All take --stack NAME (Megatron-LM) as citations spell it.

A citation is a file, the symbol around it and the hash of the statement that it points at; its line is computed. The
hash is taken of the syntax tree, so that neither formatting nor comments change it.
"""
import argparse
import ast
import collections
import difflib
import hashlib
import pathlib
import re
import sys

import follow_knobs
import releases

ROOT = pathlib.Path(__file__).resolve().parents[2]
RULES = ROOT / "resolver/rules/RULES.md"
ROWS = pathlib.Path(__file__).with_name("citations.tsv")
COLUMNS = ("citation", "symbol", "hash")
CITATION = re.compile(r"^(?P<stack>[A-Za-z][A-Za-z-]*)(?: (?P<release>[0-9.]+))?:(?P<path>[^:,; ]+):(?P<line>\d+)")
UNREAD = "-"  # the hash of a citation whose checkout no program has read
ALIKE = 0.6   # of two statements' texts, from where on one is the other, changed
NOISE = ("warn", "warning", "warn_rank_0", "print_rank_0", "log_single_rank", "log_on_each_pipeline_stage")

Rule = collections.namedtuple("Rule", "id releases source")
# kind: assert, raise, warning, assignment, field, other. `text` is what is hashed; `start` to `end` are its lines.
Statement = collections.namedtuple("Statement", "path symbol kind text start end")


# ---- what the rules say

def rules_of(text):
    """The rules as RULES.md lists them: id, releases of Megatron-Core, source."""
    for block in re.split(r"^### ", text, flags=re.M)[1:]:
        said = re.search(r"^- releases: Core ([^;,\n]*)", block, re.M)
        source = re.search(r"^- source: `([^`]*)`", block, re.M)
        yield Rule(block.split("\n", 1)[0].strip(), said.group(1).strip() if said else "", source.group(1) if source else "")


def citation_of(source):
    """The match of what a source cites by file and line, or None."""
    return CITATION.match(source)


def citations(rules, stack=None):
    """The distinct citations of a stack's newest code, or of every stack's, each as it is spelled."""
    found = {}
    for rule in rules:
        match = citation_of(rule.source)
        if match and (stack is None or (match["stack"] == stack and not match["release"])):
            found.setdefault(match.group(0), match)
    return found


# ---- statements of a file

def called(node):
    """The name of what an expression statement calls, or None."""
    if not (isinstance(node, ast.Expr) and isinstance(node.value, ast.Call)):
        return None
    return getattr(node.value.func, "attr", getattr(node.value.func, "id", None))


def kind_of(node):
    if isinstance(node, ast.Assert):
        return "assert"
    if isinstance(node, ast.Raise):
        return "raise"
    if called(node) in NOISE:
        return "warning"
    if isinstance(node, ast.AnnAssign):
        return "field"
    targets = node.targets if isinstance(node, ast.Assign) else [node.target] if isinstance(node, ast.AugAssign) else []
    owners = ("self", "args", "config", "cfg")
    written = any(isinstance(t, ast.Attribute) and isinstance(t.value, ast.Name) and t.value.id in owners for t in targets)
    sets = called(node) == "setattr"
    return "assignment" if written or sets else "other"


def bodies_of(node):
    return [body for name in ("body", "orelse", "finalbody") for body in [getattr(node, name, None)] if isinstance(body, list)] + [
        handler.body for handler in getattr(node, "handlers", [])]


def statements_of(path, text):
    """Every statement, innermost last; a simple one carries the condition that it stands under."""
    out = []

    def walk(body, symbol, guard):
        for node in body:
            nested = bodies_of(node)
            if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
                inner = "%s.%s" % (symbol, node.name) if symbol else node.name
                out.append(Statement(path, inner, "other", "def " + node.name, node.lineno, node.end_lineno))
                walk(node.body, inner, "")
            elif nested:
                test = ast.unparse(node.test) if isinstance(node, (ast.If, ast.While)) else type(node).__name__
                first = ast.unparse(node.body[0]) if node.body else ""
                out.append(Statement(path, symbol, "other", "if %s: %s" % (test, first), node.lineno, node.end_lineno))
                for number, inner in enumerate(nested):
                    walk(inner, symbol, test if number == 0 else "not (%s)" % test)
            else:
                said = ast.unparse(node)
                out.append(Statement(path, symbol, kind_of(node), "if %s: %s" % (guard, said) if guard else said, node.lineno,
                                     node.end_lineno))

    walk(ast.parse(text).body, "", "")
    return out


class Checkout:
    """A folder of a stack's code; files are read once, when they are asked for."""

    def __init__(self, root):
        self.root = pathlib.Path(root)
        self.files = {}

    def statements(self, path):
        if path not in self.files:
            file = self.root / path
            self.files[path] = statements_of(path, file.read_text()) if file.is_file() and path.endswith(".py") else []
        return self.files[path]

    def at(self, path, line):
        """The innermost statement that holds the line; a line of no Python is a statement by itself."""
        around = [s for s in self.statements(path) if s.start <= line <= s.end]
        if around:
            return min(around, key=lambda s: (s.end - s.start, -s.start))
        file = self.root / path
        lines = file.read_text(errors="replace").splitlines() if file.is_file() else []
        return Statement(path, "", "other", lines[line - 1].strip(), line, line) if 0 < line <= len(lines) else None


def digest(statement):
    return hashlib.sha256(statement.text.encode()).hexdigest()[:12]


# ---- from one checkout to another

def find(statement, checkout):
    """Where a statement stands in another checkout: (what became of it, the statement there or None)."""
    there = checkout.statements(statement.path)
    same = [s for s in there if s.text == statement.text]
    if same:
        best = min(same, key=lambda s: (s.symbol != statement.symbol, s.kind != statement.kind, abs(s.start - statement.start)))
        return "same", best
    rivals = [s for s in there if s.kind == statement.kind and s.symbol == statement.symbol]
    best, share = None, ALIKE
    matcher = difflib.SequenceMatcher(autojunk=False)
    matcher.set_seq2(statement.text)
    for rival in rivals:
        matcher.set_seq1(rival.text)
        if matcher.real_quick_ratio() > share and matcher.quick_ratio() > share and matcher.ratio() > share:
            best, share = rival, matcher.ratio()
    return ("changed", best) if best else ("gone", None)


def taken(found, old, new):
    """A likeness that stands unchanged in the other checkout is another statement, not this one changed."""
    state, there = found
    return state == "changed" and any(s.text == there.text for s in old.statements(there.path))


def verdict_of(cited, old, new):
    """What became between OLD and NEW of a statement of BASE: (came, same, changed, vanished or absent, the one in NEW)."""
    before, after = find(cited, old), find(cited, new)
    if before[1] is not None and after[1] is not None and before[1].text == after[1].text:
        return "same", after[1]
    if taken(after, old, new):
        after = ("gone", None)
    if taken(before, new, old):
        before = ("gone", None)
    if before[1] is None:
        return ("came" if after[1] is not None else "absent"), after[1]
    return ("vanished" if after[1] is None else "changed"), after[1]


def verdicts(rules, stack, base, old, new):
    """By citation: what became of it, where it stands in NEW."""
    out = {}
    for spelled, match in citations(rules, stack).items():
        cited = base.at(match["path"], int(match["line"]))
        out[spelled] = ("unread", None) if cited is None else verdict_of(cited, old, new)
    return out


def checks_in(checkout, paths, scopes):
    """Checks and silent assignments of the config classes, validate_args and the functions that rules cite."""
    for path in sorted(paths):
        for s in checkout.statements(path):
            function = s.symbol.rsplit(".", 1)[-1]
            in_scope = function in ("__post_init__", "validate_args", "finalize", "validate") or (path, s.symbol) in scopes
            if in_scope and s.kind in ("assert", "raise", "warning", "assignment"):
                yield s


def new_checks(rules, stack, base, old, new):
    """Checks of NEW that OLD has not, each with whether a rule's citation stands at it."""
    cited = [base.at(m["path"], int(m["line"])) for m in citations(rules, stack).values()]
    cited = [s for s in cited if s is not None]
    scopes = {(s.path, s.symbol) for s in cited}
    covered = {(s.path, at.start, at.end) for s in cited for at in [find(s, new)[1]] if at is not None}
    for check in checks_in(new, {s.path for s in cited}, scopes):
        state, before = find(check, old)
        if state == "same" or (state == "changed" and not taken((state, before), new, old)):
            continue
        near = any(path == check.path and start <= check.start <= end for path, start, end in covered)
        yield check, near


# ---- the three commands

def read_rows(path=ROWS):
    lines = [line for line in path.read_text().splitlines() if line and not line.startswith("#")]
    return {row[0]: row for row in (line.split("\t") for line in lines[1:])}


def write_rows(rows):
    head = ("# One row a citation of RULES.md: the symbol around it and the hash of the statement that it points at. Written by\n"
            "# `resolver/catalog/follow.py record CHECKOUT --stack NAME`; \"-\": no program has read that checkout.\n")
    ROWS.write_text(head + "\t".join(COLUMNS) + "\n" + "".join("\t".join(rows[key]) + "\n" for key in sorted(rows)))


def record(rules, options):
    """Rows of one stack anew; those of the others as they were, of citations that still are."""
    known = read_rows() if ROWS.exists() else {}
    rows = {spelled: known.get(spelled, (spelled, UNREAD, UNREAD)) for spelled in citations(rules)}
    checkout = Checkout(options.old)
    for spelled, match in citations(rules, options.stack).items():
        at = checkout.at(match["path"], int(match["line"]))
        if at is None:
            sys.exit("%s: stands not in %s" % (spelled, options.old))
        rows[spelled] = (spelled, at.symbol or UNREAD, digest(at))
    write_rows(rows)
    read = sum(row[2] != UNREAD for row in rows.values())
    print("%d citations, %d of them read" % (len(rows), read))


def follow(rules, options):
    old, new = Checkout(options.old), Checkout(options.new)
    base = Checkout(options.at) if options.at else old
    found = verdicts(rules, options.stack, base, old, new)
    print(", ".join("%d %s" % (n, state) for state, n in collections.Counter(s for s, _ in found.values()).most_common()))
    by_citation = collections.defaultdict(set)
    for rule in rules:
        match = citation_of(rule.source)
        if match:
            by_citation[match.group(0)].add(rule.id)
    for spelled, (state, at) in sorted(found.items()):
        moved = state == "same" and at.start != int(citation_of(spelled)["line"])
        if state == "absent" or (state == "same" and not moved):
            continue
        place = "%s:%d" % (at.path, at.start) if at else "-"
        print("%-8s %s -> %s  %s" % ("moved" if moved else state, spelled, place, " ".join(sorted(by_citation[spelled]))))
    for check, near in new_checks(rules, options.stack, base, old, new):
        if not near:
            print("new      %s %s:%d in %s: %s" % (check.kind, check.path, check.start, check.symbol, check.text[:100]))
    paths = python_files(rules, options.stack)
    for what, of in (("default", follow_knobs.fields_of), ("flag", follow_knobs.flags_of)):
        for name, before, after in follow_knobs.differences(of(old, paths), of(new, paths)):
            print("%-8s %s: %s -> %s" % (what, name, "-" if before is None else before, "-" if after is None else after))


def python_files(rules, stack):
    """The files that the rules cite."""
    return sorted({m["path"] for m in citations(rules, stack).values() if m["path"].endswith(".py")})


def bounds(said):
    since, _, until = said.partition("..")
    return releases.number(since), releases.number(until or since)


def score(rules, options):
    """Of the rules, those that the program says came or went, against those whose releases say so."""
    old, new, base = Checkout(options.old), Checkout(options.new), Checkout(options.at)
    last, first = releases.number(options.since), releases.number(options.to)
    found = verdicts(rules, options.stack, base, old, new)
    says, holds = collections.defaultdict(set), {}
    for rule in rules:
        match = citation_of(rule.source)
        if not match or match.group(0) not in found or not re.match(r"(0\.\d+|main)", rule.releases):
            continue
        since, until = bounds(rule.releases)
        if since > first or until < last:
            continue
        key = (rule.id, match.group(0))
        holds[key] = since == first or until == last
        says[found[match.group(0)][0]].add(key)
    truth = {key for key, differs in holds.items() if differs}
    print("%d records hold in %s or %s; %d of them came or went" % (len(holds), options.since, options.to, len(truth)))
    for name, states in (("came or vanished", ("came", "vanished")), ("or changed", ("came", "vanished", "changed"))):
        said = set().union(*(says[state] for state in states))
        hits = len(said & truth)
        print("%-17s %d said, %d right: precision %.2f, recall %.2f" %
              (name, len(said), hits, hits / max(1, len(said)), hits / max(1, len(truth))))
    for line in follow_knobs.score(old, new, python_files(rules, options.stack), options.since, options.to):
        print(line)
    if options.verbose:
        for key in sorted(truth - says["came"] - says["vanished"]):
            print("missed   %s %s (%s)" % (*key, found[key[1]][0]))
        for key in sorted((says["came"] | says["vanished"]) - truth):
            print("wrong    %s %s (%s)" % (*key, found[key[1]][0]))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("command", choices=("record", "follow", "score"))
    parser.add_argument("old", metavar="OLD")
    parser.add_argument("new", metavar="NEW", nargs="?")
    parser.add_argument("--at", metavar="BASE")
    parser.add_argument("--stack", default="Megatron-LM")
    parser.add_argument("--from", dest="since")
    parser.add_argument("--to")
    parser.add_argument("--verbose", action="store_true")
    options = parser.parse_args()
    if (options.command != "record") != bool(options.new):
        parser.error("record takes one checkout, follow and score take two")
    if options.command == "score" and not (options.at and options.since and options.to):
        parser.error("score needs --at, --from and --to")
    {"record": record, "follow": follow, "score": score}[options.command](list(rules_of(RULES.read_text())), options)


if __name__ == "__main__":
    main()
