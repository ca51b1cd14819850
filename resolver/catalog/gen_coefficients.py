"""Coefficients of a forecast: NAME.yaml -> a header of constants. Run by the build."""

import sys

import shape
from shape import fields, list_of, number, text

ROW = {"name": text, "value": number(), "low": number(), "high": number(), "unit": text, "source": text}


def faults_of(document):
    row = fields(ROW, required=ROW)
    faults = list(fields({"coefficients": list_of(row)}, required=("coefficients",))(document, "the file"))
    yield from faults or faults_across(document["coefficients"])


def faults_across(rows):
    yield from shape.twice([row["name"] for row in rows], "coefficients")
    for row in rows:
        if not row["low"] <= row["value"] <= row["high"]:
            yield "%s: needs low <= value <= high" % row["name"]


def main(source: str, target: str, namespace: str) -> None:
    rows = shape.load(source, faults_of)["coefficients"]
    lines = [
        f"// Generated from {source.rsplit('/', 1)[-1]}; do not edit.",
        "#pragma once",
        "",
        '#include "resolver/derive/coefficient.h"',
        "",
        f"namespace flightplan::{namespace} {{",
        "",
    ]
    for row in rows:
        low, value, high = float(row["low"]), float(row["value"]), float(row["high"])
        name = "k" + "".join(part.capitalize() for part in row["name"].split("_"))
        lines.append(f"inline constexpr Coefficient {name}{{{value!r}, {low!r}, {high!r}}};  // {row['unit']}")
    lines += ["", f"}}  // namespace flightplan::{namespace}", ""]
    with open(target, "w", encoding="utf-8") as file:
        file.write("\n".join(lines))


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], sys.argv[3])
