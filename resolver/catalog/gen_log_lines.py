"""How a run shows that a feature is on, log_lines.yaml -> C++. Run by the build."""
import json
import sys

import shape

LINE = {"knob": shape.matching(r"[a-z0-9_]+", "a knob"), "value": shape.of_type(str, bool), "stack": shape.text,
        "log": shape.text, "undone": shape.text, "trace": shape.text,
        "source": shape.matching(r"[^:]+:[^:]+:\d+", "repository:file:line")}
TOLD = ("log", "undone", "trace")  # one of them a row


def faults_of(document):
    faults = list(shape.list_of(shape.fields(LINE, required=("knob", "value", "source")))(document, "lines"))
    yield from faults
    if faults:
        return
    for at, row in enumerate(document):
        told = [key for key in TOLD if key in row]
        if len(told) != 1:
            yield "lines[%d]: must have one of %s, not %s" % (at, ", ".join(TOLD), told)
        if row["value"] is False:
            yield "lines[%d].value: false is no feature" % at


def main(source, target):
    out = ["// Generated from log_lines.yaml; do not edit.", '#include "resolver/catalog/log_lines.h"', "",
           "namespace flightplan {", "namespace {", "", "constexpr LogLine kLines[] = {"]
    for row in shape.load(source, faults_of):
        value = "" if row["value"] is True else row["value"]
        told = next(key for key in TOLD if key in row)
        words = (row["knob"], value, row.get("stack", ""), row[told], row["source"])
        out.append("    {LogLine::Kind::k%s, %s}," % (told.capitalize(), ", ".join(map(json.dumps, words))))
    out += ["};", "", "}  // namespace", "", "absl::Span<const LogLine> LogLines() { return kLines; }", "",
            "}  // namespace flightplan", ""]
    with open(target, "w", encoding="utf-8") as file:
        file.write("\n".join(out))


if __name__ == "__main__":
    main(*sys.argv[1:])
