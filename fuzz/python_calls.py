# SPDX-License-Identifier: Apache-2.0
"""A random caller of the Python package: whatever a caller does ends with a result or an exception, in
finite time, and never with a crash.

    python3 fuzz/python_calls.py --seconds 600          # until then, from a seed of its own
    python3 fuzz/python_calls.py --seed 7 --calls 2000  # the same calls every time

Every public name of every module of the package is called: names are taken from the modules, the
kinds of arguments from their types, so that what is new is called without a change here.
Arguments fit in most cases, and otherwise are wrong types, huge numbers, objects of another kernel,
objects that were closed, and objects whose conversion calls something else first, in this thread or
another one; callbacks raise and call back; calls run in two threads at a time, and are interrupted.

The calls of a round are lines of Python. A process of its own runs them and writes each down before
it is run. If it dies, needs more than --patience seconds for a line, or a call ends with a
SystemError or a spad.InternalError, the lines are printed as a script, which needs no random numbers:

    PYTHONPATH=build/dev/python python3 failed.py

Run it with a package that was built with a sanitizer (tests/python/CMakeLists.txt has the environment
for that): then reading freed memory is found, too.
"""

import argparse
import ast
import copy
import functools
import gc
import importlib
import itertools
import os
import pathlib
import pickle
import pkgutil
import random
import resource
import signal
import subprocess
import sys
import tempfile
import threading
import time
import types

# ---- what the lines of a script use -------------------------------------------------------------

import spad

LINE_SECONDS = 5.0  # after which a line is interrupted as by Ctrl-C

KERNELS = ("""kernel k on trn2
param N = 4
tensor x : sbuf bf16 [N] (128, 64) ring 2
tensor o : hbm bf16 [N] (128, 64) output
for i in 0..N { dma a writes x[i]
vector b reads x[i]
dma c reads x[i] writes o[i] }
""", """kernel other on trn2
tensor x : sbuf bf16 [4] (128, 64) ring 2
tensor y : psum f32 [2] (128, 16)
for i in 0..4 { vector a writes x[i]
vector b reads x[i] }
""", """kernel big on trn2
param N = 100
tensor x : sbuf bf16 [N] (128, 4096) ring 40
for i in 0..N { dma a writes x[i]
vector b reads x[i] }
""", "kernel broken on trn2\ntensor x : nowhere\n")
CSV = "id,lower,upper,size\na,0,3,16\nb,1,4,32\nc,2,5,8\n"
LOG = "Thread,Time,Action,Pointer,Size,Stream\n0,0,allocate,0x10,64,0x0\n0,1,free,0x10,64,0x0\n"
CHIP = "target tiny\nspace memory { bytes 4096; lanes 4 }\n"


class Acting:
    """A number whose conversion does something first; also a flag, a length and a text."""

    def __init__(self, value, action):
        self.value, self.action = value, action

    def __index__(self):
        self.action()
        return self.value

    __int__ = __len__ = __hash__ = __index__

    def __bool__(self):
        return bool(self.__index__())

    def __str__(self):
        return str(self.__index__())

    __repr__ = __str__

    def __iter__(self):
        self.action()
        return iter([self.value] * 2)


class Refusing:
    """Refuses everything that is asked of an object."""

    def __bool__(self):
        raise ValueError("neither")

    __index__ = __len__ = __str__ = __repr__ = __hash__ = __iter__ = __float__ = __bool__


class Text(str):
    """A str with more in it."""


class Callback:
    """Does something, then answers or raises."""

    def __init__(self, answer, action=None):
        self.answer, self.action = answer, action

    def __call__(self, *args, **keywords):
        if self.action is not None:
            self.action()
        if isinstance(self.answer, BaseException):
            raise self.answer
        return self.answer


def hard_plan():
    """A plan that is solved for as long as it may be: threads meet in it."""
    rng = random.Random(7)
    plan = spad.Plan()
    lower = [rng.randrange(400) for _ in range(300)]
    plan.add_many(lower, [n + rng.randint(1, 60) for n in lower], [rng.randint(1, 9999) for _ in lower])
    return plan


def large_report():
    """A report that takes a while to write."""
    report = spad.Report("trn2")
    for i in range(3000):
        report.add_box(f"b{i}", i, i + 1, 0, 64)
    return report


def busy_log():
    """A log that takes a while to replay."""
    rows = "".join(f"0,{i},{'free' if i % 2 else 'allocate'},0x{i // 2 + 16:x},64,0x0\n"
                   for i in range(20000))
    return spad.Log.parse(LOG.splitlines()[0] + "\n" + rows)


FINDINGS = []
_threads = []


def _judge(error):
    """A SystemError is a C function that broke Python's rules."""
    if isinstance(error, (SystemError, spad.InternalError)):
        FINDINGS.append(f"{type(error).__name__}: {error}")


def first(values):
    """The first of what can be iterated."""
    if isinstance(values, memoryview):
        len(values)  # of a released one iter() breaks CPython's own rules, and this is a ValueError
    return list(itertools.islice(iter(values), 50))


def quietly(function):
    """What it gives, or None if that is an exception."""
    try:
        return function()
    except (Exception, KeyboardInterrupt) as error:
        _judge(error)
        return None


def start(function):
    """Begins to run it in another thread."""
    thread = threading.Thread(target=quietly, args=(function,), daemon=True)
    thread.start()
    _threads.append(thread)  # an interrupt can come between the two: what has not begun is not joined


def together(*functions):
    """Runs them at the same time."""
    for function in functions[1:]:
        start(function)
    return quietly(functions[0])


def soon(seconds, function):
    """Runs it, and interrupts it after so many seconds."""
    signal.setitimer(signal.ITIMER_REAL, seconds)
    return function()


def within(thing, function):
    """Runs it in the with block of something."""
    with thing:
        return function()


def _interrupt(number, frame):
    raise KeyboardInterrupt


def step(function):
    """Runs a line of a script; it is interrupted when it takes long."""
    signal.signal(signal.SIGALRM, _interrupt)
    try:
        try:
            signal.setitimer(signal.ITIMER_REAL, LINE_SECONDS)
            result = function()
            signal.setitimer(signal.ITIMER_REAL, 0)
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
    except (Exception, KeyboardInterrupt) as error:
        _judge(error)
        result = None
    if FINDINGS:
        print("found:", "; ".join(FINDINGS), file=sys.stderr, flush=True)
        os._exit(3)
    return result


def finish():
    """The end of a script: threads end, objects go."""
    for thread in _threads:
        thread.join()
    _threads.clear()
    gc.collect()


# ---- what there is to call ----------------------------------------------------------------------


def modules():
    """Every module of the package for its users; not those that run a command, or that need a compiler of device
    functions."""
    names = sorted(info.name for info in pkgutil.walk_packages(spad.__path__, "spad.")
                   if not any(part.startswith("_") for part in info.name.split(".")))
    return {"spad": spad, **{name: importlib.import_module(name) for name in names}}


def read_types():
    """The parameters of typed functions and methods, by "module:name" and "module:Class.name", and without
    the module where it is the only one: (name, annotation, needed, only by position)."""
    found = {}
    home = pathlib.Path(spad.__file__).parent
    for path in [*sorted(home.rglob("*.py")), home / "_spad.pyi"]:
        module = path.parent.name if path.stem == "__init__" else path.stem
        for node in ast.parse(path.read_text(encoding="utf-8")).body:
            if isinstance(node, ast.FunctionDef) and node.returns is not None:
                found[node.name] = found[f"{module}:{node.name}"] = parameters(node)
            for inner in node.body if isinstance(node, ast.ClassDef) else ():
                if isinstance(inner, ast.FunctionDef) and (inner.returns or inner.name == "__new__"):
                    taken = parameters(inner)
                    static = any(getattr(d, "id", "") == "staticmethod"
                                 for d in inner.decorator_list)
                    taken = taken if static else taken[1:]
                    found[f"{node.name}.{inner.name}"] = taken
                    found[f"{module}:{node.name}.{inner.name}"] = taken
    return found


def parameters(node):
    args, rows = node.args, []
    plain = args.posonlyargs + args.args
    needed = len(plain) - len(args.defaults)
    for i, arg in enumerate(plain):
        kind = "" if arg.annotation is None else ast.unparse(arg.annotation)
        rows.append((arg.arg, kind, i < needed, i < len(args.posonlyargs)))
    for arg, default in zip(args.kwonlyargs, args.kw_defaults):
        kind = "" if arg.annotation is None else ast.unparse(arg.annotation)
        rows.append((arg.arg, kind, default is None, False))
    return rows


# ---- values as source text ----------------------------------------------------------------------

NUMBERS = ["0", "1", "2", "3", "4", "8", "16", "64", "100", "128", "512", "4096"]
HUGE = ["-1", "2**31", "2**32", "2**62", "2**63 - 1", "-2**63", "2**63", "2**80", "10**9", "65537"]
WRONG = ["None", "True", "0.5", "float('nan')", "float('inf')", "''", "'x'", "'\\0'", "'é' * 70",
         "'\\ud800'", "b''", "b'x' * 200", "()", "(1,)", "(128, 4)", "(1,) * 20", "(-1, 2)",
         "('a', None)", "[]", "[1, 2]", "[None]", "{}", "{'N': 1}", "{1: 2}", "slice(1)", "object()",
         "Refusing()", "len", "memoryview(b'abcd')", "Text('sbuf')", "range(3)", "type", "spad",
         "memoryview(bytearray(16)).cast('q')", "iter([1, 2])", "[[1, 2], [3, 4]]", "'x' * 100000"]
WORDS = {
    "target": ["'trn2'", "'trn1'", "'sm_90'", "'sm_100'", "'910b'", "'tiny'"],
    "space": ["'sbuf'", "'psum'", "'hbm'", "'shared'", "'tmem'", "'memory'"],
    "dtype": ["'uint8'", "'bf16'", "'float32'", "'int64'", "'float4_e2m1fn'", "'bool'"],
    "precision": ["'float32'", "'float64'"],
    "scope": ["'global'", "'shared'", "'shared.dyn'", "'local'", "'local.fragment'", "'shared.tmem'"],
    "mode": ["'auto'", "'at'", "'mod'", "'func'", "'stack'", "'heap'"],
    "behaviour": ["'exact'", "'library_2026_04'", "'library_later'"],
    "format": ["'text'", "'svg'", "'html'", "'json'", "'trace'", "'changes'"],
    "lang": ["'c'", "'cuda'", "'nki'", "'json'", "'csv'"],
    "location": ["'shared'", "'local'"], "region": ["'shared'", "'persistent'", "'local'"],
    "text": ["KERNELS[0]", "KERNELS[1]", "KERNELS[2]", "KERNELS[3]", "CSV", "LOG", "CHIP"],
    "path": ["'kernel.spad'", "'plan.csv'", "'log.csv'", "'chip.txt'", "'nothing'", "'out.svg'",
             "'out.html'", "'/dev/full'", "'.'"],
    "kind": ["'serial'", "'parallel'", "'branch'", "'concurrent'"],
    "use": ["'plain'", "'tma'", "'mma'", "'swizzle_128b'"], "op": ["'sum'", "'max'", "'abssum'"],
    "name": ["'a'", "'b'", "'x'", "'state'", "None"], "tensor": ["'x'", "'y'", "0", "1"],
    "shape": ["(128, 4)", "(4,)", "(2, 3, 4)", "16", "(0,)", "(128, 64)"],
    "timeout": ["0.01", "0.1", "None", "1e-9"], "seconds": ["0.01"],
    "threads": ["1", "2"], "defines": ["{'N': 2}", "{'N': 2**40}", "{'N': 0}", "None"],
    "rings": ["{'x': 3}", "{'x': 2**40}", "None"], "hoists": ["{'x': 2}", "None"],
    "data": ["b'abcd'", "bytearray(64)", "memoryview(b'ab')"], "engine": ["'vector'", "'dma'"],
    "device": ["'host'"], "method": ["'erk'", "'firk'"], "group": ["'work'", "'params'"],
    "block": ["(2,)", "(2, 3)", "None"], "tile": ["(128, 4)", "(64, 8)"],
    "lower": ["0", "[0, 1]"], "upper": ["9", "[5, 6]"], "size": ["16", "[8, 16]"],
}
KINDS = {
    "int": NUMBERS, "bool": ["True", "False"], "float": ["0.5", "1.0", "0.01"], "None": ["None"],
    "str": ["'a'", "'x'", "'sbuf'", "'trn2'", "'uint8'", "'text'", "'global'"],
    "bytes": ["b'abcd'"], "_Bytes": ["b'abcd'", "bytearray(64)"], "_Shape": WORDS["shape"],
    "_Column": ["[0, 1]", "[2, 3]", "(4, 8)", "memoryview(bytearray(16)).cast('q')"],
    "_Facts": ["{}", "{'work': 64}"], "slice": ["slice(1)"], "object": ["object()"],
}
RECIPES = [
    "spad.Kernel.parse(KERNELS[0])", "spad.Kernel.parse(KERNELS[1])", "spad.Kernel.parse(KERNELS[2])",
    "spad._spad.Kernel.parse(KERNELS[0])", "spad.Plan(capacity=1000)", "spad.Plan('trn2', 'sbuf')",
    "spad.Plan.load('plan.csv')", "spad.Stack('trn2', trace=True)", "spad.Block('sm_90')",
    "spad.Direct('trn2', trace=spad.Trace('trn2'))", "spad.Device()", "spad.Trace('trn2')",
    "spad.Report('trn2')", "spad.Registry().add('loop')", "spad.Tmem('sm_100')",
    "spad.Log.parse(LOG)", "spad.Stream(spad.Device())", "spad.Workspace(spad.Device(), 256)",
    "spad.Pool(spad.Device().alloc((4096,), 'uint8'))", "spad.Device().memory().log()",
    "spad.Target('trn2')", "spad.Target.parse(CHIP)", "spad.check(KERNELS[0])",
    "spad.layout(KERNELS[0])", "spad.layout(KERNELS[2])", "spad.sim(KERNELS[1])",
    "spad.tune(KERNELS[0])", "spad.plan_csv('plan.csv')", "spad.Device().alloc((4, 4), 'float32')",
    "hard_plan()", "hard_plan()", "large_report()", "busy_log()",
    "spad.Device().alloc((1 << 22,), 'uint8')",
]
# Special methods, and how many arguments they take.
SPECIAL = {"__getitem__": 1, "__setitem__": 2, "__len__": 0, "__iter__": 0, "__next__": 0,
           "__enter__": 0, "__exit__": 3, "__repr__": 0, "__str__": 0, "__eq__": 1, "__hash__": 0,
           "__bool__": 0, "__reduce_ex__": 1, "__init__": 0, "__dlpack__": 0, "__dlpack_device__": 0,
           "__call__": 1, "__contains__": 1, "__dir__": 0, "__sizeof__": 0, "__array__": 0,
           "__add__": 1, "__lt__": 1, "__and__": 1, "_repr_svg_": 0, "_repr_html_": 0}
# Modules whose functions work on what a with block around them has made.
AROUND = {"spad.tilelang": "spad.tilelang.block('sm_90')", "spad.nki": "spad.nki.kernel()"}
FUNCTIONS = ["repr({0})", "len({0})", "first({0})", "hash({0})",
             "bool({0})", "copy.copy({0})", "copy.deepcopy({0})", "pickle.dumps({0})",
             "memoryview({0})", "str({0})", "{0} == {1}", "type({0})()", "type({0}).__new__(type({0}))",
             "object.__new__(type({0}))", "{0}[{2}]", "{0}({1})", "gc.collect()", "next({0})",
             "setattr({0}, 'extra', {1})", "setattr({0}, {3!r}, {1})", "delattr({0}, {3!r})",
             "within({0}, lambda: {1})", "sorted([{0}, {1}])", "dir({0})", "vars({0})", "{0} in {1}",
             "type('Sub', (type({0}),), {{}})", "setattr({0}, '__class__', type({1}))"]


@functools.cache
def made_by_recipes():
    """The recipes by the name of the type that they make."""
    found = {}
    for recipe in RECIPES:
        found.setdefault(type(eval(recipe)).__name__, []).append(recipe)
    return found


class Writer:
    """Writes the lines of a round, and runs them in a namespace to know what there is."""

    def __init__(self, seed, log):
        self.rng, self.log = random.Random(seed), log
        self.names, self.count, self.lines = {"spad": spad}, 0, 0
        exec("from python_calls import *\nimport copy, gc, itertools, pickle", self.names)
        self.held = []  # names of variables that hold an object of the package
        self.types, self.recipes = read_types(), made_by_recipes()
        # few recipes in a round, so that its objects have to do with each other
        self.chosen = [self.pick(RECIPES) for _ in range(self.rng.choice((1, 2, 4, 8)))]
        self.table = [(path, name) for path, module in modules().items()
                      for name in sorted(vars(module)) if not name.startswith("_")
                      and name != "limit_memory"  # of the process, so that the rest would fail
                      and callable(getattr(module, name)) and self.ours(getattr(module, name))]

    @staticmethod
    def ours(thing):
        return str(getattr(thing, "__module__", None) or "spad").startswith("spad")

    def pick(self, things):
        return things[self.rng.randrange(len(things))]

    # -- lines

    def emit(self, source):
        """Writes a line down, runs it, and keeps what it gives."""
        name = f"v{self.count}"
        self.count += 1
        line = f"{name} = step(lambda: {source})\n"
        try:
            code = compile(line, "<line>", "exec")
        except (SyntaxError, ValueError):
            return
        self.log.write(line.encode("utf-8", "surrogatepass"))
        self.lines += 1
        exec(code, self.names)
        made = self.names[name]
        if type(made).__module__.startswith(("spad", "contextlib")) or isinstance(
                made, (memoryview, types.GeneratorType)):
            self.held.append(name)
        elif not isinstance(made, (dict, list)):
            del self.names[name]

    def drop(self):
        name = self.held.pop(self.rng.randrange(len(self.held)))
        self.log.write(f"{name} = None\n".encode())
        self.names[name] = None

    # -- values

    def value(self, name, kind, depth=0):
        """The source of a value for a parameter: one that fits in most cases."""
        luck = self.rng.random()
        if luck < 0.07:
            return self.pick(WRONG)
        if luck < 0.12:
            return self.pick(HUGE)
        if luck < 0.19 and depth < 2:
            return f"Acting({self.pick(NUMBERS)}, {self.action(depth + 1)})"
        if luck < 0.22 and self.held:
            return self.pick(self.held)
        fitting = self.of_kinds(kind, depth)
        if name in WORDS and (luck < 0.8 or not fitting):
            return self.pick(WORDS[name])
        if fitting:
            return self.pick(fitting)
        return self.pick(NUMBERS + WORDS["name"] + WORDS["shape"] + self.held[-5:])

    def of_kinds(self, kind, depth):
        found = []
        for part in kind.split("|"):
            part = part.strip().removeprefix("core.").removeprefix("_spad.")
            found += KINDS.get(part, [])
            held = [v for v in self.held if type(self.names[v]).__name__ == part]
            found += held * 2 or self.recipes.get(part, [])
            if part.startswith("Callable"):
                found.append(f"Callback({self.pick(['(0, 0)', 'None', '1', 'ValueError(1)'])}, "
                             f"{self.action(depth + 1)})")
            if part.startswith(("Sequence", "Iterable", "list", "tuple")):
                found += ["[0, 1]", "()", "['a']", "[(0, 0)]"]
        return found

    def action(self, depth):
        """Something that is done in the middle of something else."""
        if depth > 2 or not self.held:
            return "None" if self.rng.random() < 0.3 else "gc.collect"
        call = self.long_call() or self.call(depth)
        way = self.rng.random()
        if way < 0.4:
            return f"lambda: start(lambda: {call})"
        return f"lambda: quietly(lambda: {call})"

    def long_call(self):
        """A call that takes a while, of something that there is; most are of the newest objects, as
        those that it meets are."""
        long = {"Plan": "solve(timeout=0.05)", "Report": "write('html')", "Log": "replay({0})",
                "Buffer": "read()"}
        memories = [v for v in self.held if type(self.names[v]).__name__ == "Memory"]
        found = [f"{v}.{long[type(self.names[v]).__name__]}" for v in self.held[-12:]
                 if type(self.names[v]).__name__ in long]
        if not found or self.rng.random() < 0.4:
            return None
        return self.pick(found).format(self.pick(memories or ["spad.Device().pool()"]))

    # -- calls

    def arguments(self, key, depth=0):
        known = self.types.get(key)
        if known is None and str(key) in SPECIAL and self.rng.random() < 0.9:
            return ", ".join(self.value("", "", depth) for _ in range(SPECIAL[key]))
        if known is None:
            return ", ".join(self.value("", "", depth) for _ in range(self.rng.randint(0, 3)))
        parts, by_name = [], False
        for name, kind, needed, positional in known:
            if not needed and self.rng.random() < (0.5 if depth == 0 else 0.8):
                by_name = True
                if positional:
                    break
                continue
            given = self.value(name, kind, depth)
            parts.append(f"{name}={given}" if by_name and not positional else given)
        if self.rng.random() < 0.02:
            parts.append(self.pick(WRONG) if not by_name else "extra=1")
        return ", ".join(parts)

    def call(self, depth=0):
        """A call of a name of the package, or of a member of an object that there is."""
        if not self.held or self.rng.random() < 0.2:
            path, name = self.pick(self.table)
            thing = getattr(sys.modules[path], name)
            key = name
            if isinstance(thing, type) and not self.can_make(thing) and self.rng.random() < 0.95:
                return self.call(depth)
            if isinstance(thing, type):
                key = self.key_of(thing, "__new__", "__init__")
            elif f"{path.rpartition('.')[2]}:{name}" in self.types:
                key = f"{path.rpartition('.')[2]}:{name}"
            call = f"{path}.{name}({self.arguments(key, depth)})"
            if path in AROUND and self.rng.random() < 0.7:
                return f"within({AROUND[path]}, lambda: {call})"
            return call
        holder = self.pick(self.held[-12:] if self.rng.random() < 0.7 else self.held)
        kind = type(self.names[holder])
        member = self.pick(self.members(kind))
        if not callable(getattr(kind, member, None)):
            return f"{holder}.{member}"
        return f"{holder}.{member}({self.arguments(self.key_of(kind, member), depth)})"

    def key_of(self, kind, *members):
        """The key of the first member with types, of the class or one that it comes from."""
        for base in kind.__mro__:
            for member in members:
                module = base.__module__.rpartition(".")[2]
                for key in (f"{module}:{base.__name__}.{member}", f"{base.__name__}.{member}"):
                    if key in self.types:
                        return key
        return members[0]

    def can_make(self, kind):
        """Is there a constructor, and is the class no exception?"""
        return not issubclass(kind, BaseException) and any(
            f"{base.__name__}.{new}" in self.types
            for base in kind.__mro__ for new in ("__new__", "__init__"))

    def members(self, kind):
        if self.rng.random() < 0.1:
            return [name for name in SPECIAL if hasattr(kind, name)]
        return [name for name in dir(kind) if not name.startswith("_")] or ["__repr__"]

    def line(self):
        """One line of a round."""
        way = self.rng.random()
        if not self.held or way < 0.08:
            return self.emit(self.pick(self.chosen))
        if way < 0.11 and len(self.held) > 3:
            return self.drop()
        if way < 0.20:
            member = self.pick(self.members(type(self.names[self.pick(self.held)])))
            return self.emit(self.pick(FUNCTIONS).format(self.pick(self.held), self.pick(self.held),
                                                         self.pick(NUMBERS + HUGE), member))
        if way < 0.27:
            calls = [self.call(), self.long_call() or self.call(), self.call()]
            return self.emit("together(" + ", ".join(f"lambda: {c}" for c in calls) + ")")
        if way < 0.31:
            return self.emit(f"soon({self.pick(['0.0005', '0.003', '0.02'])}, lambda: {self.call()})")
        return self.emit(self.call())

    def close(self):
        self.log.write(b"finish()\n")
        for name in self.held:
            self.names[name] = None
        finish()


# ---- the process that runs rounds ---------------------------------------------------------------

ROUND_LINES = 60


def work(seed, first, last, path):
    """Runs rounds and writes their lines to a file, which has those of the last one."""
    with open(path, "r+b", buffering=0) as log:
        for number in range(first, last):
            log.seek(0)
            log.truncate()
            log.write(f"# round {number} of seed {seed}\n".encode())
            writer = Writer(f"{seed}:{number}", log)
            for _ in range(ROUND_LINES):
                writer.line()
            writer.close()
            print(f"\nround {number} {writer.lines}", flush=True)  # calls print, too


SCRIPT = """import sys
sys.path.insert(0, {folder!r})
from python_calls import *
import copy, gc, itertools, pickle
"""


def prepare(folder):
    """The files that the calls read."""
    for name, text in (("kernel.spad", KERNELS[0]), ("plan.csv", CSV), ("log.csv", LOG),
                       ("chip.txt", CHIP)):
        with open(os.path.join(folder, name), "w", encoding="utf-8") as file:
            file.write(text)


class Caller:
    """Starts processes that run rounds, and looks after them."""

    def __init__(self, options):
        self.options, self.calls, self.round, self.findings = options, 0, options.round, []
        self.end = None if options.seconds is None else time.monotonic() + options.seconds

    def more(self):
        if self.options.seconds is not None:
            return time.monotonic() < self.end
        return self.calls < self.options.calls

    def run(self):
        while self.more() and len(self.findings) < self.options.findings:
            with tempfile.TemporaryDirectory() as folder:
                prepare(folder)
                self.process(folder)
        return self.findings

    def process(self, folder):
        """Rounds in one process, until it fails or they are enough."""
        path = os.path.join(folder, "lines")
        open(path, "wb").close()
        last = self.round + 20
        here = os.path.dirname(os.path.abspath(__file__))
        command = [sys.executable, os.path.abspath(__file__), "--worker", str(self.options.seed),
                   str(self.round), str(last), path]
        # Sizes that are asked for by chance are refused, not tried. A driver of OpenCL has signal
        # stacks of its own, which the sanitizer would free.
        sanitizer = os.environ.get("ASAN_OPTIONS", "") + ":max_allocation_size_mb=1024"
        environment = {**os.environ, "PYTHONHASHSEED": "0", "PYTHONDONTWRITEBYTECODE": "1",
                       "PYTHONPATH": os.pathsep.join([here, *sys.path[1:]]),
                       "ASAN_OPTIONS": (sanitizer + ":use_sigaltstack=0").lstrip(":")}
        output = tempfile.TemporaryFile()
        errors = tempfile.TemporaryFile()
        child = subprocess.Popen(command, cwd=folder, stdout=output, stderr=errors, env=environment,
                                 start_new_session=True)
        why = self.watch(child, path)
        output.seek(0)
        done = [int(line.split()[2]) for line in output.read().decode("utf-8", "replace").splitlines()
                if line.startswith("round ")]
        self.calls += sum(done)
        failed = self.round + len(done)
        self.round = failed + (why is not None)
        if why is not None:
            errors.seek(0)
            text = errors.read().decode("utf-8", "replace")
            with open(path, "rb") as lines:
                self.report(failed, why, text, lines.read().decode("utf-8", "replace"))

    def watch(self, child, path):
        """Why the process did not end, or None."""
        size, since = -1, time.monotonic()
        while True:
            try:
                code = child.wait(0.2)
                return None if code == 0 else f"the process ended with {code}"
            except subprocess.TimeoutExpired:
                pass
            now = os.stat(path).st_size
            if now != size:
                size, since = now, time.monotonic()
            elif time.monotonic() - since > self.options.patience:
                child.send_signal(signal.SIGABRT)  # faulthandler shows where it is
                try:
                    child.wait(5)
                except subprocess.TimeoutExpired:
                    child.kill()
                    child.wait()
                return f"a line took more than {self.options.patience} s"
            if self.end is not None and time.monotonic() > self.end:
                child.kill()
                child.wait()
                return None

    def report(self, number, why, errors, lines):
        here = os.path.dirname(os.path.abspath(__file__))
        script = SCRIPT.format(folder=here) + lines
        name = f"python_calls_{self.options.seed}_{number}.py"
        path = os.path.join(self.options.out, name)
        os.makedirs(self.options.out, exist_ok=True)
        with open(path, "w", encoding="utf-8", errors="surrogateescape") as file:
            file.write(script)
        self.findings.append(path)
        print(f"round {number} of seed {self.options.seed}: {why}")
        print(errors[-self.options.errors:])
        print(f"---- {path}\n{script}----", flush=True)


def main():
    parser = argparse.ArgumentParser(description="Calls the Python package at random.")
    parser.add_argument("--seed", type=int, default=None, help="of the calls; else the clock's")
    parser.add_argument("--round", type=int, default=0, help="the first round")
    parser.add_argument("--calls", type=int, default=2000, help="how many there are at least")
    parser.add_argument("--seconds", type=float, help="for so long, instead of a number of calls")
    parser.add_argument("--patience", type=float, default=60, help="seconds a line may take")
    parser.add_argument("--findings", type=int, default=1, help="how many end the run")
    parser.add_argument("--errors", type=int, default=6000, help="characters of error output shown")
    parser.add_argument("--out", default=tempfile.gettempdir(), help="where scripts are written")
    parser.add_argument("--worker", nargs=4, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.worker is not None:
        import faulthandler

        faulthandler.enable()
        import python_calls  # the module that the lines use: this one is __main__

        if "asan" not in os.environ.get("LD_PRELOAD", ""):
            resource.setrlimit(resource.RLIMIT_AS, (8 << 30, 8 << 30))

        seed, first, last, path = options.worker
        python_calls.work(int(seed), int(first), int(last), path)
        return 0
    if options.seed is None:
        options.seed = int(time.time())
    caller = Caller(options)
    findings = caller.run()
    print(f"seed {options.seed}: {caller.calls} lines in {caller.round - options.round} rounds, "
          f"{len(findings)} findings")
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main())
