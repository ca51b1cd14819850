#!/usr/bin/env python3
"""README.md's first page is what its command prints.

usage: readme_page.py FLIGHTPLAN_BINARY [--update]

Compares; with --update, or UPDATE_GOLDEN=1, writes the page into README.md instead.
"""
import difflib
import os
import pathlib
import re
import shlex
import subprocess
import sys

README = pathlib.Path(__file__).resolve().parents[2] / "README.md"
# The first command with a prompt, and what is indented below it.
PAGE = re.compile(r"^    \$ (flightplan [^\n]*)\n\n((?:    [^\n]*\n|\n)+?)\n*(?=^\S)", re.M)
WIDTH = "100"  # columns of the page, without its indent


def printed(binary, command):
    """As it stands below the command in README.md."""
    environment = {"PATH": os.environ.get("PATH", ""), "HOME": "/nonexistent", "LANG": "C.UTF-8", "COLUMNS": WIDTH,
                   "FLIGHTPLAN_PROFILE_DIR": "/nonexistent/flightplan"}
    done = subprocess.run([binary, *shlex.split(command)[1:]], capture_output=True, text=True, env=environment, timeout=240)
    if done.returncode != 0:
        sys.exit(f"{command} ended with {done.returncode}: {done.stderr}")
    return "".join(f"    {line}\n" if line else "\n" for line in done.stdout.rstrip("\n").split("\n"))


def main():
    binary = os.path.abspath(sys.argv[1])
    text = README.read_text()
    page = PAGE.search(text)
    if page is None:
        sys.exit(f"{README} has no command with a prompt and its page below")
    now = printed(binary, page[1])
    if now == page[2]:
        return
    if "--update" in sys.argv or os.environ.get("UPDATE_GOLDEN") == "1":
        README.write_text(text[:page.start(2)] + now + text[page.end(2):])
        print(f"wrote the page of `{page[1]}` into {README.name}")
        return
    print("".join(difflib.unified_diff(page[2].splitlines(True), now.splitlines(True), "README.md", page[1])))
    sys.exit("README.md's first page is not what the command prints; if this is meant: ninja update_readme, and read the diff")


if __name__ == "__main__":
    main()
