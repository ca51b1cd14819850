#!/usr/bin/env python3
"""The gates of the compiler are shut: with what the second tier configures, a planted warning does not compile, and a planted
read beyond an array ends the program."""
import json
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

from sources import ROOT

BUILD = pathlib.Path(sys.argv.pop(1))
WARNS = "int Planted(int given) { int unused = given; return 0; }\n"
FINE = "int Planted(int given) { return given; }\n"
READS_BEYOND = ("#include <vector>\nint main(int argc, char**) {\n  const std::vector<int> three(3);\n"
                "  return three.data()[argc + 2];\n}\n")


def run(command):
    return subprocess.run(command, text=True, capture_output=True, check=False, timeout=120)


def warnings_of_the_build():
    """As one of our sources is compiled, without what it is made of."""
    for entry in json.loads((BUILD / "compile_commands.json").read_text()):
        if entry["file"].endswith("resolver/base/utf8.cc"):
            return re.findall(r"(?<= )-(?:W[a-z][\w=-]*|std=\S+)", entry["command"])
    raise AssertionError("the build compiles no resolver/base/utf8.cc")


class Gates(unittest.TestCase):
    def compile(self, folder, text, flags):
        source = pathlib.Path(folder, "planted.cc")
        source.write_text(text)
        return run(["g++", *flags, str(source)])

    def test_a_warning_does_not_compile(self):
        self.assertIn("-DFLIGHTPLAN_WERROR=ON", (ROOT / "tests/run.sh").read_text())
        flags = [*warnings_of_the_build(), "-fsyntax-only"]
        if "-Werror" not in flags:
            self.skipTest("this build was configured without FLIGHTPLAN_WERROR")
        with tempfile.TemporaryDirectory() as folder:
            self.assertEqual(self.compile(folder, FINE, flags).returncode, 0)
            said = self.compile(folder, WARNS, flags)
        self.assertNotEqual(said.returncode, 0)
        self.assertIn("[-Werror=unused-variable]", said.stderr)

    def test_a_read_beyond_an_array_ends_the_program(self):
        presets = {row["name"]: row for row in json.loads((ROOT / "CMakePresets.json").read_text())["configurePresets"]}
        sanitizers = presets["asan"]["cacheVariables"]["FLIGHTPLAN_SANITIZE"]
        self.assertIn('"-fsanitize=${FLIGHTPLAN_SANITIZE}"', (ROOT / "CMakeLists.txt").read_text())
        self.assertIn("ctest --preset asan", (ROOT / "tests/run.sh").read_text())
        with tempfile.TemporaryDirectory() as folder:
            program = pathlib.Path(folder, "planted")
            said = self.compile(folder, READS_BEYOND, [f"-fsanitize={sanitizers}", "-fno-sanitize-recover=all", "-o", str(program)])
            self.assertEqual(said.returncode, 0, said.stderr)
            ended = run([str(program)])
        self.assertNotEqual(ended.returncode, 0)
        self.assertIn("heap-buffer-overflow", ended.stderr)


if __name__ == "__main__":
    unittest.main()
