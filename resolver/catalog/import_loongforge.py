"""What a LoongForge checkout says of models: run by hand, for a new revision of it. Needs git and python3-yaml.

usage: import_loongforge.py CHECKOUT models  > stacks/loongforge/models.tsv     its model files
       import_loongforge.py CHECKOUT classes > stacks/loongforge/classes.tsv    the config classes that they build
"""

import ast
import json
import pathlib
import re
import subprocess
import sys

import yaml

FOLDER = "configs/models"


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

    def classes(self) -> dict:
        """The classes of its package by their names: bases and annotated fields."""
        out = {}
        for path in self.tree:
            if not path.startswith("loongforge/") or not path.endswith(".py"):
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


def classes(checkout: Checkout) -> None:
    known = checkout.classes()
    built = {value.split(".")[-1] for path in checkout.tree
             if path.startswith(FOLDER + "/") and path.endswith(".yaml") and "ckpt_convert" not in path
             for value in re.findall(r"_target_: *\"?(loongforge[\w.]+)", checkout.show(path))}
    print(f"# The config classes that LoongForge's model files build (baidu-baige/LoongForge {checkout.revision}), by\n"
          "# import_loongforge.py: name, whether it is a TransformerConfig of the fork (mla: one for latent\n# attention), and the fields "
          "that LoongForge adds.")
    print("class\ttransformer_config\tfields")
    for name in sorted(built & set(known)):
        fields, todo, roots = [], [name], set()
        while todo:
            at = todo.pop(0)
            if at not in known:
                roots.add(at)
                continue
            bases, own = known[at]
            fields += [field for field in own if field not in fields]
            todo += bases
        transformer = ("mla" if "MLATransformerConfig" in roots else "yes" if "TransformerConfig" in roots else "no")
        print("\t".join([name, transformer, "|".join(sorted(set(fields))) or "-"]))


if __name__ == "__main__":
    if len(sys.argv) != 3 or sys.argv[2] not in ("models", "classes"):
        sys.exit(__doc__)
    {"models": models, "classes": classes}[sys.argv[2]](Checkout(sys.argv[1]))
