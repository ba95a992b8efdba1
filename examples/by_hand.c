/* SPDX-License-Identifier: Apache-2.0
 *
 * Where buffers go when a kernel author keeps the addresses by hand: a running
 * sum for the stack, a difference for the heap, and a reset at the end of every
 * phase. The same layout as scopes.c, which leaves the sums to the manager.
 * After the first NKI example of the SbufManager manual.
 *
 * The manual prints addresses for an SBUF of 256 KiB a partition with nothing
 * held back; on the chip itself (trn3) the top 16392 bytes are reserved.
 */
#include <stdio.h>

#include "spad/spad.h"

static void show(const char *name, long long byte) {
    printf("%s.address = (0, %lld)\n", name, byte);
}

int main(void) {
    const spad_target *chip;
    size_t sbuf;
    if (spad_target_find(&chip, "trn3", NULL) != SPAD_OK ||
        spad_target_find_space(&sbuf, chip, "sbuf", NULL) != SPAD_OK) {
        return 1;
    }
    const int bf16 = (int)spad_dtype_bytes(SPAD_BFLOAT16);
    long long address = 0;

    show("weights", chip->spaces[sbuf].bytes - 256 * bf16); /* heap-like, at the end */

    show("buf1", address); /* outer phase */
    address += 512 * bf16;

    const long long inner_start = address; /* inner phase */
    show("buf2", address);
    address += 256 * bf16;
    show("buf3", address);
    address = inner_start; /* the end of the phase: forget this line and memory leaks */

    show("buf4", address); /* back in the outer phase: takes the bytes of buf2 and buf3 */
    return 0;
}
