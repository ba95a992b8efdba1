/* SPDX-License-Identifier: Apache-2.0
 *
 * Changes that make a kernel fit (fit.c) as text, as notes and as JSON.
 */
#include <string.h>

#include "analysis/fit.h"
#include "base/text.h"
#include "kernel/kernel.h"

static void write_fit_change(spad__out *out, const spad_fit_change *c) {
    switch (c->kind) {
    case SPAD_FIT_PARAM:
        spad__out_string(out, "fits with -D ");
        spad__out_one_line(out, c->name);
        spad__out_format(out, "=%lld instead of %lld", (long long)c->to, (long long)c->from);
        break;
    case SPAD_FIT_RING:
        spad__out_string(out, "fits with --ring ");
        spad__out_one_line(out, c->name);
        spad__out_format(out, "=%lld instead of %lld", (long long)c->to, (long long)c->from);
        break;
    case SPAD_FIT_RINGS:
        spad__out_string(out, "fits with ");
        spad__out_one_line(out, c->name);
        break;
    case SPAD_FIT_ALIGN:
        spad__out_string(out, "fits if '");
        spad__out_one_line(out, c->name);
        spad__out_format(out, "' is aligned to %s instead of %s", spad__exact_size(c->to).text,
                         spad__grouped(c->from).text);
        break;
    case SPAD_FIT_SPILL:
        spad__out_string(out, "fits if '");
        spad__out_one_line(out, c->name);
        spad__out_string(out, "' is moved to another memory");
        break;
    case SPAD_FIT_SPILLS:
        spad__out_string(out, "fits ");
        if (c->with != NULL) {
            spad__out_string(out, "with ");
            spad__out_one_line(out, c->with);
            spad__out_string(out, " ");
        }
        spad__out_string(out, "if ");
        spad__out_one_line(out, c->name);
        spad__out_string(out, strstr(c->name, "' and '") != NULL ? " are" : " is");
        spad__out_string(out, " moved to another memory");
        break;
    case SPAD_FIT_ALIAS:
        spad__out_string(out, "fits if '");
        spad__out_one_line(out, c->name);
        spad__out_string(out, "' is an alias of '");
        spad__out_one_line(out, c->with);
        spad__out_string(out, "' (they are not needed together)");
        break;
    case SPAD_FIT_RELEASE:
        spad__out_string(out, "fits if the planner chooses the addresses that the kernel gives "
                              "('spad plan --release')");
        break;
    }
}

static void write_wrong(spad__out *out, const spad_fit_change *c) {
    if (c->wrong == SPAD_FINDING_NONE) return;
    spad__out_string(out, ", but is wrong then");
    if (c->wrong_at != NULL) {
        spad__out_string(out, " with ");
        spad__out_one_line(out, c->wrong_at);
    }
    spad__out_format(out, ": %s", spad_finding_name(c->wrong));
}

void spad__fit_write_change(spad__out *out, const spad_fit_change *c) {
    write_fit_change(out, c);
    write_wrong(out, c);
}

static void write_over(spad__out *out, const spad_layout *layout, const spad_layout_space *row) {
    const spad_kernel *k = spad_layout_get_kernel(layout);
    spad__out_string(out, spad_kernel_get_target(k)->spaces[row->space].name);
    if (row->height != SPAD_UNBOUNDED && row->height > row->capacity) {
        spad__out_format(out,
                         " is %s too small: ", spad__both_sizes(row->height - row->capacity).text);
    } else {
        spad__out_string(out, " is too small: ");
    }
    if (spad__fit_is_fine(row->result->verdict)) {
        spad__out_format(out, "the kernel places tensors up to byte %s",
                         spad__grouped(row->height).text);
    } else if (row->agents_apart) {
        spad__out_format(out,
                         "%s are taken with all tiles of agents apart; a lower layout may "
                         "exist",
                         spad__exact_size(row->peak_bytes).text);
    } else {
        spad__out_format(out, "%s are needed together%s", spad__exact_size(row->peak_bytes).text,
                         row->verdict == SPAD_PLAN_INFEASIBLE && !row->agents_ordered ? " (proved)"
                                                                                      : "");
    }
}

void spad__fit_write_space(spad__out *out, const spad_fit *fit, const spad_layout *layout,
                           const spad_layout_space *row, const char *separator) {
    bool any = false;
    write_over(out, layout, row);
    for (size_t i = 0; i < spad_fit_count(fit); i++) {
        const spad_fit_change *c = spad_fit_get(fit, i);
        if (c->space != row->space) continue;
        spad__out_string(out, separator);
        write_fit_change(out, c);
        if (c->saved > 0)
            spad__out_format(out, ", which saves %s", spad__exact_size(c->saved).text);
        write_wrong(out, c);
        any = true;
    }
    if (any) return;
    spad__out_string(out, separator);
    spad__out_string(out, "no change was found that makes it fit");
}

typedef struct fit_words {
    const spad_fit *fit;
    const spad_layout *layout;
} fit_words;

static void write_fit_text(spad__out *out, const void *object) {
    const fit_words *f = object;
    for (size_t i = 0; i < spad_layout_space_count(f->layout); i++) {
        const spad_layout_space *row = spad_layout_get_space(f->layout, i);
        if (spad__fit_is_fine(row->verdict)) continue;
        spad__fit_write_space(out, f->fit, f->layout, row, "\n  ");
        spad__out_string(out, "\n");
    }
}

static void write_fit_json(spad__json *json, const void *object) {
    const fit_words *f = object;
    const spad_target *target = spad_kernel_get_target(spad_layout_get_kernel(f->layout));
    spad__json_open(json, '[');
    for (size_t i = 0; i < spad_fit_count(f->fit); i++) {
        const spad_fit_change *c = spad_fit_get(f->fit, i);
        spad__json_open(json, '{');
        spad__json_key_string(json, "space", target->spaces[c->space].name);
        spad__json_key_string(json, "kind", spad_fit_kind_name(c->kind));
        spad__json_key_string(json, "name", c->name);
        if (c->with != NULL) spad__json_key_string(json, "with", c->with);
        spad__json_key_int(json, "from", c->from);
        spad__json_key_int(json, "to", c->to);
        spad__json_key_int(json, "saved", c->saved);
        spad__json_key_string(json, "wrong",
                              c->wrong != SPAD_FINDING_NONE ? spad_finding_name(c->wrong) : NULL);
        spad__json_key_string(json, "wrong_at", c->wrong_at);
        spad__json_close(json, '}');
    }
    spad__json_close(json, ']');
}

spad_status spad_fit_write(const spad_fit *fit, const spad_layout *layout, spad_format format,
                           const spad_sink *sink, spad_error *error) {
    const spad_status match = spad__fit_match(fit, layout, error);
    const fit_words words = {fit, layout};
    if (match != SPAD_OK) return match;
    return spad__write_as(&words, write_fit_text, write_fit_json, format, sink, error);
}
