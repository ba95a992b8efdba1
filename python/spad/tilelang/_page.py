# SPDX-License-Identifier: Apache-2.0
"""One page about a kernel that TileLang lowered: its layout and ours, and what the check says of each."""

from __future__ import annotations

import html
import json
import os
import re
from typing import TYPE_CHECKING

from .. import _spad
from .. import core
from .._files import replace_file
from .._page_policy import policy

if TYPE_CHECKING:
    from os import PathLike
    from typing import Any
    from .._spad import _Facts
    from ..core import Check, Layout
    from ._load import LoadedKernel


_STYLE = ("body{font:14px/1.4 sans-serif;margin:1em;overflow-wrap:anywhere}h1{font-size:18px}h2{font-size:16px}p{margin:.6em 0}"
          "ul{margin:.4em 0;padding-left:1.4em}table{border-collapse:collapse}th,td{text-align:right;padding:1px 0 1px 1.2em;font-weight:normal}"
          "th{color:#57606a}th:first-child,td:first-child{text-align:left;padding-left:0}"
          "@media(max-width:600px){body{margin:.5em}th,td{padding-left:.7em}}iframe{box-sizing:border-box;width:100%;height:80vh;border:1px solid #999}")


def shared_bytes(layout: Layout) -> int:
    """Bytes of shared memory that a layout takes, mbarriers aside: of a cluster, those of the block with most."""
    return max((_without_mbarriers(space["buffers"]) for space in _shared(layout)), default=0)


def _without_mbarriers(buffers):
    """The end of the last buffer, less the mbarriers before it."""
    apart = [b for b in buffers if b["placed"] == "mbarrier"]
    end = max((b["byte"] + b["taken"] for b in buffers if b["placed"] != "mbarrier" and b["byte"] is not None), default=0)
    return end - sum(b["taken"] for b in apart if b["byte"] is not None and b["byte"] < end)


def _shared(layout):
    """The shared memory of a layout, of each block of a cluster."""
    return [space for space in layout.data["spaces"] if space["space"].partition("[")[0] == "shared"]


def places_of(layout: Layout) -> list[dict[str, int]]:
    """[{tensor: byte}] of shared memory, for each block of a cluster."""
    return [{b["name"]: b["byte"] for b in space["buffers"]} for space in _shared(layout)]


class Page:
    """What TileLang planned, what spad plans, and whether either is wrong: text(), html(), data, save(path)."""

    def __init__(self, kernel: LoadedKernel) -> None:
        self._kernel, self._tree = kernel, kernel._tree
        self.theirs: Check = kernel.check()
        self.planned: LoadedKernel | None = kernel.plan()
        self.layout: Layout = (self.planned or kernel.release()).layout()
        self.ours: Check = self.planned.check() if self.planned else kernel.release().check(self.layout)

    @property
    def data(self) -> _Facts:
        """Everything as a dict."""
        tree = self._tree
        return {"kernel": tree["name"], "target": tree["arch"], "version": tree.get("tilelang"), "grid": tree["grid"],
                "threads": tree["threads"], "agents": len(self._kernel.agents) - 1, "buffers": self._buffers(),
                "bytes": {"tilelang": self._kernel.tilelang_bytes, "spad": shared_bytes(self.layout)},
                "tilelang": _facts(self.theirs), "spad": _facts(self.ours),
                "approximations": self._kernel.approximations}

    def _buffers(self):
        places = [place for block in places_of(self.layout) for place in block.items()]
        walk, rows = self._kernel._writer.walk, []
        for name, facts in self._tree["shared"].items():
            rows.append({"name": name, "bytes": facts["bytes"], "align": facts["align"], "dtype": facts["dtype"],
                         "tilelang": facts["at"], "spad": next((byte for tensor, byte in places if tensor in walk.names(name)), None)})
        return rows

    def text(self) -> str:
        """The page as text."""
        data = self.data
        lines = [f"{data['kernel']} {_about(data)}", ""]
        lines.append(f"{'buffer':24} {'bytes':>9} {'align':>6} {'TileLang':>9} {'spad':>9}")
        for row in data["buffers"]:
            lines.append(f"{row['name']:24} {row['bytes']:>9} {row['align']:>6} {_place(row['tilelang']):>9} "
                         f"{_place(row['spad']):>9}")
        total = data["bytes"]
        lines.append(f"{'all, without mbarriers':24} {'':>9} {'':>6} {total['tilelang']:>9} {total['spad']:>9}")
        for who, check in (("TileLang", self.theirs), ("spad", self.ours)):
            lines += ["", f"layout of {who}: {_verdict(check)}"]
            lines += [f"    {line}" for line in _finding_lines(check)]
        lines += ["", "approximations:" if data["approximations"] else "approximations: no access is approximated"]
        lines += [f"    {line}" for line in _approximation_lines(data)]
        return "\n".join(lines) + "\n"

    def html(self) -> str:
        """The page with a report of each layout in it."""
        reports = [("TileLang", self._kernel.analyse().report().html()),
                   ("spad", (self.planned or self._kernel.release()).analyse().report().html())]
        style = f"<style>{_STYLE}</style>"
        allowed = policy(style, [report for _, report in reports])
        parts = [f"<!doctype html><meta charset=\"utf-8\"><meta http-equiv=\"Content-Security-Policy\" content=\"{allowed}\">"
                 f"<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">"
                 f"<title>{html.escape(self._tree['name'])}</title>{style}", *self._head()]
        for who, report in reports:
            parts.append(f"<h2>Layout of {who}</h2><iframe srcdoc=\"{html.escape(report, quote=True)}\"></iframe>")
        return "\n".join(parts) + "\n"

    def _head(self):
        """What text() has, as markup that fits into a window of any width."""
        data, cells = self.data, [("buffer", "bytes", "align", "TileLang", "spad")]
        cells += [(row["name"], row["bytes"], row["align"], _place(row["tilelang"]), _place(row["spad"])) for row in data["buffers"]]
        cells.append(("all, without mbarriers", "", "", data["bytes"]["tilelang"], data["bytes"]["spad"]))
        rows = "".join(f"<tr>{''.join(f'<td>{html.escape(str(cell))}' for cell in row)}" for row in cells).replace("td>", "th>", 5)
        yield f"<h1>{html.escape(data['kernel'])}</h1><p>{html.escape(_about(data))}</p><table>{rows}</table>"
        for who, check in (("TileLang", self.theirs), ("spad", self.ours)):
            yield f"<p><b>layout of {who}: {html.escape(_verdict(check))}</b></p>{_list(_finding_lines(check))}"
        lines = _approximation_lines(data)
        yield f"<p><b>approximations:</b>{'' if lines else ' no access is approximated'}</p>{_list(lines)}"

    def save(self, path: str | PathLike[str]) -> Any:
        """Writes a file; its ending says what: .html, .txt or .json."""
        ending = os.path.splitext(os.fsdecode(path))[1]
        made = {".html": self.html, ".txt": self.text, ".json": lambda: json.dumps(self.data, indent=1) + "\n"}
        if ending not in made:
            raise _spad.ArgumentError(f"'{os.fsdecode(path)}' has to end with one of {', '.join(sorted(made))}")
        replace_file(path, made[ending]().encode())
        return path

    def _repr_html_(self) -> str:
        return f"<pre>{core._escape(self.text())}</pre>"

    def __repr__(self):
        total = self.data["bytes"]
        return f"<spad.tilelang page of {self._tree['name']}: {total['tilelang']} B, spad {total['spad']} B>"


def _finding_lines(check):
    """A line for each finding; those that differ in numbers alone, such as the warps, are one line."""
    alike = {}
    for finding in check.findings:
        if finding.severity != "advice":
            alike.setdefault((finding.severity, finding.code, re.sub(r"\d[\d,]*", "#", finding.message)), []).append(finding)
    return [f"{severity}: {found[0].message} [{code}]" + (f", and {len(found) - 1} more like it" if len(found) > 1 else "")
            for (severity, code, _), found in alike.items()]


def _about(data):
    return (f"on {data['target']}, lowered by TileLang {data['version']}: {'x'.join(map(str, data['threads']))} threads, "
            f"{data['agents']} warps that do something")


def _verdict(check):
    return check.verdict + (f": {check.reason}" if check.reason else "")


def _approximation_lines(data):
    return [f"{row['what']}: {row['why']} ({', '.join(row['agents'])})" for row in data["approximations"]]


def _list(lines):
    return f"<ul>{''.join(f'<li>{html.escape(line)}' for line in lines)}</ul>" if lines else ""


def _place(at):
    return "-" if at is None else str(at)


def _facts(check):
    return {"verdict": check.verdict, "reason": check.reason,
            "findings": [{"code": f.code, "severity": f.severity, "message": f.message}
                         for f in check.findings if f.severity != "advice"]}
