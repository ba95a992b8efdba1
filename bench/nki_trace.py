# SPDX-License-Identifier: Apache-2.0
"""What a trace of an NKI kernel takes, in seconds of processor, for 10^5 operations on 50000 tensors: to run the
kernel and record it, to write its text, to read that, and to find its loops.

    PYTHONPATH=build/release/python python3 bench/nki_trace.py [OPERATIONS]
"""

import sys
import time

import spad.nki.trace as nt
from spad.nki import _record

with nt.installed():
    import nki.isa as nisa
    import nki.language as nl


def rows(x, w):
    out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
    weights = nl.ndarray((128, 128), dtype=x.dtype, buffer=nl.sbuf, address=(0, 16384))
    nisa.dma_copy(dst=weights, src=w)
    for i in nl.affine_range(x.shape[0] // 128):
        t = nl.ndarray((128, x.shape[1]), dtype=x.dtype, buffer=nl.sbuf, address=(0, i % 4 * 1024))
        p = nl.ndarray((128, x.shape[1]), dtype=nl.float32, buffer=nl.psum, address=(0, i % 2 * 2048))
        nisa.dma_copy(dst=t, src=x[i * 128:(i + 1) * 128, :])
        nisa.nc_matmul(p, weights, t)
        nisa.tensor_scalar(dst=t, data=p, op0=nl.multiply, operand0=2.0)
        nisa.dma_copy(dst=out[nl.ds(i * 128, 128), :], src=t)
    return out


def main():
    operations = int(sys.argv[1]) if len(sys.argv) > 1 else 100_000
    at = {}
    finish = _record.Recorder.finish

    def timed(recorder, returned):
        at["recorded"] = time.process_time()
        text = finish(recorder, returned)
        at["written"] = time.process_time()
        return text

    _record.Recorder.finish = timed
    for fold in (False, True):
        begin = time.process_time()
        k = nt.trace(rows, nt.hbm((operations // 4 * 128, 512), "bf16"), nt.hbm((128, 128), "bf16"), fold=fold,
                     operations_most=operations + 4)
        end = time.process_time()
        print(f"{k.operations} operations: recorded {at['recorded'] - begin:.2f} s, written "
              f"{at['written'] - at['recorded']:.2f} s, read{' and folded' if fold else ''} {end - at['written']:.2f} s")


if __name__ == "__main__":
    main()
