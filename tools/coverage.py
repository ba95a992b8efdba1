#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The table of ./coverage: tools/coverage.py BUILD [PATH...]

Reads the counters below BUILD with gcov and prints lines and branches per room; below each PATH
it also lists the lines that were not run and the branches that were not taken.

A line counts once per source file, however many programs compiled it (an inline function of a
header is compiled many times): its count is the sum. A branch is one outcome of one conditional
jump, as gcov -b counts them at -O0; branches that the compiler makes for exceptions are left out.
Assertions are not there at all: the preset defines NDEBUG, and functions called ..._is_valid or
..._are_valid, which only assertions and tests call, are left out; their other side is never taken.
Files that no program ran count as not covered, since the notes of the compiler (.gcno) are read,
not only the counters.
"""

import collections
import json
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
ROOMS = ("src", "include", "cli", "python")
ASSERTION = re.compile(r"_(is|are)_valid$")


def room_of(path):
    """src/plan/search/solve.c -> src/plan; other folders are one room each; None: not ours to count."""
    parts = path.parts
    if len(parts) < 2 or parts[0] not in ROOMS:
        return None
    return f"src/{parts[1]}" if parts[0] == "src" and len(parts) > 2 else parts[0]


def gcov_files(build):
    """Yields the per-file data of every object below build."""
    notes = sorted(str(p.resolve()) for p in build.rglob("*.gcno"))
    if not notes:
        sys.exit(f"{build}: no notes of the compiler; run ./coverage without --table first")
    for i in range(0, len(notes), 64):
        done = subprocess.run(
            ["gcov", "--json-format", "--stdout", "--branch-probabilities", *notes[i : i + 64]],
            stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=True)
        for text in done.stdout.splitlines():
            data = json.loads(text)
            base = pathlib.Path(data["current_working_directory"])
            for entry in data["files"]:
                yield (base / entry["file"]).resolve(), entry


class File:
    """Counts of one source file."""

    def __init__(self):
        self.lines = collections.Counter()
        self.branches = {}  # (line, function, number): count

    def add(self, entry):
        for line in entry["lines"]:
            number = line["line_number"]
            function = line.get("function_name", "")
            if ASSERTION.search(function):
                continue
            self.lines[number] += line["count"]
            taken = (b["count"] for b in line["branches"] if not b["throw"])
            for i, count in enumerate(taken):
                key = (number, function, i)
                self.branches[key] = self.branches.get(key, 0) + count

    def figures(self):
        taken = sum(count > 0 for count in self.branches.values())
        run = sum(count > 0 for count in self.lines.values())
        return run, len(self.lines), taken, len(self.branches)


def read(build):
    files = collections.defaultdict(File)
    for path, entry in gcov_files(build):
        if path.is_relative_to(ROOT) and not path.is_relative_to(build.resolve()):
            files[path.relative_to(ROOT)].add(entry)
    return {path: file for path, file in files.items() if room_of(path) is not None}


def percent(part, whole):
    # Rounded down, so that 100.0 means all of them.
    tenths = part * 1000 // whole if whole else 1000
    return f"{tenths // 10}.{tenths % 10}"


def row(name, figures):
    run, lines, taken, branches = figures
    print(f"{name:<14} {run:>7} of {lines:>6} {percent(run, lines):>7}"
          f" {taken:>9} of {branches:>6} {percent(taken, branches):>7}")


def table(files):
    rooms = collections.defaultdict(lambda: (0, 0, 0, 0))
    for path, file in files.items():
        room = room_of(path)
        rooms[room] = tuple(a + b for a, b in zip(rooms[room], file.figures()))
    print(f"{'room':<14} {'lines run':>17} {'%':>7} {'branches taken':>19} {'%':>7}")
    for room in sorted(rooms):
        row(room, rooms[room])
    library = [figures for room, figures in rooms.items() if room.startswith("src/")]
    row("src", tuple(map(sum, zip(*library))))


def ranges(numbers):
    """[3, 4, 5, 9] -> 3-5, 9"""
    runs = []
    for number in numbers:
        if runs and number == runs[-1][1] + 1:
            runs[-1][1] = number
        else:
            runs.append([number, number])
    return [str(a) if a == b else f"{a}-{b}" for a, b in runs]


def list_missing(path, file):
    source = (ROOT / path).read_text(encoding="utf-8").splitlines()
    unrun = sorted(n for n, count in file.lines.items() if count == 0)
    halves = collections.defaultdict(list)
    for (number, _, i), count in sorted(file.branches.items()):
        if file.lines[number] > 0:
            halves[number].append((i, count > 0))
    partial = {n: all_ for n, all_ in halves.items() if not all(taken for _, taken in all_)}
    if not unrun and not partial:
        return
    run, lines, taken, branches = file.figures()
    print(f"\n{path}: {lines - run} lines not run, {branches - taken} branches not taken")
    if unrun:
        print("  lines:", ", ".join(ranges(unrun)))
    for number in sorted(set(unrun) | set(partial)):
        missing = sum(not hit for _, hit in partial.get(number, []))
        mark = "not run" if number not in partial else f"{missing}/{len(partial[number])} not taken"
        print(f"  {number:>5} {mark:>15}  {source[number - 1].strip()}")


def main(arguments):
    if not arguments:
        sys.exit(__doc__)
    files = read(pathlib.Path(arguments[0]))
    table(files)
    for wanted in arguments[1:]:
        below = pathlib.Path(wanted.rstrip("/"))
        found = [path for path in sorted(files) if path == below or below in path.parents]
        if not found:
            sys.exit(f"{wanted}: no counted file there")
        for path in found:
            list_missing(path, files[path])


if __name__ == "__main__":
    main(sys.argv[1:])
