/* SPDX-License-Identifier: Apache-2.0
 *
 * The folded kernel with agents: declarations as they were, where a ring takes the place of its
 * members, then the sections in their order.
 */
#include <string.h>

#include "kernel/fold/fold_agents.h"
#include "kernel/fold/fold_build.h"

/* Calls the builder unless an earlier call failed. */
#define FOLD_CALL(m, call, ...)                                                 \
    do {                                                                        \
        if (spad__fold_fine(m))                                                 \
            (m)->status = spad__kernel_builder_##call(__VA_ARGS__, (m)->error); \
    } while (0)

static spad_amount plain_amount(spad_amount amount) {
    return (spad_amount){.value = amount.value};
}

static void fold_add_head(spad__fold_maker *m, const spad__fold_plan *plan) {
    const spad_kernel *k = m->f->kernel;
    const char *assumption =
        plan->request->assumption != NULL ? plan->request->assumption : k->assumption;
    const spad_kernel_agent *main_agent = &k->agents.items[0];
    if (plan->param != NULL)
        FOLD_CALL(m, param, &m->param, m->b, plan->param,
                  (spad_amount){.value = plan->param_value});
    m->param_value = plan->param_value;
    if (assumption[0] != '\0') FOLD_CALL(m, assume, m->b, assumption);
    if (k->undecided[0] != '\0') FOLD_CALL(m, undecided, m->b, k->undecided);
    if (k->uncounted[0] != '\0') FOLD_CALL(m, uncounted, m->b, k->uncounted);
    if (k->compiler[0] != '\0') FOLD_CALL(m, compiler, m->b, k->compiler);
    if (k->grid.value != 0) FOLD_CALL(m, grid, m->b, plain_amount(k->grid));
    if (k->cluster.value != 0) FOLD_CALL(m, cluster, m->b, plain_amount(k->cluster));
    if (main_agent->threads.value != 0 || main_agent->registers.value != 0) {
        FOLD_CALL(m, threads, m->b, plain_amount(main_agent->threads),
                  plain_amount(main_agent->registers));
    }
    for (size_t i = 0; i < k->units.count; i++) {
        const spad_kernel_unit *u = &k->units.items[i];
        int64_t number;
        FOLD_CALL(m, unit, &number, m->b, u->name, u->engine, u->order, u->proxy);
        if (u->fence >= 0) FOLD_CALL(m, unit_fence, m->b, number, (size_t)u->fence);
    }
}

/* A ring of mbarriers is one array; in a cluster, one of each block. */
static void fold_add_sync(spad__fold_maker *m, size_t number) {
    spad__folder *f = m->f;
    const spad_kernel_sync *s = &f->kernel->syncs.items[number];
    spad__fold_place *place = &f->syncs[number];
    spad__fold_ring *ring = place->ring >= 0 ? &f->rings.items[place->ring] : NULL;
    if (ring != NULL && ring->first != (int64_t)number) return;
    spad_amount *dims = spad__arena_array(&f->arena, s->dims.count + 1, sizeof *dims);
    if (dims == NULL) {
        m->status = spad__fail_host_memory(m->error);
        return;
    }
    for (size_t i = 0; i < s->dims.count; i++) dims[i] = plain_amount(s->dims.items[i]);
    spad_amounts list = {s->dims.count, dims};
    if (ring != NULL) dims[list.count++] = (spad_amount){.value = ring->count};
    int64_t made = -1;
    FOLD_CALL(m, sync, &made, m->b, s->kind, s->name, list, plain_amount(s->count));
    if (s->placed) FOLD_CALL(m, sync_at, m->b, made, plain_amount(s->byte));
    if (s->each_block) FOLD_CALL(m, each_block, m->b);
    place->made = made;
    if (ring != NULL) ring->made = made;
}

static spad_amounts plain_amounts(spad__fold_maker *m, spad_amounts list) {
    spad_amount *items = spad__arena_array(&m->f->arena, list.count + 1, sizeof *items);
    if (items == NULL) {
        if (spad__fold_fine(m)) m->status = spad__fail_host_memory(m->error);
        return (spad_amounts){0};
    }
    for (size_t i = 0; i < list.count; i++) items[i] = plain_amount(list.items[i]);
    return (spad_amounts){list.count, items};
}

/* Numbers as they are: their expressions belong to the other kernel. */
static spad_kernel_tensor plain_tensor(spad__fold_maker *m, const spad_kernel_tensor *old) {
    spad_kernel_tensor row = *old;
    spad_amount *const single[] = {&row.byte, &row.lane,  &row.bank,      &row.step,   &row.align,
                                   &row.near, &row.reuse, &row.cached_of, &row.cached, &row.pieces};
    spad_amounts *const lists[] = {&row.blocks, &row.dims, &row.ring, &row.steps,
                                   &row.free,   &row.par,  &row.banks};
    for (size_t i = 0; i < sizeof single / sizeof *single; i++) single[i]->expr = 0;
    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++)
        *lists[i] = plain_amounts(m, *lists[i]);
    return row;
}

static void fold_add_agent_tensor(spad__fold_maker *m, size_t number) {
    spad__folder *f = m->f;
    const spad_kernel_tensor *old = &f->kernel->tensors.items[number];
    spad__fold_place *place = &f->tensors[number];
    spad__fold_ring *ring = place->ring >= 0 ? &f->rings.items[place->ring] : NULL;
    spad_amount blocks = {0};
    int64_t made = -1;
    if (ring != NULL && ring->first != (int64_t)number) return;
    spad_kernel_tensor row = plain_tensor(m, old);
    if (old->like > 0) row.like = f->tensors[old->like - 1].made + 1;
    if (row.mode == SPAD_MODE_ALIAS) row.alias_of = f->tensors[old->alias_of].made;
    if (ring != NULL) {
        blocks.value = ring->count;
        row.blocks = (spad_amounts){1, &blocks};
        if (ring->stride != old->tile_bytes) row.step.value = ring->stride;
    }
    const spad_statement *s = &f->kernel->statements.items[old->statement];
    spad__kernel_builder_at(m->b, old->location);
    FOLD_CALL(m, from, m->b, s->source);
    FOLD_CALL(m, tensor, &made, m->b, &row);
    place->made = made;
    if (ring != NULL) ring->made = made;
}

static void fold_add_section(spad__fold_maker *m, const spad__fold_section *section) {
    const spad_kernel_agent *agent = &m->f->kernel->agents.items[section->agent];
    if (section->agent > 0) {
        spad__kernel_builder_at(m->b, agent->location);
        FOLD_CALL(m, from, m->b, m->f->kernel->statements.items[agent->statement].source);
        FOLD_CALL(m, agent, m->b, agent->name);
        if (agent->threads.value != 0 || agent->registers.value != 0)
            FOLD_CALL(m, threads, m->b, plain_amount(agent->threads),
                      plain_amount(agent->registers));
    }
    for (size_t i = 0; i < section->count && spad__fold_fine(m); i++)
        spad__fold_add_top(m, &section->nodes[i]);
    if (section->agent > 0 && spad__fold_fine(m))
        m->status = spad__kernel_builder_end(m->b, m->error);
}

static void fold_add_all(spad__fold_maker *m, const spad__fold_plan *plan) {
    const spad_kernel *k = m->f->kernel;
    fold_add_head(m, plan);
    for (size_t i = 0; i < k->syncs.count && spad__fold_fine(m); i++) fold_add_sync(m, i);
    if (spad__fold_fine(m)) spad__fold_add_sources(m);
    if (spad__fold_fine(m)) spad__fold_add_faults(m);
    for (size_t i = 0; i < k->tensors.count && spad__fold_fine(m); i++) fold_add_agent_tensor(m, i);
    for (size_t i = 0; i < plan->section_count && spad__fold_fine(m); i++)
        fold_add_section(m, &plan->sections[i]);
}

spad_status spad__fold_build_agents(spad_kernel **out, const spad__fold_plan *plan,
                                    spad_error *error) {
    spad__folder *f = plan->f;
    const spad_kernel *k = f->kernel;
    const spad_kernel_options options = {.host = &f->host};
    spad__fold_maker m = {.f = f, .error = error};
    *out = NULL;
    m.status = spad__kernel_builder_create(&m.b, k->name, k->about, k->target, &options, error);
    if (!spad__fold_fine(&m)) return m.status;
    fold_add_all(&m, plan);
    if (spad__fold_fine(&m)) m.status = spad__kernel_builder_finish(out, m.b, error);
    spad__kernel_builder_destroy(m.b);
    return m.status;
}
