#!/usr/bin/env python3
"""The manual page: the roff is sound, and it has every command, flag, exit code and variable.

usage: man_test.py FLIGHTPLAN_BINARY
"""
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

FLIGHTPLAN = os.path.abspath(sys.argv.pop(1))
ROOT = pathlib.Path(__file__).resolve().parents[2]


def run(*args):
    return subprocess.run([FLIGHTPLAN, *args], check=True, capture_output=True, text=True, env={**os.environ, "LC_ALL": "C"})


def flags_of(text):
    return set(re.findall(r"(?<![\w-])--[a-z][a-z0-9_-]*", text))


class Man(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.page = run("man").stdout
        cls.plain = re.sub(r"\\f[BIR]", "", cls.page.replace("\\-", "-"))
        cls.commands = re.findall(r"^  ([a-z]+) {2,}\S", run("help").stdout.split("Try:")[0], re.M)
        cls.commands.remove("help")  # it has no flags, and no page of its own but the list of commands

    def section(self, title):
        return re.search(rf"^\.SH {title}\n(.*?)(?=^\.SH |\Z)", self.plain, re.M | re.S).group(1)

    def test_every_flag_of_every_command_is_there(self):
        self.assertGreater(len(self.commands), 18)
        for command in self.commands:
            with self.subTest(command):
                part = re.search(rf"^\.SS flightplan {command}\n(.*?)(?=^\.S[SH] )", self.plain, re.M | re.S).group(1)
                # Only where flags are listed: an example may have those of another program.
                listed = flags_of(re.split(r"^example:", run("help", command).stdout, flags=re.M)[0])
                named = set(re.findall(r"^\.TP\n(--[a-z0-9_-]+)", part, re.M))
                self.assertLessEqual(named, listed)
                # A help text may speak of a flag of another command.
                spoken_of = flags_of(re.sub(r"^\.TP\n--[a-z0-9_-]+", "", part, flags=re.M))
                self.assertLessEqual(listed - named, spoken_of | {"--help"})

    def test_every_variable_that_is_looked_at_is_there(self):
        names = set()
        for source in (ROOT / "clients/cli").glob("*.cc"):
            names |= set(re.findall(r'(?:getenv|[vV]ariable|ContentOf)\("([A-Z_]+)"\)', source.read_text()))
        self.assertIn("FLIGHTPLAN_TOKEN", names)
        for name in names:
            self.assertRegex(self.section("ENVIRONMENT"), rf"\b{name}\b")

    def test_every_exit_code_of_the_readme_is_there(self):
        table = (ROOT / "README.md").read_text().split("| exit code |")[1]
        codes = re.findall(r"^\| (\d) \|", table, re.M)
        self.assertEqual(re.findall(r"^\.TP\n(\d)\n", self.section("EXIT STATUS"), re.M), codes)

    def test_groff_has_no_warning(self):
        if shutil.which("groff") is None:
            self.skipTest("groff is not installed")
        done = subprocess.run(["groff", "-man", "-ww", "-Tascii", "-z"], input=self.page, capture_output=True, text=True)
        self.assertEqual((done.returncode, done.stderr), (0, ""))

    def test_mandoc_has_no_error(self):
        if shutil.which("mandoc") is None:
            self.skipTest("mandoc is not installed")
        done = subprocess.run(["mandoc", "-Tlint", "-Wwarning"], input=self.page, capture_output=True, text=True)
        # A page that is the same in every build has no date.
        lines = [line for line in done.stdout.splitlines() if "missing date" not in line]
        self.assertEqual(lines, [])

    def test_man_shows_it(self):
        if shutil.which("man") is None:
            self.skipTest("man is not installed")
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "flightplan.1"
            path.write_text(self.page)
            shown = subprocess.run(["man", "-l", str(path)], capture_output=True, text=True, check=True,
                                   env={"PATH": os.environ["PATH"], "MANWIDTH": "80", "LC_ALL": "C"}).stdout
        # One renderer writes two blanks before the dash.
        self.assertIn("flightplan - the launch that the training stack will accept", " ".join(shown.split()))


if __name__ == "__main__":
    unittest.main()
