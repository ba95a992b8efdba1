# SPDX-License-Identifier: Apache-2.0
from collections.abc import Sequence
from os import PathLike
from typing import Any

from .arena import Arena, Model

NAME: bytes
IDENTIFIER: bytes
ALIGNMENT: int
ONLINE: int
STEPS_MOST: int
TABLES_MOST: int
BYTES_MOST: int
FILE_MOST: int
TYPES: dict[int, int]
IF: int
WHILE: int
CALL_ONCE: int
CALLS: dict[int, int]
MODEL_VERSION: int
MODEL_CODES: int
MODEL_SUBGRAPHS: int
MODEL_BUFFERS: int
MODEL_METADATA: int
MODEL_FIELDS: int
CODE_OLD: int
CODE_NEW: int
GRAPH_TENSORS: int
GRAPH_INPUTS: int
GRAPH_OUTPUTS: int
GRAPH_OPERATORS: int
TENSOR_SHAPE: int
TENSOR_TYPE: int
TENSOR_BUFFER: int
TENSOR_NAME: int
TENSOR_VARIABLE: int
TENSOR_EXTERNAL: int
OPERATOR_CODE: int
OPERATOR_INPUTS: int
OPERATOR_OUTPUTS: int
OPERATOR_OPTIONS: int
BUFFER_DATA: int
BUFFER_OFFSET: int
METADATA_NAME: int
METADATA_BUFFER: int

class TFLite:
    content: bytes
    file: str
    graphs: list[list[Any]]
    steps: dict[int, str]
    frozen: str | None
    def __init__(self, content: bytes | bytearray | memoryview, file: str = '<model>') -> None: ...
    def wrong(self, message: str) -> None: ...
    def arena(self) -> Arena: ...
    def plan(self, arena: Arena) -> list[int]: ...
    def write(self, offsets: Sequence[int]) -> bytes: ...

def read(content: bytes | bytearray | memoryview, file: str = '<model>') -> Model: ...
def plan(content: bytes | bytearray | memoryview, file: str = '<model>', timeout: float | None = 5) -> bytes: ...
def plan_file(path: str | PathLike[str], output: str | PathLike[str], timeout: float | None = 5) -> Model: ...
