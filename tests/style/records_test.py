#!/usr/bin/env python3
"""Every id that the code gives a decision or a finding outside the rules has a record that `explain` shows, and the other way
round."""
import re
import unittest

from sources import ROOT, tracked

ID = re.compile(r'"((?:bridge-override|decide|plan|layout|evidence|probe|slurm|start)\.[a-z0-9][a-z0-9.-]*)"')
ROLES = {"evidence.write", "probe.run"}  # what a token allows
RULE = re.compile(r'\.id = "([^"]+)"')  # it is its own record
RECORDS = "resolver/explain/records.cc"


class Records(unittest.TestCase):
    def test_ids(self):
        used, rules = set(), set()
        for path in tracked("*.h", "*.cc"):
            name = str(path.relative_to(ROOT))
            if name.startswith(("resolver/", "service/", "clients/")) and not name.endswith("_test.cc") and name != RECORDS:
                used.update(ID.findall(path.read_text()))
                rules.update(RULE.findall(path.read_text()))
        explained = set(re.findall(r'^    \{"([^"]+)",', (ROOT / RECORDS).read_text(), re.M))
        self.assertEqual(sorted(used - ROLES - rules - explained), [], "no record")
        self.assertEqual(sorted(explained - used), [], "a record of nothing")
        self.assertGreater(len(explained), 40)


if __name__ == "__main__":
    unittest.main()
