# SPDX-License-Identifier: Apache-2.0
from collections.abc import Callable, Iterable, Mapping
from os import PathLike
from typing import Any


def sweep(inputs: str | PathLike[str] | Iterable[str | PathLike[str]], vary: Mapping[str, Any] | None = None,
          target: Any = None, *, rings: Mapping[str, Any] | None = None, args: Mapping[str, Any] | None = None,
          signature: str = "", space: str | None = None, timeout: float | None = None, jobs: int | None = None,
          dask: Any = None, results: str | PathLike[str] | None = None, fresh: bool = False,
          stop_after: int | float | str | None = None, output: Any = None,
          progress: Callable[[int, int], Any] | None = None, frame: bool | None = None) -> Any: ...
