/* SPDX-License-Identifier: Apache-2.0
 *
 * Sets up the CTAs of a launch, and runs their warps in turn.
 *
 * A warp runs until it is blocked. When no warp can go on, loops that only repeat themselves are
 * left first: what they wait for may come from a CTA that does not run here. After that, each
 * blocked wait is reported as endless and ends, so that the run shows what else is wrong.
 */
#include <stdlib.h>
#include <string.h>

#include "base/checked.h"
#include "frontend/ptx/run/ptx_flow.h"
#include "frontend/ptx/run/ptx_pointer.h"
#include "frontend/ptx/run/ptx_products.h"
#include "frontend/ptx/run/ptx_shared.h"
#include "frontend/ptx/run/ptx_warp.h"
#include "frontend/ptx/run/ptx_warp_races.h"

enum { MOST_THREADS = 1024, MOST_SHARED = 1 << 24, MOST_OF_THREAD = 512 << 10, MOST_ENDINGS = 256 };

/* ---- the launch --------------------------------------------------------------------------------
 */

/* The product of three sizes; 0: one of them is 0, or it is more than `most`. */
static uint32_t size_within(const uint32_t *sizes, uint32_t most) {
    uint64_t size = 1;
    for (int d = 0; d < 3; d++) {
        if (sizes[d] == 0 || sizes[d] > most) return 0;
        size *= sizes[d];
    }
    return size <= most ? (uint32_t)size : 0;
}

static spad_status check_launch(const spad__ptx_module *module, const spad__ptx_launch *launch,
                                spad_error *error) {
    if (launch->kernel == NULL || launch->kernel < module->functions.items ||
        launch->kernel >= module->functions.items + module->functions.count) {
        return spad__fail(error, SPAD_ERR_ARGUMENT, "the launch names no kernel of this module");
    }
    if (size_within(launch->block, MOST_THREADS) == 0) {
        return spad__fail(error, SPAD_ERR_ARGUMENT,
                          "a block of %u x %u x %u threads; a block has 1 to %d threads",
                          launch->block[0], launch->block[1], launch->block[2], MOST_THREADS);
    }
    if (size_within(launch->cluster, SPAD__PTX_CLUSTER) == 0) {
        return spad__fail(error, SPAD_ERR_ARGUMENT,
                          "a cluster of %u x %u x %u blocks; a cluster has 1 to %d blocks",
                          launch->cluster[0], launch->cluster[1], launch->cluster[2],
                          SPAD__PTX_CLUSTER);
    }
    if (launch->dynamic_shared_bytes < 0 || launch->dynamic_shared_bytes > MOST_SHARED) {
        return spad__fail(error, SPAD_ERR_ARGUMENT,
                          "%lld bytes of dynamic shared memory; give 0 to %d",
                          (long long)launch->dynamic_shared_bytes, MOST_SHARED);
    }
    return SPAD_OK;
}

/* ---- variables of the module, buffers
 * ------------------------------------------------------------ */

static uint64_t relocated(const spad__ptx_machine *m, const spad__ptx_relocation *r) {
    if (r->variable < 0) return SPAD__PTX_CODE_BASE + (uint64_t)r->function * 16;
    uint64_t address = (uint64_t)m->layout->module_at[r->variable] + (uint64_t)r->addend;
    const uint8_t space = m->module->variables.items[r->variable].space;
    if (space == SPAD__PTX_GLOBAL) address += SPAD__PTX_GLOBAL_BASE;
    if (space == SPAD__PTX_CONST && r->generic) address += SPAD__PTX_CONST_BASE;
    return address;
}

static void initialise(const spad__ptx_machine *m, const spad__ptx_variable *v, uint8_t *bytes,
                       uint8_t *known) {
    if (v->initial != NULL) memcpy(bytes, v->initial, (size_t)v->bytes);
    memset(known, v->external ? 0 : 1, (size_t)v->bytes);
    for (int32_t k = 0; k < v->relocation_count; k++) {
        const spad__ptx_relocation *r = &m->module->relocations.items[v->first_relocation + k];
        const uint64_t address = relocated(m, r);
        for (int n = 0; n < m->module->address_bytes; n++) {
            if (r->offset + n < v->bytes) bytes[r->offset + n] = (uint8_t)(address >> 8 * n);
        }
    }
}

/* Contents of .const and .global variables, in that order, then whether they are known. */
static bool make_variables(spad__ptx_machine *m) {
    const spad__ptx_layout *layout = m->layout;
    m->variable_bytes = spad__add_clamped(layout->const_bytes, layout->global_bytes);
    if (m->variable_bytes > INT64_MAX / 2) return false;
    m->variables = spad__new_array(m->host, (size_t)m->variable_bytes + 1, 2);
    if (m->variables == NULL) return false;
    for (size_t n = 0; n < m->module->variables.count; n++) {
        const spad__ptx_variable *v = &m->module->variables.items[n];
        if (v->space != SPAD__PTX_CONST && v->space != SPAD__PTX_GLOBAL) continue;
        int64_t at = layout->module_at[n];
        if (v->space == SPAD__PTX_GLOBAL) at += layout->const_bytes;
        initialise(m, v, m->variables + at, m->variables + m->variable_bytes + at);
    }
    return true;
}

static int compare_buffers(const void *left, const void *right) {
    const spad__ptx_buffer *a = left;
    const spad__ptx_buffer *b = right;
    return (a->address > b->address) - (a->address < b->address);
}

/* A buffer of the launch that lies in a variable holds its contents. */
static bool override_variable(spad__ptx_machine *m, const spad__ptx_buffer *b) {
    for (size_t n = 0; n < 2; n++) {
        const spad__ptx_buffer *to = &m->buffers[n];
        if (b->address < to->address || b->bytes > to->bytes) continue;
        if (b->address - to->address > (uint64_t)(to->bytes - b->bytes)) continue;
        const uint64_t at = b->address - to->address;
        for (int64_t k = 0; k < b->bytes; k++) {
            to->data[at + (uint64_t)k] = b->data != NULL ? b->data[k] : 0;
            to->known[at + (uint64_t)k] = b->data != NULL && (b->known == NULL || b->known[k] != 0);
        }
        return true;
    }
    return false;
}

static bool make_buffers(spad__ptx_machine *m) {
    const spad__ptx_launch *launch = m->launch;
    if (!make_variables(m)) return false;
    m->buffers = spad__new_array(m->host, launch->buffer_count + 2, sizeof *m->buffers);
    m->owned = spad__new_array(m->host, launch->buffer_count + 2, sizeof *m->owned);
    if (m->buffers == NULL || m->owned == NULL) return false;
    uint8_t *known = m->variables + m->variable_bytes;
    const int64_t split = m->layout->const_bytes;
    m->buffers[0] = (spad__ptx_buffer){
        .address = SPAD__PTX_CONST_BASE, .bytes = split, .data = m->variables, .known = known};
    m->buffers[1] = (spad__ptx_buffer){.address = SPAD__PTX_GLOBAL_BASE,
                                       .bytes = m->layout->global_bytes,
                                       .data = m->variables + split,
                                       .known = known + split};
    m->buffer_count = 2;
    m->global_known = true;
    for (size_t n = 0; n < launch->buffer_count; n++) {
        const spad__ptx_buffer *b = &launch->buffers[n];
        if (b->bytes <= 0 || override_variable(m, b)) continue;
        m->buffers[m->buffer_count++] = *b;
    }
    qsort(m->buffers, m->buffer_count, sizeof *m->buffers, compare_buffers);
    return true;
}

/* ---- CTAs and warps
 * ------------------------------------------------------------------------------ */

/* Shared memory of the kernel and of the system. What the system leaves in its own is not
 * documented: ones, so that a flag that nobody has reset counts as set. */
static bool make_shared(spad__ptx_machine *m, spad__ptx_cta *cta, int64_t shared_bytes) {
    cta->shared_bytes = cta->reserved_at = shared_bytes;
    if (m->layout->asks_reserved) {
        cta->reserved_at = spad__ptx_system_at(m->layout, m->launch->dynamic_shared_bytes);
        cta->reserved_bytes = SPAD__PTX_SYSTEM_SHARED;
    }
    const size_t all = (size_t)spad__ptx_all_shared(cta) + 1;
    cta->shared = spad__new(m->host, all);
    cta->shared_known = spad__new(m->host, all);
    if (cta->shared == NULL || cta->shared_known == NULL) return false;
    memset(cta->shared + cta->reserved_at, 0xff, (size_t)cta->reserved_bytes);
    memset(cta->shared_known + cta->reserved_at, 1, (size_t)cta->reserved_bytes);
    return true;
}

static bool make_cta(spad__ptx_machine *m, int32_t rank, uint32_t threads, int64_t shared_bytes) {
    const spad__ptx_launch *launch = m->launch;
    spad__ptx_cta *cta = &m->ctas[rank];
    uint32_t rest = (uint32_t)rank;
    for (int d = 0; d < 3; d++) {
        cta->id[d] = launch->first_cta[d] + rest % launch->cluster[d];
        rest /= launch->cluster[d];
    }
    cta->first_warp = (int32_t)m->warps.count;
    cta->warp_count = (int32_t)((threads + SPAD__PTX_LANES - 1) / SPAD__PTX_LANES);
    m->cta_count = rank + 1;
    if (!make_shared(m, cta, shared_bytes)) return false;
    if (!spad__array_reserve(m->host, &m->warps, cta->warp_count)) return false;
    for (int32_t n = 0; n < cta->warp_count; n++) {
        const uint32_t left = threads - (uint32_t)n * SPAD__PTX_LANES;
        m->warps.items[m->warps.count++] = (spad__ptx_warp){
            .cta = rank,
            .number = n,
            .threads = left >= SPAD__PTX_LANES ? UINT32_MAX : (UINT32_C(1) << left) - 1,
            .seen = -1,
            .spin = {.instruction = -1},
        };
        if (!spad__ptx_enter_kernel(m, &m->warps.items[m->warps.count - 1])) return false;
    }
    return true;
}

static bool make_ctas(spad__ptx_machine *m) {
    const spad__ptx_layout *layout = m->layout;
    const uint32_t ctas = size_within(m->launch->cluster, SPAD__PTX_CLUSTER);
    const uint32_t threads = size_within(m->launch->block, MOST_THREADS);
    const int64_t bytes = spad__ptx_shared_bytes(layout, m->launch->dynamic_shared_bytes);
    if (bytes > MOST_SHARED) {
        m->status = spad__fail(m->error, SPAD_ERR_ARGUMENT,
                               "the kernel needs %lld bytes of shared memory; a CTA has %d at most",
                               (long long)bytes, MOST_SHARED);
        return true;
    }
    const int64_t local = layout->needs[m->launch->kernel - m->module->functions.items].stack;
    if (local > MOST_OF_THREAD) {
        m->status = spad__fail(m->error, SPAD_ERR_ARGUMENT,
                               "the kernel needs %lld bytes of local memory for each thread; a "
                               "thread has %d at most",
                               (long long)local, MOST_OF_THREAD);
        return true;
    }
    for (uint32_t rank = 0; rank < ctas; rank++) {
        if (!make_cta(m, (int32_t)rank, threads, bytes)) return false;
    }
    return true;
}

static bool make_machine(spad__ptx_machine *m, spad__ptx_layout *layout) {
    const size_t instructions = m->module->instructions.count;
    if (!spad__ptx_lay_out(layout, m->module, m->launch->kernel, m->host)) return false;
    m->layout = layout;
    if (!spad__array_reserve(m->host, &m->result->executed, instructions)) return false;
    if (instructions > 0) memset(m->result->executed.items, 0, instructions);
    m->result->executed.count = instructions;
    return make_buffers(m) && make_ctas(m);
}

static void warp_free(spad__ptx_machine *m, spad__ptx_warp *w) {
    spad__ptx_frames_free(m, w);
    spad__free(m->host, w->spin.copy, (size_t)w->spin.capacity * sizeof *w->spin.copy);
    spad__array_free(m->host, &w->stays);
    spad__ptx_products_free(m, w);
}

static void machine_free(spad__ptx_machine *m) {
    for (size_t n = 0; n < m->warps.count; n++) warp_free(m, &m->warps.items[n]);
    for (int32_t n = 0; n < m->cta_count; n++) {
        spad__ptx_words_free(m, &m->ctas[n]);
        const size_t all = (size_t)spad__ptx_all_shared(&m->ctas[n]) + 1;
        spad__free(m->host, m->ctas[n].shared, all);
        spad__free(m->host, m->ctas[n].shared_known, all);
    }
    for (size_t n = 0; m->buffers != NULL && n < m->buffer_count; n++) {
        const spad__ptx_buffer *b = &m->buffers[n];
        if (m->owned[n]) spad__free(m->host, b->known, (size_t)(b->bytes - b->beyond));
    }
    const size_t buffers = m->launch->buffer_count + 2;
    spad__free(m->host, m->buffers, buffers * sizeof *m->buffers);
    spad__free(m->host, m->owned, buffers * sizeof *m->owned);
    spad__free(m->host, m->variables, ((size_t)m->variable_bytes + 1) * 2);
    spad__ptx_flows_free(m);
    spad__ptx_pointers_free(m);
    spad__free(m->host, m->decides, m->module->instructions.count * sizeof *m->decides);
    if (m->layout != NULL) spad__ptx_layout_free(m->layout, m->module, m->host);
    spad__array_free(m->host, &m->warps);
    spad__array_free(m->host, &m->mbarriers);
    spad__array_free(m->host, &m->accesses);
    spad__array_free(m->host, &m->runs);
}

/* ---- scheduling
 * ---------------------------------------------------------------------------------- */

static bool run_blocked(spad__ptx_machine *m, spad__ptx_warp *w) {
    m->ended = false;
    const bool more = spad__ptx_run_warp(m, w);
    w->seen = -1;
    return more || m->ended;
}

/* Lets one of those go on that wait only because it is likelier than not that they can: peeks, and
 * lanes of a diverged warp. */
static bool release_one(spad__ptx_machine *m) {
    m->stalled = true;
    for (size_t n = 0; n < m->warps.count && m->stalled; n++) {
        spad__ptx_warp *w = &m->warps.items[n];
        if (spad__ptx_alive(w) != 0 && !w->spinning) (void)run_blocked(m, w);
    }
    const bool released = !m->stalled;
    m->stalled = false;
    return released;
}

/* Nothing can go on: first peeks give up, then loops on memory are left, then waits end. False:
 * even that moves nothing. */
static bool unblock(spad__ptx_machine *m) {
    if (release_one(m)) return true;
    const int64_t before = m->progress;
    m->leave_spins = true;
    m->left_spin = false;
    for (size_t n = 0; n < m->warps.count && !m->left_spin; n++) {
        if (spad__ptx_alive(&m->warps.items[n]) != 0) (void)run_blocked(m, &m->warps.items[n]);
    }
    m->leave_spins = false;
    if (m->left_spin || m->progress != before) return true;
    if (++m->endings > MOST_ENDINGS) return false;
    bool moved = false;
    for (size_t n = 0; n < m->warps.count; n++) {
        if (spad__ptx_alive(&m->warps.items[n]) == 0) continue;
        m->endless = true;
        moved |= run_blocked(m, &m->warps.items[n]);
    }
    m->endless = false;
    m->ended = false;
    return moved || m->progress != before;
}

/* The warp whose strong write is the oldest goes on. False: none has stopped at one. */
static bool resume_yielded(spad__ptx_machine *m) {
    spad__ptx_warp *oldest = NULL;
    for (size_t n = 0; n < m->warps.count; n++) {
        spad__ptx_warp *w = &m->warps.items[n];
        if (w->yielded > 0 && (oldest == NULL || w->yielded < oldest->yielded)) oldest = w;
    }
    if (oldest == NULL) return false;
    oldest->yielded = 0;
    return true;
}

/* A warp that has made a strong write stops until the others can do no more: a warp that waits for
 * that write sees it before later ones, which would order more than the wait does. */
static void run_warps(spad__ptx_machine *m) {
    for (;;) {
        bool ran = false;
        bool alive = false;
        for (size_t n = 0; n < m->warps.count && m->status == SPAD_OK; n++) {
            spad__ptx_warp *w = &m->warps.items[n];
            if (spad__ptx_alive(w) == 0) continue;
            alive = true;
            const int64_t before = m->progress;
            if (w->seen == before || w->yielded > 0) continue;
            w->seen = spad__ptx_run_warp(m, w) ? -1 : before;
            ran = true;
        }
        if (m->status != SPAD_OK || !alive) return;
        if (!ran && !resume_yielded(m) && !unblock(m)) break;
    }
    m->result->stuck = true;
}

spad_status spad__ptx_run(spad__ptx_result *out, const spad__ptx_module *module,
                          const spad__ptx_launch *launch, const spad__ptx_sink *sink,
                          const spad__ptx_choices *choices, const spad_host *host,
                          spad_error *error) {
    *out = (spad__ptx_result){0};
    const spad_status status = check_launch(module, launch, error);
    if (status != SPAD_OK) return status;
    spad__ptx_layout layout;
    spad__ptx_machine *m = spad__new(host, sizeof *m);
    if (m == NULL) return spad__fail_host_memory(error);
    *m = (spad__ptx_machine){.host = host,
                             .module = module,
                             .launch = launch,
                             .sink = sink,
                             .choices = choices,
                             .result = out,
                             .error = error};
    if (!make_machine(m, &layout)) (void)spad__ptx_no_memory(m);
    if (m->status == SPAD_OK) run_warps(m);
    const spad_status ended = m->status;
    machine_free(m);
    spad__free(host, m, sizeof *m);
    return ended;
}

void spad__ptx_result_free(spad__ptx_result *result, const spad_host *host) {
    spad__array_free(host, &result->remarks);
    spad__array_free(host, &result->executed);
    *result = (spad__ptx_result){0};
}
