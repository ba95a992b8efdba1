# SPDX-License-Identifier: Apache-2.0
"""The rules of nki-library's BufferManager (April 2026, and the version after it) as plain Python.

Written from the rules, not for speed: the drop-in is compared with it, and measured against it.
Every number is a plain int; // rounds down.
"""

from math import prod

SIZES = {"uint8": 1, "int8": 1, "bfloat16": 2, "float16": 2, "float32": 4, "int32": 4,
         "float8_e4m3fn_x4": 4, "float4_e2m1fn_x4": 2}


class Refused(Exception):
    pass


class Scope:
    __slots__ = ("start", "degree", "section", "high", "name")

    def __init__(self, start, degree, name):
        self.start, self.degree, self.section, self.high, self.name = start, degree, 0, start, name


class Tensor:
    __slots__ = ("shape", "dtype", "name", "address")

    def __init__(self, shape, dtype, name, address):
        self.shape, self.dtype, self.name, self.address = shape, dtype, name, address


def up(value, align):
    return (value + align - 1) // align * align


def down(value, align):
    return value // align * align


class Manager:
    """later=True: heap bases are aligned and pop_heap restores exactly."""

    def __init__(self, lower, upper, later=False, automatic=False, logged=True):
        self.lower, self.upper, self.later = lower, upper, later
        self.automatic, self.logged = automatic, logged
        self.sp, self.hp = lower, upper
        self.scopes, self.heap = [], []
        self.prefix = ""
        self.lines = []  # (depth, text)
        self.counts = [0, 0]
        self.peaks = [0, 0, 0]
        self.said = []  # (level, line): what the logger was told
        self._tell("debug" if later else "info",
                   f"SBM initialized: range=[{lower}, {upper}), size={upper - lower} B")
        self._tell("debug", f"SBM config: auto_alloc={automatic}, default_stack=True, "
                            f"stack_start={lower}, heap_start={upper}")

    def _tell(self, level, line):
        if self.logged:
            self.said.append((level, line))

    def _flush(self):
        for line in self.tree().splitlines():
            self._tell("debug", line)
        if self.logged:
            self._tell("debug" if self.later else "info", self.stats_line().rstrip("\n"))

    def _refuse(self, kind, count, name, shape, dtype):
        self._tell("error", f"{kind} OOM: requested={count} B, available={self.hp - self.sp} B")
        self._tell("debug", f"Allocation failure: name={name}, shape={shape}, dtype={dtype}, "
                            f"size={count} B, stack_addr={self.sp}, heap_addr={self.hp}, "
                            f"range=[{self.lower}, {self.upper})")
        self._flush()
        raise Refused(f"{kind} out of memory")

    def _log(self, text):
        self.lines.append((len(self.scopes), text))

    def _named(self, name):
        return None if name is None else self.prefix + name

    def _peak(self, kind):
        self.counts[kind] += 1
        stack, heap = self.sp - self.lower, self.upper - self.hp
        for i, value in enumerate((stack, heap, stack + heap)):
            if value > self.peaks[i]:
                self.peaks[i] = value

    def open_scope(self, degree=1, name=""):
        shown = f"'{name}'" if name else "(unnamed)"
        if self.logged:
            self._log(f"▶ SCOPE {shown} [interleave={degree}] @ {self.sp}")
        self.scopes.append(Scope(self.sp, degree, name))

    def close_scope(self):
        scope = self.scopes.pop()
        shown = f"'{scope.name}'" if scope.name else "(unnamed)"
        if self.logged:
            self._log(f"◀ END {shown} freed={self.sp - scope.start} B")
        self.sp = scope.start
        if self.scopes:
            top = self.scopes[-1]
            if scope.high > top.high:
                top.high = scope.high
        elif self.logged:
            self._flush()

    def increment_section(self):
        top = self.scopes[-1]
        top.section += 1
        if top.section == top.degree:
            top.section = 0
            self.sp = top.start
            if len(self.scopes) > 1:
                around = self.scopes[-2]
                if top.high > around.high:
                    around.high = top.high
            top.high = top.start
            if self.logged:
                self._log(f"↻ section: 0/{top.degree} @ {self.sp}")
        else:
            self.sp = top.high
            if self.logged:
                self._log(f"↳ section: {top.section}/{top.degree} @ {self.sp}")

    def alloc_stack(self, shape, dtype, name=None, align=None):
        size = SIZES[dtype]
        count = prod(shape[1:]) * size
        if not self.automatic and self.sp + count > self.hp:
            self._refuse("Stack", count, name, shape, dtype)
        if not self.scopes:
            self._tell("error", "Cannot allocate in stack without an open scope")
            self._tell("debug", f"Stack state: no open scopes, stack_addr={self.sp}")
            raise Refused("Cannot allocate in stack without an open scope")
        align = align if align is not None else size
        self.sp = up(self.sp, align)
        address = self.sp
        self.sp += count
        top = self.scopes[-1]
        if self.sp > top.high:
            top.high = self.sp
        self._peak(0)
        full = self._named(name)
        if self.logged:
            self._log(f"{full or '(unnamed)'}: {count} B @ {address} {shape} {dtype}")
            self._tell("debug", f"Stack allocation: name={name}, shape={shape}, dtype={dtype}, "
                                f"size={count} B, addr_range=[{address}, {self.sp}), partition=0, "
                                f"align={align}, scope_depth={len(self.scopes)}, "
                                f"free_space={self.hp - self.sp} B")
        return Tensor(shape, dtype, full, None if self.automatic else (0, address))

    def alloc_heap(self, shape, dtype, name=None, align=None):
        count = prod(shape[1:]) * SIZES[dtype]
        if not self.automatic and self.sp + count > self.hp:
            self._refuse("Heap", count, name, shape, dtype)
        before = self.hp
        if self.later:
            self.hp = down(self.hp - count, 4 if align is None else align)
            address = self.hp
        else:
            if align is not None:
                self.hp = down(self.hp, align)
            address = self.hp - count
            self.hp = down(address, 4)
        full = self._named(name)
        self.heap.append((full, count, before))
        self._peak(1)
        if self.logged:
            self._log(f"[HEAP+] {full or '(unnamed)'}: {count} B @ {self.hp} {shape} {dtype}")
            self._tell("debug", f"Heap allocation: name={name}, shape={shape}, dtype={dtype}, "
                                f"size={count} B, addr_range=[{self.hp}, {address}), partition=0, "
                                f"heap_depth={len(self.heap)}, free_space={self.hp - self.sp} B")
        return Tensor(shape, dtype, full, None if self.automatic else (0, address))

    def pop_heap(self):
        if not self.heap:
            self._tell("error", "Heap underflow: pop called on empty heap")
            raise Refused("Heap underflow: pop called on empty heap")
        full, count, before = self.heap.pop()
        self.hp = before if self.later else down(self.hp + count, 4)
        if self.logged:
            self._log(f"[HEAP-] FREE {full or '(unnamed)'}: {count} B, remaining={len(self.heap)}")

    def tree(self):
        """The log as the library draws it: the last entry of a depth, up to a shallower one,
        gets the corner."""
        if not self.lines:
            return ""
        out = ["[SBM] Allocations:"]
        for i, (depth, text) in enumerate(self.lines):
            last = True
            for other, _ in self.lines[i + 1:]:
                if other <= depth:
                    last = other < depth
                    break
            sign = "" if depth == 0 else "│   " * (depth - 1) + ("└── " if last else "├── ")
            out.append("    " + sign + text)
        self.lines = []
        return "\n".join(out) + "\n"

    def stats_line(self):
        total = self.upper - self.lower
        most = self.peaks[2]
        return (f"[SBM] SB memory statistics: max_usage={most} B ({100 * most // total}%), "
                f"free={total - most} B, stack={self.peaks[0]} B ({self.counts[0]} allocs), "
                f"heap={self.peaks[1]} B ({self.counts[1]} allocs)\n")
