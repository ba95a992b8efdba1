# SPDX-License-Identifier: Apache-2.0
"""Dynamic sizes of a kernel that TileLang lowered: numbers that the host passes with each launch. A tree with values for
them has numbers in their place, and what was computed from numbers alone is a number too."""

import operator

from .. import _spad
from ._tree import STATEMENTS

ASSUMED = 1024  # where a size decides what waits for what, and none is given
FIXED = "fixed"  # a loop whose rounds come from a size: they are those of the size, and no others

_FOLD = {"+": operator.add, "-": operator.sub, "*": operator.mul, "//": operator.floordiv, "%": operator.mod,
         "min": min, "max": max, "<<": operator.lshift, ">>": operator.rshift, "&": operator.and_, "|": operator.or_,
         "^": operator.xor, "<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge, "==": operator.eq,
         "!=": operator.ne}


class NeedsSize(Exception):
    """The names of dynamic sizes that decide what waits for what."""

    def __init__(self, names):
        super().__init__(", ".join(sorted(names)))
        self.names = set(names)


def names(tree):
    """The dynamic sizes of a kernel: its parameters that are whole numbers."""
    return tree.get("sizes", [])


def _folded(tree, sizes):
    if isinstance(tree, str):
        return sizes.get(tree, tree)
    if not isinstance(tree, list) or not tree:
        return tree
    skip = 2 if tree[0] in ("call", "cast", "load", "s") else 1
    made = tree[:skip] + [_folded(part, sizes) for part in tree[skip:]]
    if made[0] == "cast" and isinstance(made[2], int) and made[1].startswith(("int", "uint")):
        return made[2]
    if made[0] in _FOLD and all(isinstance(part, int) for part in made[1:]):
        if made[0] in ("//", "%") and made[2] == 0 or made[0] in ("<<", ">>") and not 0 <= made[2] < 64:
            return made
        return int(_FOLD[made[0]](*made[1:]))
    return made


def _body(body, sizes):
    out = []
    for statement in body:
        made = [statement[0]]
        for kind, part in zip(STATEMENTS[statement[0]], statement[1:]):
            made.append(_body(part, sizes) if kind == "b" else _folded(part, sizes) if kind == "e" else part)
        if made[0] == "for" and made[2:4] != statement[2:4] and made[4] in ("serial", "pipelined"):
            made[4] = FIXED
        if made[0] == "for" and isinstance(made[3], int) and made[3] <= 0:
            continue  # no rounds at this size
        out.append(made)
    return out


def with_sizes(tree, sizes):
    """The tree of a kernel with values of dynamic sizes."""
    known = names(tree)
    for name, value in sizes.items():
        if name not in known:
            raise _spad.ArgumentError(f"'{name}' is no dynamic size of '{tree['name']}': it has {', '.join(known) or 'none'}")
        if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value < 1 << 31:
            raise _spad.ArgumentError(f"the size '{name}' is a number from 0 to {(1 << 31) - 1}, not {value!r}")
    if not sizes:
        return tree
    return {**tree, "body": _body(tree["body"], sizes), "grid": [_folded(extent, sizes) for extent in tree["grid"]]}
