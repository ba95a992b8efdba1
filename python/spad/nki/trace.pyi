# SPDX-License-Identifier: Apache-2.0
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from typing import Any

from .. import _spad
from ..core import Check, Layout
from ..kernel import Kernel

__all__ = ["Hbm", "Traced", "TraceError", "example", "hbm", "installed", "load", "trace"]

OPERATIONS_MOST: int

class TraceError(_spad.ArgumentError):
    place: tuple[str, int] | None

class Hbm:
    shape: tuple[int, ...]
    dtype: str
    def __init__(self, shape: int | Sequence[int], dtype: str) -> None: ...

class Traced(Kernel):
    notes: list[tuple[tuple[str, int] | None, str]]
    operations: int
    def __init__(self, recorder: Any, lines: list[str], places: list[tuple[str, int] | None]) -> None: ...
    def plan(self, timeout: float | None = None, seed: int = 0, threads: int = 1) -> Layout: ...
    def where(self, line: int) -> str: ...
    def explain(self, check: Check) -> str: ...

def hbm(shape: int | Sequence[int], dtype: str) -> Hbm: ...
def installed(replace: bool = False) -> AbstractContextManager[None]: ...
def trace(kernel: Callable[..., Any], *args: Any, target: _spad.Target | str = 'trn2', lnc: int = 1,
          replace_nki: bool = False, operations_most: int = 1_000_000, **kwargs: Any) -> Traced: ...
def load(where: str, replace_nki: bool = False) -> Callable[..., Any]: ...
def example(kernel: Callable[..., Any]) -> tuple[tuple[Any, ...], dict[str, Any]] | None: ...
