# SPDX-License-Identifier: Apache-2.0
"""The element-wise work of a lowered kernel: what threads compute from values that they load. The kernel of spad has its accesses and no
operation for it, so that simulated times leave it out (the statement `uncounted` of the kernel language)."""

import re

from ._tree import bodies

NAMES_MOST = 3  # as in the texts of Triton's kernels
_MOVES = frozenset(("reinterpret", "shuffle", "tvm_access_ptr", "address_of", "data", "let", "wide", "ramp"))  # nothing is computed
_WHOLE = re.compile(r"u?int\d+\Z")


def _named(call):
    """'exp2' of ["call", "exp2", ...], and 'tl::AllReduce' of a call of C++."""
    name = call[2][1] if call[1] == "call_extern" and len(call) > 2 and isinstance(call[2], list) and len(call[2]) > 1 else call[1]
    return str(name).partition("<")[0].partition("(")[0]


def _computed(value):
    """(names of operations on loaded values, whether something is loaded) of a value. Places are not looked into: they are
    addresses; so are conditions that follow from them: zeros outside of a tensor are part of the load."""
    if not isinstance(value, list) or value[0] in ("s", "f", "none"):
        return [], False
    if value[0] == "load":
        return [], True
    name, parts = (_named(value), value[2:]) if value[0] == "call" else (value[0], value[2:] if value[0] == "cast" else value[1:])
    found = [_computed(part) for part in parts]
    deciding = found[:1] if value[0] == "select" else found
    own = [] if name in _MOVES or not any(loaded for _, loaded in deciding) else [name]
    return own + [inner for names, _ in found for inner in names], any(loaded for _, loaded in found)


def _is_control(facts):
    """A whole number of each thread, such as a counter or a phase, or a descriptor: not a value of a tensor."""
    scope = facts.get("scope", "")
    one = facts.get("elements") == 1 and (scope == "local.var" or _WHOLE.match(facts.get("dtype", "")))
    return scope.startswith("local.descriptor") or scope.startswith("local") and bool(one)


def _of_statement(statement, buffers):
    """The names of what a statement computes from loaded values."""
    if statement[0] == "store" and not _is_control(buffers.get(statement[1], {})):
        return _computed(statement[3])[0]
    if statement[0] == "do" and isinstance(statement[1], list) and statement[1][:2] == ["call", "call_extern"]:
        name = _named(statement[1])
        return [] if name.startswith("tl::") else [name]  # a function of the program
    return []


def _works(body, buffers, in_loop=False):
    """(names, in a loop) of each statement with such work. Loops over the elements of a tile are unrolled, and are not counted as such."""
    for statement in body:
        names = _of_statement(statement, buffers)
        if names:
            yield names, in_loop
        inside = in_loop or statement[0] == "while" or statement[0] == "for" and statement[4] in ("serial", "pipelined")
        for inner in bodies(statement):
            yield from _works(inner, buffers, inside)


def uncounted(tree):
    """"21 element-wise operations of threads, 18 in loops (exp2, max, * and others)"; "" without such work."""
    works = list(_works(tree["body"], tree["buffers"]))
    if not works:
        return ""
    loops = sum(inside for _, inside in works)
    where = f", {loops} in loops" if 0 < loops < len(works) else " in loops" if loops else ""
    ordered = sorted(works, key=lambda work: not work[1])
    names = list(dict.fromkeys(name for words, _ in ordered for name in words))
    more = " and others" if len(names) > NAMES_MOST else ""
    return f"{len(works)} element-wise operation{'s' if len(works) > 1 else ''} of threads{where} ({', '.join(names[:NAMES_MOST])}{more})"
