# SPDX-License-Identifier: Apache-2.0
"""How a sweep runs: names of parameters, jobs, rows that are kept, workers for the others, the table."""

import os
import re
import time

from . import inputs as si
from .pool import LOST, Cluster, Pool
from .store import Store
from .table import SweepTable
from .work import _row, answer


def _names(inputs):
    """The names that each input can be varied by; None: not known. Programs are loaded in another process."""
    questions = [{"do": "names", "job": item} for item in inputs]
    programs = [number for number, item in enumerate(inputs) if item["kind"] in si.PROGRAMS]
    found = [None if number in programs else answer(question).get("answer") for number, question in enumerate(questions)]
    for number, made in Pool().run([questions[number] for number in programs]):
        found[programs[number]] = made.get("answer")
    return found


def _arguments(args):
    """Arguments of programs as texts and numbers, which can go to other processes."""
    for name, value in dict(args or {}).items():
        if not isinstance(value, si.SCALARS):
            raise TypeError(f"argument '{name}' is a number or a text, such as 'bf16[512,512]' for a tensor, not {value!r}")
    return dict(args or {})


def _limit(stop_after):
    """(new combinations, seconds) after which a sweep stops; None: no limit."""
    if stop_after is None:
        return None, None
    if isinstance(stop_after, int) and not isinstance(stop_after, bool) and stop_after > 0:
        return stop_after, None
    found = re.fullmatch(r"(\d+(?:\.\d+)?)(s|m|h)?", str(stop_after))
    if found is None or (found[2] is None and not found[1].isdigit()) or float(found[1]) <= 0:
        raise si.wrong(f"a sweep stops after a number of combinations or a time, such as 100, 90s, 10m or 2h, not '{stop_after}'")
    if found[2] is None:
        return int(found[1]), None
    return None, float(found[1]) * {"s": 1, "m": 60, "h": 3600}[found[2]]


def _check_outputs(output):
    """The paths to write, of which the folders exist: known before the work and not after it."""
    paths = [] if output is None else [output] if isinstance(output, (str, os.PathLike)) else list(output)
    for path in map(os.fspath, paths):
        if not path.endswith((".html", ".csv", ".json")):
            raise si.wrong(f"a sweep is written as .html, .csv or .json, not as '{path}'")
        folder = os.path.dirname(path) or "."
        if not os.path.isdir(folder):
            raise OSError(f"cannot write '{path}': there is no folder '{folder}'")
    return [os.fspath(path) for path in paths]


class _Run:
    """Rows by number, from the store and from workers."""

    def __init__(self, jobs, store, limits, progress):
        self.jobs, self.rows, self.kept = jobs, [None] * len(jobs), 0
        self._store, self._progress = store, progress
        self._keys = [store.key(job) for job in jobs] if store.folder is not None else [None] * len(jobs)
        self._new, self._seconds = limits
        self._begin = time.monotonic()

    def take_kept(self):
        """Rows that are there already."""
        for number, key in enumerate(self._keys):
            self.rows[number] = self._store.load(key) if key is not None else None
        self.kept = len(self.rows) - self.rows.count(None)
        self._tell()

    def _tell(self):
        if self._progress is not None:
            self._progress(len(self.rows) - self.rows.count(None), len(self.rows))

    def _is_over(self, count):
        return (self._new is not None and count >= self._new
                or self._seconds is not None and time.monotonic() - self._begin >= self._seconds)

    def work(self, workers, local):
        """Runs what is left. workers answer; local: those that read programs first, if workers cannot."""
        left = [number for number, row in enumerate(self.rows) if row is None]
        if self._new is not None:
            left = left[:self._new]
        asked = [self.jobs[number] for number in left]
        if local is not None:
            asked = _read_programs(asked, local)
        answers = workers.run([{"do": "point", "job": job} for job in asked])
        try:
            for count, (number, made) in enumerate(answers, 1):
                self._take(left[number], made, asked[number].get("files"))
                if self._is_over(count):
                    break
        finally:
            answers.close()

    def _take(self, number, made, files):
        """A row from an answer. What was lost with its worker is not kept: the next sweep tries it again."""
        if "answer" in made:
            self.rows[number] = made["answer"]["row"]
            if self._keys[number] is not None:
                self._store.save(self._keys[number], self.rows[number], files or made["answer"]["files"])
        else:
            self.rows[number] = _row("refused", made.get(LOST) or made["error"])
        self._tell()


def _read_programs(jobs, local):
    """The jobs, with the kernels that programs became."""
    programs = [number for number, job in enumerate(jobs) if job["kind"] in si.PROGRAMS]
    for number, made in local.run([{"do": "read", "job": jobs[number]} for number in programs]):
        job = jobs[programs[number]]
        jobs[programs[number]] = made["answer"] if "answer" in made else {**job, "error": made.get(LOST) or made["error"]}
    return jobs


def run(inputs, vary, target, *, rings, args, signature, space, timeout, jobs, dask, results, fresh, stop_after, output,
        progress, interrupt="raise"):
    """(table, facts). interrupt="keep": Ctrl-C ends the work, and the table has what is there."""
    limits, paths = _limit(stop_after), _check_outputs(output)
    if jobs is not None and (isinstance(jobs, bool) or not isinstance(jobs, int) or jobs < 1):
        raise si.wrong(f"a sweep needs at least one process, not {jobs!r}")
    vary, rings, args = si.check_values(vary), si.check_values(rings), _arguments(args)
    found = si.open_inputs(inputs)
    words = [None] if target is None else list(target) if isinstance(target, (list, tuple)) else [target]
    targets = [None if word is None else si.open_target(word) for word in words]
    names = _names(found)
    si.check_names(found, names, vary)
    if args:
        programs = [number for number, item in enumerate(found) if item["kind"] in si.PROGRAMS]
        if not programs:
            raise si.wrong("arguments are for programs, FILE.py:KERNEL; parameters of kernels are varied")
        si.check_names([found[number] for number in programs], [names[number] for number in programs], args)
    made = si.make_jobs(found, names, vary, targets, {"rings": rings, "args": args, "timeout": timeout,
                                                      "space": space, "signature": signature})
    work = _Run(made, Store(results), limits, progress)
    if not fresh:
        work.take_kept()
    stopped = _work(work, jobs, dask, interrupt)
    table = SweepTable(made, work.rows, space)
    for path in paths:
        table.save(path)
    return table, {"kept": work.kept, "stopped": stopped, "wrote": paths}


def _work(work, jobs, dask, interrupt):
    """Was it interrupted?"""
    if None not in work.rows:
        return False
    workers = Pool(jobs) if dask is None else Cluster(dask)
    try:
        work.work(workers, None if dask is None else Pool(jobs))
    except KeyboardInterrupt:
        if interrupt != "keep":
            raise
        return True
    finally:
        if dask is not None:
            workers.close()
    return False
