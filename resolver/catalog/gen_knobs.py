#!/usr/bin/env python3
"""Turns knobs.yaml into C++: knob_ids.h (the enum) and knob_table.cc (the rows). Run by the build."""
import json
import pathlib
import re
import sys

import releases
import shape
from shape import anything, fields, list_of, of_type, one_of

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
KNOWN = releases.load()
CORE = KNOWN.core
BRIDGE = KNOWN.bridge


def config_classes(section):
    """Where a default may differ, as defaults.cc looks for it: a class, or a class of one release."""
    core = ["core-" + r for r in CORE[:-1]]
    bridge = ["bridge-" + r for r in BRIDGE[:-1]]
    if section in ("ddp", "optimizer"):
        classes = {section: core + bridge}
    else:
        classes = {"core": core, "core_mla": core, "bridge": bridge, "bridge_mla": bridge}
    return [*classes, *("%s@%s" % (name, r) for name, releases in classes.items() for r in releases)]


TEXT = of_type(str)
LITERAL = of_type(str, int, float)
FLAG_CHANGE = {"default": anything, "choices": list_of(LITERAL), "dest": TEXT, "form": one_of(FORMS),
               "type": one_of(FLAG_TYPES)}
FLAG = fields({"flag": TEXT, **FLAG_CHANGE, "since": one_of(CORE), "until": one_of(CORE),
               "changes": fields({r: fields(FLAG_CHANGE) for r in CORE[1:-1]})}, required=("flag", "form", "default"))
ROW = {
    "name": TEXT, "aliases": list_of(TEXT), "section": one_of(SECTIONS), "group": TEXT, "class": one_of(CLASSES),
    "type": one_of(TYPES), "choices": list_of(LITERAL), "default": anything,
    "core": fields({"since": one_of(CORE), "until": one_of(CORE)}),
    "bridge": fields({"since": one_of(BRIDGE), "until": one_of(BRIDGE)}),
    "dest": TEXT, "flags": list_of(FLAG), "bridge_override": TEXT, "bridge_perf": TEXT, "loongforge": TEXT,
    "renamed_from": TEXT, "renamed_to": TEXT, "note": TEXT, "proto": of_type(int),
}


def faults_of_row(row):
    where = "knob %s" % (row.get("name") if type(row) is dict else row)
    section = row.get("section") if type(row) is dict else None
    defaults = fields({name: anything for name in config_classes(section)})
    yield from fields({**ROW, "defaults": defaults}, required=("name", "section", "class", "type"))(row, where)


def faults_of(document):
    faults = list(fields({"knobs": list_of(lambda row, where: faults_of_row(row))}, required=("knobs",))(document, "the file"))
    yield from faults or check(document["knobs"])


def camel(name):
    return "".join(part.capitalize() for part in name.split("_"))


def ident(name):
    return name.replace(".", "_")


def quote(text):
    return json.dumps(text, ensure_ascii=False)


def value_json(value):
    return quote(json.dumps(value, separators=(",", ":")))


def release(text):
    """0.17 -> 17; main and absent -> the newest."""
    return releases.number("main" if text is None else text)


def span(row, key):
    if key not in row:
        return "{1, 0}"
    since, until = row[key].get("since"), row[key].get("until")
    return "{%d, %d}" % (release(since) if since else 0, release(until))


def check(rows):
    """What a row alone does not show."""
    seen, numbers = {}, {}
    for row in rows:
        where = "knob %s" % row["name"]
        for name in [row["name"]] + row.get("aliases", []):
            if not re.match(r"^[a-z][A-Za-z0-9_]*(\.[A-Za-z0-9_]+)*$", name):
                yield "%s: bad name %r" % (where, name)
            if name in seen:
                yield "%s: name %s is taken" % (where, name)
            seen[name] = row
        if row["type"] == "float" and isinstance(row.get("default"), str):
            yield "%s: default %r is text to YAML; write 1.0e-05 or .inf" % (where, row["default"])
        if "proto" in row and numbers.setdefault(row["proto"], row["name"]) != row["name"]:
            yield "%s: proto number %d is taken" % (where, row["proto"])


def flag_rows(rows):
    """One row per flag and run of releases in which it means the same."""
    by_dest = {name: i for i, row in enumerate(rows) for name in [row["name"], row.get("dest", row["name"])]}
    by_dest.update({row["name"]: i for i, row in enumerate(rows)})
    for index, row in enumerate(rows):
        for flag in row.get("flags", []):
            changes = {release(k): v for k, v in flag.get("changes", {}).items()}
            since = release(flag["since"]) if "since" in flag else 0
            until = release(flag.get("until"))
            runs = []
            for r in map(release, CORE):
                if not since <= r <= until:
                    continue
                # A release whose config classes alone were read shares the oldest command line.
                change = changes.get(max(r, release(KNOWN.first_command_line)), {})
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


def write(path, lines):
    """Leaves a file alone that is as it should be: everything is built from the ids."""
    text = "\n".join(lines)
    if not pathlib.Path(path).exists() or pathlib.Path(path).read_text() != text:
        pathlib.Path(path).write_text(text)


def write_ids(rows, path):
    lines = ["// Generated from resolver/catalog/knobs.yaml. Do not edit.", "#pragma once", "#include <cstdint>", "",
             "namespace flightplan {", "", "enum class Knob : uint16_t {"]
    lines += ["  %s," % ident(row["name"]) for row in rows]
    lines += ["};", "", "inline constexpr int kKnobCount = %d;" % len(rows), "", "}  // namespace flightplan", ""]
    write(path, lines)


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
    write(path, lines)


def main():
    source, ids, table = sys.argv[1:4]
    rows = shape.load(source, faults_of)["knobs"]
    write_ids(rows, ids)
    write_table(rows, table)


if __name__ == "__main__":
    main()
