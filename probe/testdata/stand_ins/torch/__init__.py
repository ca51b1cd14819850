"""What operators.py needs of PyTorch: numbers on a tape where a tensor has any, shapes alone where it is large, and a device that
takes as long as a known rate says while the host goes ahead of it. FAULT makes one thing wrong."""
import os
import types

__version__ = "2.9.0"
bfloat16, float32 = "bfloat16", "float32"
FAULT = os.environ.get("FAULT", "")
LAUNCH = 2.0 if FAULT == "slow host" else 300e-6  # of the host, a call
CYCLES = 2e9  # a second
now = {"host": 0.0, "device": 0.0}


def launch(seconds):
    now["host"] += LAUNCH
    now["device"] = max(now["device"], now["host"]) + seconds


# ---- numbers

tape = []


class Number:
    __slots__ = ("value", "parents", "slope")

    def __init__(self, value, parents=()):
        self.value, self.parents, self.slope = value, parents, 0.0
        tape.append(self)


def products(*pairs):
    """The sum of the pairs' products."""
    return Number(sum(a.value * b.value for a, b in pairs),
                  [(a, b.value) for a, b in pairs] + [(b, a.value) for a, b in pairs])


def through(number, value, slope):
    return Number(value, [(number, slope)])


def each(function, nested):
    return [each(function, one) for one in nested] if isinstance(nested, list) else function(nested)


def leaves(nested):
    return [leaf for one in nested for leaf in leaves(one)] if isinstance(nested, list) else [nested]


def shape_of(nested):
    return (len(nested), *shape_of(nested[0])) if isinstance(nested, list) else ()


# ---- tensors


class Tensor:
    def __init__(self, shape, dtype, numbers=None, pass_back=0.0):
        self.shape, self.dtype, self.numbers, self.pass_back = tuple(shape), dtype, numbers, pass_back

    def float(self):
        return self

    def tolist(self):
        return each(lambda number: getattr(number, "value", number), self.numbers)

    def requires_grad_(self):
        return self

    def uniform_(self, low, high):
        assert low < high
        return self

    def triu(self, diagonal):
        assert diagonal == 1 and self.shape[0] == self.shape[1]
        return Tensor(self.shape, "causal")


def tensor(numbers, dtype, device):
    assert device == "cuda"
    return Tensor(shape_of(numbers), dtype, each(Number, numbers))


def empty(shape, dtype, device):
    assert device == "cuda"
    return Tensor(shape, dtype)


def full(shape, value, dtype, device):
    assert value == float("-inf") and dtype == float32 and device == "cuda"
    return Tensor(shape, dtype)


def grad(out, inputs, upstream, retain_graph=False):
    assert upstream.shape == out.shape and upstream.dtype == out.dtype
    if out.numbers is None:
        assert retain_graph  # it is timed more than once
        launch(out.pass_back)
        return [Tensor(one.shape, one.dtype) for one in inputs]
    for number in tape:
        number.slope = 0.0
    for number, weight in zip(leaves(out.numbers), leaves(upstream.tolist())):
        number.slope = weight
    for number in reversed(tape):
        for parent, slope in number.parents:
            parent.slope += slope * number.slope
    return [Tensor(one.shape, one.dtype, each(lambda number: number.slope, one.numbers)) for one in inputs]


# ---- the device


class Event:
    def __init__(self, enable_timing):
        assert enable_timing

    def record(self):
        self.at = max(now["device"], now["host"])

    def query(self):
        return self.at <= now["host"]

    def synchronize(self):
        now["host"] = max(now["host"], self.at)

    def elapsed_time(self, end):
        return (end.at - self.at) * 1000


class OutOfMemoryError(RuntimeError):
    pass


def synchronize():
    now["host"] = max(now["host"], now["device"])


cuda = types.SimpleNamespace(
    Event=Event, OutOfMemoryError=OutOfMemoryError, is_available=lambda: True, get_device_name=lambda: "NVIDIA H200",
    synchronize=synchronize, clock_rate=lambda: 1980,
    _sleep=lambda cycles: now.update(device=max(now["device"], now["host"]) + cycles / CYCLES))
backends = types.SimpleNamespace(cudnn=types.SimpleNamespace(version=lambda: 91002))
autograd = types.SimpleNamespace(grad=grad)

from . import nn  # noqa: E402
