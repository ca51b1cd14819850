"""The keys of verl's configuration, stacks/verl/keys.tsv -> C++. Run by the build."""
import json
import sys

import shape

KINDS = {"map": "kMap", "null": "kNull", "value": "kValue"}
SHAPE = {"path": shape.matching(r"[A-Za-z_][\w-]*(\.[A-Za-z_][\w-]*)*", "a key's path"), "kind": shape.one_of(tuple(KINDS))}


def main(source, target):
    rows = shape.load_table(source, SHAPE, sorted_by="path")
    out = ["// Generated from keys.tsv; do not edit.", '#include "resolver/stacks/verl/keys.h"', "", "namespace flightplan {",
           "namespace {", "", "constexpr VerlKeyRow kRows[] = {",
           *("    {%s, VerlKey::%s}," % (json.dumps(row["path"]), KINDS[row["kind"]]) for row in rows), "};", "",
           "}  // namespace", "", "absl::Span<const VerlKeyRow> VerlKeyRows() { return kRows; }", "",
           "}  // namespace flightplan", ""]
    with open(target, "w", encoding="utf-8") as file:
        file.write("\n".join(out))


if __name__ == "__main__":
    main(*sys.argv[1:])
