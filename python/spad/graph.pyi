# SPDX-License-Identifier: Apache-2.0
from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import Any

from .arena import Arena

FIELDS: tuple[str, ...]

def plan(graph: Iterable[Sequence[Any] | Mapping[str, Any]] | Mapping[str, Any],
         sizes: Mapping[Any, int] | None = None, inputs: Iterable[Hashable] = (),
         outputs: Iterable[Hashable] = (), constants: Iterable[Hashable] = (), alignment: int = 1,
         capacity: int | None = None, timeout: float | None = 5, seed: int = 1, threads: int = 1,
         reorder: bool = False, views: bool = True) -> Arena: ...
