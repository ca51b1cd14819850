"""Coefficients of a forecast: NAME.yaml -> a header of constants. Run by the build."""

import sys

import yaml


def main(source: str, target: str, namespace: str) -> None:
    with open(source, encoding="utf-8") as file:
        rows = yaml.safe_load(file)["coefficients"]
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
        if not low <= value <= high or not row["unit"] or not row["source"]:
            sys.exit(f"{source}: {row['name']}: needs low <= value <= high, a unit and a source")
        name = "k" + "".join(part.capitalize() for part in row["name"].split("_"))
        lines.append(f"inline constexpr Coefficient {name}{{{value!r}, {low!r}, {high!r}}};  // {row['unit']}")
    lines += ["", f"}}  // namespace flightplan::{namespace}", ""]
    with open(target, "w", encoding="utf-8") as file:
        file.write("\n".join(lines))


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], sys.argv[3])
