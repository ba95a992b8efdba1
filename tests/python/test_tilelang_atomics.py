# SPDX-License-Identifier: Apache-2.0
"""spad.tilelang.load: stores at places that atomic additions give, and stores of a thread that only data chooses. No verdict is given on
them: they may meet each other."""

import spad.tilelang as T
from test_tilelang_load import SYNC, kernel_tree

THREADS = 64


def buffer(scope, dtype="int32", elements=None):
    return {"dtype": dtype, "scope": scope, "alloc": scope == "local", "bits": 32, "elements": elements}


def atomic_tree(body):
    """A block of 64 threads with a counter n, rows of what is collected, and one element that one thread stores."""
    sizes = {"n": 8, "rows": 512, "found": 4}
    shared, place = {}, 0
    for name, size in sizes.items():
        shared[name] = {"bytes": size, "dtype": "int32", "align": 16, "at": place}
        place += -(-size // 16) * 16
    buffers = {**{name: buffer("shared.dyn") for name in sizes}, **{name: buffer("local", elements=1) for name in "pk"},
               "g": buffer("global"), "out": buffer("global")}
    return kernel_tree(body, buffers=buffers, shared=shared, dynamic_bytes=place)


def load(name, index=0):
    return ["load", name, index]


def store(name, index, value):
    return ["store", name, index, value]


def when(condition, *body):
    return ["if", condition, list(body), []]


def add(name, index, by=1, call="atomic_add_ret_elem_op"):
    return ["call", call, ["call", "tvm_access_ptr", ["s", "int32"], name, index, 1, 3], by]


FOUND = ["<", 0, load("g", "tx")]


def undecided(body):
    """What is not known to be apart."""
    check = T.load(atomic_tree(body)).check()
    assert check.verdict == "unknown" and check.counts["errors"] == 0, check.text()
    return {finding.subject for finding in check if finding.code == "SPAD-RACE"}


def test_places_that_an_atomic_addition_gives():
    reset = when(["==", "tx", 0], store("n", 0, 0))
    given = when(FOUND, store("p", 0, add("n", 0)), store("rows", load("p"), "tx"))
    place = ["+", ["*", "s", THREADS], "tx"]
    read = ["for", "s", 0, ["//", ["+", load("k"), THREADS - 1], THREADS], "serial",
            [when(["<", place, load("k")], store("out", "tx", load("rows", place)))]]
    assert undecided([reset, SYNC, given, SYNC, store("k", 0, load("n")), read]) == {"rows"}


def test_a_thread_that_only_data_chooses():
    assert undecided([when(FOUND, store("found", 0, "tx"))]) == {"found"}
