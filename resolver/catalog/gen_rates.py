#!/usr/bin/env python3
"""Turns step_rates.yaml and measured_rates.yaml into C++. Run by the build.

  gen_rates.py step_rates.yaml measured_rates.yaml OUT_rates.h OUT_rates.cc
"""
import json
import sys

import shape
from shape import fields, list_of, number, one_of, row_of, text

POSITIVE, SHARE = number(1e-9), number(0, 1)
COEFFICIENT = {"name": text, "value": POSITIVE, "prior": POSITIVE, "spread": SHARE, "error": SHARE, "source": text}
PASSES = one_of(("forward", "backward"))
STAGES = one_of(("forward", "input_gradient", "weight_gradient"))
COUNT = number(1)
# Of each table the columns in order, each with its shape; a share of attention may pass 1, as its source counts.
TABLES = {
    "gemm": {"m": COUNT, "k": COUNT, "n": COUNT, "layout": one_of(("TN", "NN", "NT")), "share": SHARE},
    "grouped": {"experts": COUNT, "rows": COUNT, "n": COUNT, "k": COUNT, "stage": STAGES, "share": SHARE},
    "attention": {"sequence": COUNT, "heads": COUNT, "groups": COUNT, "qk_size": COUNT, "v_size": COUNT, "pass": PASSES,
                  "share": number(0, 2)},
    "collectives": {"operation": one_of(("all_reduce", "all_gather", "reduce_scatter", "all_to_all")),
                    "share_of_900_gb_per_second": SHARE, "latency_us": number(0), "fixed_us": number(0)},
    "exchange": {"backend": one_of(("hybridep", "deepep", "deepep-v2")), "gpu": text, "ranks": COUNT, "sms": COUNT,
                 "dispatch_bf16_gb_per_second": POSITIVE, "combine_gb_per_second": POSITIVE,
                 "counted": one_of(("network", "nvlink")), "source": text},
}
ABOUT = {"source": text, "gpu": text, "precision": text, "peak_tflops": POSITIVE}  # of a table whose rows share them


def quote(text):
    return json.dumps(text, ensure_ascii=False)


def step_faults(document):
    row = fields(COEFFICIENT, required=COEFFICIENT)
    faults = list(fields({"coefficients": list_of(row)}, required=("coefficients",))(document, "the file"))
    yield from faults or shape.twice([row["name"] for row in document["coefficients"]], "coefficients")


def table_of(columns):
    def check_table(value, where):
        shapes = {**ABOUT, "columns": one_of([list(columns)]), "rows": list_of(row_of(*columns.values()))}
        yield from fields(shapes, required=("columns", "rows"))(value, where)
    return check_table


def measured_faults(document):
    tables = {name: table_of(columns) for name, columns in TABLES.items()}
    yield from fields(tables, required=tables)(document, "the file")


def header(rows):
    fields = ",\n      ".join(r["name"] for r in rows)
    return f"""// Generated from step_rates.yaml and measured_rates.yaml.
#pragma once

#include "absl/strings/string_view.h"
#include "absl/types/span.h"

namespace flightplan {{

// Values stand in the source alone: a new fit compiles one file.
struct StepCoefficients {{
  StepCoefficients();  // the fitted values
  double {fields};
}};

struct CoefficientRow {{
  absl::string_view name;
  double StepCoefficients::* field;
  double prior, spread, error;
  absl::string_view source;
}};
extern const absl::Span<const CoefficientRow> kCoefficientRows;

// Measured by others (measured_rates.yaml).
struct MeasuredGemm {{
  double m, k, n;
  absl::string_view layout;
  double share;
}};
struct MeasuredGroupedGemm {{
  double experts, rows, n, k;
  absl::string_view stage;
  double share;
}};
struct MeasuredAttention {{
  double sequence, heads, groups, qk_size, v_size;
  absl::string_view pass;
  double share;
}};
struct MeasuredExchange {{
  absl::string_view backend, gpu;
  double ranks, sms, dispatch_gb_per_second, combine_gb_per_second;
  absl::string_view counted, source;
}};
extern const absl::Span<const MeasuredGemm> kMeasuredGemms;
extern const absl::Span<const MeasuredGroupedGemm> kMeasuredGroupedGemms;
extern const absl::Span<const MeasuredAttention> kMeasuredAttentions;
extern const absl::Span<const MeasuredExchange> kMeasuredExchanges;

}}  // namespace flightplan
"""


def table(kind, name, rows):
    def cell(value):
        return quote(value) if isinstance(value, str) else repr(float(value))

    lines = "\n".join("    {" + ", ".join(cell(v) for v in row) + "}," for row in rows)
    return (f"namespace {{\nconstexpr {kind} {name}Data[] = {{\n{lines}\n}};\n}}  // namespace\n"
            f"const absl::Span<const {kind}> {name}({name}Data);\n")


def source(rows, measured):
    coefficients = "\n".join(
        f"    {{{quote(r['name'])}, &StepCoefficients::{r['name']}, {float(r['prior'])!r}, {float(r['spread'])!r}, "
        f"{float(r['error'])!r}, {quote(r['source'])}}}," for r in rows)
    values = ",\n      ".join(f"{r['name']}({float(r['value'])!r})" for r in rows)
    return "\n".join([
        '// Generated from step_rates.yaml and measured_rates.yaml.\n#include "resolver/catalog/step_rates.h"\n',
        "namespace flightplan {",
        f"StepCoefficients::StepCoefficients()\n    : {values} {{}}\n",
        f"namespace {{\nconst CoefficientRow kCoefficientData[] = {{\n{coefficients}\n}};\n}}  // namespace",
        "const absl::Span<const CoefficientRow> kCoefficientRows(kCoefficientData);",
        table("MeasuredGemm", "kMeasuredGemms", measured["gemm"]["rows"]),
        table("MeasuredGroupedGemm", "kMeasuredGroupedGemms", measured["grouped"]["rows"]),
        table("MeasuredAttention", "kMeasuredAttentions", measured["attention"]["rows"]),
        table("MeasuredExchange", "kMeasuredExchanges", measured["exchange"]["rows"]),
        "}  // namespace flightplan\n",
    ])


def main():
    step_path, measured_path, header_path, source_path = sys.argv[1:]
    rows = shape.load(step_path, step_faults)["coefficients"]
    measured = shape.load(measured_path, measured_faults)
    with open(header_path, "w", encoding="utf-8") as file:
        file.write(header(rows))
    with open(source_path, "w", encoding="utf-8") as file:
        file.write(source(rows, measured))


main()
