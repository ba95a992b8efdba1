# SPDX-License-Identifier: Apache-2.0
"""Drop-in for the allocators of the NKI library and of NKI's direct allocation.

    from nkilib.core.utils.allocator import SbufManager      # before
    from spad.nki import SbufManager                         # after

Names, arguments, log lines and messages are those of nki-library's allocator module and of
neuronxcc.nki.compiler. The behaviour is `exact` unless another one is asked for: see
docs/nki.md for what differs. Where a real nki.language can be imported, managers make
their tensors with it; elsewhere tensors are light objects with address, shape, dtype, name.
"""

import contextvars
import enum
import functools
import importlib
import importlib.util
import math
import os
import sys
from contextlib import contextmanager

from . import _spad
from . import core

# ---- names of nki.language that callers need -------------------------------------------------

bool_ = "bool"
int8, int16, int32 = "int8", "int16", "int32"
uint8, uint16, uint32 = "uint8", "uint16", "uint32"
float16, bfloat16, tfloat32, float32 = "float16", "bfloat16", "tfloat32", "float32"
float8_e4m3, float8_e5m2, float8_e4m3fn = "float8_e4m3", "float8_e5m2", "float8_e4m3fn"
float8_e4m3fn_x4, float8_e5m2_x4 = "float8_e4m3fn_x4", "float8_e5m2_x4"
float4_e2m1fn_x4 = "float4_e2m1fn_x4"

_defaults = {"target": "trn2", "behaviour": "exact"}


def set_target(name):
    """The chip of managers that are made from now on: trn1, trn2 or trn3."""
    core.Target(name)
    _defaults["target"] = name


def set_behaviour(name):
    """The behaviour of managers that are made from now on: exact, library_2026_04 or
    library_later."""
    if name not in ("exact", "library_2026_04", "library_later"):
        raise _spad.ArgumentError(f"'{name}' is no behaviour")
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
    def total_available_sbuf_size(self):
        return core.Target(_defaults["target"]).usable("sbuf")


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


def affine_range(*args, **options):
    """A loop whose iterations do not depend on each other; arguments as of range."""
    return _loop("affine_range", args, options)


def sequential_range(*args, **options):
    """A loop whose iterations depend on each other."""
    return _loop("sequential_range", args, options)


def static_range(*args, **options):
    """A loop that is unrolled."""
    return _loop("static_range", args, options)


def jit(func=None, **options):
    """@nki.jit: runs the function as it is, which is enough for its allocations. Where there is a
    real nki its own decorator is taken."""
    if func is None:
        return functools.partial(jit, **options)
    language = _nki_language()
    if language is None:
        return func
    return sys.modules[language.__name__.rpartition(".")[0]].jit(func, **options)


# ---- sizes ------------------------------------------------------------------------------------

_KNOWN = {
    "float32", "int32", "uint32", "bfloat16", "float16", "uint16", "int16", "int8", "uint8",
    "float8_e4m3", "float8_e4m3fn", "float8_e5m2", "float8_e4m3fn_x4", "float8_e5m2_x4",
    "float4_e2m1fn_x4",
}


class ValidationError(AssertionError):
    """An assertion of the library, with the facts of spad.Error as attributes of `facts`."""

    facts = None


def _kernel_assert(message, facts=None):
    error = ValidationError(
        f"[INTERNAL_ERROR] [NCC_INKI016] Kernel validation exception: {message} - Please check "
        "the validation message and adjust kernel inputs accordingly")
    error.facts = facts
    error.__cause__ = facts
    return error


def sizeinbytes(dtype):
    """Bytes of an element; types that the library does not know are refused."""
    try:
        if _spad.dtype_name(dtype) in _KNOWN:
            return _spad.dtype_bytes(dtype)
    except _spad.ArgumentError:
        pass
    raise _kernel_assert(f"dtype size unknown! {dtype}")


def align_to(value, alignment):
    """The next multiple of an alignment."""
    return (value + alignment - 1) // alignment * alignment


def num_elts(shape):
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

    def __init__(self, name="SBM", level=INFO):
        self.name, self.level = name, level

    def is_enabled_for(self, level):
        return level.value >= self.level.value

    def _print(self, level, message):
        if self.is_enabled_for(level):
            name = f"[{self.name}] " if self.name else ""
            print(f"[{level.name}] {name}{message}")

    def debug(self, message):
        self._print(DEBUG, message)

    def info(self, message):
        self._print(INFO, message)

    def warn(self, message):
        self._print(WARN, message)

    def error(self, message):
        self._print(ERROR, message)


def get_logger(name, level=INFO):
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

    Beyond it: behaviour ("exact", "library_2026_04", "library_later"), target, and all that
    spad.Stack has: scope(), attempt(), live(), overlaps(), mark(), rollback(), report().
    """

    def __new__(cls, sb_lower_bound, sb_upper_bound, logger=None, use_auto_alloc=False,
                default_stack_alloc=True, *, behaviour=None, target=None, trace=None):
        logger = get_logger("SBM") if logger is None else logger
        language = _nki_language()
        debugs = _is_on(logger, DEBUG)
        if language is not None or debugs:
            cls = _wordy(cls)
        self = super().__new__(
            cls, target or _defaults["target"], "sbuf", sb_lower_bound, sb_upper_bound,
            behaviour or _defaults["behaviour"], debugs or None if trace is None else trace,
            bool(use_auto_alloc), not default_stack_alloc)
        self.logger = logger
        self.lower_bound, self.upper_bound = sb_lower_bound, sb_upper_bound
        self._default_stack = bool(default_stack_alloc)
        self._language, self._debugs, self._asked = language, debugs, None
        self._level = DEBUG if self.behaviour == "library_later" else INFO
        self._tells = _is_on(logger, self._level)  # the level is examined once, here
        self._tell(f"SBM initialized: range=[{sb_lower_bound}, {sb_upper_bound}), "
                   f"size={sb_upper_bound - sb_lower_bound} B")
        if debugs:
            logger.debug(f"SBM config: auto_alloc={use_auto_alloc}, "
                         f"default_stack={default_stack_alloc}, stack_start={sb_lower_bound}, "
                         f"heap_start={sb_upper_bound}")
        return self

    @property
    def heap(self):
        """The heap tensors that are alive, oldest first, as in live()."""
        return sorted((t for t in self.live() if t["mode"] == "heap"), key=lambda t: t["number"])

    def is_default_stack_alloc(self):
        """Does alloc() use the stack?"""
        return self._default_stack

    def is_default_heap_alloc(self):
        """Does alloc() use the heap?"""
        return not self._default_stack

    def alloc_hbm(self, shape, dtype, buffer=None, name=None):
        """A tensor with a name that is off chip."""
        return self.alloc(shape, dtype, shared_hbm if buffer is None else buffer, name)

    def flush_logs(self):
        """Prints the tree of what is new, a line at a time."""
        if self._debugs:
            for line in self.log().splitlines():
                self.logger.debug(line)

    def _tell(self, line):
        """Logs at the level of this behaviour."""
        if self._tells:
            (self.logger.debug if self._level is DEBUG else self.logger.info)(line)

    def _outermost_closed(self):
        self.flush_logs()
        if self._tells and (self.behaviour != "exact" or self.get_total_space() > 0):
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
        if self.behaviour == "exact":
            text += f": {error}"
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


class _Wordy:
    """The allocations of a manager that logs each of them, or that makes its tensors
    with the real nki.language. Others do not pay for it."""

    def alloc_stack(self, shape, dtype, buffer=None, name=None, base_partition=0, align=None):
        return self._alloc(super().alloc_stack, shape, dtype, buffer, name, base_partition, align)

    def alloc_heap(self, shape, dtype, buffer=None, name=None, base_partition=0, align=None):
        return self._alloc(super().alloc_heap, shape, dtype, buffer, name, base_partition, align)

    def alloc(self, shape, dtype, buffer=None, name=None, base_partition=0, align=None):
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


def create_auto_alloc_manager(logger=None, **options):
    """A manager that leaves addresses to the compiler, over all of SBUF."""
    return SbufManager(0, tile_size.total_available_sbuf_size, logger, use_auto_alloc=True,
                       **options)


# ---- the modular allocator ---------------------------------------------------------------------


class ModularAllocator:
    """A cursor that hands out rings of tiles; no bound, no names, no checks."""

    def __init__(self, initial_address=0):
        self._cursor = initial_address

    def get_current_address(self):
        return self._cursor

    def set_current_address(self, address):
        self._cursor = address

    def alloc_sbuf_tensor(self, shape, dtype, block_dim=None, num_free_tiles=None,
                          base_partition=0, align_to=None):
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
            return Tile(tuple(shape), dtype, (base_partition, address), tile)

        def nested(depth, line):
            if depth == len(block):
                return tensor(base + line * tile)
            return [nested(depth + 1, line * counts[depth] + i % counts[depth])
                    for i in range(block[depth])]

        return nested(0, 0)


class Tile:
    """A tensor with an address."""

    __slots__ = ("shape", "dtype", "address", "bytes", "bank", "index")

    def __init__(self, shape, dtype, address, bytes, bank=0, index=()):
        self.shape, self.dtype, self.address = shape, dtype, address
        self.bytes, self.bank, self.index = bytes, bank, index

    def __repr__(self):
        return f"Tile(shape={self.shape}, dtype={self.dtype}, address={self.address})"


# ---- direct allocation (neuronxcc.nki.compiler) -------------------------------------------------


class par_dim(int):
    """Marks the partition dimension of a shape."""


class Placement:
    """What sbuf.alloc(...) and the like return: the `buffer` of an ndarray."""

    def __init__(self, space, mode, **facts):
        self.name, self.mode, self.facts = space, mode, facts


class _Sbuf:
    name = "sbuf"

    def alloc(self, func):
        """func(idx, pdim_size, fdim_size) -> (start_partition, byte_addr)"""
        return Placement("sbuf", "func", func=func)

    def mod_alloc(self, *, base_addr, base_partition=0, num_par_tiles=(), num_free_tiles=()):
        """Tiles at the block index modulo the number of physical tiles."""
        return Placement("sbuf", "mod", base=(base_partition, base_addr),
                         par_tiles=num_par_tiles, free_tiles=num_free_tiles)

    def auto_alloc(self):
        """Leaves the place to the planner."""
        return Placement("sbuf", "auto")


class _Psum:
    name = "psum"

    def alloc(self, func):
        """func(idx, pdim_size, fdim_size) -> (bank, start_partition, byte_addr)"""
        return Placement("psum", "func", func=func)

    def mod_alloc(self, *, base_bank, base_addr=0, base_partition=0, num_bank_tiles=(),
                  num_par_tiles=(), num_free_tiles=()):
        """Tiles at the block index modulo the number of banks."""
        return Placement("psum", "mod", base=(base_bank, base_partition, base_addr),
                         bank_tiles=num_bank_tiles, par_tiles=num_par_tiles,
                         free_tiles=num_free_tiles)

    def auto_alloc(self):
        """Leaves the place to the planner."""
        return Placement("psum", "auto")


class _Hbm:
    def __init__(self, name, output=False):
        self.name, self.output = name, output


sbuf, psum = _Sbuf(), _Psum()
hbm, private_hbm, shared_hbm = _Hbm("hbm"), _Hbm("hbm"), _Hbm("hbm", True)

_kernel = contextvars.ContextVar("spad.nki.kernel", default=None)
_forced = contextvars.ContextVar("spad.nki.force_auto", default=False)


class DirectKernel(_spad.Direct):
    """The tensors of a kernel with direct allocation: overlaps(), findings(), trace."""

    def __new__(cls, target=None, force_auto=False):
        chip = core.Target(target or _defaults["target"])
        trace = core.Trace(chip)
        self = super().__new__(cls, chip, force_auto, trace)
        self.trace = trace
        self.target = chip
        return self

    def report(self, title=None):
        """A Report of all tiles."""
        return self.trace.report(title)

    def _repr_svg_(self):
        return self.report().svg()

    def __repr__(self):
        return f"<spad.nki.DirectKernel on {self.target.name} of {len(self)} tensors>"


@contextmanager
def kernel(target=None, force_auto=False):
    """Collects the ndarrays of the with block, so that they can be checked together."""
    made = DirectKernel(target, force_auto or _forced.get())
    token = _kernel.set(made)
    try:
        yield made
    finally:
        _kernel.reset(token)
        made.close()


def force_auto_alloc(func):
    """Decorator: ignores all direct allocation in func, to find out whether it is wrong."""

    @functools.wraps(func)
    def forced(*args, **keywords):
        token = _forced.set(True)
        try:
            return func(*args, **keywords)
        finally:
            _forced.reset(token)

    return forced


class ndarray:
    """nl.ndarray for direct allocation: (block dims..., par_dim(P), free dims...). Indexing
    gives the Tile of a block index; address is (partition, byte) of the first one."""

    def __init__(self, shape, dtype, buffer=None, name=None, address=None):
        where = next((i for i, n in enumerate(shape) if isinstance(n, par_dim)), 0)
        self.shape, self.dtype, self.name = tuple(int(n) for n in shape), dtype, name
        self.block, self.tile = self.shape[:where], self.shape[where:]
        buffer = sbuf.auto_alloc() if buffer is None else buffer
        self.buffer = buffer
        facts = dict(getattr(buffer, "facts", {}))
        mode = getattr(buffer, "mode", "auto")
        if address is not None:
            mode, facts = "at", {"base": address}
        space = buffer if isinstance(buffer, str) else buffer.name
        home = _kernel.get()
        self.kernel = DirectKernel(force_auto=_forced.get()) if home is None else home
        number = self.kernel.declare(
            space, self.tile, dtype, self.block or None, name, mode,
            output=bool(getattr(buffer, "output", False)),
            **{key: value or None if key != "base" else value for key, value in facts.items()})
        self.tiles = [
            Tile(self.tile, dtype, None if row["byte"] is None else (row["lane"], row["byte"]),
                 row["bytes"], row["bank"], row["index"])
            for row in self.kernel.tiles(number)]

    @property
    def address(self):
        return self.tiles[0].address

    def __getitem__(self, index):
        index = index if isinstance(index, tuple) else (index,)
        if len(index) != len(self.block):
            raise IndexError(f"block index {index} of an ndarray with {len(self.block)} block "
                             "dimensions")
        line = 0
        for extent, at in zip(self.block, index):
            if not 0 <= at < extent:
                raise IndexError(f"block index {index} is outside {self.block}")
            line = line * extent + at
        return self.tiles[line]

    def __iter__(self):
        """The tiles, in the order of their block indices."""
        return iter(self.tiles)

    def __len__(self):
        """How many tiles there are."""
        return len(self.tiles)

    def __repr__(self):
        return f"ndarray(name={self.name!r}, shape={self.shape}, address={self.address})"
