/* SPDX-License-Identifier: Apache-2.0
 *
 * Values of a parameter with which accesses off the chip meet that did not meet before.
 *
 * No comparison changes where `out[i, N - i]` reaches `out[36, 30]`: they meet with N = 66 alone.
 * So the tiles are listed that the accesses of a tensor have with each value of the parameter, from
 * the last one that was checked on. A value is of interest if an access meets another one, or
 * itself, for the first time, or for the first time earlier or later in its runs, as one of them
 * writes. Conditions, ranges and the order of accesses are not looked at: a meeting may be
 * harmless, and the run of the shape says so.
 *
 * Costs O(tiles log tiles) for each value, for at most MET_TENSORS tensors with MEETING_WORK tiles
 * and iterations in all values together.
 */
#include <stdlib.h>

#include "base/checked.h"
#include "base/compare.h"
#include "base/hash.h"
#include "kernel/evaluate.h"
#include "kernel/kernel.h"
#include "prove/challenge.h"

enum {
    MET_TENSORS = 4,
    MET_ROWS = 32,        /* accesses of one tensor; a set of them has a bit for each */
    MET_PLACES = 1 << 11, /* with one value */
    MEETING_WORK = 1 << 16,
    MET_VALUES = 4 /* values of one tensor */
};

/* A tile of an access. */
typedef struct met_place {
    uint64_t tile; /* a hash of its indices */
    uint32_t run;  /* of the access */
    uint32_t row;
} met_place;

/* Per access: those that it meets in the same one of their runs, and in earlier ones. */
typedef struct met_sets {
    uint32_t same[MET_ROWS];
    uint32_t earlier[MET_ROWS];
} met_sets;

typedef struct met_row {
    const spad_kernel_access *access;
    int64_t loops[SPAD__LOOPS_DEEP];
    size_t loop_count;
} met_row;

typedef struct meeting_scan {
    const spad_kernel *kernel;
    int64_t *params; /* per parameter: its value */
    int64_t *counts; /* per loop: what it counts */
    met_row rows[MET_ROWS];
    size_t row_count;
    uint32_t writes; /* the rows that write */
    met_place places[MET_PLACES];
    size_t place_count;
    int64_t work; /* that is left */
} meeting_scan;

/* ---- places -------------------------------------------------------------------------- */

static bool count_at(const void *context, const spad_expr_node *node, int64_t *out) {
    const meeting_scan *s = context;
    if (node->op != SPAD_EXPR_PARAM && node->op != SPAD_EXPR_VARIABLE) return false;
    *out = node->op == SPAD_EXPR_PARAM ? s->params[node->value] : s->counts[node->value];
    return true;
}

static bool met_value(const meeting_scan *s, spad_expr expr, int64_t given, int64_t *out) {
    const spad_expr_info info = spad_kernel_get_expr(s->kernel, expr);
    *out = given;
    return info.node_count == 0 ||
           spad__evaluate_with(s->kernel, info.nodes, info.node_count, count_at, s, out);
}

/* False: an index is not known, or there is no more room. */
static bool add_met_place(meeting_scan *s, size_t row, uint32_t run) {
    const spad_kernel_access *access = s->rows[row].access;
    met_place place = {.run = run, .row = (uint32_t)row};
    if (s->place_count == MET_PLACES || s->work-- <= 0) return false;
    for (size_t i = 0; i < access->index_count; i++) {
        int64_t index;
        if (!met_value(s, access->index[i], 0, &index)) return false;
        place.tile = spad__hash_add(place.tile, index);
    }
    s->places[s->place_count++] = place;
    return true;
}

/* The places of all runs of an access, from loop `depth` around it on. */
static bool add_met_runs(meeting_scan *s, size_t row, size_t depth, uint32_t *run) {
    const met_row *r = &s->rows[row];
    int64_t begin, end;
    if (depth == r->loop_count) return add_met_place(s, row, (*run)++);
    const int64_t number = r->loops[depth];
    const spad_kernel_loop *loop = spad_kernel_get_loop(s->kernel, (size_t)number);
    if (!met_value(s, loop->begin.expr, loop->begin.value, &begin) ||
        !met_value(s, loop->end.expr, loop->end.value, &end)) {
        return false;
    }
    for (int64_t i = begin; i < end; i++) {
        s->counts[number] = i;
        if (s->work-- <= 0 || !add_met_runs(s, row, depth + 1, run)) return false;
    }
    return true;
}

static int order_of_places(const void *left, const void *right) {
    const met_place *a = left;
    const met_place *b = right;
    if (a->tile != b->tile) return a->tile < b->tile ? -1 : 1;
    return spad__compare(a->run, b->run);
}

/* ---- meetings ------------------------------------------------------------------------ */

/* Adds who meets whom. Returns whether that is new. */
static bool add_met(const meeting_scan *s, met_sets *met) {
    bool fresh = false;
    uint32_t earlier = 0;
    uint32_t same = 0;
    for (size_t i = 0; i < s->place_count; i++) {
        const met_place *p = &s->places[i];
        const bool tile = i > 0 && p->tile == p[-1].tile;
        const uint32_t may = (s->writes >> p->row & 1) != 0 ? UINT32_MAX : s->writes;
        if (!tile || p->run != p[-1].run) {
            earlier = tile ? earlier | same : 0;
            same = 0;
        }
        fresh = fresh || (earlier & may & ~met->earlier[p->row]) != 0 ||
                (same & may & ~met->same[p->row]) != 0;
        met->earlier[p->row] |= earlier & may;
        met->same[p->row] |= same & may;
        same |= UINT32_C(1) << p->row;
    }
    return fresh;
}

/* Others have their given values, or those that follow from the ones in front of them. */
static bool set_params(meeting_scan *s, size_t param, int64_t value) {
    for (size_t i = 0; i < spad_kernel_param_count(s->kernel); i++) {
        const spad_kernel_param *row = spad_kernel_get_param(s->kernel, i);
        const bool defined = row->value != row->preset.value;
        s->params[i] = i == param ? value : row->value;
        if (i == param || defined) continue;
        if (!met_value(s, row->preset.expr, row->value, &s->params[i])) return false;
    }
    return true;
}

/* All places with the values of the parameters. False: they are not known, or too many. */
static bool meets_anew(meeting_scan *s, met_sets *met, bool *fresh) {
    s->place_count = 0;
    for (size_t row = 0; row < s->row_count; row++) {
        uint32_t run = 0;
        if (!add_met_runs(s, row, 0, &run)) return false;
    }
    qsort(s->places, s->place_count, sizeof *s->places, order_of_places);
    *fresh = add_met(s, met);
    return true;
}

static void scan_meetings(meeting_scan *s, const spad__challenge_param *p,
                          spad__challenge_values *out) {
    met_sets met = {.same = {0}};
    bool fresh;
    const int64_t first = spad__max(p->seen - 1, 0);
    size_t count = 0;
    for (int64_t value = first; value <= p->most && count < MET_VALUES; value++) {
        if (s->work-- <= 0) return; /* also of a value with which no loop has an iteration */
        if (!set_params(s, p->param, value) || !meets_anew(s, &met, &fresh)) return;
        if (!fresh || value == first || out->count == SPAD__CHALLENGE_VALUES) continue;
        out->items[out->count++] = value;
        count++;
    }
}

/* The accesses of a tensor; false: none of them writes, or they are too many. */
static bool list_met_rows(meeting_scan *s, int64_t tensor) {
    s->row_count = s->writes = 0;
    for (size_t i = 0; i < spad_kernel_statement_count(s->kernel); i++) {
        const spad_statement *row = spad_kernel_get_statement(s->kernel, i);
        if (row->kind != SPAD_STATEMENT_OPERATION) continue;
        for (size_t a = row->first_access; a < row->first_access + row->access_count; a++) {
            const spad_kernel_access *access = spad_kernel_get_access(s->kernel, a);
            if (access->tensor != tensor) continue;
            if (s->row_count == MET_ROWS) return false;
            met_row *r = &s->rows[s->row_count];
            r->access = access;
            r->loop_count = spad__loops_around(s->kernel, (int64_t)i, r->loops);
            if ((access->kind & SPAD_ACCESS_WRITE) != 0) s->writes |= UINT32_C(1) << s->row_count;
            s->row_count++;
        }
    }
    return s->writes != 0;
}

static bool is_written_off_chip(meeting_scan *s, size_t tensor) {
    const size_t space = (size_t)spad_kernel_get_tensor(s->kernel, tensor)->space;
    return spad_kernel_get_target(s->kernel)->spaces[space].off_chip &&
           list_met_rows(s, (int64_t)tensor);
}

static void scan_tensors(meeting_scan *s, const spad__challenge_param *p,
                         spad__challenge_values *out) {
    size_t tensors[MET_TENSORS];
    size_t count = 0;
    for (size_t i = 0; i < spad_kernel_tensor_count(s->kernel) && count < MET_TENSORS; i++) {
        if (is_written_off_chip(s, i)) tensors[count++] = i;
    }
    for (size_t i = 0; i < count; i++) {
        list_met_rows(s, (int64_t)tensors[i]);
        s->work = MEETING_WORK / (int64_t)count;
        scan_meetings(s, p, out);
    }
}

spad_status spad__challenge_find_meetings(spad__challenge_values *out, const spad_kernel *kernel,
                                          const spad__challenge_param *p, const spad_host *host,
                                          spad_error *error) {
    const size_t params = spad_kernel_param_count(kernel);
    const size_t loops = spad_kernel_loop_count(kernel);
    *out = (spad__challenge_values){.count = 0};
    if (spad_kernel_is_implicit(kernel)) return SPAD_OK; /* its accesses are in order */
    meeting_scan *s = spad__new(host, sizeof *s);
    int64_t *values = spad__new_array(host, params + loops, sizeof *values);
    const bool fine = s != NULL && values != NULL;
    if (fine) {
        s->kernel = kernel;
        s->params = values;
        s->counts = values + params;
        scan_tensors(s, p, out);
    }
    spad__free(host, values, (params + loops) * sizeof *values);
    spad__free(host, s, sizeof *s);
    return fine ? SPAD_OK : spad__fail_host_memory(error);
}
