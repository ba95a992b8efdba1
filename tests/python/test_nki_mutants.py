# SPDX-License-Identifier: Apache-2.0
"""A study of mutants: every number in the source of a kernel that sets a ring or an offset is lowered. A mutant is
reported by the check, or refused by the trace, or it is harmless: run with the addresses it has, it gives the numbers
of the kernel that it was made of."""

import ast
import collections
import sys

import pytest

import nki_mutants
import spad
import spad.nki.trace as nt

np = pytest.importorskip("numpy")

PLACING = ("address", "base_addr", "base_bank", "num_free_tiles", "num_bank_tiles", "num_par_tiles",
           "interleave_degree", "initial_address")
X = np.random.default_rng(7).normal(size=(8, 128, 64)).astype(np.float32)


def numbers(tree):
    """The constants of a source that place something: those in arguments with such a name, in what a placing function
    returns, and on the right of %."""
    found = []
    for node in ast.walk(tree):
        inside = []
        if isinstance(node, ast.keyword) and node.arg in PLACING:
            inside = ast.walk(node.value)
        elif isinstance(node, ast.Return) and isinstance(node.value, ast.Tuple):
            inside = ast.walk(node.value)
        found += [part for part in inside if isinstance(part, ast.Constant) and isinstance(part.value, int)
                  and part.value > 0 and part not in found]
    return found


def lowered(value):
    """A ring has one place less; an offset is 4 B, half of a tile or a tile lower, or nothing."""
    if value <= 8:
        return [value - 1]
    return sorted({value - 4, value - 128, value - 256, value // 2, 0})


def kernels(text):
    """(name of a kernel, number of a constant, its values) of a source."""
    tree = ast.parse(text)
    spans = [(node.name, node.lineno, node.end_lineno) for node in tree.body if isinstance(node, ast.FunctionDef)]
    for at, node in enumerate(numbers(tree)):
        name = next(name for name, first, last in spans if first <= node.lineno <= last)
        for value in lowered(node.value):
            if value >= 0:
                yield name, at, value


def compiled(text, at=None, value=None):
    tree = ast.parse(text)
    if at is not None:
        numbers(tree)[at].value = value
    names = {"__name__": "mutants"}
    with nt.installed():
        exec(compile(tree, "<mutant>", "exec"), names)
    return names


def outcome(kernel, wanted):
    """reported, refused, harmless, or missed; what was found; and whether the numbers are others."""
    try:
        ran = nt.run(kernel, X, places=True)
    except (nt.TraceError, ZeroDivisionError) as error:
        return "refused", str(error), None
    others = not np.array_equal(ran.outputs, wanted, equal_nan=True)
    found = {finding.code for finding in ran.kernel.check() if finding.severity == "error"}
    return "reported" if found else "missed" if others else "harmless", found, others


@pytest.mark.parametrize("text", ["PRESENT", "OLDER"])
def test_lowered_rings_and_offsets_are_reported_or_harmless(text):
    source = getattr(nki_mutants, text)
    names = compiled(source)
    wanted, found = {}, collections.defaultdict(list)
    for name, at, value in kernels(source):
        if name not in wanted:
            ran = nt.run(names[name], X, places=True)
            assert ran.kernel.check().verdict == "proved for this shape", ran.kernel.explain(ran.kernel.check())
            wanted[name] = ran.outputs
            own = nt.run(names[name], X).outputs  # every tensor with bytes of its own
            assert np.array_equal(own, wanted[name], equal_nan=True)
        kind, codes, others = outcome(compiled(source, at, value)[name], wanted[name])
        found[kind].append((name, at, value, codes, others))
    assert found["missed"] == []
    assert len(found["reported"]) >= 15 and len(found["harmless"]) >= 5
    # A conflict that is reported is one in the numbers, too; a place that the chip does not have need not be.
    silent = [row for row in found["reported"] if not row[4] and "SPAD-LIFETIME-CONFLICT" in row[3]]
    assert silent == []
    print(f"\n{text}: " + ", ".join(f"{kind} {len(rows)}" for kind, rows in sorted(found.items())))


@pytest.fixture(autouse=True)
def nothing_left(monkeypatch):
    monkeypatch.setenv("NKILIB_LOG_LEVEL", "OFF")
    yield
    assert not [name for name in sys.modules if name.partition(".")[0] in ("nki", "neuronxcc")]
