#!/usr/bin/env python3
"""Records of decisions: numbered without a gap, with the same headings, and each in the index."""
import re
import sys

from sources import ROOT, report, tracked

HEADINGS = ["Context", "Decision", "Rejected", "Consequences"]
FOLDER = ROOT / "docs/adr"


def main():
    index = (FOLDER / "README.md").read_text()
    records = sorted(path for path in tracked("docs/adr/*.md") if path.name != "README.md")
    faults = [] if records else ["docs/adr: holds no record"]
    for number, path in enumerate(records, 1):
        text = path.read_text()
        title = re.match(r"# (\d+)\. (.+)\n", text)
        if not path.name.startswith(f"{number:04d}-"):
            faults.append(f"{path.name}: number {number:04d} is next")
        if title is None or int(title.group(1)) != number:
            faults.append(f"{path.name}: begins with '# {number}. Title'")
        elif f"| {number} | [{title.group(2)}]({path.name}) |" not in index:
            faults.append(f"{path.name}: is not in docs/adr/README.md under its title")
        if re.findall(r"^## (.+)$", text, re.M) != HEADINGS:
            faults.append(f"{path.name}: its headings are {', '.join(HEADINGS)}")
    return report(faults, "docs/adr/README.md says what a record is")


if __name__ == "__main__":
    sys.exit(main())
