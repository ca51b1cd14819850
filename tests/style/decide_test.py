#!/usr/bin/env python3
"""A decision reads as a table: no function of resolver/rules/decide has more than 50 lines, or a cyclomatic complexity
above 15. What grows beyond that wants to be rows (rows.h) or named predicates."""
import re
import sys

from sources import code_only, report, tracked

MOST_LINES, MOST_PATHS = 50, 15
# Sources are formatted, so a definition starts in the first column, and ends with a brace of its own there.
FUNCTION = re.compile(r"^(?!namespace|struct|class|enum|union|using|template|#)[^\s}][^;={}]*\([^;{}]*\)[^;={}()]*\{$(.*?)^\}$",
                      re.M | re.S)
BRANCH = re.compile(r"\b(?:if|for|while|case|catch)\b|&&|\|\||\?")


def functions(text):
    """Each function of a formatted source: its first line's number, its name, its lines and paths."""
    code = code_only(text)
    for match in FUNCTION.finditer(code):
        name = re.search(r"([\w:~]+)\s*\(", match.group(0)).group(1)
        lines = match.group(0).count("\n") + 1
        yield code[:match.start()].count("\n") + 1, name, lines, len(BRANCH.findall(match.group(1))) + 1


def faults_of(name, text):
    for line, function, lines, paths in functions(text):
        if lines > MOST_LINES:
            yield f"{name}:{line}: {function} has {lines} lines; at most {MOST_LINES}"
        if paths > MOST_PATHS:
            yield f"{name}:{line}: {function} has a cyclomatic complexity of {paths}; at most {MOST_PATHS}"


def planted():
    """Functions that must be refused, and one that must not."""
    long = "void Long(D d,\n          int b) {\n" + "  Do();\n" * 49 + "}\n"
    branchy = "bool Branchy(D d) {\n" + "  if (a && b) return true;\n" * 8 + "  return false;\n}\n"
    fine = "bool Member::Fine(D d) const {\n" + "  Do();\n" * 48 + "}\n"
    missed = [text.split("\n")[0] for text in (long, branchy) if not list(faults_of("planted", text))]
    return missed + list(faults_of("planted", fine))


def main():
    faults, seen = planted(), 0
    for path in tracked("resolver/rules/decide/*.cc", "resolver/rules/decide/*.h"):
        if path.name.endswith("_test.cc"):
            continue
        text = path.read_text()
        seen += len(list(functions(text)))
        faults += faults_of(path.name, text)
    if seen < 50:
        faults.append(f"only {seen} functions were found: the check no longer sees them")
    return report(faults, "functions of resolver/rules/decide are short; see rows.h")


if __name__ == "__main__":
    sys.exit(main())
