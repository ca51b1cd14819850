#!/usr/bin/env python3
"""Does what a section of CONTRIBUTING.md says, in a copy of this repository: writes the blocks that are files, appends to those
that are there, runs the commands. So what a newcomer is told works.

    walk.py SECTION     "A rule", "A knob", "A release" or "A stack"
    walk.py --quick     all of them, without what needs a build
    walk.py --list      the sections, and how many blocks each has
"""
import argparse
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
BLOCK = re.compile(r"^```(\w+)(?: (\S+))?\n(.*?)^```$", re.M | re.S)


def sections(text):
    """Title to blocks; those marked "all" stand in every section."""
    parts = re.split(r"^## (.+)$", text, flags=re.M)
    shared = [b for b in BLOCK.findall(parts[0]) if b[1] == "all"]
    return {parts[i]: shared + BLOCK.findall(parts[i + 1]) for i in range(1, len(parts), 2)}


def copy_to(folder):
    names = subprocess.run(["git", "ls-files", "--cached", "--others", "--exclude-standard", "-z"], cwd=ROOT, check=True,
                           capture_output=True, text=True).stdout.split("\0")
    for name in filter(None, names):
        source, target = ROOT / name, folder / name
        if source.is_file():
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(source, target, follow_symlinks=False)
    subprocess.run("git init -q && git add -A", shell=True, cwd=folder, check=True)  # checks of the sources list files by git


def without_build(text):
    """The commands that change or check the sources alone."""
    return "".join(line + "\n" for line in text.splitlines() if line.startswith(("mv ", "python3 ", "sed ")))


def do(block, folder):
    language, where, text = block
    if language == "sh":
        if not text:
            return
        env = dict(os.environ, CCACHE_BASEDIR=str(folder), CCACHE_NOHASHDIR="1")
        print(f"+ {text}", flush=True)
        subprocess.run(["bash", "-eo", "pipefail", "-c", text], cwd=folder, env=env, check=True)
        return
    kind, _, name = where.partition("=")
    path = folder / name
    if kind == "file":
        if path.exists():
            raise SystemExit(f"{name} is there already")
        path.write_text(text)
    elif kind == "append":
        path.write_text(path.read_text() + text)
    else:
        raise SystemExit(f"```{language} {where}: neither file= nor append=")
    print(f"+ {kind} {name}", flush=True)


def walk(blocks, quick):
    """Number of files that the walk changed."""
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        copy_to(folder)
        subprocess.run(["git", "-c", "user.name=walk", "-c", "user.email=walk@localhost", "commit", "-qm", "copy"], cwd=folder,
                       check=True)
        for language, where, text in blocks:
            do((language, where, without_build(text) if quick and language == "sh" else text), folder)
        changed = subprocess.run(["git", "status", "--porcelain"], cwd=folder, check=True, capture_output=True, text=True).stdout
        return len(changed.splitlines())


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("section", nargs="?")
    parser.add_argument("--list", action="store_true")
    parser.add_argument("--quick", action="store_true")
    options = parser.parse_args()
    known = sections((ROOT / "CONTRIBUTING.md").read_text())
    if options.list:
        for title, blocks in known.items():
            print(f"{title}: {len(blocks)}")
        return 0
    chosen = known if options.quick else {options.section: known.get(options.section, [])}
    for title, blocks in chosen.items():
        print(f"== {title}", flush=True)
        if len(blocks) < 2 or walk(blocks, options.quick) == 0:
            print(f"CONTRIBUTING.md has no walk {title!r}, or one that changes nothing", file=sys.stderr)
            return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
