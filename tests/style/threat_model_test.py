#!/usr/bin/env python3
"""deploy/SECURITY.md: every promise names what holds it, and that is there and is run. So is every drill that deploy/hardening.md
names."""
import re
import unittest

from sources import ROOT

MODEL, HARDENING = ROOT / "deploy/SECURITY.md", ROOT / "deploy/hardening.md"
HOLDS = re.compile(r"`((?:tests|service|resolver|clients|probe)/[\w./-]+)[^`]*`")
BY_HAND = {"tests/drills/capacity.sh"}  # figures, no verdict


def promises(text):
    """Rows of the tables under "What is promised": the promise, and what holds it."""
    body = text.partition("## What is promised")[2].partition("\n## ")[0]
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in body.splitlines() if line.startswith("|")]
    return [(row[0], HOLDS.findall(row[-1])) for row in rows if row[0] != "promise" and not set(row[0]) <= {"-"}]


def where_run():
    """What CTest runs: the text of every list of it."""
    return "\n".join(path.read_text() for path in ROOT.glob("tests/**/CMakeLists.txt"))


class ThreatModel(unittest.TestCase):
    def test_every_promise_has_what_holds_it(self):
        found = promises(MODEL.read_text())
        self.assertGreater(len(found), 20)
        for promise, held_by in found:
            self.assertTrue(held_by, promise)

    def test_what_is_named_is_there_and_is_run(self):
        lists = where_run()
        for page in (MODEL, HARDENING):
            for path in HOLDS.findall(page.read_text()):
                with self.subTest(path, page=page.name):
                    self.assertTrue((ROOT / path).exists(), path)
                    if path.startswith("tests/drills/") and not path.endswith(".md") and path not in BY_HAND:
                        self.assertIn(path.rpartition("/")[2], lists)
                    if path.startswith(("tests/doors/", "tests/style/")):
                        self.assertRegex(lists, rf"\b{path.rpartition('/')[2].removesuffix('_test.py')}\b")

    def test_every_drill_that_breaks_something_on_purpose_is_named(self):
        named = set(HOLDS.findall(MODEL.read_text()))
        for match in set(re.findall(r'"\$\{drills\}/([\w.]+)"', where_run())) - {"fresh_machine.sh", "refusals.sh", "dashboard.py"}:
            self.assertIn(f"tests/drills/{match}", named)


if __name__ == "__main__":
    unittest.main()
