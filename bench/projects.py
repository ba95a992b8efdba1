# SPDX-License-Identifier: Apache-2.0
"""What triton_projects.py and tilelang_projects.py share: the functions of projects that a user has checked out, without the packages
that the projects need, and the rows of a table."""

import argparse
import ast
import json
import re
import sys
import types
from pathlib import Path


class Project:
    """The functions of files, with the constants and classes that stand beside them. Imports lead to other files of the project, and to the
    packages in `plain`; statements that need something else are passed over. known: {name: object} that every file has from the start,
    whatever file it imports them from. decorated: changes the node of a function before it is run."""

    def __init__(self, root, plain, known, decorated=lambda node: None):
        self.root, self.plain, self.known, self.decorated = root, plain, known, decorated
        self.modules, self.passed = {}, {}  # passed: what was passed over of a file, [(line, why), ...]

    def function(self, file, name):
        """A function of a file."""
        found = getattr(self.module(self.root / file), name, None)
        if found is None:
            passed = "; ".join(f"line {line}: {why}" for line, why in self.passed.get(self.root / file, ()))
            raise LookupError(f"'{file}' has no function '{name}' that can be read; passed over: {passed or 'nothing'}")
        return found

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
        module.__dict__.update(self.known)
        sys.modules[module.__name__] = self.modules[path] = module
        for node in ast.parse(path.read_text(encoding="utf-8")).body:
            self.statement(module, path, node, depth)
        return module

    def run(self, module, path, node):
        try:
            exec(compile(ast.Module([node], []), str(path), "exec", dont_inherit=True), module.__dict__)  # at its own line
        except Exception as error:  # it needs what is not here
            self.passed.setdefault(path, []).append((node.lineno, f"{type(error).__name__}: {error}"))

    def statement(self, module, path, node, depth):
        if isinstance(node, ast.ImportFrom) and not node.level and (node.module or "").split(".")[0] in self.plain:
            self.run(module, path, node)
        elif isinstance(node, ast.ImportFrom):
            self.names(module, path, node, depth)
        elif isinstance(node, ast.Import):
            node.names = [name for name in node.names if name.name.split(".")[0] in self.plain]
            if node.names:
                self.run(module, path, node)
        elif isinstance(node, ast.FunctionDef):
            self.decorated(node)
            self.run(module, path, node)
        elif isinstance(node, (ast.ClassDef, ast.Assign, ast.AnnAssign)):
            self.run(module, path, node)
        elif isinstance(node, (ast.If, ast.Try)):
            for part in node.body:
                self.statement(module, path, part, depth)

    def names(self, module, path, node, depth):
        for name in node.names:
            if name.name in self.known:
                setattr(module, name.asname or name.name, self.known[name.name])
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
            if name.name in other.__dict__ and name.name not in self.known:
                setattr(module, name.asname or name.name, other.__dict__[name.name])


def named(given, prefix, language):
    """Arguments of a list, with the types of a language that they name: "tl.float16" with the prefix "tl."."""
    return {name: getattr(language, value.removeprefix(prefix)) if isinstance(value, str) and value.startswith(prefix) else value
            for name, value in given.items()}


def parser(about):
    """The options that the tables of all compilers have."""
    made = argparse.ArgumentParser(description=about.splitlines()[0])
    made.add_argument("--root", type=Path, default=Path(), help="the folder of the checkouts")
    made.add_argument("--only", default="", help="kernels whose project and name have this word")
    made.add_argument("--json", type=Path, help="the file for all rows")
    return made


def chosen(path, options):
    """The kernels of a list whose project and name have a word; options: those of parser()."""
    cases = json.loads(path.read_text(encoding="utf-8"))
    return [{**case, "project": str(options.root / case["project"])} for case in cases
            if options.only in f"{Path(case['project']).name} {case['kernel']}"]


def keep(rows, path):
    """Prints rows as they come; path: a file that has all of them so far, or None."""
    found = []
    for row in rows:
        found.append(row._asdict())
        print(*row, sep=" | ", flush=True)
        if path is not None:
            path.write_text(json.dumps(found, indent=1), encoding="utf-8")
