#!/usr/bin/env python3
"""What set-up, build and tests download beside Debian packages: name, version, registry, what needs it, and what pins its
hash. Written from the manifests themselves into deploy/downloads.tsv.

usage: deploy/list_downloads.py [--check]
  --check   write nothing; exit 1 where the table is stale, a manifest is not known here, or a script installs what
            nothing pins. Such a line may say why at its end: # unpinned: REASON"""
import json
import pathlib
import re
import subprocess
import sys
import tomllib
import xml.etree.ElementTree

ROOT = pathlib.Path(__file__).resolve().parents[1]
TABLE = "deploy/downloads.tsv"
REPOSITORY = "clients/java/repository.sha256"
HEAD = """# Written by deploy/list_downloads.py. Debian packages are not in here: deploy/setup.sh names them, apt checks them against
# the archive's signed index, and their versions are those of the Debian release.
name\tversion\tregistry\tneeded by\thash
"""


class Fault(Exception):
    """A manifest that cannot be listed; the message names it and what to do."""


def pip(path, text):
    """A file of `uv pip compile --generate-hashes`."""
    for entry in re.split(r"\n(?=[A-Za-z0-9])", re.sub(r"^#.*\n", "", text, flags=re.M)):
        match = re.match(r"([A-Za-z0-9._-]+)==([^\s;\\]+)", entry)
        if not match or "--hash=sha256:" not in entry:
            raise Fault(f"{path}: {entry.splitlines()[0]}: no version or no hash: run deploy/pin_downloads.sh")
        yield *match.groups(), "PyPI", f"sha256 in {path}"


def npm(path, text):
    for place, package in json.loads(text)["packages"].items():
        if place:
            if not package.get("integrity"):
                raise Fault(f"{path}: {place} has no integrity: run deploy/pin_downloads.sh")
            yield place.rpartition("node_modules/")[2], package["version"], "npm", f"sha512 in {path}"


def go(path, text):
    for line in text.splitlines():
        name, version, _ = line.split()
        if not version.endswith("/go.mod"):  # of those alone the go.mod file is read
            yield name, version, "Go proxy", f"h1 in {path}"


def cargo(path, text):
    for package in tomllib.loads(text)["package"]:
        if "source" in package:  # else it is a crate of this repository
            if "checksum" not in package:
                raise Fault(f"{path}: {package['name']} has no checksum: run cargo generate-lockfile")
            yield package["name"], package["version"], "crates.io", f"sha256 in {path}"


def maven(path, text):
    """Files of a Maven repository: jars and programs; the POMs beside them are in the file too."""
    for line in text.splitlines():
        name, version, kind = re.fullmatch(r"[0-9a-f]{64}  .+/([^/]+)/([^/]+)/[^/]+\.(jar|exe|pom)", line).groups()
        if kind != "pom":
            yield name, version, "Maven Central", f"sha256 in {path}"


def maven_pinned(path, text):
    """The plugins and programs that a file names are among the repository's files."""
    listed = (ROOT / REPOSITORY).read_text()
    space = "{http://maven.apache.org/POM/4.0.0}"
    wanted = ([(plugin.findtext(f"{space}artifactId"), plugin.findtext(f"{space}version"))
               for plugin in xml.etree.ElementTree.fromstring(text).iter(f"{space}plugin")] if path.endswith(".xml") else
              re.findall(r"-Dartifact=\"[\w.]+:([\w-]+):([\d.]+):exe:", text))
    for name, version in wanted:
        if f"/{name}/{version}/" not in listed:
            raise Fault(f"{path}: {name} {version} is not in {REPOSITORY}: run deploy/pin_downloads.sh")
        yield name, version, "Maven Central", f"sha256 in {REPOSITORY}"


def images(path, text):
    for name, version, digest in re.findall(r"(?:^ARG BASE=|image: )\S*?([\w-]+):([\w.-]+)(@sha256:[0-9a-f]{64})?$", text, re.M):
        if not digest:
            raise Fault(f"{path}: {name}:{version} has no digest: name it as {name}:{version}@sha256:...")
        yield name, version, "container registry", f"sha256 in {path}"


# Manifest, its reader, and what needs what it names.
MANIFESTS = [
    ("deploy/buf/package-lock.json", npm, "check of the protos; tests of the server's reflection"),
    ("probe/toolkit.txt", pip, "CUDA compiler of the probe (probe/toolkit.sh)"),
    ("probe/toolkit12.txt", pip, "CUDA 12 for the probe on nodes with older drivers (probe/toolkit.sh --cuda-12)"),
    ("probe/older_glibc/linker.txt", pip, "the probe on nodes with glibc 2.28 (probe/toolkit.sh --older-glibc)"),
    ("clients/python/requirements-dev.txt", pip, "tests and generated code of the Python client"),
    ("tests/doors/pre_commit.txt", pip, "test of the pre-commit hook"),
    ("clients/web/test/perfetto.txt", pip, "test of exported traces by Perfetto's own reader"),
    ("tests/stdio/requirements.txt", pip, "tests of flightplan mcp and lsp by the protocols' public clients"),
    ("clients/python/requirements-integrations.txt", pip, "tests of the NeMo-Run and SkyPilot plugins, only where asked for"),
    ("clients/go/go.sum", go, "Go client"),
    ("clients/go/tools/go.sum", go, "generated code of the Go client"),
    ("clients/typescript/package-lock.json", npm, "TypeScript client: build, tests and generated code"),
    ("clients/web/package-lock.json", npm, "page: bundle, tests and generated code"),
    ("clients/vscode/package-lock.json", npm, "Visual Studio Code extension: build, tests and packing"),
    (REPOSITORY, maven, "Java client: libraries, build and tests"),
    ("clients/java/pom.xml", maven_pinned, "build of the Java client"),
    ("deploy/setup_clients.sh", maven_pinned, "generated code of the Java client"),
    ("clients/rust/Cargo.lock", cargo, "Rust client: build, tests and generated code"),
    ("tests/connect/tools/go.sum", go, "conformance suite of the Connect protocol"),
    ("tests/doors/apiserver/go.sum", go, "kube-apiserver that the Kubernetes hook is tested with"),
    ("deploy/uv.txt", pip, "deploy/pin_downloads.sh"),
    ("deploy/container/Containerfile", images, "build stage of the image"),
    ("deploy/container/Containerfile.probe", images, "build stage of the probe's image"),
]
# Files that say what to download, by name.
MANIFEST_NAMES = re.compile(r"(.*/)?(package-lock\.json|yarn\.lock|Cargo\.lock|go\.sum|pom\.xml|poetry\.lock|uv\.lock|requirements[^/]*\.txt|"
                            r"Containerfile|Dockerfile)")
# A command that downloads; what makes it install nothing but what a manifest pins; the registry.
INSTALLERS = [
    (re.compile(r"\bpip3?[\"']?\s+(install|download|wheel)\b|\bpip\[@\]\}\"? install\b"), re.compile(r"--require-hashes|--no-index"), "PyPI"),
    (re.compile(r"\b(npx|npm (install|i|add|exec|update))\b"), re.compile(r"--package-lock-only"), "npm"),
    (re.compile(r"\bgo (install|get|run) [^|;&]*\w@\w"), None, "Go proxy"),
    (re.compile(r"\bcargo (build|run|test|install|fetch)\b"), re.compile(r"--locked|--offline"), "crates.io"),
    (re.compile(r"\b(curl|wget|git clone)\b.*https?://(?!127\.0\.0\.1|localhost|\$)"), None, "web"),
]
REASON = re.compile(r"# unpinned: (.+)$")


def tracked(root):
    out = subprocess.run(["git", "ls-files", "--cached", "--others", "--exclude-standard", "-z"], cwd=root, check=True,
                         capture_output=True, text=True).stdout
    return sorted(name for name in out.split("\0") if name and (root / name).is_file())


def is_manifest(root, name):
    return MANIFEST_NAMES.fullmatch(name) or name.endswith(".txt") and b"--hash=sha256:" in (root / name).read_bytes()


def is_script(path):
    return path.name == "Containerfile" or path.suffix == ".sh" or path.read_bytes()[:64].split(b"\n")[0].endswith(b"bash")


def unpinned_commands(name, text):
    """Yields command, registry and reason (None: it has none) of what a script installs without a hash."""
    text = re.sub(r"\\\n\s*", " ", text)
    for line in text.splitlines():
        command = re.sub(r"(^\s*#|\becho\b|\bprintf\b).*", "", line)
        for pattern, pinned, registry in INSTALLERS:
            if pattern.search(command) and not (pinned and pinned.search(command)):
                reason = REASON.search(line)
                yield line.strip(), registry, reason.group(1) if reason else None


def listed(root):
    """All rows, in order. Raises Fault where a manifest or a command is not pinned."""
    rows = set()
    for name, reader, needed_by in MANIFESTS:
        found = list(reader(name, (root / name).read_text()))
        if not found:
            raise Fault(f"{name}: nothing to download is found in it: mend or remove its row in deploy/list_downloads.py")
        rows |= {(*row[:3], needed_by, row[3]) for row in found}
    known = {name for name, _, _ in MANIFESTS}
    for name in tracked(root):
        if name.endswith("buf.yaml") and re.search(r"^deps:", (root / name).read_text(), re.M):
            raise Fault(f"{name}: names modules, which only a buf.lock pins: copy their protos into proto/ instead")
        if is_manifest(root, name) and name not in known:
            raise Fault(f"{name}: give it a row in MANIFESTS of deploy/list_downloads.py")
        if is_script(root / name):
            for command, registry, reason in unpinned_commands(name, (root / name).read_text()):
                if reason is None:
                    raise Fault(f"{name}: installs what nothing pins: {command}")
                rows.add((f"what {name} installs", "newest", registry, name, f"not pinned: {reason}"))
    return sorted(rows, key=lambda row: (row[3], row[2], row[0].lower(), row[1]))


def main(arguments, root=ROOT):
    if arguments not in ([], ["--check"]):
        print(__doc__)
        return 0 if arguments in (["-h"], ["--help"]) else 2
    try:
        text = HEAD + "".join("\t".join(row) + "\n" for row in listed(root))
    except Fault as fault:
        print(f"list_downloads: {fault}", file=sys.stderr)
        return 1
    table = root / TABLE
    if not arguments:
        table.write_text(text)
    elif not table.exists() or table.read_text() != text:
        print(f"{TABLE} is stale: run deploy/list_downloads.py", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
