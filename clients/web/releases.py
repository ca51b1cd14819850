#!/usr/bin/env python3
"""Writes every framework with its releases, oldest first, as TypeScript. usage: releases.py releases.yaml STACK.cc..."""
import json
import re
import sys

import yaml

NUMBERED = {"megatron-lm": "core", "megatron-bridge": "bridge"}  # the others have their newest code alone


def frameworks(paths):
    """Names of the stacks that are asked for by name, in the order in which they are listed."""
    found = []
    for path in paths:
        with open(path, encoding="utf-8") as file:
            record = file.read()
        name, rank = (re.search(rf"\.{field} = \"?([\w-]+)", record) for field in ("name", "rank"))
        if name is None or rank is None:
            sys.exit(f"{path}: no record with a name and a rank")
        if ".by_name = false" not in record:
            found.append((int(rank[1]), name[1]))
    return [name for _, name in sorted(found)]


def releases(stack):
    # One whose command line was not read judges no launch.
    return [row["release"] for row in stack.get("releases", []) if row.get("command_line", True)] + ["main"]


def main():
    with open(sys.argv[1], encoding="utf-8") as file:
        table = yaml.safe_load(file)
    print("// Generated from resolver/catalog/releases.yaml and resolver/stacks/*/stack.cc by clients/web/releases.py.\n")
    print("/** Releases by framework, oldest first. */")
    print("export const RELEASES: Readonly<Record<string, readonly string[]>> = {")
    for framework in frameworks(sys.argv[2:]):
        print(f"  {json.dumps(framework)}: {json.dumps(releases(table.get(NUMBERED.get(framework), {})))},")
    print("};")


if __name__ == "__main__":
    main()
