#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""triton_projects.py: kernels of projects that a user has checked out, compiled by the Triton that is installed:
verdict, bytes of shared memory of Triton and ours, and seconds of the processor. The list says which kernels, and nothing of
the projects is imported but their @triton.jit functions and the constants they use.

    PYTHONPATH=build/release/python python3 bench/triton_projects.py LIST.json [--only WORD] [--json ROWS.json]
    PYTHONPATH=build/release/python python3 bench/triton_projects.py --beside ROWS_36.json ROWS_39.json

LIST.json is a list of objects:

    project     the folder of the checkout; its last part is the name in the table
    commit      of the checkout, for the table
    file        of the kernel, in that folder
    kernel      the function
    signature   {"x_ptr": "*fp16:16", "n": "i32"}
    constexprs  {"BLOCK": 1024, "dtype": "tl.float16"}
    sizes       {"n": 4096}, for what cannot stay symbolic; optional
    options     {"num_warps": 4, "num_stages": 3}; optional
    chips       [80, 90, 100]; optional
"""

import argparse
import ast
import collections
import importlib
import json
import re
import sys
import time
import types
from pathlib import Path

import spad
import spad.triton as st

PLAIN = ("triton", "math", "functools", "typing", "itertools", "enum", "operator")
Row = collections.namedtuple("Row", "project commit kernel chip verdict theirs ours seconds note")


def is_jit(decorator):
    return re.match(r"(triton\.)?jit\b", ast.unparse(decorator)) is not None


class Project:
    """The @triton.jit functions of files, with the constants that stand beside them. Imports lead to other files of the
    project, and to Triton; statements that need something else are passed over."""

    def __init__(self, root):
        self.root, self.modules = root, {}

    def file_of(self, path, node):
        """The file that `from X import ...` names."""
        starts = [self.root, self.root / "src", self.root / "python"]
        if node.level:
            starts = [path.parents[node.level - 1]]
        parts = (node.module or "").split(".") if node.module else []
        for start in starts:
            for found in (start.joinpath(*parts).with_suffix(".py") if parts else None, start.joinpath(*parts, "__init__.py")):
                if found is not None and found.is_file():
                    return found
        return None

    def module(self, path, depth=0):
        if path in self.modules:
            return self.modules[path]
        module = types.ModuleType("project_" + re.sub(r"\W", "_", str(path)))
        module.__file__ = str(path)
        sys.modules[module.__name__] = self.modules[path] = module
        for node in ast.parse(path.read_text(encoding="utf-8")).body:
            self.statement(module, path, node, depth)
        return module

    def run(self, module, path, node):
        try:
            exec(compile(ast.Module([node], []), str(path), "exec"), module.__dict__)  # at its own line
        except Exception:  # it needs what is not here
            pass

    def statement(self, module, path, node, depth):
        if isinstance(node, ast.ImportFrom) and not node.level and (node.module or "").split(".")[0] in PLAIN:
            self.run(module, path, node)
        elif isinstance(node, ast.ImportFrom):
            self.names(module, path, node, depth)
        elif isinstance(node, ast.Import):
            node.names = [name for name in node.names if name.name.split(".")[0] in PLAIN]
            if node.names:
                self.run(module, path, node)
        elif isinstance(node, ast.FunctionDef) and any(map(is_jit, node.decorator_list)):
            line = node.decorator_list[0].lineno
            node.decorator_list = [ast.parse("\n" * (line - 1) + "__import__('triton').jit", mode="eval").body]
            self.run(module, path, node)
        elif isinstance(node, (ast.FunctionDef, ast.Assign, ast.AnnAssign)):
            self.run(module, path, node)
        elif isinstance(node, (ast.If, ast.Try)):
            for part in node.body:
                self.statement(module, path, part, depth)

    def names(self, module, path, node, depth):
        language = importlib.import_module("triton.language")
        known = {"triton": importlib.import_module("triton"), "tl": language, "language": language}
        for name in node.names:  # as projects hand Triton on
            if name.name in known:
                setattr(module, name.asname or name.name, known[name.name])
        for name in node.names:  # a file of the project as a whole
            below = ast.ImportFrom(".".join(filter(None, (node.module, name.name))), [], node.level)
            found = self.file_of(path, below) if depth < 6 else None
            if found is not None:
                setattr(module, name.asname or name.name, self.module(found, depth + 1))
        found = self.file_of(path, node) if depth < 6 else None
        if found is None:
            return
        other = self.module(found, depth + 1)
        for name in node.names:
            if name.name in other.__dict__ and name.name not in known:
                setattr(module, name.asname or name.name, other.__dict__[name.name])


def constants(given):
    language = importlib.import_module("triton.language")
    return {name: getattr(language, value[3:]) if isinstance(value, str) and value.startswith("tl.") else value
            for name, value in given.items()}


def judge(case, function, chip):
    root = Path(case["project"])
    head = (root.name, case.get("commit", ""), case["kernel"], chip)
    try:
        text = st.compile(function, case["signature"], constants(case["constexprs"]), chip, **case.get("options", {}))
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


def rows(cases, only):
    projects = {}
    for case in cases:
        root = Path(case["project"])
        if only not in f"{root.name} {case['kernel']}":
            continue
        module = projects.setdefault(root, Project(root)).module(root / case["file"])
        function = getattr(module, case["kernel"], None)
        if function is None:
            sys.exit(f"'{root / case['file']}' has no function '{case['kernel']}' that can be read")
        for chip in case.get("chips", (80, 90, 100)):
            yield judge(case, function, chip)


def short(verdict):
    return verdict.removeprefix("proved ")


def beside(*files):
    """The table of several versions: one line for a kernel and chip."""
    sets = [{(r["project"], r["commit"], r["kernel"], r["chip"]): r for r in json.loads(Path(file).read_text(encoding="utf-8"))}
            for file in files]
    print("| project | kernel | chip | " + " | ".join(Path(file).stem for file in files) + " | bytes of Triton | ours | seconds |")
    print("|" + "---|" * (6 + len(files)))
    for key in sets[0] | sets[-1]:
        found = [rows.get(key) for rows in sets]
        placed = [row for row in found if row is not None and row["theirs"] is not None]
        verdicts = " | ".join(short(row["verdict"]) if row else "" for row in found)
        print(f"| {key[0]} {key[1]} | `{key[2]}` | sm_{key[3]} | {verdicts} | "
              f"{', '.join(dict.fromkeys(str(row['theirs']) for row in placed))} | "
              f"{', '.join(dict.fromkeys(str(row['ours']) for row in placed))} | "
              f"{max((row['seconds'] for row in found if row), default=0):.2f} |")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("list", type=Path, nargs="+")
    parser.add_argument("--only", default="", help="kernels whose project and name have this word")
    parser.add_argument("--json", type=Path, help="the file for all rows")
    parser.add_argument("--beside", action="store_true", help="the files are those of --json, one for each version")
    options = parser.parse_args()
    if options.beside:
        beside(*options.list)
        return
    found = []
    for row in rows(json.loads(options.list[0].read_text(encoding="utf-8")), options.only):
        found.append(row._asdict())
        print(*row, sep=" | ", flush=True)
        if options.json:
            options.json.write_text(json.dumps(found, indent=1), encoding="utf-8")


if __name__ == "__main__":
    main()
