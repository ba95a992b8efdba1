# SPDX-License-Identifier: Apache-2.0
"""Drop-in for the allocators of the NKI library and of NKI's direct allocation.

    from nkilib.core.utils.allocator import SbufManager      # before
    from spad.nki import SbufManager                         # after

Names, arguments, addresses, log lines and messages are those of nki-library's allocator module
and of neuronxcc.nki.compiler; behaviour="exact" asks for the checks of spad: see docs/nki.md for
what differs. Where a real nki.language can be imported, managers make their tensors with it;
elsewhere tensors are light objects with address, shape, dtype, name.
"""

from __future__ import annotations

import difflib
import enum
import functools
import importlib
import importlib.util
import math
import os
import sys
import warnings
from typing import TYPE_CHECKING

from .. import _spad
from .. import core
from . import _direct
from ._direct import (
    CompileError as CompileError, DirectKernel as DirectKernel, Part as Part, Placement as Placement, Tile as Tile,
    Value as Value, force_auto_alloc as force_auto_alloc, hbm as hbm, kernel as kernel, nc_transpose as nc_transpose,
    ndarray as ndarray, par_dim as par_dim, private_hbm as private_hbm, psum as psum, sbuf as sbuf,
    shared_hbm as shared_hbm, softmax as softmax, store as store, tensor_engine as tensor_engine,
    vector_engine as vector_engine)
from . import _chip
from ._chip import set_target as set_target

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from contextlib import AbstractContextManager
    from typing import Any, Self
    from .._spad import _Shape, Target, Trace

# ---- names of nki.language that callers need -------------------------------------------------

bool_ = "bool"
int8, int16, int32 = "int8", "int16", "int32"
uint8, uint16, uint32 = "uint8", "uint16", "uint32"
float16, bfloat16, tfloat32, float32 = "float16", "bfloat16", "tfloat32", "float32"
float8_e4m3, float8_e5m2, float8_e4m3fn = "float8_e4m3", "float8_e5m2", "float8_e4m3fn"
float8_e4m3fn_x4, float8_e5m2_x4 = "float8_e4m3fn_x4", "float8_e5m2_x4"
float4_e2m1fn_x4 = "float4_e2m1fn_x4"

BEHAVIOURS = ("library", "exact", "library_2026_04", "library_later")

_defaults = {"behaviour": "library"}


def set_behaviour(name: str) -> None:
    """The behaviour of managers that are made from now on: library, exact, library_2026_04 or
    library_later."""
    if name not in BEHAVIOURS:
        raise _spad.ArgumentError(f"'{name}' is not a behaviour; there are {', '.join(BEHAVIOURS)}")
    _defaults["behaviour"] = name


class _TileSize:
    """nl.tile_size of the chip that was set."""

    pmax = 128
    psum_fmax = 512
    psum_bank_fmax = 512
    gemm_stationary_fmax = 128
    gemm_moving_fmax = 512
    psum_min_align = 4
    sbuf_min_align = 1
    psum_num_banks = 8

    @property
    def total_available_sbuf_size(self) -> int:
        """Bytes of SBUF in a partition: of the chip of set_target(), or of SPAD_NKI_TARGET and
        SPAD_NKI_USE_RESERVED in the environment; else the 262144 of the manuals."""
        return _chip.chip().usable("sbuf")


tile_size = constants = _TileSize()


def _nki_language():
    """The real nki.language if it can be imported, or None."""
    for name in ("nki.language", "neuronxcc.nki.language"):
        module = sys.modules.get(name)
        if module is not None:
            return module
        try:
            if importlib.util.find_spec(name.split(".")[0]) is not None:
                return importlib.import_module(name)
        except ImportError:
            continue
    return None


# ---- loops and kernels of nki.language --------------------------------------------------------


def _loop(name, args, options):
    """The loop of the real language if there is one: it has to see it. Elsewhere a range."""
    real = getattr(_nki_language(), name, None)
    return range(*args) if real is None else real(*args, **options)


def affine_range(*args: Any, **options: Any) -> Any:
    """A loop whose iterations do not depend on each other; arguments as of range."""
    return _loop("affine_range", args, options)


def sequential_range(*args: Any, **options: Any) -> Any:
    """A loop whose iterations depend on each other."""
    return _loop("sequential_range", args, options)


def static_range(*args: Any, **options: Any) -> Any:
    """A loop that is unrolled."""
    return _loop("static_range", args, options)


def jit(func: Callable[..., Any] | None = None, **options: Any) -> Any:
    """@nki.jit: runs the function, collects its tensors and operations, and raises CompileError
    for what the compiler refuses about them. Where there is a real nki its own decorator is
    taken."""
    if func is None:
        return functools.partial(jit, **options)
    language = _nki_language()
    if language is None:
        return _direct.compiled(func)
    return sys.modules[language.__name__.rpartition(".")[0]].jit(func, **options)


# ---- operations of nki.language ---------------------------------------------------------------

load, copy = _direct.operation("load"), _direct.operation("copy")
exp, log, sqrt, rsqrt, tanh, relu, gelu, sigmoid, negative = map(_direct.operation, (
    "exp", "log", "sqrt", "rsqrt", "tanh", "relu", "gelu", "sigmoid", "negative"))
add, subtract, multiply, divide, maximum, minimum = map(_direct.operation, (
    "add", "subtract", "multiply", "divide", "maximum", "minimum"))


# nki.language, nki.compiler and nki.isa are all this module: `import spad.nki.language as nl` works.
language = compiler = isa = sys.modules[__name__]
sys.modules.update({f"{__name__}.{name}": language for name in ("language", "compiler", "isa")})


def __getattr__(name):
    near = difflib.get_close_matches(name, [n for n in globals() if n[0] != "_"], 1)
    hint = f"; did you mean '{near[0]}'?" if near else "; docs/nki.md lists what it has"
    raise AttributeError(f"spad.nki has no '{name}'{hint}", name=name, obj=sys.modules[__name__])


# ---- sizes ------------------------------------------------------------------------------------

_KNOWN = {
    "float32", "int32", "uint32", "bfloat16", "float16", "uint16", "int16", "int8", "uint8",
    "float8_e4m3", "float8_e4m3fn", "float8_e5m2", "float8_e4m3fn_x4", "float8_e5m2_x4",
    "float4_e2m1fn_x4",
}


class ValidationError(AssertionError):
    """An assertion of the library, with the facts of spad.Error as attributes of `facts`."""

    facts: _spad.Error | None = None


def _kernel_assert(message, facts=None):
    error = ValidationError(
        f"[INTERNAL_ERROR] [NCC_INKI016] Kernel validation exception: {message} - Please check "
        "the validation message and adjust kernel inputs accordingly")
    error.facts = facts
    error.__cause__ = facts
    return error


def sizeinbytes(dtype: Any) -> int:
    """Bytes of an element; types that the library does not know are refused."""
    try:
        if _spad.dtype_name(dtype) in _KNOWN:
            return _spad.dtype_bytes(dtype)
    except _spad.ArgumentError:
        pass
    raise _kernel_assert(f"dtype size unknown! {dtype}")


def align_to(value: Any, alignment: int) -> int:
    """The next multiple of an alignment."""
    return (value + alignment - 1) // alignment * alignment


def num_elts(shape: Sequence[int]) -> int:
    """The product of the extents."""
    return math.prod(shape)


# ---- logs -------------------------------------------------------------------------------------


class LogLevel(enum.Enum):
    """From which level on a logger prints."""

    DEBUG = 0
    INFO = 1
    WARN = 2
    ERROR = 3
    OFF = 999


DEBUG, INFO, WARN, ERROR, OFF = LogLevel


class Logger:
    """Prints "[LEVEL] [name] message" from a level on; get_logger() also examines the
    environment."""

    def __init__(self, name: str = "SBM", level: LogLevel = INFO) -> None:
        self.name, self.level = name, level

    def is_enabled_for(self, level: LogLevel) -> bool:
        return level.value >= self.level.value

    def _print(self, level, message):
        if self.is_enabled_for(level):
            name = f"[{self.name}] " if self.name else ""
            print(f"[{level.name}] {name}{message}")

    def debug(self, message: str) -> None:
        self._print(DEBUG, message)

    def info(self, message: str) -> None:
        self._print(INFO, message)

    def warn(self, message: str) -> None:
        self._print(WARN, message)

    def error(self, message: str) -> None:
        self._print(ERROR, message)


def get_logger(name: str, level: LogLevel = INFO) -> Logger:
    """A logger whose level is that of NKILIB_LOG_LEVEL_<name>, or of NKILIB_LOG_LEVEL, or the
    one that is given."""
    for variable, where in ((f"NKILIB_LOG_LEVEL_{name}", f"log level '{{}}' for {name}"),
                            ("NKILIB_LOG_LEVEL", "NKILIB_LOG_LEVEL='{}'")):
        word = os.environ.get(variable)
        if word is None:
            continue
        if word.upper() in LogLevel.__members__:
            return Logger(name, LogLevel[word.upper()])
        print("Warning: Invalid " + where.format(word), file=sys.stderr)
    return Logger(name, level)


def _is_on(logger, level):
    """Does a logger print that level? Loggers of the library take its levels, those of the
    module logging take numbers; others are unknown."""
    if hasattr(logger, "is_enabled_for"):
        return logger.is_enabled_for(level)
    if hasattr(logger, "isEnabledFor"):
        return logger.isEnabledFor(10 + 10 * level.value)
    return True


# ---- the manager ------------------------------------------------------------------------------

_TEXTS = {
    "SPAD-NO-SCOPE": "Cannot allocate in stack without an open scope",
    "SPAD-HEAP-EMPTY": "Heap underflow: pop called on empty heap",
    "SPAD-SPACE": "{method} is only supported for SBUF tensors",
    "SPAD-NO-ADDRESS": "{method}() is not supported in auto-allocation mode",
    "SPAD-DTYPE": "dtype size unknown! {dtype}",
}


class SbufManager(core.Stack):
    """SbufManager(sb_lower_bound, sb_upper_bound, logger=None, use_auto_alloc=False,
    default_stack_alloc=True): the manager of nki-library's allocator module.

    Its tensors are nl.ndarrays. Where the library breaks its own manual (a misaligned heap tensor,
    one tensor over another, a name that is not unique, a start partition that the chip does not
    allow), a strict manager raises an error; strict=False repeats what the library does.

    Beyond it: behaviour ("library", or "exact", "library_2026_04", "library_later"), strict (the
    default of "library"), target, use_reserved, trace (False: keep none), and all that spad.Stack
    has: scope(), attempt(), live(), overlaps(), mark(), rollback(), report().
    """

    logger: Any
    lower_bound: int
    upper_bound: int

    def __new__(cls, sb_lower_bound: int, sb_upper_bound: int, logger: Any = None, use_auto_alloc: bool = False,
                default_stack_alloc: bool = True, *, behaviour: str | None = None, strict: bool | None = None,
                target: Target | str | None = None, use_reserved: bool | None = None,
                trace: Trace | bool | None = True) -> Self:
        logger = get_logger("SBM") if logger is None else logger
        language = _nki_language()
        debugs = _is_on(logger, DEBUG)
        if language is not None or debugs:
            cls = _wordy(cls)
        chip = _chip.chip(target, use_reserved)
        behaviour = behaviour or _defaults["behaviour"]
        manual = behaviour == "library"  # the addresses of the code, the log of the manual
        if behaviour == "exact" and strict is False:
            raise _spad.ArgumentError("behaviour='exact' is strict; strict=False is for the "
                                      "behaviours of the library")
        self = super().__new__(
            cls, chip, "sbuf", sb_lower_bound, sb_upper_bound,
            "library_2026_04" if manual else behaviour, trace or debugs or None,
            bool(use_auto_alloc), not default_stack_alloc, bool(use_reserved), manual,
            manual if strict is None else bool(strict), _direct.StackTensor)
        if behaviour != "exact" and not use_auto_alloc:
            _warn_of_bounds(chip, sb_lower_bound, sb_upper_bound)
        self.logger = logger
        self.lower_bound, self.upper_bound = sb_lower_bound, sb_upper_bound
        self._default_stack = bool(default_stack_alloc)
        self._language, self._debugs, self._asked = language, debugs, None
        self._level = DEBUG if self.behaviour == "library_later" else INFO
        self._notifies = _is_on(logger, self._level)  # the level is examined once, here
        self._tell(f"SBM initialized: range=[{sb_lower_bound}, {sb_upper_bound}), "
                   f"size={sb_upper_bound - sb_lower_bound} B")
        if debugs:
            logger.debug(f"SBM config: auto_alloc={use_auto_alloc}, "
                         f"default_stack={default_stack_alloc}, stack_start={sb_lower_bound}, "
                         f"heap_start={sb_upper_bound}")
        return self

    @property
    def heap(self) -> list[dict[str, Any]]:
        """The heap tensors that are alive, oldest first, as in live()."""
        return sorted((t for t in self.live() if t["mode"] == "heap"), key=lambda t: t["number"])

    def is_default_stack_alloc(self) -> bool:
        """Does alloc() use the stack?"""
        return self._default_stack

    def is_default_heap_alloc(self) -> bool:
        """Does alloc() use the heap?"""
        return not self._default_stack

    def alloc_hbm(self, shape: _Shape, dtype: Any, buffer: Any = None, name: str | None = None) -> Any:
        """A tensor with a name that is off chip."""
        return self.alloc(shape, dtype, shared_hbm if buffer is None else buffer, name)

    def set_name_prefix(self, prefix: str) -> None:
        """What the names of later tensors begin with."""
        super().set_name_prefix(prefix)

    def flush_logs(self) -> None:
        """Prints the tree of what is new, a line at a time: to a logger at DEBUG, else where
        print() does, unless the logger is silent at INFO."""
        if not self._debugs and not _is_on(self.logger, INFO):
            return
        for line in self.log().splitlines():
            (self.logger.debug if self._debugs else print)(line)

    def _tell(self, line):
        """Logs at the level of this behaviour."""
        if self._notifies:
            (self.logger.debug if self._level is DEBUG else self.logger.info)(line)

    def attempt(self) -> AbstractContextManager[core.Attempt]:
        """What is allocated in the with block is undone if there is no room for some of it; the
        error is in the object that the with statement gives."""
        return _Attempt(self)

    def _outermost_closed(self):
        if self._debugs:
            self.flush_logs()
        if self._notifies and (self.behaviour != "exact" or self.get_total_space() > 0):
            self._tell(self.stats_line().rstrip("\n"))

    def _cursors(self):
        """Where the stack and the heap end, also in automatic mode."""
        automatic = self.is_auto_alloc()
        self.set_auto_alloc(False)
        try:
            return self.get_stack_curr_addr(), self.get_heap_curr_addr()
        finally:
            self.set_auto_alloc(automatic)

    def _translate(self, method, error, dtype):
        """The exception of the library for one of ours; and the library's log lines."""
        code, allocates = error.code, method.startswith("alloc")
        if method == "alloc":
            method = "alloc_stack" if self._default_stack else "alloc_heap"
        if code == "SPAD-NO-SCOPE" and not allocates:
            return error if self.behaviour == "exact" else IndexError("list index out of range")
        if code == "SPAD-NO-FIT" and allocates:
            text = ("Stack" if method == "alloc_stack" else "Heap") + " out of memory"
            self._log_failure(text.split()[0], error)
        elif code in _TEXTS:
            text = _TEXTS[code].format(method=method, dtype=dtype)
            if code in ("SPAD-NO-SCOPE", "SPAD-HEAP-EMPTY"):
                self.logger.error(text)
            elif code == "SPAD-NO-ADDRESS":
                self.logger.error(text + ".")
            if code == "SPAD-NO-SCOPE" and self._debugs:
                self.logger.debug(f"Stack state: no open scopes, stack_addr={self._cursors()[0]}")
        else:
            return error
        if self.behaviour == "exact" or \
                code == "SPAD-NO-FIT" and error.needed <= self.get_free_space():
            text += f": {error}"  # the library would have found room
        return _kernel_assert(text, error)

    def _log_failure(self, kind, error):
        self.logger.error(f"{kind} OOM: requested={error.needed} B, "
                          f"available={self.get_free_space()} B")
        if self._asked is not None:
            name, shape, dtype = self._asked
            stack, heap = self._cursors()
            self.logger.debug(
                f"Allocation failure: name={name}, shape={shape}, dtype={dtype}, "
                f"size={error.needed} B, stack_addr={stack}, heap_addr={heap}, "
                f"range=[{self.lower_bound}, {self.upper_bound})")
        self._outermost_closed()


BufferManager = SbufManager


def _warn_of_bounds(chip, lower, upper):
    """Bounds are taken as they are, as in the library."""
    usable = chip.usable("sbuf")
    if lower < 0 or upper > usable:
        warnings.warn(f"the region [{lower}, {upper}) passes the {usable} B per partition that "
                      f"sbuf of {chip.name} has for tensors; nl.set_target() chooses another "
                      "chip or its reserve", stacklevel=3)


class _Attempt:
    """SbufManager.attempt(): refusals of the library are exceptions with facts."""

    def __init__(self, manager):
        self._manager, self._mark = manager, manager.mark()
        self._outcome = core.Attempt()

    def __enter__(self):
        return self._outcome

    def __exit__(self, kind, error, trace):
        facts = getattr(error, "facts", error)
        if not isinstance(facts, _spad.FitError):
            return False
        self._manager.rollback(self._mark)
        self._outcome.error = facts
        return True


class _Wordy:
    """The allocations of a manager that logs each of them, or that makes its tensors
    with the real nki.language. Others do not pay for it."""

    def alloc_stack(self, shape: _Shape, dtype: Any, buffer: Any = None, name: str | None = None,
                    base_partition: int = 0, align: int | None = None) -> Any:
        return self._alloc(super().alloc_stack, shape, dtype, buffer, name, base_partition, align)

    def alloc_heap(self, shape: _Shape, dtype: Any, buffer: Any = None, name: str | None = None,
                   base_partition: int = 0, align: int | None = None) -> Any:
        return self._alloc(super().alloc_heap, shape, dtype, buffer, name, base_partition, align)

    def alloc(self, shape: _Shape, dtype: Any, buffer: Any = None, name: str | None = None, base_partition: int = 0,
              align: int | None = None) -> Any:
        if self._space(buffer) == "hbm":
            return self._made(super().alloc(shape, dtype, "hbm", name), dtype, buffer)
        method = self.alloc_stack if self._default_stack else self.alloc_heap
        return method(shape, dtype, buffer, name, base_partition, align)

    def _space(self, buffer):
        """Ours for a buffer of the real language; None: SBUF."""
        for name, space in (("sbuf", None), ("psum", "psum"), ("hbm", "hbm"),
                            ("shared_hbm", "hbm"), ("private_hbm", "hbm")):
            if buffer is not None and buffer is getattr(self._language, name, None):
                return space
        return getattr(buffer, "name", buffer)

    def _made(self, tensor, dtype, buffer):
        """The tensor, of the real language if there is one."""
        nl = self._language
        if nl is None:
            return tensor
        options = {} if tensor.address is None else {"address": tensor.address}
        if tensor.name is not None:
            options["name"] = tensor.name
        return nl.ndarray(tensor.shape, dtype=dtype, buffer=nl.sbuf if buffer is None else buffer,
                          **options)

    def _alloc(self, method, shape, dtype, buffer, name, base_partition, align):
        space = self._space(buffer)
        if not self._debugs:
            return self._made(method(shape, dtype, space, name, base_partition, align), dtype,
                              buffer)
        before = self._cursors()[1]
        self._asked = name, shape, dtype
        try:
            tensor = method(shape, dtype, space, name, base_partition, align)
        finally:
            self._asked = None
        stack, heap = self._cursors()
        what = (f"allocation: name={name}, shape={shape}, dtype={dtype}, size={tensor.bytes} B, "
                "addr_range=[{}, {}), " f"partition={base_partition}")
        if method.__name__ == "alloc_stack":
            self.logger.debug(
                "Stack " + what.format(stack - tensor.bytes, stack)
                + f", align={_spad.dtype_bytes(dtype) if align is None else align}, "
                f"scope_depth={self.depth}, free_space={heap - stack} B")
        else:
            self.logger.debug(
                "Heap " + what.format(heap, self._heap_end(before, heap, tensor.bytes, align))
                + f", heap_depth={len(self.heap)}, free_space={heap - stack} B")
        return self._made(tensor, dtype, buffer)

    def _heap_end(self, before, heap, size, align):
        """The second number of the line about a heap tensor: where the tensor ends. The library
        has where it begins."""
        if self.behaviour == "exact":
            return heap + size
        if self.behaviour == "library_later":
            return heap
        return before // (align or 1) * (align or 1) - size


@functools.cache
def _wordy(cls):
    return cls if issubclass(cls, _Wordy) else type(cls.__name__, (_Wordy, cls), {})


def create_auto_alloc_manager(logger: Any = None, **options: Any) -> SbufManager:
    """A manager that leaves addresses to the compiler, over all of SBUF."""
    chip = _chip.chip(options.get("target"), options.get("use_reserved"))
    return SbufManager(0, chip.usable("sbuf"), logger, use_auto_alloc=True, **options)


# ---- the modular allocator ---------------------------------------------------------------------


class ModularAllocator:
    """A cursor that hands out rings of tiles; no bound, no names, no checks."""

    def __init__(self, initial_address: int = 0) -> None:
        self._cursor = initial_address

    def get_current_address(self) -> int:
        return self._cursor

    def set_current_address(self, address: Any) -> None:
        self._cursor = address

    def alloc_sbuf_tensor(self, shape: _Shape, dtype: Any, block_dim: Sequence[int] | None = None,
                          num_free_tiles: Sequence[int] | None = None, base_partition: int = 0,
                          align_to: int | None = None) -> Any:
        """A tensor, or nested lists of them in the shape of block_dim; tiles of equal index
        modulo num_free_tiles share their bytes."""
        block = list(block_dim or ())
        counts = block if num_free_tiles is None else list(num_free_tiles)
        if len(block) != len(counts):
            raise _kernel_assert(f"block_dim length ({len(block)}) must match num_free_tiles "
                                 f"length ({len(counts)})")
        if 0 in counts:
            raise ZeroDivisionError("integer division or modulo by zero")
        try:
            self._cursor, base, tile = _spad.modular(self._cursor, tuple(shape), dtype,
                                                     block or None, counts or None, align_to or 0)
        except _spad.ArgumentError as error:
            if error.code != "SPAD-DTYPE":
                raise
            raise _kernel_assert(f"dtype size unknown! {dtype}", error) from error
        language = _nki_language()

        def tensor(address):
            if language is not None:
                return language.ndarray(shape, dtype=dtype, buffer=language.sbuf,
                                        address=(base_partition, address))
            return _direct.PlacedTensor(tuple(shape), dtype, (base_partition, address), tile)

        def nested(depth, line):
            if depth == len(block):
                return tensor(base + line * tile)
            return [nested(depth + 1, line * counts[depth] + i % counts[depth])
                    for i in range(block[depth])]

        return nested(0, 0)
