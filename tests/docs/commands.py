#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Finds the commands that README.md and docs/ show, for the programs that run them:

  tests/docs/commands.py DOCUMENT...            prints the commands: one JSON object per line, with the output below the command
  tests/docs/commands.py --check TOP DOCUMENT... prints the faults of the documents, one per line, and no line if there are none

Commands are in fenced blocks. The word after "sh" names their runner, exactly one of RUNNERS:

  host   tests/integration/17-documents.sh, with an nmd of a build
  vm     tests/vm/suites/91-documents.sh, with the installed package and systemd
  tree   a test that has exactly this command (TESTS), because the command takes long or needs Hadoop

A command that no test runs is a fault, and a block without a runner is one, too. A command is one line. Commands within a sentence must
also be in a block, or be commands of the project with verbs and options that are in their --help (--check knows them from TOP).
"""
import glob
import json
import os
import re
import subprocess
import sys

RUNNERS = ("host", "vm", "tree")
DATA = ("text", "ini", "xml", "json")  # languages of blocks without commands
TESTS = ("check", "tests/fresh", "tests/*/*.sh", "tests/vm/suites/*.sh")
FOREIGN = ("apt", "systemctl", "systemd-analyze", "journalctl", "curl", "make", "yarn", "dpkg")
OWN = ("nmd", "nmctl", "nmsim", "nmscale", "./demo", "packaging/build-deb")
FENCE = re.compile(r"^( *)```(.*)$")


def blocks(path):
    """Yields (number of the line, words after the fence, lines) of each block. For an indented block, the words are None."""
    indent, words, first, lines, before = "", None, 0, [], ""
    inside = False
    with open(path, encoding="utf-8") as f:
        for number, line in enumerate(f, 1):
            line = line.rstrip("\n")
            fence = FENCE.match(line)
            if fence and not inside:
                inside, indent, words, first, lines = True, fence[1], fence[2].split(), number, []
            elif fence:
                inside = False
                yield first, words, lines
            elif inside:
                lines.append(line.removeprefix(indent))
            elif line.startswith("    ") and not before.strip():
                yield number, None, [line.strip()]
            before = line
    if inside:
        yield first, [], lines


def commands(path):
    last = None
    for number, words, lines in blocks(path):
        if words and words[0] == "sh":
            for offset, line in enumerate(lines, 1):
                if last:
                    yield last
                last = {"file": path, "line": number + offset, "runner": words[1] if len(words) > 1 else "", "command": line,
                        "output": []}
        elif words == ["text"] and last:
            last["output"] = lines
    if last:
        yield last


def complaints_of_blocks(path):
    for number, words, lines in blocks(path):
        where = f"{path}:{number}"
        if words is None:
            yield f"{where}: an indented block: commands and data stand in fences: {lines[0]}"
        elif not words:
            yield f"{where}: a fence that says not what is in it, or doesn't end"
        elif words[0] == "sh" and (len(words) != 2 or words[1] not in RUNNERS):
            yield f"{where}: nobody runs this block: behind sh stands one of {', '.join(RUNNERS)}"
        elif words[0] != "sh" and words[0] not in DATA:
            yield f"{where}: '{words[0]}': a block is of sh, or of data ({', '.join(DATA)})"
        elif words[0] == "sh":
            for line in lines:
                if not line.strip() or line.lstrip().startswith("#") or line.endswith("\\"):
                    yield f"{where}: a command is a line: {line!r}"


# ---- runners of the documents' commands ----

def code_of_tests(top):
    for pattern in TESTS:
        for path in sorted(glob.glob(os.path.join(top, pattern))):
            if "/docs/" not in path:
                with open(path, encoding="utf-8") as f:
                    yield "".join(line for line in f if not line.lstrip().startswith("#"))


def is_run(command, code):
    """Returns whether the text has the command as a whole, and not as the beginning of a longer command."""
    return any(re.search(r"(?:^|[\s;&|({])" + re.escape(command) + r"(?=\s*(?:[;&|)}<>']|\d>|$))", text, re.MULTILINE) for text in code)


# ---- commands within sentences ----

def helps(program, verb, programs):
    """Returns the text of --help: of the program, or for nmctl of the verb."""
    if program in programs:
        asked = [programs[program], *([verb] if program == "nmctl" and verb else []), "--help"]
        return subprocess.run(asked, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=20, check=False)
    return None


def complaint_of_words(words, programs):
    program, verb = words[0], words[1] if len(words) > 1 and not words[1].startswith("-") else ""
    answer = helps(program, verb, programs)
    if not answer:
        return "there is no such program to ask"
    if answer.returncode not in (0, 2 if program == "packaging/build-deb" else 0):
        return f"'{program} {verb}' has no help"
    # -it means -i and -t
    for word in (part for w in words[1:] for part in ([f"-{c}" for c in w[1:]] if re.fullmatch("-[a-z]{2,3}", w) else [w])):
        option = word.split("=")[0]
        if word.startswith("-") and not re.search(rf"(?<![\w-]){re.escape(option)}(?![\w-])", answer.stdout):
            return f"the help of '{program} {verb}'".rstrip() + f" has no {option}"
    return ""


def complaints_of_sentences(path, known, programs):
    with open(path, encoding="utf-8") as f:
        whole = f.read()
    prose = re.sub(r"^ *```.*?^ *```$", lambda m: "\n" * m[0].count("\n"), whole, flags=re.MULTILINE | re.DOTALL)
    for span in re.finditer(r"`([^`]+)`", prose):
        words = span[1].split()
        where = f"{path}:{prose.count(chr(10), 0, span.start()) + 1}"
        if len(words) < 2 or " ".join(words) in known:
            continue
        if words[0] in FOREIGN:
            yield f"{where}: no block has `{' '.join(words)}`"
        elif words[0] in OWN and (why := complaint_of_words(words, programs)):
            yield f"{where}: `{' '.join(words)}`: {why}"


def check(top, paths):
    programs = dict(pair.split("=", 1) for pair in os.environ.get("NMD_DOCS_PROGRAMS", "").split())
    known = {c["command"] for path in paths for c in commands(path)}
    code = list(code_of_tests(top))
    for path in paths:
        yield from complaints_of_blocks(path)
        for c in commands(path):
            if c["runner"] == "tree" and not is_run(c["command"], code):
                yield f"{path}:{c['line']}: no test has this command: {c['command']}"
        yield from complaints_of_sentences(path, known, programs)


def main():
    if sys.argv[1:2] == ["--check"]:
        for complaint in check(sys.argv[2], sys.argv[3:]):
            print(complaint)
    else:
        for path in sys.argv[1:]:
            for command in commands(path):
                print(json.dumps(command))


if __name__ == "__main__":
    main()
