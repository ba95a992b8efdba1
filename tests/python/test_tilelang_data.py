# SPDX-License-Identifier: Apache-2.0
"""spad.tilelang.load: kernels in which data decides rounds, copies or places (docs/tilelang-reference.md, "Numbers from data")."""

import pytest

import spad.tilelang as T
from test_tilelang_load import SYNC, THOROUGH, _SYNC, _installed, at, kernel_tree, noticed, shown, sites, tree_of, verdict, without
from tilelang_kernels import DATA, PASSES

PROVED = {"lengths_sm_80": "for all data_n", "lengths_sm_90": "for all data_n", "masked_sm_90": "for all data_n",
          "masked_sm_80": "every event of the kernel was checked", "ordered_sm_90": "every event of the kernel was checked",
          "ended_sm_90": "for all 5 ways that unknown values can be; every event of the kernel was checked"}
# Places that atomic additions give, and a thread that only data chooses: what they store may meet, and is not known to.
UNDECIDED = {"collected_sm_80": "bytes are read that are written only if the data says so",
             "threshold_sm_90": "only the device knows which bytes an access touches that may touch them"}


def answer(kernel):
    check = kernel.check()
    return check.verdict, check.reason, shown(check)


def expect(name, kernel):
    """What is true of each of the kernels."""
    said, reason, errors = answer(kernel)
    if name in PROVED:
        assert said.startswith("proved") and reason == PROVED[name] and not errors, reason
        assert said == "proved for all trip counts" or not reason.startswith("for all data_n")
    elif name in UNDECIDED:
        assert said == "unknown" and reason.startswith(UNDECIDED[name]) and kernel.check().counts["errors"] == 0
    elif name == "columns_sm_80":  # columns without a round are stored as shared memory had them
        assert errors == {"SPAD-UNINITIALISED-READ"}
    else:  # chosen_sm_90: without any round the result is written over q while the copy of q is on its way
        assert said == "unknown" and "for all data_n >= 1; not with data_n = 0: " in reason and not errors


@pytest.mark.parametrize("name", sorted(DATA))
def test_recorded_kernels(name):
    expect(name, T.load(tree_of(name)))


@pytest.mark.skipif(not _installed(), reason="tilelang is not installed")
@pytest.mark.parametrize("name", sorted(DATA))
def test_kernels_that_tilelang_lowers_now(name):
    make, arch = DATA[name]
    expect(name, T.load(make(), target=arch, pass_configs=PASSES.get(make)))


@pytest.mark.parametrize("name,harmless", [("lengths_sm_80", 0), ("lengths_sm_90", 0), ("masked_sm_80", 0), ("masked_sm_90", 0),
                                           ("chosen_sm_90", 2), ("ended_sm_90", 0), ("ordered_sm_90", 3)])
def test_each_synchronisation_left_out(name, harmless):
    """Harmless is one of two barriers in a row: before the first copy, and around the exchanges, where each of the three has
    another one beside it; and the one after the last sums, which the first warp alone stores, and reads."""
    tree = tree_of(name)
    paths = list(sites(tree["body"], _SYNC))
    every = THOROUGH or len(paths) < 9
    survive = [path for path in (paths if every else paths[::4]) if not noticed(verdict(without(tree, path)))]
    assert len(survive) == harmless if every else len(survive) <= harmless
    assert all(at(tree["body"], path)[1][1] == "tvm_storage_sync" for path in survive)


def test_barriers_of_columns():
    """The last barrier is between the stores of columns and the loads of all of them."""
    tree = tree_of("columns_sm_80")
    last = list(sites(tree["body"], ["tvm_storage_sync"]))[-1]
    assert "SPAD-RACE" in shown(verdict(without(tree, last)))
    for path in sites(tree["body"], ["ptx_wait_group"]):
        assert "SPAD-RACE" in shown(verdict(without(tree, path))), path


def test_the_text_of_one_datum():
    """The copies before the loop, its rounds and the products after it are of one number."""
    kernel = T.load(tree_of("lengths_sm_80"))
    source = kernel.source
    assert source.count(" any") == 1 and "unknown " not in source and "may" not in source
    assert "if data_n >= 1 {" in source and "if data_n >= 2 {" in source and "for k in 0..data_n - 2 {" in source
    assert "((data_n + k_1) % 2)" in source or "data_n" in source.split("for k_1 in")[1]
    assert [row["why"] for row in kernel.approximations] == ["its extent is data: any number of rounds"]
    assert kernel.sim().makespan > 0 and kernel.plan() is not None


def replaced(tree, old, new):
    """A tree with another expression in place of one, everywhere or at the first place."""
    if tree == old:
        return new
    return [replaced(part, old, new) for part in tree] if isinstance(tree, list) else tree


# ---- one datum, or two --------------------------------------------------------------------------------

LONG = ["-", ["load", "g", ["+", "bx", 1]], ["load", "g", "bx"]]
COUNT = ["//", ["+", LONG, 31], 32]


def lengths(before, after, rounds=COUNT, between=()):
    """Stores by a condition, a loop of rounds, and loads by a condition."""
    return T.load(kernel_tree([
        ["if", before, [["store", "s", "tx", ["f"]]], []], *between, SYNC,
        ["for", "k", 0, rounds, "serial", [["store", "v", 0, ["load", "s", ["-", 63, "tx"]]], SYNC]],
        ["if", after, [["store", "v", 0, ["load", "s", ["-", 63, "tx"]]]], []]]))


@pytest.mark.parametrize("before", [["<", 0, LONG], [">=", LONG, 1], [">", LONG, 0], ["<=", 1, LONG],
                                    [">", ["-", LONG, -5], 5], ["<", ["-", ["load", "g", "bx"], ["load", "g", ["+", "bx", 1]]], 0]])
def test_comparisons_that_the_quotient_answers(before):
    kernel = lengths(before, ["<=", 1, COUNT])
    assert "if data_n >= 1 {" in kernel.source and "unknown" not in kernel.source
    assert kernel.check().verdict == "proved for all trip counts"


@pytest.mark.parametrize("before", [["<", 1, LONG], ["<", 32, LONG], ["==", LONG, 32], ["<", 0, ["load", "g", "bx"]]])
def test_comparisons_that_it_does_not_answer(before):
    """A length of 1 has one round, and is not above 1; 32 has one as well."""
    assert shown(lengths(before, ["<=", 1, COUNT]).check()) == {"SPAD-UNINITIALISED-READ"}


def test_rounds_without_a_quotient():
    for relation, right in ((["==", LONG, 0], False), (["!=", LONG, 0], True), (["<", 0, LONG], True)):
        kernel = lengths(relation, ["<", 0, LONG], LONG)
        assert ("proved" in kernel.check().verdict) == right, kernel.check().text()


def test_data_that_the_kernel_writes():
    """A store or an atomic between the two conditions: they are not the same any more."""
    stored = [["store", "g", "tx", 3]]
    added = [["do", ["call", "atomic_add_elem_op", ["call", "address_of", ["load", "g", "tx"]], 1, 0]]]
    assert lengths(["<", 0, LONG], ["<", 0, LONG]).check().verdict == "proved for all trip counts"
    for between in (stored, added):
        assert not lengths(["<", 0, LONG], ["<", 0, LONG], between=between).check().verdict.startswith("proved")


def test_two_divisors_are_two_numbers():
    other = ["//", ["+", LONG, 63], 64]
    kernel = lengths(["<=", 1, other], ["<=", 1, COUNT])
    assert kernel.check().verdict != "proved for all trip counts"


def variables(first, second, *, between=()):
    """Two groups of warps, each with a variable that it computes, and as many rounds in which they meet."""
    meet = ["do", ["call", "tvm_storage_sync", ["s", "shared"], 3, 64]]

    def group(value, var):
        return [["store", "v", 0, 7], ["for", "i" + var, 0, 2, "serial", [["store", "v", 0, ["min", ["load", "v", 0], value("i" + var)]]]],
                *between, ["for", var, 0, ["//", ["load", "v", 0], 2], "serial", [meet]]]

    body = [["if", ["<", "tx", 32], group(first, "k"), group(second, "k_1")], ["store", "s", "tx", ["f"]]]
    return T.load(kernel_tree(body, hints={"k_1": "k", "ik_1": "ik"}))


def test_variables_that_came_about_in_the_same_way():
    def read(place):
        return lambda var: ["load", "g", ["+", ["*", "bx", 2], place(var)]]

    same = variables(read(lambda var: var), read(lambda var: var))
    assert same.source.count(" any") == 1 and same.check().verdict == "proved for all trip counts"
    for other in (lambda var: ["+", var, 1], lambda var: ["-", var, "tx"]):
        assert not variables(read(lambda var: var), read(other)).check().verdict.startswith("proved")
    # what a thread wrote in shared memory is no such data
    shared = variables(lambda var: ["load", "s", var], lambda var: ["load", "s", var])
    assert shared.source.count(" any") == 2


def test_a_condition_after_another_value_is_another_unknown():
    """A variable with data of shared memory decides twice; between the two it gets another value."""
    load, has = ["store", "v", 0, ["load", "s", 0]], ["<", ["load", "v", 0], 3]

    def kernel(between):
        return T.load(kernel_tree([["store", "s", "tx", ["f"]], SYNC, load, ["if", has, [SYNC], []], *between, ["if", has, [SYNC], []]]))

    assert kernel([]).source.count("unknown data") == 1 and kernel([load]).source.count("unknown data") == 2


def test_a_place_that_data_gives():
    """The datum is as large as the buffer has room for, and each value is checked."""
    def kernel(place, size=256):
        tree = kernel_tree([["store", "s", "tx", ["f"]], SYNC, ["for", "k", 0, COUNT, "serial", [SYNC]],
                            ["if", ["<", 0, LONG], [["if", ["<", "tx", 1], [["store", "s", place, ["f"]]], []]], []], SYNC])
        tree["shared"]["s"]["bytes"] = size
        return T.load(tree)

    found = kernel(["-", COUNT, 1])
    assert "unknown data_n in 0..65 = 4" in found.source and "may" not in found.source
    assert found.check().reason.startswith("for all 65 ways") and found.check().verdict.startswith("proved")
    assert any(row["why"] == "at most 64, because 's' has no room for more" for row in found.approximations)
    early = kernel(["-", COUNT, 2])  # one round: before the buffer
    assert early.check().verdict == "wrong"
    assert "may writes s" in kernel(["-", COUNT, 1], 4096).source  # too many values for one by one


# ---- guards --------------------------------------------------------------------------------------------


def by_mask(condition, guard, after=None, extra=()):
    """Round by round: stores for the next round by one condition, loads by another."""
    place = ["+", "tx", ["*", ["%", ["+", "k", 1], 2], 64]]
    inner = [SYNC, ["if", condition, [["store", "s", place, ["f"]]], []], SYNC,
             ["if", guard, [["store", "v", 0, ["load", "s", ["+", ["-", 63, "tx"], ["*", ["%", "k", 2], 64]]]]], []], *extra]
    first = ["if", replaced(condition, ["+", "k", 1], 0), [["store", "s", "tx", ["f"]]], []]
    return T.load(kernel_tree([first, ["for", "k", 0, 5, "serial", inner], *(after or [])]))


def mask(place, relation="!=", bound=0):
    return [relation, ["load", "g", ["+", ["*", "bx", 8], place]], bound]


def test_stores_and_loads_under_the_same_guard():
    kernel = by_mask(mask(["+", "k", 1]), mask("k"))
    assert "tensor s : shared u8 [6] (1024) at 0 ring 1" in kernel.source and "may" not in kernel.source
    assert kernel.check().verdict.startswith("proved") and kernel.approximations == []
    assert "writes s[k + 1](" in kernel.source and "reads s[k](" in kernel.source


@pytest.mark.parametrize("guard", [mask(["+", "k", 1]), mask(["-", "k", 1]), mask("k", ">"), mask("k", "!=", "k"),
                                   ["!=", ["load", "h", ["+", ["*", "bx", 8], "k"]], 0]])
def test_loads_under_another_guard(guard):
    """Another place, another relation, one that changes from round to round, another buffer: what is loaded may not be there."""
    found = by_mask(mask(["+", "k", 1], bound="k") if guard[2] == "k" else mask(["+", "k", 1]), guard)
    assert not found.check().verdict.startswith("proved")


def test_guards_that_are_missed():
    """Loads without a condition, a barrier that is left out, and data that the kernel writes."""
    always = by_mask(mask(["+", "k", 1]), mask("k"), [SYNC, ["store", "v", 0, ["load", "s", "tx"]]])
    assert "may writes s" in always.source and not always.check().verdict.startswith("proved")
    written = by_mask(mask(["+", "k", 1]), mask("k"), [["store", "g", "tx", ["f"]]])
    assert "may writes s" in written.source and not written.check().verdict.startswith("proved")
    tree = by_mask(mask(["+", "k", 1]), mask("k")).tree
    first, second = sites(tree["body"], ["tvm_storage_sync"])
    assert "SPAD-RACE" in shown(verdict(without(tree, first))) and not shown(verdict(without(tree, second)))  # one is enough


@pytest.mark.parametrize("ahead,slots,barriers", [(1, 2, 2), (1, 2, 1), (1, 1, 2), (0, 1, 2), (0, 1, 1), (2, 2, 2), (2, 3, 1)])
@pytest.mark.parametrize("shift", [0, 1])
def test_all_masks_one_by_one(ahead, slots, barriers, shift):
    """Stores some rounds ahead of loads, into slots; the loads under the guard of the store or of another one. One run with guards says
    proved where each mask alone is right; and not where a store of another round comes before the load, which leaves bytes that are
    there, and not those that are meant."""
    count = 3

    def round_of(k, holds):
        """holds: a condition at a place, as the body of an if."""
        store = ["store", "s", ["+", "tx", ["*", ["%", ["+", k, ahead], slots], 64]], ["f"]]
        load = ["store", "v", 0, ["load", "s", ["+", ["-", 63, "tx"], ["*", ["%", k, slots], 64]]]]
        return [SYNC, *holds(["+", k, ahead], store), *([SYNC] if barriers == 2 else []), *holds(["+", k, shift], load)]

    def first(holds):
        return [part for k in range(ahead) for part in holds(k, ["store", "s", ["+", "tx", k % slots * 64], ["f"]])]

    def guarded(place, statement):
        return [["if", mask(place), [statement], []]]

    kernel = T.load(kernel_tree([*first(guarded), ["for", "k", 0, count, "serial", round_of("k", guarded)]]))
    assert "s[" in kernel.source and "may" not in kernel.source
    wrong = 0
    for bits in range(1 << count + ahead):
        def chosen(place, statement, bits=bits):
            at = place if isinstance(place, int) else place[1] + place[2]
            return [statement] if bits >> at & 1 else []

        body = [*first(chosen), *[part for k in range(count) for part in round_of(k, chosen)]]
        wrong += not T.load(kernel_tree(body)).check().verdict.startswith("proved")
    assert kernel.check().verdict.startswith("proved") == (wrong == 0 and (slots > ahead or shift == ahead))


# ---- rounds that data chooses or ends ------------------------------------------------------------------


def rounds(var, inner, guard="k", more=()):
    return ["for", var, 0, 4, "serial", [["if", ["!=", ["load", "g", replaced(guard, "k", var)], 0], [part], []] for part in inner] + list(more)]


MEET = ["do", ["call", "tvm_storage_sync", ["s", "shared"], 3, 64]]


def test_rounds_that_data_chooses():
    count = ["store", "v", 0, ["+", ["load", "v", 0], 1]]
    first = ["if", ["==", ["load", "v", 0], 0], [["store", "s", "tx", ["f"]]], []]
    read = ["store", "h", "tx", ["load", "s", "tx"]]
    kernel = T.load(kernel_tree([["store", "v", 0, 0], rounds("k", [first, MEET, read, MEET, count])]))
    assert "for k in 0..data_n {" in kernel.source and "if k == 0 {" in kernel.source
    assert kernel.check().verdict == "proved for all trip counts"
    # a variable that counts twice in a round, or in some rounds, is no number of rounds
    twice = T.load(kernel_tree([["store", "v", 0, 0], rounds("k", [first, MEET, read, MEET, count, count])]))
    assert "if k == 0" not in twice.source
    # which rounds are chosen is data: so is a place that their number gives
    place = T.load(kernel_tree([["store", "v", 0, 0], rounds("k", [["store", "s", ["+", "tx", ["*", "k", 64]], ["f"]], MEET])]))
    assert "may writes s" in place.source


def test_rounds_that_differ():
    """Another condition in the second group, or something in each round: no common number of rounds."""
    def kernel(other, more=()):
        return T.load(kernel_tree([["if", ["<", "tx", 32], [rounds("k", [MEET])], [rounds("k_1", [MEET], other, more)]],
                                   ["store", "s", "tx", ["f"]]], hints={"k_1": "k"}))

    assert kernel("k").check().verdict == "proved for all trip counts"
    assert not kernel(["+", "k", 1]).check().verdict.startswith("proved")
    assert not kernel("k", [MEET]).check().verdict.startswith("proved")


END = ["do", ["call", "break_loop"]]


def test_rounds_that_data_ends():
    def kernel(before, after=(), value=("load", "g", "k")):
        body = [*before, ["if", ["<=", list(value), 0], [END], []], SYNC, ["store", "s", "tx", ["f"]], SYNC, *after]
        return T.load(kernel_tree([["for", "k", 0, 3, "serial", body], ["store", "v", 0, ["load", "s", ["-", 63, "tx"]]]]))

    first = kernel([])
    assert "unknown data_end in 0..4 = 3" in first.source and "for k in 0..data_end {" in first.source
    assert shown(first.check()) == {"SPAD-UNINITIALISED-READ"}  # no round at all
    store = ["store", "s", "tx", ["f"]]
    later = kernel([store, SYNC])
    assert "for k in 0..min(data_end + 1, 3) {" in later.source and "if k < data_end {" in later.source
    assert later.check().verdict.startswith("proved")
    assert "SPAD-RACE" in shown(kernel([store]).check())  # it ends between the store and the barrier
    alone = T.load(kernel_tree([["for", "k", 0, 3, "serial", [["if", ["<", ["load", "g", "k"], 1], [END], []], ["store", "s", "tx", ["f"]]]]]))
    assert "for k in 0..data_end {" in alone.source  # also without a barrier in it
    shared = kernel([store, SYNC], value=("load", "s", 5))  # what ends it is read in each round
    assert "simt read reads s(20..24)" in shared.source


def test_ends_that_are_not_covered():
    two = [["if", ["<=", ["load", "g", "k"], n], [END], []] for n in range(2)]
    inside = [["if", ["<", "tx", 3], [END], []]]
    for body in (two, inside, [["if", ["<", ["load", "g", 0], 1], inside, []]], [["if", ["<", ["load", "g", "tx"], 1], [END], []]]):
        with pytest.raises(T.Unsupported):
            T.load(kernel_tree([["for", "k", 0, 3, "serial", [*body, SYNC]], ["store", "s", "tx", ["f"]]]))
    scheduled = ["if", ["<", 0, "k"], [SYNC, ["if", ["==", ["load", "s", 0], 0], [END], []]], []]
    for loop, name in ((["for", "k", 0, 3, "serial", [scheduled]], "the loop over 'k' inside of another condition"),
                       (["while", ["<", ["load", "g", 0], 3], scheduled[2]], "a while loop early")):
        with pytest.raises(T.Unsupported, match=f"ends {name}, by what 's' holds: in which round"):
            T.load(kernel_tree([["store", "s", "tx", ["f"]], loop]))
    with pytest.raises(T.Unsupported, match="'k' ends the loop over 'k' early: in which round"):
        T.load(kernel_tree([["for", "k", 0, 3, "serial", [["if", ["<", "tx", 3], [SYNC, END], []]]]]))


# ---- numbers -------------------------------------------------------------------------------------------


def test_one_of_two_places():
    """A variable that is one of two numbers, by the round: the stores are at one of two places."""
    choose = ["if", ["<=", 2, "k"], [["store", "v", 0, ["+", ["*", ["%", "k", 2], 64], 128]]], [["store", "v", 0, ["*", "k", 64]]]]
    body = [["for", "k", 0, 6, "serial", [choose, SYNC, ["store", "s", ["+", "tx", ["load", "v", 0]], ["f"]], SYNC]]]
    source = T.load(kernel_tree(body)).source
    assert "may" not in source and "if 2 <= k {" in source
    assert "writes s(((k) % 2) * 256 + 512.." in source and "writes s(k * 256.." in source


def test_a_condition_is_read_by_those_that_get_to_it():
    """`a and b`: b is evaluated where a holds."""
    body = [["store", "s", "tx", ["f"]], ["if", ["and", ["<", "tx", 32], ["<", ["load", "s", "tx"], 3]], [["store", "s", "tx", ["f"]]], []]]
    assert T.load(kernel_tree(body)).check().verdict.startswith("proved")
    assert T.load(kernel_tree(body)).source.count("simt condition") == 1
