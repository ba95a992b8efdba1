/* SPDX-License-Identifier: Apache-2.0
 *
 * Edits of a kernel: which statements move, and which tensors and synchronisation objects change.
 */
#include "kernel/edit.h"

#include "kernel/rebuild.h"

spad__edit spad__edit_of_nothing(void) {
    return (spad__edit){.flat = -1, .alias = -1, .alias_of = -1, .without_sync = -1};
}

bool spad__has_own_place(const spad_kernel *k, size_t tensor) {
    const spad_kernel_tensor *t = &k->tensors.items[tensor];
    return t->mode == SPAD_MODE_AUTO && t->flags == 0 && !k->target->spaces[t->space].off_chip &&
           t->lane.value == 0 && t->lane.expr == 0;
}

bool spad__is_home(const spad_kernel *k, size_t tensor) {
    for (size_t i = 0; i < k->tensors.count; i++) {
        if (i != tensor && k->tensors.items[i].home == (int64_t)tensor) return true;
    }
    return false;
}

spad__edit spad__edit_alias(const spad_kernel *k, size_t tensor, size_t of, int64_t *to) {
    const size_t at = k->tensors.items[tensor].statement;
    const size_t other_at = k->tensors.items[of].statement;
    spad__edit edit = spad__edit_of_nothing();
    for (size_t i = 0; i < k->statements.count; i++) to[i] = SPAD__STAYS;
    edit.to = to;
    edit.alias = (int64_t)tensor;
    edit.alias_of = (int64_t)of;
    if (at < other_at) to[at] = (int64_t)other_at + 1;
    return edit;
}

spad_status spad__kernel_edit(spad_kernel **out, const spad_kernel *kernel, const spad__edit *edit,
                              const spad_host *host, spad_error *error) {
    const spad_kernel_options options = {.host = host};
    const spad__rebuild change = {.edit = edit, .hoisted = -1};
    return spad__kernel_rebuild(out, kernel, &change, &options, error);
}
