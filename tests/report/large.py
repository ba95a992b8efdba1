# SPDX-License-Identifier: Apache-2.0
"""large.py COUNT FILE.csv: a plan of many buffers with offsets, names in families of three levels: layers.3.attn.q.17."""
import random
import sys

PARTS = ("attn.q", "attn.k", "attn.v", "attn.out", "mlp.up", "mlp.gate", "mlp.down", "norm1", "norm2", "residual")
LAYERS, COLUMNS, PITCH = 16, 128, 32768


def rows(count):
    """(name, begin, end, size, offset): columns of buffers that follow each other in the same bytes, with holes."""
    choose = random.Random(7)
    ends = [0] * COLUMNS
    for k in range(count):
        column = k * 37 % COLUMNS
        begin = ends[column] + choose.randrange(12)
        ends[column] = begin + 1 + int(choose.expovariate(1 / 40))
        size = 64 * choose.randrange(1, PITCH // 64 + 1)
        yield ("layers.%d.%s.%d" % (k * LAYERS // count, PARTS[k % len(PARTS)], k), begin, ends[column], size, column * PITCH)


def write(path, count):
    with open(path, "w", encoding="utf-8") as file:
        file.write("id,lower,upper,size,offset\n")
        for row in rows(count):
            file.write("%s,%d,%d,%d,%d\n" % row)


if __name__ == "__main__":
    write(sys.argv[2], int(sys.argv[1]))
