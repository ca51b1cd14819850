#!/usr/bin/env python3
"""Writes the releases of each framework, oldest first, as TypeScript. usage: releases.py releases.yaml"""
import json
import sys

import yaml

FRAMEWORKS = {"megatron-lm": "core", "megatron-bridge": "bridge", "loongforge": "loongforge"}


def releases(stack):
    # One whose command line was not read judges no launch.
    return [row["release"] for row in stack.get("releases", []) if row.get("command_line", True)] + ["main"]


def main():
    with open(sys.argv[1], encoding="utf-8") as file:
        table = yaml.safe_load(file)
    print("// Generated from resolver/catalog/releases.yaml by clients/web/releases.py.\n")
    print("/** Releases by framework, oldest first. */")
    print("export const RELEASES: Readonly<Record<string, readonly string[]>> = {")
    for framework, stack in FRAMEWORKS.items():
        print(f"  {json.dumps(framework)}: {json.dumps(releases(table[stack]))},")
    print("};")


if __name__ == "__main__":
    main()
