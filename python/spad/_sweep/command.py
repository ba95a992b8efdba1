# SPDX-License-Identifier: Apache-2.0
"""python -m spad sweep: the command; `spad sweep` runs it."""

import argparse
import json
import re
import signal
import sys
import time

from .. import _spad
from . import inputs as si
from .run import run

USAGE = 2
INTERRUPTED = 128 + signal.SIGINT


class _Parser(argparse.ArgumentParser):
    """One that reports as the command does."""

    def error(self, message):
        found = re.match(r"argument (?:-\w/)?(--[\w-]+): ", message)
        raise si.wrong(f"option '{found[1]}' needs a value" if found and "expected" in message
                       else f"{message}; see 'spad sweep --help'")


def _parser():
    parser = _Parser(prog="spad sweep", allow_abbrev=False, add_help=False)
    parser.add_argument("inputs", nargs="*", metavar="FILE")
    parser.add_argument("--vary", action="append", default=[], metavar="NAME=VALUES")
    parser.add_argument("--ring", action="append", default=[], metavar="TENSOR=VALUES")
    parser.add_argument("--arg", action="append", default=[], metavar="NAME=VALUE")
    parser.add_argument("--signature", default="", metavar="NAME=TYPE,...")
    parser.add_argument("--target", action="append", default=[], metavar="CHIP,...")
    parser.add_argument("--space", metavar="SPACE")
    parser.add_argument("-o", "--output", action="append", default=[], metavar="OUT")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--results", default=".spad-sweep", metavar="FOLDER")
    parser.add_argument("--fresh", action="store_true")
    parser.add_argument("-j", "--jobs", metavar="N")
    parser.add_argument("--dask", metavar="ADDRESS")
    parser.add_argument("--timeout", metavar="SECONDS")
    parser.add_argument("--stop-after", metavar="N or TIME")
    return parser


def _parsed(arguments):
    """The options; what they mean is in the usage text of the command."""
    parser = _parser()
    options, left = parser.parse_known_args(arguments)
    for word in left:
        known = [name for action in parser._actions for name in action.option_strings]
        close = _spad.close_names(word.partition("=")[0], known) if word.startswith("-") else ""
        raise si.wrong(f"unknown option '{word}'" + (close or "; see 'spad sweep --help'"))
    return options


def _pairs(words, option, values):
    made = {}
    for word in words:
        name, rest = si.pair(word, option)
        if name in made:
            raise si.wrong(f"option '{option}' has '{name}' twice")
        made[name] = si.values_of(rest) if values else rest
    return made


def _count(text):
    if text is not None and not (text.isascii() and text.isdigit() and int(text) > 0):
        raise si.wrong(f"option '--jobs' needs a number of processes, at least 1, not '{text}'")
    return None if text is None else int(text)


def _seconds(text):
    try:
        seconds = float(text) if text is not None else None
    except ValueError:
        seconds = 0.0
    if seconds is not None and not 0 < seconds < 1e9:
        raise si.wrong(f"option '--timeout' needs seconds, such as 0.5, not '{text}'")
    return seconds


class Bar:
    """A line on a terminal that is drawn again, from one second on; elsewhere nothing."""

    WIDTH = 28

    def __init__(self, stream):
        self._stream = stream if stream.isatty() else None
        self._begin = time.monotonic()
        self._drawn, self._first = None, None

    def __call__(self, done, total):
        now = time.monotonic()
        if self._first is None:
            self._first = done
        if self._stream is None or now - self._begin < 1 or (self._drawn is not None and now - self._drawn < 0.1):
            return
        self._drawn = now
        full = self.WIDTH * done // total
        left = (now - self._begin) / (done - self._first) * (total - done) if done > self._first else None
        tail = "" if left is None else f", about {_time_left(left)} left"
        self._stream.write(f"\r\x1b[Ksweep {done} of {total} [{'#' * full}{'.' * (self.WIDTH - full)}] "
                           f"{_time_left(now - self._begin)}{tail}")
        self._stream.flush()

    def clear(self):
        """Removes the line."""
        if self._drawn is not None:
            self._stream.write("\r\x1b[K")
            self._stream.flush()


def _time_left(seconds):
    return f"{seconds:.0f} s" if seconds < 120 else f"{seconds / 60:.0f} min"


def _say(text):
    print(f"spad: {text}", file=sys.stderr)


def _swept(options):
    """The exit status."""
    if not options.inputs:
        raise si.wrong("a kernel file is needed; see 'spad sweep --help'")
    targets = [name for word in options.target for name in si.split_list(word)]
    if "" in targets:
        raise si.wrong("option '--target' needs names of chips, such as H100,A100")
    bar = Bar(sys.stderr)
    try:
        table, facts = run(options.inputs, _pairs(options.vary, "--vary", True), targets or None,
                           rings=_pairs(options.ring, "--ring", True), args=_pairs(options.arg, "--arg", False),
                           signature=options.signature, space=options.space, timeout=_seconds(options.timeout),
                           jobs=_count(options.jobs), dask=options.dask, results=options.results, fresh=options.fresh,
                           stop_after=options.stop_after, output=options.output, progress=bar, interrupt="keep")
    finally:
        bar.clear()
    print(json.dumps(table.rows, indent=1) if options.json else table.text(), end="\n" if options.json else "", flush=True)
    kept = f", {facts['kept']} of them from {options.results}" if facts["kept"] else ""
    if table.done < table.total:
        _say(f"{table.done} of {table.total} combinations{kept}; the same command goes on")
    else:
        _say(f"combinations: {table.total}{kept}")
    for path in facts["wrote"]:
        print(f"wrote {path}", file=sys.stderr)
    if facts["stopped"]:
        return INTERRUPTED
    good = {(row["file"]) for row in table.rows if row["status"] in ("fine", "not proved")}
    return 0 if good.issuperset(row["file"] for row in table.rows) else 1


def main(arguments):
    """0; 1: no combination of some file is fine; 2: wrong usage; 3: an output cannot be written; 130: Ctrl-C."""
    try:
        return _swept(_parsed(arguments))
    except _spad.Error as error:
        _say(str(error))
        return USAGE
    except OSError as error:
        _say(str(error.args[0] if len(error.args) == 1 else f"'{error.filename}': {error.strerror}"))
        return 3
    except KeyboardInterrupt:
        return INTERRUPTED
