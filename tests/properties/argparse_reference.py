"""What Python's argparse makes of command lines: the other side of argparse_check.

usage: argparse_reference.py FLAGS LINES

FLAGS: one record for each flag: flag, destination, form, type, choices. LINES: one record for each command line, of its
words. A record ends with the byte 0x1d, its fields with 0x1e. Standard output has a line for each command line:
"refused", or "NAME=VALUE ..." in the order of names, a value as argparse_check writes it.
"""
import argparse
import re
import struct
import sys

NARGS = {"value": None, "list": "+", "list_or_empty": "*", "list_of_three": 3}


class Refused(Exception):
    pass


class Parser(argparse.ArgumentParser):
    def error(self, message):
        raise Refused(message)

    def exit(self, status=0, message=None):
        raise Refused(message)

    def print_help(self, file=None):
        pass


def frequency(text):
    """Megatron-LM's moe_freq_type and _eval_pattern: megatron/training/arguments.py."""
    if "[" in text and re.search(r"[^,\d\[\]\(\)\+\*]", text):
        raise ValueError(text)
    return eval(text, {"__builtins__": {}}) if "[" in text else int(text)  # pylint: disable=eval-used


def tuple_type(text):
    """Megatron-LM's tuple_type: megatron/training/arguments.py."""
    return tuple(int(part.strip()) for part in text.strip("()").split(","))


TYPES = {"int": int, "float": float, "bool": bool, "text": str, "frequency": frequency, "tuple": tuple_type}


def records(path):
    with open(path, "rb") as file:
        text = file.read().decode()
    return [record.split("\x1e")[:-1] for record in text.split("\x1d")[:-1]]


def parser_of(flags):
    parser = Parser(allow_abbrev=False)
    for flag, destination, form, kind, choices in flags:
        if form in ("on", "off"):
            action = "store_true" if form == "on" else "store_false"
            parser.add_argument(flag, dest=destination, action=action, default=argparse.SUPPRESS)
            continue
        convert = TYPES[kind]
        allowed = [convert(choice) for choice in choices.split("|")] if choices else None
        parser.add_argument(flag, dest=destination, type=convert, nargs=NARGS[form], choices=allowed,
                            default=argparse.SUPPRESS)
    return parser


def written(value):
    if isinstance(value, bool):
        return "b1" if value else "b0"
    if isinstance(value, int):
        return f"i{value}"
    if isinstance(value, float):
        return "f" + struct.pack(">d", value).hex()
    if isinstance(value, (list, tuple)):
        return "[" + ",".join(written(item) for item in value) + "]"
    return "t" + value.encode().hex()


def main():
    parser = parser_of(records(sys.argv[1]))
    for words in records(sys.argv[2]):
        try:
            values = vars(parser.parse_args(words))
            print(" ".join(f"{name}={written(value)}" for name, value in sorted(values.items()) if name[0] != "-"))
        except Exception:  # pylint: disable=broad-except  # upstream ends with whatever a converter throws
            print("refused")


main()
