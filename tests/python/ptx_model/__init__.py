# SPDX-License-Identifier: Apache-2.0
"""A reference model of PTX for the tests, independent of the library: it runs a launch under random schedules and says
whether they all give the same results. text.py reads PTX, integers.py has what registers compute, memory.py the
contents of memory as each warp may see them, machine.py warps, synchronisation and asynchronous work.

What is random, and as adverse as the PTX ISA allows: which warp goes next; when a copy or a product is done; which of
the values of a cell a read returns, of those that no synchronisation has made outdated; and whether a write by a copy
lands before or after an earlier write that no proxy fence has ordered before it. Floats are opaque: the result of an
instruction on floats is a hash of its operands. Lanes of one warp at the same instruction go together."""
