#!/usr/bin/env python3
"""What the pages for people say of stacks, rpcs and figures is what protos, records and generated pages say. usage: stated_test.py"""
import re
import sys
import unittest

from sources import ROOT

sys.path.insert(0, str(ROOT / "tests/doors"))
import stack_scripts  # noqa: E402

README = (ROOT / "README.md").read_text()


def stacks():
    for path in sorted((ROOT / "resolver/stacks").glob("*/stack.cc")):
        text = path.read_text()
        if "by_name = false" not in text:
            yield re.search(r'\.name = "([\w-]+)"', text).group(1)


def rpcs():
    """Service -> its rpcs."""
    found = {}
    for path in sorted((ROOT / "proto/flightplan/v1").glob("*.proto")):
        for service, body in re.findall(r"(?m)^service (\w+) \{$(.*?)^\}$", path.read_text(), re.S):
            found[service] = re.findall(r"(?m)^  rpc (\w+)\(", body)
    return found


class Stated(unittest.TestCase):
    def test_every_stack_is_named_where_it_is_said_what_is_judged(self):
        self.assertGreater(len(list(stacks())), 10)
        for file, row in [("README.md", r"(?s)Targets: (.*?)\n\n"), ("clients/skills/flightplan/SKILL.md", r"(?m)^description: (.*)$"),
                          (".pre-commit-hooks.yaml", r"(?m)^  description: (.*)$"), ("docs/glossary.md", r"(?m)^\| stack \| (.*)$")]:
            text = re.search(row, (ROOT / file).read_text()).group(1).lower()
            for stack in stacks():
                with self.subTest(file=file, stack=stack):
                    self.assertRegex(text, rf"\b{stack}\b")

    def test_the_table_of_services_has_every_rpc(self):
        rows = dict(re.findall(r"(?m)^\| `(\w+Service)` \| (.*) \|$", README))
        self.assertEqual(rows.keys(), rpcs().keys())
        for service, methods in rpcs().items():
            for method in methods:
                verb = re.match("[A-Z][a-z]+", method).group()
                with self.subTest(service=service, method=method):
                    self.assertTrue(f"`{method}`" in rows[service] or (verb in ("Get", "List") and f"`{verb}`" in rows[service]))

    def test_the_page_of_errors_has_every_reason(self):
        given = set()
        for path in [*(ROOT / "service").rglob("*.cc"), *(ROOT / "service").rglob("*.h"), *(ROOT / "resolver").rglob("*.cc")]:
            text = path.read_text()
            if path.name.endswith("_test.cc") or "/testdata/" in str(path):
                continue
            if "WithReason(" in text:
                given |= set(re.findall(r'"([A-Z]{2,}(?:_[A-Z]+)+|INTERNAL|LEAKED)"', text))
            if path.name == "status_mapping.cc":
                given |= set(re.findall(r'return "([A-Z_]+)";', text))
            given |= set(re.findall(r'k(?:EnvelopeInvalid|RequestTooLarge)\[\] = "([A-Z_]+)"', text))
            given |= set(re.findall(r'\bUnknown\(.*"([A-Z_]+)"\)', text))
        listed = set(re.findall(r"(?m)^\| `([A-Z_]+)` \|", (ROOT / "docs/errors.md").read_text()))
        self.assertGreater(len(given), 30)
        self.assertEqual(listed, given)

    def test_the_clients_say_which_stubs_they_have(self):
        for language, spell in [("go", str), ("typescript", str.lower), ("python", str.lower)]:
            text = (ROOT / "clients" / language / "README.md").read_text()
            for service in rpcs():
                name = spell(service.removesuffix("Service"))
                with self.subTest(language=language, service=service):
                    self.assertRegex(text, rf"`(client)?\.?{name}`")

    def test_the_forecasts_errors_are_those_of_docs_accuracy(self):
        page = (ROOT / "docs/accuracy.md").read_text()
        of = {}
        for title, text in re.findall(r"(?ms)^## By (model family|GPU), each held out$(.*?)^## ", page):
            of[title] = re.search(r"\| \*\*all\*\* \| \d+ \| ([\d.]+) \| ([\d.]+) ", text).groups()
        stated = re.search(r"for a model family that it has not seen, expect (\d+) %, with one run in ten off by (\d+) % or more,\s+"
                           r"and for a GPU that it has not seen (\d+) % and (\d+) %", README)
        self.assertEqual([int(word) for word in stated.groups()],
                         [round(float(word)) for word in (*of["model family"], *of["GPU"])])

    def test_the_doors_refusals_are_those_of_docs_stacks(self):
        rows = stack_scripts.rows()
        stated = re.search(r"Of ([\d,]+) launches that the authors of these stacks keep in their own\s+repositories (\d+) are refused", README)
        self.assertEqual([int(word.replace(",", "")) for word in stated.groups()],
                         [len(rows), sum(row.verdict == "refused" for row in rows)])


if __name__ == "__main__":
    unittest.main()
