# SPDX-License-Identifier: Apache-2.0
"""spad.cute: kernels of the CuTe DSL. Those that it compiles need nvidia-cutlass-dsl; the recorded ones do not."""

import pytest

import spad.cuda as sc

RECORDED = {"reverse": "", "reverse_early": "SPAD-RACE", "copy": "", "copy_lapped": "SPAD-LAPPED-WAIT"}


@pytest.fixture
def dsl():
    pytest.importorskip("cutlass", reason="nvidia-cutlass-dsl is not installed")
    return pytest.importorskip("cute_kernels")


def errors(check):
    return [finding for finding in check.findings if finding.severity == "error"]


@pytest.mark.parametrize("name", RECORDED)
def test_recorded(root, name):
    check = sc.check(root / "tests" / "ptx" / f"cute_{name}.toml")
    assert ",".join(finding.code for finding in errors(check)) == RECORDED[name]
    assert all(finding.file.endswith("cute_kernels.py") for finding in check.findings)
    if not RECORDED[name]:
        assert check.verdict.startswith("proved")


def test_a_race_points_at_python(dsl):
    import spad.cute
    source = open(dsl.__file__, encoding="utf-8").read().split("\n")
    assert spad.cute.check(dsl.launch_reverse, *dsl.arguments(dsl.launch_reverse, True)).verdict.startswith("proved")
    race, = errors(spad.cute.check(dsl.launch_reverse, *dsl.arguments(dsl.launch_reverse, False)))
    assert race.code == "SPAD-RACE" and race.file == dsl.__file__
    assert source[race.line - 1].strip() == "dst[block, thread] = row[COLUMNS - 1 - thread]"
    assert source[race.notes[0]["line"] - 1].strip() == "row[thread] = src[block, thread]"


def test_tensor_maps(dsl):
    """The host code of the DSL makes them, in the form of the hardware."""
    import spad.cute
    launch, = spad.cute.launches(dsl.launch_copy, *dsl.arguments(dsl.launch_copy, True))
    assert 'map = "float16[192,32],box[32,32],stride[64],swizzle0,at[0x700000000000]"' in launch.text
    assert launch.check().verdict.startswith("proved")
    lapped, = errors(spad.cute.check(dsl.launch_copy, *dsl.arguments(dsl.launch_copy, False)))
    assert lapped.code == "SPAD-LAPPED-WAIT" and lapped.file == dsl.__file__


def test_arrays_of_the_host(dsl, tmp_path):
    """They get addresses of a device, the same ones each time, and their integers are known."""
    numpy = pytest.importorskip("numpy")
    import cutlass.cute as cute
    from cutlass.cute.runtime import from_dlpack

    import spad.cute
    arrays = [numpy.arange(4 * 128, dtype=kind).reshape(4, 128) for kind in (numpy.int32, numpy.float32, numpy.int32)]
    with spad.cute.record() as launches:
        for _ in range(2):
            dsl.launch_reverse(from_dlpack(arrays[1]), from_dlpack(arrays[1]), True)
            dsl.launch_reverse(from_dlpack(arrays[0]).mark_layout_dynamic(), from_dlpack(arrays[2]), True)
    first, second, *again = launches
    assert [one.text for one in again] == [first.text, second.text]
    assert first.text.count("[[memory]]") == 1 and "contents" not in first.text and second.text.count("[[memory]]") == 2
    assert f'contents = "{arrays[0].tobytes().hex()}"' in second.text and "address = 0x700000000000" in second.text
    assert second.check().verdict.startswith("proved")
    second.save(tmp_path / "second")
    assert sc.load(tmp_path / "second.toml").run == second.load().run
    assert cute.runtime._Tensor.__c_pointers__.__module__.startswith("cutlass"), "nothing stays replaced"


def test_refusals(dsl):
    from cutlass.cute.runtime import make_fake_compact_tensor

    import spad.cute
    rows = dsl.cute.sym_int()
    tensor = make_fake_compact_tensor(dsl.cutlass.Float32, (rows, 128), stride_order=(1, 0))
    with pytest.raises(ValueError, match="extents that are numbers"):
        spad.cute.launches(dsl.launch_reverse, tensor, tensor, True)
    with pytest.raises(ValueError, match="not one launch of a kernel 'copy' but 0"):
        spad.cute.load(dsl.launch_reverse, *dsl.arguments(dsl.launch_reverse, True), kernel="copy")
