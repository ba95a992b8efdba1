# SPDX-License-Identifier: Apache-2.0
"""Measures the Python package: python3 bench/python.py [PATH OF THE spad COMMAND]

Needs spad on the path (PYTHONPATH=build/release/python). Prints the best of several runs,
taken in turns, in seconds of processor:
allocations a second of spad.nki.SbufManager beside a plain-Python manager with the same
arithmetic, planning of 10^5 buffers from numpy beside the command on the same rows, and
the time of the import.
"""

import gc
import random
import resource
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests/python"))

from nki_rules import Manager  # noqa: E402

import spad  # noqa: E402
from spad import nki  # noqa: E402


def spent():
    """Seconds of processor that this process and its children have used: what others do on the
    machine counts less than on the clock."""
    mine, children = (resource.getrusage(who) for who in
                      (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return mine.ru_utime + mine.ru_stime + children.ru_utime + children.ru_stime


def best(works, rounds):
    """The shortest time of each, taken in turns so that all see the same machine."""
    times = [[] for _ in works]
    for _ in range(rounds):
        for work, list_ in zip(works, times):
            gc.collect()
            start = spent()
            work()
            list_.append(spent() - start)
    return [min(list_) for list_ in times]


def body(manager, count):
    """Scopes of eight tensors in two sections, as loops of kernels have them."""
    for _ in range(count // 8):
        manager.open_scope(2)
        for _ in range(2):
            for _ in range(4):
                manager.alloc_stack((128, 512), "bfloat16")
            manager.increment_section()
        manager.close_scope()


def in_one_scope(manager, count):
    alloc = manager.alloc_stack
    for _ in range(count):
        alloc((128, 512), "bfloat16")


def allocations(count=80000):
    quiet = nki.Logger(level=nki.OFF)
    for about, work, top, opened in (("scopes included", body, 212984, False),
                                     ("in one scope", in_one_scope, 1 << 40, True)):
        names = ["plain Python", "spad, library_2026_04"]
        managers = [Manager(0, top, logged=False),
                    nki.SbufManager(0, top, quiet, behaviour="library_2026_04",
                                    trace=False)]
        if not opened:
            names.append("spad, exact")
            managers.append(nki.SbufManager(0, top, quiet, behaviour="exact", trace=False))
        for manager in managers:
            if opened:
                manager.open_scope()
        times = best([lambda m=manager: work(m, count) for manager in managers], 9)
        for name, seconds in zip(names, times):
            print(f"{name:24} {count / seconds / 1e6:8.2f} M allocations/s, {about} "
                  f"({times[0] / seconds:.1f} x)")


def planning(command, count=100000):
    try:
        import numpy as np
    except ImportError:
        print("no numpy: planning is not measured")
        return
    rng = random.Random(1)
    begin = [rng.randrange(count) for _ in range(count)]
    rows = np.array([(t, t + rng.randint(1, 60), rng.randint(1, 4096)) for t in begin])
    capacity = 1 << 20
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "buffers.csv"
        path.write_text("id,lower,upper,size\n" + "".join(
            f"{i},{a},{b},{c}\n" for i, (a, b, c) in enumerate(rows.tolist())), encoding="ascii")

        def by_command():
            subprocess.run([command, "plan", path, "--capacity", str(capacity)], check=True,
                           stdout=subprocess.DEVNULL)

        def by_python():
            plan = spad.Plan(capacity=capacity)
            plan.add_many(rows[:, 0], rows[:, 1], rows[:, 2])
            result = plan.solve()
            assert result.fits and np.asarray(result.offsets).shape == (count,)

        times = best([by_command, by_python], 7)
    print(f"planning {count} buffers: command {times[0] * 1e3:.1f} ms (CSV), Python "
          f"{times[1] * 1e3:.1f} ms (numpy), {100 * (times[1] / times[0] - 1):+.1f} %")


def importing():
    bare, full = best([lambda code=code: subprocess.run([sys.executable, "-c", code], check=True)
                       for code in ("pass", "import spad")], 15)
    print(f"import spad: {1e3 * (full - bare):.1f} ms above a bare interpreter of "
          f"{1e3 * bare:.1f} ms")


if __name__ == "__main__":
    allocations()
    planning(sys.argv[1] if len(sys.argv) > 1 else Path(spad.__file__).with_name("spad"))
    importing()
