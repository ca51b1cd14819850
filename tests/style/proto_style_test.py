#!/usr/bin/env python3
"""What buf's lint does not know about our protos: units in names, signed integers, the shape of Get and List."""
import json
import re
import subprocess
import sys

import yaml

from sources import ROOT, report

UNITS = (
    "_bytes", "_us", "_count", "_ratio", "_per_second", "_per_second_per_gpu", "_size", "_id", "_index", "_indices", "_rank", "_revision", "_mhz",
    "_watts", "_celsius")
# Words of the field: the architecture's and the layout's own dimensions, as Megatron names them.
MEGATRON_WORDS = re.compile(
    r"(num_|_num_|topk|_size$|_rank$|_dim$|kv_channels|rotary_|mtp_num|seq_length|max_position|train_iters|_length$)")
PLAIN = {
    "Location": {"line", "column"},
    "Range": {"value", "low", "high"},  # of the quantity that the field holding the range names
    "KnobValue": {"int_value", "double_value"},
    "IntList": {"values"},
    "DoubleList": {"values"},
    "DescribeTimelineRequest": {"pipeline_ranks"},
    "TimelineRank": {"layer_counts"},
}
PLAIN_FIELDS = {"stage", "step_flops", "revision"}
FIGURES = {"value", "low", "high", "error"}  # of a message that says their unit in one of UNIT_FIELDS
UNIT_FIELDS = {"unit", "metric"}
UNSIGNED = {"TYPE_UINT32", "TYPE_UINT64", "TYPE_FIXED32", "TYPE_FIXED64"}
NUMBERS = {"TYPE_INT32", "TYPE_INT64", "TYPE_DOUBLE", "TYPE_FLOAT", "TYPE_SINT32", "TYPE_SINT64"}


def image(buf):
    out = subprocess.run([buf, "build", "--exclude-source-info", "-o", "-#format=json"], cwd=ROOT / "proto", check=True,
                         capture_output=True, text=True).stdout
    return [f for f in json.loads(out)["file"] if f["package"].startswith("flightplan.")]


def fields_of(message):
    """Every field of a message and of the messages in it, with its message. Map entries say nothing."""
    if message.get("options", {}).get("mapEntry"):
        return
    for field in message.get("field", []):
        yield message, field
    for nested in message.get("nestedType", []):
        yield from fields_of(nested)


def field_fault(owner, field, knobs):
    message, name = owner["name"], field["name"]
    if field["type"] in UNSIGNED:
        return f"{message}.{name}: unsigned; use a signed integer"
    if field["type"] not in NUMBERS or name.endswith(UNITS) or name in PLAIN_FIELDS or name in knobs:
        return None
    if name in PLAIN.get(message, ()) or MEGATRON_WORDS.search(name):
        return None
    if name in FIGURES and UNIT_FIELDS & {f["name"] for f in owner["field"]}:
        return None
    return f"{message}.{name}: a number whose name says no unit ({', '.join(UNITS)})"


def list_fault(messages, method):
    kind, rest = re.match(r"(Get|List)?(.*)", method["name"]).groups()
    request = {f["name"] for f in messages[method["inputType"].split(".")[-1]].get("field", [])}
    response = messages[method["outputType"].split(".")[-1]].get("field", [])
    if kind == "Get" and method["outputType"].endswith("Response"):
        return f"{method['name']}: a Get returns the resource itself"
    if kind != "List":
        return None
    if not {"page_size", "page_token"} <= request:
        return f"{method['name']}: the request has no page_size and page_token"
    repeated = [f for f in response if f.get("label") == "LABEL_REPEATED"]
    if len(repeated) != 1 or "next_page_token" not in {f["name"] for f in response}:
        return f"{method['name']}: the answer is one list and next_page_token"
    return None


def main():
    files = image(sys.argv[1])
    rows = yaml.load((ROOT / "resolver/catalog/knobs.yaml").read_text(), Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))
    knobs = {row["name"].replace(".", "_") for row in rows["knobs"]}
    messages = {m["name"]: m for f in files for m in f.get("messageType", [])}
    faults = [field_fault(owner, field, knobs) for m in messages.values() for owner, field in fields_of(m)]
    faults += [list_fault(messages, method) for f in files for s in f.get("service", []) for method in s.get("method", [])]
    return report([fault for fault in faults if fault], "proto style")


if __name__ == "__main__":
    sys.exit(main())
