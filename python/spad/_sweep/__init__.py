# SPDX-License-Identifier: Apache-2.0
"""spad.sweep: every combination of files, parameters and chips, checked, placed and simulated (docs/sweep.md)."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from os import PathLike
    from typing import Any


def sweep(inputs: str | PathLike[str] | Iterable[str | PathLike[str]], vary: Mapping[str, Any] | None = None,
          target: Any = None, *, rings: Mapping[str, Any] | None = None, args: Mapping[str, Any] | None = None,
          signature: str = "", space: str | None = None, timeout: float | None = None, jobs: int | None = None,
          dask: Any = None, results: str | PathLike[str] | None = None, fresh: bool = False,
          stop_after: int | float | str | None = None, output: Any = None,
          progress: Callable[[int, int], Any] | None = None, frame: bool | None = None) -> Any:
    """A table with a row for each combination: a pandas.DataFrame where there is pandas, or with frame=False a
    SweepTable.

    inputs: files and patterns: kernels, .ttgir, .csv of buffers, .json of TileLang, FILE.py:KERNEL. vary: {"S": range(1, 7)}
    or {"S": "1..6"}; rings: the same for depths of rings; target: chips, one or several; args: arguments of a program.
    space: the memory whose bytes count, otherwise all on chip. timeout: seconds for each combination. jobs: processes,
    otherwise one for each core; dask: the address of a cluster, or a Client. results: a folder where rows are kept, and
    found by the next sweep unless fresh is true. stop_after: new combinations, or "90s", "10m", "2h"; output:
    files to write, .html, .csv or .json. progress(done, total) is called after each combination."""
    from .run import run

    table, _ = run(inputs, vary, target, rings=rings, args=args, signature=signature, space=space, timeout=timeout,
                   jobs=jobs, dask=dask, results=results, fresh=fresh, stop_after=stop_after, output=output,
                   progress=progress)
    if frame is None:
        from importlib.util import find_spec

        frame = find_spec("pandas") is not None
    return table.frame() if frame else table
