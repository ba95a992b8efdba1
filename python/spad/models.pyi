# SPDX-License-Identifier: Apache-2.0
from collections.abc import Callable, Mapping, Sequence
from os import PathLike

from .arena import Model

FILE_MOST: int
BINARY_MOST: int
MEMORY_MOST: int
HEAD: int
KINDS: tuple[tuple[str, Callable[[bytes, str], bool], Callable[..., Model]], ...]
VALUES: dict[str, str]
FLAGS: dict[str, str]

def recognise(head: bytes, name: str) -> tuple[str, Callable[..., Model]] | None: ...
def read(content: bytes | bytearray | memoryview, file: str = '<model>', defines: Mapping[str, int] | None = None,
         views: bool = True, alignment: int | None = None) -> Model: ...
def load(path: str | PathLike[str], defines: Mapping[str, int] | None = None, views: bool = True,
         alignment: int | None = None, most: int | None = None) -> Model: ...
def main(arguments: Sequence[str]) -> int: ...
