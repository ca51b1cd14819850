"""Defaults and flags of a stack's code, what of them differs between two checkouts, and how the knob table says the same."""
import ast
import json
import re

import gen_knobs
import knob_rows
from releases import number

def fields_of(checkout, paths):
    """class.field -> default, of the dataclasses in these files."""
    return {s.symbol + "." + name.strip(): default.strip() for path in paths for s in checkout.statements(path)
            if s.kind == "field" and s.symbol[:1].isupper() and "." not in s.symbol
            for name, _, rest in [s.text.partition(":")] for _, _, default in [rest.partition("=")]}


def flags_of(checkout, paths):
    """flag -> its argparse options, of the add_argument calls in these files and of the config classes that they make
    arguments of."""
    out = {}
    for path in paths:
        file = checkout.root / path
        tree = ast.parse(file.read_text()) if file.is_file() else ast.Module([], [])
        for node in ast.walk(tree):
            if not (isinstance(node, ast.Call) and getattr(node.func, "attr", "") == "add_argument"):
                continue
            names = [a.value for a in node.args if isinstance(a, ast.Constant) and isinstance(a.value, str)]
            said = {k.arg: ast.unparse(k.value) for k in node.keywords if k.arg in ("default", "type", "action", "choices",
                                                                                    "nargs", "dest")}
            out.update({name: said for name in names if name.startswith("--")})
        for name, excluded in factories(tree):
            for field, text in class_fields(checkout, name).items():
                if field not in excluded:
                    out.update(dict.fromkeys(flags_of_field(field, text), {"field": text}))
    return out


def factories(tree):
    """(config class, excluded fields) of each ArgumentGroupFactory call; a list may be named before in its function."""
    for function in (node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)):
        lists = {target.id: node.value for node in ast.walk(function) if isinstance(node, ast.Assign)
                 for target in node.targets if isinstance(target, ast.Name)}
        for call in ast.walk(function):
            if isinstance(call, ast.Call) and getattr(call.func, "id", "") == "ArgumentGroupFactory" and call.args:
                given = [k.value for k in call.keywords if k.arg == "exclude"] + call.args[1:2]
                named = [lists.get(getattr(value, "id", None), value) for value in given]
                yield ast.unparse(call.args[0]), {e.value for value in named for e in getattr(value, "elts", ())
                                                  if isinstance(e, ast.Constant)}


def class_fields(checkout, name):
    """field -> "type = default" of a dataclass and of those that it is made from, wherever they stand in the checkout."""
    found = {}
    for file in sorted(checkout.root.glob("megatron/**/*.py")):
        text = file.read_text()
        if "class %s" % name not in text:
            continue
        for node in ast.parse(text).body:
            if isinstance(node, ast.ClassDef) and node.name == name:
                for base in node.bases:
                    found.update(class_fields(checkout, ast.unparse(base)) if isinstance(base, ast.Name) else {})
                found.update({item.target.id: ast.unparse(item).partition(": ")[2] for item in node.body
                              if isinstance(item, ast.AnnAssign) and isinstance(item.target, ast.Name)})
    return found


def flags_of_field(field, text):
    """As megatron/training/argument_utils.py spells them: by the field's metadata, or --field, or what switches it off."""
    said = re.search(r"'arg_names': (\[[^]]*\])", text)
    if said:
        return ast.literal_eval(said.group(1))
    spelled = field.replace("_", "-")
    off = text.startswith("bool") and re.search(r"(= |default=)True", text)
    return ["--no-" + spelled, "--disable-" + spelled] if off else ["--" + spelled]


def differences(before, after):
    for name in sorted(before.keys() | after.keys()):
        if before.get(name) != after.get(name):
            yield name, before.get(name), after.get(name)


# ---- what the knob table says

def table_fields(rows, release):
    """field -> default, as JSON, in a release of Megatron-Core, of the knobs that it has."""
    out = {}
    for row in rows:
        span = row.get("core")
        if span is None or not number(span.get("since", "0.0")) <= number(release) <= number(span.get("until", "main")):
            continue
        own = row.get("defaults", {})
        name = row["section"] if row["section"] in ("ddp", "optimizer") else "core"
        default = own.get("%s@core-%s" % (name, release), own.get(name, row.get("default")))
        out[row["name"].split(".")[-1]] = json.dumps(default)
    return out


def table_flags(rows, release):
    """flag -> what it means in a release of Megatron-Core."""
    return {row[1]: row[2:4] + row[6:] for row in gen_knobs.flag_rows(rows) if row[4] <= number(release) <= row[5]}


def hits(said, truth, known):
    """What a program said changed, of the names that the table has, against what the table says changed."""
    judged = said & known
    right = len(judged & truth)
    return "%d said of the table's, %d right: precision %.2f, recall %.2f of %d; %d said of no knob" % (
        len(judged), right, right / max(1, len(judged)), right / max(1, len(truth)), len(truth), len(said - known))


def score(old, new, paths, since, to):
    """A line for defaults and one for flags, and the names on which the two disagree."""
    rows = knob_rows.load_all()
    for what, read, told, short in (("defaults", fields_of, table_fields, lambda name: name.rpartition(".")[2]),
                                    ("flags", flags_of, table_flags, str)):
        said = {short(name) for name, _, _ in differences(read(old, paths), read(new, paths))}
        before, after = told(rows, since), told(rows, to)
        truth = {name for name, _, _ in differences(before, after)}
        yield "%-17s %s" % (what, hits(said, truth, before.keys() | after.keys()))
        for name in sorted((said ^ truth) & (before.keys() | after.keys())):
            yield "%-17s %s" % ("only the table" if name in truth else "only the program", name)
