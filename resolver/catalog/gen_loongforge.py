"""What is known of LoongForge: its flags, model files and config classes, stacks/loongforge/*.tsv -> tables of rows.
Run by the build."""

import json
import sys

FORMS = {"value": "kValue", "list": "kList", "list0": "kListOrEmpty", "switch_on": "kSwitchOn", "switch_off": "kSwitchOff",
         "switch_pair": "kSwitchPair"}
TYPES = {"string": "kString", "int": "kInt", "float": "kFloat", "bool": "kBool", "freq": "kFreq", "tuple": "kTuple"}
OWNERS = {"LoongForge": "true", "Loong-Megatron": "false"}


def read(source: str, columns: list) -> list:
    """The rows, each with all columns; the first column is a key."""
    with open(source, encoding="utf-8") as file:
        lines = [line.rstrip("\n").split("\t") for line in file if not line.startswith("#")]
    if lines[0] != columns:
        sys.exit(f"{source}: the columns must be {', '.join(columns)}")
    seen = set()
    for row in lines[1:]:
        if len(row) != len(columns) or row[0] in seen:
            sys.exit(f"{source}: {row[0]}: needs {len(columns)} fields, once")
        seen.add(row[0])
    return [["" if field == "-" else field for field in row] for row in lines[1:]]


def flag_rows(source: str) -> list:
    out = []
    for flag, dest, form, kind, choices, default, owner in read(
            source, ["flag", "dest", "form", "type", "choices", "default", "from"]):
        if form not in FORMS or kind not in TYPES or owner not in OWNERS:
            sys.exit(f"{source}: {flag}: needs a known form, type and owner")
        out.append(f"    {{{json.dumps(flag)}, {json.dumps(dest)}, FlagForm::{FORMS[form]}, ValueType::{TYPES[kind]}, "
                   f"{json.dumps(choices)}, {json.dumps(default)}, {OWNERS[owner]}}},")
    return out


def model_rows(source: str) -> dict:
    """Rows of models, and of the files under each and its keys with the model's place."""
    out = {"Model": [], "Default": [], "Key": []}
    for at, (path, names, defaults, keys, gone) in enumerate(read(source, ["path", "names", "defaults", "keys", "gone"])):
        there = "true" if keys else "false"
        out["Model"].append(f"    {{{json.dumps(path)}, {json.dumps(names)}, {json.dumps(gone)}, {there}}},")
        for package, under in json.loads(defaults):
            out["Default"].append(f"    {{{at}, {json.dumps(package)}, {json.dumps(under)}}},")
        for key, value in json.loads(keys or "{}").items():
            out["Key"].append(f"    {{{at}, {json.dumps(key)}, {json.dumps(json.dumps(value))}}},")
    return out


def class_rows(source: str) -> list:
    return [f"    {{{json.dumps(name)}, {json.dumps(transformer != 'no')}, {json.dumps(transformer == 'mla')}, {json.dumps(fields)}}},"
            for name, transformer, fields in read(source, ["class", "transformer_config", "fields"])]


def main(flags: str, models: str, classes: str, target: str) -> None:
    out = ["// Generated from flags.tsv, models.tsv and classes.tsv of stacks/loongforge; do not edit.",
           '#include "resolver/catalog/loongforge.h"', "", "namespace flightplan::internal {"]
    for kind, rows in {"Flag": flag_rows(flags), **model_rows(models), "Class": class_rows(classes)}.items():
        out += [f"const LoongForge{kind}Row kLoongForge{kind}Rows[] = {{", *rows, "};",
                f"const int kLoongForge{kind}RowCount = {len(rows)};"]
    out += ["}  // namespace flightplan::internal", ""]
    with open(target, "w", encoding="utf-8") as file:
        file.write("\n".join(out))


if __name__ == "__main__":
    main(*sys.argv[1:])
