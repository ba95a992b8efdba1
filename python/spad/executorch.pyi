# SPDX-License-Identifier: Apache-2.0
from collections.abc import Iterable, Mapping
from typing import Any

from .arena import Model
from .core import Report

DEFAULT_MEMORY: int
SECONDS: int

class Place:
    mem_id: int
    mem_obj_id: int
    mem_offset: int
    def __init__(self, mem_id: int, mem_offset: int) -> None: ...

class Sizes(list[int]):
    spec_dict: dict[Any, Place]
    def __init__(self, bufsizes: Iterable[int], spec_dict: dict[Any, Place]) -> None: ...
    @property
    def bufsizes(self) -> list[int]: ...

class Planner:
    __name__: str
    timeout: float | None
    threads: int
    seed: int
    capacities: dict[int, int]
    compare: bool
    models: list[Model]
    def __init__(self, timeout: float | None = 5, threads: int = 1, seed: int = 1,
                 capacities: Mapping[int, int] | None = None, compare: bool = True) -> None: ...
    def __call__(self, alignment: int, specs: Iterable[Any], graph_module: Any, graph_signature: Any = None,
                 extra_padding: int = 0) -> Sizes: ...
    def text(self) -> str: ...
    def report(self, title: str | None = None) -> Report: ...

def plan(alignment: int, specs: Iterable[Any], graph_module: Any, graph_signature: Any = None,
         extra_padding: int = 0) -> Sizes: ...
