#!/usr/bin/env python3
"""Turns step_rates.yaml and measured_rates.yaml into C++. Run by the build.

  gen_rates.py step_rates.yaml measured_rates.yaml OUT_rates.h OUT_rates.cc
"""
import json
import sys

import yaml

KEYS = {"name", "value", "prior", "spread", "error", "source"}


def quote(text):
    return json.dumps(text, ensure_ascii=False)


def check(rows):
    names = set()
    for row in rows:
        if set(row) != KEYS:
            sys.exit(f"step_rates.yaml: {row.get('name')}: needs exactly {sorted(KEYS)}")
        if row["name"] in names:
            sys.exit(f"step_rates.yaml: {row['name']} stands twice")
        if not (row["value"] > 0 and row["prior"] > 0 and 0 <= row["spread"] <= 1 and 0 <= row["error"] <= 1):
            sys.exit(f"step_rates.yaml: {row['name']}: a figure is out of range")
        names.add(row["name"])


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
    with open(step_path, encoding="utf-8") as file:
        rows = yaml.safe_load(file)["coefficients"]
    with open(measured_path, encoding="utf-8") as file:
        measured = yaml.safe_load(file)
    check(rows)
    with open(header_path, "w", encoding="utf-8") as file:
        file.write(header(rows))
    with open(source_path, "w", encoding="utf-8") as file:
        file.write(source(rows, measured))


main()
