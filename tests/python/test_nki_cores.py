# SPDX-License-Identifier: Apache-2.0
"""Traces of kernels on two cores (LNC2): an agent for each, joined at core_barrier, sendrecv and shared HBM."""

import re
import sys
from pathlib import Path

import pytest

import spad.nki.trace as nt

FILE = Path(__file__).with_name("nki_kernels.py")


@pytest.fixture(autouse=True)
def nothing_left():
    yield
    assert not [name for name in sys.modules if name.partition(".")[0] in ("nki", "neuronxcc")]


def traced(name, *args, **options):
    return nt.trace(nt.load(f"{FILE}:{name}"), *args, **options)


def x(*shape, dtype="bf16"):
    return nt.hbm(shape, dtype)


def line_of(text):
    return next(at for at, line in enumerate(FILE.read_text().split("\n"), 1) if text in line)


def code(kernel):
    """The lines of a kernel without their places in the source."""
    return [re.sub(r"  #.*| from \d+$", "", line) for line in kernel.source.strip().split("\n")
            if not line.startswith("source ")]


def test_two_cores_are_two_agents():
    k = traced("halves", x(128, 512), lnc=2)
    text = code(k)
    assert text[0] == "kernel halves on trn2_lnc2" and "barrier cores count 2" in text
    assert [line for line in text if line.startswith("tensor t")] == [
        "tensor t : sbuf bfloat16 (128, 256)", "tensor t_2 : sbuf[1] bfloat16 (128, 256)"]
    assert sum(line.startswith("tensor out") for line in text) == 1  # shared HBM is one tensor
    first, second = text.index("agent core_0 {"), text.index("agent core_1 {")
    assert text[first + 1] == "dma dma_copy reads x(.., 0..256) writes t"
    assert text[second + 1] == "dma dma_copy reads x(.., 256..512) writes t_2"
    assert text[first:].count("sync cores") == 2 and k.operations == 12
    check = k.check()
    assert check.verdict == "proved for this shape", k.explain(check)
    assert k.sim().makespan > 0 and k.plan().fits


@pytest.mark.parametrize("start", [1024, 0])
def test_a_write_that_may_reach_the_rows_of_the_other_core_is_in_doubt(start):
    k = traced("appended", x(1, 128), x(1, 1, dtype="int32"), start, lnc=2)
    check = k.check(advice=False)
    assert check.verdict == "unknown" and "only the device knows which bytes" in check.reason
    assert [(finding.code, finding.severity) for finding in check] == [("SPAD-RACE", "warning")]
    assert f"{FILE}:{line_of('nisa.dma_copy(dst=out.ap(')}" in k.explain(check)


def test_stores_of_the_same_values_are_a_warning():
    k = traced("both_store", x(128, 512, dtype="float32"), None, lnc=2)
    check = k.check(advice=False)
    assert check.verdict == "proved for this shape" and check and k.notes == []
    assert [(finding.code, finding.severity) for finding in check] == [("SPAD-RACE", "warning")]
    finding = check.findings[0]
    assert (finding.file, finding.line) == (str(FILE), line_of("out = nl.ndarray((P, 256)")) and "both cores write 'out'" in finding.message
    assert check.counts["warnings"] == 1 and "warning: both cores write 'out'" in k.explain(check)


@pytest.mark.parametrize("change", ["source", "constant", "scalar", "operation", "order of operands", "random", "function", "pattern",
                                    "other core", "order of stores", "part", "added", "read"])
def test_stores_of_other_values_are_a_race(change):
    check = traced("both_store", x(128, 512, dtype="float32"), change, lnc=2).check(advice=False)
    assert check.verdict == "wrong" and "SPAD-RACE" in {finding.code for finding in check if finding.severity == "error"}


def test_a_barrier_that_is_missing_is_a_race():
    k = traced("halves", x(128, 512), lnc=2, wait=False)
    check = k.check()
    assert {finding.code for finding in check if finding.severity == "error"} == {"SPAD-RACE"}
    line = line_of("nisa.dma_copy(dst=u, src=between[:, other])")
    assert f"{FILE}:{line}" in k.explain(check)


def test_a_barrier_of_other_data_is_noted():
    assert traced("halves", x(128, 512), lnc=2).notes == []
    k = traced("halves", x(128, 512), lnc=2, other_data=True)
    ((file, line), text), = k.notes
    assert file == str(FILE) and line == line_of("nisa.dma_copy(dst=u, src=between[:, other])")
    assert text.startswith("accesses of both cores to 'between' are ordered by a barrier of other data only")
    assert "with 1 note of the trace" in k.explain(k.check())


def test_one_core_of_the_same_kernel():
    k = traced("halves", x(128, 512))
    assert k.check().verdict == "proved for this shape" and "core_barrier of one core" in k.notes[0][1]
    with pytest.raises(nt.TraceError, match="sendrecv between two cores"):
        traced("exchanged", x(128, 64, dtype="f32"))


def test_cores_that_exchange_tiles():
    k = traced("exchanged", x(128, 64, dtype="f32"), lnc=2)
    text = code(k)
    assert "dma sendrecv reads t_2 writes u" in text and "dma sendrecv reads t writes u_2" in text
    assert "tensor u_2 : sbuf[1] float32 (128, 64) at 256" in text
    assert k.check().verdict == "proved for this shape", k.explain(k.check())
    check = traced("exchanged", x(128, 64, dtype="f32"), lnc=2, overwrite=True).check()
    assert check.verdict == "wrong"
    with pytest.raises(nt.TraceError, match="a different number of times"):
        traced("one_sided", x(128, 128), lnc=2)


def test_a_launch_of_two_programs_is_two_cores():
    kernel = nt.load(f"{FILE}:halves")[2]
    assert code(nt.trace(kernel, x(128, 512), lnc=2)) == code(traced("halves", x(128, 512), lnc=2))


def test_cores_that_make_other_tensors():
    def kernel(a):
        import nki.isa as nisa
        import nki.language as nl
        out = nl.ndarray((128, 8 + nl.program_id(0)), dtype=a.dtype, buffer=nl.shared_hbm)
        nisa.dma_copy(dst=out[:, 0:8], src=a)
        return out

    with pytest.raises(nt.TraceError, match="in shared HBM where the first one makes"):
        nt.trace(kernel, x(128, 8), lnc=2)
