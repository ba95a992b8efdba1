/* SPDX-License-Identifier: Apache-2.0
 *
 * Why a parameter cannot be a trip count, in words.
 */
#include <stdio.h>

#include "base/text.h"
#include "induction/induction.h"

static const char *const reasons[] = {
    [SPAD__NOT_REFUSED] = "",
    [SPAD__REFUSED_UNEVEN] = "an index does not advance in even steps",
    [SPAD__REFUSED_SIZE] = "changes with it",
    [SPAD__REFUSED_CHANGES] = "changes with it",
    [SPAD__REFUSED_FOLLOWED] = "is computed from it",
    [SPAD__REFUSED_MORE_INPUT] = "is an input with more and more tiles",
    [SPAD__REFUSED_SHORTER] = "is a loop that gets shorter",
    [SPAD__REFUSED_NESTED] = "is a loop inside another one that grows as well",
    [SPAD__REFUSED_NO_LOOP] = "no loop runs longer",
    [SPAD__REFUSED_AMOUNT] = "an amount or a range changes along the way",
    [SPAD__REFUSED_FROM_END] = "is used at a place that counts from the end",
    [SPAD__REFUSED_APART] = "is used at places that move apart",
    [SPAD__REFUSED_WAITS_APART] = "is waited for at values that move apart",
    [SPAD__REFUSED_TOO_MANY_TILES] = "gets too many tiles",
    [SPAD__REFUSED_OFF_CHIP] = "is read and written off the chip, at one tile after another",
    [SPAD__REFUSED_MORE_MEMORY] = "has a place of its own for every tile, so its memory grows",
    [SPAD__REFUSED_INDEX_FALLS] = "has an index that falls towards 0",
    [SPAD__REFUSED_INDEX_FASTER] = "has an index that advances faster than it grows",
    [SPAD__REFUSED_COST_FALLS] = "has a cost that falls towards 0",
    [SPAD__REFUSED_EXTENT_FALLS] = "has an extent that falls towards 0",
    [SPAD__REFUSED_TOO_LONG] = "the kernel repeats itself only after too many iterations",
    [SPAD__REFUSED_TILES] = "",
};

void spad__induction_reason(const spad__induction *induction, const spad_kernel *kernel,
                            char *field, size_t size) {
    const spad__refusal *r = &induction->refusal;
    if (r->kind == SPAD__REFUSED_TILES) {
        snprintf(field, size, "'%.64s' has %s tiles%s, whatever %.40s is", r->name,
                 spad__grouped(r->tiles).text, r->along ? " along an index" : "",
                 spad_kernel_get_param(kernel, induction->param)->name);
    } else if (r->name != NULL) {
        snprintf(field, size, "'%.64s' %s", r->name, reasons[r->kind]);
    } else {
        snprintf(field, size, "%s", reasons[r->kind]);
    }
}
