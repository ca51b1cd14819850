#!/usr/bin/env python3
"""tests/style/tidy.py finds a planted fault, reads two sources that cannot share a unit, and takes a header's namesake."""
import pathlib
import shutil
import sys
import tempfile
import unittest

import tidy

GOOD = "namespace {\nint Twice(int x) { return 2 * x; }\n}  // namespace\nint %s() { return Twice(1); }\n"
BAD = "#include <string>\nbool HasDot(const std::string& text) { return text.find('.') != std::string::npos; }\nint bad_NAME() {\n  int Upper = 1;\n  return Upper;\n}\n"


class Tidy(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        shown, tidy.OURS = tidy.OURS, f"^{self.folder}/"
        self.addCleanup(setattr, tidy, "OURS", shown)
        (self.folder / ".clang-tidy").write_text((tidy.ROOT / ".clang-tidy").read_text())

    def source(self, name, text):
        (self.folder / name).write_text(text)
        return tidy.Source(self.folder / name, ("-std=c++20",))

    def read(self, sources):
        remembered = []
        with open("/dev/null", "w") as nowhere:
            shown, sys.stdout = sys.stdout, nowhere
            try:
                found = tidy.run(sources, 1, remembered.extend)
            finally:
                sys.stdout = shown
        return "".join(found), {source.path.name for source in remembered}

    def test_a_planted_fault_is_found(self):
        said, clean = self.read([self.source("good.cc", GOOD % "Good"), self.source("bad.cc", BAD)])
        self.assertIn("readability-identifier-naming", said)
        self.assertIn("bad.cc:4", said)
        self.assertEqual(clean, {"good.cc"})

    def test_clashing_sources_are_both_read(self):
        said, clean = self.read([self.source("one.cc", GOOD % "One"), self.source("two.cc", GOOD % "Two")])
        self.assertEqual((said, clean), ("", {"one.cc", "two.cc"}))

    def test_one_that_does_not_compile_is_no_clean_one(self):
        said, clean = self.read([self.source("broken.cc", "int Broken() { return missing; }\n")])
        self.assertIn("missing", said)
        self.assertEqual(clean, set())

    def test_a_header_is_read_with_its_namesake(self):
        header = tidy.ROOT / "resolver/base/digest.h"
        sources = [tidy.Source(tidy.ROOT / name, ()) for name in ("resolver/resolver.cc", "resolver/base/digest.cc")]
        self.assertEqual([s.path.name for s in tidy.touched(sources, {header})], ["digest.cc"])

    def test_what_is_remembered_is_the_content(self):
        source = self.source("good.cc", '#include "own.h"\n')
        (self.folder / "own.h").write_text("")
        self.assertEqual([p.name for p in tidy.closure(source.path)], ["good.cc", "own.h"])


if __name__ == "__main__":
    if shutil.which(tidy.TIDY) is None or shutil.which(tidy.CLANG) is None:
        print(f"skipped: {tidy.TIDY} and {tidy.CLANG} are not installed")
        sys.exit(77)
    unittest.main()
