"""The flags of programs built on Megatron-LM, derivatives.yaml -> C++. Run by the build."""
import json
import sys

import shape

DERIVATIVE = shape.fields({"name": shape.text, "source": shape.text, "fork_of": shape.text,
                           "flags": shape.list_of(shape.matching(r"--[A-Za-z0-9][\w.-]*", "a flag"))},
                          required=("name", "source", "flags"))


def faults_of(document):
    faults = list(shape.list_of(DERIVATIVE)(document, "derivatives"))
    yield from faults
    if faults:
        return
    yield from shape.twice([row["name"] for row in document], "derivatives")
    names = []
    for row in document:
        if "fork_of" in row and row["fork_of"] not in names:
            yield "%s: fork_of: %r is no row above" % (row["name"], row["fork_of"])
        names.append(row["name"])
        for before, flag in zip(row["flags"], row["flags"][1:]):
            if flag <= before:
                yield "%s: %r must come after %r" % (row["name"], flag, before)


def main(source, target):
    rows = shape.load(source, faults_of)
    out = ["// Generated from derivatives.yaml; do not edit.", '#include "resolver/catalog/derivatives.h"', "",
           "namespace flightplan {", "namespace {", ""]
    for at, row in enumerate(rows):
        out += ["constexpr absl::string_view kFlags%d[] = {" % at, *("    %s," % json.dumps(flag) for flag in row["flags"]), "};"]
    out += ["constexpr Derivative kDerivatives[] = {",
            *("    {%s, kFlags%d, %s}," % (json.dumps(row["name"]), at, json.dumps(row.get("fork_of", "")))
              for at, row in enumerate(rows)), "};", "",
            "}  // namespace", "", "absl::Span<const Derivative> Derivatives() { return kDerivatives; }", "",
            "}  // namespace flightplan", ""]
    with open(target, "w", encoding="utf-8") as file:
        file.write("\n".join(out))


if __name__ == "__main__":
    main(*sys.argv[1:])
