# SPDX-License-Identifier: Apache-2.0
"""The page of a sweep: page.html with the rows in it."""

import json
import os

from .. import _spad
from .._page_policy import policy

_HERE, _POLICY = "/*DATA*/", "/*POLICY*/"


def page(table):
    """One HTML file, which needs nothing else."""
    path = os.path.join(os.path.dirname(os.path.abspath(__file__)), "page.html")
    with open(path, encoding="utf-8") as file:
        template = file.read()
    before, _, after = template.replace(_POLICY, policy(template), 1).partition(_HERE)
    columns = table.columns
    data = {"title": table.title, "version": _spad.version, "total": table.total, "space": table.space,
            "columns": columns, "parameters": table._parameters(),
            "rows": [[row[name] for name in columns] for row in table.rows]}
    text = json.dumps(data, separators=(",", ":")).replace("<", "\\u003c")
    return before + text + after
