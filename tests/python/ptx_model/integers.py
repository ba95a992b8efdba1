# SPDX-License-Identifier: Apache-2.0
"""Instructions on registers: integers and predicates exactly, all others as a hash of their operands.

compute(instruction) gives a function of the registers of a thread, a dict from names to unsigned integers."""

import operator
import zlib

WIDTHS = {"8": 8, "16": 16, "32": 32, "64": 64}


class Registers(dict):
    """A register that was never written has a value of its own."""

    def __missing__(self, name):
        return mixed(name)


def mixed(*values):
    return zlib.crc32(repr(values).encode())


def kind_of(part):
    return (part[0], int(part[1:])) if part[1:] in WIDTHS and part[0] in "busf" else None


def signed(value, bits):
    value &= (1 << bits) - 1
    return value - (1 << bits) if value >> (bits - 1) else value


def typed(value, kind):
    return signed(value, kind[1]) if kind[0] == "s" else value & ((1 << kind[1]) - 1)


def reader(argument):
    if isinstance(argument, int):
        return lambda regs: argument
    if isinstance(argument, tuple) and argument[0] == "not":
        return lambda regs: not regs[argument[1]]
    return lambda regs: regs[argument]


def shift_left(a, b):
    return a << b if b < 64 else 0


def shift_right(a, b):
    return a >> min(b, 64)


def quotient(a, b):
    """Rounded towards zero; by zero it is all ones."""
    return -1 if b == 0 else abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)


COMPARE = {"eq": operator.eq, "ne": operator.ne, "lt": operator.lt, "le": operator.le, "gt": operator.gt,
           "ge": operator.ge, "lo": operator.lt, "ls": operator.le, "hi": operator.gt, "hs": operator.ge}
LOGIC = {"and": operator.and_, "or": operator.or_, "xor": operator.xor}
BINARY = {"add": operator.add, "sub": operator.sub, "min": min, "max": max, "shl": shift_left, "shr": shift_right,
          "div": lambda a, b: quotient(a, b), "rem": lambda a, b: a - b * quotient(a, b), **LOGIC}
UNARY = {"mov": lambda a: a, "cvt": lambda a: a, "not": operator.invert, "neg": operator.neg, "abs": abs,
         "popc": lambda a: a.bit_count()}


def multiply(kind, parts):
    if "hi" in parts:
        return lambda a, b, c=0: (a * b >> kind[1]) + c
    return lambda a, b, c=0: a * b + c


def select_field(a, at, length):
    return a >> (at & 255) & ((1 << (length & 255)) - 1)


def insert_field(a, b, at, length):
    mask = ((1 << (length & 255)) - 1) << (at & 255)
    return b & ~mask | (a << (at & 255)) & mask


def exact(op, parts, kind):
    """The function of an instruction on integers, or nothing."""
    if kind[0] == "f" and op not in ("mov", "selp"):
        return None
    if op in ("mul", "mad"):
        return multiply(kind, parts)
    if op == "lop3":
        return lambda a, b, c, table: sum(1 << n for n in range(32)
                                          if table >> ((a >> n & 1) << 2 | (b >> n & 1) << 1 | (c >> n & 1)) & 1)
    if op == "selp":
        return lambda a, b, p: a if p & 1 else b
    if op == "bfe" and kind[0] == "u":
        return select_field
    return {"bfi": insert_field, **BINARY, **UNARY}.get(op)


def compare(instruction):
    """setp with an optional second operation on a predicate, and an optional second result."""
    op, parts, args = instruction.op, instruction.parts, instruction.args
    kind = kind_of(parts[-1])
    how, join = COMPARE.get(parts[1]), LOGIC.get(parts[2])
    outputs = args[0] if isinstance(args[0], list) else [args[0]]
    a, b, *more = [reader(argument) for argument in args[1:]]

    def run(regs):
        if kind[0] == "f":
            value = bool(mixed(op, a(regs), b(regs)) & 1)
        else:
            value = how(typed(a(regs), kind), typed(b(regs), kind))
        for name, one in zip(outputs, (value, not value)):
            regs[name] = bool(join(one, bool(more[0](regs)))) if more else one
    return run


def move_vector(instruction):
    """mov between a register and a vector of its parts."""
    bits, (to, source) = int(instruction.parts[-1][1:]), instruction.args
    if isinstance(to, list):
        get, each = reader(source), bits // len(to)
        return lambda regs: regs.update({name: get(regs) >> each * n & ((1 << each) - 1) for n, name in enumerate(to)})
    gets, each = [reader(one) for one in source], bits // len(source)
    return lambda regs: regs.update({to: sum((get(regs) & ((1 << each) - 1)) << each * n for n, get in enumerate(gets))})


def compute(instruction):
    op, parts, args = instruction.parts[0], instruction.parts, instruction.args
    kinds = [kind for kind in map(kind_of, parts[1:]) if kind]
    if op == "setp":
        return compare(instruction)
    if op == "mov" and any(isinstance(argument, list) for argument in args):
        return move_vector(instruction)
    to, gets = args[0], [reader(argument) for argument in args[1:]]
    if parts[-1] == "pred":
        how = LOGIC.get(op) or {"not": operator.not_, "mov": bool}[op]
        return lambda regs: regs.__setitem__(to, bool(how(*[bool(get(regs)) for get in gets])))
    given = kinds[-1] if kinds else ("b", 32)
    result = (1 << (given[1] * 2 if "wide" in parts else kinds[0][1] if op == "cvt" else given[1])) - 1
    function = exact(op, parts, given) if not any(kind[0] == "f" for kind in kinds) or op in ("mov", "selp") else None
    if function is None:
        kept = instruction.op
        commutes = op in ("add", "mul", "min", "max")
        return lambda regs: regs.__setitem__(
            to, mixed(kept, *(sorted if commutes else list)([get(regs) for get in gets])) & result)
    if op == "mov":
        get = gets[0]
        return lambda regs: regs.__setitem__(to, get(regs) & result)
    if op in ("add", "and", "or", "xor", "sub"):
        left, right = gets
        return lambda regs: regs.__setitem__(to, function(left(regs), right(regs)) & result)
    last_untyped = op in ("shl", "shr", "selp")  # the amount, the predicate

    def run(regs):
        values = [get(regs) if last_untyped and n == len(gets) - 1 else typed(get(regs), given) for n, get in enumerate(gets)]
        regs[to] = int(function(*values)) & result
    return run
