"""The shapes that catalogue files must have: what is misspelt anywhere in them is a fault, never dropped in silence."""
import json
import re
import sys

import yaml


class Loader(getattr(yaml, "CSafeLoader", yaml.SafeLoader)):
    """Of two equal keys YAML keeps the last in silence."""

    def construct_mapping(self, node, deep=False):
        keys = [self.construct_object(key, deep=True) for key, _ in node.value]
        for key in keys:
            if keys.count(key) > 1:
                raise yaml.constructor.ConstructorError(None, None, "%r stands twice" % (key,), node.start_mark)
        return super().construct_mapping(node, deep)


# ---- each of these makes a function that takes a value and where it stands, and yields faults

def of_type(*types):
    def check_type(value, where):
        if type(value) not in types:
            yield "%s: must be %s, not %r" % (where, " or ".join(t.__name__ for t in types), value)
    return check_type


def one_of(words):
    def check_word(value, where):
        if value not in words:
            yield "%s: must be one of %s, not %r" % (where, ", ".join(map(str, words)), value)
    return check_word


def anything(value, where):
    return iter(())


def list_of(item):
    def check_list(value, where):
        if type(value) is not list:
            yield "%s: must be a list, not %r" % (where, value)
            return
        for i, element in enumerate(value):
            yield from item(element, "%s[%d]" % (where, i))
    return check_list


def fields(shapes, required=()):
    def check_fields(value, where):
        if type(value) is not dict:
            yield "%s: must be a map, not %r" % (where, value)
            return
        for key in required:
            if key not in value:
                yield "%s: %s is missing" % (where, key)
        for key, inner in value.items():
            if key in shapes:
                yield from shapes[key](inner, "%s.%s" % (where, key))
            else:
                yield "%s: unknown %r, must be one of %s" % (where, key, ", ".join(map(str, shapes)))
    return check_fields


def number(low=None, high=None):
    """A finite number within the bounds; text such as 1e-5, which YAML reads as no number, is a fault."""
    def check_number(value, where):
        if type(value) not in (int, float) or value != value or value in (float("inf"), float("-inf")):
            yield "%s: must be a number, not %r" % (where, value)
        elif (low is not None and value < low) or (high is not None and value > high):
            yield "%s: %r is out of range" % (where, value)
    return check_number


def text(value, where):
    if type(value) is not str or not value.strip():
        yield "%s: must be text, not %r" % (where, value)


def matching(pattern, what):
    """Text that is as the pattern says; `what` is for people."""
    def check_pattern(value, where):
        if type(value) is not str or not re.fullmatch(pattern, value):
            yield "%s: must be %s, not %r" % (where, what, value)
    return check_pattern


def json_of(inner):
    """Text that is JSON of a shape."""
    def check_json(value, where):
        try:
            document = json.loads(value)
        except ValueError:
            yield "%s: must be JSON, not %r" % (where, value)
        else:
            yield from inner(document, where)
    return check_json


def row_of(*shapes):
    """A list with one shape a place."""
    def check_row(value, where):
        if type(value) is not list or len(value) != len(shapes):
            yield "%s: must be a list of %d, not %r" % (where, len(shapes), value)
            return
        for i, (shape, element) in enumerate(zip(shapes, value)):
            yield from shape(element, "%s[%d]" % (where, i))
    return check_row


def twice(values, where):
    for i, value in enumerate(values):
        if value in values[:i]:
            yield "%s: %r stands twice" % (where, value)


def load(path, faults_of):
    """The file's document, if faults_of() yields nothing for it; else the program ends and says all of them."""
    name = str(path).rsplit("/", 1)[-1]
    try:
        with open(path, encoding="utf-8") as stream:
            document = yaml.load(stream, Loader)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark
        sys.exit("%s: line %d: %s" % (name, mark.line + 1 if mark else 1, error.problem))
    faults = list(faults_of(document))
    if faults:
        sys.exit("\n".join("%s: %s" % (name, fault) for fault in faults))
    return document


def load_table(path, columns, sorted_by):
    """The rows of a TSV file as maps, each cell of its column's shape, sorted by one column and each of its cells once;
    else the program ends and says all faults. Lines that begin with # are remarks."""
    name = str(path).rsplit("/", 1)[-1]
    with open(path, encoding="utf-8") as file:
        lines = [(at, line.rstrip("\n").split("\t")) for at, line in enumerate(file, 1) if not line.startswith("#")]
    if not lines or lines[0][1] != list(columns):
        sys.exit("%s: the columns must be %s" % (name, ", ".join(columns)))
    rows, faults = [], []
    for at, cells in lines[1:]:
        if len(cells) != len(columns):
            faults.append("line %d: needs %d fields, has %d" % (at, len(columns), len(cells)))
            continue
        row = dict(zip(columns, cells))
        for column, cell in row.items():
            faults += columns[column](cell, "line %d: %s" % (at, column))
        if rows and row[sorted_by] <= rows[-1][sorted_by]:
            faults.append("line %d: %r must come after %r" % (at, row[sorted_by], rows[-1][sorted_by]))
        rows.append(row)
    if faults:
        sys.exit("\n".join("%s: %s" % (name, fault) for fault in faults))
    return rows
