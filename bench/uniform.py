# SPDX-License-Identifier: Apache-2.0
"""Random planning problems: python3 bench/uniform.py COUNT [SEED] > FILE.csv

Sizes of 1 KiB to 1 MiB and lifetimes of 1 to 500 steps within 10^4 steps, all uniform and
drawn in this order: the problems that omnimalloc measures its planners on (its seed is 42).
"""

import random
import sys


def main():
    count = int(sys.argv[1])
    draw = random.Random(int(sys.argv[2]) if len(sys.argv) > 2 else 42).randint
    print("id,lower,upper,size")
    for i in range(count):
        size = draw(1024, 1 << 20)
        life = draw(1, 500)
        lower = draw(0, 10000 - life)
        print(f"{i},{lower},{lower + life},{size}")


if __name__ == "__main__":
    main()
