#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Compares an answer of nmd with that of a Java NodeManager to the same request, field by field.

fields.py DOCUMENT TABLE USED JAVA NMD   prints each difference that the table doesn't have, and adds the rows that were needed to USED
fields.py --unused TABLE USED            prints the rows of the table that no comparison needed

A row of the table is: the document, a pattern for the field, the kind of the difference, and the reason. The kinds are:
  missing  nmd doesn't have the field        extra  Java doesn't have the field
  null     nmd's value is null               type   the types differ          value  the values differ
A kind with "?" is permitted and need not occur, such as that of a measured value. An answer is JSON or XML.
Ids of applications and containers, and the addresses of the two nodes, count as equal.
"""
import fnmatch
import json
import re
import sys
import xml.etree.ElementTree

SAME = [(r"application_\d+_\d+", "APPLICATION"), (r"container_(?:e\d+_)?\d+_\d+_(\d+_\d+)", r"CONTAINER_\1"),
        (r"node0[14]:7[14]0", "NODE:70"), (r"node0[14]\b", "NODE"), (r"/node[14]/", "/NODE/")]


def rows_of(path):
    for line in open(path):
        if line.strip() and not line.startswith("#"):
            document, field, kind, reason = line.split(None, 3)
            yield document, field, kind, reason


def normal(text):
    for pattern, same in SAME:
        text = re.sub(pattern, same, text)
    return text


def key_of(item, i):
    """A bean is known by its name, a property by its key, and each other item of a list by its id or position."""
    return str(next((item[k] for k in ("name", "key", "id") if k in item), i)) if isinstance(item, dict) else str(i)


def order_of(item):
    """Lists of Hadoop have no order: the ids of containers come out of a hash table."""
    return item if isinstance(item, str) else key_of(item, "")


def flatten(value, path, to):
    if isinstance(value, dict) and value:
        for k, v in value.items():
            flatten(v, path + "/" + k if path else k, to)
    elif isinstance(value, list) and value:
        for i, v in enumerate(sorted(value, key=order_of)):
            flatten(v, "%s[%s]" % (path, key_of(v, i)), to)
    else:
        to[path] = value


def value_of(element):
    if not len(element):
        return element.text or ""
    children = {}
    for child in element:
        children.setdefault(child.tag, []).append(value_of(child))
    return {tag: all[0] if len(all) == 1 else all for tag, all in children.items()}


def parse(text):
    if not text.startswith("<"):
        return json.loads(text)
    root = xml.etree.ElementTree.fromstring(text)
    return {root.tag: value_of(root)}


def kind_of(java, nmd):
    if nmd is None and java is not None:
        return "null"
    if type(java) is not type(nmd):
        return "type"
    return None if java == nmd else "value"


def differences(java, nmd):
    a, b = {}, {}
    flatten(java, "", a)
    flatten(nmd, "", b)
    for field in sorted(set(a) | set(b)):
        kind = "missing" if field not in b else "extra" if field not in a else kind_of(a[field], b[field])
        if kind:
            yield field, kind, a.get(field), b.get(field)


def main():
    if sys.argv[1] == "--unused":
        used = set(open(sys.argv[3]).read().splitlines())
        for row in rows_of(sys.argv[2]):
            if not row[2].endswith("?") and " ".join(row[:3]) not in used:
                print("%s %s %s isn't needed" % row[:3])
        return
    document, table, used, java, nmd = sys.argv[1:]
    rows = [r for r in rows_of(table) if r[0] == document]
    needed = set()
    a, b = (parse(normal(open(p).read())) for p in (java, nmd))
    for field, kind, x, y in differences(a, b):
        same = (r for r in rows if r[2].rstrip("?") == kind)
        row = next((r for r in same if fnmatch.fnmatchcase(field, r[1].replace("[", "[[]"))), None)
        if row:
            needed.add(" ".join(row[:3]))
        else:
            print("%s: %s: Java %r, nmd %r" % (field, kind, x, y))
    with open(used, "a") as f:
        f.writelines(n + "\n" for n in sorted(needed))


main()
