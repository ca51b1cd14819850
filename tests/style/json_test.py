#!/usr/bin/env python3
"""JSON text is parsed in one place, resolver/base/json.cc: RapidJSON's own calls read some numbers far outside a table
(CVE-2024-38517 and its like), take the stack for a text of brackets, or write over a text that somebody else may hold."""
import re
import unittest

from sources import ROOT, code_only, tracked

ROOMS = ("resolver/", "service/", "clients/", "probe/")
THE_PLACE = "resolver/base/json.cc"
CALL = re.compile(r"(?:\.|->)(Parse|ParseStream|ParseInsitu|IterativeParse\w*)\s*(?:<[^<>()]*>)?\s*\(|rapidjson::(?:Generic)?Reader\b")


def calls(text):
    """The lines of each call of RapidJSON's parsers; of a text that does not know RapidJSON none."""
    code = code_only(text)
    if not re.search(r"\brapidjson\b", code):
        return []
    return [code.count("\n", 0, match.start()) + 1 for match in CALL.finditer(code)]


class Json(unittest.TestCase):
    def test_the_product(self):
        found = {}
        for path in tracked("*.h", "*.cc"):
            name = str(path.relative_to(ROOT))
            if name.startswith(ROOMS) and not name.endswith("_test.cc"):
                found[name] = calls(path.read_text())
        self.assertTrue(found.pop(THE_PLACE))
        self.assertEqual([f"{name}:{lines}: use ReadJson of resolver/base/json.h" for name, lines in found.items() if lines], [])

    def test_what_it_finds(self):
        for call in ("d.Parse(text);", "d->Parse<kFlags>(text);", "d.ParseInsitu<kFlags>(text);", "reader.IterativeParseNext<f>(in, *this);",
                     "rapidjson::Reader reader;"):
            self.assertEqual(len(calls(f"rapidjson::Document d;\n{call}\n")), 1, call)
        self.assertEqual(calls("rapidjson::Document d;\n// d.Parse(text)\n"), [])
        self.assertEqual(calls("parser.Parse(text);\n"), [])


if __name__ == "__main__":
    unittest.main()
