/* SPDX-License-Identifier: Apache-2.0
 *
 * Do a layout, a check, a simulation and a report belong together? They refer to tensors,
 * statements and lines of a kernel by number, so together they need one kernel.
 *
 * A kernel never changes, so two objects of one kernel belong together. So do those of two kernels
 * that are equal: the same content (content_hash.c: rows, parameters and ring depths as they hold,
 * locations), the same target. Only the hash is kept, because a check and a report may outlive
 * their kernel.
 */
#include "kernel/origin.h"

#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "spad/layout.h"

/* Name and target are always there; of many parameters the first ones. At most 134 bytes, so that
 * two of them and the words around them are a message. */
static void describe_kernel(char *field, size_t size, const spad_kernel *kernel) {
    enum { PARAMS_END = 64 };
    size_t used = (size_t)snprintf(field, size, "'%.32s'", kernel->name);
    size_t i = 0;
    for (; i < kernel->params.count && used < PARAMS_END; i++) {
        const spad_kernel_param *param = &kernel->params.items[i];
        used += (size_t)snprintf(field + used, size - used, "%s%.16s = %lld", i == 0 ? " (" : ", ",
                                 param->name, (long long)param->value);
    }
    const char *close = i == 0 ? "" : i < kernel->params.count ? ", ...)" : ")";
    snprintf(field + used, size - used, "%s on %.20s", close, kernel->target->name);
}

spad__origin spad__origin_of(const spad_kernel *kernel) {
    spad__origin origin = {.known = true, .content = kernel->content, .target = kernel->target};
    spad__copy_cut(origin.name, sizeof origin.name, kernel->name);
    describe_kernel(origin.label, sizeof origin.label, kernel);
    return origin;
}

static bool is_same_origin(const spad__origin *a, const spad__origin *b) {
    return a->known && b->known && a->content == b->content && a->target == b->target;
}

/* "the layout is of kernel 'rows' on trn2"; the kernel itself is not part of one. */
static void describe_origin(char *field, size_t size, const char *word, const spad__origin *origin,
                            const spad__origin *before) {
    if (!origin->known)
        snprintf(field, size, "the %s belongs to a text that cannot be read", word);
    else if (before != NULL && strcmp(before->label, origin->label) == 0)
        snprintf(field, size, "the %s is of another kernel of that name and target", word);
    else
        snprintf(field, size, "the %s is %s%.140s", word,
                 strcmp(word, "kernel") == 0 ? "" : "of kernel ", origin->label);
}

spad_status spad__match_origins(const char *first, const spad__origin *a, const char *second,
                                const spad__origin *b, spad_error *error) {
    if (is_same_origin(a, b)) return SPAD_OK;
    char one[SPAD_NAME_FACT_MAX * 3];
    char other[SPAD_NAME_FACT_MAX * 3];
    describe_origin(one, sizeof one, first, a, NULL);
    describe_origin(other, sizeof other, second, b, a);
    spad__fail(error, SPAD_ERR_ARGUMENT, "%s, but %s: make both from one kernel", one, other);
    spad__fact_names(error, a->name, b->name);
    return SPAD_ERR_ARGUMENT;
}

spad_status spad__match_kernels(const char *first, const spad_kernel *a, const char *second,
                                const spad_kernel *b, spad_error *error) {
    if (a == b) return SPAD_OK;
    const spad__origin one = spad__origin_of(a);
    const spad__origin other = spad__origin_of(b);
    return spad__match_origins(first, &one, second, &other, error);
}

spad_status spad__match_layout(const spad_kernel *kernel, const spad_layout *layout,
                               spad_error *error) {
    if (layout == NULL) return SPAD_OK;
    return spad__match_kernels("kernel", kernel, "layout", spad_layout_get_kernel(layout), error);
}
