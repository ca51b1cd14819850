#!/usr/bin/env python3
"""The knob table says nothing that is dropped in silence: one fault planted at every depth is named."""
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

import yaml

from sources import ROOT

GENERATOR = ROOT / "resolver/catalog/gen_knobs.py"
ROW = ('{name: a, section: model, class: execution, type: int, default: 1, defaults: {"core@core-0.17": 2}, core: {since: "0.16"}, '
       'bridge: {}, proto: 1}')
SPELLING = '{knob: a, flags: [{flag: "--a", form: value, type: int, default: 1, changes: {"0.16": {default: 3}}}], dest: b}'
STACKS = ROOT / "resolver/stacks"


def generate(text, *spellings):
    """What the generator says of a table, and of the files of stacks."""
    with tempfile.TemporaryDirectory() as folder:
        root = pathlib.Path(folder)
        (root / "knobs.yaml").write_text(text)
        files = [root / f"spellings{i}.yaml" for i in range(len(spellings))]
        for file, spelling in zip(files, spellings):
            file.write_text(spelling)
        done = subprocess.run([sys.executable, GENERATOR, root / "knobs.yaml", root / "ids.h", root / "table.cc", *files],
                              text=True, stderr=subprocess.PIPE, check=False)
        return done.stderr


class Knobs(unittest.TestCase):
    def test_the_table(self):
        files = sorted(STACKS.glob("*/spellings.yaml"))
        self.assertGreaterEqual(len(files), 3)
        table = (ROOT / "resolver/catalog/knobs.yaml").read_text()
        self.assertEqual(generate(table, *(file.read_text() for file in files)), "")

    def test_faults(self):
        self.assertEqual(generate(f"knobs:\n  - {ROW}\n"), "")
        for good, bad, said in (
                ("section: model, ", "", "knob a: section is missing"),
                ("default: 1, defaults", "defalt: 1, defaults", "knob a: unknown 'defalt'"),
                ("type: int, default: 1, defaults", "type: integer, default: 1, defaults", "knob a.type: must be one of"),
                ("core@core-0.17", "core@core-0.98", "knob a.defaults: unknown 'core@core-0.98'"),
                ("core@core-0.17", "core@bridge-0.5", "knob a.defaults: unknown 'core@bridge-0.5'"),
                ("core@core-0.17", "optimizer@core-0.17", "knob a.defaults: unknown"),
                ('since: "0.16"', 'sinse: "0.16"', "knob a.core: unknown 'sinse'"),
                ('since: "0.16"', "since: 0.16", "knob a.core.since: must be one of"),
                ("bridge: {}, ", "bridge: {}, flags: [], ", "knob a: unknown 'flags'"),
                ("default: 1, defaults", "default: 1, default: 2, defaults", "line 2: 'default' stands twice"),
                ("name: a", "name: 7", "knob 7.name: must be str"),
                ("proto: 1}", "proto: one}", "knob a.proto: must be int")):
            self.assertIn(good, ROW)
            with self.subTest(bad):
                said_of_it = generate(f"knobs:\n  - {ROW.replace(good, bad, 1)}\n")
                self.assertIn(said, said_of_it)
        self.assertIn("name a is taken", generate(f"knobs:\n  - {ROW}\n  - {ROW}\n"))
        self.assertIn("unknown 'knob'", generate(f"knob:\n  - {ROW}\n"))

    def test_faults_of_spellings(self):
        table, head = f"knobs:\n  - {ROW}\n", "spellings:\n  - "
        self.assertEqual(generate(table, head + SPELLING), "")
        for good, bad, said in (
                ("knob: a", "knob: c", "knob c: no row of knobs.yaml"),
                ("knob: a, ", "", "spellings[0]: knob is missing"),
                ("dest: b", "dset: b", "spellings[0]: unknown 'dset'"),
                ("form: value", "form: val", "spellings[0].flags[0].form: must be one of"),
                ("form: value, ", "", "spellings[0].flags[0]: form is missing"),
                ('changes: {"0.16"', 'changes: {"0.98"', "spellings[0].flags[0].changes: unknown '0.98'"),
                ("{default: 3}", "{defaults: 3}", "spellings[0].flags[0].changes.0.16: unknown 'defaults'"),
                ("[{flag", "{flag", "spellings0.yaml")):
            self.assertIn(good, SPELLING)
            with self.subTest(bad):
                self.assertIn(said, generate(table, head + SPELLING.replace(good, bad, 1)))
        self.assertIn("'a' stands twice", generate(table, f"{head}{SPELLING}\n  - {SPELLING}\n"))
        words = "words: {own: what it is}\n"
        self.assertEqual(generate(table, words + head + "{knob: a, own: -a}"), "")
        self.assertIn("spellings[0]: unknown 'won'", generate(table, words + head + "{knob: a, won: -a}"))
        self.assertIn("words: unknown 'flags'", generate(table, "words: {flags: what they are}\n" + head + SPELLING))
        self.assertIn("'flags' of a stands in two files", generate(table, head + SPELLING, head + SPELLING))

    def test_a_stack_with_words_of_its_own(self):
        """A new folder's words are in the table, and nothing that is compiled has to know of them."""
        with tempfile.TemporaryDirectory() as folder:
            root = pathlib.Path(folder)
            (root / "toy").mkdir()
            own = root / "toy/spellings.yaml"
            own.write_text("words: {setting: what toy calls it}\nspellings:\n  - {knob: num_layers, setting: depth}\n")
            subprocess.run([sys.executable, GENERATOR, STACKS.parent / "catalog/knobs.yaml", root / "ids.h", root / "table.cc",
                            *sorted(STACKS.glob("*/spellings.yaml")), own], check=True)
            self.assertIn('{"toy.setting", "depth"}', (root / "table.cc").read_text())
        row = re.search(r"struct KnobRow \{.*?^\};", (ROOT / "resolver/plan/knob.h").read_text(), re.M | re.S).group(0)
        for stack in ("bridge_", "loongforge", "megatron_lm"):
            self.assertNotIn(stack, row)

    def test_words_of_loongforge_are_its_parsers(self):
        """A flag that stands in a spelling is one that the parser has: what it takes has one home."""
        lines = (STACKS / "loongforge/flags.tsv").read_text().splitlines()
        flags = {line.split("\t")[0] for line in lines if line.startswith("--")}
        shared = {row["knob"]: [flag["flag"] for flag in row.get("flags", [])] for row in
                  yaml.safe_load((STACKS / "megatron_lm/spellings.yaml").read_text())["spellings"]}
        words = yaml.safe_load((STACKS / "loongforge/spellings.yaml").read_text())["spellings"]
        own = [flag for row in words for flag in re.findall(r"^--[\w-]+", row["word"])]
        self.assertEqual([flag for flag in own if flag not in flags], [])
        self.assertEqual([row["knob"] for row in words if row["word"] == "same"
                          and not flags.intersection(shared.get(row["knob"], []))], [])
        self.assertGreater(len(own), 30)


if __name__ == "__main__":
    unittest.main()
