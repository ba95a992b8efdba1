#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""sbom.py ROOT FILE...: the bill of materials of a release, as CycloneDX 1.6 in JSON: the package and its files with their
hashes, what it needs when it runs (the C library), what its optional parts need, and what it was built with. The same files
give the same bytes. Validated against CycloneDX's schema; needs the packages of tools/packages/wheel.txt."""

import hashlib
import json
import re
import sys
import tomllib
import uuid
from pathlib import Path

from cyclonedx.schema import SchemaVersion
from cyclonedx.validation.json import JsonStrictValidator

root, files = Path(sys.argv[1]), [Path(name) for name in sys.argv[2:]]


def digest(path):
    return hashlib.sha256(path.read_bytes()).hexdigest()


def package(requirement, scope):
    """A package of PyPI; a pinned one has its version."""
    name, version = re.match(r"([\w.-]+)(?:==(.*))?", requirement).groups()
    url = f"pkg:pypi/{name.lower()}" + (f"@{version}" if version else "")
    return {"type": "library", "bom-ref": url, "name": name, **({"version": version} if version else {}), "scope": scope, "purl": url}


def pinned(path):
    return [line for line in path.read_text(encoding="utf-8").splitlines() if "==" in line and not line.startswith("#")]


def bill():
    project = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    version = project["version"]
    own = f"pkg:pypi/{project['name']}@{version}"
    optional = [package(need, "optional") for need in project["optional-dependencies"]["sweep"]]
    needed = [package(need, "required") for need in project["dependencies"]]
    needed.append({"type": "library", "bom-ref": "libc", "name": "glibc", "scope": "required",
                   "description": "the C library of the system, which is not part of the package"})
    built = [package(need, "excluded") for need in pinned(root / "tools/packages/wheel.txt")]
    parts = [{"type": "file", "bom-ref": path.name, "name": path.name,
              "hashes": [{"alg": "SHA-256", "content": digest(path)}]} for path in files]
    return {
        "$schema": "http://cyclonedx.org/schema/bom-1.6.schema.json",
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "serialNumber": uuid.uuid5(uuid.NAMESPACE_URL, " ".join([own, *(digest(path) for path in files)])).urn,
        "version": 1,
        "metadata": {"component": {"type": "library", "bom-ref": own, "name": project["name"], "version": version, "purl": own,
                                   "description": project["description"], "licenses": [{"license": {"id": "Apache-2.0"}}]}},
        "components": [*parts, *needed, *optional, *built],
        "dependencies": [{"ref": own, "dependsOn": [part["bom-ref"] for part in (*needed, *optional)]}],
    }


text = json.dumps(bill(), indent=2) + "\n"
if fault := JsonStrictValidator(SchemaVersion.V1_6).validate_str(text):
    sys.exit(f"the bill of materials is not valid: {fault}")
print(text, end="")
