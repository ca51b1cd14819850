#!/usr/bin/env python3
"""Every id that the code gives a decision or a finding outside the rules has a record that `explain` shows, and the other way
round."""
import re
import unittest

from sources import ROOT, tracked

ID = re.compile(r'"((?:bridge-override|bridge-perf|bridge-recipe|decide|plan|layout|evidence|probe|slurm|start|launch)\.[a-z0-9][a-z0-9.-]*)"')
ROLES = {"evidence.write", "probe.run"}  # what a token allows
RULE = re.compile(r'\.(?:id|formerly) = "([^"]+)"')  # it is its own record, under a former id too
RECORDS = "resolver/explain/records.cc"


def without_record(texts, explained):
    """Ids in these sources that are neither a rule's nor explained, and records of no id."""
    used = {found for text in texts for found in ID.findall(text)}
    rules = {found for text in texts for found in RULE.findall(text)}
    return sorted(used - ROLES - rules - explained), sorted(explained - used)


class Records(unittest.TestCase):
    def test_a_planted_id_is_noticed(self):
        text = 'Finding{.rule_id = "decide.planted"}; Rule{.id = "layout.planted"}; Show("plan.known");'
        text += 'Rule{.id = "layout.renamed", .formerly = "decide.renamed"};'
        self.assertEqual(without_record([text], {"plan.known", "probe.gone"}), (["decide.planted"], ["probe.gone"]))

    def test_ids(self):
        texts = []
        for path in tracked("*.h", "*.cc"):
            name = str(path.relative_to(ROOT))
            if name.startswith(("resolver/", "service/", "clients/")) and not name.endswith("_test.cc") and name != RECORDS:
                texts.append(path.read_text())
        explained = set(re.findall(r'^    \{"([^"]+)",', (ROOT / RECORDS).read_text(), re.M))
        self.assertEqual(without_record(texts, explained), ([], []), "ids without a record, records of no id")
        self.assertGreater(len(explained), 40)


if __name__ == "__main__":
    unittest.main()
