/* SPDX-License-Identifier: Apache-2.0
 *
 * Advice: patterns that are right and could be faster.
 *
 * Declarations show tensors that serialise a loop and rings with slots that no tile ever
 * has. The rest is seen in a walk over the first events: which rows a transfer moves, and
 * accumulation groups that take turns in one bank. Advice need not be complete, so the
 * walk ends early and faults in it are for others to report. Time: O(EVENTS).
 *
 * Figures: AWS NKI direct allocation guide (hoisting, PSUM bank collisions) and DMA bandwidth
 * guide (rows of less than 512 bytes).
 */
#include <stdio.h>
#include <string.h>

#include "base/checked.h"
#include "check/live_ranges.h"
#include "check/passes.h"

enum { EVENTS = 1 << 16, BANKS_MAX = 256, ROW_BYTES = 512 };

/* ---- declarations ------------------------------------------------------------------ */

/* The first dimension with more slots than indices; -1: none. */
static int64_t wasted_dim(const spad_kernel_tensor *row, spad_amounts list) {
    if (list.count == 1 && row->blocks.count != 1) return list.items[0].value > row->tiles ? 0 : -1;
    for (size_t d = 0; d < list.count; d++) {
        if (list.items[d].value > row->blocks.items[d].value) return (int64_t)d;
    }
    return -1;
}

static spad_status check_ring(spad__run *run, int64_t tensor, spad_amounts list,
                              spad_error *error) {
    const spad_kernel_tensor *row = &run->kernel->tensors.items[tensor];
    const int64_t dim = wasted_dim(row, list);
    if (dim < 0) return SPAD_OK;
    const bool all = list.count == 1;
    spad_finding finding;
    spad__finding_init(
        &finding, SPAD_FINDING_DEEP_RING,
        "'%s' has %s slots for %s tiles; the others are never used%s", row->name,
        spad__grouped(list.items[dim].value).text,
        spad__grouped(all ? row->tiles : row->blocks.items[dim].value).text,
        spad__amounts_use_param(run->kernel, row->blocks, -1) ? " with these parameters" : "");
    return spad__add_about(run, &finding, tensor, error);
}

/* Do two engines take turns with it? */
static bool has_two_engines(const spad_kernel *k, int64_t tensor) {
    int64_t first = -1;
    for (size_t i = 0; i < k->statements.count; i++) {
        const spad_statement *s = &k->statements.items[i];
        for (size_t a = 0; a < s->access_count; a++) {
            if (k->accesses.items[s->first_access + a].tensor != tensor) continue;
            if (first >= 0 && s->engine != first) return true;
            first = s->engine;
        }
    }
    return false;
}

static bool has_one_place(const spad_kernel_tensor *row) {
    const spad_amounts lists[] = {row->free, row->par, row->banks};
    if (row->mode == SPAD_MODE_AUTO) return row->slots == 1;
    if (row->mode == SPAD_MODE_AT) return row->slots == 1;
    for (size_t l = 0; l < sizeof lists / sizeof lists[0]; l++) {
        for (size_t d = 0; d < lists[l].count; d++) {
            if (lists[l].items[d].value > 1 && row->blocks.items[d].value > 1) return false;
        }
    }
    return row->mode == SPAD_MODE_MOD;
}

static spad_status check_serial(spad__run *run, int64_t tensor, spad_error *error) {
    const spad_kernel *k = run->kernel;
    const spad_kernel_tensor *row = &k->tensors.items[tensor];
    const int64_t number = k->statements.items[row->statement].loop;
    if (number < 0 || !has_one_place(row) || !has_two_engines(k, tensor)) return SPAD_OK;
    const spad_kernel_loop *loop = &k->loops.items[number];
    if (loop->end.value - loop->begin.value < 2) return SPAD_OK;
    spad_finding finding;
    spad__finding_init(
        &finding, SPAD_FINDING_SERIAL_TENSOR,
        "'%s' is declared in loop '%s' and has one place, so an iteration waits for the one "
        "before; declare it outside with a block dimension and two or more slots",
        row->name, loop->name);
    return spad__add_about(run, &finding, tensor, error);
}

static spad_status check_declarations(spad__run *run, spad_error *error) {
    const spad_kernel *k = run->kernel;
    spad_status status = SPAD_OK;
    for (size_t i = 0; i < k->tensors.count && status == SPAD_OK; i++) {
        const spad_kernel_tensor *row = &k->tensors.items[i];
        const spad_amounts lists[] = {row->ring, row->free, row->par, row->banks};
        if (k->target->spaces[row->space].off_chip) continue;
        for (size_t l = 0; l < sizeof lists / sizeof lists[0] && status == SPAD_OK; l++) {
            status = check_ring(run, (int64_t)i, lists[l], error);
        }
        if (status == SPAD_OK && !k->is_explicit) status = check_serial(run, (int64_t)i, error);
    }
    return status;
}

/* ---- operations -------------------------------------------------------------------- */

/* Which tile the accumulating engine wrote last in a bank. */
typedef struct bank_use {
    bool used;
    int64_t tensor;
    int64_t tile;
    int64_t statement;
} bank_use;

typedef struct adviser {
    spad__run *run;
    bank_use banks[BANKS_MAX]; /* of all spaces with exclusive banks, one after another */
    size_t first_bank[SPAD_SPACES_MAX];
} adviser;

/* Rows that are short cost a transfer as much as long ones. */
static spad_status check_short_row(spad__run *run, const spad_statement *s,
                                   const spad_walk_event *event, const spad_walk_access *access,
                                   spad_error *error) {
    const spad_kernel *k = run->kernel;
    const spad_kernel_tensor *row = &k->tensors.items[access->tensor];
    if (k->target->engines[s->engine].bytes_per_us == 0 ||
        k->target->spaces[row->space].lanes == 1 || access->rect.bytes >= ROW_BYTES ||
        spad__count_finding(run, SPAD_FINDING_SHORT_ROW, SPAD_SEVERITY_ADVICE, event->statement,
                            -1)) {
        return SPAD_OK;
    }
    spad_finding finding;
    spad__finding_init(
        &finding, SPAD_FINDING_SHORT_ROW,
        "%s moves %s bytes per lane of '%s' at a time; transfers are slow below %d: move "
        "several tiles at once",
        s->name, spad__grouped(access->rect.bytes).text, row->name, ROW_BYTES);
    spad__finding_set_names(&finding, row->name, NULL);
    finding.number = access->tensor;
    return spad__add_finding(run, &finding, event->statement, -1, error);
}

static spad_status report_shared_bank(spad__run *run, const spad_walk_event *event,
                                      const spad_walk_access *access, int64_t bank,
                                      const bank_use *other, spad_error *error) {
    const spad_kernel *k = run->kernel;
    char tile[SPAD__TILE_TEXT_MAX], last[SPAD__TILE_TEXT_MAX];
    spad_finding finding;
    spad__tile_text(k, access->tensor, access->tile, tile, sizeof tile);
    spad__tile_text(k, other->tensor, other->tile, last, sizeof last);
    spad__finding_init(
        &finding, SPAD_FINDING_SHARED_BANK,
        "%s adds to %s in bank %lld of %s, where %s was written in between; give the "
        "two groups banks of their own",
        k->statements.items[event->statement].name, tile, (long long)bank,
        k->target->spaces[k->tensors.items[access->tensor].space].name, last);
    spad__finding_add_note(&finding, "%s is written here", last);
    spad__finding_set_names(&finding, k->tensors.items[access->tensor].name,
                            k->tensors.items[other->tensor].name);
    finding.number = access->tensor;
    return spad__add_finding(run, &finding, event->statement, other->statement, error);
}

/* An engine that writes to this space only is the one that accumulates there. */
static spad_status check_bank(adviser *a, const spad_statement *s, const spad_walk_event *event,
                              const spad_walk_access *access, spad_error *error) {
    const spad_kernel *k = a->run->kernel;
    const size_t number = k->tensors.items[access->tensor].space;
    const spad_space *space = &k->target->spaces[number];
    if (!access->placed || (access->kind & SPAD_ACCESS_WRITE) == 0 || space->bank_bytes == 0 ||
        access->rect.byte < 0 || k->target->engines[s->engine].writes != UINT64_C(1) << number) {
        return SPAD_OK;
    }
    const int64_t bank = access->rect.byte / space->bank_bytes;
    if (bank >= (int64_t)(BANKS_MAX - a->first_bank[number])) return SPAD_OK;
    bank_use *use = &a->banks[a->first_bank[number] + (size_t)bank];
    const bank_use last = *use;
    *use = (bank_use){true, access->tensor, access->tile, event->statement};
    if (!last.used || (access->kind & SPAD_ACCESS_UPDATE) != SPAD_ACCESS_UPDATE ||
        (last.tensor == access->tensor && last.tile == access->tile)) {
        return SPAD_OK;
    }
    return report_shared_bank(a->run, event, access, bank, &last, error);
}

static spad_status check_operation(adviser *a, const spad_walk_event *event, spad_error *error) {
    const spad_statement *s = &a->run->kernel->statements.items[event->statement];
    const bool lanes = strcmp(a->run->kernel->target->family, "neuron") == 0;
    spad_status status = SPAD_OK;
    for (size_t i = 0; i < event->access_count && status == SPAD_OK; i++) {
        const spad_walk_access *access = &event->accesses[i];
        if (lanes) status = check_short_row(a->run, s, event, access, error);
        if (status == SPAD_OK) status = check_bank(a, s, event, access, error);
    }
    return status;
}

static void number_banks(adviser *a) {
    const spad_target *target = a->run->kernel->target;
    size_t next = 0;
    for (size_t i = 0; i < target->space_count; i++) {
        const spad_space *space = &target->spaces[i];
        a->first_bank[i] = next;
        if (space->bank_bytes == 0 || space->bytes == SPAD_UNBOUNDED) continue;
        next = (size_t)spad__min(BANKS_MAX, (int64_t)next + space->bytes / space->bank_bytes);
    }
}

static spad_status watch(adviser *a, spad_walk *walk, spad_error *error) {
    const spad_walk_event *event;
    spad_status status = SPAD_OK;
    for (int64_t events = 0; events < EVENTS && status == SPAD_OK; events++) {
        spad_error failure;
        status = spad_walk_next(&event, walk, &failure);
        if (status == SPAD_ERR_HOST_MEMORY) return spad__fail_host_memory(error);
        if (status != SPAD_OK || event->kind == SPAD_WALK_END) return SPAD_OK;
        if (event->kind == SPAD_WALK_OPERATION) status = check_operation(a, event, error);
    }
    return status;
}

static spad_status check_operations(spad__run *run, spad_error *error) {
    const spad_walk_options options = {
        .agent = SPAD_WALK_ALL, .layout = run->options->layout, .host = &run->check->host};
    adviser *a = spad__new(&run->check->host, sizeof *a);
    if (a == NULL) return spad__fail_host_memory(error);
    a->run = run;
    number_banks(a);
    spad_walk *walk;
    spad_status status = spad__walk_create(&walk, run->kernel, &options, NULL);
    if (status == SPAD_OK) {
        status = watch(a, walk, error);
    } else { /* the lifetime check has reported it */
        status = spad__attempted(status, error);
    }
    spad_walk_destroy(walk);
    spad__free(&run->check->host, a, sizeof *a);
    return status;
}

spad_status spad__check_advice(spad__run *run, spad_error *error) {
    const spad_status status = check_declarations(run, error);
    return status == SPAD_OK ? check_operations(run, error) : status;
}
