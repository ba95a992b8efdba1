/* SPDX-License-Identifier: Apache-2.0
 *
 * Compares the bytes that mbarriers expect with those that copies deliver.
 *
 * A wrong box of a tensor map, or a wrong constant in expect_tx, ends as a wait that never returns.
 * For each mbarrier with such a wait, its events before the wait are added up in the order in which
 * they were executed. If all arrivals of the phase are there and the bytes are not zero, the copies
 * and the expectation differ: the remark names both.
 *
 * The first events of the log up to the wait are what the executor saw: later ones go on as if the
 * wait had ended.
 */
#include "frontend/ptx/ptx_transactions.h"

#include <stdio.h>

#include "base/text.h"

enum { MOST_ENDLESS = 8 };

/* The present phase of one mbarrier. */
typedef struct transaction_phase {
    int64_t count; /* arrivals of a phase */
    int64_t pending;
    int64_t expected;
    int64_t delivered;
    const spad__ptx_event *expecting; /* the last event that expects bytes */
    const spad__ptx_event *copy;      /* the last one that delivers some */
} transaction_phase;

static bool is_same_object(const spad__ptx_object *a, const spad__ptx_object *b) {
    return a->cta == b->cta && a->byte == b->byte;
}

static void expect_in_phase(transaction_phase *p, const spad__ptx_event *e) {
    p->expected += e->bytes;
    if (e->bytes > 0) p->expecting = e;
}

/* One event of the mbarrier. */
static void advance_phase(transaction_phase *p, const spad__ptx_event *e) {
    switch (e->kind) {
    case SPAD__PTX_MBARRIER_INIT:
        *p = (transaction_phase){e->count, e->count, 0, 0, NULL, NULL};
        return;
    case SPAD__PTX_MBARRIER_EXPECT: expect_in_phase(p, e); break;
    case SPAD__PTX_MBARRIER_ARRIVE:
        expect_in_phase(p, e);
        p->pending += e->count - e->amount;
        if (e->drop) p->count -= e->amount;
        break;
    case SPAD__PTX_MBARRIER_COMPLETE: p->delivered += e->bytes; break;
    case SPAD__PTX_ACCESS:
        p->delivered += e->bytes;
        p->copy = e;
        break;
    default: return;
    }
    if (p->pending <= 0 && p->expected == p->delivered)
        *p = (transaction_phase){p->count, p->count, 0, 0, NULL, NULL};
}

/* The phase in which an mbarrier is when a wait of the log at `end` begins. */
static transaction_phase phase_before(const spad__ptx_log *log, size_t end) {
    const spad__ptx_object *object = &log->events.items[end].event.object;
    transaction_phase p = {0};
    for (size_t i = 0; i < end; i++) {
        const spad__ptx_event *e = &log->events.items[i].event;
        if (is_same_object(&e->object, object)) advance_phase(&p, e);
    }
    return p;
}

/* "a box of 1 x 128, ", if one map alone has boxes of these bytes. */
static void describe_box(char *field, size_t size, const spad__ptx_launch *launch, int64_t bytes) {
    const spad__tensor_map *map = NULL;
    size_t used = 0;
    field[0] = '\0';
    for (size_t i = 0; i < launch->map_count; i++) {
        if (spad__tensor_map_box_bytes(&launch->maps[i].map) != bytes) continue;
        if (map != NULL) return;
        map = &launch->maps[i].map;
    }
    if (map == NULL) return;
    used = spad__append(field, size, used, "a box of ");
    for (int d = map->dims - 1; d >= 0; d--)
        used =
            spad__append(field, size, used, "%lld%s", (long long)map->box[d], d > 0 ? " x " : "");
    spad__append(field, size, used, ", ");
}

/* The line of the source, or of the text where it has none. */
static int32_t copied_line(const spad__ptx_module *module, const spad__ptx_instruction *i) {
    return i->location >= 0 ? module->locations.items[i->location].line : i->line;
}

static spad_status add_transaction(spad__ptx_result *result, const transaction_phase *p,
                                   const spad__ptx_module *module, const spad__ptx_launch *launch,
                                   const spad_host *host, spad_error *error) {
    const spad__ptx_instruction *copy = &module->instructions.items[p->copy->instruction];
    char box[64];
    for (size_t i = 0; i < result->remarks.count; i++) {
        spad__ptx_remark *r = &result->remarks.items[i];
        if (r->kind != SPAD__PTX_BAD_TRANSACTION || r->instruction != p->expecting->instruction)
            continue;
        r->times++;
        return SPAD_OK;
    }
    if (!spad__array_reserve(host, &result->remarks, 1)) return spad__fail_host_memory(error);
    spad__ptx_remark *r = &result->remarks.items[result->remarks.count++];
    *r = (spad__ptx_remark){.kind = SPAD__PTX_BAD_TRANSACTION,
                            .instruction = p->expecting->instruction,
                            .cta = p->expecting->cta,
                            .warp = p->expecting->warp,
                            .bytes = p->expected,
                            .times = 1};
    describe_box(box, sizeof box, launch, p->copy->bytes);
    snprintf(r->text, sizeof r->text,
             "it expects %lld B, and copies bring %lld B: %s%lld B in %s %d",
             (long long)p->expected, (long long)p->delivered, box, (long long)p->copy->bytes,
             copy->location >= 0 ? "line" : "PTX line", (int)copied_line(module, copy));
    return SPAD_OK;
}

spad_status spad__ptx_compare_transactions(spad__ptx_result *result, const spad__ptx_log *log,
                                           const spad__ptx_module *module,
                                           const spad__ptx_launch *launch, const spad_host *host,
                                           spad_error *error) {
    spad__ptx_object seen[MOST_ENDLESS];
    int count = 0;
    for (size_t i = 0; i < log->events.count && count < MOST_ENDLESS; i++) {
        const spad__ptx_event *e = &log->events.items[i].event;
        int known = 0;
        if (e->kind != SPAD__PTX_MBARRIER_WAIT || !e->endless) continue;
        while (known < count && !is_same_object(&seen[known], &e->object)) known++;
        if (known < count) continue;
        seen[count++] = e->object;
        const transaction_phase p = phase_before(log, i);
        if (p.pending > 0 || p.expecting == NULL || p.copy == NULL) continue;
        const spad_status status = add_transaction(result, &p, module, launch, host, error);
        if (status != SPAD_OK) return status;
    }
    return SPAD_OK;
}
