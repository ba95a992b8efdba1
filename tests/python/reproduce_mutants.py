# SPDX-License-Identifier: Apache-2.0
"""Folders for a GPU of all mutants that spad calls wrong, and a table of what it saw: does a delay at the place of a
finding make it more likely than delays everywhere, or none?

    PYTHONPATH=build/release/python python3 tests/python/reproduce_mutants.py FOLDER [--bugs FILE.cu] [--kernel NAME]
    python3 FOLDER/run.py FOLDER/*/ --workers 4 --out results.jsonl                    # where the GPU is
    PYTHONPATH=build/release/python python3 tests/python/reproduce_mutants.py FOLDER --table results.jsonl
"""

import argparse
import collections
import json
import re
import shutil
import sys
from pathlib import Path

import ptx_mutants
from ptx_model import text

import spad
import spad._reproduce as reproduce
import spad._reproduce.run as launcher
import spad.cuda as sc

ALWAYS = ("SPAD-DEADLOCK", "SPAD-MBARRIER-LIFE")  # these need no delay
MOST_SITES = 4


def launch_text(case):
    return (f'version = 1\nmodule = "x.ptx"\nkernel = "{case.kernel}"\ngrid = {case.cluster}\nblock = {case.block}\n'
            f"cluster = {case.cluster}\nsmem = {case.smem}\nargs = {json.dumps([f'{n}={one}' for n, one in enumerate(case.args)])}\n")


def findings_of(source, case):
    """Errors of the check, or None: it does not read the kernel."""
    try:
        check = sc.check(source, case.kernel, grid=case.cluster, block=case.block, cluster=case.cluster, smem=case.smem,
                         args=case.args)
    except spad.Error:
        return None
    return [finding for finding in check.findings if finding.severity == "error"]


def pack(folder, case, wrong, right, what):
    """One folder, of a kernel with a fault and the one without it."""
    errors = findings_of(wrong, case)
    if not errors or errors[0].code in ALWAYS:
        return False
    sites = []
    for finding in errors[:4]:
        sites += [site for site in reproduce.sites_of(finding)
                  if not any((site.line, site.warp, site.cta) == (one.line, one.warp, one.cta) for one in sites)]
    entry, = [one for one in sc.kernels(wrong) if one["name"] == case.kernel]
    launch = reproduce.launch_of(launch_text(case), entry)
    launch |= {"what": what, "code": errors[0].code, "message": errors[0].message}
    try:
        reproduce.write(folder, wrong, launch, sites[:MOST_SITES], "sm_90a", right)
    except ValueError as error:
        print(f"{folder.name} is left out: {str(error).splitlines()[1]}", file=sys.stderr)
        shutil.rmtree(folder)
        return False
    for path in folder.glob("*.ptx"):
        if path.with_suffix(".cubin").exists():
            path.unlink()  # the cubin is what runs
    (folder / "run.py").unlink()
    return True


def pack_mutants(folder, wanted):
    for case in ptx_mutants.CASES:
        if wanted not in case.kernel:
            continue
        source, count = re.sub(r"\.target sm_8\d", ".target sm_90a", ptx_mutants.source_of(case)), 0
        for n, (line, what, changed) in enumerate(ptx_mutants.mutants(source, text.read_kernel(source, case.kernel))):
            name = f"{case.kernel}_{n:02d}"
            count += pack(folder / name, case, changed, source, f"{case.file}.ptx:{line}: {what}")
        print(f"{case.kernel}: {count}", flush=True)


def pack_bugs(folder, path):
    """`name` is right, `name_wrong` has the bug; 128 threads, and two arrays of 4096 numbers."""
    source = sc.compile(path, ("-arch=sm_90a", "-std=c++17"))
    names = [one["name"] for one in sc.kernels(source)]
    for wrong in [name for name in names if name.endswith("_wrong")]:
        right = source.replace(wrong, "unused").replace(f".entry {wrong[:-6]}(", f".entry {wrong}(")
        right = re.sub(rf"\b{wrong[:-6]}_param_", f"{wrong}_param_", right)
        case = ptx_mutants.Case("bugs", wrong, 128, ["u32[4096]", "u32[4096]"])
        print(wrong, pack(folder / wrong, case, source, right, f"{path.name}: {wrong}"), flush=True)


def print_table(folder, results):
    """A row for each folder: the share of wrong launches; `hang` where one did not end."""
    records = collections.defaultdict(dict)
    for line in Path(results).read_text().splitlines():
        record = json.loads(line)
        records[Path(record["folder"]).name][record["variant"]] = record
    totals = collections.Counter()
    print("| mutant | finding | plain | random delays | late at a place | store among others |\n|---|---|---|---|---|---|")
    for name, by_variant in sorted(records.items()):
        launch = json.loads((Path(folder) / name / "launch.json").read_text())
        right = launcher.reference_of(by_variant.values())

        def rate(prefix, by_variant=by_variant, right=right):
            shares = [(0.0, "-")]
            for variant, record in by_variant.items():
                if variant.startswith(prefix):
                    word = "hang" if record["hang"] else "error" if "error" in record else ""
                    shares.append((1.0 if word else 1 - record["results"].get(right, 0) / max(record["runs"], 1), word))
            return max(shares[1:] or shares)
        cells = []
        for prefix in ("plain", "random", "late", "crowd"):
            share, word = rate(prefix)
            totals[prefix] += share > 0
            cells.append(word or f"{100 * share:.1f} %")
        totals["all"] += 1
        print(f"| {name}: {launch['what']} | {launch['code']} | {' | '.join(cells)} |")
    print(dict(totals))


def main():
    parser = argparse.ArgumentParser(description="mutants for a GPU")
    parser.add_argument("folder", type=Path)
    parser.add_argument("--bugs", type=Path)
    parser.add_argument("--kernel", default="")
    parser.add_argument("--table", type=Path)
    options = parser.parse_args()
    if options.table:
        return print_table(options.folder, options.table)
    options.folder.mkdir(parents=True, exist_ok=True)
    pack_mutants(options.folder, options.kernel)
    if options.bugs:
        pack_bugs(options.folder, options.bugs)
    shutil.copyfile(Path(reproduce.__file__).with_name("run.py"), options.folder / "run.py")
    return None


if __name__ == "__main__":
    sys.exit(main())
