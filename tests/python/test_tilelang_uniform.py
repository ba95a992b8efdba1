# SPDX-License-Identifier: Apache-2.0
"""spad.tilelang.load: conditions on data that all threads of a block share, in loops
(docs/tilelang-reference.md, "Conditions that all threads share")."""

import copy
import itertools
import json
import random

import pytest

import spad.tilelang as T
from test_tilelang_load import SYNC, THOROUGH, _SYNC, _installed, at, kernel_tree, shown, sites, tree_of, verdict, without
from tilelang_kernels import PASSES, SHARED_BY_ALL


def mask(place, of="g"):
    return ["!=", ["load", of, ["+", ["*", "bx", 8], place]], 0]


def store(place, buffer="s"):
    return ["store", buffer, place, ["f"]]


def load(place, buffer="s"):
    return ["store", "v", 0, ["load", buffer, place]]


OTHER = ["-", 63, "tx"]


# ---- kernels of TileLang ----------------------------------------------------------------------------

REASON = "for all 4 ways that unknown values can be; for all data_n"
CHUNKS = [name for name in sorted(SHARED_BY_ALL) if name.startswith("whole_chunks")]


def expect(kernel):
    check = kernel.check()
    assert check.verdict.startswith("proved") and check.reason == REASON


@pytest.mark.parametrize("name", CHUNKS)
def test_recorded_kernels(name):
    expect(T.load(tree_of(name)))


def test_a_loop_that_another_thread_ends_is_refused():
    with pytest.raises(T.Unsupported, match="'main_kernel' ends the loop over 'w' inside of another condition, by what 'valid' holds: in which round"):
        T.load(tree_of("handed_out_sm_100"))


@pytest.mark.skipif(not _installed(), reason="tilelang is not installed")
@pytest.mark.parametrize("name", CHUNKS)
def test_kernels_that_tilelang_lowers_now(name):
    make, arch = SHARED_BY_ALL[name]
    expect(T.load(make(), target=arch, pass_configs=PASSES.get(make)))


@pytest.mark.parametrize("name", CHUNKS)
def test_each_synchronisation_left_out(name):
    tree = tree_of(name)
    for path in sites(tree["body"], _SYNC):
        assert shown(verdict(without(tree, path))), at(tree["body"], path)


# ---- choices in rounds ------------------------------------------------------------------------------


def two_ways(condition, inner=(), extent=["load", "g", "bx"]):
    """Rounds of a number that is data: stores by the threads in one order or in the other, and then loads."""
    choose = ["if", condition, [store("tx"), *inner], [store(OTHER), *inner]]
    return kernel_tree([["for", "k", 0, extent, "serial", [choose, SYNC, load("tx"), SYNC]]])


def test_data_chooses_in_each_round():
    tree = two_ways(mask("k"))
    kernel = T.load(tree)
    assert "if k % 2 == 0 and data == 1 or k % 2 == 1 and data_1 == 1 {" in kernel.source and "may" not in kernel.source
    check = kernel.check()
    assert check.verdict == "proved for all trip counts" and check.reason == "for all 4 ways that unknown values can be; for all data_n"
    assert [row["why"] for row in kernel.approximations] == ["its extent is data: any number of rounds"]
    for path in sites(tree["body"], ["tvm_storage_sync"]):
        assert "SPAD-RACE" in shown(verdict(without(tree, path)))


def test_a_barrier_under_a_choice_is_reached_by_all_or_by_none():
    tree = two_ways(mask("k"), [SYNC])
    assert T.load(tree).check().verdict == "proved for all trip counts" and T.load(tree).approximations[1:] == []
    one = copy.deepcopy(tree)
    one["body"][0][5][0][3].pop()  # on one side alone
    assert T.load(one).check().verdict == "proved for all trip counts"
    one["body"][0][5].pop(1)  # then there is none on the other side before the loads
    assert "SPAD-RACE" in shown(verdict(one))


@pytest.mark.parametrize("condition", [["!=", ["load", "g", ["+", "tx", "k"]], 0], ["!=", ["load", "s", "k"], 0], ["<", "tx", ["load", "g", "k"]]])
def test_what_is_no_choice_of_all(condition):
    """Data of each thread, and data that threads store: both sides may run."""
    kernel = T.load(two_ways(condition))
    assert "may writes s" in kernel.source and "SPAD-RACE" in shown(kernel.check())
    written = two_ways(mask("k"))
    written["body"][0][5].append(["store", "g", "tx", ["f"]])
    assert "may writes s" in T.load(written).source


def test_rounds_that_are_not_alike():
    """A ring of slots: two rounds in a row are not all that can be."""
    place = ["+", ["*", ["%", "k", 3], 64], "tx"]
    choose = ["if", mask("k"), [store(place)], [store(["+", ["*", ["%", "k", 3], 64], OTHER])]]
    kernel = T.load(kernel_tree([["for", "k", 0, 6, "serial", [choose, SYNC, load(place), SYNC]]]))
    assert "may writes s" in kernel.source and "data" not in kernel.source
    around = ["if", mask("k"), [store(place), SYNC], [store(["+", ["*", ["%", "k", 3], 64], OTHER]), SYNC]]
    kernel = T.load(kernel_tree([["for", "k", 0, 6, "serial", [around, load(place), SYNC]]]))
    assert "k % 2 == 0 and data == 1" in kernel.source
    assert [row["why"] for row in kernel.approximations] == ["all that it can be in 2 rounds in a row, and those repeat"]


def test_loops_in_loops_choose_apart():
    inner = ["for", "k", 0, 3, "serial", [["if", mask(["+", "j", "k"]), [store("tx")], [store(OTHER)]], SYNC, load("tx"), SYNC]]
    kernel = T.load(kernel_tree([["for", "j", 0, 3, "serial", [inner]]]))
    assert "j % 2 == 1 and k % 2 == 0 and data_2 == 1" in kernel.source and kernel.source.count("unknown data") == 4
    assert kernel.check().verdict.startswith("proved")
    outer = ["for", "j", 0, 3, "serial", [["for", "k", 0, 3, "serial", [["if", mask("j"), [store("tx")], [store(OTHER)]], SYNC, load("tx"), SYNC]]]]
    assert "if j % 2 == 0 and data == 1 or j % 2 == 1 and data_1 == 1 {" in T.load(kernel_tree([outer])).source


def test_two_loops_choose_apart():
    """The last round of one loop and the first of the next have choices of their own, also where the text is the same."""
    rounds = [["for", var, 0, 3, "serial", [["if", mask(var), [store("tx")], [store(OTHER)]], SYNC, load("tx"), SYNC]] for var in ("k", "k_1")]
    kernel = T.load(kernel_tree(rounds, hints={"k_1": "k"}))
    assert kernel.source.count("unknown data") == 4 and kernel.check().verdict.startswith("proved")
    for loop in rounds:
        loop[5].pop()
    rounds[0][5] = [SYNC, *rounds[0][5]]
    assert "SPAD-RACE" in shown(verdict(kernel_tree(rounds, hints={"k_1": "k"})))


def test_too_many_choices_may_all_run():
    choose = [["if", mask("k", name), [store("tx")], [store("tx")]] for name in "abcdef"]
    source = T.load(kernel_tree([["for", "k", 0, 4, "serial", [*choose, SYNC, load("tx"), SYNC]]])).source
    assert source.count("unknown data") == 8 and "may writes s" in source


# ---- compared with each choice alone -----------------------------------------------------------------


def statements(make, masks):
    """A few statements of a round: stores, loads and barriers, some under conditions (index of a mask, sides)."""
    def simple():
        place = make.choice(["tx", OTHER, ["+", "tx", 64], ["+", OTHER, 64]])
        return make.choice([store(place), store(place), load(place), store(place, "t"), load(place, "t"), SYNC, SYNC])

    made = []
    for _ in range(make.randint(2, 5)):
        made += [SYNC] * (make.random() < 0.6)
        if make.random() < 0.5:
            sides = [[simple() for _ in range(make.randint(0, 2))] for _ in range(2)]
            made.append((make.randrange(masks), sides))
        else:
            made.append(simple())
    return made


def with_masks(body):
    return [["if", mask("k", "gh"[s[0]]), *s[1]] if isinstance(s, tuple) else s for s in body]


def with_choice(body, choice):
    return [inner for s in body for inner in (s[1][0 if choice[s[0]] else 1] if isinstance(s, tuple) else [s])]


def two_buffers(body):
    """Another buffer over the second half of the first one."""
    tree = kernel_tree(body)
    tree["buffers"]["t"] = dict(tree["buffers"]["s"])
    tree["buffers"]["h"] = dict(tree["buffers"]["g"])
    tree["shared"]["t"] = {"bytes": 512, "dtype": "float32", "align": 16, "at": 256}
    return tree


@pytest.mark.parametrize("seed", range(400 if THOROUGH else 60))
def test_a_proof_holds_for_all_choices(seed):
    """Random rounds: what is proved is right for each sequence of choices alone, written out without a loop."""
    make = random.Random(seed)
    masks, count = make.choice([(1, 4), (2, 3)])
    first, body = [store("tx"), store(["+", "tx", 64]), SYNC] if make.random() < 0.6 else [], statements(make, masks)
    last = [SYNC, load("tx")] if make.random() < 0.5 else []
    kernel = T.load(two_buffers([*first, ["for", "k", 0, count, "serial", with_masks(body)], *last]))
    proved = kernel.check().verdict.startswith("proved")
    ways = list(itertools.product(itertools.product((0, 1), repeat=masks), repeat=count))
    wrong = 0
    for choices in ways if proved or not kernel.approximations else ():
        alone = [*first, *[inner for choice in choices for inner in with_choice(body, choice)], *last]
        wrong += bool(shown(verdict(two_buffers(alone))))
        if wrong:
            break
    assert not (proved and wrong), json.dumps(body)
    if not proved and not kernel.approximations and shown(kernel.check()):
        assert wrong, json.dumps(body)  # and an error is one of some choice


# ---- values that all threads compute alike --------------------------------------------------------------

MEET = ["do", ["call", "tvm_storage_sync", ["s", "shared"], 3, 64]]


def searched(other=lambda body: body, prepare=None, between=SYNC):
    """Two warps that look up, each by itself, where a tile begins, in what one thread has stored; and meet if it is long."""
    def warp(w, names):
        low, end = names
        look = [["store", low, 0, 0], ["store", end, 0, 7], ["for", "i" + w, 0, 3, "serial", [
            ["let", "m" + w, [">>", ["+", ["load", low, 0], ["load", end, 0]], 1]],
            ["if", ["<=", ["load", "c", ["+", ["cast", "int64", "m" + w], 1]], w], [["store", low, 0, ["+", "m" + w, 1]]], [["store", end, 0, "m" + w]]]]],
            ["let", "n" + w, ["-", ["load", "h", ["load", low, 0]], w]], ["if", ["<", 4, "n" + w], [MEET], []]]
        return ["for", w, 0, 6, "serial", look]

    prepare = prepare or [["store", "c", 0, 0], ["for", "g_", 0, 8, "serial", [["store", "c", ["+", "g_", 1], ["+", ["load", "c", "g_"], ["load", "h", "g_"]]]]]]
    body = [["if", ["==", "tx", 0], prepare, []], between, ["if", ["<", "tx", 32], [warp("w", ("a", "b"))], [other(warp("w_1", ("d", "e")))]],
            ["store", "s", "tx", ["f"]]]
    tree = kernel_tree(body, hints={"w_1": "w"})
    for name in "abde":
        tree["buffers"][name] = dict(tree["buffers"]["v"])
    tree["buffers"]["c"] = {**tree["buffers"]["s"], "dtype": "int32"}
    tree["buffers"]["h"] = {**tree["buffers"]["g"], "dtype": "int32"}
    tree["shared"]["c"] = {"bytes": 36, "dtype": "int32", "align": 16, "at": 1024}
    return tree


def test_two_warps_that_compute_the_same():
    kernel = T.load(searched())
    assert "if w % 2 == 0 and data == 1 or w % 2 == 1 and data_1 == 1 {" in kernel.source
    assert "if w_1 % 2 == 0 and data == 1 or w_1 % 2 == 1 and data_1 == 1 {" in kernel.source
    assert kernel.check().verdict.startswith("proved"), kernel.check().text()


@pytest.mark.parametrize("old,new", [('["store", "e", 0, 7]', '["store", "e", 0, 6]'), ('["let", "mw_1", [">>", ', '["let", "mw_1", ["<<", '), ('["<", 4, "nw_1"]', '["<", 5, "nw_1"]'),
                                     ('["+", "mw_1", 1]', '["+", "mw_1", 2]'), ('["load", "h", ["load", "d", 0]]', '["load", "h", ["load", "e", 0]]'),
                                     ('["store", "d", 0, 0]', '["store", "d", 0, "tx"]'), ('["store", "d", 0, 0]', '["do", 0]'),
                                     ('["for", "iw_1", 0, 3', '["for", "iw_1", 0, 4')])
def test_two_warps_that_compute_something_else(old, new):
    text = json.dumps(searched())
    assert old in text
    assert not verdict(json.loads(text.replace(old, new))).verdict.startswith("proved")


def test_what_is_not_stored_once_by_one_thread():
    fill = ["for", "g_", 0, 8, "serial", [["store", "c", ["+", "g_", 1], ["load", "h", "g_"]]]]
    assert verdict(searched(prepare=[["store", "c", 0, 0], fill])).verdict.startswith("proved")
    for prepare in ([["store", "c", 1, 0], fill], [["for", "j", 0, 2, "serial", [fill]]], [["store", "c", ["load", "h", 0], 0], fill]):
        assert not verdict(searched(prepare=prepare)).verdict.startswith("proved")
    tree = searched(between=["do", 0])
    assert "SPAD-RACE" in shown(verdict(tree))  # that it is there when it is read, is checked
    every = json.loads(json.dumps(searched()).replace('["==", "tx", 0]', '["<", "tx", 2]'))
    assert not verdict(every).verdict.startswith("proved")


def test_a_variable_that_says_which_side_was_run():
    def kernel(second):
        set_, meet = [[["store", "v", 0, 1]], [["store", "v", 0, 0]]], ["do", ["call", "tvm_storage_sync", ["s", "shared"], 3, 64]]
        one = [["for", "w", 0, 4, "serial", [["if", mask("w"), *set_], ["if", ["!=", ["load", "v", 0], 0], [meet], []]]]]
        other = [["for", "w_1", 0, 4, "serial", [["if", mask("w_1"), [meet], []]]]]
        return T.load(kernel_tree([["if", ["<", "tx", 32], one, second or other], ["store", "s", "tx", ["f"]]], hints={"w_1": "w"}))

    assert kernel(None).check().verdict == "proved for all trip counts" and kernel(None).source.count("0..data_n {") == 2
    other = [["for", "w_1", 0, 4, "serial", [["if", mask(["+", "w_1", 1]), [MEET], []]]]]
    assert not kernel(other).check().verdict.startswith("proved")


# ---- sides of sides --------------------------------------------------------------------------------------


def test_stores_on_each_of_three_sides():
    """By data of each thread: one of three stores, all at one place, so it is written in any case."""
    third = ["if", ["<", ["load", "g", ["+", "tx", 64]], 0], [store("tx")], [store("tx")]]
    body = [["if", ["<", ["load", "g", "tx"], 0], [store("tx")], [third]], SYNC, load(OTHER)]
    kernel = T.load(kernel_tree(body))
    assert kernel.check().verdict.startswith("proved") and kernel.approximations == []
    body[0][3][0][3] = [store(["+", "tx", 64])]
    kernel = T.load(kernel_tree(body))
    assert kernel.check().verdict == "unknown" and [row["why"] for row in kernel.approximations] == ["both sides may run"]
    ended = ["for", "i", 0, 1, "serial", [["if", ["<", ["load", "g", "tx"], 1], [["do", ["call", "break_loop"]]], []], store("tx")]]
    with pytest.raises(T.Unsupported):
        T.load(kernel_tree([["if", ["<", ["load", "g", "tx"], 0], [ended], [ended]], SYNC, load(OTHER)]))


def test_stores_and_loads_under_conditions_on_the_same_data():
    """The condition of the loads has no name: whether it is that of the stores is not known, and there is no error."""
    tree = kernel_tree([["if", ["<", ["load", "g", "bx"], 3], [store("tx")], []], SYNC, ["if", ["<", ["load", "g", "tx"], 3], [load(OTHER)], []]])
    assert T.load(tree).check().verdict == "unknown"
    other = kernel_tree([["if", ["<", ["load", "h", "bx"], 3], [store("tx")], []], SYNC, ["if", ["<", ["load", "g", "tx"], 3], [load(OTHER)], []]])
    other["buffers"]["h"] = dict(other["buffers"]["g"])
    assert shown(verdict(other)) == {"SPAD-UNINITIALISED-READ"}
