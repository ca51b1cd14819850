#!/usr/bin/env python3
"""Every citation of a rule has its row, and what upstream does between two checkouts is seen."""
import pathlib
import sys
import tempfile
import unittest

from sources import ROOT

sys.path.insert(0, str(ROOT / "resolver/catalog"))
import follow  # noqa: E402 (of the catalogue, which is no package)
import follow_knobs  # noqa: E402

OLD = '''
class Config:
    size: int = 1
    heads: int = 2

    def __post_init__(self):
        if self.size < 1:
            raise ValueError("size must be positive")
        if self.heads > self.size:
            raise ValueError("more heads than size")
        assert self.heads != 7, "seven heads"
        self.width = self.size
'''
NEW = '''
class Config:
    size: int = 1
    depth: int = 0
    heads: int = 4

    def __post_init__(self):
        # A comment and another layout of the same statement are no change.
        if self.size < 1:
            raise ValueError(
                "size must be positive")
        if self.heads > self.size * 2:
            raise ValueError("more heads than size")
        assert self.heads % 2 == 0 or self.depth, "an odd number of heads wants depth"
        self.width = self.size
        if self.depth > 9:
            raise ValueError("too deep")
        add = parser.add_argument("--depth", type=int, default=0)
'''
LINES = {"positive": 8, "heads": 10, "seven": 11, "width": 12}


def rule(name):
    return follow.Rule(name, "0.16..main", "Megatron-LM:megatron/config.py:%d" % LINES[name])


class Citations(unittest.TestCase):
    def test_each_has_a_row(self):
        rules = list(follow.rules_of(follow.RULES.read_text()))
        cited, rows = set(follow.citations(rules)), follow.read_rows()
        self.assertGreater(len(cited), 900)
        self.assertEqual(sorted(cited - set(rows)), [], "run resolver/catalog/follow.py record")
        self.assertEqual(sorted(set(rows) - cited), [], "run resolver/catalog/follow.py record")
        for spelled, symbol, digest in rows.values():
            with self.subTest(spelled):
                self.assertTrue(symbol)
                self.assertRegex(digest, "^(-|[0-9a-f]{12})$")

    def test_most_were_read(self):
        """Those of the three stacks whose code is public; other releases and the fork are not read by program."""
        unread = [row[0] for row in follow.read_rows().values()
                  if row[2] == follow.UNREAD and row[0].split(":")[0] in ("Megatron-LM", "Megatron-Bridge", "LoongForge")]
        self.assertEqual(unread, [])


class Follow(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        root = pathlib.Path(self.folder.name)
        for name, text in (("old", OLD), ("new", NEW)):
            (root / name / "megatron").mkdir(parents=True)
            (root / name / "megatron/config.py").write_text(text)
        self.roots = root / "old", root / "new"
        self.old, self.new = map(follow.Checkout, self.roots)
        self.rules = [rule(name) for name in LINES]

    def tearDown(self):
        self.folder.cleanup()

    def test_what_became_of_each(self):
        found = follow.verdicts(self.rules, "Megatron-LM", self.old, self.old, self.new)
        said = {name: found[rule(name).source] for name in LINES}
        self.assertEqual({name: state for name, (state, _) in said.items()},
                         {"positive": "same", "heads": "changed", "seven": "vanished", "width": "same"})
        self.assertEqual(said["positive"][1].start, 10)
        self.assertEqual(said["width"][1].start, 15)

    def test_backwards_it_came(self):
        found = follow.verdicts([rule("seven")], "Megatron-LM", self.old, self.new, self.old)
        self.assertEqual(found[rule("seven").source][0], "came")

    def test_new_checks_and_whether_a_rule_stands_there(self):
        said = list(follow.new_checks(self.rules, "Megatron-LM", self.old, self.old, self.new))
        self.assertEqual([(check.start, near) for check, near in said], [(14, False), (17, False)])
        covered = [*self.rules, follow.Rule("deep", "main", "Megatron-LM:megatron/config.py:17")]
        self.assertIn((17, True), [(check.start, near) for check, near in follow.new_checks(
            covered, "Megatron-LM", self.new, self.old, self.new)])

    def test_defaults_and_flags(self):
        paths = ["megatron/config.py"]
        fields = [follow_knobs.fields_of(checkout, paths) for checkout in (self.old, self.new)]
        self.assertEqual(list(follow_knobs.differences(*fields)), [("Config.depth", None, "0"), ("Config.heads", "2", "4")])
        self.assertEqual(follow_knobs.flags_of(self.new, paths), {"--depth": {"type": "int", "default": "0"}})

    def test_flags_that_are_made_of_a_class(self):
        """As arguments.py of Megatron-Core 0.18 on makes them; a base class stands in another file."""
        with tempfile.TemporaryDirectory() as name:
            folder = pathlib.Path(name, "megatron")
            folder.mkdir()
            (folder / "base.py").write_text("class Base:\n    depth: int = 0\n    quiet: bool = True\n")
            (folder / "config.py").write_text(
                "class Config(Base):\n    fuse: bool = False\n    own: int = 1\n"
                "    save: bool = field(default=True, metadata={'argparse_meta': {'arg_names': ['--never-save']}})\n")
            (folder / "arguments.py").write_text(
                "def add(parser):\n    exclude = ['own']\n    ArgumentGroupFactory(Config, exclude=exclude)\n")
            flags = follow_knobs.flags_of(follow.Checkout(name), ["megatron/arguments.py"])
        self.assertEqual(sorted(flags), ["--depth", "--disable-quiet", "--fuse", "--never-save", "--no-quiet"])
        self.assertEqual(flags["--fuse"], {"field": "bool = False"})


    def test_a_hash_is_of_the_syntax(self):
        def hash_at(checkout, line):
            return follow.digest(checkout.at("megatron/config.py", line))
        self.assertEqual(hash_at(self.old, 8), hash_at(self.new, 11))
        self.assertNotEqual(hash_at(self.old, 10), hash_at(self.new, 13))


if __name__ == "__main__":
    unittest.main()
