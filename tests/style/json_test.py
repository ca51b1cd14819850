#!/usr/bin/env python3
"""How the product reads JSON with RapidJSON. Every call names its flags, and among them
- kParseFullPrecisionFlag: without it a number such as 1.1e-2147483639 is read far outside a table (CVE-2024-38517), and others
  differ in their last digit from what was written;
- kParseIterativeFlag: without it a text of brackets alone takes the stack;
and none reads in place, which writes over a text that somebody else may hold."""
import pathlib
import re
import unittest

from sources import ROOT, code_only, tracked

ROOMS = ("resolver/", "service/", "clients/", "probe/")
# Recursive, of a text whose depth is known.
SHALLOW = {"resolver/normalize/profile_message.cc": "what protobuf has just written", "service/probe_lines.cc": "DepthOf comes first"}
CALL = re.compile(r"(?:\.|->)(?:(?:Parse|ParseStream|IterativeParseNext)\s*(?:<([^<>()]*)>)?\s*\(|(ParseInsitu)\b)")
CONSTANT = re.compile(r"constexpr\s+\w+\s+(\w+)\s*=\s*([^;]*);")


def faults(text, shallow=False):
    """Yields line and fault of each call."""
    code = code_only(text)
    if not re.search(r"\brapidjson\b", code):
        return
    constants = dict(CONSTANT.findall(code))
    for match in CALL.finditer(code):
        flags = constants.get((match.group(1) or "").strip(), match.group(1) or "")
        line = code.count("\n", 0, match.start()) + 1
        if match.group(2):
            yield line, "reads in place"
        elif "kParseFullPrecisionFlag" not in flags:
            yield line, "reads without kParseFullPrecisionFlag"
        elif "kParseIterativeFlag" not in flags and not shallow:
            yield line, "reads without kParseIterativeFlag"


class Json(unittest.TestCase):
    def test_the_product(self):
        calls = 0
        for path in tracked("*.h", "*.cc"):
            name = str(path.relative_to(ROOT))
            if name.startswith(ROOMS) and not name.endswith("_test.cc"):
                text = path.read_text()
                self.assertEqual([f"{name}:{line}: {fault}" for line, fault in faults(text, name in SHALLOW)], [])
                calls += len(CALL.findall(code_only(text))) if "rapidjson" in text else 0
        self.assertGreaterEqual(calls, 6)  # it has found them

    def test_exceptions_are_needed(self):
        for name in SHALLOW:
            self.assertTrue(list(faults((ROOT / pathlib.Path(name)).read_text())), name)

    def test_what_it_finds(self):
        flags = "constexpr unsigned kFlags = rapidjson::kParseFullPrecisionFlag |\n  rapidjson::kParseIterativeFlag;\n"
        for call, fault in (("d.Parse(text);", "reads without kParseFullPrecisionFlag"),
                            ("d.Parse<0>(text);", "reads without kParseFullPrecisionFlag"),
                            ("d->Parse<kOther>(text);", "reads without kParseFullPrecisionFlag"),
                            ("reader.IterativeParseNext<kOther>(in, *this);", "reads without kParseFullPrecisionFlag"),
                            ("d.Parse<rapidjson::kParseFullPrecisionFlag>(text);", "reads without kParseIterativeFlag"),
                            ("d.ParseInsitu<kFlags>(text);", "reads in place"),
                            ("d.Parse<kFlags>(text);", None), ("// d.Parse(text)", None)):
            found = [what for _, what in faults("rapidjson::Document d;\n" + flags + call)]
            self.assertEqual(found, [fault] if fault else [], call)
        self.assertEqual(list(faults("config.Parse(text);")), [])  # no RapidJSON in the file


if __name__ == "__main__":
    unittest.main()
