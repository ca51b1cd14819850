#!/usr/bin/env python3
"""The knob table says nothing that is dropped in silence: one fault planted at every depth is named."""
import pathlib
import subprocess
import sys
import tempfile
import unittest

from sources import ROOT

GENERATOR = ROOT / "resolver/catalog/gen_knobs.py"
ROW = ('{name: a, section: model, class: execution, type: int, default: 1, defaults: {"core@core-0.17": 2}, core: {since: "0.16"}, '
       'bridge: {}, flags: [{flag: "--a", form: value, type: int, default: 1, changes: {"0.16": {default: 3}}}], proto: 1}')


def generate(text):
    with tempfile.TemporaryDirectory() as folder:
        root = pathlib.Path(folder)
        (root / "knobs.yaml").write_text(text)
        done = subprocess.run([sys.executable, GENERATOR, root / "knobs.yaml", root / "ids.h", root / "table.cc"], text=True,
                              stderr=subprocess.PIPE, check=False)
        return done.stderr


class Knobs(unittest.TestCase):
    def test_the_table(self):
        self.assertEqual(generate((ROOT / "resolver/catalog/knobs.yaml").read_text()), "")

    def test_faults(self):
        self.assertEqual(generate(f"knobs:\n  - {ROW}\n"), "")
        for good, bad, said in (
                ("section: model, ", "", "knob a: section is missing"),
                ("default: 1, defaults", "defalt: 1, defaults", "knob a: unknown 'defalt'"),
                ("type: int, default: 1, defaults", "type: integer, default: 1, defaults", "knob a.type: must be one of"),
                ("core@core-0.17", "core@core-0.20", "knob a.defaults: unknown 'core@core-0.20'"),
                ("core@core-0.17", "core@bridge-0.5", "knob a.defaults: unknown 'core@bridge-0.5'"),
                ("core@core-0.17", "optimizer@core-0.17", "knob a.defaults: unknown"),
                ('since: "0.16"', 'sinse: "0.16"', "knob a.core: unknown 'sinse'"),
                ('since: "0.16"', "since: 0.16", "knob a.core.since: must be one of"),
                ("form: value", "form: val", "knob a.flags[0].form: must be one of"),
                ("form: value, ", "", "knob a.flags[0]: form is missing"),
                ('changes: {"0.16"', 'changes: {"0.20"', "knob a.flags[0].changes: unknown '0.20'"),
                ("{default: 3}", "{defaults: 3}", "knob a.flags[0].changes.0.16: unknown 'defaults'"),
                ("[{flag", "{flag", "knobs.yaml"),
                ("default: 1, defaults", "default: 1, default: 2, defaults", "line 2: 'default' stands twice"),
                ("name: a", "name: 7", "knob 7.name: must be str"),
                ("proto: 1}", "proto: one}", "knob a.proto: must be int")):
            self.assertIn(good, ROW)
            with self.subTest(bad):
                said_of_it = generate(f"knobs:\n  - {ROW.replace(good, bad, 1)}\n")
                self.assertIn(said, said_of_it)
        self.assertIn("name a is taken", generate(f"knobs:\n  - {ROW}\n  - {ROW}\n"))
        self.assertIn("unknown 'knob'", generate(f"knob:\n  - {ROW}\n"))


if __name__ == "__main__":
    unittest.main()
