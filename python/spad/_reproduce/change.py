# SPDX-License-Identifier: Apache-2.0
"""Changes PTX so that warps are late: at one place, or anywhere at random.

How long is in a variable of the module, `spad_delay` in nanoseconds, which the launcher sets. A warp sleeps by
`nanosleep`, which is one instruction: no lanes diverge, and nothing is ordered that was not."""

import re
from dataclasses import dataclass

VARIABLE = "\n.visible .global .align 4 .u32 spad_delay;\n"
SYNCHRONISES = re.compile(r"\s*(\{\s*)?(@!?%?[\w$]+\s+)?((bar|barrier|mbarrier|fence|membar|red|atom|ldmatrix|stmatrix|cp|"
                          r"wgmma|tcgen05)\.|(ld|st)\.(?!param|local|const))")


@dataclass
class Site:
    """Warps `warp` up to `warp + count` of a block, or of block `cta` of a cluster, before an instruction of the PTX."""
    line: int
    column: int
    cta: int
    warp: int
    count: int
    what: str

    def __str__(self):
        block = f"block {self.cta}, " if self.cta else ""
        return f"{block}warp {self.warp}, line {self.line}: {self.what}"


# the number of the warp in its block
WARP = ("mov.u32 %sa, %tid.z; mov.u32 %sb, %ntid.y; mov.u32 %sc, %tid.y; mad.lo.u32 %sa, %sa, %sb, %sc; "
        "mov.u32 %sb, %ntid.x; mov.u32 %sc, %tid.x; mad.lo.u32 %sa, %sa, %sb, %sc; shr.u32 %sa, %sa, 5; ")
REGISTERS = "{ .reg .pred %sp; .reg .b32 %sa, %sb, %sc; "


def _with_variable(ptx):
    return re.sub(r"(\.address_size\s+\d+\s*\n)", lambda match: match[1] + VARIABLE, ptx, count=1)


def late(ptx, site):
    """The warps of a site sleep each time that they come there."""
    block = ""
    if re.search(r"^\.target sm_(9|1\d)", ptx, re.MULTILINE):  # clusters
        block = f"mov.u32 %sb, %cluster_ctarank; setp.eq.and.u32 %sp, %sb, {site.cta}, %sp; "
    delay = (REGISTERS + WARP + f"sub.u32 %sa, %sa, {site.warp}; setp.lt.u32 %sp, %sa, {site.count}; " + block +
             "ld.global.u32 %sa, [spad_delay]; @%sp nanosleep.u32 %sa; } ")
    lines = ptx.split("\n")
    text = lines[site.line - 1]
    head = re.sub(r"@!?%?[\w$]+\s*$", "", text[:site.column - 1])  # a guard belongs to the instruction
    lines[site.line - 1] = head + delay + text[len(head):]
    return _with_variable("\n".join(lines))


def crowded(ptx, site, copies=12):
    """For a bulk store, which an engine does later: the same store many times before it, so that it is late. None: the
    instruction is another one."""
    lines = ptx.split("\n")
    text = lines[site.line - 1]
    head = re.sub(r"(@!?%?[\w$]+\s*)?$", "", text[:site.column - 1])
    store = re.match(r"(@!?%?[\w$]+\s+)?cp\.async\.bulk\.\S*global\S*shared::cta\S*\s[^;]*;", text[len(head):])
    if store is None:
        return None
    lines[site.line - 1] = head + (store[0] + " ") * copies + text[len(head):]
    return "\n".join(lines)


# half of the time, up to twice the delay: the clock of the multiprocessor decides
RANDOM = (REGISTERS + WARP + "mov.u32 %sb, %smid; mad.lo.u32 %sa, %sa, 0x9e3779b1, %sb; mov.u32 %sb, %clock; "
          "add.u32 %sa, %sa, %sb; mul.lo.u32 %sa, %sa, 0x85ebca6b; shr.u32 %sb, %sa, 13; xor.b32 %sa, %sa, %sb; "
          "mul.lo.u32 %sa, %sa, 0xc2b2ae35; setp.lt.s32 %sp, %sa, 0; shr.u32 %sa, %sa, 8; ld.global.u32 %sb, [spad_delay]; "
          "add.u32 %sb, %sb, 1; rem.u32 %sa, %sa, %sb; shl.b32 %sa, %sa, 1; @%sp nanosleep.u32 %sa; } ")


def _body_of(ptx, kernel):
    """Where the body of a kernel begins and ends."""
    at = re.search(r"\.entry\s+" + re.escape(kernel) + r"(?![\w$])", ptx).end()
    begin = at = ptx.index("{", at)
    depth = 0
    for brace in re.finditer(r"//[^\n]*|[{}]", ptx[begin:]):
        depth += {"{": 1, "}": -1}.get(brace[0], 0)
        if depth == 0 and brace[0] == "}":
            return begin, begin + brace.start()
    raise ValueError(f"the body of '{kernel}' has no end")


def delayed_everywhere(ptx, kernel):
    """Each warp of a kernel may sleep before each access to memory and each synchronisation."""
    begin, end = _body_of(ptx, kernel)
    body = "\n".join(RANDOM + line if SYNCHRONISES.match(line) else line for line in ptx[begin:end].split("\n"))
    return _with_variable(ptx[:begin] + body + ptx[end:])
