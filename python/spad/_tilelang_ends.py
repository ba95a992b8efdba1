# SPDX-License-Identifier: Apache-2.0
"""Loops that a number in shared memory ends, in all warps: one thread stores it in each round of a loop of its own, and ends that loop by
it; others wait for the phase of an mbarrier that says that it is stored, and end theirs.

In round w a reader waits for phase w - d of an mbarrier at which the loop of the store arrives once in each round, after the store. So it reads
what round w - d stored, and if that loop ends in round E, the loop of the reader ends in round E + d. That no later store comes
before the read is checked: it would be a race. Blocks of a cluster have numbers of their own, which are the same where each is the answer of
one `clusterlaunchcontrol.try_cancel` to all of them.
"""

import json

from . import _tilelang_calls as _calls
from . import _tilelang_data as _data
from ._tilelang_decide import loaded

_ANSWER = "clc_is_canceled"


class End:
    """A loop that ends by a number in a buffer, so many rounds after the one that stored it; place: the statement that ends it."""

    def __init__(self, buffer, place, shift, stores):
        self.buffer, self.place, self.shift, self.stores = buffer, place, shift, stores

    def rounds(self, body, keep):
        """The statements of a round; those after the place of the end are under a condition."""
        for number, s in enumerate(body):
            inside = [n for n in (2, 3) if s[0] == "if" and s is not self.place and _holds(s[n], self.place)]
            if s is not self.place and not inside:
                continue
            made = ["do", s[1]] if s is self.place else [*s]
            for n in inside:
                made[n] = self.rounds(s[n], keep)
            rest = body[number + 1:]
            return [*body[:number], made, *([["if", keep, rest, []]] if rest else [])]
        return body


def ends_of(walk, body):
    """{id of a loop: End} of such loops; those that are of no such form are not in it."""
    found = {}
    for buffer in sorted(walk.shared):
        source = _source(walk, body, buffer)
        if source is None:
            continue
        loop, store, place = source
        found[id(loop)] = End(buffer, place, 0, True)
        for other in _loops(body):
            reader = None if other is loop else _reader(body, other, loop, store, place)
            if reader is not None:
                found[id(other)] = End(buffer, *reader, False)
    return found


def _source(walk, body, buffer):
    """(loop, store, end): the loop that stores a number in each round, and ends by it."""
    stores = [s for s in _data.every(body) if s[0] == "store" and s[1] == buffer]
    if len(stores) != 1 or not isinstance(stores[0][2], int) or any(buffer in _calls.written(walk, [part]) for part in _data.plain(body) if part is not stores[0]):
        return None
    loop = next((s for s in _loops(body) if any(inner is stores[0] for inner in s[5])), None)
    ends = _ends(loop) if loop is not None else []
    if len(ends) != 1 or not any(s is ends[0] for s in loop[5]) or _at(loop, ends[0]) < _at(loop, stores[0]):
        return None
    if loaded(ends[0][1]) != {buffer} or walk.blocks > 1 and not _is_shared_answer(walk, body, stores[0][3]):
        return None
    return loop, stores[0], ends[0]


def _is_shared_answer(walk, body, value):
    """Whether a value is what the hardware says to all blocks of a cluster at once."""
    if not isinstance(value, list) or value[:2] != ["call", _ANSWER] or len(value) != 3:
        return False
    answer = _calls.pointer(walk, value[2])
    asked = [call for call in _calls_in(body) if call[1].startswith("clc_try_cancel")]
    if answer is None or answer.buffer in _data.stored(body) or len(asked) != 1 or asked[0][1] != "clc_try_cancel_multicast":
        return False
    return answer.buffer == _calls.pointer(walk, asked[0][2]).buffer


def _reader(body, loop, source, store, end):
    """(end, how many rounds later) of a loop that waits in each round until the number is stored, and ends by it."""
    ends = _ends(loop)
    if len(ends) != 1 or ends[0][1] != end[1]:
        return None
    var, place = loop[1], ends[0]
    for shift, within, parities in ((0, loop[5], _parities(var)), (1, _under(loop[5], ["<", 0, var], place), _parities(["-", var, 1]))):
        at = next((n for n, s in enumerate(within) if s is place), None)
        for s in within[:at] if at is not None else ():
            call = s[1] if s[0] == "do" else None
            if isinstance(call, list) and call[:2] == ["call", "mbarrier_wait_parity"] and call[3] in parities and _is_told(body, call[2], source, store, end):
                return place, shift
    return None


def _parities(count):
    return (["&", count, 1], ["%", count, 2])


def _under(body, condition, place):
    """The statements under a condition among some, where a place is one of them."""
    return next((s[2] for s in body if s[0] == "if" and s[1] == condition and any(inner is place for inner in s[2])), [])


def _is_told(body, barrier, source, store, end):
    """Whether one arrival is a phase of an mbarrier, and there is one in each round of a loop, between the store and the end."""
    name = barrier[1] if isinstance(barrier, list) and barrier[:1] == ["load"] and isinstance(barrier[2], int) else None
    uses = [call for call in _calls_in(body) if name in json.dumps(call) and call[1] != "mbarrier_wait_parity"]
    counts = [call for call in uses if call[1] == "ptx_init_barrier_thread_count" and call[2] == barrier]
    arrivals = [call for call in uses if call[1] != "ptx_init_barrier_thread_count"]
    if name is None or [call[3] for call in counts] != [1] or arrivals != [["call", "ptx_arrive_barrier", barrier]]:
        return False
    at = next((n for n, s in enumerate(source[5]) if s == ["do", arrivals[0]]), None)
    return at is not None and _at(source, store) < at < _at(source, end)


# ---- statements ----------------------------------------------------------------------------------


def _loops(body):
    return [s for s in _data.every(body) if s[0] == "for"]


def _ends(loop):
    """The statements that end a loop, not those of the loops in it."""
    found, rest = [], list(loop[5])
    while rest:
        s = rest.pop()
        if _data.is_break(s):
            found.append(s)
        elif s[0] not in ("for", "while"):
            rest += [inner for part in s[1:] if isinstance(part, list) and part and isinstance(part[0], list) for inner in part]
            found += [s] * _data.is_end(s)
    return found


def _at(loop, statement):
    return next(n for n, s in enumerate(loop[5]) if s is statement)


def _holds(body, statement):
    return any(s is statement for s in _data.every(body))


def _calls_in(part):
    """The calls in statements or an expression."""
    if isinstance(part, list):
        if part[:1] == ["call"]:
            yield part
        for inner in part:
            yield from _calls_in(inner)
