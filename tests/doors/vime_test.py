#!/usr/bin/env python3
"""What scripts of vime run (vime_launches.tsv): each is told by itself, read and judged. What its authors run is not refused.

usage: vime_test.py FLIGHTPLAN_BINARY
"""
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

import stack_scripts

FLIGHTPLAN = os.path.abspath(sys.argv.pop(1))

# What does not start as it is written, and why.
REFUSED = {
    # One node of 8 GPUs: TP 2 x PP 2 x CP 2 takes all, EP 8 x PP 2 would take 16; slime's script of that name, too.
    "scripts/run-glm4.7-30B-A3B.sh": ["mesh.expert-world-divisible"],
}


class Vime(unittest.TestCase):
    def test_they_are_told_read_and_not_refused_without_a_reason(self):
        with tempfile.TemporaryDirectory() as folder:
            stack_scripts.write_vime(pathlib.Path(folder))
            launches = sorted(pathlib.Path(folder).rglob("*.sh"))
            self.assertEqual(len(launches), 8)
            for path in launches:
                name = str(path.relative_to(folder))
                with self.subTest(name):
                    done = subprocess.run([FLIGHTPLAN, "validate", path, "--gpu", "h100-sxm", "--format", "json"], capture_output=True,
                                          text=True, timeout=60, stdin=subprocess.DEVNULL)
                    self.assertIn(done.returncode, (0, 1), done.stderr)
                    answer = json.loads(done.stdout)
                    self.assertEqual(answer["target"], "vime main")
                    errors = [f["rule_id"] for f in answer["findings"] if f["severity"] == "SEVERITY_ERROR"]
                    self.assertEqual([rule for rule in errors if not rule.startswith("fit.")], REFUSED.get(name, []))
                    self.assertEqual([f["seen"] for f in answer["findings"] if f["rule_id"] == "vime.unread-flag"], [])


if __name__ == "__main__":
    unittest.main()
