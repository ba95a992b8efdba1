# SPDX-License-Identifier: Apache-2.0
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from typing import Any

from .. import _spad
from ..core import Check, Finding, Layout
from ..kernel import Kernel

__all__ = ["Array", "Hbm", "Ran", "Traced", "TraceError", "array", "example", "hbm", "installed", "load", "run",
           "trace"]

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
    folded: tuple[int, int] | None
    faults: list[tuple[tuple[str, int] | None, str, str]]
    def __init__(self, recorder: Any, text: str, fold: bool) -> None: ...
    def chain(self, line: int) -> list[tuple[str, int]]: ...
    def summary(self) -> str: ...
    def plan(self, timeout: float | None = None, seed: int = 0, threads: int = 1) -> Layout: ...
    def where(self, line: int) -> str: ...
    def explain(self, check: Check) -> str: ...

class TracedCheck(Check):
    own: list[Finding]
    def __init__(self, check: Check, faults: list[tuple[tuple[str, int] | None, str, str]]) -> None: ...

class Array(Hbm):
    values: Any
    def __init__(self, values: Any, dtype: str | None = None) -> None: ...

class Ran:
    kernel: Traced
    outputs: Any
    arguments: dict[str, Any]
    def __init__(self, kernel: Traced, outputs: Any, arguments: dict[str, Any]) -> None: ...

def array(values: Any, dtype: str | None = None) -> Array: ...
def run(kernel: Callable[..., Any], *args: Any, target: _spad.Target | str = 'trn2', lnc: int = 1, places: bool = False,
        replace_nki: bool = False, operations_most: int = 1_000_000, **kwargs: Any) -> Ran: ...
def hbm(shape: int | Sequence[int], dtype: str) -> Hbm: ...
def installed(replace: bool = False) -> AbstractContextManager[None]: ...
def trace(kernel: Callable[..., Any], *args: Any, target: _spad.Target | str = 'trn2', lnc: int = 1,
          replace_nki: bool = False, operations_most: int = 1_000_000, fold: bool = True, **kwargs: Any) -> Traced: ...
def load(where: str, replace_nki: bool = False) -> Callable[..., Any]: ...
def example(kernel: Callable[..., Any]) -> tuple[tuple[Any, ...], dict[str, Any]] | None: ...
