# SPDX-License-Identifier: Apache-2.0
"""spad cuda reproduce: from a finding to a failing run (docs/cuda-reproduce.md).

A finding names one or two instructions and the warps that run them. For each of these places there is a changed PTX in
which those warps sleep in front of the instruction, so that they are late. `run.py`, which needs nothing but Python and
the driver, runs the unchanged kernel and the changed ones many times on the same inputs and counts how often results
differ, or a launch does not end."""

from __future__ import annotations

import argparse
import fnmatch
import json
import os
import re
import shutil
import struct
import subprocess
import sys
import tomllib
from pathlib import Path

from .. import _spad, cuda
from .change import Site, crowded, delayed_everywhere, late

ALIGN = 256
# sizes in bits, and the numbers of CUtensorMapDataType
TYPES = {"u8": (8, 0), "i8": (8, 0), "u16": (16, 1), "i16": (16, 1), "u32": (32, 2), "i32": (32, 3), "u64": (64, 4),
         "i64": (64, 5), "f16": (16, 6), "f32": (32, 7), "f64": (64, 8), "bf16": (16, 9), "tf32": (32, 11), "u4": (4, 13),
         "f8e4m3": (8, 0), "f8e5m2": (8, 0)}
LONG_NAMES = (("uint", "u"), ("int", "i"), ("bfloat", "bf"), ("tfloat", "tf"), ("float", "f"))
SWIZZLES = {"0": 0, "32": 1, "64": 2, "128": 3, "128atom32": 4}


def _type(name):
    for long, short in LONG_NAMES:
        if name.startswith(long):
            name = short + name[len(long):]
            break
    if name not in TYPES:
        raise ValueError(f"'{name}' is no type of a tensor that can be made for a GPU")
    return TYPES[name]


def _numbers(text):
    return [int(word, 0) for word in text.split(",") if word.strip()]


def _bytes_of(extents, bits):
    count = 1
    for extent in extents:
        count *= extent
    return -(-count * bits // 8)


class _Memory:
    """Blocks of device memory, in a range of addresses that stands for them until they are allocated."""

    def __init__(self):
        self.blocks, self.next = [], 1 << 46

    def add(self, size, contents=b""):
        address, self.next = self.next, -(-(self.next + max(size, 1)) // ALIGN) * ALIGN
        self.blocks.append({"address": address, "bytes": size, "contents": contents.hex()})
        return address


def tensor_map(words, memory):
    """float16[512,256],box[128,64],stride[512],swizzle128,at[0x7000] as cuTensorMapEncodeTiled takes it."""
    kind = words.partition("[")[0]
    lists = {name or "size": _numbers(numbers)[::-1] for name, numbers in
             re.findall(r"(?:,(box|stride|at)|^\w+)\[([^\]]*)\]", words)}
    bits, number = _type(kind)
    strides = lists.get("stride") or [_bytes_of(lists["size"][:d], bits) for d in range(1, len(lists["size"]))]
    address = lists["at"][0] if "at" in lists else memory.add(
        strides[-1] * lists["size"][-1] if strides else _bytes_of(lists["size"], bits))
    swizzle = re.search(r"swizzle(\w+)", words)
    return {"type": number, "size": lists["size"], "stride": strides, "box": lists["box"], "address": address,
            "swizzle": SWIZZLES[swizzle[1]] if swizzle else 0}


def _argument(word, parameter, memory, maps, at):
    """The bytes of an argument (docs/cuda-launch.md) at a place among the parameters."""
    size = parameter["bytes"]
    if word.startswith("tensormap:"):
        maps.append({"parameter": at, **tensor_map(word[10:], memory)})
        return bytes(128)
    if word.startswith("bytes:"):
        return bytes.fromhex(word[6:].replace("..", "00"))
    tensor = re.fullmatch(r"(\w+)\[([\d,\s]*)\](?:=(.*))?", word, re.DOTALL)
    if tensor:
        bits, _ = _type(tensor[1])
        count, contents = _bytes_of(_numbers(tensor[2]), bits), b""
        if tensor[3] == "zeros":
            contents = bytes(count)
        elif tensor[3]:
            contents = b"".join((value & (1 << bits) - 1).to_bytes(bits // 8, "little") for value in _numbers(tensor[3]))
        return memory.add(count, contents).to_bytes(8, "little")
    if word == "unknown":
        return bytes(size)
    if re.fullmatch(r"[-+]?(0x[0-9a-fA-F]+|\d+)", word) and not parameter["type"].startswith("f"):
        return (int(word, 0) & (1 << 8 * size) - 1).to_bytes(size, "little")
    return struct.pack({2: "<e", 4: "<f", 8: "<d"}[size], float(word))


def parameter_offsets(parameters):
    """Where each parameter begins in the bytes of a launch; parameters: those of an entry of spad.cuda.kernels()."""
    at, offsets = 0, []
    for parameter in parameters:
        offsets.append(at := at + -at % parameter["align"])
        at += parameter["bytes"]
    return offsets


def _parameters_of_words(words, parameters):
    """Of NAME=VALUE for each parameter; a number as NAME is its position."""
    memory, maps, data = _Memory(), [], bytearray()
    pairs = [word.partition("=")[::2] for word in words]
    values = {int(name) if name.isdigit() else n: value for n, (name, value) in enumerate(pairs)}
    for n, (parameter, at) in enumerate(zip(parameters, parameter_offsets(parameters), strict=True)):
        data += bytes(at - len(data))
        data += _argument(values[n], parameter, memory, maps, at)
    return bytes(data), memory.blocks, maps


def launch_of(text, kernel):
    """The launch of a launch file, as run.py reads it. kernel: an entry of spad.cuda.kernels()."""
    file = tomllib.loads(text)
    if file.get("variable"):
        raise ValueError("a launch file with variables of the module cannot be reproduced")

    def extents(key, default):
        value = file.get(key, default)
        return ([value] if isinstance(value, int) else list(value)) + [1] * (2 if isinstance(value, int) else 3 - len(value))
    if "parameters" in file:
        memory = _Memory()
        data = bytes.fromhex(file["parameters"].replace("..", "00"))
        blocks = [{"address": one["address"], "bytes": one["bytes"],
                   "contents": "00" * one["bytes"] if one.get("contents") == "zeros" else one.get("contents", "")}
                  for one in file.get("memory", [])]
        maps = [{**({"parameter": one["parameter"]} if "parameter" in one else {"at": one["address"]}),
                 **tensor_map(one["map"], memory)} for one in file.get("tensormap", [])]
    else:
        data, blocks, maps = _parameters_of_words(file.get("args", []), kernel["parameters"])
    return {"kernel": kernel["name"], "grid": extents("grid", 1), "block": extents("block", kernel["required_threads"] or 1),
            "cluster": extents("cluster", kernel["cluster"] or 1), "smem": file.get("smem", 0), "parameters": data.hex(),
            "offsets": parameter_offsets(kernel["parameters"]), "memory": blocks, "maps": maps}


# ---- from a finding to variants -----------------------------------------------------------

def sites_of(finding):
    """The places of a finding where a warp may be late: those of its notes first, which are what has to wait in a race.
    (place in the PTX, agent, what it does)"""
    places = [(note["from_input"] or (note["line"], note["column"]), note["message"]) for note in finding.notes]
    places.append((finding.from_input or (finding.line, finding.column), finding.message))
    found = []
    for place, message in places:
        agent = re.search(r"\((?:cta(\d+)_)?(warp|warpgroup)(\d+)\)", message)
        if place and place[0] and agent:
            first, count = (int(agent[3]), 1) if agent[2] == "warp" else (4 * int(agent[3]), 4)
            site = Site(place[0], place[1] or 1, int(agent[1] or 0), first, count, message)
            if not any((site.line, site.warp, site.cta) == (one.line, one.warp, one.cta) for one in found):
                found.append(site)
    return found


def _assemble(path, arch):
    """A cubin beside the PTX, if there is a ptxas: then the text is checked, and nothing is compiled on the GPU machine."""
    ptxas = os.environ.get("PTXAS") or shutil.which("ptxas") or "/usr/local/cuda/bin/ptxas"
    if not os.path.exists(ptxas):
        return
    done = subprocess.run([ptxas, f"-arch={arch}", os.fspath(path), "-o", os.fspath(path.with_suffix(".cubin"))],
                          capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise ValueError(f"ptxas does not take '{path.name}':\n{done.stderr}")


def write(folder, ptx, launch, sites, arch, reference=None):
    """Writes the folder: launch.json, variants of the PTX, run.py. reference: PTX of a kernel that is right."""
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    texts = {"plain": ptx, "random": delayed_everywhere(ptx, launch["kernel"])}
    texts |= {f"late{n}": late(ptx, site) for n, site in enumerate(sites)}
    texts |= {f"crowd{n}": text for n, site in enumerate(sites) if (text := crowded(ptx, site)) is not None}
    if reference is not None:
        texts = {"reference": reference} | texts
    for name, text in texts.items():
        path = folder / f"{name}.ptx"
        path.write_text(text, encoding="utf-8")
        _assemble(path, arch)
    places = [{"variant": f"late{n}", "line": site.line, "warp": site.warp, "cta": site.cta, "what": site.what}
              for n, site in enumerate(sites)]
    whole = {**launch, "variants": list(texts), "late": places}
    (folder / "launch.json").write_text(json.dumps(whole, indent=1), encoding="utf-8")
    shutil.copyfile(Path(__file__).with_name("run.py"), folder / "run.py")


def reproduce(path, folder, number=0, arch="sm_90a"):
    """Checks the launch of a launch file and writes a folder for one of its findings."""
    content, name = Path(path).read_text(encoding="utf-8"), os.fspath(path)
    ptx = Path(name).parent / _spad.Kernel.ptx_launch_module(content, name)
    if ptx.suffix != ".ptx":
        raise ValueError(f"the module of the launch file is '{ptx.name}': give it as PTX, which can be changed")
    kernel = cuda.load(path)
    findings = [one for one in kernel.check().findings if one.severity in ("error", "warning")]
    if number >= len(findings):
        raise ValueError(f"there is no finding {number + 1}: the check has {len(findings)} errors and warnings")
    sites = sites_of(findings[number])
    entry = _entry(ptx, tomllib.loads(content).get("kernel"))
    write(folder, ptx.read_text(encoding="utf-8"), launch_of(content, entry), sites, arch)
    return findings[number], sites


def _entry(ptx, wanted):
    """The one kernel of a module that a name or a pattern chooses."""
    found = [one for one in cuda.kernels(ptx) if wanted is None or
             any(fnmatch.fnmatchcase(one[key], wanted) for key in ("name", "plain_name", "full_name"))]
    if len(found) != 1:
        raise ValueError(f"'{wanted}' is not one kernel of '{ptx}' but {len(found)}")
    return found[0]


def main(words):
    parser = argparse.ArgumentParser(prog="spad cuda reproduce", description="writes a folder with a launcher and changed "
                                     "kernels, in which the warps of a finding are late (docs/cuda-reproduce.md)")
    parser.add_argument("launch", metavar="LAUNCH.toml")
    parser.add_argument("-o", "--output", metavar="FOLDER", required=True)
    parser.add_argument("--finding", type=int, default=1, metavar="N", help="of the errors and warnings; the first is 1")
    parser.add_argument("--arch", default="sm_90a", help="for ptxas, where there is one")
    options = parser.parse_args(words)
    try:
        finding, sites = reproduce(options.launch, options.output, options.finding - 1, options.arch)
    except (OSError, ValueError, _spad.Error) as error:
        print(f"spad: {error}", file=sys.stderr)
        return 2
    print(finding)
    for n, site in enumerate(sites):
        print(f"late{n}: {site}")
    if not sites:
        print("no delay of a warp makes it more likely; the launcher compares the plain kernel with random delays")
    print(f"on a machine with a GPU: python3 {options.output}/run.py")
    return 0
