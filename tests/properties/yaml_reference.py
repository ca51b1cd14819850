"""What PyYAML's safe loader makes of YAML texts: the other side of yaml_check.

usage: yaml_reference.py TEXTS    each text of the file ends with the byte 0x1d

Standard output has a line for each text: "refused", its value as yaml_check writes it, or one with "other" in it, which
is not compared.
"""
import struct
import sys

import yaml


def written(value):
    if value is None:
        return "n"
    if isinstance(value, bool):
        return "b1" if value else "b0"
    if isinstance(value, int):
        return f"i{value}"
    if isinstance(value, float):
        return "nan" if value != value else "f" + struct.pack(">d", value).hex()
    if isinstance(value, str):
        return "t" + value.encode().hex()
    if isinstance(value, list):
        return "[" + ",".join(written(item) for item in value) + "]"
    if isinstance(value, dict) and all(isinstance(key, str) for key in value):
        return "{" + ",".join(f"{key.encode().hex()}:{written(item)}" for key, item in value.items()) + "}"
    return "other"  # a date, or a key that is no text: nothing that a configuration has


def main():
    with open(sys.argv[1], "rb") as file:
        texts = file.read().decode().split("\x1d")[:-1]
    for text in texts:
        try:
            print(written(yaml.safe_load(text)))
        except (yaml.YAMLError, ValueError):
            print("refused")


main()
