# SPDX-License-Identifier: Apache-2.0
"""Who works for a sweep: processes of this machine, or a cluster of Dask.

Both give (number, answer) of questions as they come. Processes are our own and not those of multiprocessing: a program
that calls spad.sweep needs no `if __name__ == "__main__"`, one that is killed costs one question, and Ctrl-C of
a terminal does not reach them.
"""

import json
import os
import queue
import signal
import subprocess
import sys
import tempfile
import threading

from .. import _spad
from .inputs import wrong

LOST = "lost"  # an answer: {"lost": why}
TRIES = 2      # processes that may die over a question


def cores():
    """Processors that this process may use."""
    return len(os.sched_getaffinity(0))


class _Process:
    """A process that answers questions, started with the first one."""

    def __init__(self):
        self._process = None
        self._errors = None

    def _start(self):
        program = "import json, sys; sys.path[:] = json.loads(sys.argv[1]); from spad._sweep.work import serve; serve()"
        home = os.path.abspath(__file__).rsplit(os.sep, 3)[0]
        self._errors = tempfile.TemporaryFile()
        self._process = subprocess.Popen(
            [sys.executable, "-P", "-c", program, json.dumps([home, *(path for path in sys.path if path != home)])],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self._errors, text=True, encoding="utf-8",
            start_new_session=True)

    def ask(self, question):
        """The answer; or {"lost": why} if the process ends without one."""
        if self._process is None:
            self._start()
        try:
            self._process.stdin.write(json.dumps(question) + "\n")
            self._process.stdin.flush()
            line = self._process.stdout.readline()
        except (OSError, ValueError):
            line = ""
        return json.loads(line) if line.endswith("\n") else {LOST: self._why()}

    def _why(self):
        """How a process ended, with the last line that it wrote; the next question has a new one."""
        status = self._process.wait()
        self._errors.seek(0)
        last = self._errors.read()[-400:].decode(errors="replace").strip().rpartition("\n")[2]
        self.end()
        how = f"signal {signal.Signals(-status).name}" if status < 0 else f"status {status}"
        return f"the process that worked on it ended with {how}" + (f": {last}" if last else "")

    def end(self):
        """Ends the process, whatever it does."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            for stream in (self._process.stdin, self._process.stdout, self._errors):
                try:
                    stream.close()
                except OSError:
                    pass  # what was to be written has no reader
            self._process = None

    def kill(self):
        """As end(), from another thread than that which asks."""
        process = self._process
        if process is not None:
            process.kill()


class Pool:
    """Processes on this machine: run(questions) gives (number, answer) in the order in which they come."""

    def __init__(self, jobs=None):
        self.jobs = jobs or cores()

    def run(self, questions):
        """Ends all processes when it is closed."""
        waiting, done = queue.SimpleQueue(), queue.SimpleQueue()
        for number in range(len(questions)):
            waiting.put(number)
        workers = [_Process() for _ in range(min(self.jobs, len(questions)))]
        stopped = threading.Event()

        def work(worker):
            try:
                while not stopped.is_set():
                    number = waiting.get_nowait()
                    for _ in range(TRIES):
                        made = worker.ask(questions[number])
                        if LOST not in made or stopped.is_set():
                            break
                    done.put((number, made))
            except queue.Empty:
                pass
            except BaseException as error:  # a machine without room for a process
                done.put((None, error))
            finally:
                worker.end()

        threads = [threading.Thread(target=work, args=(worker,), daemon=True) for worker in workers]
        for thread in threads:
            thread.start()
        try:
            for _ in questions:
                number, made = _get(done)
                if number is None:
                    raise made
                yield number, made
        finally:
            stopped.set()
            for worker in workers:
                worker.kill()
            for thread in threads:
                thread.join()


def _get(done):
    while True:  # in pieces, so that signals are seen
        try:
            return done.get(timeout=0.2)
        except queue.Empty:
            pass


class Cluster:
    """Workers of Dask: an address, or a Client. A worker that is lost costs time: Dask gives its questions to others."""

    def __init__(self, where, patience=20):
        try:
            from dask.distributed import Client
        except ImportError as error:
            raise wrong(f"a cluster needs Dask ({error}): pip install spad[sweep]") from None
        self._own = not hasattr(where, "submit")
        try:
            self._client = Client(where, set_as_default=False, timeout=patience) if self._own else where
        except (OSError, ValueError) as error:
            raise wrong(f"no cluster of Dask answers at '{where}': {error}") from None
        try:
            self._check_versions()
        except BaseException:
            self.close()
            raise

    def _check_versions(self):
        """All workers have the spad that is here: their answers would differ."""
        found = self._client.run(_version, on_error="return")
        for worker, version in sorted(found.items()):
            if version != _spad.version:
                has = f"spad {version}" if isinstance(version, str) else f"no spad ({version})"
                raise wrong(f"the worker at {worker} has {has}; here is {_spad.version}")

    def run(self, questions):
        """As Pool.run; what is left is cancelled when it is closed."""
        from dask.distributed import as_completed

        from . import work

        futures = self._client.map(work.answer, questions, pure=False, retries=0)
        numbers = {future.key: number for number, future in enumerate(futures)}
        try:
            for future in as_completed(futures, loop=self._client.loop):
                error = future.exception()
                made = {LOST: f"a worker of Dask: {error}"} if error is not None else future.result()
                yield numbers[future.key], made
                future.release()
        finally:
            self._client.cancel(futures)

    def close(self):
        """Leaves the cluster."""
        if self._own:
            self._client.close()


def _version():
    from spad import _spad

    return _spad.version
