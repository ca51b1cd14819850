"""What the style tests share: the repository's files, and C++ without its comments and literals."""
import pathlib
import re
import subprocess

ROOT = pathlib.Path(__file__).resolve().parents[2]


def tracked(*patterns):
    """Files of the repository, also new ones that git does not ignore."""
    out = subprocess.run(["git", "ls-files", "--cached", "--others", "--exclude-standard", "-z", *patterns],
                         cwd=ROOT, check=True, capture_output=True, text=True).stdout
    return [ROOT / name for name in out.split("\0") if name and (ROOT / name).exists()]


TOKENS = re.compile(r'//[^\n]*|/\*.*?\*/|R"(\w*)\(.*?\)\1"|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'', re.S)


def code_only(text):
    """The text with comments and literals blanked out; line numbers stay."""
    return TOKENS.sub(lambda m: "\n" * m.group(0).count("\n"), text)


def report(faults, rule):
    """Prints the faults; the exit code of the test."""
    for fault in faults:
        print(fault)
    print(f"{len(faults)} faults: {rule}" if faults else "clean")
    return 1 if faults else 0
