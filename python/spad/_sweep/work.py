# SPDX-License-Identifier: Apache-2.0
"""The work of a sweep: what one combination gives, and the process that works for others.

answer(question) is a function of its argument alone: it runs in a process of this machine or on a worker of Dask, and gives
the same everywhere. A combination that cannot be read is an answer, too.
"""

import hashlib
import json
import os
import re
import sys
import sysconfig
import threading

from .. import _spad
from .. import core
from .._files import open_regular
from ..kernel import Kernel
from .inputs import PROGRAMS, target_of, wrong

TEXT_MOST = 2000  # letters of a message


# ---- names of parameters --------------------------------------------------------------------------


def _kernel_names(job):
    try:
        return list(Kernel.parse(job["text"], job["file"]).params)
    except _spad.Error:  # perhaps it can be read with other values, or on another chip
        return re.findall(r"^\s*param\s+(\w+)", job["text"], re.M)


def _ttgir_names(job):
    """Integer arguments of the functions, and the parameters that they become."""
    try:
        own = list(Kernel.read_ttgir(job["text"], job["file"]).params)
    except _spad.Error:
        own = []
    heads = re.findall(r"^\s*tt\.func.*$", job["text"], re.M)
    return list(dict.fromkeys([*own, *(name for head in heads for name in re.findall(r"%(\w+): i(?:32|64)\b", head))]))


def memories_in(job):
    """The memories that a column space of a CSV file names, in their order; None: there is no such column."""
    import csv

    lines = job["text"].splitlines()
    first = next((line for line in lines if line.strip() and not line.startswith("#")), "")
    sign = max(",;\t", key=first.count)
    rows = csv.reader((line for line in lines if line.strip() and not line.startswith("#")), delimiter=sign)
    heads = [cell.strip() for cell in next(rows, [])]
    if "space" not in heads:
        return None
    at = heads.index("space")
    return list(dict.fromkeys(row[at].strip() for row in rows if len(row) > at and row[at].strip()))


def _csv_names(job):
    memories = memories_in(job)
    return ["capacity"] if memories is None else memories


def _program_names(job):
    import inspect

    function = _load_program(job)
    if job["kind"] == "lowered":
        from ..tilelang._jit import names

        return names(function)
    plain = _plain(function) if job["kind"] == "nki" else getattr(function, "fn", function)
    parameters = inspect.signature(plain).parameters.values()
    if any(parameter.kind is parameter.VAR_KEYWORD for parameter in parameters):
        return None
    names = [parameter.name for parameter in parameters]
    return [*names, "num_stages", "num_warps"] if job["kind"] == "triton" else names


def _plain(function):
    from ..nki import trace

    return trace._unwrapped(function)[0]


def names(job):
    """The names that an input can be varied by; None: any."""
    if job["kind"] in PROGRAMS:
        return _program_names(job)
    return {"csv": _csv_names, "tilelang": lambda _: [], "ttgir": _ttgir_names,
            "kernel": _kernel_names}[job["kind"]](job)


# ---- programs in Python ---------------------------------------------------------------------------


def _load_program(job):
    if job["kind"] != "nki":
        from .._program.load import function_at

        return function_at(f"{job['file']}:{job['function']}")
    from ..nki import trace

    return trace.load(f"{job['file']}:{job['function']}")


def imported_files():
    """{path: hash} of the Python files that this process has imported, but for those that are installed."""
    homes = tuple({os.path.realpath(path) + os.sep for name, path in sysconfig.get_paths().items() if "lib" in name}
                  | {os.path.dirname(os.path.realpath(_spad.__file__)) + os.sep})
    files = {}
    for module in list(sys.modules.values()):
        path = os.path.realpath(getattr(module, "__file__", None) or "")
        if path.endswith(".py") and not path.startswith(homes) and os.path.isfile(path):
            files[path] = file_hash(path)
    return files


def file_hash(path):
    """The hash of the content of a regular file; None: it cannot be read."""
    try:
        with open_regular(path) as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError:
        return None


def _nki_arguments(function, job):
    """The arguments of a call: those of --arg or of spad_example(), and over them the values of the sweep."""
    import inspect

    from ..nki import trace
    from ..nki._command import argument

    own = dict(job["args"])
    given = {name: argument(f"{name}={value}")[1] if isinstance(value, str) else value
             for name, value in (own | job["values"]).items()}
    example = trace.example(function) if not own else None
    if example is None:
        return given
    bound = inspect.signature(_plain(function)).bind_partial(*example[0], **example[1])
    return {**bound.arguments, **given}


def _trace_nki(job):
    from ..nki import trace

    function = _load_program(job)
    chip = target_of(job["target"]) or core.Target("trn2")
    kernel = trace.trace(function, target=chip, **_nki_arguments(function, job))
    faults = [[f"{place[0]}:{place[1]}" if place else "", code, text] for place, code, text in kernel.faults]
    return {"text": kernel.text(), "chip": kernel.target.text(), "faults": faults}


def _literal(value):
    """A number or a Python literal of a text; any other text is itself."""
    import ast

    try:
        return ast.literal_eval(value) if isinstance(value, str) else value
    except (ValueError, SyntaxError):
        return value


def _chosen(job):
    return {name: _literal(value) for name, value in {**job["args"], **job["values"]}.items()}


def _compile_triton(job):
    from .. import triton
    from .._program.command import pairs

    function, chosen = _load_program(job), _chosen(job)
    stages, warps = chosen.pop("num_stages", 3), chosen.pop("num_warps", 4)
    types = pairs(job["signature"])
    sizes = {name: value for name, value in chosen.items() if name in types}
    constants = {name: value for name, value in chosen.items() if name not in types}
    chip = target_of(job["target"])
    kernel = triton.load(function, types, constants, target=chip.name if chip else "H100", num_stages=stages,
                         num_warps=warps, sizes=sizes)
    return {"text": kernel.text(), "chip": kernel.target.text(), "faults": []}


def _lower_tilelang(job):
    """A prim_func, or a function that makes one of its arguments, of tilelang.jit or not."""
    from .. import tilelang
    from ..tilelang._jit import names

    function, chip = _load_program(job), target_of(job["target"])
    arguments = _chosen(job) if names(function) != [] else None
    kernel = tilelang.load(function, target=chip.name if chip is not None else None, arguments=arguments)
    return {"text": kernel.text(), "chip": kernel.target.text(), "faults": []}


def read(job):
    """The job with the kernel that a program became in "made", and the files that were read in "files"; or with the
    "error" of the program."""
    before = list(sys.path)
    try:
        made = {"nki": _trace_nki, "triton": _compile_triton, "lowered": _lower_tilelang}[job["kind"]](job)
        return {**job, "made": made, "files": imported_files()}
    except Exception as error:  # programs raise what they like
        notes = "".join(f"\n  {note}" for note in getattr(error, "__notes__", ()))
        return {**job, "error": (str(error) or type(error).__name__) + notes, "files": imported_files()}
    finally:
        sys.path[:] = before


# ---- one combination ------------------------------------------------------------------------------


def _row(status, message="", **facts):
    """A row with everything that a row has; None: there is none."""
    row = {"status": status, "message": message[:TEXT_MOST], "name": None, "chip": None, "bytes": None, "spaces": [],
           "lowest": None, "unit": None, "makespan": None, "shown": "", "badge": "", "verdict": ""}
    row.update(facts)
    return row


def _kernel_of(job):
    chip = target_of(job["target"])
    if "made" in job:
        made = job["made"]
        return Kernel.parse(made["text"], f"<{job['function']}>", target=core.Target.parse(made["chip"]))
    if job["kind"] == "tilelang":
        from .. import tilelang

        kernel = tilelang.load(_tree_in(job))
        if chip is not None and chip.name != kernel.target.name:
            raise wrong(f"{job['file']}: TileLang lowered it for {kernel.target.name}, which is not {chip.name}")
        return kernel
    if job["kind"] == "ttgir":
        return Kernel.read_ttgir(job["text"], job["file"], job["values"], chip)
    return Kernel.parse(job["text"], job["file"], job["values"], job["rings"], chip)


def _tree_in(job):
    try:
        return json.loads(job["text"])
    except (ValueError, RecursionError) as error:
        raise wrong(f"'{job['file']}' is no JSON: {error}") from None


def _first_error(check):
    for finding in check.findings:
        if finding.severity == "error":
            place = finding.place or (f"{finding.file}:{finding.line}" if finding.file and finding.line else "")
            return f"{place}: {finding.message} [{finding.code}]".removeprefix(": ")
    return check.reason


def _judged(analysis, faults):
    """(status, message) of an analysis."""
    check, layout, sim = analysis.check, analysis.layout, analysis.sim
    if faults:
        place, code, text = faults[0]
        return "wrong", f"{place}: {text} [{code}]".removeprefix(": ")
    if sim is not None and sim.stuck:
        return "deadlock", sim.stuck
    if layout is not None and not layout.fits:
        return "does not fit", next((text for kind, text in analysis.notes if kind == "peak"), "")
    if check is not None and check.counts["errors"]:
        return "wrong", _first_error(check)
    if analysis.faults:
        return "refused", "; ".join(f"{part}: {text}" for part, text in sorted(analysis.faults.items()))
    if check is not None and check.verdict.startswith("proved"):
        return "fine", ""
    return "not proved", check.reason if check is not None else "it was not checked"


def _spaces(layout, chip):
    """[name, bytes per lane, lanes, capacity per lane] of the memories on chip."""
    known = chip.spaces
    rows = [(row, known[row["space"].partition("[")[0]]) for row in layout.spaces]  # "ub[1]" is one of several
    return [[row["space"], row["height"], space["lanes"], row["capacity"]] for row, space in rows
            if not space["off_chip"]]


def _measure_kernel(job):
    kernel = _kernel_of(job)
    kernel = kernel if isinstance(kernel, Kernel) else Kernel._of(kernel)
    analysis = kernel.analyse(("fit",), timeout=job["timeout"], advice=False)
    status, message = _judged(analysis, job["made"]["faults"] if "made" in job else ())
    layout, sim, check = analysis.layout, analysis.sim, analysis.check
    facts = {"name": kernel.name, "chip": kernel.target.name}
    if check is not None:
        facts["verdict"] = check.verdict
    if layout is not None:
        facts["spaces"] = _spaces(layout, kernel.target)
        facts["bytes"] = sum(height * lanes for _, height, lanes, _ in facts["spaces"])
        facts["lowest"] = all(row["height"] == row["bound"] for row in layout.spaces)
    if sim is not None and not sim.stuck:
        facts.update(unit=sim.unit, makespan=sim.makespan, shown=sim.time_text(sim.makespan), badge=sim.badge or "")
    return _row(status, message, **facts)


def _csv_status(verdict):
    return {"optimal": "fine", "feasible": "fine", "infeasible": "does not fit"}.get(verdict, "time limit")


def _measure_spaces(job, chip, memories):
    """Buffers of several memories, whose capacities are varied by their names."""
    limits = [(name, job["values"].get(name)) for name in memories]
    made = _spad.spaces(job["text"], limits if chip is None or job["values"] else None, chip, True, job["timeout"],
                        file=job["file"])
    known = chip.spaces if chip is not None else {}
    rows = [(part["name"], part["plan"]) for part in made["spaces"]]
    spaces = [[name, plan["height"], known.get(name, {}).get("lanes", 1), plan.get("capacity")] for name, plan in rows]
    status = _csv_status(made["verdict"])
    full = ", ".join(name for name, plan in rows if plan["verdict"] == "infeasible")
    return _row(status, f"too much for {full}" if full else "" if status == "fine" else made["verdict"],
                name=os.path.splitext(os.path.basename(job["file"]))[0], chip=chip.name if chip is not None else None,
                bytes=sum(height * lanes for _, height, lanes, _ in spaces), spaces=spaces,
                lowest=all(plan["height"] == plan["bound"] for _, plan in rows), verdict=made["verdict"])


def _measure_csv(job):
    """Buffers have no operations, so no time: bytes alone."""
    chip, memories = target_of(job["target"]), memories_in(job)
    if memories is not None:
        return _measure_spaces(job, chip, memories)
    capacity = job["values"].get("capacity")
    if chip is not None and job["space"] is None:
        spaces = ", ".join(chip.spaces)
        raise wrong(f"{job['file']}: buffers on a chip need a memory of it (--space): {chip.name} has {spaces}")
    plan = core.Plan(target=chip, space=job["space"] if chip is not None else None, capacity=capacity)
    plan.read_csv(job["text"], job["file"])
    result = plan.solve(minimize=True, timeout=job["timeout"])
    height = result.height if result.fits else result.bound
    status = _csv_status(result.verdict)
    name = os.path.splitext(os.path.basename(job["file"]))[0]
    space = [job["space"] if chip is not None else "memory", height, plan.lanes, plan.capacity]
    return _row(status, "" if result.fits else result.verdict, name=name, chip=chip.name if chip is not None else None,
                bytes=height * plan.lanes, spaces=[space], lowest=result.fits and height == result.bound,
                verdict=result.verdict)


def measure(job):
    """The row of a job."""
    if "error" in job:
        return _row("refused", job["error"])
    try:
        return _measure_csv(job) if job["kind"] == "csv" else _measure_kernel(job)
    except _spad.TimeError as error:
        return _row("time limit", str(error))
    except (_spad.Error, OSError, TypeError, ValueError, OverflowError) as error:
        return _row("refused", str(error) or type(error).__name__)


def _point(job):
    job = read(job) if job["kind"] in PROGRAMS and "made" not in job and "error" not in job else job
    return {"row": measure(job), "files": job.get("files", {})}


def answer(question):
    """What a process is asked: {"do": "names", "read" or "point", "job": ...}. The answer of a job that raises
    is {"error": ...}."""
    job = question["job"]
    try:
        return {"answer": {"names": names, "read": read, "point": _point}[question["do"]](job)}
    except Exception as error:  # also what the file of a program raises while it is imported
        return {"error": str(error) or type(error).__name__}


# ---- the process ----------------------------------------------------------------------------------


def serve():
    """Answers questions of the standard input, a line of JSON each, on the standard output, until it ends. What
    programs print goes to the standard error."""
    import queue

    out = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    questions = queue.SimpleQueue()

    def listen():  # a thread of its own: when the sweep ends, so does a search that runs
        for line in sys.stdin:
            questions.put(line)
        os._exit(0)

    threading.Thread(target=listen, daemon=True).start()
    while True:
        out.write(json.dumps(answer(json.loads(questions.get()))) + "\n")
        out.flush()
