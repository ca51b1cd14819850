#!/usr/bin/env python3
"""deploy/third_party.yaml is whole, and deploy/third_party_notices.py writes and misses what it should."""
import contextlib
import io
import pathlib
import re
import sys
import tempfile
import unittest
import unittest.mock

from sources import ROOT

sys.path.insert(0, str(ROOT / "deploy"))
import third_party_notices as notices  # noqa: E402

# SPDX identifiers of the table.
LICENCES = {"Apache-2.0", "BSD-2-Clause", "BSD-3-Clause", "BSD-3-Clause-Attribution", "GPL-2.0-or-later", "GPL-3.0-or-later",
            "LGPL-2.0-or-later", "LGPL-2.1-or-later", "LGPL-3.0-or-later", "LicenseRef-NVIDIA-CUDA-EULA", "LicenseRef-Public-Domain", "MIT", "OLDAP-2.8",
            "PostgreSQL", "Zlib", "BSL-1.0", "ISC", "Unicode-DFS-2015", "blessing"}
EXCEPTIONS = {"GCC-exception-3.1"}
FIELDS = {"name", "source", "package", "pypi", "file", "gather", "licence", "linked", "by", "in"}


class Table(unittest.TestCase):
    def setUp(self):
        self.rows = notices.read_table()

    def test_every_row_is_whole(self):
        for row in self.rows:
            with self.subTest(row.get("name")):
                self.assertLessEqual(row.keys(), FIELDS)
                self.assertLessEqual({"name", "licence", "linked", "in"}, row.keys())
                self.assertTrue("pypi" in row or {"source", "package"} <= row.keys() or (ROOT / row.get("file", "none")).is_file())
                self.assertIn(row["linked"], ("static", "shared", "headers"))
                self.assertTrue(row["in"] and set(row["in"]) <= set(notices.PARCELS))
                words = set(re.split(r" AND | OR | WITH ", row["licence"]))
                self.assertLessEqual(words, LICENCES | EXCEPTIONS)

    def test_names_and_sources_are_there_once(self):
        for key in ("name", "source"):
            values = [row[key] for row in self.rows if key in row]
            self.assertEqual(sorted(values), sorted(set(values)))

    def test_what_brings_a_library_goes_with_it(self):
        by_name = {row["name"]: row for row in self.rows}
        for row in self.rows:
            if "by" in row:
                self.assertLessEqual(set(row["in"]), set(by_name[row["by"]]["in"]), row["name"])

    def test_the_images_libraries_are_all_shipped_in_it(self):
        """A library that only the image carries is shared: what is linked in is in every parcel."""
        for row in self.rows:
            if row["in"] == ["image"]:
                self.assertEqual(row["linked"], "shared", row["name"])


class Text(unittest.TestCase):
    """Notices of a made-up Debian."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = pathlib.Path(folder.name)
        self.common = self.root / "common-licenses"
        self.common.mkdir()
        (self.common / "GPL-3").write_text("the text of GPL 3\n")
        (self.common / "GPL").symlink_to("GPL-3")
        self.packages = {}
        self.give("libb-dev", "b", "2.0", "b is free; see /usr/share/common-licenses/GPL-3.\n")
        self.give("liba9", "a", "1.5", "a is free, /usr/share/common-licenses/GPL\n")
        self.rows = [{"name": "B", "source": "b", "package": "libb-dev", "licence": "MIT"},
                     {"name": "a", "source": "a", "package": "liba8", "licence": "Zlib"}]

    def give(self, package, source, version, text):
        self.packages[package] = notices.Package(source, f"{version}-1+deb12u3", version)
        (self.root / package).mkdir()
        (self.root / package / "copyright").write_text(text)

    def text(self, with_sources=False):
        return notices.notices(self.rows, self.packages, with_sources, self.root, self.common, self.root)

    def test_full_text_of_each_in_order_with_version_and_licence(self):
        self.assertRegex(self.text(), r"(?s)a 1\.5    Zlib\n=+\n\na is free.*B 2\.0    MIT\n=+\n\nb is free; see")

    def test_another_package_of_the_source_serves(self):
        self.assertIn("a is free", self.text())  # liba8 is not installed, liba9 is

    def test_licences_referred_to_follow_once(self):
        self.assertEqual(self.text().count("the text of GPL 3"), 1)
        self.assertIn("Referred to above: GPL, GPL-3", self.text())

    def test_a_long_file_is_gathered_by_licence_and_loses_no_holder_and_no_licence(self):
        holders = "Copy" + "right: "  # apart: licence_test.py reads whose this file is
        self.give("libc-dev", "c", "1.0", "Format: https://www.debian.org/\n\n"
                  f"Files: *\n{holders}2001 Ann\n 2002 Bob\nLicense: MIT\n\n"
                  f"Files:\n one.h\n two.h\n{holders}2002 Bob\n 2003 Cy\nLicense: MIT\n\n"
                  f"Files: three.h\n{holders}2004 Di\nLicense: Own\n Words of Di.\n\n"
                  "License: MIT\n Words of MIT.\n")
        self.rows = [{"name": "C", "source": "c", "package": "libc-dev", "gather": True, "licence": "MIT"}]
        self.assertIn("MIT, copyright:\n  2001 Ann\n  2002 Bob\n  2003 Cy\n\nOwn, copyright:\n  2004 Di\n\n"
                      "License: Own\nWords of Di.\n\nLicense: MIT\n Words of MIT.\n", self.text())
        self.assertNotIn("one.h", self.text())
        del self.rows[0]["gather"]
        self.assertIn("one.h", self.text())

    def test_same_bytes_and_no_path_of_the_machine(self):
        first = self.text()
        self.rows.reverse()
        self.assertEqual(first, self.text())
        self.assertNotIn(str(self.root), first)

    def test_the_source_of_what_the_gnu_licences_cover_is_named_and_offered(self):
        self.assertNotIn("Source code", self.text(with_sources=True))
        (self.common / "GPL-2").write_text("the text of GPL 2\n")
        self.rows[0]["licence"] = "GPL-2.0-or-later"
        self.assertNotIn("Source code", self.text())
        text = self.text(with_sources=True)
        self.assertIn("B: b=2.0-1+deb12u3\n    https://snapshot.debian.org/package/b/2.0-1+deb12u3/\n", text)
        self.assertNotIn("/package/a/", text)
        self.assertRegex(text, "offer in writing: for three years")
        self.assertIn("the text of GPL 2", text)  # though no copyright file refers to it
        self.rows[1]["licence"] = "LGPL-3.0-or-later OR GPL-2.0-or-later"
        (self.common / "LGPL-3").write_text("the text of LGPL 3\n")
        self.assertIn("a: a=1.5-1+deb12u3\n", self.text(with_sources=True))
        (self.common / "GPL-2").unlink()
        with self.assertRaisesRegex(notices.Missing, "no text of the licence GPL-2:"):
            self.text(with_sources=True)

    def test_a_missing_package_is_named_in_one_sentence(self):
        del self.packages["libb-dev"]
        with self.assertRaisesRegex(notices.Missing, r"^no copyright file of B: install the package libb-dev$"):
            self.text()

    def test_a_missing_copyright_file_is_a_missing_package(self):
        (self.root / "libb-dev" / "copyright").unlink()
        with self.assertRaisesRegex(notices.Missing, "libb-dev"):
            self.text()

    def test_a_missing_common_licence_is_named(self):
        (self.common / "GPL").unlink()
        with self.assertRaisesRegex(notices.Missing, "no text of the licence GPL:"):
            self.text()

    def test_a_wheels_licence_is_found_in_the_toolkit(self):
        self.rows = [{"name": "CUDA runtime", "pypi": "nvidia-cuda-runtime", "licence": "MIT"}]
        with self.assertRaisesRegex(notices.Missing, "run probe/toolkit.sh"):
            self.text()
        file = self.root / "flightplan/cuda-13.0/nvidia_cuda_runtime-13.0.96.dist-info/licenses/License.txt"
        file.parent.mkdir(parents=True)
        file.write_text("the agreement")
        self.assertRegex(self.text(), r"(?s)CUDA runtime 13\.0\.96 .*the agreement")


class Check(unittest.TestCase):
    """Libraries of a binary, in made-up packages."""

    NEEDS = {"program": {"liba.so.1", "libc.so.6"}, "/usr/lib/x86_64-linux-gnu/liba.so.1": {"libdeep.so.3", "libc.so.6"},
             "/usr/lib/libdeep.so.3": set(), "/usr/lib/libc.so.6": set()}
    OWNERS = {"liba.so.1": [("liba1", "/usr/lib/x86_64-linux-gnu/liba.so.1")], "libc.so.6": [("libc6", "/usr/lib/libc.so.6")],
              "libdeep.so.3": [("libdeep3", "/usr/lib/libdeep.so.3")]}
    PACKAGES = {"liba1": notices.Package("a", "1-1", "1"), "libc6": notices.Package("glibc", "2-1", "2"), "libdeep3": notices.Package("deep", "3-1", "3")}

    def unknown(self, sources, owners=None):
        owners = self.OWNERS if owners is None else owners
        with unittest.mock.patch("os.path.exists", return_value=True):
            return list(notices.unknown_libraries("program", sources, self.PACKAGES,
                                                  lambda names: {name: owners.get(name, []) for name in names}, self.NEEDS.get))

    def test_nothing_where_all_are_in_the_table(self):
        self.assertEqual(self.unknown({"a", "glibc", "deep"}), [])

    def test_a_library_of_a_library_is_named_with_what_needs_it(self):
        self.assertEqual(self.unknown({"a", "glibc"}), ["program: libdeep.so.3, needed by liba.so.1, is of deep: give it a row in "
                                                        "deploy/third_party.yaml"])

    def test_a_library_of_no_package_is_named(self):
        self.assertEqual(self.unknown({"glibc"}, {"libc.so.6": self.OWNERS["libc.so.6"]}),
                         ["program: liba.so.1, needed by program, is of no installed Debian package"])

    def test_real_programs(self):
        for program, code, said in (("/bin/sh", 0, ""), ("/bin/ls", 1, "libselinux.so.1"), (__file__, 1, "cannot be read")):
            out = io.StringIO()
            with contextlib.redirect_stdout(out), contextlib.redirect_stderr(io.StringIO()):
                self.assertEqual(notices.main(["--check", program]), code, program)
            self.assertIn(said, out.getvalue())

    def test_wrong_arguments(self):
        for arguments in ([], ["rpm"], ["--check"], ["wheel", "a", "b"]):
            with contextlib.redirect_stderr(io.StringIO()):
                self.assertEqual(notices.main(arguments), 2)


if __name__ == "__main__":
    unittest.main()
