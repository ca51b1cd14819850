"""The keys of verl's configuration, from a checkout: run by hand, for a new revision of it. Needs git and python3-yaml.

usage: import_verl.py CHECKOUT > stacks/verl/keys.tsv
"""
import pathlib
import subprocess
import sys

import yaml

COMPOSED = "verl/trainer/config/_generated_ppo_megatron_trainer.yaml"


def rows_of(mapping, above=""):
    for key, value in mapping.items():
        path = f"{above}.{key}" if above else key
        yield path, "map" if isinstance(value, dict) else "null" if value is None else "value"
        if isinstance(value, dict):
            yield from rows_of(value, path)


def main(checkout):
    root = pathlib.Path(checkout)
    revision = subprocess.run(["git", "-C", root, "rev-parse", "--short=9", "HEAD"], capture_output=True, text=True, check=True).stdout
    document = yaml.safe_load((root / COMPOSED).read_text(encoding="utf-8"))
    print(f"# volcengine/verl@{revision.strip()} {COMPOSED}, by import_verl.py: what an override may change")
    print("# without a '+': the key, and whether it is a map, null or another value.")
    print("path\tkind")
    for path, kind in sorted(rows_of(document)):
        print(f"{path}\t{kind}")


if __name__ == "__main__":
    main(*sys.argv[1:])
