# SPDX-License-Identifier: Apache-2.0
"""Tables of what launch.py has seen, as Markdown: python3 tests/gpu/table.py FOLDER OUT/results.jsonl"""

import json
import pathlib
import sys
from collections import Counter, defaultdict

BAD = ("wrong", "hang", "error", "died", "stuck")


def row(*cells):
    print("| " + " | ".join(str(cell) for cell in cells) + " |")


def head(*names):
    row(*names)
    row(*["---"] * len(names))


def read(path):
    """The last outcome of each job on the GPU, what each tool says of each kernel, and seconds of each tool."""
    seen, tools, seconds = {}, defaultdict(dict), defaultdict(list)
    for line in pathlib.Path(path).read_text().splitlines():
        record = json.loads(line)
        if "kernels" in record:
            seconds[record["tool"]].append((record["seconds"], len(record["kernels"])))
            for name in record["kernels"]:
                tools[record["tool"]].setdefault(name, {}).update(record["found"].get(name, {}))
        elif "tool" in record and "id" in record:
            tools[record["tool"]].setdefault(record["id"], {})
            if record["outcome"] != "ran":
                tools[record["tool"]][record["id"]]["end"] = record["outcome"]
        elif "id" in record:
            seen[record["id"]] = record
    return seen, tools, seconds


def fidelity(jobs, seen):
    head("kernel", "bytes", "known to spad", "changed by the GPU", "different")
    for job in jobs:
        got = seen.get(job["id"], {})
        row(job["kernel"], got.get("bytes"), got.get("known"), got.get("changed"), got.get("wrong", got.get("outcome")))


def reported_by(tools, name, entry):
    return bool(set(tools.get(name, {}).get(entry) or ()) & {"Error", "Warning", "Barrier error", "Invalid", "Program hit"})


def found_by(tools, name, job):
    """A report about a mutant says nothing where the tool reports the right kernel as well."""
    right = job["entry"] != job["right"] and reported_by(tools, name, job["right"])
    return reported_by(tools, name, job["entry"]) and not right


def count(jobs, seen, tools):
    """One row of jobs: what spad says, and who else sees it."""
    spad = [job for job in jobs if job["verdict"] == "found"]
    proved = [job for job in jobs if job["verdict"] == "proved"]

    def on_gpu(some, outcomes):
        return sum(seen.get(job["id"], {}).get("outcome") in outcomes for job in some)
    cells = [len(jobs), len(spad), on_gpu(spad, ["wrong"]), on_gpu(spad, BAD[1:]), len(proved), on_gpu(proved, BAD)]
    for tool in ("racecheck", "synccheck"):
        cells += [sum(found_by(tools, tool, job) for job in some) for some in (spad, proved)]
    return cells


COLUMNS = ["mutants", "wrong says spad", "wrong result", "hang or error", "proved by spad", "of them wrong on the GPU",
           "racecheck", "of proved ones", "synccheck", "of proved ones"]


def groups(jobs, seen, tools):
    head("kernel", *COLUMNS)
    names = dict.fromkeys(job["group"] for job in jobs)
    for name in names:
        row(name, *count([job for job in jobs if job["group"] == name and job["entry"] != job["right"]], seen, tools))
    row("all", *count([job for job in jobs if job["entry"] != job["right"]], seen, tools))
    row("right kernels", *count([job for job in jobs if job["entry"] == job["right"]], seen, tools))


def each(jobs, seen, tools):
    head("kernel", "change", "spad", "on the GPU", "runs", "wrong runs", "racecheck", "synccheck")
    for job in jobs:
        got = seen.get(job["id"], {})
        said = [json.dumps(tools.get(tool, {}).get(job["entry"])) for tool in ("racecheck", "synccheck")]
        row(job["id"], f"{job['line']} {job['what_changed']}", f"{job['verdict']}: {job['why'][:60]}", got.get("outcome"),
            got.get("runs"), got.get("wrong"), *said)


def main():
    manifest = json.loads((pathlib.Path(sys.argv[1]) / "manifest.json").read_text())
    seen, tools, seconds = read(sys.argv[2])
    jobs = manifest["stress"]
    fidelity(manifest["compare"], seen)
    print()
    groups([job for job in jobs if not job["group"].startswith("bug_")], seen, tools)
    print()
    groups([job for job in jobs if job["group"].startswith("bug_")], seen, tools)
    print()
    each([job for job in jobs if job["group"].startswith("bug_") or "--all" in sys.argv], seen, tools)
    print()
    alone = [job["spad_seconds"] for job in jobs]
    print(f"spad: {sum(alone) / len(alone):.3f} s a kernel")
    for tool, rows in seconds.items():
        single = [time for time, n in rows if n == 1]
        print(f"{tool}: {sum(t for t, _ in rows) / max(1, sum(n for _, n in rows)):.2f} s a kernel, "
              f"{sum(single) / max(1, len(single)):.2f} s alone in a process")
    print(Counter(record["outcome"] for record in seen.values()))
    doubts = [job["id"] for job in jobs if job["verdict"] == "proved" and seen.get(job["id"], {}).get("outcome") in BAD]
    print(f"proved, and wrong on the GPU: {doubts}")


if __name__ == "__main__":
    main()
