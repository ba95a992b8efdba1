# SPDX-License-Identifier: Apache-2.0
"""Executes a notebook without Jupyter: code cells in their order, in one namespace. What a cell writes to stdout and the value
of its last expression become outputs, as Jupyter has them. As a program: `notebook.py FILE` writes the outputs into the file."""

import ast
import contextlib
import io
import json
import re
import sys


def value_output(value, count):
    """The value of a cell: its repr, and its picture where it has one. Addresses in a repr are left out."""
    data = {"text/plain": lines(re.sub(r" at 0x[0-9a-f]+", "", repr(value)))}
    for name, kind in (("_repr_svg_", "image/svg+xml"), ("_repr_html_", "text/html")):
        shown = getattr(value, name, lambda: None)()
        if shown is not None:
            data[kind] = lines(shown)
    return {"output_type": "execute_result", "execution_count": count, "metadata": {}, "data": data}


def lines(text):
    """Text as the format stores it: a list of lines with their ends."""
    return text.splitlines(keepends=True)


def run_cell(source, names, count, path):
    """The outputs of one code cell."""
    tree = ast.parse(source, "%s[%d]" % (path, count))
    last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
    written, value = io.StringIO(), None
    with contextlib.redirect_stdout(written):
        exec(compile(tree, "%s[%d]" % (path, count), "exec"), names)
        if last is not None:
            value = eval(compile(ast.Expression(last.value), "%s[%d]" % (path, count), "eval"), names)
    outputs = []
    if written.getvalue():
        outputs.append({"output_type": "stream", "name": "stdout", "text": lines(written.getvalue())})
    if value is not None:
        outputs.append(value_output(value, count))
    return outputs


def run(path):
    """The notebook, and for each code cell (cell, outputs that came now)."""
    with open(path, encoding="utf-8") as file:
        book = json.load(file)
    names, found = {"__name__": "__main__"}, []
    for cell in book["cells"]:
        if cell["cell_type"] == "code":
            found.append((cell, run_cell("".join(cell["source"]), names, len(found) + 1, path)))
    return book, found


def main():
    for path in sys.argv[1:]:
        book, found = run(path)
        for count, (cell, outputs) in enumerate(found, 1):
            cell["outputs"], cell["execution_count"] = outputs, count
        with open(path, "w", encoding="utf-8") as file:
            file.write(json.dumps(book, indent=1, ensure_ascii=False) + "\n")


if __name__ == "__main__":
    main()
