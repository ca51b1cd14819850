#!/usr/bin/env python3
"""Turns the example tables beside the rules (*.cases.yaml) into C++: the first example of each rule, in words. Run by the
build.

    gen_examples.py OUT.cc TABLE.cases.yaml ...
"""
import json
import pathlib
import sys

import yaml


def flow(node):
    """As a flow mapping, in the order and the spelling of the table."""
    if isinstance(node, yaml.SequenceNode):
        return "[%s]" % ", ".join(map(flow, node.value))
    if isinstance(node, yaml.MappingNode):
        return "{%s}" % ", ".join("%s: %s" % (key.value, flow(value)) for key, value in node.value)
    if node.style in ("'", '"'):
        return json.dumps(node.value, ensure_ascii=False)
    return node.value if node.value not in ("", "~") else "null"


def settings(node, prefix=""):
    return ["%s%s=%s" % (prefix, key.value, flow(value)) for key, value in node.value]


def words(node):
    """ "megatron-lm, num_layers=4, env.te=2.9": what an example says, without its braces."""
    parts = []
    for key, value in node.value:
        if key.value == "target":
            parts.insert(0, flow(value))
        elif key.value == "launch":
            parts.append(value.value.rstrip("\n").replace("\n", "; "))
        elif key.value == "knobs":
            parts += settings(value)
        elif isinstance(value, yaml.MappingNode):
            parts += settings(value, key.value + ".")
    return ", ".join(parts)


def rows(path):
    root = yaml.compose(path.read_text())
    for entry in root.value if root else []:
        fields = {key.value: value for key, value in entry.value}
        if "id" not in fields or "fires" not in fields:
            raise SystemExit("%s:%d: an example needs id and fires" % (path, entry.start_mark.line + 1))
        said = [words(fields["fires"]), words(fields["passes"]) if "passes" in fields else ""]
        yield fields["id"].value, said + [", ".join(settings(fields["writes"])) if "writes" in fields else ""]


def main():
    first = {}
    for path in map(pathlib.Path, sys.argv[2:]):
        for name, said in rows(path):
            first.setdefault(name, said)
    lines = ["// Generated from resolver/rules/*/*.cases.yaml by resolver/explain/gen_examples.py.",
             '#include "resolver/explain/rule_examples.h"', "", "namespace flightplan::internal {", "",
             "extern const RuleExample kRuleExamples[] = {"]
    for name in sorted(first):
        lines.append("    {%s}," % ", ".join(json.dumps(text, ensure_ascii=False) for text in [name] + first[name]))
    lines += ["};", "extern const int kRuleExampleCount = %d;" % len(first), "", "}  // namespace flightplan::internal", ""]
    pathlib.Path(sys.argv[1]).write_text("\n".join(lines))


if __name__ == "__main__":
    main()
