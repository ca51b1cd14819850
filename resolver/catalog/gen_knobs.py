#!/usr/bin/env python3
"""Turns knobs.yaml into C++: knob_ids.h (the enum) and knob_table.cc (the rows). Run by the build."""
import json
import re
import sys

import yaml

TYPES = {
    "bool": "kBool", "int": "kInt", "float": "kFloat", "string": "kString", "int_list": "kIntList",
    "float_list": "kFloatList", "string_list": "kStringList", "freq": "kFreq", "any": "kAny",
}
CLASSES = {"convergence": "kConvergence", "execution": "kExecution", "benchmark_only": "kBenchmarkOnly"}
SECTIONS = ["model", "ddp", "optimizer", "train", "dist", "rng", "rerun", "mixed_precision", "comm_overlap", "dataset",
            "args", "launch"]
FORMS = {"value": "kValue", "list": "kList", "list0": "kListOrEmpty", "list3": "kListOfThree",
         "switch_on": "kSwitchOn", "switch_off": "kSwitchOff", "switch_pair": "kSwitchPair"}
FLAG_TYPES = {**TYPES, "tuple": "kTuple"}
CORE_RELEASES = [15, 16, 17, 18, 19, 99]
FLAG_CHANGE_KEYS = {"default", "choices", "dest", "form", "type"}
ROW_KEYS = {"name", "aliases", "section", "group", "class", "type", "choices", "default", "defaults", "core", "bridge",
            "dest", "flags", "bridge_override", "bridge_perf", "loongforge", "renamed_from", "renamed_to", "note",
            "proto"}


def camel(name):
    return "".join(part.capitalize() for part in name.split("_"))


def ident(name):
    return name.replace(".", "_")


def quote(text):
    return json.dumps(text, ensure_ascii=False)


def value_json(value):
    return quote(json.dumps(value, separators=(",", ":")))


def release(text):
    """0.17 -> 17; main and absent -> 99 (newest)."""
    return 99 if text in (None, "main") else int(str(text).split(".")[1])


def span(row, key):
    if key not in row:
        return "{1, 0}"
    since, until = row[key].get("since"), row[key].get("until")
    return "{%d, %d}" % (release(since) if since else 0, release(until) if until else 99)


def check(rows):
    seen, numbers = {}, {}
    for row in rows:
        where = "knobs.yaml: knob %s" % row.get("name")
        unknown = set(row) - ROW_KEYS
        if unknown:
            sys.exit("%s: unknown field %s" % (where, sorted(unknown)))
        for name in [row["name"]] + row.get("aliases", []):
            if not re.match(r"^[a-z][A-Za-z0-9_]*(\.[A-Za-z0-9_]+)*$", name):
                sys.exit("%s: bad name %r" % (where, name))
            if name in seen:
                sys.exit("%s: name %s is taken" % (where, name))
            seen[name] = row
        for key, table in (("type", TYPES), ("class", CLASSES)):
            if row.get(key) not in table:
                sys.exit("%s: %s must be one of %s" % (where, key, ", ".join(sorted(table))))
        if row.get("type") == "float" and isinstance(row.get("default"), str):
            sys.exit("%s: default %r is text to YAML; write 1.0e-05 or .inf" % (where, row["default"]))
        if row["section"] not in SECTIONS:
            sys.exit("%s: section must be one of %s" % (where, ", ".join(SECTIONS)))
        if "proto" in row and numbers.setdefault(row["proto"], row["name"]) != row["name"]:
            sys.exit("%s: proto number %d is taken" % (where, row["proto"]))


def flag_rows(rows):
    """One row per flag and run of releases in which it means the same."""
    by_dest = {name: i for i, row in enumerate(rows) for name in [row["name"], row.get("dest", row["name"])]}
    by_dest.update({row["name"]: i for i, row in enumerate(rows)})
    for index, row in enumerate(rows):
        for flag in row.get("flags", []):
            changes = {release(k): v for k, v in flag.get("changes", {}).items()}
            for unknown in [k for v in changes.values() for k in v if k not in FLAG_CHANGE_KEYS]:
                sys.exit("knobs.yaml: flag %s: unknown change %s" % (flag["flag"], unknown))
            since = release(flag["since"]) if "since" in flag else 0
            until = release(flag["until"]) if "until" in flag else 99
            runs = []
            for r in CORE_RELEASES:
                if not since <= r <= until:
                    continue
                # 0.15 is covered for the config classes only; it shares the oldest command line read.
                change = changes.get(max(r, 16), {})
                if runs and runs[-1][1] == change:
                    runs[-1][0].append(r)
                else:
                    runs.append(([r], change))
            for i, (releases, change) in enumerate(runs):
                first = since if i == 0 else releases[0]
                last = until if i + 1 == len(runs) else runs[i + 1][0][0] - 1
                # An empty list of a release's own says: any text, however later releases narrow it.
                merged = {"choices": row.get("choices", []), **flag, **change}
                yield (by_dest.get(change.get("dest"), index), flag["flag"], FORMS[merged["form"]],
                       FLAG_TYPES[merged.get("type") or "string"], first, last, value_json(merged.get("default")),
                       "|".join(map(str, merged["choices"])))


def write_ids(rows, path):
    lines = ["// Generated from resolver/catalog/knobs.yaml. Do not edit.", "#pragma once", "#include <cstdint>", "",
             "namespace flightplan {", "", "enum class Knob : uint16_t {"]
    lines += ["  %s," % ident(row["name"]) for row in rows]
    lines += ["};", "", "inline constexpr int kKnobCount = %d;" % len(rows), "", "}  // namespace flightplan", ""]
    open(path, "w").write("\n".join(lines))


def write_table(rows, path):
    lines = ["// Generated from resolver/catalog/knobs.yaml. Do not edit.", '#include "resolver/plan/knob.h"', "",
             "namespace flightplan::internal {", "", "const KnobRow kKnobRows[kKnobCount] = {"]
    for row in rows:
        defaults = "".join("%s\t%s\n" % (k, json.dumps(v, separators=(",", ":")))
                           for k, v in row.get("defaults", {}).items())
        fields = [
            quote(row["name"]), quote(",".join(row.get("aliases", []))), "Section::k" + camel(row["section"]),
            "KnobClass::" + CLASSES[row["class"]], "ValueType::" + TYPES[row["type"]], quote(row.get("group", "")),
            quote("|".join(str(c) for c in row.get("choices", []))), value_json(row.get("default")), quote(defaults),
            span(row, "core"), span(row, "bridge"), quote(row.get("dest", "")), quote(row.get("bridge_override", "")),
            quote(row.get("bridge_perf", "")), quote(row.get("loongforge", "")), quote(row.get("note", "")),
            str(row.get("proto", 0)),
        ]
        lines.append("    {" + ", ".join(fields) + "},")
    lines += ["};", "", "const FlagRow kFlagRows[] = {"]
    count = 0
    for index, flag, form, kind, since, until, default, choices in flag_rows(rows):
        lines.append("    {static_cast<Knob>(%d), %s, FlagForm::%s, ValueType::%s, {%d, %d}, %s, %s}," %
                     (index, quote(flag), form, kind, since, until, default, quote(choices)))
        count += 1
    lines += ["};", "const int kFlagRowCount = %d;" % count, "", "}  // namespace flightplan::internal", ""]
    open(path, "w").write("\n".join(lines))


def main():
    source, ids, table = sys.argv[1:4]
    with open(source) as stream:
        rows = yaml.load(stream, getattr(yaml, "CSafeLoader", yaml.SafeLoader))["knobs"]
    check(rows)
    write_ids(rows, ids)
    write_table(rows, table)


if __name__ == "__main__":
    main()
