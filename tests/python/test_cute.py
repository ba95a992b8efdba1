# SPDX-License-Identifier: Apache-2.0
"""spad.cute: kernels of the CuTe DSL. Those that it compiles need nvidia-cutlass-dsl; the recorded ones do not."""

import ctypes
import re

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


@pytest.mark.parametrize("word", [
    "bfloat16[64],box[16],swizzle0,at[0x700000000000]",
    "float64[8,64],box[4,8],stride[512],swizzle32,at[0x700000000040]",
    "tfloat32[3,5,7],box[1,2,4],stride[137438953472,64],swizzle128atom32,at[0x700000001000]",
    "uint4[2,3,4,5,256],box[1,2,1,4,128],stride[7680,2560,640,128],swizzle64,at[0x700000002000]",
])
def test_maps_of_the_driver_have_the_form_of_the_hardware(word):
    """Host code that calls cuTensorMapEncodeTiled, and what is read back from the parameters."""
    import spad.cute
    kind, lists = word.split("[")[0], dict(re.findall(r"(box|stride|at|^\w+)\[([^\]]*)\]", word))
    extents, box, strides, place = ([int(one, 0) for one in lists.get(name, "").split(",") if one][::-1]
                                    for name in (kind, "box", "stride", "at"))
    numbers = {"bfloat16": 9, "float64": 8, "tfloat32": 11, "uint4": 13}
    swizzle = ["0", "32", "64", "128", "128atom32"].index(re.search(r"swizzle(\w+)", word)[1])
    made = (ctypes.c_uint8 * 128)()
    arrays = [(kind_of * len(values))(*values) for kind_of, values in
              ((ctypes.c_uint64, extents), (ctypes.c_uint64, strides), (ctypes.c_uint32, box), (ctypes.c_uint32, [1] * len(box)))]
    failures = []
    runtime = spad.cute._Runtime([], spad.cute._Memory(), [], failures)
    call = runtime.callbacks["_cuTensorMapEncodeTiled"]
    assert call(ctypes.addressof(made), numbers[kind], len(extents), place[0], *map(ctypes.addressof, arrays), 0, swizzle, 0, 0) == 0
    read = spad.cute._map_word(bytes(made)[:64], place[0])
    assert read == word.replace("tfloat32", "float32")  # which differ in how they round, not in their bytes
    assert call(ctypes.addressof(made), 99, 1, place[0], *map(ctypes.addressof, arrays), 0, 0, 0, 0) == 1
    assert "type 99" in str(failures[0])


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


def test_functions_of_the_host(dsl):
    """Without a kernel, a function computes on the memory of the host, as it always does."""
    numpy = pytest.importorskip("numpy")
    from cutlass.cute.runtime import from_dlpack

    import spad.cute
    numbers = numpy.arange(4, dtype=numpy.int32)
    assert spad.cute.launches(dsl.add_one, from_dlpack(numbers)) == []
    assert numbers.tolist() == [1, 2, 3, 4]


def test_extents():
    import spad.cute
    assert spad.cute._extent_bytes((4, 6), (8, 1), 16) == 60 and spad.cute._extent_bytes((4, 0), (1, 1), 16) == 0
    assert spad.cute._extent_bytes((33,), (1,), 4) == 17 and spad.cute._extent_bytes((32,), (1,), 1) == 32


def test_refusals(dsl):
    from cutlass.cute.runtime import make_fake_compact_tensor

    import spad.cute
    rows = dsl.cute.sym_int()
    tensor = make_fake_compact_tensor(dsl.cutlass.Float32, (rows, 128), stride_order=(1, 0))
    with pytest.raises(ValueError, match="extents that are numbers"):
        spad.cute.launches(dsl.launch_reverse, tensor, tensor, True)
    with pytest.raises(ValueError, match="extents that are numbers"):
        spad.cute.launches(dsl.launch_copy, *dsl.arguments(dsl.launch_copy, True)[:3], rows)
    with pytest.raises(ValueError, match="not one launch of a kernel 'copy' but 0"):
        spad.cute.load(dsl.launch_reverse, *dsl.arguments(dsl.launch_reverse, True), kernel="copy")
