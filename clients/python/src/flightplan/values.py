"""Knob values as plain Python values, in both directions."""

from __future__ import annotations

from typing import Sequence, Union

from flightplan.v1 import finding_pb2

Value = Union[None, bool, int, float, str, Sequence["Value"]]


def to_message(value: Value) -> finding_pb2.KnobValue:
    """The message of a value; None is a message without a kind.

    Raises:
        TypeError: It is none of None, bool, int, float, str, or a sequence of these.
    """
    if value is None:
        return finding_pb2.KnobValue()
    if isinstance(value, bool):  # before int, which a bool is too
        return finding_pb2.KnobValue(bool_value=value)
    if isinstance(value, int):
        return finding_pb2.KnobValue(int_value=value)
    if isinstance(value, float):
        return finding_pb2.KnobValue(double_value=value)
    if isinstance(value, str):
        return finding_pb2.KnobValue(string_value=value)
    if isinstance(value, Sequence):
        return finding_pb2.KnobValue(list_value=finding_pb2.KnobList(values=[to_message(item) for item in value]))
    raise TypeError(f"a knob's value is None, bool, int, float, str or a list of these, not {type(value).__name__}")


def from_message(message: finding_pb2.KnobValue) -> Value:
    """The value of a message; an unset kind is None."""
    kind = message.WhichOneof("kind")
    if kind is None:
        return None
    if kind == "list_value":
        return [from_message(item) for item in message.list_value.values]
    value: Value = getattr(message, kind)
    return value


def to_text(value: Value) -> str:
    """As the command line writes it: true, 8, moe_act,layernorm, none."""
    if value is None:
        return "none"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (int, float, str)):
        return str(value)
    return ",".join(to_text(item) for item in value)
