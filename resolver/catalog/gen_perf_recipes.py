"""The flat performance recipes of Megatron-Bridge, perf_recipes.tsv -> C++. Run by the build."""
import json
import re
import sys

import shape

COLUMNS = ["function", "usual", "hf_model", "source", "overrides"]
# model and task, GPUs, then GPU, precision and variant
FUNCTION = r"([a-z0-9_]+?)_(\d+)gpu_([a-z0-9_]+)_config"
OVERRIDE = shape.matching(r"[a-z_]+(\.[A-Za-z_0-9]+)*=.+", "section.field=value")
SHAPE = {
    "function": shape.matching(FUNCTION, "a recipe's function"),
    "usual": shape.one_of(("yes", "no")),
    "hf_model": shape.matching(r"-|[\w.-]+/[\w.-]+", "organisation/model"),
    "source": shape.matching(r"[\w/.]+\.py:\d+", "file:line"),
    "overrides": shape.json_of(shape.list_of(OVERRIDE)),
}


def main(source, target):
    rows = shape.load_table(source, SHAPE, sorted_by="function")
    out = ["// Generated from perf_recipes.tsv; do not edit.", '#include "resolver/catalog/perf_recipes.h"', "",
           "namespace flightplan {", "namespace {", "", "constexpr PerfRecipe kRecipes[] = {"]
    for row in rows:
        model, gpus, what = re.fullmatch(FUNCTION, row["function"]).groups()
        hf_model = "" if row["hf_model"] == "-" else row["hf_model"]
        fields = [json.dumps(row["function"]), json.dumps(model), json.dumps(what), gpus,
                  "true" if row["usual"] == "yes" else "false", json.dumps(hf_model),
                  json.dumps("\n".join(json.loads(row["overrides"])))]
        out.append("    {%s}," % ", ".join(fields))
    out += ["};", "", "}  // namespace", "", "absl::Span<const PerfRecipe> PerfRecipes() { return kRecipes; }", "",
            "}  // namespace flightplan", ""]
    with open(target, "w", encoding="utf-8") as file:
        file.write("\n".join(out))


if __name__ == "__main__":
    main(*sys.argv[1:])
