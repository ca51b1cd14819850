#!/usr/bin/env python3
"""No exception crosses a function: try, catch and throw stand only where a library forces them on us."""
import re
import sys

from sources import ROOT, code_only, report, tracked

# yaml-cpp reports errors by throwing; a program for an older glibc has to get an exception from where it is thrown.
ALLOWED = {"resolver/base/yaml.cc", "probe/older_glibc/older_glibc_test.cc"}
WORDS = re.compile(r"\b(try|catch|throw)\b")


def main():
    faults = []
    for path in tracked("*.h", "*.cc"):
        name = str(path.relative_to(ROOT))
        if name in ALLOWED:
            continue
        for number, line in enumerate(code_only(path.read_text()).split("\n"), 1):
            if match := WORDS.search(line):
                faults.append(f"{name}:{number}: {match.group(1)}")
    return report(faults, "return absl::Status instead")


if __name__ == "__main__":
    sys.exit(main())
