# SPDX-License-Identifier: Apache-2.0
import enum
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from typing import Any

from typing_extensions import Self

from . import _spad
from . import core
from ._spad import _Shape, Target, Trace
from .core import Report

bool_: str
int8: str
int16: str
int32: str
uint8: str
uint16: str
uint32: str
float16: str
bfloat16: str
tfloat32: str
float32: str
float8_e4m3: str
float8_e5m2: str
float8_e4m3fn: str
float8_e4m3fn_x4: str
float8_e5m2_x4: str
float4_e2m1fn_x4: str
def set_target(name: str) -> None: ...
def set_behaviour(name: str) -> None: ...

class _TileSize:
    pmax: int
    psum_fmax: int
    psum_bank_fmax: int
    gemm_stationary_fmax: int
    gemm_moving_fmax: int
    psum_min_align: int
    sbuf_min_align: int
    psum_num_banks: int
    @property
    def total_available_sbuf_size(self) -> int: ...

tile_size: _TileSize
constants: _TileSize
def affine_range(*args: Any, **options: Any) -> Any: ...
def sequential_range(*args: Any, **options: Any) -> Any: ...
def static_range(*args: Any, **options: Any) -> Any: ...
def jit(func: Callable[..., Any] | None = None, **options: Any) -> Any: ...

class ValidationError(AssertionError):
    facts: _spad.Error | None

def sizeinbytes(dtype: Any) -> int: ...
def align_to(value: Any, alignment: int) -> int: ...
def num_elts(shape: Sequence[int]) -> int: ...

class LogLevel(enum.Enum):
    DEBUG = 0
    INFO = 1
    WARN = 2
    ERROR = 3
    OFF = 999

DEBUG: LogLevel
INFO: LogLevel
WARN: LogLevel
ERROR: LogLevel
OFF: LogLevel

class Logger:
    name: str
    level: LogLevel
    def __init__(self, name: str = 'SBM', level: LogLevel = ...) -> None: ...
    def is_enabled_for(self, level: LogLevel) -> bool: ...
    def debug(self, message: str) -> None: ...
    def info(self, message: str) -> None: ...
    def warn(self, message: str) -> None: ...
    def error(self, message: str) -> None: ...

def get_logger(name: str, level: LogLevel = ...) -> Logger: ...

class SbufManager(core.Stack):
    logger: Any
    lower_bound: int
    upper_bound: int
    def __new__(cls, sb_lower_bound: int, sb_upper_bound: int, logger: Any = None,
                use_auto_alloc: bool = False, default_stack_alloc: bool = True, *,
                behaviour: str | None = None, target: Target | str | None = None,
                trace: Trace | bool | None = None) -> Self: ...
    @property
    def heap(self) -> list[dict[str, Any]]: ...
    def is_default_stack_alloc(self) -> bool: ...
    def is_default_heap_alloc(self) -> bool: ...
    def alloc_hbm(self, shape: _Shape, dtype: Any, buffer: Any = None,
                  name: str | None = None) -> Any: ...
    def flush_logs(self) -> None: ...

BufferManager = SbufManager

class _Wordy:
    def alloc_stack(self, shape: _Shape, dtype: Any, buffer: Any = None, name: str | None = None,
                    base_partition: int = 0, align: int | None = None) -> Any: ...
    def alloc_heap(self, shape: _Shape, dtype: Any, buffer: Any = None, name: str | None = None,
                   base_partition: int = 0, align: int | None = None) -> Any: ...
    def alloc(self, shape: _Shape, dtype: Any, buffer: Any = None, name: str | None = None,
              base_partition: int = 0, align: int | None = None) -> Any: ...

def create_auto_alloc_manager(logger: Any = None, **options: Any) -> SbufManager: ...

class ModularAllocator:
    def __init__(self, initial_address: int = 0) -> None: ...
    def get_current_address(self) -> int: ...
    def set_current_address(self, address: Any) -> None: ...
    def alloc_sbuf_tensor(self, shape: _Shape, dtype: Any, block_dim: Sequence[int] | None = None,
                          num_free_tiles: Sequence[int] | None = None, base_partition: int = 0,
                          align_to: int | None = None) -> Any: ...

class Tile:
    shape: tuple[int, ...]
    dtype: Any
    address: tuple[int, int] | None
    bytes: int
    bank: int
    index: tuple[int, ...]
    def __init__(self, shape: _Shape, dtype: Any, address: Any, bytes: int, bank: int = 0,
                 index: Any = ()) -> None: ...

class par_dim(int):
    ...

class Placement:
    def __init__(self, space: str, mode: str, **facts: Any) -> None: ...

class _Sbuf:
    name: str
    def alloc(self, func: Callable[..., Any]) -> Placement: ...
    def mod_alloc(self, *, base_addr: int, base_partition: int = 0,
                  num_par_tiles: Sequence[int] = (),
                  num_free_tiles: Sequence[int] | None = ()) -> Placement: ...
    def auto_alloc(self) -> Placement: ...

class _Psum:
    name: str
    def alloc(self, func: Callable[..., Any]) -> Placement: ...
    def mod_alloc(self, *, base_bank: int, base_addr: int = 0, base_partition: int = 0,
                  num_bank_tiles: Sequence[int] = (), num_par_tiles: Sequence[int] = (),
                  num_free_tiles: Sequence[int] | None = ()) -> Placement: ...
    def auto_alloc(self) -> Placement: ...

class _Hbm:
    def __init__(self, name: str, output: bool = False) -> None: ...

sbuf: _Sbuf
psum: _Psum
hbm: _Hbm
private_hbm: _Hbm
shared_hbm: _Hbm

class DirectKernel(_spad.Direct):
    trace: Trace
    target: _spad.Target
    def __new__(cls, target: Target | str | None = None, force_auto: bool = False) -> Self: ...
    def _repr_svg_(self) -> str | None: ...
    def report(self, title: str | None = None) -> Report: ...

def kernel(target: Target | str | None = None,
           force_auto: bool = False) -> AbstractContextManager[DirectKernel]: ...
def force_auto_alloc(func: Callable[..., Any]) -> Callable[..., Any]: ...

class ndarray:
    shape: tuple[int, ...]
    dtype: Any
    name: str | None
    block: tuple[int, ...]
    tile: tuple[int, ...]
    buffer: Any
    kernel: DirectKernel
    tiles: list[Tile]
    def __init__(self, shape: _Shape, dtype: Any, buffer: Any = None, name: str | None = None,
                 address: Any = None) -> None: ...
    @property
    def address(self) -> Any: ...
    def __getitem__(self, index: Any) -> Tile: ...
    def __iter__(self) -> Iterator[Tile]: ...
    def __len__(self) -> int: ...
