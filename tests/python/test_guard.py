# SPDX-License-Identifier: Apache-2.0
"""What protects objects from callers that do two things at once: arguments whose conversion runs code,
other threads, callbacks, cycles of references, files without end, Ctrl-C."""

import gc
import os
import subprocess
import sys
import textwrap
import threading
import weakref

import pytest

import spad
from spad import _spad, nki

KERNEL = """kernel k on trn2
tensor x : sbuf bf16 [4] (128, 64) ring 2
for i in 0..4 { vector a writes x[i]
vector b reads x[i] }
"""


class Number:
    """A number whose conversion does something first."""

    def __init__(self, value, action):
        self.value, self.action = value, action

    def __index__(self):
        self.action()
        return self.value


class Started:
    """A solve that runs in another thread until it is stopped, started by calling the object."""

    def __init__(self, plan):
        self.plan, self.running, self.stop, self.thread = plan, threading.Event(), False, None

    def __call__(self):
        if self.thread is None:
            self.thread = threading.Thread(target=self.work)
            self.thread.start()
            self.running.wait(30)

    def work(self):
        def progress(facts):
            self.running.set()
            return self.stop

        self.plan.solve(minimize=True, progress=progress)
        self.running.set()

    def end(self):
        self.stop = True
        if self.thread is not None:
            self.thread.join()


def hard_plan():
    """A plan whose solve takes long."""
    import random

    rng = random.Random(7)
    plan = spad.Plan(capacity=1 << 40)
    lower = [rng.randrange(3000) for _ in range(3000)]
    plan.add_many(lower, [n + rng.randint(1, 500) for n in lower],
                  [rng.randint(1, 10 ** 6) for _ in lower])
    return plan


CHANGES = {
    "add": lambda plan, n: plan.add(0, 1, n),
    "add, hint": lambda plan, n: plan.add(0, 1, 1, hint=n),
    "add, offset": lambda plan, n: plan.add(0, 1, 1, offset=n),
    "add, gaps": lambda plan, n: plan.add(0, 9, 1, gaps=[(n, 5)]),
    "add_many": lambda plan, n: plan.add_many([0], [1], [n]),
    "add_many, hint": lambda plan, n: plan.add_many([0], [1], [1], hint=[n]),
    "alias": lambda plan, n: plan.alias(n, 3),
    "apart": lambda plan, n: plan.apart(n, 3),
    "slice": lambda plan, n: plan.slice(3, 4, n),
    "in_place": lambda plan, n: plan.in_place(n, 3),
}


@pytest.mark.parametrize("name", CHANGES)
def test_a_change_is_refused_when_its_own_argument_starts_a_solve(name):
    plan = hard_plan()
    started = Started(plan)
    count = len(plan)
    try:
        with pytest.raises(RuntimeError, match="in use"):
            CHANGES[name](plan, Number(2, started))
        assert len(plan) == count
    finally:
        started.end()
    CHANGES[name](plan, 2)


def test_a_column_is_read_once_before_anything_is_added():
    plan, read = spad.Plan(), []
    plan.add_many([0, 0], [1, 1], [Number(1, lambda: read.append(len(plan))),
                                   Number(2, lambda: read.append(len(plan)))])
    assert read == [0, 0] and len(plan) == 2


def test_a_report_is_not_changed_while_it_is_written():
    """A writer starts while an argument is converted; it runs long enough to be met."""
    report = spad.Report("trn2")
    for i in range(20000):
        report.add_box(f"b{i}", i, i + 1, 0, 64)

    def while_written(change):
        threads = []

        def write():
            threads.append(threading.Thread(target=report.write, args=("html",)))
            threads[-1].start()
            while threads[-1].is_alive():
                try:
                    report.add_note("a probe")
                except RuntimeError:
                    break

        def attempt():
            try:
                change(Number(0, write))
            except RuntimeError as error:
                assert "in use" in str(error)
                return True
            finally:
                threads[-1].join()
            return False

        return any(attempt() for _ in range(20))

    assert while_written(lambda n: report.add_box("late", n, 1, 0, 64))
    assert while_written(lambda n: report.add_bar("row", "late", 0, 1, ready=n))


def test_a_function_that_places_tiles_cannot_declare_in_the_same_kernel():
    direct = spad.Direct("trn2")
    seen = []

    def place(index, lanes, size):
        try:
            for i in range(50):
                direct.declare("sbuf", (128, 4), "uint8", name=f"t{i}")
        except RuntimeError as error:
            seen.append(str(error))
        return 0, 0

    direct.declare("sbuf", (128, 4), "uint8", block=(2,), mode="func", func=place)
    assert len(direct) == 1 and len(seen) == 2 and "in use" in seen[0]
    direct.declare("sbuf", (128, 4), "uint8")


def test_a_dict_that_changes_while_its_numbers_are_read():
    def grow(values):
        values.clear()
        values.update({f"other{i}": 1 for i in range(1000)})

    values = {}
    values.update(N=Number(4, lambda: grow(values)), M=Number(1, lambda: None))
    with pytest.raises(spad.Error):
        _spad.Kernel.parse(KERNEL, defines=values)


def test_a_buffer_is_not_freed_while_it_is_copied():
    """The copy runs without the GIL: another thread tries to free its buffers meanwhile."""
    device = spad.Device()
    size = 1 << 26
    to, source = device.alloc((size,), "uint8"), device.alloc((size,), "uint8")
    refused, stop = [], threading.Event()

    def free():
        while not stop.is_set():
            for buffer in (to, source):
                try:
                    buffer.free()
                    return
                except BufferError as error:
                    refused.append(str(error))

    thread = threading.Thread(target=free)
    thread.start()
    try:
        for _ in range(20):
            spad.copy(to, source)
    except spad.Error:
        pass  # freed between two copies
    stop.set()
    thread.join()


# ---- cycles -------------------------------------------------------------------------------------


class Marked:
    """Something that one can have a weak reference to."""


def holders():
    """A function for each way to put something into an object that holds another one, and back."""
    kernel = _spad.Kernel.parse(KERNEL)

    class Trace(spad.Trace):
        pass

    class Device(spad.Device):
        pass

    class Report(spad.Report):
        pass

    def result():
        plan = spad.Plan()
        plan.add(0, 1, 1)
        plan.result = plan.solve()
        return plan

    def offsets():
        plan = spad.Plan()
        plan.add(0, 1, 1)
        plan.offsets = plan.solve().offsets
        return plan

    def stack():
        trace = Trace("trn2")
        trace.stack = spad.Stack("trn2", trace=trace)
        return trace

    def walk():
        trace = Trace("trn2")
        trace.walk = _spad.walk(kernel, trace=trace)
        return trace

    def direct():
        trace = Trace("trn2")
        trace.direct = spad.Direct("trn2", trace=trace)
        return trace

    def device():
        device = Device()
        device.buffer = device.alloc((4,), "uint8").alias((2,))
        return device

    def memory():
        device = Device()
        device.block = device.memory().limit(1 << 20).pool().alloc(16)
        return device

    def fence():
        device = Device()
        device.fence = spad.Stream(device).record()
        return device

    def recorded():
        device, trace = Device(target="trn2"), Trace("trn2")
        device.record(trace)
        trace.device = device
        return device

    def workspace():
        device = Device()
        device.taken = spad.Workspace(device, 64).take((4,), "uint8")
        return device

    def pool():
        device = Device()
        device.pool = spad.Pool(device.alloc((64,), "uint8"))
        return device

    def stream():
        stream = spad.Stream(Device())
        stream.block = stream.alloc(16)
        return stream

    def tensor():
        stack = spad.Stack("trn2")
        stack.open_scope()
        buffer = type("Space", (), {"name": "sbuf"})()
        buffer.tensor = stack.alloc_stack((128, 4), "uint8", buffer=buffer)
        return buffer

    def component():
        class Registry(spad.Registry):
            pass

        registry = Registry()
        registry.part = registry.add("a")
        return registry

    return {name: make for name, make in locals().items() if callable(make) and
            not isinstance(make, type) and name != "kernel"}


@pytest.mark.parametrize("name", holders())
def test_cycles_are_collected(name):
    gc.collect()
    owner = holders()[name]()
    owner.marked = Marked()
    alive = weakref.ref(owner.marked)
    del owner
    gc.collect()
    assert alive() is None


def test_every_type_takes_part_in_garbage_collection():
    types = [kind for kind in vars(_spad).values() if isinstance(kind, type)
             and not issubclass(kind, BaseException)]
    assert len(types) >= 29
    has_gc = 1 << 14
    assert [kind for kind in types if not kind.__flags__ & has_gc] == []


# ---- sequences ----------------------------------------------------------------------------------


def count_to(things, most):
    found = 0
    for _ in things:
        found += 1
        if found > most:
            break
    return found


def test_iterations_end():
    plain = nki.ndarray((nki.par_dim(128), 4), "uint8")
    blocks = nki.ndarray((2, 3, nki.par_dim(128), 4), "uint8")
    assert count_to(plain, 10) == 1 and count_to(blocks, 10) == 6
    assert list(blocks) == blocks.tiles and blocks[1, 0].index == (1, 0)
    assert count_to(blocks[1], 10) == 3 and count_to(plain[()], 10) == 1
    with pytest.raises(IndexError):
        plain[128]
    with pytest.raises(IndexError):
        blocks[2]


def test_sequences_of_the_c_part_end():
    plan = spad.Plan()
    plan.add_many([0, 0], [1, 1], [1, 1])
    assert count_to(plan, 10) == 2
    log = spad.Log.parse("Thread,Time,Action,Pointer,Size,Stream\n0,0,allocate,0x10,64,0x0\n")
    assert count_to(log, 10) == 1


def test_a_kernel_that_a_result_hands_out_has_what_every_kernel_has():
    kernel = spad.Kernel.parse(KERNEL)
    made = {"chosen": kernel.tune().chosen, "layout": kernel.layout().kernel,
            "sim": kernel.sim().kernel, "hoisted": kernel._finished().reshape()}
    for where, found in made.items():
        layout = found.layout()
        assert found.sim().makespan == found.sim(layout).makespan, where
        assert found.check(layout) and found.tune().chosen.sim().makespan, where
        assert "<svg" in found.report().svg() and next(found.walk())["kind"], where
        assert found.name in repr(found), where


# ---- files without end --------------------------------------------------------------------------


def run(code, timeout=100):
    return subprocess.run([sys.executable, "-c", textwrap.dedent(code)], capture_output=True,
                          text=True, timeout=timeout)


LOADS = {"spad.Target.load": "TEXT", "spad.Kernel.load": "TEXT", "spad.Plan.load": "ROWS",
         "spad.Log.load": "ROWS", "spad.plan_csv": "ROWS", "spad.replay": "ROWS"}


@pytest.mark.skipif(not os.path.exists("/dev/zero"), reason="there is no /dev/zero")
@pytest.mark.parametrize("load", LOADS)
@pytest.mark.parametrize("path", ["/dev/zero", "/dev/full"])
def test_a_file_without_end_is_an_error(load, path):
    ran = run(f"""
        import spad
        from spad import core
        core._{LOADS[load]}_MIB //= 16  # the real limit takes long to reach
        try:
            {load}({path!r})
        except spad.MachineError as error:
            print(error.code, error.file, error)
        """)
    most = {"TEXT": 4, "ROWS": 64}[LOADS[load]]
    assert ran.stdout == f"SPAD-IO {path} cannot read '{path}': larger than {most} MiB\n", ran.stderr


def test_the_limits_are_those_of_the_command(root):
    header = (root / "cli" / "cli.h").read_text(encoding="utf-8")
    assert (f"CLI_TEXT_MIB = {spad.core._TEXT_MIB}, CLI_ROWS_MIB = {spad.core._ROWS_MIB}"
            in header)


def test_a_pipe_without_end_is_an_error(tmp_path, monkeypatch):
    monkeypatch.setattr(spad.core, "_ROWS_MIB", 8)
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    writer = subprocess.Popen([sys.executable, "-c", f"""
with open({str(pipe)!r}, "wb") as file:
    while True:
        file.write(b"# line\\n" * 100000)
"""], stderr=subprocess.DEVNULL)
    try:
        with pytest.raises(spad.MachineError, match="larger than 8 MiB"):
            spad.Plan.load(pipe)
    finally:
        writer.kill()
        writer.wait()


def test_a_pipe_with_an_end_is_read(tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    text = "id,lower,upper,size\n" + "".join(f"b{i},0,1,4\n" for i in range(5))
    thread = threading.Thread(target=pipe.write_text, args=(text,))
    thread.start()
    plan = spad.Plan.load(pipe)
    thread.join()
    assert len(plan) == 5 and plan.source == text


# ---- Ctrl-C and time -------------------------------------------------------------------------------

# Every call would take hours, or at least long enough to be met.
LONG = {
    "sim": "endless.sim(no_repeat=True, operation_limit=2**62)",
    "tune": "wide.tune(1000, 10**9)",
    "check": "uneven.check(one_shape=True, event_limit=2**62)",
    "explain": "full.solve(timeout=1).explain(timeout=1e6)",
    "solve": "hard.solve(minimize=True)",
}
LONG_THINGS = r"""
import os, random, signal, sys, threading, time
import spad

def kernel(tensors, n):
    names = [f"x{i}" for i in range(tensors)]
    return spad.Kernel.parse(
        f"kernel k on trn2\nparam N = {n}\n"
        + "".join(f"tensor {x} : sbuf bf16 [N] (128, 64) ring 2\n" for x in names)
        + "for i in 0..N {" + "".join(f"dma load writes {x}[i]\nvector exp reads {x}[i]\n"
                                       for x in names) + "}\n")

endless, wide, uneven = kernel(1, 10**8), kernel(12, 10**5), kernel(1, 10**8)
rng = random.Random(7)
hard, full = spad.Plan(), spad.Plan(capacity=10**7)
for plan in (hard, full):
    lower = [rng.randrange(3000) for _ in range(3000)]
    plan.add_many(lower, [n + rng.randint(1, 500) for n in lower],
                  [rng.randint(1, 10**6) for _ in lower])
"""


@pytest.mark.parametrize("name", LONG)
def test_ctrl_c_ends_a_long_call(name):
    ran = run(LONG_THINGS + f"""
threading.Timer(0.5, os.kill, (os.getpid(), signal.SIGINT)).start()
try:
    {LONG[name]}
    print("done")
except KeyboardInterrupt:
    print("interrupted", flush=True)
os._exit(0)
""")
    assert ran.stdout == "interrupted\n", ran.stderr[-2000:]


def test_ctrl_c_ends_what_is_written():
    """A report is written in much less than its time if it is interrupted early."""
    ran = run("""
        import os, signal, threading, time
        import spad

        report = spad.Report("trn2")
        for i in range(100000):
            report.add_box(f"b{i}", i, i + 1, 0, 64)

        def write(seconds):
            begin = time.perf_counter()
            timer = threading.Timer(seconds, os.kill, (os.getpid(), signal.SIGINT))
            timer.start()
            try:
                report.write("json")
            except KeyboardInterrupt:
                pass
            timer.cancel()
            return time.perf_counter() - begin

        whole = write(1000)
        print(any(write(whole / 10) < whole / 2 for _ in range(10)))
        """)
    assert ran.stdout == "True\n", ran.stderr[-2000:]


def test_time_that_is_up():
    made = {}
    exec(LONG_THINGS, made)
    with pytest.raises(spad.TimeError) as caught:
        made["endless"].sim(no_repeat=True, operation_limit=2 ** 62, timeout=0.05)
    assert caught.value.code == "SPAD-TIME" and isinstance(caught.value, TimeoutError)
    assert made["wide"].tune(8, 10 ** 9, timeout=2).makespan is not None
    assert made["uneven"].check(one_shape=True, timeout=0.01, event_limit=2 ** 62)
    with pytest.raises(spad.ArgumentError):
        made["wide"].tune(timeout=0)
