#!/usr/bin/env python3
"""Who may include whom: the rooms of resolver/, and what the edge sees of them; and who may ask which stack it is."""
import re
import sys

from sources import ROOT, report, tracked

# Room: the rooms it may include beside itself. `messages` are the generated protobuf headers.
ROOMS = {
    "base": "",
    "plan": "base",
    "runlog": "base",
    "catalog": "base plan",
    "evidence": "base plan",
    "derive": "base plan catalog",
    "normalize": "base plan catalog evidence messages",
    "rules": "base plan catalog derive evidence",
    "engine": "base plan catalog derive rules",
    "estimate": "base plan catalog derive evidence engine",
    "timeline": "base plan derive estimate",
    "planner": "base plan derive estimate",
    "shell": "base plan",
    "read": "base plan catalog",
    "render": "base plan catalog",
    "stacks": "base plan catalog read render",
    "pipeline": "base plan derive evidence rules engine estimate timeline",
    "advise": "base plan derive engine estimate pipeline",
    "layouts": "base plan derive evidence rules estimate planner pipeline",
    "judge": "base plan catalog derive normalize engine estimate timeline pipeline shell read render stacks",
    "explain": "base plan catalog derive normalize rules engine messages",
    "answer": "base plan catalog derive engine estimate timeline pipeline layouts judge shell read render stacks explain messages",
}
# The face of the library, and what stands outside resolver/. `public` is resolver/resolver.h.
FACE = "base plan catalog evidence engine normalize timeline pipeline advise layouts judge explain answer messages public"
# What stands in service/, by what it does, each row with the rooms of service/ below it and then those of resolver/.
SERVICE = {
    "local": ("", "base plan catalog evidence normalize messages public"),
    "doors": ("", "base plan catalog normalize judge shell render stacks messages"),
    "wire": ("local", "base normalize messages public"),
    "net": ("local", "base"),
    "observe": ("local wire", "base plan normalize messages public"),
    "backend": ("local", "base evidence explain messages public"),
    "evidence": ("local wire observe backend", "base evidence normalize messages"),
    "settings": ("local net observe evidence", "base"),
    "call": ("local wire net observe backend evidence settings", "base plan catalog evidence layouts normalize messages public"),
    "http": ("local net observe settings call doors", "base messages"),
    "web": ("local wire net observe call http", "base normalize messages"),
    "probe": ("local wire observe backend settings call", "base evidence normalize messages"),
    "handlers": ("local wire observe backend evidence settings call",
                 "base evidence layouts normalize explain messages public"),
}
IN_SERVICE = "service " + " ".join(f"service/{room}" for room in SERVICE)
# The terminal program sees of the server what answers on this machine; five of its files see more.
TERMINAL = ("base plan runlog catalog evidence normalize estimate render shell stacks explain messages public service/local "
            "service/doors")
# How a path begins, and what it may include; of several that fit the last.
EDGE = {
    "probe/": "",
    "clients/cpp/": "messages",
    "clients/cli/": TERMINAL,
    "clients/cli/observe/launch_config.cc": TERMINAL + " derive",
    "clients/cli/commands/evidence.cc": TERMINAL + " service/observe service/evidence service/settings service/handlers",
    "clients/cli/commands/replay.cc": TERMINAL + " service/observe service/evidence",
    "clients/cli/commands/serve.cc": TERMINAL + " service/settings service",
    "clients/cli/remote_backend.cc": TERMINAL + " service/observe",
    "service/": "base plan catalog evidence normalize explain messages public " + IN_SERVICE,
    "service/testing/": "base plan catalog evidence normalize messages public service/testing " + IN_SERVICE,
    **{f"service/{room}/": " ".join([rooms, *(f"service/{one}" for one in [room, *below.split()])])
       for room, (below, rooms) in SERVICE.items()},
    "tests/": " ".join(["messages public", *ROOMS, IN_SERVICE]),
}
# Inside resolver/ no room meets files, threads, random numbers, the wall clock or the network.
IMPURE = re.compile(r"fstream|iostream|filesystem|thread|mutex|shared_mutex|condition_variable|future|random|ctime|chrono|"
                    r"absl/time/clock\.h|absl/synchronization/.*|grpcpp/.*|prometheus/.*|cuda.*|unistd\.h|sys/.*")
YAML_READER = "resolver/base/yaml.cc"  # yaml-cpp throws, so one file alone meets it
INCLUDE = re.compile(r'^\s*#\s*include\s+[<"]([^>"]+)[>"]', re.M)


def room_of(include):
    if include.startswith(("flightplan/v1/", "google/")):
        return "messages"
    if include == "resolver/resolver.h":
        return "public"
    parts = include.split("/")
    if include == "service/version.h":  # made by the build
        return None
    if parts[0] == "service":
        return "/".join(parts[:2]) if len(parts) > 2 else "service"
    return parts[1] if parts[0] == "resolver" and len(parts) > 2 else None


def faults_of(path):
    name = str(path.relative_to(ROOT))
    text = path.read_text()
    includes = INCLUDE.findall(text)
    parts = name.split("/")
    room = parts[1] if parts[0] == "resolver" and len(parts) > 2 else None
    is_test = name.endswith(("_test.cc", "_test_util.h"))
    if room is not None and room not in ROOMS:
        return [f"{name}: room {room} is not in the table of {__file__}"]
    if parts[0] == "resolver" and room is None and parts[1] not in ("resolver.h", "resolver.cc") and not is_test:
        return [f"{name}: stands in no room"]
    allowed = None
    if parts[0] == "resolver":
        allowed = {room, *ROOMS[room].split()} if room else set(FACE.split())
    for edge, rooms in EDGE.items():
        if name.startswith(edge):
            allowed = set(rooms.split())
    if parts[0] == "service" and len(parts) > 2 and "/".join(parts[:2]) + "/" not in EDGE:
        return [f"{name}: room {parts[1]} of service/ is not in the table of {__file__}"]
    if allowed is None and parts[0] != "deploy":
        return [f"{name}: {parts[0]} is not in the table of {__file__}"]
    faults = []
    is_tool = parts[:3] == ["resolver", "catalog", "embed"]  # runs in the build, not in the library
    asks = name.startswith(("resolver/", "service/", "clients/")) and not name.startswith("resolver/stacks/")
    if asks and not is_test and re.search(r"\bTarget::k", text):
        faults.append(f"{name}: asks which stack it is; ask its record (resolver/plan/stack.h) for what matters")
    for include in includes:
        target = room_of(include)
        if allowed is not None and target is not None and target not in allowed and not is_test:
            faults.append(f"{name}: {room or parts[0]} may not include {target}: {include}")
        if parts[0] == "resolver" and not is_tool and not is_test and IMPURE.fullmatch(include):
            faults.append(f"{name}: the resolver includes no {include}")
        if include.startswith("yaml-cpp/") and name != YAML_READER:
            faults.append(f"{name}: only {YAML_READER} includes yaml-cpp")
    return faults


def main():
    faults = [fault for path in tracked("*.h", "*.cc") for fault in faults_of(path)]
    return report(faults, "the table of rooms is in this file and in the house style")


if __name__ == "__main__":
    sys.exit(main())
