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
import functools
import importlib
import importlib.util
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


tile_size = _TileSize()


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


# ---- logs -------------------------------------------------------------------------------------

DEBUG, INFO, WARNING, ERROR, OFF = 10, 20, 30, 40, 100
_LEVELS = {"DEBUG": DEBUG, "INFO": INFO, "WARNING": WARNING, "WARN": WARNING, "ERROR": ERROR,
           "OFF": OFF, "NONE": OFF}


class Logger:
    """Prints "[name] message". NKILIB_LOG_LEVEL_<name>, then NKILIB_LOG_LEVEL, then `level`
    say from which level on; INFO if nothing does."""

    def __init__(self, name="SBM", level=INFO):
        self.name = name
        for variable in (f"NKILIB_LOG_LEVEL_{name}", "NKILIB_LOG_LEVEL"):
            word = os.environ.get(variable)
            if word:
                level = _LEVELS.get(word.upper(), level)
                break
        self.level = level

    def isEnabledFor(self, level):
        return level >= self.level

    def _print(self, level, message):
        if self.isEnabledFor(level):
            print(f"[{self.name}] {message}")

    def debug(self, message):
        self._print(DEBUG, message)

    def info(self, message):
        self._print(INFO, message)

    def warning(self, message):
        self._print(WARNING, message)

    def error(self, message):
        self._print(ERROR, message)


def _is_on(logger, level):
    enabled = getattr(logger, "isEnabledFor", None) or getattr(logger, "is_enabled_for", None)
    return True if enabled is None else enabled(level)


# ---- the manager ------------------------------------------------------------------------------

_TEXTS = {
    "SPAD-NO-SCOPE": "Cannot allocate in stack without an open scope",
    "SPAD-HEAP-EMPTY": "Heap underflow: pop called on empty heap",
    "SPAD-SPACE": "{method} is only supported for SBUF tensors",
    "SPAD-NO-ADDRESS": "{method} is not supported in auto-allocation mode",
    "SPAD-DTYPE": "dtype size unknown! {subject}",
}


class SbufManager(core.Stack):
    """SbufManager(sb_lower_bound, sb_upper_bound, logger=None, use_auto_alloc=False,
    default_stack_alloc=True): the manager of nki-library's allocator module.

    Beyond it: behaviour ("exact", "library_2026_04", "library_later"), target, and all that
    spad.Stack has: scope(), attempt(), live(), overlaps(), mark(), rollback(), report().
    """

    def __new__(cls, sb_lower_bound, sb_upper_bound, logger=None, use_auto_alloc=False,
                default_stack_alloc=True, *, behaviour=None, target=None, trace=None):
        logger = Logger() if logger is None else logger
        language = _nki_language()
        if language is not None and cls is SbufManager:
            cls = _NkiManager
        traced = trace if trace is not None else _is_on(logger, DEBUG) or None
        self = super().__new__(
            cls, target or _defaults["target"], "sbuf", sb_lower_bound, sb_upper_bound,
            behaviour or _defaults["behaviour"], traced, bool(use_auto_alloc),
            not default_stack_alloc)
        self.logger = logger
        self._language = language
        self._stats_level = DEBUG if self.behaviour == "library_later" else INFO
        self._tells = _is_on(logger, self._stats_level)  # the level is looked at once, here
        return self

    def _outermost_closed(self):
        self.flush_logs()
        self._log_stats()

    def flush_logs(self):
        """Prints the tree of what is new."""
        if self.trace is not None and _is_on(self.logger, DEBUG):
            text = self.log()
            if text:
                self.logger.debug(text.rstrip("\n"))

    def _log_stats(self):
        if _is_on(self.logger, self._stats_level):
            log = self.logger.debug if self._stats_level == DEBUG else self.logger.info
            log(self.stats_line().rstrip("\n"))

    def _translate(self, method, error):
        """The exception of the library for one of ours."""
        if error.code == "SPAD-NO-SCOPE" and not method.startswith("alloc"):
            return error if self.behaviour == "exact" else IndexError("list index out of range")
        if error.code == "SPAD-NO-FIT" and method.startswith("alloc"):
            kind = "Heap" if method == "alloc_heap" or (
                method == "alloc" and str(error).startswith("heap")) else "Stack"
            self.logger.error(f"[SBM] {kind} out of memory: requested={error.needed} B, "
                              f"available={self.get_free_space()} B")
            self.flush_logs()
            self._log_stats()
            text = f"{kind} out of memory"
        elif error.code in _TEXTS:
            text = _TEXTS[error.code].format(method=method, subject=error.subject)
        else:
            return error
        if self.behaviour == "exact":
            text += f": {error}"
        return _kernel_assert(text, error)


BufferManager = SbufManager


class _NkiManager(SbufManager):
    """A manager whose tensors are those of the real nki.language."""

    def _alloc(self, method, shape, dtype, buffer, name, base_partition, align):
        nl = self._language
        space = {id(getattr(nl, n, None)): s for n, s in
                 (("sbuf", None), ("psum", "psum"), ("hbm", "hbm"), ("shared_hbm", "hbm"),
                  ("private_hbm", "hbm"))}.get(id(buffer), buffer)
        made = method(shape, dtype, space, name, base_partition, align)
        options = {} if made.address is None or space == "hbm" else {"address": made.address}
        if made.name is not None:
            options["name"] = made.name
        return nl.ndarray(made.shape, dtype=dtype, buffer=nl.sbuf if buffer is None else buffer,
                          **options)

    def alloc_stack(self, shape, dtype, buffer=None, name=None, base_partition=0, align=None):
        return self._alloc(super().alloc_stack, shape, dtype, buffer, name, base_partition, align)

    def alloc_heap(self, shape, dtype, buffer=None, name=None, base_partition=0, align=None):
        return self._alloc(super().alloc_heap, shape, dtype, buffer, name, base_partition, align)

    def alloc(self, shape, dtype, buffer=None, name=None, base_partition=0, align=None):
        return self._alloc(super().alloc, shape, dtype, buffer, name, base_partition, align)


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
        counts = num_free_tiles if num_free_tiles is not None else block_dim
        if block_dim is not None and len(block_dim) != len(counts):
            raise _kernel_assert(f"block_dim has {len(block_dim)} dimensions and num_free_tiles "
                                 f"has {len(counts)}")
        if block_dim is not None and 0 in counts:
            raise ZeroDivisionError("integer division or modulo by zero")
        self._cursor, base, tile = _spad.modular(
            self._cursor, tuple(shape), dtype, tuple(block_dim) if block_dim else None,
            tuple(counts) if block_dim else None, align_to or 0)
        language = _nki_language()

        def tensor(address):
            if language is not None:
                return language.ndarray(shape, dtype=dtype, buffer=language.sbuf,
                                        address=(base_partition, address))
            return Tile(tuple(shape), dtype, (base_partition, address), tile)

        def nested(depth, line):
            if depth == len(block_dim or ()):
                return tensor(base + line * tile)
            return [nested(depth + 1, line * counts[depth] + i % counts[depth])
                    for i in range(block_dim[depth])]

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
        return core.trace_report(self.trace, title)


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
        line = 0
        for extent, at in zip(self.block, index):
            if not 0 <= at < extent:
                raise IndexError(f"block index {index} is outside {self.block}")
            line = line * extent + at
        return self.tiles[line]

    def __repr__(self):
        return f"ndarray(name={self.name!r}, shape={self.shape}, address={self.address})"
