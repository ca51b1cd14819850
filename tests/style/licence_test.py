#!/usr/bin/env python3
"""Every tracked file has a licence: REUSE.toml says which, LICENSES/ holds its text. What `reuse lint` asks, without
the network and without a package; and a file with somebody else's copyright line is not claimed as ours."""
import re
import sys
import tomllib

from sources import ROOT, report, tracked

TAGS = ("SPDX-FileCopyrightText", "SPDX-License-Identifier")
OURS = "The Flightplan authors"
# Files that need none: licence texts, and the table itself.
EXEMPT = re.compile(r"LICENSES/.*|REUSE\.toml|(.*/)?(LICENSE|COPYING)[^/]*")
COPYRIGHT_LINE = re.compile(r"(?:Copyright|\(c\)|©)[ ,:]*(?:\(c\)|©)?[ ,]*\d{4}[-, \d]*(.*)", re.I)
OPERATORS = {"AND", "OR", "WITH"}


def as_pattern(glob):
    """REUSE's globs: `*` stops at a slash, `**` does not, a backslash takes the next character as it is."""
    parts = re.findall(r"\\.|\*\*|\*|[^*\\]+", glob)
    return re.compile("".join({"**": ".*", "*": "[^/]*"}.get(p, re.escape(p[1:] if p[0] == "\\" else p)) for p in parts))


def read_annotations(text):
    """Pairs of patterns and tags, in the table's order."""
    for table in tomllib.loads(text).get("annotations", []):
        paths = table["path"] if isinstance(table["path"], list) else [table["path"]]
        yield [(path, as_pattern(path)) for path in paths], {tag: table.get(tag) for tag in TAGS}


def licence_ids(expression):
    return {word for word in re.findall(r"[A-Za-z0-9.+-]+", expression or "") if word not in OPERATORS}


def tags_of(name, annotations):
    """The tags of the last table that names the file; None: no table does."""
    found = None
    for patterns, tags in annotations:
        if any(pattern.fullmatch(name) for _, pattern in patterns):
            found = tags
    return found


def faults_of(names, annotations, texts):
    """What is wrong with these files; `texts` are the licences whose text is there."""
    faults, used = [], set()
    for name in names:
        if EXEMPT.fullmatch(name):
            continue
        tags = tags_of(name, annotations)
        if tags is None:
            faults.append(f"{name}: no table of REUSE.toml covers it: add its path to the one that fits")
            continue
        faults += [f"{name}: its table in REUSE.toml has no {tag}" for tag in TAGS if not tags[tag]]
        ids = licence_ids(tags["SPDX-License-Identifier"])
        used |= ids
        faults += [f"{name}: LICENSES/{id}.txt is not there" for id in sorted(ids - texts)]
    faults += [f"LICENSES/{id}.txt: no file has this licence" for id in sorted(texts - used)]
    for patterns, _ in annotations:
        faults += [f"REUSE.toml: {path} names no file" for path, pattern in patterns if not any(map(pattern.fullmatch, names))]
    return faults


def foreign_copyright(path):
    """Holders in the file's copyright lines, without us."""
    lines = path.read_bytes().decode("utf-8", "replace").splitlines()
    holders = [match.group(1).strip() for line in lines if (match := COPYRIGHT_LINE.search(line))]
    return [holder for holder in holders if OURS not in holder]


def self_test():
    """The check finds each fault that it is for."""
    table = '[[annotations]]\npath = ["a/**"]\nSPDX-FileCopyrightText = "x"\nSPDX-License-Identifier = "MIT"\n'
    annotations = list(read_annotations(table))
    cases = [(["a/b/c"], {"MIT"}, 0), (["a/b", "b/c"], {"MIT"}, 1), (["a/b"], set(), 1), (["a/b"], {"MIT", "Zlib"}, 1),
             (["b/LICENSE"], {"MIT"}, 2), (["a/b"], {"MIT"}, 0)]
    faults = [f"self-test: {names} with {sorted(texts)}: {found}, not {count} faults" for names, texts, count in cases
              if len(found := faults_of(names, annotations, texts)) != count]
    if as_pattern("a/*.c").fullmatch("a/b/x.c") or not as_pattern("a/**").fullmatch("a/b/x.c"):
        faults.append("self-test: * or ** is read wrongly")
    return faults


def main():
    files = {str(path.relative_to(ROOT)): path for path in tracked() if path.is_file()}
    annotations = list(read_annotations((ROOT / "REUSE.toml").read_text()))
    # A link whose target is gone does not exist.
    texts = {path.stem for path in (ROOT / "LICENSES").iterdir() if path.exists()}
    faults = self_test() + faults_of(list(files), annotations, texts)
    for name, path in files.items():
        tags = None if EXEMPT.fullmatch(name) else tags_of(name, annotations)
        if tags and OURS in (tags["SPDX-FileCopyrightText"] or ""):
            faults += [f"{name}: REUSE.toml says it is ours, its copyright line says {holder!r}" for holder in foreign_copyright(path)]
    return report(faults, "REUSE.toml names copyright and licence of every file")


if __name__ == "__main__":
    sys.exit(main())
