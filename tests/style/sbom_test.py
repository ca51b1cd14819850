#!/usr/bin/env python3
"""deploy/sbom.py writes CycloneDX 1.5 that holds together, and deploy/vulnerabilities.yaml is whole and told to people."""
import json
import pathlib
import sys
import unittest

import yaml

from sources import ROOT

sys.path.insert(0, str(ROOT / "deploy"))
import sbom  # noqa: E402
import third_party_notices as notices  # noqa: E402

try:
    import jsonschema
except ModuleNotFoundError:
    print("skipped: jsonschema is not installed (python3-jsonschema)")
    sys.exit(77)

SCHEMA = pathlib.Path(__file__).with_name("cyclonedx.schema.json")
ROWS = [{"name": "gRPC", "source": "grpc", "package": "libgrpc++-dev", "licence": "Apache-2.0 AND BSD-3-Clause", "linked": "static", "in": ["wheel"]},
        {"name": "zlib", "source": "zlib", "package": "zlib1g-dev", "licence": "Zlib", "linked": "static", "by": "gRPC", "in": ["wheel", "image"]},
        {"name": "CUDA runtime", "pypi": "nvidia-cuda-runtime", "licence": "MIT", "linked": "static", "in": ["probe"]}]
PACKAGES = {"libgrpc++-dev": notices.Package("grpc", "1.51.1-3", "1.51.1"),
            "zlib1g-dev": notices.Package("zlib", "1:1.2.13.dfsg-1", "1.2.13.dfsg")}


class Document(unittest.TestCase):
    def setUp(self):
        self.holes = yaml.safe_load(sbom.HOLES.read_text())

    def bom(self, parcel="wheel", packages=PACKAGES, program=b"a program"):
        return sbom.bom(parcel, program, ROWS, self.holes, packages, "bookworm", 1_700_000_000)

    def test_it_is_cyclonedx(self):
        schema = json.loads(SCHEMA.read_text())
        for parcel, program in (("wheel", b"a program"), ("image", None)):
            jsonschema.validate(self.bom(parcel, program=program), schema)

    def test_what_it_refers_to_is_in_it_once(self):
        document = self.bom()
        refs = [part["bom-ref"] for part in document["components"]] + ["flightplan"]
        self.assertEqual(len(refs), len(set(refs)))
        self.assertEqual({need["ref"] for need in document["dependencies"]}, set(refs))
        used = {ref for need in document["dependencies"] for ref in need["dependsOn"]}
        used |= {affected["ref"] for hole in document["vulnerabilities"] for affected in hole["affects"]}
        self.assertLessEqual(used, set(refs))
        self.assertEqual(document["dependencies"][0]["dependsOn"], ["library:grpc"])
        self.assertEqual(document["dependencies"][1]["dependsOn"], ["library:zlib"])

    def test_a_parcel_has_its_own_libraries_by_their_source(self):
        self.assertEqual([part["purl"] for part in self.bom()["components"]],
                         ["pkg:deb/debian/grpc@1.51.1-3?arch=source&distro=bookworm",
                          "pkg:deb/debian/zlib@1%3A1.2.13.dfsg-1?arch=source&distro=bookworm"])
        self.assertEqual([part["name"] for part in self.bom("image")["components"]], ["zlib"])

    def test_holes_are_those_of_the_version(self):
        ids = {hole["id"] for hole in self.bom()["vulnerabilities"]}
        self.assertIn("CVE-2023-4785", ids)
        self.assertIn("CVE-2023-45853", ids)  # 1:1.2.13 is below 1.3.1, whatever its epoch
        newer = {**PACKAGES, "libgrpc++-dev": notices.Package("grpc", "1.56.2-1", "1.56.2")}
        ids = {hole["id"] for hole in self.bom(packages=newer)["vulnerabilities"]}
        self.assertNotIn("CVE-2023-4785", ids)
        self.assertIn("CVE-2023-44487", ids)

    def test_same_bytes_and_another_number_for_another_program(self):
        self.assertEqual(self.bom(), self.bom())
        self.assertNotEqual(self.bom()["serialNumber"], self.bom(program=b"another")["serialNumber"])

    def test_a_missing_package_is_named(self):
        with self.assertRaisesRegex(notices.Missing, "^no package of zlib: install zlib1g-dev$"):
            self.bom(packages={"libgrpc++-dev": PACKAGES["libgrpc++-dev"]})


class Holes(unittest.TestCase):
    def setUp(self):
        self.holes = yaml.safe_load(sbom.HOLES.read_text())

    def test_every_row_is_whole(self):
        sources = {row["source"] for row in notices.read_table() if "source" in row}
        self.assertEqual(len(self.holes), len({hole["id"] for hole in self.holes}))
        for hole in self.holes:
            with self.subTest(hole["id"]):
                self.assertIn(hole["source"], sources)
                self.assertLessEqual({"id", "source", "below", "what", "state", "detail"}, hole.keys())
                self.assertEqual("justification" in hole, hole["state"] == "not_affected")
                self.assertEqual("response" in hole, hole["state"] == "exploitable")
                for path in [word.strip("(),.;") for word in hole["detail"].split() if "/" in word and not word.strip("(").startswith("/")]:
                    self.assertTrue((ROOT / path).exists(), path)

    def test_people_are_told_the_same(self):
        page = (ROOT / "deploy/hardening.md").read_text()
        names = {row["source"]: row["name"] for row in notices.read_table() if "source" in row}
        for hole in self.holes:
            self.assertIn(f"| {hole['id']} | {names[hole['source']]} below {hole['below']} | {hole['what']} | {hole['state'].replace('_', ' ')} | "
                          f"{hole['detail']} |\n", page)


class Compared(unittest.TestCase):
    """A link command against the table."""

    def test_libraries_of_a_command(self):
        build = pathlib.Path("/somewhere/build")
        outside, ours = sbom.library_paths("c++ -O2 a.o -o bin/x lib/liba.a /usr/lib/libb.so.1.2 static/lib/libc-core.a", build)
        self.assertEqual(outside, {"/usr/lib/libb.so.1.2"})
        self.assertEqual(ours, {"/somewhere/build/lib/liba.a", "/somewhere/build/static/lib/libc-core.a"})


if __name__ == "__main__":
    unittest.main()
