"""The keys of verl's configuration, from checkouts: run by hand, for a new revision of it. Needs git and python3-yaml.

usage: import_verl.py CHECKOUT... > stacks/verl/keys.tsv
  The newest first. A launch may be of any of them: a key is there where one of them has it, and takes a '+' where one
  of them has it as a map, as null or not at all.
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


def git(root, *words):
    return subprocess.run(["git", "-C", root, *words], capture_output=True, text=True, check=True).stdout.strip()


def main(*checkouts):
    revisions = [git(root, "rev-parse", "--short=9", "HEAD") for root in checkouts]
    keys = [dict(rows_of(yaml.safe_load(git(root, "show", f"HEAD:{COMPOSED}")))) for root in checkouts]
    print(f"# verl-project/verl@{', '.join(revisions)} {COMPOSED}, by import_verl.py:")
    print("# what an override may change without a '+': the key, and whether it is a map, null or another value. \"null\" where")
    print("# the revisions differ: a '+' may stand before it.")
    print("path\tkind")
    for path in sorted(set().union(*keys)):
        kinds = {of.get(path, "null") for of in keys}
        print(f"{path}\t{kinds.pop() if len(kinds) == 1 else 'null'}")


if __name__ == "__main__":
    main(*sys.argv[1:])
