#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Mutation study of our own C code: does a test fail when one place of the library is changed?

    tools/mutate_c.py --generated build/dev --count 200 --seed 1 src/order src/prove src/layout

Each mutant changes one random place: a relational operator, a constant, a sum, && and ||, true and false, a negated
condition, a deleted statement, two swapped arguments. The file is compiled alone, with assertions and without
sanitizers, and linked into a shared library that tests and command load. A mutant is killed by the first test that
fails, crashes or takes ten times as long. The same seed gives the same mutants.

--tests: stems of tests/unit with wildcards, NAME:ARGUMENTS for tests/property, cli:PATTERN for golden cases. A mutant
that compiles to the same code is equivalent, and counted apart. A survivor is explained, or gets a test.
--generated: a CMake build folder with page.c and cli/cuda.c.
"""

import argparse
import collections
import concurrent.futures
import itertools
import os
import pathlib
import queue
import random
import re
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
CC = os.environ.get("CC", "gcc").split()
FLAGS = ["-std=gnu17", "-O1", "-g0", "-fPIC", "-Werror=int-conversion", "-Werror=incompatible-pointer-types",
         "-DSPAD_EXPERIMENTAL", f'-DSPAD_SOURCE_DIR="{ROOT}"', '-DSPAD_CUDART_INSTALLED="."',
         *(f"-I{ROOT / folder}" for folder in ("include", "src", "tests", "cli"))]
LIBRARIES = ["-ldl", "-lpthread", "-lm"]
TESTS = ["check_*", "executor", "layout*", "order_*", "sync", "tensor_order", "kernel_control", "analysis", "sim_grid",
         "launch", "report_facts", "report_light", "check_brute:300", "layout_agents:2000",
         "layout_barriers:1000", "cli:check_[bcfjv]*", "cli:plan_kernel*"]
WITHOUT = {"check_time", "check_extremes", "cli.check_clc"}  # linked in another way, or long
BLANK = re.compile(r'/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'|^[ \t]*#(?:\\\n|[^\n])*'
                   r"|\b(?:static_assert|spad__assert\w*)\([^;]*;", re.S | re.M)
SWAPS = {" < ": " <= ", " <= ": " < ", " > ": " >= ", " >= ": " > ", " == ": " != ", " != ": " == ", " && ": " || ",
         " || ": " && ", " + 1": "", " - 1": "", " + ": " - ", " - ": " + ", "true": "false", "false": "true",
         "++": "--", " += ": " -= ", "continue;": "break;", "break;": "continue;"}
OPERATORS = re.compile("|".join(rf"\b{key}\b" if key.isalpha() else re.escape(key) + r"\b" * key.endswith("1")
                                for key in SWAPS))
CONSTANT = re.compile(r"(?<=[\s(\[{])(\d+)(?=[;,)\s\]}])")
CONDITION = re.compile(r"\b(?:if|while) (\()")
STATEMENT = re.compile(r"(?<=[;{})\n])\s+"
                       r"((?!(?:return|goto|case|typedef|const|static|enum|struct|break|continue)\b)"
                       r"[a-z_*(][\w.\->\[\]()*+& ]*(?:\([^;{}]*\)|(?: [-+*/|&^%]?= |<<=)[^;{}]*|\+\+|--);)")
DECLARATION = re.compile(r"[a-z_]\w*(?: \*?| \*const )[a-z_]\w*(?:\[.*\])? =")
CALL = re.compile(r"\w\(([\w.\->&\[\]]+), ([\w.\->&\[\]]+)(?=[,)])")


def closing(text, start):
    """The end of the parenthesis that opens at start."""
    depth = 0
    for i in range(start, len(text)):
        depth += {"(": 1, ")": -1}.get(text[i], 0)
        if depth == 0:
            return i + 1
    return start


def sites_of(text):
    """Every change of a text: (begin, end, replacement). Comments, strings, assertions and directives stay."""
    code = BLANK.sub(lambda m: re.sub(r"[^\n]", " ", m.group()), text)
    for m in OPERATORS.finditer(code):
        yield m.start(), m.end(), SWAPS[m.group()]
    for m in CONSTANT.finditer(code):
        number = int(m.group())
        for other in {number + 1, 0 if number == 1 else number - 1} - {-1}:
            yield m.start(), m.end(), str(other)
    for m in CONDITION.finditer(code):
        end = closing(code, m.start(1))
        yield m.start(1), end, f"(!{text[m.start(1):end]})"
    for m in STATEMENT.finditer(code):
        if not DECLARATION.match(m.group(1)):
            yield m.start(1), m.end(1), ";"
    for m in CALL.finditer(code):
        if m.group(1) != m.group(2):
            yield m.start(1), m.end(2), f"{m.group(2)}, {m.group(1)}"


def changed(path, site):
    """The text of a mutant, with the name and the lines of its file."""
    text = path.read_text()
    return f'#line 1 "{path}"\n{text[: site[0]]}{site[2]}{text[site[1] :]}'


def compiles(mutant):
    return subprocess.run([*CC, *FLAGS, "-fsyntax-only", "-x", "c", "-"], input=changed(*mutant), text=True,
                          stderr=subprocess.DEVNULL, check=False).returncode == 0


def must(command):
    if subprocess.run(command, check=False).returncode:
        sys.exit("failed: " + " ".join(map(str, command)))


def passes(command, library, seconds=600):
    """True if a test passes with the library in a folder."""
    try:
        return subprocess.run(command, timeout=seconds, env=os.environ | {"LD_LIBRARY_PATH": str(library)}, check=False,
                              **dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.DEVNULL)).returncode == 0
    except subprocess.TimeoutExpired:
        return False


def code_of(item):
    """Code, data and relocations of an object file."""
    return subprocess.run(["objdump", "-s", "-r", item], capture_output=True, check=True).stdout.split(b"\n", 3)[3]


class Study:
    """The library and the tests as they are; judges one mutant at a time in each of `jobs` folders."""

    def __init__(self, options):
        self.work = pathlib.Path(options.work).resolve()
        self.pool = concurrent.futures.ThreadPoolExecutor(options.jobs)
        self.slots = queue.Queue()
        for folder in (self.work / f"slot{i}" for i in range(options.jobs)):
            folder.mkdir(parents=True, exist_ok=True)
            self.slots.put(folder)
        generated = pathlib.Path(options.generated).resolve()
        sources = [p for p in sorted((ROOT / "src").rglob("*.c")) if "cudart" not in p.parts] + [generated / "page.c"]
        self.objects = dict(zip(sources, self.pool.map(self.compile, sources)))
        self.link(self.work / "libmutant.so", self.objects)
        self.kills = collections.Counter()  # (folder, test): mutants
        self.tests = {}  # name: command
        self.make_tests(options.tests, [*sorted((ROOT / "cli").glob("*.c")), generated / "cli/cuda.c"])
        self.seconds = dict(zip(self.tests, self.pool.map(self.measure, list(self.tests))))

    def compile(self, source):
        target = self.work / (str(source).replace("/", "_") + ".o")
        if not target.exists() or target.stat().st_mtime < source.stat().st_mtime:
            must([*CC, *FLAGS, "-c", source, "-o", target])
        return target

    def link(self, target, objects):
        must([*CC, "-shared", *objects.values(), "-o", target, *LIBRARIES])

    def program(self, target, sources):
        must([*CC, *map(self.compile, sources), "-o", target, f"-L{self.work}", "-lmutant", "-lcmocka", *LIBRARIES])

    def make_tests(self, patterns, cli):
        support = sorted((ROOT / "tests/support").glob("*.c"))
        list(self.pool.map(self.compile, [*support, *cli]))
        programs = {self.work / "spad": cli}
        for pattern in patterns:
            stem, _, arguments = pattern.partition(":")
            if stem == "cli":
                for case in sorted((ROOT / "tests/cli").glob(arguments + ".cmd")):
                    self.tests[f"cli.{case.stem}"] = [ROOT / "tests/cli/run_case.sh", self.work / "spad",
                                                      case.with_suffix("")]
                continue
            for source in sorted((ROOT / "tests" / ("property" if arguments else "unit")).glob(f"test_{stem}.c")):
                if source.stem[5:] not in WITHOUT:
                    programs[self.work / source.stem] = [source, *support]
                    self.tests[source.stem[5:]] = [self.work / source.stem, *filter(None, arguments.split(","))]
        for name in WITHOUT & set(self.tests):
            del self.tests[name]
        list(self.pool.map(lambda item: self.program(*item), programs.items()))

    def measure(self, name):
        """Seconds of a test on the unchanged library; one that fails there is left out."""
        begin = time.monotonic()
        if not passes(self.tests[name], self.work):
            print(f"left out: {name} fails without a mutant", flush=True)
            del self.tests[name]
        return time.monotonic() - begin

    def judge(self, path, site):
        """(outcome, test) of one mutant."""
        folder = self.slots.get()
        source, item = folder / "mutant.c", folder / "mutant.o"
        try:
            source.write_text(changed(path, site))
            must([*CC, *FLAGS, "-c", source, "-o", item])
            if code_of(item) == code_of(self.objects[path]):
                return "same code", ""
            self.link(folder / "libmutant.so", self.objects | {path: item})
            for name in sorted(self.tests, key=lambda t: -(self.kills[path.parent, t] + 0.2) / (self.seconds[t] + 0.1)):
                if not passes(self.tests[name], folder, 10 * self.seconds[name] + 10):
                    self.kills[path.parent, name] += 1
                    return "killed", name
            return "survived", ""
        finally:
            self.slots.put(folder)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("paths", nargs="+", type=pathlib.Path, help="files or folders")
    for name, default in (("count", 200), ("seed", 1), ("jobs", 2)):
        parser.add_argument(f"--{name}", type=int, default=default)
    parser.add_argument("--generated", default="build/dev", help="a CMake build folder")
    parser.add_argument("--work", default="build/mutants", help="folder for objects and programs")
    parser.add_argument("--tests", nargs="+", default=TESTS)
    parser.add_argument("--only", help="repeats mutants by their numbers, as 3,17")
    options = parser.parse_args()
    files = [f.resolve() for p in options.paths for f in (sorted(p.rglob("*.c")) if p.is_dir() else [p])]
    sites = [(f, site) for f in files for site in sorted(set(sites_of(f.read_text())))]
    random.Random(options.seed).shuffle(sites)
    chosen = list(enumerate(itertools.islice(filter(compiles, sites), options.count), 1))
    if options.only:
        chosen = [chosen[int(i) - 1] for i in options.only.split(",")]
    study = Study(options)
    print(f"{len(sites)} places, {len(chosen)} mutants, {len(study.tests)} tests", flush=True)
    totals = collections.Counter()

    def work(item):
        number, (path, site) = item
        outcome, test = study.judge(path, site)
        totals[path.parent.name, outcome] += 1
        text = path.read_text()
        place = f"{path.relative_to(ROOT)}:{text.count(chr(10), 0, site[0]) + 1}"
        before = " ".join(text[site[0] : site[1]].split())
        print(f"{number:4} {outcome:9} {test:24} {place}: {before} => {' '.join(site[2].split())}", flush=True)

    list(study.pool.map(work, chosen))
    for (module, outcome), count in sorted(totals.items()):
        print(f"{module:12} {outcome:9} {count}")


if __name__ == "__main__":
    main()
