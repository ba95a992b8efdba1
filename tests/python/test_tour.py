# SPDX-License-Identifier: Apache-2.0
"""docs/tour.ipynb: it is a notebook of format 4.5, and its cells give the outputs that it shows. After a change of what spad
prints, `python3 tests/python/notebook.py docs/tour.ipynb` in the root of the repository writes them again."""

import json
import re

import pytest

import notebook

# Keys of a cell and of an output in the format, each with whether it must be there.
CELL = {"markdown": {"cell_type", "id", "metadata", "source"},
        "code": {"cell_type", "id", "metadata", "source", "outputs", "execution_count"}}
OUTPUT = {"stream": {"output_type", "name", "text"}, "execute_result": {"output_type", "execution_count", "metadata", "data"}}


def load(root):
    return json.loads((root / "docs" / "tour.ipynb").read_text(encoding="utf-8"))


def is_text(value):
    return isinstance(value, list) and all(isinstance(line, str) for line in value) and \
        all(line.endswith("\n") for line in value[:-1])


def test_format(root):
    book = load(root)
    assert (book["nbformat"], book["nbformat_minor"]) == (4, 5) and set(book) == {"cells", "metadata", "nbformat", "nbformat_minor"}
    ids = [cell["id"] for cell in book["cells"]]
    assert len(set(ids)) == len(ids) and all(re.fullmatch(r"[a-zA-Z0-9_-]{1,64}", name) for name in ids)
    code = [cell for cell in book["cells"] if cell["cell_type"] == "code"]
    assert 10 <= len(code) <= 15
    for cell in book["cells"]:
        assert set(cell) == CELL[cell["cell_type"]] and is_text(cell["source"]) and cell["metadata"] == {}
    for count, cell in enumerate(code, 1):
        assert cell["execution_count"] == count
        for output in cell["outputs"]:
            assert set(output) == OUTPUT[output["output_type"]]
            assert all(is_text(text) for text in output.get("data", {"text": output.get("text")}).values())


def test_schema(root):
    """The format's own judgement, where its package is installed."""
    nbformat = pytest.importorskip("nbformat")
    nbformat.validate(nbformat.read(root / "docs" / "tour.ipynb", as_version=4))


def test_outputs(root, monkeypatch):
    monkeypatch.chdir(root)  # it names files of the repository
    _, found = notebook.run("docs/tour.ipynb")
    for cell, outputs in found:
        assert cell["outputs"] == outputs, cell["id"]
        assert outputs, "the cell %s shows nothing" % cell["id"]


def test_runner(tmp_path):
    """A value, a picture, what is printed, and a cell that fails."""
    class Drawn:
        def _repr_svg_(self):
            return "<svg>\n</svg>"

    cells = [["x = 2\n", "print('a')\n", "x + 1"], ["x;"], ["y = x"], ["1 / 0"]]
    book = {"cells": [{"cell_type": "markdown", "source": ["1 / 0"]}] + [{"cell_type": "code", "source": s} for s in cells[:3]]}
    path = tmp_path / "a.ipynb"
    path.write_text(json.dumps(book), encoding="utf-8")
    _, found = notebook.run(str(path))
    assert [[o["output_type"] for o in outputs] for _, outputs in found] == [["stream", "execute_result"], ["execute_result"], []]
    assert found[0][1][0]["text"] == ["a\n"] and found[0][1][1]["data"] == {"text/plain": ["3"]}
    assert notebook.value_output(Drawn(), 1)["data"]["image/svg+xml"] == ["<svg>\n", "</svg>"]
    book["cells"].append({"cell_type": "code", "source": cells[3]})
    path.write_text(json.dumps(book), encoding="utf-8")
    with pytest.raises(ZeroDivisionError):
        notebook.run(str(path))
