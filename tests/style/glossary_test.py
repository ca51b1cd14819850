#!/usr/bin/env python3
"""Every word of docs/glossary.md stands in the header that it names, and the list is in order."""
import re
import sys

from sources import ROOT, report

ROW = re.compile(r"^\| ([a-z ]+) \| .+ \| `([^`]+)` \|$", re.M)


def main():
    rows = ROW.findall((ROOT / "docs/glossary.md").read_text())
    faults = [] if rows else ["docs/glossary.md: holds no word"]
    words = [word for word, _ in rows if word != "word"]
    faults += [f"{word}: out of order, or twice" for word, after in zip(words, words[1:]) if word >= after]
    for word, header in rows:
        path = ROOT / header
        if not path.exists():
            faults.append(f"{word}: there is no {header}")
        elif not re.search(word, path.read_text(), re.I):
            faults.append(f"{word}: does not stand in {header}")
    return report(faults, "docs/glossary.md says what the code means")


if __name__ == "__main__":
    sys.exit(main())
