# SPDX-License-Identifier: Apache-2.0
"""Small PNG files: at most 256 colours, those that are most frequent."""
import struct
import zlib


def nearest(colour, palette):
    return min(range(len(palette)), key=lambda k: sum((a - b) ** 2 for a, b in zip(colour, palette[k])))


def write_png(path, rows):
    """Rows of (red, green, blue) as a PNG with a palette."""
    counts = {}
    for row in rows:
        for colour in row:
            counts[colour] = counts.get(colour, 0) + 1
    palette = sorted(counts, key=lambda colour: (-counts[colour], colour))[:256]
    known = {colour: k for k, colour in enumerate(palette)}
    lines = bytearray()
    for row in rows:
        lines.append(0)  # no filter
        for colour in row:
            if colour not in known:
                known[colour] = nearest(colour, palette)
            lines.append(known[colour])

    def chunk(kind, body):
        return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))

    head = struct.pack(">IIBBBBB", len(rows[0]), len(rows), 8, 3, 0, 0, 0)
    with open(path, "wb") as file:
        file.write(b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"PLTE", bytes(v for colour in palette for v in colour)) +
                   chunk(b"IDAT", zlib.compress(bytes(lines), 9)) + chunk(b"IEND", b""))
