# SPDX-License-Identifier: Apache-2.0
"""What the cache of a chip keeps of the tiles of a grid from one wave of blocks to the next, for spad.triton and
spad.tilelang.

Blocks of a wave go through their tiles together, so that between two uses of a tile lies a whole wave: a half of what
the blocks read that used it before, all of what those between read, and a half of what the blocks read that use it
now. Where the cache has room for that, the tile is still there. The cache has two halves, and each keeps what the units
next to it read, so that tiles which all units read are in both."""

WAVES = 16  # that are looked at
_HALVES = 2
_PARTS = 16  # a part of the tiles is said in so many


def room_of(chip):
    """Bytes that the cache of a chip has room for; 0: it has none."""
    return max((space["cache_bytes"] or 0 for space in chip.data["spaces"] if space["off_chip"]), default=0) // _HALVES


def kept(places, sizes, wave, room):
    """{tensor: which part of its tiles the cache has from waves before, 0 to 1}. places: {tensor: where each block reads, in
    the order of blocks}, sizes: {tensor: bytes that a block reads of it}, wave: blocks at a time."""
    blocks = min((len(rows) for rows in places.values()), default=0)
    waves = [{(name, rows[i]) for name, rows in places.items() for i in range(at, min(at + wave, blocks))}
             for at in range(0, min(blocks, WAVES * wave), wave)]

    def bytes_of(tiles):
        return sum(sizes.get(name, 0) for name, _ in tiles)

    hits, all_, last = dict.fromkeys(places, 0), dict.fromkeys(places, 0), {}
    for now, tiles in enumerate(waves):
        near = {}  # by the wave of the last use: is what lies between no more than the cache has room for?
        for tile in tiles:
            before = last.get(tile)
            all_[tile[0]] += 1
            if before is not None and before not in near:
                between = set().union(*waves[before + 1:now])
                ends = bytes_of(waves[before] - between) + bytes_of(tiles - between)
                near[before] = bytes_of(between) + ends // 2 <= room
            hits[tile[0]] += before is not None and near[before]
        last.update(dict.fromkeys(tiles, now))
    return {name: hits[name] / all_[name] for name in places if all_[name]}


def joined(part, row):
    """(N, M) of `cached N of M`, of a part that the cache has and of tiles in a row of which the memory brings the last ones
    with the first, (1, 2) or None. None: none are there."""
    if part <= 0:
        return row
    missing = round(_PARTS * (1 - part) * (1 - row[0] / row[1] if row else 1))
    return (_PARTS - missing, _PARTS) if 0 < missing < _PARTS else (1, 1) if missing == 0 else row


def simulated(text_of, sim_of, units):
    """The simulation sim_of(text) of the text text_of(wave) of a kernel, by the blocks of a wave: how many a unit has comes
    out of the simulation, and only then is known what a wave reads."""
    text = text_of(units)
    sim = sim_of(text)
    grid = sim.data.get("grid") or {}
    blocks = grid.get("per_unit") or 1
    again = text_of(units * blocks) if blocks > 1 else text
    return sim if again == text else sim_of(again)


def bytes_read(kernel):
    """{tensor off chip: bytes that a block copies of it}. Copies in a loop whose trip count is not a number count once."""
    inputs = {tensor["name"]: tensor["bytes"] for tensor in kernel.tensors
              if tensor["space"] == "global" and tensor["input"] and not tensor["output"]}
    trips = {loop["statement"]: max(loop["end"] - loop["begin"], 0) for loop in kernel.loops
             if loop["begin"] is not None and loop["end"] is not None}
    statements, total = kernel.statements, {}
    for statement in statements:
        accesses = statement.get("accesses", ())
        if [access["kind"] for access in accesses[:2]] != ["read", "write"] or accesses[0]["tensor"] not in inputs:
            continue
        name, parent = accesses[0]["tensor"], statement["parent"]
        size = inputs[name]
        while parent is not None:
            size *= trips.get(parent, 1)
            parent = statements[parent]["parent"]
        total[name] = total.get(name, 0) + size
    return total
