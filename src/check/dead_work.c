/* SPDX-License-Identifier: Apache-2.0
 *
 * Work whose results are never used: sums that are never copied out of their memory, loads for such
 * sums, and all that only they read. An operation is useful if it writes off chip, to an output or
 * to what stays after the kernel, or if a useful operation reads what it wrote. (A write that
 * nothing reads at all is a dead write, which the lifetime check reports.)
 *
 * One walk lists for every operation whose writes it reads: each slot keeps the writes that are not
 * covered by later ones. Then a pass from the last operation to the first marks what is useful,
 * because readers come after writers. Kernels without synchronisation and without errors only;
 * the walk ends, without advice, after WALK_MOST events or LINKS_MOST links.
 *
 * O(accesses x parts of a tile that are written by themselves).
 */
#include "check/dead_work.h"
#include "spad/experimental/kernel_rows.h"

#include <inttypes.h>
#include <stdio.h>

#include "base/assert.h"
#include "kernel/kernel.h"
#include "kernel/touched_bytes.h"

enum {
    WALK_MOST = 1 << 20,
    LINKS_MOST = 1 << 23,
    WRITES_MOST = 4096, /* of one slot that are remembered */
    EVENTS_PER_WASTE_LOOK = 1024
};

typedef struct slot_write {
    spad__bytes bytes;
    int32_t operation;
} slot_write;

typedef SPAD_ARRAY(slot_write) slot_writes;

/* The operation `reader` reads what `writer` wrote; links are in the order of their readers. */
typedef struct use_link {
    int32_t writer;
    int32_t reader;
} use_link;

typedef struct waste_operation {
    int32_t statement;
    bool useful;
    bool read; /* something reads what it wrote */
} waste_operation;

typedef struct waste {
    spad__run *run;
    const spad_host *host;
    size_t *bases; /* per tensor: number of its first slot, and one more */
    slot_writes *slots;
    size_t slot_count;
    SPAD_ARRAY(use_link) links;
    SPAD_ARRAY(waste_operation) operations;
    int64_t *wasted; /* per statement: executions whose results are never used, */
    int64_t *all;    /* and all */
    bool left;       /* too much to look at */
} waste;

/* ---- who reads whose writes --------------------------------------------------------- */

static bool stays_after(const spad_kernel *k, const spad_walk_access *access) {
    const spad_kernel_tensor *home = &k->tensors.items[access->home];
    return k->target->spaces[home->space].off_chip || home->flags != 0 ||
           k->tensors.items[access->tensor].flags != 0;
}

static slot_writes *writes_of(waste *w, const spad_walk_access *access) {
    return &w->slots[w->bases[access->home] + (size_t)access->slot];
}

static bool link_read(waste *w, const spad_walk_access *access, int32_t reader) {
    const slot_writes *writes = writes_of(w, access);
    const spad__bytes bytes = spad__bytes_of(access);
    for (size_t i = 0; i < writes->count; i++) {
        const slot_write *write = &writes->items[i];
        if (write->operation == reader || !spad__bytes_overlap(&write->bytes, &bytes)) continue;
        if (!spad__array_reserve(w->host, &w->links, 1)) return false;
        w->links.items[w->links.count++] = (use_link){write->operation, reader};
        w->operations.items[write->operation].read = true;
    }
    return true;
}

static bool note_write(waste *w, const spad_walk_access *access, int32_t operation) {
    slot_writes *writes = writes_of(w, access);
    const slot_write mine = {spad__bytes_of(access), operation};
    size_t kept = 0;
    for (size_t i = 0; i < writes->count; i++)
        if (!spad__bytes_cover(&mine.bytes, &writes->items[i].bytes))
            writes->items[kept++] = writes->items[i];
    writes->count = kept;
    if (!spad__array_reserve(w->host, writes, 1)) return false;
    writes->items[writes->count++] = mine;
    if (writes->count > WRITES_MOST) w->left = true;
    return true;
}

static bool note_operation(waste *w, const spad_walk_event *event) {
    const spad_kernel *k = w->run->kernel;
    const int32_t number = (int32_t)w->operations.count;
    bool writes = false;
    if (!spad__array_reserve(w->host, &w->operations, 1)) return false;
    waste_operation *o = &w->operations.items[w->operations.count++];
    *o = (waste_operation){.statement = (int32_t)event->statement,
                           .useful = event->completion_count > 0};
    for (size_t i = 0; i < event->access_count; i++) {
        const spad_walk_access *access = &event->accesses[i];
        if ((access->kind & SPAD_ACCESS_READ) != 0 && !link_read(w, access, number)) return false;
        if ((access->kind & SPAD_ACCESS_WRITE) == 0) continue;
        writes = true;
        if (stays_after(k, access)) w->operations.items[number].useful = true;
    }
    if (!writes) w->operations.items[number].useful = true;
    for (size_t i = 0; i < event->access_count; i++) {
        const spad_walk_access *access = &event->accesses[i];
        if ((access->kind & SPAD_ACCESS_WRITE) != 0 && !note_write(w, access, number)) return false;
    }
    return true;
}

static spad_status walk_operations(waste *w, spad_error *error) {
    const spad_walk_options options = {.host = w->host};
    const spad_walk_event *event;
    spad_walk *walk;
    spad_status status = spad_walk_create(&walk, w->run->kernel, &options, error);
    if (status != SPAD_OK) return status;
    for (int64_t count = 0; status == SPAD_OK && !w->left; count++) {
        status = spad_walk_next(&event, walk, error);
        if (status != SPAD_OK || event->kind == SPAD_WALK_END) break;
        if (event->kind == SPAD_WALK_OPERATION && !note_operation(w, event))
            status = spad__fail_host_memory(error);
        if (count >= WALK_MOST || w->links.count > LINKS_MOST ||
            (count % EVENTS_PER_WASTE_LOOK == 0 && spad__is_late(w->run)))
            w->left = true;
    }
    spad_walk_destroy(walk);
    return status;
}

/* ---- unused results ---------------------------------------------------------------- */

static void mark_useful(waste *w) {
    size_t link = w->links.count;
    for (size_t i = w->operations.count; i-- > 0;) {
        for (; link > 0 && (size_t)w->links.items[link - 1].reader == i; link--)
            if (w->operations.items[i].useful)
                w->operations.items[w->links.items[link - 1].writer].useful = true;
    }
    spad__assert(link == 0);
    for (size_t i = 0; i < w->operations.count; i++) {
        const waste_operation *o = &w->operations.items[i];
        w->all[o->statement]++;
        if (!o->useful && o->read) w->wasted[o->statement]++;
    }
}

static spad_status report_statement(waste *w, size_t number, spad_error *error) {
    const spad_kernel *k = w->run->kernel;
    const spad_statement *s = &k->statements.items[number];
    spad_finding finding;
    char often[64] = "";
    if (w->wasted[number] < w->all[number])
        snprintf(often, sizeof often, " in %" PRId64 " of %" PRId64 " executions",
                 w->wasted[number], w->all[number]);
    spad__finding_init(
        &finding, SPAD_FINDING_WASTED_WORK,
        "nothing uses the result of %s%s: all that reads it is not used either; leave "
        "it out, or copy the result out",
        s->name != NULL ? s->name : k->target->engines[s->engine].name, often);
    finding.count = w->wasted[number];
    return spad__add_finding(w->run, &finding, (int64_t)number, -1, error);
}

static bool make_waste(waste *w) {
    const spad_kernel *k = w->run->kernel;
    const size_t tensors = k->tensors.count;
    w->bases = spad__new_array(w->host, tensors + 1, sizeof *w->bases);
    w->wasted = spad__new_array(w->host, k->statements.count + 1, sizeof *w->wasted);
    w->all = spad__new_array(w->host, k->statements.count + 1, sizeof *w->all);
    if (w->bases == NULL || w->wasted == NULL || w->all == NULL) return false;
    for (size_t i = 0; i < tensors; i++) {
        w->bases[i] = w->slot_count;
        if (k->tensors.items[i].slots > WALK_MOST - (int64_t)w->slot_count) w->left = true;
        if (!w->left) w->slot_count += (size_t)k->tensors.items[i].slots;
    }
    w->bases[tensors] = w->slot_count;
    w->slots = spad__new_array(w->host, w->slot_count + 1, sizeof *w->slots);
    return w->slots != NULL;
}

static void free_waste(waste *w) {
    const spad_kernel *k = w->run->kernel;
    for (size_t i = 0; w->slots != NULL && i < w->slot_count; i++)
        spad__array_free(w->host, &w->slots[i]);
    if (w->slots != NULL) spad__free(w->host, w->slots, (w->slot_count + 1) * sizeof *w->slots);
    if (w->bases != NULL) spad__free(w->host, w->bases, (k->tensors.count + 1) * sizeof *w->bases);
    const size_t room = (k->statements.count + 1) * sizeof(int64_t);
    if (w->wasted != NULL) spad__free(w->host, w->wasted, room);
    if (w->all != NULL) spad__free(w->host, w->all, room);
    spad__array_free(w->host, &w->links);
    spad__array_free(w->host, &w->operations);
}

spad_status spad__check_wasted(spad__run *run, spad_error *error) {
    const spad_kernel *k = run->kernel;
    if (!spad_kernel_is_implicit(k) || run->check->counts.errors > 0) return SPAD_OK;
    waste w = {.run = run, .host = &run->check->host};
    spad_status status = make_waste(&w) ? SPAD_OK : spad__fail_host_memory(error);
    if (status == SPAD_OK && !w.left) status = walk_operations(&w, error);
    if (status == SPAD_OK && !w.left) {
        mark_useful(&w);
        for (size_t i = 0; i < k->statements.count && status == SPAD_OK; i++)
            if (w.wasted[i] > 0) status = report_statement(&w, i, error);
    }
    free_waste(&w);
    return status;
}

/* ---- times -------------------------------------------------------------------------- */

void spad__wasted_add_times(spad_check *check, spad__statement_time *time_of, void *context) {
    for (size_t i = 0; i < check->found.count; i++) {
        spad__found *found = &check->found.items[i];
        const bool about_work = found->finding.code == SPAD_FINDING_WASTED_WORK ||
                                found->finding.code == SPAD_FINDING_DEAD_WRITE;
        const char *time =
            about_work && found->statement >= 0 ? time_of(context, found->statement) : NULL;
        char longer[SPAD_MESSAGE_MAX + 128];
        if (time == NULL) continue;
        snprintf(longer, sizeof longer, "%s (it takes %s%s)", found->finding.message, time,
                 found->finding.count > 1 ? " each time" : "");
        spad__copy_cut(found->finding.message, sizeof found->finding.message, longer);
    }
}
