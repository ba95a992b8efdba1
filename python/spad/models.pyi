# SPDX-License-Identifier: Apache-2.0
from collections.abc import Callable, Sequence
from os import PathLike

from .arena import Model

FILE_MOST: int
HEAD: int
KINDS: tuple[tuple[str, Callable[[bytes, str], bool], Callable[[bytes, str], Model]], ...]
VALUES: dict[str, str]
FLAGS: dict[str, str]

def recognise(head: bytes, name: str) -> tuple[str, Callable[[bytes, str], Model]] | None: ...
def read(content: bytes | bytearray | memoryview, file: str = '<model>') -> Model: ...
def load(path: str | PathLike[str]) -> Model: ...
def main(arguments: Sequence[str]) -> int: ...
