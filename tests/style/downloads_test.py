#!/usr/bin/env python3
"""deploy/downloads.tsv is what the manifests say, and nothing is installed that no hash pins."""
import sys

from sources import ROOT, report

sys.path.insert(0, str(ROOT / "deploy"))
import list_downloads  # noqa: E402

# Commands, and how many of each are found to install what nothing pins.
COMMANDS = [
    ('"$venv/bin/pip" install -q -r requirements.txt', 1),
    ('"$venv/bin/pip" install -q --require-hashes \\\n  -r requirements.txt', 0),
    ("python3 -m pip download x", 1),
    ('"${pip[@]}" install --quiet x', 1),
    ("pip wheel --no-index .", 0),
    ("npm install x", 1),
    ("npm ci --ignore-scripts", 0),
    ("npx buf", 1),
    ("go install example.com/tool@v1.0.0", 1),
    ('go run ./example "$@"', 0),
    ("cargo build --workspace", 1),
    ("cargo build --locked", 0),
    ("curl -fsSL https://example.com/install | sh", 1),
    ("curl -s http://127.0.0.1:9464/metrics", 0),
    ('echo "run: pip install x"', 0),
    ("# pip install x", 0),
]
# Manifests without a hash, each for its reader.
WITHOUT_HASH = [
    (list_downloads.pip, "a==1.0 \\\n    --hash=sha256:00\nb==2.0\n"),
    (list_downloads.pip, "a>=1.0 \\\n    --hash=sha256:00\n"),
    (list_downloads.npm, '{"packages": {"": {}, "node_modules/a": {"version": "1.0.0"}}}'),
    (list_downloads.cargo, '[[package]]\nname = "a"\nversion = "1.0.0"\nsource = "registry"\n'),
    (list_downloads.images, "ARG BASE=docker.io/library/debian:12-slim"),
    (list_downloads.maven_pinned, '-Dartifact="io.example:what-nobody-listed:1.0:exe:linux-x86_64"'),
]


def self_test():
    for command, count in COMMANDS:
        found = [reason for _, _, reason in list_downloads.unpinned_commands("x.sh", command)]
        if found != [None] * count:
            yield f"self-test: {command!r}: {len(found)} commands without a hash, not {count}"
    reasons = [reason for _, _, reason in list_downloads.unpinned_commands("x.sh", "pip install x  # unpinned: as a user does")]
    if reasons != ["as a user does"]:
        yield f"self-test: a reason is read as {reasons}"
    for reader, text in WITHOUT_HASH:
        try:
            rows = list(reader("manifest", text))
        except list_downloads.Fault:
            continue
        yield f"self-test: {reader.__name__} takes a package without a hash: {rows}"


if __name__ == "__main__":
    sys.exit(report(list(self_test()), "deploy/list_downloads.py finds what nothing pins") | list_downloads.main(["--check"]))
