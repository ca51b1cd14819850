#!/usr/bin/env python3
"""Comments and documents name files of this repository that are there: by their path from the root, or from a room of the
resolver ("base/work.h")."""
import re
import unittest

from layering_test import ROOMS as rooms_of_the_resolver
from sources import ROOT, tracked

TOP = "clients|deploy|probe|proto|resolver|service|tests"
ROOMS = "|".join(rooms_of_the_resolver)
NAMED = re.compile(rf"(?<![\w./@:<>{{}}$-])((?:{TOP}|{ROOMS})/[\w./-]*\.(?:cc|h|md|py|sh|yaml|yml|tsv|proto|json|cu|cfg|def|in))\b(?![\w/*])")
# What the build makes, and a placeholder.
MADE = {"resolver/catalog/step_rates.h", "rules/registry.cc", "clients/NAME/generate.sh", "resolver/rules/core/example.cc",
        "resolver/rules/core/example.cases.yaml"}


def comments(path, text):
    if path.suffix in (".md",):
        return enumerate(text.splitlines(), 1)
    sign = "//" if path.suffix in (".cc", ".h", ".cu", ".proto", ".ts", ".java", ".go", ".rs") else "#"
    found = []
    for number, line in enumerate(text.splitlines(), 1):
        at = line.find(sign)
        if at >= 0 and not line.lstrip().startswith("#include"):
            found.append((number, line[at:]))
    return found


def there(name):
    return (ROOT / name).exists() or (ROOT / "resolver" / name).exists() or (ROOT / "tests" / name).exists()


def named_in(path, text):
    """(line, name) of each file that the comments of `path` name."""
    return [(number, name) for number, comment in comments(path, text) for name in NAMED.findall(comment)]


def is_missing(path, name):
    return name not in MADE and not there(name) and not (path.parent / name).exists()


class NamedFiles(unittest.TestCase):
    def test_a_missing_file_is_noticed(self):
        path = ROOT / "resolver/base/planted.cc"
        text = "int x;  // see resolver/base/work.h\n// and base/no_such_file.h\n"
        self.assertEqual([row for row in named_in(path, text) if is_missing(path, row[1])], [(2, "base/no_such_file.h")])

    def test_the_sources(self):
        faults, met = [], 0
        for path in tracked("*.cc", "*.h", "*.cu", "*.py", "*.sh", "*.md", "*.proto", "CMakeLists.txt", "*.cmake", "*.yaml"):
            name = str(path.relative_to(ROOT))
            if name == "tests/style/named_files_test.py":
                continue
            named = named_in(path, path.read_text(errors="replace"))
            met += len(named)
            faults += [f"{name}:{number}: {file}" for number, file in named if is_missing(path, file)]
        self.assertEqual(faults, [])
        self.assertGreater(met, 100)


if __name__ == "__main__":
    unittest.main()
