"""The recipes of Megatron-Bridge's library, library_recipes.tsv -> C++. Run by the build."""
import json
import sys

import shape
from gen_perf_recipes import OVERRIDE

COLUMNS = ["function", "names", "hf_model", "source", "overrides"]
NAME = r"[a-z0-9_]+_config"
SHAPE = {
    "function": shape.matching(NAME, "a recipe's function"),
    "names": shape.matching(rf"-|{NAME}(,{NAME})*", "names of recipes, a comma between two"),
    "hf_model": shape.matching(r"-|[\w.-]+/[\w.-]+", "organisation/model"),
    "source": shape.matching(r"[\w/.]+\.py:\d+", "file:line"),
    "overrides": shape.json_of(shape.list_of(OVERRIDE)),
}


def main(source, target):
    rows = shape.load_table(source, SHAPE, sorted_by="function")
    values, names = [], []
    for number, row in enumerate(rows):
        values.append("constexpr char kValues%d[] =\n    %s;" % (number, json.dumps("\n".join(json.loads(row["overrides"])))))
        hf_model = "" if row["hf_model"] == "-" else row["hf_model"]
        others = [] if row["names"] == "-" else row["names"].split(",")
        names += [(name, hf_model, number) for name in [row["function"], *others]]
    if len({name for name, _, _ in names}) != len(names):
        sys.exit("%s: a name stands twice" % source)
    out = ["// Generated from library_recipes.tsv; do not edit.", '#include "resolver/catalog/library_recipes.h"', "",
           "namespace flightplan {", "namespace {", "", *values, "", "constexpr LibraryRecipe kRecipes[] = {",
           *("    {%s, %s, kValues%d}," % (json.dumps(name), json.dumps(hf_model), number)
             for name, hf_model, number in sorted(names)),
           "};", "", "}  // namespace", "", "absl::Span<const LibraryRecipe> LibraryRecipes() { return kRecipes; }", "",
           "}  // namespace flightplan", ""]
    with open(target, "w", encoding="utf-8") as file:
        file.write("\n".join(out))


if __name__ == "__main__":
    main(*sys.argv[1:])
