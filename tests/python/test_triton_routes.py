# SPDX-License-Identifier: Apache-2.0
"""Two routes to one verdict: kernels that Triton compiled once, checked from TTGIR and from PTX."""

import re

import pytest

import spad.cuda as sc
import spad.triton as st
import triton_routes

try:
    import triton
except ImportError:
    triton = None

# (errors from TTGIR, errors from PTX), and why they differ. Kernels that are not here are proved by both.
EXPECTED = {
    # cp.async writes, wgmma reads, and there is no proxy fence between them. Both see it.
    "matmul_sm90_s3": ({"SPAD-MISSING-FENCE"}, {"SPAD-MISSING-FENCE"}),
    # The kernel invalidates the mbarriers of an accumulator that nothing waits for at the end. Both see it.
    "matmul_tma_ws_sm100_s2": ({"SPAD-MBARRIER-LIFE"}, {"SPAD-MBARRIER-LIFE"}),
    # PTX only: each warp has the whole result and stores it, all of them the same values. In TTGIR that is one operation.
    "along_sm90": (set(), {"SPAD-RACE"}),
}


def errors(kernel):
    check = kernel.check()
    found = {finding.code for finding in check.findings if finding.severity in ("error", "compiler")}
    assert check.verdict.startswith("wrong" if found else "proved")
    return found


def from_ptx(route, source):
    kernel = sc.load(source, grid=1, block=route.threads, smem=route.smem, args=route.args + triton_routes.SCRATCH)
    assert kernel.run["remarks"] == [] and kernel.run["not_executed"] == 0
    return kernel


@pytest.mark.parametrize("route", triton_routes.ROUTES, ids=lambda route: route.name)
def test_verdicts(route):
    ttgir = st.load(triton_routes.FOLDER / f"{route.name}.ttgir", sizes={})
    ptx = from_ptx(route, triton_routes.FOLDER / f"{route.name}.ptx")
    assert (errors(ttgir), errors(ptx)) == EXPECTED.get(route.name, (set(), set()))


def test_a_barrier_less_is_found_by_both():
    """The wait for a copy taken out: in TTGIR, and in the PTX of the same kernel."""
    route = next(route for route in triton_routes.ROUTES if route.name == "matmul_sm80_s3")
    ttgir = (triton_routes.FOLDER / "matmul_sm80_s3.ttgir").read_text(encoding="utf-8")
    ptx = (triton_routes.FOLDER / "matmul_sm80_s3.ptx").read_text(encoding="utf-8")
    fewer = re.sub(r"(ttg\.async_wait [^\n]*num = )\d+", r"\g<1>9", ttgir)
    later = re.sub(r"cp\.async\.wait_group\s+\d+", "cp.async.wait_group 9", ptx)
    assert fewer != ttgir and later != ptx
    assert "SPAD-RACE" in errors(st.load(fewer, sizes={})) and "SPAD-RACE" in errors(from_ptx(route, later))


@pytest.mark.skipif(triton is None, reason="the package triton is not installed")
@pytest.mark.parametrize("route", triton_routes.ROUTES, ids=lambda route: route.name)
def test_verdicts_of_the_triton_that_is_installed(route):
    """The same from the kernels as this Triton compiles them: that the two agree, not in which findings."""
    made = triton_routes.compiled(route)
    route.smem, route.threads = made["smem"], made["threads"]
    only_ttgir, only_ptx = EXPECTED.get(route.name, (set(), set()))
    assert errors(st.load(made["ttgir"], sizes={})) - only_ttgir == errors(from_ptx(route, made["ptx"])) - only_ptx
