#!/usr/bin/env python3
"""deploy/systemd: what a service may take of its machine is bounded, and what it may do there."""
import re
import unittest

from sources import ROOT

UNITS = sorted((ROOT / "deploy/systemd").glob("*.service"))
# A fault or an attack ends at these, not at the machine's own limits.
BOUNDED = ("MemoryMax", "TasksMax", "LimitNOFILE")
EXACTLY = {
    "MemorySwapMax": "0",
    "LimitCORE": "0",  # a core would hold tokens
    "CapabilityBoundingSet": "",
    "NoNewPrivileges": "yes",
    "ProtectSystem": "strict",
    "ProtectHome": "yes",
    "PrivateDevices": "yes",
    "SystemCallErrorNumber": "EPERM",  # systemd's own answer to a filtered call is SIGSYS
}


def settings(unit):
    """The last value of each key of [Service], as systemd counts for those that are no lists."""
    section = unit.read_text().partition("[Service]\n")[2].partition("\n[")[0]
    pairs = (line.partition("=") for line in section.splitlines() if "=" in line and not line.startswith("#"))
    return {key: value for key, _, value in pairs}


class Units(unittest.TestCase):
    def setUp(self):
        self.services = {unit.name: settings(unit) for unit in UNITS}
        self.assertGreaterEqual(len(self.services), 2)

    def test_what_a_service_takes_is_bounded(self):
        for name, service in self.services.items():
            for key in BOUNDED:
                with self.subTest(name, key=key):
                    self.assertRegex(service.get(key, "infinity"), r"^[1-9][0-9]*[MG]?$")

    def test_what_a_service_may_do_is_little(self):
        for name, service in self.services.items():
            with self.subTest(name):
                self.assertEqual({key: service.get(key) for key in EXACTLY}, EXACTLY)
                self.assertRegex(service.get("User", "root"), r"^flightplan")

    def test_what_a_service_writes_nobody_else_reads(self):
        for name, service in self.services.items():
            with self.subTest(name):
                self.assertRegex(service.get("UMask", "0022"), r"^0[0-7][0-7]7$")

    def test_the_server_may_make_its_searches_yield(self):
        self.assertIn("setpriority(", (ROOT / "service/call/fair_pool.cc").read_text())
        filters = re.findall(r"^SystemCallFilter=(.*)$", (ROOT / "deploy/systemd/flightplan.service").read_text(), re.M)
        denied = [index for index, words in enumerate(filters) if words.startswith("~") and "@resources" in words]
        self.assertGreater(filters.index("setpriority"), max(denied))


if __name__ == "__main__":
    unittest.main()
