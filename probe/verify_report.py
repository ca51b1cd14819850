"""A table of rows beside their peers: what was met, missed, or broke while it was compared."""
import json
import sys
import traceback

T, H, K, E, F, L = 4096, 2048, 8, 128, 768, 8
RESULTS = []
BROKEN = []  # comparisons that ended in an exception
ALL_MET, NOTHING, MISSED, BROKE = 0, 1, 2, 3


def compare(name, work, *arguments):
    """One group of comparisons; where it breaks the others go on."""
    try:
        work(*arguments)
    except Exception:  # whatever a peer of any version throws
        BROKEN.append(name)
        print(f"BROKEN: {name}")
        traceback.print_exc(file=sys.stdout)


def verdict():
    """Tells what came out; the exit code."""
    missed = [r["name"] for r in RESULTS if not r["met"]]
    print(f"{len(RESULTS) - len(missed)} of {len(RESULTS)} goals met" + (f", {len(BROKEN)} comparisons broke" if BROKEN else ""))
    return BROKE if BROKEN else NOTHING if not RESULTS else MISSED if missed else ALL_MET


def rows_of(path):
    with open(path) as file:
        return json.load(file)["rows"]


def find(rows, rid, labels=None, /, **parameters):
    """The best row with this id and these parameters; None: not measured. K is the default shape's unless it is asked for."""
    parameters.setdefault("topk", K)
    fit = [r for r in rows if r["id"] == rid and all(r["labels"].get(k) == v for k, v in (labels or {}).items())
           and all(r["parameters"].get(k, v if k == "topk" else None) == v for k, v in parameters.items())]
    return max((r["value"] for r in fit), default=None)


def report(name, value, peer, ratio, goal, at_least=True):
    if ratio is None:
        print(f"{name:44} {'':>12} {'':>12} {'':>8}   {goal or '':>8}  skipped: not measured")
        return
    if goal is None:  # told, and held to nothing
        print(f"{name:44} {value:12.5g} {peer:12.5g} {ratio:8.3f}")
        return
    good = ratio >= goal if at_least else ratio <= goal
    RESULTS.append({"name": name, "value": value, "peer": peer, "ratio": ratio, "goal": goal, "at_least": at_least, "met": good})
    sign = ">=" if at_least else "<="
    print(f"{name:44} {value:12.5g} {peer:12.5g} {ratio:8.3f} {sign} {goal:<6} {'met' if good else 'MISSED'}")


def against(rows, name, rid, peer_id, goal, labels=None, peer_labels=None, at_least=True):
    value, peer = find(rows, rid, labels), find(rows, peer_id, peer_labels)
    report(name, value, peer, value / peer if value and peer else None, goal, at_least)


def seconds_of(rows, rid, counted, labels=None, /, **parameters):
    rate = find(rows, rid, labels, **parameters)
    return counted / rate * 1e6 if rate else None  # microseconds


def faster(name, ours_us, peer_us, goal):
    """Our time over the peer's."""
    report(name, ours_us or 0, peer_us or 0, ours_us / peer_us if ours_us and peer_us else None, goal, False)
