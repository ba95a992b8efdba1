# SPDX-License-Identifier: Apache-2.0
from collections.abc import Mapping
from os import PathLike
from typing import Any, TypedDict

from typing_extensions import Self

from ._spad import Layout, Sim, Target
from .core import Report
from .kernel import Kernel

class _Info(TypedDict):
    shared_bytes: int
    tensor_columns: int
    warps: int
    placed: bool
    barriers: bool
    unrolled: bool
    reason: str
    assumed: str
    blocks: int
    scratch: str
    approximated: str
    skipped: str
    together: bool

class Unplaced(Exception): ...

def capability(target: str | int) -> int: ...
def compile(function: Any, signature: Mapping[str, str], constexprs: Mapping[str, Any] | None = None,
            target: str | int = 'H100', **options: Any) -> str: ...
def place(ttgir: str, target: str | int) -> str: ...

class TritonKernel(Kernel):
    ttgir: str
    info: _Info
    unplaced: str | None
    sizes: dict[str, int]
    registers: int | None
    options: dict[str, Any]
    @classmethod
    def read(cls, text: str, file: str = '<ttgir>', sizes: Mapping[str, int] | None = None,
             target: Target | str | None = None) -> Self: ...
    def sim(self, layout: Layout | bool | None = None, grid: int | tuple[int, ...] = 0, registers: int | None = None,
            reused: Mapping[str, int | tuple[int, int]] | None = None,
            cached: Mapping[str, tuple[int, int]] | None = None, target: Target | None = None, **options: Any) -> Sim: ...
    def plan(self) -> TritonKernel | None: ...
    def report(self, timed: bool = True) -> Report: ...
    @property
    def bytes(self) -> dict[str, int | None]: ...

def load(kernel: Any, signature: Mapping[str, str] | None = None, constexprs: Mapping[str, Any] | None = None,
         target: str | int | None = None, num_stages: int | None = None, num_warps: int | None = None,
         sizes: Mapping[str, int] | None = None, placed: bool = True, **options: Any) -> TritonKernel: ...
def compare(*kernels: TritonKernel) -> str: ...
