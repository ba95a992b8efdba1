# SPDX-License-Identifier: Apache-2.0
"""What a barrier of two cores orders.

nki.isa.core_barrier blocks one engine of each core: what is known to be ordered by it are accesses to its `data`. In the
kernel of two agents a barrier orders all that was before it. So each tensor that the cores share is looked at alone,
with the barriers of its own; where that has a race, the order depends on a barrier of other data, and a note says so.
"""

from .. import _spad
from .. import core


def notes(recorder, shown, declaration, meeting, operation, skipped):
    """[(source, text)] for the tensors in HBM whose order depends on meetings for other data. skipped: names of those
    that need no order."""
    meetings = [made for made in recorder.lines if isinstance(made, meeting)]
    made = []
    for storage in recorder.storages:
        if storage.is_on_chip or storage.name in skipped or all(meet.storage is storage for meet in meetings):
            continue
        lines, sources, is_shared = _alone(recorder, shown, storage, declaration, meeting, operation)
        if not is_shared:
            continue
        kernel = _spad.Kernel.parse("\n".join(lines) + "\n", "<cores>", None, None, recorder.chip)
        race = next((found for found in core.check(kernel) if found.code == "SPAD-RACE"), None)
        if race is not None:
            made.append((sources[race.line - 1],
                         f"accesses of both cores to '{storage.name}' are ordered by a barrier of other data only, which "
                         f"blocks one engine; recorded as ordered"))
    return made


def _alone(recorder, shown, storage, declaration, meeting, operation):
    """(lines, their sources, do both cores access it and one write?) of a kernel with one tensor of HBM."""
    lines, sources = [f"kernel alone on {recorder.chip.name}"], [None]

    def add(made, source):
        for text in made.texts(shown):
            lines.append(text)
            sources.append(source)

    recorded = list(zip(recorder.lines, recorder.places))
    for made, source in recorded:
        if isinstance(made, declaration) and made.storage is storage:
            add(made, source)
    lines.append("barrier cores count 2")
    sources.append(None)
    accessed, written = [False, False], False
    for number, half in enumerate((recorded[:recorder.second], recorded[recorder.second:])):
        lines.append(f"agent core_{number} {{")
        sources.append(None)
        for made, source in half:
            if isinstance(made, meeting):
                if made.storage is storage:
                    add(made, source)
                continue
            if isinstance(made, declaration):
                continue
            part = _part(made, storage, operation, recorder.by_name)
            if part is not None:
                accessed[number] = True
                written = written or any(part.accesses[word] for word in part.accesses if "reads" not in word)
                add(part, source)
        lines.append("}")
        sources.append(None)
    return lines, sources, all(accessed) and written


def _part(made, storage, operation, by_name):
    """What an operation does to one tensor, or None."""
    if made.__class__ is tuple:
        template, names = made
        if not any(name.partition("(")[0] == storage.name for name in names):
            return None
        made = template.operation(names, by_name)
    accesses = {word: {part: owner for part, owner in parts.items() if owner is storage}
                for word, parts in made.accesses.items()}
    if not any(accesses.values()):
        return None
    part = operation(made.engine, made.name)
    part.accesses = accesses
    return part
