#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""triton_projects.py: kernels of projects that a user has checked out, compiled by the Triton that is installed:
verdict, bytes of shared memory of Triton and ours, and seconds of the processor. The list says which kernels, and nothing of
the projects is imported but their @triton.jit functions and the constants they use.

    PYTHONPATH=build/release/python python3 bench/triton_projects.py LIST.json [--root FOLDER] [--only WORD] [--json ROWS.json]
    PYTHONPATH=build/release/python python3 bench/triton_projects.py --beside ROWS_36.json ROWS_39.json [--chips 90 100]

bench/triton_projects.json is the list of the table in docs/results/triton.md. A list has objects:

    project     the folder of the checkout, in --root; its last part is the name in the table
    commit      of the checkout, for the table
    file        of the kernel, in that folder
    kernel      the function
    signature   {"x_ptr": "*fp16:16", "n": "i32"}
    constexprs  {"BLOCK": 1024, "dtype": "tl.float16"}
    sizes       {"n": 4096}, for what cannot stay symbolic; optional
    options     {"num_warps": 4, "num_stages": 3}; optional
    chips       [80, 90, 100]; optional
"""

import ast
import collections
import importlib
import json
import re
import sys
import time
from pathlib import Path

import spad
import spad.triton as st
from projects import Project, chosen, keep, named, parser

PLAIN = ("triton", "math", "functools", "typing", "itertools", "enum", "operator")
Row = collections.namedtuple("Row", "project commit kernel chip verdict theirs ours seconds note")


def is_jit(decorator):
    return re.match(r"(triton\.)?jit\b", ast.unparse(decorator)) is not None


def plain_jit(node):
    """Every decorator that makes a kernel of a function is Triton's own, without options."""
    if any(map(is_jit, node.decorator_list)):
        line = node.decorator_list[0].lineno
        node.decorator_list = [ast.parse("\n" * (line - 1) + "__import__('triton').jit", mode="eval").body]


def project_at(root):
    language = importlib.import_module("triton.language")
    return Project(root, PLAIN, {"triton": importlib.import_module("triton"), "tl": language, "language": language}, plain_jit)


def judge(case, function, chip):
    root = Path(case["project"])
    head = (root.name, case.get("commit", ""), case["kernel"], chip)
    constants = named(case["constexprs"], "tl.", importlib.import_module("triton.language"))
    try:
        text = st.compile(function, case["signature"], constants, chip, **case.get("options", {}))
    except Exception as error:
        return Row(*head, "Triton fails", None, None, 0.0, str(error).strip().split("\n")[-1][:120])
    start = time.process_time()
    try:
        kernel = st.load(text, sizes=case.get("sizes"))
        read = time.process_time()
        check = kernel.check()
    except spad.Error as error:
        return Row(*head, "not read", None, None, time.process_time() - start, str(error))
    size, verdict = kernel.bytes, check.verdict
    if verdict == "wrong":
        verdict += ": " + ", ".join(sorted({f.code for f in check.findings if f.severity == "error"}))
    note = "; ".join(kernel.info[key] for key in ("approximated", "skipped") if kernel.info[key])
    return Row(*head, verdict, size["triton"], size["spad"], time.process_time() - start, f"{read - start:.2f} s in load; {note}")


def rows(cases):
    projects = {}
    for case in cases:
        root = Path(case["project"])
        if root not in projects:
            projects[root] = project_at(root)
        try:
            function = projects[root].function(case["file"], case["kernel"])
        except LookupError as error:
            sys.exit(f"{root}: {error.args[0]}")
        for chip in case.get("chips", (80, 90, 100)):
            yield judge(case, function, chip)


def short(verdict):
    return verdict.removeprefix("proved ")


def beside(files, chips):
    """The table of several versions: one line for a kernel and chip, and below what each version comes to."""
    sets = [{(r["project"], r["commit"], r["kernel"], r["chip"]): r for r in json.loads(Path(file).read_text(encoding="utf-8"))}
            for file in files]
    print("| project | kernel | chip | " + " | ".join(Path(file).stem for file in files) + " | bytes of Triton | ours | seconds |")
    print("|" + "---|" * (6 + len(files)))
    for key in sorted((key for key in sets[0] | sets[-1] if key[3] in chips), key=lambda key: key[3]):
        found = [rows.get(key) for rows in sets]
        placed = [row for row in found if row is not None and row["theirs"] is not None]
        verdicts = " | ".join(short(row["verdict"]) if row else "" for row in found)
        print(f"| {key[0]} {key[1]} | `{key[2]}` | sm_{key[3]} | {verdicts} | "
              f"{', '.join(dict.fromkeys(str(row['theirs']) for row in placed))} | "
              f"{', '.join(dict.fromkeys(str(row['ours']) for row in placed))} | "
              f"{max((row['seconds'] for row in found if row), default=0):.2f} |")
    print()
    for file, rows_of in zip(files, sets):
        for chip in sorted({key[3] for key in rows_of}):
            print(f"{Path(file).stem}, sm_{chip}: {summary([row for key, row in rows_of.items() if key[3] == chip])}")


def summary(found):
    """How many of each verdict, and where ours takes more bytes than Triton."""
    counts = collections.Counter(row["verdict"] for row in found)
    placed = [row for row in found if row["theirs"] is not None]
    above = [row["kernel"] for row in placed if row["ours"] > row["theirs"]]
    return (", ".join(f"{count} {verdict}" for verdict, count in sorted(counts.items())) +
            f"; ours lower in {sum(row['ours'] < row['theirs'] for row in placed)}, above in {len(above)} {' '.join(above)}".rstrip())


def main():
    made = parser(__doc__)
    made.add_argument("list", type=Path, nargs="+")
    made.add_argument("--chips", type=int, nargs="+", default=(80, 90, 100), help="the chips of the table")
    made.add_argument("--beside", action="store_true", help="the files are those of --json, one for each version")
    options = made.parse_args()
    if options.beside:
        beside(options.list, options.chips)
    else:
        keep(rows(chosen(options.list[0], options)), options.json)


if __name__ == "__main__":
    main()
