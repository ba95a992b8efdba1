# SPDX-License-Identifier: Apache-2.0
"""The page of a sweep: _sweep_page.html with the rows in it."""

import json
import os

from . import _spad

_HERE = "/*DATA*/"


def page(table):
    """One HTML file, which needs nothing else."""
    path = os.path.join(os.path.dirname(os.path.abspath(__file__)), "_sweep_page.html")
    with open(path, encoding="utf-8") as file:
        before, _, after = file.read().partition(_HERE)
    columns = table.columns
    data = {"title": table.title, "version": _spad.version, "total": table.total, "space": table.space,
            "columns": columns, "parameters": table._parameters(),
            "rows": [[row[name] for name in columns] for row in table.rows]}
    text = json.dumps(data, separators=(",", ":")).replace("<", "\\u003c")
    return before + text + after
