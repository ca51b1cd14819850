#!/usr/bin/env python3
"""Turns knobs.yaml and the stacks' spellings into C++: knob_ids.h (the enum) and knob_table.cc (the rows). Run by the build."""
import json
import pathlib
import sys

import knob_rows
import releases
from knob_rows import CLASSES, CORE, FLAG_TYPES, FORMS, KNOWN, TYPES

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
             "namespace flightplan::internal {", "", "static constexpr KnobWord kKnobWords[] = {"]
    for row in rows:
        lines += ["    {%s, %s}," % (quote(vocabulary), quote(word)) for vocabulary, word in row["words"].items()]
    lines += ["};", "", "const KnobRow kKnobRows[kKnobCount] = {"]
    first_word = 0
    for row in rows:
        defaults = "".join("%s\t%s\n" % (k, json.dumps(v, separators=(",", ":")))
                           for k, v in row.get("defaults", {}).items())
        fields = [
            quote(row["name"]), quote(",".join(row.get("aliases", []))), "Section::k" + camel(row["section"]),
            "KnobClass::" + CLASSES[row["class"]], "ValueType::" + TYPES[row["type"]], quote(row.get("group", "")),
            quote("|".join(str(c) for c in row.get("choices", []))), value_json(row.get("default")), quote(defaults),
            span(row, "core"), span(row, "bridge"), quote(row.get("dest", "")),
            "{kKnobWords + %d, %d}" % (first_word, len(row["words"])), quote(row.get("note", "")), str(row.get("proto", 0)),
        ]
        first_word += len(row["words"])
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
    source, ids, table, *spellings = sys.argv[1:]
    rows = knob_rows.load(source, spellings)
    write_ids(rows, ids)
    write_table(rows, table)


if __name__ == "__main__":
    main()
