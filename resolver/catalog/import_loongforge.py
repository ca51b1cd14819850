"""What a LoongForge checkout says of models: run by hand, for a new revision of it. Needs git and python3-yaml.

usage: import_loongforge.py CHECKOUT models       > stacks/loongforge/models.tsv     its model files
       import_loongforge.py CHECKOUT classes FORK > stacks/loongforge/classes.tsv    the config classes that they build

FORK: a checkout of the Megatron-LM that it pins.
"""

import ast
import json
import pathlib
import re
import subprocess
import sys

import yaml

import releases

FOLDER = "configs/models"
CORE = "megatron/core/"
BASES = ("TransformerConfig", "MLATransformerConfig")


class Loader(yaml.SafeLoader):
    """Reads scalars as OmegaConf does: 1e-6 is a number, a date is text."""


Loader.yaml_implicit_resolvers = {first: [rule for rule in rules if rule[0] != "tag:yaml.org,2002:timestamp"]
                                  for first, rules in yaml.SafeLoader.yaml_implicit_resolvers.items()}
Loader.add_implicit_resolver("tag:yaml.org,2002:float", re.compile(
    r"^[-+]?(?:[0-9][0-9_]*\.[0-9_]*(?:[eE][-+]?[0-9]+)?|[0-9][0-9_]*[eE][-+]?[0-9]+|\.[0-9]+(?:[eE][-+]?[0-9]+)?"
    r"|\.(?:inf|Inf|INF))$|^\.(?:nan|NaN|NAN)$"), list("-+0123456789."))


def layer_frequency(text: str) -> list:
    """What LoongForge's resolver moe_freq makes of "[0]*1+[1]*26": sums of repeated lists, and nothing else."""
    total = []
    for term in text.strip().split("+"):
        items, _, count = term.partition("*")
        total += json.loads(items) * int(count or 1)
    return total


def value_of(value):
    if isinstance(value, str) and (frequency := re.fullmatch(r'\$\{moe_freq:"?([^"}]*)"?\}', value)):
        return layer_frequency(frequency[1])
    return value


def flatten(node: dict, below: str = "") -> dict:
    out = {}
    for key, value in node.items():
        if isinstance(value, dict) and value:
            out.update(flatten(value, f"{below}{key}."))
        elif not isinstance(value, dict):
            out[f"{below}{key}"] = value_of(value)
    return out


def defaults_of(path: pathlib.PurePosixPath, entries: list) -> list:
    """[package, file] of what goes below the file's keys; the file's own place in the order is always the last."""
    out = []
    for entry in entries:
        if entry == "_self_":
            continue
        (group, name), = entry.items() if isinstance(entry, dict) else ((entry, None),)
        where, _, package = group.partition("@")
        parts = []
        for part in (path.parent / where / (name or "")).parts if name else (path.parent / where).parts:
            parts = parts[:-1] if part == ".." else parts + [part]
        out.append([package, "/".join(parts) + ".yaml"])
    if "_self_" in entries and entries[-1] != "_self_":
        sys.exit(f"{path}: its own keys are not the last")
    return out


class Checkout:
    def __init__(self, folder: str):
        self.git = ["git", "-C", folder]
        self.shown = {}
        self.revision = self.run("rev-parse", "HEAD")[:8]
        self.tree = self.run("ls-tree", "-r", "--name-only", "HEAD").split("\n")

    def run(self, *words: str) -> str:
        return subprocess.run([*self.git, *words], check=True, capture_output=True, text=True).stdout

    def show(self, path: str) -> str:
        if path not in self.shown:
            self.shown[path] = self.run("show", f"HEAD:{path}")
        return self.shown[path]

    def classes(self, package: str = "loongforge/") -> dict:
        """The classes of its package by their names: bases and annotated fields."""
        out = {}
        for path in self.tree:
            if not path.startswith(package) or not path.endswith(".py"):
                continue
            for node in ast.walk(ast.parse(self.show(path))):
                if isinstance(node, ast.ClassDef):
                    fields = [line.target.id for line in node.body
                              if isinstance(line, ast.AnnAssign) and isinstance(line.target, ast.Name)]
                    out[node.name] = ([ast.unparse(base).split(".")[-1] for base in node.bases], fields)
        return out

    def names(self) -> set:
        """Of its classes and functions."""
        return {name for path in self.tree if path.startswith("loongforge/") and path.endswith(".py")
                for name in re.findall(r"^\s*(?:class|def) (\w+)", self.show(path), re.M)}


def models(checkout: Checkout) -> None:
    registry = re.findall(r'^    "([^"]+)": \{\s*"config_path": "([^"]+)",\s*"config_name": "([^"]+)"',
                          checkout.show("loongforge/utils/config_map.py"), re.M)
    names = {}
    for name, folder, file in registry:
        names.setdefault(f"{folder}/{file}.yaml", []).append(name)
    known = checkout.names()
    files = [path for path in checkout.tree
             if path.startswith(FOLDER + "/") and path.endswith((".yaml", ".yml")) and "ckpt_convert" not in path]
    print(f"# The model files of LoongForge (baidu-baige/LoongForge {checkout.revision}, {FOLDER} and\n"
          "# loongforge/utils/config_map.py), by import_loongforge.py: path in its checkout, names that --model-name knows it\n"
          "# by, the files under it (Hydra's defaults: package, path), its keys, and the classes (_target_) that are gone.")
    print("path\tnames\tdefaults\tkeys\tgone")
    for path in sorted(set(files) | set(names)):
        node = yaml.load(checkout.show(path), Loader) if path in checkout.tree else None
        keys = flatten({key: value for key, value in (node or {}).items() if key != "defaults"})
        targets = {value for key, value in keys.items() if key.split(".")[-1] == "_target_"}
        fields = [path, "|".join(names.get(path, [])),
                  json.dumps(defaults_of(pathlib.PurePosixPath(path), (node or {}).get("defaults", []))),
                  json.dumps(keys, separators=(",", ":")) if node else "",
                  "|".join(sorted(t for t in targets if t.startswith("loongforge.") and t.split(".")[-1] not in known))]
        print("\t".join(field or "-" for field in fields))


def fields_of(known: dict, name: str) -> tuple:
    """Fields of a class and of the bases that are known, and its other bases."""
    fields, todo, roots = set(), [name], set()
    while todo:
        at = todo.pop(0)
        if at not in known:
            roots.add(at)
            continue
        bases, own = known[at]
        fields.update(own)
        todo += bases
    return fields, roots


def core_rows(fork: Checkout) -> list:
    """What the fork's own classes have beyond the model fields of Megatron-Core that the knob table has."""
    known = fork.classes(CORE)
    plain, latent = (fields_of(known, base)[0] for base in BASES)
    knobs = yaml.safe_load((pathlib.Path(__file__).parent / "knobs.yaml").read_text(encoding="utf-8"))["knobs"]
    first = releases.load().loongforge_core
    covered = {row["name"] for row in knobs if row["section"] == "model" and "core" in row
               and row["core"].get("since", first) <= first <= row["core"].get("until", "main")}
    if covered - latent:
        sys.exit(f"{', '.join(sorted(covered - latent))}: of the knob table, and no fields of the fork's")
    return [(BASES[0], "yes", plain - covered), (BASES[1], "mla", latent - plain)]


def classes(checkout: Checkout, fork: Checkout) -> None:
    known = checkout.classes()
    built = {value.split(".")[-1] for path in checkout.tree
             if path.startswith(FOLDER + "/") and path.endswith(".yaml") and "ckpt_convert" not in path
             for value in re.findall(r"_target_: *\"?(loongforge[\w.]+)", checkout.show(path))}
    print(f"# The config classes that LoongForge's model files build (baidu-baige/LoongForge {checkout.revision}), by\n"
          "# import_loongforge.py: name, whether it is a TransformerConfig of the fork (mla: one for latent\n# attention), and the fields "
          f"that LoongForge adds. Of the fork's own two classes (baidu-baige/Loong-Megatron {fork.revision}): what\n# they have beyond the model "
          "fields of Megatron-Core 0.15 in knobs.yaml; of the latter what the former lacks.")
    print("class\ttransformer_config\tfields")
    rows = core_rows(fork)
    for name in built & set(known):
        fields, roots = fields_of(known, name)
        rows.append((name, "mla" if BASES[1] in roots else "yes" if BASES[0] in roots else "no", fields))
    for name, transformer, fields in sorted(rows):
        print("\t".join([name, transformer, "|".join(sorted(fields)) or "-"]))


if __name__ == "__main__":
    if len(sys.argv) == 3 and sys.argv[2] == "models":
        models(Checkout(sys.argv[1]))
    elif len(sys.argv) == 4 and sys.argv[2] == "classes":
        classes(Checkout(sys.argv[1]), Checkout(sys.argv[3]))
    else:
        sys.exit(__doc__)
