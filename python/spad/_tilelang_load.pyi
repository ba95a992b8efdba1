# SPDX-License-Identifier: Apache-2.0
from collections.abc import Mapping
from os import PathLike
from typing import Any

from . import _spad
from . import kernel as _kernel
from ._spad import _Facts
from .core import Check, Layout

class Unsupported(_spad.ArgumentError): ...

class Page:
    theirs: Check
    ours: Check
    layout: Layout
    planned: LoadedKernel | None
    @property
    def data(self) -> _Facts: ...
    def text(self) -> str: ...
    def html(self) -> str: ...
    def save(self, path: str | PathLike[str]) -> Any: ...

class LoadedKernel(_kernel.Kernel):
    @property
    def approximations(self) -> list[_Facts]: ...
    @property
    def tree(self) -> dict[str, Any]: ...
    @property
    def tilelang_bytes(self) -> int: ...
    def plan(self) -> LoadedKernel | None: ...
    def report(self, timed: bool = True) -> Page: ...  # type: ignore[override]

def load(function: Any, target: str = 'sm_90', block: Mapping[str, int] | None = None,
         name: str | None = None, pass_configs: Mapping[str, Any] | None = None) -> LoadedKernel: ...
