#!/usr/bin/env python3
"""The release is stated once, in the project line of the top CMakeLists.txt. This writes it into the manifests that have
to repeat it. To cut a release: change that line, run this, and give CHANGELOG.md a section.

usage: deploy/set_version.py [--check]
  --check   write nothing; one line for each file that says something else, and exit 1"""
import pathlib
import re
import sys

SOURCE = "CMakeLists.txt"
PROJECT_LINE = re.compile(r"^project\(flightplan VERSION (\d+\.\d+\.\d+) ", re.M)
# File, what stands before the version there, and how often.
COPIES = [
    ("clients/python/src/flightplan/__init__.py", r'^__version__ = "', 1),
    ("pyproject.toml", r'(?:^version = "|"flightplan==)', 2),
    ("clients/typescript/package.json", r'^  "name": "flightplan",\n  "version": "', 1),
    ("clients/typescript/package-lock.json", r'^ +"name": "flightplan",\n +"version": "', 2),
    ("clients/web/package.json", r'^  "name": "flightplan-web",\n  "version": "', 1),
    ("clients/web/package-lock.json", r'^ +"name": "flightplan-web",\n +"version": "', 2),
    ("clients/vscode/package.json", r'^  "name": "flightplan",\n  "version": "', 1),
    ("clients/vscode/package-lock.json", r'^ +"name": "flightplan",\n +"version": "', 2),
    ("clients/java/pom.xml", r"<artifactId>flightplan-client</artifactId>\n  <version>", 1),
    ("clients/rust/Cargo.toml", r'^name = "flightplan"\nversion = "', 1),
    ("clients/rust/Cargo.lock", r'^name = "flightplan"\nversion = "', 1),
    ("clients/go/README.md", r"`require flightplan v", 1),
]
CHANGELOG = "CHANGELOG.md"


class NotFound(Exception):
    """A file does not have the version where COPIES says; the message names it."""


def project_version(root):
    match = PROJECT_LINE.search((root / SOURCE).read_text())
    if not match:
        raise NotFound(f"{SOURCE}: no line project(flightplan VERSION x.y.z ...)")
    return match.group(1)


def with_version(text, before, count, version):
    """The text with the version in its places; None: they are not as many as they should be."""
    new, found = re.subn(f"({before})" + r"\d+\.\d+\.\d+", lambda m: m.group(1) + version, text, flags=re.M)
    return new if found == count else None


def outdated(root, version):
    """Yields path and new text of each file that says something else."""
    for name, before, count in COPIES:
        old = (root / name).read_text()
        new = with_version(old, before, count, version)
        if new is None:
            raise NotFound(f"{name}: {before!r} with a version is not there {count} times: mend COPIES in deploy/set_version.py")
        if new != old:
            yield name, new


def main(arguments, root=pathlib.Path(__file__).resolve().parents[1]):
    if arguments not in ([], ["--check"]):
        print(__doc__)
        return 0 if arguments in (["-h"], ["--help"]) else 2
    try:
        version = project_version(root)
        changes = list(outdated(root, version))
    except NotFound as fault:
        print(f"set_version: {fault}", file=sys.stderr)
        return 1
    faults = []
    for name, new in changes:
        if arguments:
            faults.append(f"{name}: not {version} as in {SOURCE}: run deploy/set_version.py")
        else:
            (root / name).write_text(new)
            print(f"{name}: {version}")
    if not re.search(rf"^## \[{re.escape(version)}\]", (root / CHANGELOG).read_text(), re.M):
        faults.append(f"{CHANGELOG}: no section [{version}]: write one")
    for fault in faults:
        print(fault)
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
