#!/usr/bin/env python3
"""Writes flightplan/v1/knobs.proto from the knob table (resolver/catalog/knob_rows.py). With --check: says whether it is fresh."""
import json
import pathlib
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "resolver" / "catalog"))
import knob_rows  # noqa: E402

TARGET = HERE / "flightplan" / "v1" / "knobs.proto"
TYPES = {"bool": "bool", "int": "int64", "float": "double", "string": "string", "freq": "string", "any": "string",
         "int_list": "IntList", "float_list": "DoubleList", "string_list": "StringList"}
HEAD = '''syntax = "proto3";

package flightplan.v1;

// Generated from resolver/catalog/knobs.yaml by proto/gen_knobs_proto.py.

// The knobs a plan sets, each optional, by Megatron's own names. Unset: not given. Knobs outside this message travel as
// KnobSetting.
message Knobs {
'''
TAIL = '''}

// A list of integers.
message IntList {
  // In order.
  repeated int64 values = 1;
}

// A list of real numbers.
message DoubleList {
  // In order.
  repeated double values = 1;
}

// A list of texts.
message StringList {
  // In order.
  repeated string values = 1;
}
'''


def comment(row):
    parts = [row["class"].replace("_", " ").capitalize() + " knob"]
    if row.get("choices"):
        parts.append("one of " + ", ".join(map(str, row["choices"])))
    flags = [flag["flag"] for flag in row.get("flags", [])]
    if flags:
        parts.append("mirrors " + flags[0])
    if row.get("default") is not None:
        parts.append("default " + json.dumps(row["default"]))
    return "; ".join(parts) + "."


def render(rows):
    fields = []
    for row in sorted((row for row in rows if "proto" in row), key=lambda row: row["proto"]):
        kind = TYPES[row["type"]]
        label = "" if kind.endswith("List") else "optional "
        fields.append("  // %s\n  %s%s %s = %d;\n" % (comment(row), label, kind, row["name"].replace(".", "_").lower(),
                                                  row["proto"]))
    return HEAD + "".join(fields) + TAIL


def main():
    rows = knob_rows.load_all()
    text = render(rows)
    if "--check" in sys.argv[1:]:
        if TARGET.read_text() != text:
            sys.exit("knobs.proto is stale: run proto/gen_knobs_proto.py")
    else:
        TARGET.write_text(text)


if __name__ == "__main__":
    main()
