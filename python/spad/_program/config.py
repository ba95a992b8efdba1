# SPDX-License-Identifier: Apache-2.0
"""What the user wants to hear of, for the commands about kernels that are Python programs: options, the nearest .spad.toml, and
baselines. `spad check` reads the same files (cli/policy.c)."""

import re
import tomllib
from pathlib import Path

from .._files import replace_file
from . import sarif

_KEYS = {"target", "compiler-faults", "baseline", "rules", "sizes"}
_HEAD = "# Findings that are known: spad check --baseline hides them.\n"


def add_options(parser):
    """The options of `check` about what is shown, and how."""
    parser.add_argument("--json", action="store_true", help="the result as JSON (check; of nki also plan, sim and tune)")
    parser.add_argument("--sarif", metavar="FILE", help="check: the findings for code-review tools (SARIF 2.1.0)")
    parser.add_argument("--compiler-faults", choices=("error", "warning", "ignore"),
                        help="check: what known faults of the compiler do (default: an error where wrong results are known)")
    parser.add_argument("--baseline", metavar="FILE", help="check: findings in it are known, and neither shown nor counted")
    parser.add_argument("--write-baseline", metavar="FILE", help="check: writes those that are shown now")
    parser.add_argument("--all", action="store_true", help="check: every finding, not one for each cause")


def nearest(path):
    """What the .spad.toml of the folder of a file, or of one above it, says; {} without one."""
    for folder in Path(path).resolve().parents:
        file = folder / ".spad.toml"
        if file.is_file():
            try:
                found = tomllib.loads(file.read_text(encoding="utf-8"))
            except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
                raise ValueError(f"{file}: {error}") from None
            unknown = sorted(found.keys() - _KEYS)
            if unknown:
                raise ValueError(f"{file}: unknown key '{unknown[0]}'; known are {', '.join(sorted(_KEYS))}")
            if "baseline" in found:
                found["baseline"] = folder / found["baseline"]
            return found
    return {}


def _fingerprints(path):
    lines = Path(path).read_text(encoding="utf-8").splitlines()
    found = [line.partition(" ")[0] for line in lines if line and not line.startswith("#")]
    wrong = next((word for word in found if not re.fullmatch("[0-9a-f]{16}", word)), None)
    if wrong is not None:
        raise ValueError(f"{path}: '{wrong:.30}' is no fingerprint; --write-baseline writes such a file")
    return found


def policy(options, config):
    """The options of Kernel.check."""
    baseline = options.baseline or (None if options.write_baseline else config.get("baseline"))
    return {"compiler_faults": options.compiler_faults or config.get("compiler-faults"), "rules": config.get("rules"),
            "baseline": _fingerprints(baseline) if baseline else None, "finding_limit": -1 if options.all else 0}


def write_files(options, checks):
    """Writes what is asked for of some checks; the runs of several are in one SARIF log."""
    if options.sarif:
        replace_file(options.sarif, sarif.joined(checks).encode())
    if options.write_baseline:
        rows = [f"{finding.fingerprint} {finding.code} {finding.file}: {finding.message}\n" for check in checks for finding in check
                if finding.fingerprint and finding.hidden in (None, "baseline")]
        replace_file(options.write_baseline, (_HEAD + "".join(rows)).encode())
