# SPDX-License-Identifier: Apache-2.0
from collections.abc import Mapping, Sequence
from typing import Any

from . import kernel as _kernel
from ._spad import Layout, Sim, Target, _Facts
from ._tilelang_calls import Unsupported as Unsupported
from ._tilelang_page import Page

class LoadedKernel(_kernel.Kernel):
    IDLE: str
    @property
    def approximations(self) -> list[_Facts]: ...
    @property
    def tree(self) -> dict[str, Any]: ...
    @property
    def tilelang_bytes(self) -> int: ...
    def sim(self, layout: Layout | bool | None = None, grid: bool = False, registers: int | None = None,
            reused: Mapping[str, int | tuple[int, int]] | None = None,
            cached: Mapping[str, tuple[int, int]] | None = None, target: Target | None = None,
            **options: Any) -> Sim: ...
    def plan(self) -> LoadedKernel | None: ...
    def report(self, timed: bool = True) -> Page: ...  # type: ignore[override]

def compare(*kernels: LoadedKernel, names: Mapping[LoadedKernel, str] | None = None) -> str: ...
def load(function: Any, target: str | None = None, block: Mapping[str, int] | None = None,
         name: str | None = None, pass_configs: Mapping[str, Any] | None = None,
         arguments: Mapping[str, Any] | Sequence[Any] | None = None,
         sizes: Mapping[str, int] | None = None) -> LoadedKernel: ...
