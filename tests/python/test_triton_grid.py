# SPDX-License-Identifier: Apache-2.0
"""The time of a grid of a Triton kernel, from recorded TTGIR."""

from spad.triton import TritonKernel

SIZES = {"rows": 4096, "cols": 1024, "stride": 1024}


def test_a_loop_over_rows_is_that_of_the_grid(root):
    """A kernel that steps by its number of programs has fewer iterations in a larger grid."""
    text = (root / "tests" / "routes" / "softmax_sm80_s3.ttgir").read_text()
    kernel = TritonKernel.read(text, sizes=SIZES)
    few, many = kernel.sim(grid=128, registers=64), kernel.sim(grid=512, registers=64)
    told = TritonKernel.read(text, sizes={**SIZES, "num_programs": 512}).sim(grid=512, registers=64)
    assert many.data["grid"]["time_ps"] == told.data["grid"]["time_ps"]
    assert few.data["operations"] > 3 * many.data["operations"]


def test_work_in_registers_takes_time(root):
    """Attention computes more in registers than its products take."""
    text = (root / "tests" / "routes" / "attention_sm90_s3.ttgir").read_text()
    attention = TritonKernel.read(text, sizes={"N": 4096}).sim()
    assert attention.uncounted is None
    engines = {row["engine"]: row["busy_ps"] for row in attention.data["engines"]}
    assert engines["simt"] > engines["tensor"]
