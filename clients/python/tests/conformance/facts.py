"""Answers as facts; tests/conformance/README.md has the vocabulary."""

from __future__ import annotations

from collections import defaultdict
from typing import Union

_MASK = 2**64 - 1


def _fnv1a(data: bytes) -> int:
    value = 0xCBF29CE484222325
    for byte in data:
        value = ((value ^ byte) * 0x100000001B3) & _MASK
    return value


class Facts:
    def __init__(self) -> None:
        self.values: defaultdict[str, list[str]] = defaultdict(list)

    def add(self, name: str, value: Union[str, bool, int, float]) -> None:
        if isinstance(value, bool):
            value = "true" if value else "false"
        elif isinstance(value, float):
            value = int(value * 1e6)
        self.values[name].append(str(value))

    def of(self, name: str) -> list[str]:
        return self.values.get(name, [])

    def fingerprint(self) -> str:
        total = 0
        for name, values in self.values.items():
            if "~" in name:
                continue
            for index, value in enumerate(values):
                total += _fnv1a(f"{name}\0{index}\0{value}".encode())
        return f"{total & _MASK:016x}"
