# SPDX-License-Identifier: Apache-2.0
"""What the local variables and registers of a lowered kernel are for: positions in rings, and operands of asynchronous products."""


def counters(tree):
    """{variable: moduli}: local variables that only ever take a constant or grow by one, used as positions in rings:
    v % S is a stage, and v % 2S // S or v // S % 2 a phase."""
    stores, bad, moduli = {}, set(), {}

    def uses(part):
        if not isinstance(part, list) or not part:
            return
        stage = ring_use(part)
        if stage:
            moduli.setdefault(stage[0], set()).add(stage[1])
            return
        if part[0] == "load" and part[2] == 0:
            bad.add(part[1])
        for inner in part[1:]:
            uses(inner)

    def walk(body):
        for s in body:
            if s[0] == "store" and s[2] == 0:
                grows = isinstance(s[3], list) and s[3][:2] == ["+", ["load", s[1], 0]] and isinstance(s[3][2], int)
                if grows or isinstance(s[3], int):
                    stores.setdefault(s[1], []).append(s[3] if isinstance(s[3], int) else None)
                    continue
                bad.add(s[1])
            for part in s[1:]:
                if isinstance(part, list) and part and isinstance(part[0], list):
                    walk(part)
                else:
                    uses(part)

    walk(tree["body"])
    return {name: sorted(moduli[name]) for name, values in stores.items()
            if name in moduli and name not in bad and None in values and values[0] is not None and len(set(values)) <= 2}


def ring_use(part):
    """(variable, S) of v % S, v % 2S // S or v // S % 2; `& 1` is `% 2`."""
    if part[0] == "&" and isinstance(part[2], int) and part[2] > 0 and not part[2] & part[2] + 1:
        part = ["%", part[1], part[2] + 1]

    def loaded(tree):
        return tree[1] if isinstance(tree, list) and tree[:1] == ["load"] and tree[2] == 0 else None

    if part[0] == "//" and isinstance(part[2], int) and isinstance(part[1], list) and part[1][0] == "%":
        if part[1][2] == 2 * part[2] and loaded(part[1][1]):
            return loaded(part[1][1]), part[2], "phase"
    if part[0] == "%" and part[2] == 2 and isinstance(part[1], list) and part[1][0] == "//":
        if loaded(part[1][1]) and isinstance(part[1][2], int):
            return loaded(part[1][1]), part[1][2], "phase"
    if part[0] == "%" and isinstance(part[2], int) and loaded(part[1]):
        return loaded(part[1]), part[2], "stage"
    return None


def tracked(tree):
    """Local buffers that asynchronous operations read or write: their registers are tensors of the kernel."""
    found = set()

    def walk(part):
        if isinstance(part, list):
            if part[:1] == ["call"] and part[1] in ("ptx_wgmma_ss", "ptx_wgmma_rs", "ptx_wgmma_sp_ss", "ptx_wgmma_sp_rs"):
                args = part[2:]
                rest = args[5:] if part[1].endswith("rs") else args[6:]
                used = (rest[0], rest[2], rest[7]) if "_sp_" in part[1] else (rest[0], rest[4])
                found.update(a for a in used if isinstance(a, str))
            for inner in part:
                walk(inner)

    walk(tree["body"])
    return {n for n in found if n in tree["buffers"] and tree["buffers"][n]["scope"].startswith("local")
            and not tree["buffers"][n]["scope"].startswith("local.descriptor") and tree["buffers"][n].get("elements")}
