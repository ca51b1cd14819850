#!/usr/bin/env python3
"""Is the lint configuration in force? A lost comma in a list of checks disables whole groups without a word, so each
named group must show at least one check, and a bad sample must be refused."""
import json
import pathlib
import shutil
import subprocess
import sys
import tempfile

from sources import ROOT, report

TIDY = "clang-tidy-14"
GROUPS = ["abseil-", "bugprone-", "clang-analyzer-", "performance-", "google-explicit-constructor", "google-build-",
          "google-readability-namespace-comments", "google-readability-avoid-underscore", "misc-unused-",
          "readability-identifier-naming"]
RESOLVER_GROUPS = GROUPS + ["portability-restrict-system-includes", "cppcoreguidelines-avoid-non-const-global-variables"]
OFF = ["bugprone-easily-swappable-parameters"]
# Each line breaks the rule behind it.
SAMPLE = """#include <fstream>  // portability-restrict-system-includes
int counter = 0;  // cppcoreguidelines-avoid-non-const-global-variables
class bad_name {};  // readability-identifier-naming
struct Wrap { Wrap(int v) : value(v) {} int value; };  // google-explicit-constructor
"""
EXPECTED = ["portability-restrict-system-includes", "cppcoreguidelines-avoid-non-const-global-variables",
            "readability-identifier-naming", "google-explicit-constructor"]


def checks_in(folder):
    # The configuration that holds for a file of the folder; the file need not exist.
    out = subprocess.run([TIDY, "--list-checks", str(folder / "x.cc"), "--"], cwd=folder, capture_output=True, text=True)
    return [line.strip() for line in out.stdout.splitlines()[1:] if line.strip()]


def main():
    if shutil.which(TIDY) is None:
        print(f"skipped: {TIDY} is not installed")
        return 77
    faults = []
    for folder, groups in ((ROOT, GROUPS), (ROOT / "resolver", RESOLVER_GROUPS)):
        checks = checks_in(folder)
        faults += [f"{folder.name}: no check {g}*" for g in groups if not any(c.startswith(g) for c in checks)]
        faults += [f"{folder.name}: {c} should be off" for c in OFF if c in checks]
    with tempfile.TemporaryDirectory() as folder:
        # clang-tidy sees the sample as a file of resolver/, where nothing is written.
        sample, overlay = pathlib.Path(folder) / "sample.cc", pathlib.Path(folder) / "overlay.yaml"
        sample.write_text(SAMPLE)
        overlay.write_text(json.dumps({"version": 0, "use-external-names": False, "roots": [{
            "name": str(ROOT / "resolver" / "lint_sample.cc"), "type": "file", "external-contents": str(sample)}]}))
        out = subprocess.run([TIDY, "--quiet", f"--vfsoverlay={overlay}", str(ROOT / "resolver" / "lint_sample.cc"), "--",
                              "-std=c++20"], cwd=ROOT / "resolver", capture_output=True, text=True)
    faults += [f"the bad sample passed {check}" for check in EXPECTED if check not in out.stdout]
    if out.returncode == 0:
        faults.append("the bad sample is no error: WarningsAsErrors is not in force")
    return report(faults, ".clang-tidy and resolver/.clang-tidy")


if __name__ == "__main__":
    sys.exit(main())
