"""The knob table as rows: knobs.yaml, and how each stack spells the knobs (stacks/<stack>/spellings.yaml) joined to it."""
import pathlib
import re
import sys

import releases
import shape
from shape import anything, fields, list_of, of_type, one_of

TYPES = {
    "bool": "kBool", "int": "kInt", "float": "kFloat", "string": "kString", "int_list": "kIntList",
    "float_list": "kFloatList", "string_list": "kStringList", "freq": "kFreq", "any": "kAny",
}
CLASSES = {"convergence": "kConvergence", "execution": "kExecution", "benchmark_only": "kBenchmarkOnly"}
SECTIONS = ["model", "ddp", "optimizer", "train", "dist", "rng", "rerun", "mixed_precision", "comm_overlap", "dataset",
            "peft", "scheduler", "checkpoint", "profiling", "logger", "tokenizer", "ft", "nvrx_straggler",
            "inprocess_restart", "args", "launch"]
FORMS = {"value": "kValue", "list": "kList", "list0": "kListOrEmpty", "list3": "kListOfThree",
         "switch_on": "kSwitchOn", "switch_off": "kSwitchOff", "switch_pair": "kSwitchPair"}
FLAG_TYPES = {**TYPES, "tuple": "kTuple"}
KNOWN = releases.load()
CORE = KNOWN.core
BRIDGE = KNOWN.bridge


def config_classes(section):
    """Where a default may differ, as defaults.cc looks for it: a class, or a class of one release."""
    core = ["core-" + r for r in CORE[:-1]]
    bridge = ["bridge-" + r for r in BRIDGE[:-1]]
    if section in ("ddp", "optimizer"):
        classes = {section: core + bridge}
    else:
        classes = {"core": core, "core_mla": core, "bridge": bridge, "bridge_mla": bridge}
    return [*classes, *("%s@%s" % (name, r) for name, releases in classes.items() for r in releases)]


TEXT = of_type(str)
LITERAL = of_type(str, int, float)
FLAG_CHANGE = {"default": anything, "choices": list_of(LITERAL), "dest": TEXT, "form": one_of(FORMS),
               "type": one_of(FLAG_TYPES)}
FLAG = fields({"flag": TEXT, **FLAG_CHANGE, "since": one_of(CORE), "until": one_of(CORE),
               "changes": fields({r: fields(FLAG_CHANGE) for r in CORE[1:-1]})}, required=("flag", "form", "default"))
# What a stack's folder says of a knob, beside the vocabularies that its file names under `words`.
SPELLING = {"flags": list_of(FLAG), "dest": TEXT}
ROW = {
    "name": TEXT, "aliases": list_of(TEXT), "section": one_of(SECTIONS), "group": TEXT, "class": one_of(CLASSES),
    "type": one_of(TYPES), "choices": list_of(LITERAL), "default": anything,
    "core": fields({"since": one_of(CORE), "until": one_of(CORE)}),
    "bridge": fields({"since": one_of(BRIDGE), "until": one_of(BRIDGE)}),
    "renamed_from": TEXT, "renamed_to": TEXT, "note": TEXT, "proto": of_type(int),
}


def faults_of_row(row):
    where = "knob %s" % (row.get("name") if type(row) is dict else row)
    section = row.get("section") if type(row) is dict else None
    defaults = fields({name: anything for name in config_classes(section)})
    yield from fields({**ROW, "defaults": defaults}, required=("name", "section", "class", "type"))(row, where)


def faults_of(document):
    faults = list(fields({"knobs": list_of(lambda row, where: faults_of_row(row))}, required=("knobs",))(document, "the file"))
    yield from faults or check(document["knobs"])


def check(rows):
    """What a row alone does not show."""
    seen, numbers = {}, {}
    for row in rows:
        where = "knob %s" % row["name"]
        for name in [row["name"]] + row.get("aliases", []):
            if not re.match(r"^[a-z][A-Za-z0-9_]*(\.[A-Za-z0-9_]+)*$", name):
                yield "%s: bad name %r" % (where, name)
            if name in seen:
                yield "%s: name %s is taken" % (where, name)
            seen[name] = row
        if row["type"] == "float" and isinstance(row.get("default"), str):
            yield "%s: default %r is text to YAML; write 1.0e-05 or .inf" % (where, row["default"])
        if "proto" in row and numbers.setdefault(row["proto"], row["name"]) != row["name"]:
            yield "%s: proto number %d is taken" % (where, row["proto"])


def faults_of_spellings(knobs):
    """Of a stack's file: its shape, and that each of its knobs is one, once."""
    def faults_of_file(document):
        words = document.get("words", {}) if type(document) is dict else {}
        row = fields({"knob": TEXT, **SPELLING, **{name: TEXT for name in words}}, required=("knob",))
        vocabularies = fields({name: TEXT for name in words if name not in ("knob", *SPELLING)})
        faults = list(fields({"words": vocabularies, "spellings": list_of(row)}, required=("spellings",))(document, "the file"))
        yield from faults
        if faults:
            return
        named = [row["knob"] for row in document["spellings"]]
        yield from shape.twice(named, "spellings")
        for name in named:
            if name not in knobs:
                yield "knob %s: no row of knobs.yaml" % name
    return faults_of_file


def load(source, spellings):
    """The rows of knobs.yaml in their order, each with what the stacks' files say of it: `words` by vocabulary, that is
    folder.key."""
    rows = shape.load(source, faults_of)["knobs"]
    by_name = {row["name"]: row for row in rows}
    for row in rows:
        row["words"] = {}
    for path in spellings:
        stack = pathlib.Path(path).parent.name
        for spelling in shape.load(path, faults_of_spellings(by_name))["spellings"]:
            row = by_name[spelling.pop("knob")]
            for key, value in spelling.items():
                if key not in SPELLING:
                    row["words"]["%s.%s" % (stack, key)] = value
                elif key in row:
                    sys.exit("%s: %r of %s stands in two files" % (path, key, row["name"]))
                else:
                    row[key] = value
    return rows


def load_all():
    """Of this repository."""
    resolver = pathlib.Path(__file__).resolve().parents[1]
    return load(resolver / "catalog/knobs.yaml", sorted(resolver.glob("stacks/*/spellings.yaml")))
