#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""tilelang_projects.py: kernels of projects that a user has checked out, lowered by the TileLang that is installed: verdict, bytes of
shared memory of TileLang and ours, and seconds of the processor. The list says which kernels, and nothing of the projects is
imported but their functions and the constants they use. No GPU is needed.

    PYTHONPATH=build/release/python python3 bench/tilelang_projects.py LIST.json [--root FOLDER] [--only WORD] [--chip sm_90] [--json ROWS.json] [--trees FOLDER]
    PYTHONPATH=build/release/python python3 bench/tilelang_projects.py --table ROWS.json

bench/tilelang_projects.json is the list of docs/results/tilelang-projects.csv, which --table prints. A list has objects:

    project     the folder of the checkout, in --root; its last part is the name in the table
    commit      of the checkout, for the table
    file        of the kernel, in that folder
    kernel      the function: a prim_func, a function of tilelang.jit, or one that gives such a function
    arguments   {"N": 4096, "dtype": "T.float16"}, of the function and of what it gives
    sizes       {"M": 4096}, dynamic sizes; optional
    name        which device function, where there are several; without one all of them; optional
    names       {"is_hip": "lambda: False"}: Python for what the file has from files that cannot be read here; optional
    chips       ["sm_80", "sm_90", "sm_100"]; optional
"""

import collections
import csv
import json
import os
import sys
import time
from pathlib import Path

from projects import Project, chosen, keep, named, parser
from spad.tilelang import _tree as tree

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tools"))

from tilelang_examples import on_cpu, row_of, told  # noqa: E402

PLAIN = ("tilelang", "torch", "tvm", "math", "functools", "typing", "itertools", "enum", "operator", "dataclasses", "collections", "os")
CHIPS = ("sm_80", "sm_90", "sm_100")
Row = collections.namedtuple("Row", "project commit file kernel chip agents verdict theirs ours approximations lowered checked planned findings note")


def project_at(root, names):
    import tilelang
    import tilelang.language as language

    known = {"tilelang": tilelang, "T": language}
    known.update((name, eval(text, {**known, "__builtins__": __builtins__})) for name, text in names.items())
    return Project(root, PLAIN, known)


def lowered(case, chip):
    """The trees of a kernel. Its file is read for each chip: some decide by the GPU that they see."""
    import tilelang.language as language
    import torch

    os.environ["TILELANG_DEFAULT_TARGET"] = json.dumps({"kind": "cuda", "arch": chip})
    on_cpu(torch, chip)
    function = project_at(Path(case["project"]), case.get("names", {})).function(case["file"], case["kernel"])
    found = tree.of_prim_func(function, chip, None, named(case.get("arguments", {}), "T.", language))
    return [one for one in found if case.get("name") in (None, one["name"])]


def kept(case, chip, folder):
    """The trees of a kernel, from a file of the folder, which is written where it is not there."""
    if folder is None:
        return lowered(case, chip)
    path = folder / f"{Path(case['project']).name}.{Path(case['file']).stem}.{case['kernel']}.{chip}.json"
    if not path.is_file():
        trees = lowered(case, chip)
        path.write_text(json.dumps(trees), encoding="utf-8")
    return json.loads(path.read_text(encoding="utf-8"))


def judge(case, chip, folder):
    """The rows of one kernel of the list: one for each device function that has something in shared memory."""
    head = (Path(case["project"]).name, case.get("commit", ""), Path(case["file"]).stem)
    start = time.process_time()
    try:
        trees = kept(case, chip, folder)
    except Exception as error:
        yield Row(*head, case["kernel"], chip, None, "not lowered", None, None, None, 0.0, 0.0, 0.0, [], told(error))
        return
    spent = time.process_time() - start
    for one in trees:
        title = case["kernel"] + (f": {one['name']}" if len(trees) > 1 else "")
        found, why = row_of(one, case.get("sizes"))
        if found is None:
            yield Row(*head, title, chip, None, "not read", None, None, None, spent, 0.0, 0.0, [], why)
            continue
        agents, verdict, theirs, ours, inexact, checked, planned, errors, warnings, reason = found
        yield Row(*head, title, chip, agents, verdict, theirs, ours, inexact, spent, checked, planned, errors + warnings, reason or "")


def counted(rows):
    """`12 proved for all trip counts, 3 wrong` of rows."""
    found = collections.Counter(row["verdict"] + (", with approximations" if row["approximations"] else "") for row in rows)
    return ", ".join(f"{count} {verdict}" for verdict, count in sorted(found.items()))


def shown(row):
    """The columns of a row that chips may have in common."""
    note = row["note"] if row["theirs"] is None else ""
    return row["verdict"], row["theirs"], row["ours"], row["approximations"] or 0, " ".join(row["findings"]), note


def table(path):
    """Prints the rows of a file of --json as CSV: a line for each kernel, and one more for each chip with another outcome. Counts and sums go
    to stderr."""
    rows = [row for row in json.loads(path.read_text(encoding="utf-8")) if row["theirs"] != 0]
    groups = collections.defaultdict(list)
    for row in rows:
        groups[row["project"], row["commit"], row["file"], row["kernel"], shown(row)].append(row)
    out = csv.writer(sys.stdout, lineterminator="\n")
    out.writerow("project commit kernel chips verdict tilelang_bytes spad_bytes approximations check_s plan_s findings note".split())
    for (project, commit, file, kernel, (verdict, theirs, ours, inexact, findings, note)), group in groups.items():
        seconds = [f"{max(row[name] for row in group):.1f}" for name in ("checked", "planned")]
        out.writerow([project, commit, f"{file}: {kernel}", " ".join(row["chip"] for row in group), verdict, theirs, ours, inexact, *seconds,
                      findings, note])
    for chip in CHIPS:
        print(f"{chip}: {counted([row for row in rows if row['chip'] == chip])}", file=sys.stderr)
    both = [row for row in rows if row["theirs"] is not None and row["ours"] is not None]
    print(f"bytes where both place: TileLang {sum(row['theirs'] for row in both)}, spad {sum(row['ours'] for row in both)}; spad more in "
          f"{sum(row['ours'] > row['theirs'] for row in both)} of {len(both)}, less in {sum(row['ours'] < row['theirs'] for row in both)}",
          file=sys.stderr)


def rows(options):
    for case in chosen(options.list, options):
        for chip in case.get("chips", CHIPS):
            if options.chip in (None, chip):
                yield from judge(case, chip, options.trees)


def main():
    made = parser(__doc__)
    made.add_argument("list", type=Path, help="the list, or with --table the rows")
    made.add_argument("--chip", choices=CHIPS, help="this chip alone")
    made.add_argument("--trees", type=Path, help="a folder that keeps what was lowered: a kernel is lowered once")
    made.add_argument("--table", action="store_true", help="the table of rows that --json wrote")
    options = made.parse_args()
    if options.table:
        table(options.list)
        return
    if options.trees is not None:
        options.trees.mkdir(parents=True, exist_ok=True)
    keep(rows(options), options.json)


if __name__ == "__main__":
    main()
