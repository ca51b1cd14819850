#!/usr/bin/env python3
"""Writes what two forecasts' difference is off by, of each part's own, as TypeScript. usage: pair_error.py effect.cc"""
import re
import sys

PARTS = ("Compute", "Communication", "Host", "Bubble", "Optimizer")


def main():
    with open(sys.argv[1], encoding="utf-8") as file:
        figures = dict(re.findall(r"\bk(\w+) = ([0-9.]+)", file.read()))
    missing = [part for part in (*PARTS, "Floor") if part not in figures]
    if missing:
        sys.exit(f"{sys.argv[1]}: no constant k{missing[0]}")
    print("// Generated from resolver/estimate/effect.cc by clients/web/pair_error.py.\n")
    print("/** Relative errors of a difference of two forecasts, by wall. */")
    print("export const PAIR_ERRORS: Readonly<Record<string, number>> = {")
    for part in PARTS:
        print(f"  {part.lower()}: {figures[part]},")
    print("};\n\n/** Of a step: what repeated runs differ by. */")
    print(f"export const PAIR_FLOOR = {figures['Floor']};")


if __name__ == "__main__":
    main()
