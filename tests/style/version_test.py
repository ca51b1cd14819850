#!/usr/bin/env python3
"""The release is stated in CMakeLists.txt; what repeats it (deploy/set_version.py) says the same, and nothing else names
it beside the product's name."""
import pathlib
import re
import shutil
import sys
import tempfile

from sources import ROOT, report, tracked

sys.path.insert(0, str(ROOT / "deploy"))
import set_version  # noqa: E402


def other_places(version):
    """Lines such as flightplan-1.2.3 in files that set_version.py does not write."""
    named = re.compile(r"flightplan['\"]?[-_ =:@v]{1,4}" + re.escape(version) + r"\b", re.I)
    written = {name for name, _, _ in set_version.COPIES}
    for path in tracked():
        name = str(path.relative_to(ROOT))
        if name in written or not path.is_file():
            continue
        for number, line in enumerate(path.read_bytes().decode("utf-8", "replace").splitlines(), 1):
            if named.search(line):
                yield f"{name}:{number}: names release {version}: derive it, or add the file to COPIES in deploy/set_version.py"


def release_of_a_copy():
    """Another number in the project line reaches every copy, and a copy that lags is told."""
    with tempfile.TemporaryDirectory() as folder:
        root = pathlib.Path(folder)
        for name in [set_version.SOURCE, set_version.CHANGELOG, *(name for name, _, _ in set_version.COPIES)]:
            (root / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, root / name)
        source = root / set_version.SOURCE
        source.write_text(set_version.PROJECT_LINE.sub("project(flightplan VERSION 98.7.6 ", source.read_text()))
        lagging = {name for name, _ in set_version.outdated(root, "98.7.6")}
        faults = [f"{name}: is not told that it lags" for name, _, _ in set_version.COPIES if name not in lagging]
        for name, new in set_version.outdated(root, set_version.project_version(root)):
            (root / name).write_text(new)
        for name, _, count in set_version.COPIES:
            if (root / name).read_text().count("98.7.6") != count:
                faults.append(f"{name}: a new release is not written")
    return faults


def main():
    faults = [*other_places(set_version.project_version(ROOT)), *release_of_a_copy()]
    return report(faults, "CMakeLists.txt alone states the release") | set_version.main(["--check"])


if __name__ == "__main__":
    sys.exit(main())
