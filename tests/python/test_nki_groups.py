# SPDX-License-Identifier: Apache-2.0
"""Traces of a kernel for each group of instructions: as golden kernels, checked, planned and simulated.

SPAD_ACCEPT=1 writes the golden kernels again.
"""

import os
import re
from pathlib import Path

import pytest

import spad
import spad.nki.trace as nt

FILE = Path(__file__).with_name("nki_groups.py")
GOLDEN = Path(__file__).with_name("golden")
KERNELS = re.findall(r"@nki.jit\ndef (\w+)", FILE.read_text())
FOLDED = {"rings": (8, 2), "causal": (6, 3)}  # kernels with addresses: statements and loops that they become


def traced(name, **options):
    kernel = nt.load(f"{FILE}:{name}")
    args, kwargs = nt.example(kernel)
    return nt.trace(kernel, *args, **kwargs, **options)


@pytest.mark.parametrize("name", KERNELS)
def test_golden(name):
    k = traced(name)
    text = k.source.replace(f'"{FILE}"', f'"{FILE.name}"')
    path = GOLDEN / f"nki_{name}.spad"
    if os.environ.get("SPAD_ACCEPT"):
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
    assert text == path.read_text()
    check = k.check()
    assert check.verdict == "proved for this shape" and k.notes == [], k.explain(check)
    assert k.plan().fits and k.sim().makespan > 0
    assert spad.Kernel.parse(text).check().verdict == check.verdict


@pytest.mark.parametrize("name", KERNELS)
def test_unfolded_they_are_the_same(name):
    """Both kernels, walked: the same operations on the same bytes, at the same cost."""
    def events(kernel):
        slots = {}  # of tensors without a place, in the order of their use

        def place(access):
            home = access["home"], access["slot"]
            return (access["kind"], None if access["placed"] else slots.setdefault(home, len(slots)),
                    *(access[key] for key in ("lane", "lanes", "byte", "bytes", "runs", "stride", "moved")))

        rows = kernel.statements
        return [(rows[event["statement"]]["item"], rows[event["statement"]]["engine"], event["cost"],
                 [place(access) for access in event["accesses"]])
                for event in kernel.walk() if event["kind"] == "operation"]

    folded, straight = traced(name), traced(name, fold=False)
    assert folded.folded == FOLDED.get(name) and (name in FOLDED) == (folded.source != straight.source)
    assert straight.folded is None and events(folded) == events(straight)
    assert len(events(straight)) == straight.operations == folded.operations
    assert folded.sim().makespan == straight.sim().makespan
