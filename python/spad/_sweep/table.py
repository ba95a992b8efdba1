# SPDX-License-Identifier: Apache-2.0
"""The table of a sweep: a row for each combination, the frontier of bytes and time, as CSV and as text."""

import csv
import io
import os
import shlex

from .inputs import PROGRAMS
from .work import memories_in

UNITS = {"time": "ns", "steps": "steps", "cycles": "cycles", "mixed": "mixed"}
SCALES = {"time": 1000, "steps": 1_000_000, "cycles": 1000, "mixed": 1000}  # of a makespan (docs/sim-how.md)
GOOD = ("fine", "not proved")
_FIXED = ("kernel", "file", "target")
_FOUND = ("status", "frontier", "bytes", "makespan", "unit", "time", "lowest", "verdict", "costs", "message", "command")


def bytes_text(count):
    """48.0 KiB."""
    if count < 1024:
        return f"{count} B"
    for unit in ("KiB", "MiB", "GiB"):
        count /= 1024
        if count < 1024 or unit == "GiB":
            return f"{count:,.1f} {unit}"


def command_of(job):
    """The command that shows a combination on its own: its bytes and its time."""
    words, target = [], job["target"]
    chip = [] if target is None else ["--target", target.get("name") or target["file"]]
    if job["kind"] == "csv":
        words = ["spad", "plan", job["file"], *chip]
        words += ["--space", job["space"]] if target is not None and job["space"] else []
        values, memories = job["values"], memories_in(job) if job["values"] else None
        if memories is not None:
            words += [word for name in memories for word in ("--space", f"{name}={values[name]}" if name in values else name)]
        elif values:
            words += ["--capacity", str(values["capacity"])]
        words += ["--minimize"] if values else []
    elif job["kind"] in PROGRAMS:  # with the arguments of spad_example(), which `spad nki --arg` leaves out
        words = ["spad", "sweep", f"{job['file']}:{job['function']}"]
        words += [word for name, value in job["args"].items() for word in ("--arg", f"{name}={value}")]
        words += [word for name, value in job["values"].items() for word in ("--vary", f"{name}={value}")]
        words += ["--signature", job["signature"]] if job["signature"] else []
        words += chip
    elif job["kind"] == "tilelang":
        words = ["spad", "sweep", job["file"]]
    else:
        words = [job["file"]]
        words += [word for name, value in job["values"].items() for word in ("-D", f"{name}={value}")]
        words += [word for name, value in job["rings"].items() for word in ("--ring", f"{name}={value}")]
        words += chip
        return f"spad plan {shlex.join(words)}; spad sim {shlex.join(words)}"
    return shlex.join(words)


def _amount(row):
    """A makespan as a number of its unit: 5375.904 ns, 9 steps."""
    if row["makespan"] is None:
        return None
    amount = row["makespan"] / SCALES[row["unit"]]
    return int(amount) if amount.is_integer() else amount


def _home(job):
    target = job["target"] or {}
    return job["file"], job["function"], target.get("name"), target.get("text")


class SweepTable:
    """The rows of a sweep, a dict each, in the order of inputs, chips and values; what is not done yet is left out.
    columns, csv(), text(), frontier(), frame() for pandas, save(path) for a page or a CSV file."""

    def __init__(self, jobs, rows, space=None, title="sweep"):
        self.title, self.space, self.total = title, space, len(jobs)
        done = [(job, row) for job, row in zip(jobs, rows) if row is not None]
        self.done = len(done)
        self._varied = list(dict.fromkeys(name for job in jobs for name in job["values"]))
        self._rings = list(dict.fromkeys(name for job in jobs for name in job["rings"]))
        self._spaces = list(dict.fromkeys(space[0] for _, row in done for space in row["spaces"]))
        # refused rows have the names of others of the same file, and of the same chip
        self._names = {_home(job)[:2]: row["name"] for job, row in done if row["name"]}
        self._chips = {_home(job): row["chip"] for job, row in done if row["chip"]}
        self.rows = [self._made(job, row) for job, row in done]
        self._mark_frontier()

    @property
    def columns(self):
        """The names of the columns."""
        names = [*_FIXED, *self._parameters(), *_FOUND]
        return [*names, *(f"{space} bytes" for space in self._spaces)]

    def _parameters(self):
        taken = {*_FIXED, *_FOUND}
        names = {name: f"{name} (parameter)" if name in taken else name for name in self._varied}
        return [*names.values(), *(f"ring {name}" for name in self._rings)]

    def parameters(self, row):
        """The values of a row by the names of their columns, without those that its kernel does not have."""
        return {name: row[name] for name in self._parameters() if row[name] is not None}

    def _made(self, job, row):
        values = {**job["values"], **{f"ring {name}": depth for name, depth in job["rings"].items()}}
        file = job["file"] + (f":{job['function']}" if job["function"] else "")
        stem = os.path.splitext(os.path.basename(job["file"]))[0]
        target = job["target"] or {}
        name = self._names.get(_home(job)[:2]) or job["function"] or stem
        made = {"kernel": row["name"] or name, "file": file,
                "target": self._chips.get(_home(job)) or target.get("name") or target.get("file")}
        names = [*self._varied, *(f"ring {name}" for name in self._rings)]
        made.update({column: values.get(name) for column, name in zip(self._parameters(), names)})
        held = {name: height * lanes for name, height, lanes, _ in row["spaces"]}
        size = held.get(self.space) if self.space is not None else row["bytes"]
        made.update(status=row["status"], frontier=False, bytes=size, makespan=_amount(row),
                    unit=UNITS.get(row["unit"]), time=row["shown"], lowest=row["lowest"], verdict=row["verdict"],
                    costs=row["badge"], message=row["message"], command=command_of(job))
        made.update({f"{name} bytes": held.get(name) for name in self._spaces})
        return made

    def groups(self):
        """Rows that can be compared with each other: of one file, chip and unit, in the order of the table."""
        groups = {}
        for row in self.rows:
            if row["status"] in GOOD and row["bytes"] is not None:
                groups.setdefault((row["file"], row["target"], row["unit"]), []).append(row)
        return groups

    def _mark_frontier(self):
        """A row is on the frontier if no other that is no larger is faster, and no other that is no slower is
        smaller. Rows without a time are compared by bytes. Equal rows are all on it."""
        for rows in self.groups().values():
            best = None
            order = sorted(rows, key=lambda row: (row["bytes"], row["makespan"] or 0))
            for row in order:
                point = (row["bytes"], row["makespan"] or 0)
                if best is None or point[1] < best[1] or point == best:
                    row["frontier"], best = True, point

    def frontier(self):
        """The rows on the frontiers, the fewest bytes first."""
        return [row for rows in self.groups().values()
                for row in sorted(rows, key=lambda row: (row["bytes"], row["makespan"] or 0)) if row["frontier"]]

    def csv(self):
        """All rows as CSV. A makespan is in its unit: ns, or steps where costs are assumed."""
        out = io.StringIO()
        writer = csv.writer(out, lineterminator="\n")
        writer.writerow(self.columns)
        for row in self.rows:
            writer.writerow(["" if row[name] is None else str(row[name]).lower() if isinstance(row[name], bool)
                             else row[name] for name in self.columns])
        return out.getvalue()

    def text(self):
        """For each file and chip: how its combinations ended, and the frontier."""
        counted = {}
        for row in self.rows:
            counted.setdefault((row["file"], row["target"]), []).append(row)
        return "\n".join(self._part(file, target, rows) for (file, target), rows in counted.items())

    def _part(self, file, target, rows):
        states = {}
        for row in rows:
            states[row["status"]] = states.get(row["status"], 0) + 1
        ends = ", ".join(f"{count} {status}" for status, count in states.items())
        lines = [f"{file}{f' on {target}' if target else ''}: combinations: {len(rows)} ({ends})"]
        shown = [row for row in self.frontier() if (row["file"], row["target"]) == (file, target)]
        for row in shown:
            values = "  ".join(f"{name}={value}" for name, value in self.parameters(row).items())
            lines.append(f"  {bytes_text(row['bytes']):>12}  {row['time'] or '-':>14}  {values}".rstrip())
        for costs in dict.fromkeys(row["costs"] for row in shown if row["costs"]):
            lines.append("  " + costs)
        messages = list(dict.fromkeys(row["message"] for row in rows if row["status"] == "refused"))
        for message in messages[:3]:
            lines.append("  refused: " + message.partition("\n")[0])
        if len(messages) > 3:
            lines.append(f"  and {len(messages) - 3} more reasons in the table")
        return "\n".join(lines) + "\n"

    def frame(self):
        """A pandas.DataFrame."""
        import pandas

        return pandas.DataFrame(self.rows, columns=self.columns)

    def html(self):
        """The page: one file."""
        from .page import page

        return page(self)

    def save(self, path):
        """Writes a page (.html), a CSV file (.csv) or the rows (.json)."""
        import json

        from .._files import replace_file
        from .inputs import wrong

        name = str(path)
        if name.endswith(".html"):
            text = self.html()
        elif name.endswith(".csv"):
            text = self.csv()
        elif name.endswith(".json"):
            text = json.dumps(self.rows, indent=1) + "\n"
        else:
            raise wrong(f"a sweep is written as .html, .csv or .json, not as '{name}'")
        replace_file(path, text.encode())

    def __len__(self):
        return len(self.rows)

    def __iter__(self):
        return iter(self.rows)

    def __getitem__(self, number):
        return self.rows[number]

    def __repr__(self):
        return f"<spad.SweepTable: {self.done} of {self.total} combinations, {len(self.frontier())} on frontiers>"
