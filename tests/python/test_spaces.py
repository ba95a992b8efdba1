# SPDX-License-Identifier: Apache-2.0
"""The rows of a CSV text in several memories."""
import pytest

import spad

MEMORIES = [("sram", 100), ("dram", None)]
CHOICE = "id,lower,upper,size,space,uses\nx,0,10,60,sram|dram,0 9\ny,3,5,90,sram,\n"


def test_rows_that_may_choose():
    facts = spad.spaces(CHOICE, MEMORIES, timeout=5)
    assert (facts["verdict"], facts["cost"], facts["bound"], facts["moved"]) == ("optimal", 120, 120, 120)
    assert [(s["name"], s["space"], s["lower"], s["upper"]) for s in facts["stays"]] == [
        ("x", "sram", 0, 1), ("x", "dram", 1, 9), ("x", "sram", 9, 10), ("y", "sram", 3, 5)]
    assert "not in the cheapest memory: 1 buffer, 120 B moved" in facts["text"]
    again = spad.spaces(facts["csv"], MEMORIES)
    assert again["verdict"] == "optimal" and again["csv"] == facts["csv"] and "stays" not in again
    assert spad.spaces(CHOICE, [("sram", 100), ("dram", None, 5)])["cost"] == 600


def test_rows_that_name_their_memory():
    facts = spad.spaces("name,start,end,size,space\na,0,1,8,s\nb,1,2,8,s\nc,0,2,4,t\n")
    assert [(part["name"], part["plan"]["height"]) for part in facts["spaces"]] == [("s", 16), ("t", 4)]
    assert facts["csv"].splitlines()[3] == "c,0,2,4,t,0"
    facts = spad.spaces("name,start,end,size,space\na,0,1,8,s\nb,1,2,8,s\n", end_exclusive=True)
    assert facts["spaces"][0]["plan"]["height"] == 8
    facts = spad.spaces("id,lower,upper,size,lanes,space\na,0,1,8,128,sbuf\n", target="trn2", minimize=True)
    assert facts["csv"].endswith("sbuf,0,0\n")


def test_what_does_not_fit():
    facts = spad.spaces(CHOICE, [("sram", 80), ("dram", 80)])
    assert facts["verdict"] == "infeasible" and facts["csv"] is None and "cost" not in facts
    assert "y has 90 B, more than any memory that it may be in" in facts["text"]


@pytest.mark.parametrize("text, memories, words", [
    ("id,lower,upper,size,space\na,0,1,1,x\n", MEMORIES, "no memory 'x'"),
    (CHOICE, [("sram", -1)], "negative"),
    (CHOICE, [("sram", 1), ("sram", 1)], "added before"),
])
def test_what_is_refused(text, memories, words):
    with pytest.raises(spad.Error, match=words):
        spad.spaces(text, memories, file="rows.csv")


@pytest.mark.parametrize("memories", [3, [3], [("a",)], [(1, 2)], [("a", "b")], [("a", 1, "c")]])
def test_what_has_the_wrong_type(memories):
    with pytest.raises(TypeError):
        spad.spaces(CHOICE, memories)
    with pytest.raises((TypeError, ValueError, spad.Error)):
        spad.spaces(CHOICE, target=object())
