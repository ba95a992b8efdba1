# SPDX-License-Identifier: Apache-2.0
"""The model of PTX of the tests by itself, and a part of the study of mutants (ptx_mutants.py has all of it)."""

import pytest

import ptx_mutants as study
from ptx_model import integers, machine, text

BUFFER = ("buffer", 4096)
WRONG = [  # kernels with a fault: how the model sees it
    ("reduce", "sums_reused", machine.Launch(128, [BUFFER, BUFFER, 3]), "values"),
    ("reduce", "sums_stuck", machine.Launch(128, [BUFFER, BUFFER]), "deadlock"),
    ("copies", "ring_sum_early", machine.Launch(160, [("buffer", 8192), BUFFER, 8]), "values"),
    ("copies", "store_unfenced", machine.Launch(128, [BUFFER, 5]), "values"),
    ("peers", "swap_parts_and_leave", machine.Launch(64, [BUFFER], cluster=2), "undefined"),
    ("arrivals", "reverse_rows_early", machine.Launch(128, [BUFFER, BUFFER, 7]), "values"),
]


def read(root, file, kernel):
    return text.read_kernel((root / "tests" / "ptx" / f"{file}.ptx").read_text(), kernel)


@pytest.mark.parametrize("file, kernel, launch, how", WRONG, ids=[row[1] for row in WRONG])
def test_faults_are_seen(root, file, kernel, launch, how):
    found = machine.outcomes(read(root, file, kernel), launch, range(8))
    assert any(outcome[0] == how for outcome in found) and (how != "values" or len(found) > 1)


@pytest.mark.parametrize("case", [case for case in study.CASES if case.kernel != "pipeline"], ids=lambda case: case.kernel)
def test_mutants(case):
    """Kernels as they are: one result in all schedules, and proved. No mutant is proved that the model sees fail."""
    rows = list(study.study(case, schedules=3, every=12))
    assert {kind for _, _, kind, _, _ in rows} & {"found", "harmless", "check only"}
    assert [row for row in rows if row[2] == "DISAGREEMENT"] == []


def test_a_product_of_warpgroups(root):
    """Mutants of the one kernel with wgmma: too early a release of a stage, and no proxy fence before the store."""
    case = next(case for case in study.CASES if case.kernel == "pipeline")
    source = study.source_of(case)
    outcomes, _ = study.ask_model(source, case, 2)
    assert len(outcomes) == 1
    wanted = next(iter(outcomes))
    for old, new in (("wgmma.wait_group.sync.aligned 1;", "wgmma.wait_group.sync.aligned 2;"),
                     ("fence.proxy.async.shared::cta;", "")):
        changed = source.replace(old, new)
        assert changed != source
        seen, _ = study.ask_model(changed, case, 6, wanted)
        assert any(outcome != wanted for outcome in seen), old
        assert study.ask_check(changed, case)[0] == "found"


MUTANTS_OF_PIPELINE = [  # a peek that succeeds only while the consumer is late; registers of wgmma
    (413, "parity flipped"), (567, "removed"), (567, "moved down"), (660, "moved down")]


@pytest.mark.parametrize("line, what", MUTANTS_OF_PIPELINE)
def test_what_only_some_orders_show(line, what):
    case = next(case for case in study.CASES if case.kernel == "pipeline")
    source = study.source_of(case)
    changed = next(text for at, how, text in study.mutants(source, text.read_kernel(source, case.kernel))
                   if (at, how) == (line, what))
    assert study.ask_check(changed, case)[0] == "found"


def test_text(root):
    """Names in braces are unique, labels as well; an operand that is an address has its offset."""
    kernel = read(root, "copies", "ring_sum")
    waits = [i for i in kernel.code if i.op.startswith("mbarrier.try_wait")]
    assert len({i.args[0] for i in waits}) == len(waits) and kernel.shared_bytes == 2080
    assert [size for _, size in kernel.parameters] == [8, 8, 4]
    load = next(i for i in kernel.code if i.op == "ld.shared.f32")
    assert load.args[1] == ("mem", "%r56", 512)


@pytest.mark.parametrize("op, values, result", [
    ("add.s32", (0xFFFFFFFF, 2), 1), ("sub.s32", (1, 2), 0xFFFFFFFF), ("mul.hi.u32", (1 << 31, 6), 3), ("mul.wide.s32", (0xFFFFFFFF, 5), (1 << 64) - 5),
    ("shr.s32", (0x80000000, 31), 0xFFFFFFFF), ("shr.u32", (0x80000000, 40), 0), ("shl.b32", (3, 31), 0x80000000),
    ("div.s32", (0xFFFFFFF9, 2), 0xFFFFFFFD), ("rem.s32", (0xFFFFFFF9, 2), 0xFFFFFFFF), ("min.s32", (0xFFFFFFFF, 1), 0xFFFFFFFF),
    ("min.u32", (0xFFFFFFFF, 1), 1), ("cvt.s64.s32", (0xFFFFFFFF,), (1 << 64) - 1), ("cvt.u32.u64", (1 << 33 | 7,), 7),
    ("mad.lo.s32", (3, 4, 5), 17), ("bfi.b32", (0xF, 0, 8, 4), 0xF00), ("bfe.u32", (0xABCD, 4, 8), 0xBC), ("not.b32", (0,), 0xFFFFFFFF),
    ("selp.b32", (1, 2, False), 2), ("lop3.b32", (0xF0, 0xCC, 0xAA, 0x80), 0x80)])
def test_integers(op, values, result):
    registers = integers.Registers({f"%{n}": value for n, value in enumerate(values)})
    arguments = ["%to", *(f"%{n}" for n in range(len(values)))]
    if op == "lop3.b32":
        arguments[-1] = values[-1]
    integers.compute(text.Instruction(op, arguments, parts=op.split(".")))(registers)
    assert registers["%to"] == result
