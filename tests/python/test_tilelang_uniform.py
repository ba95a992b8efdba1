# SPDX-License-Identifier: Apache-2.0
"""spad.tilelang.load: conditions on data that all threads of a block share, in loops (docs/tilelang-load.md, "Data that decides")."""

import copy
import itertools
import json
import random

import pytest

import spad.tilelang as T
from test_tilelang_load import SYNC, THOROUGH, _SYNC, _installed, at, kernel_tree, shown, sites, tree_of, verdict, without
from tilelang_kernels import PASSES


def mask(place, of="g"):
    return ["!=", ["load", of, ["+", ["*", "bx", 8], place]], 0]


def store(place, buffer="s"):
    return ["store", buffer, place, ["f"]]


def load(place, buffer="s"):
    return ["store", "v", 0, ["load", buffer, place]]


OTHER = ["-", 63, "tx"]


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
    assert check.verdict == "proved for all trip counts" and check.reason == "for all 4 ways that unknown values can be; for every data_n"
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
