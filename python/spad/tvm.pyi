# SPDX-License-Identifier: Apache-2.0
import re
from collections.abc import Sequence
from typing import Any

from .arena import Model

ALIGNMENT: int
SECONDS: int
VIEWS: tuple[str, ...]
HEAD: re.Pattern[str]
BUFFER: re.Pattern[str]

class Planner:
    timeout: float | None
    alignment: int
    models: list[Model]
    def __init__(self, timeout: float | None = 5, alignment: int = 64) -> None: ...
    def __call__(self, module: Any) -> Any: ...
    def text(self) -> str: ...

def plan_memory(planner: Planner | None = None) -> Any: ...
def pipeline(planner: Planner | None = None, passes: Sequence[Any] | None = None) -> Any: ...
