/* SPDX-License-Identifier: Apache-2.0
 *
 * Folding of a straight kernel with agents, and of several runs of one program into a kernel with a
 * parameter.
 *
 * Folds the statements of each agent like a kernel without agents, with rings of tensors and
 * mbarriers (fold_rings.c) whose indices and parities count on without wrapping
 * (fold_statement.c). With several runs, their numbers become expressions of one trip count
 * (fold_growth.c). The result counts only if it is exactly what it was made from: each run is
 * compared, event by event, with the folded kernel at its trip count (fold_exact.c).
 */
#include "kernel/fold/fold_agents.h"
#include "spad/experimental/kernel_rows.h"

#include <string.h>

#include "kernel/fold/fold_growth.h"
#include "kernel/text/writer.h"

/* ---- what can be folded -------------------------------------------------------------- */

static bool is_straight_kind(spad_statement_kind kind) {
    switch (kind) {
    case SPAD_STATEMENT_FOR:
    case SPAD_STATEMENT_IF:
    case SPAD_STATEMENT_ELSE:
    case SPAD_STATEMENT_SCOPE:
    case SPAD_STATEMENT_SECTION:
    case SPAD_STATEMENT_CURSOR:
    case SPAD_STATEMENT_ADVANCE:
    case SPAD_STATEMENT_BREAK: return false;
    default: return true;
    }
}

/* Declarations are before the agents, and a wait for the phase after the last one has no parity. */
static bool is_straight_with_agents(const spad_kernel *k) {
    if (k->agents.count < 2 || k->is_scoped) return false;
    if (k->params.count + k->regions.count + k->loops.count + k->cursors.count + k->unknowns.count >
        0) {
        return false;
    }
    for (size_t i = 0; i < k->statements.count; i++) {
        const spad_statement *s = &k->statements.items[i];
        if (!is_straight_kind(s->kind) || (s->flags & SPAD_SYNC_NEXT) != 0) return false;
        if (s->kind == SPAD_STATEMENT_TENSOR && s->agent > 0) return false;
    }
    return true;
}

static bool has_same_tensors(const spad_kernel *a, const spad_kernel *b) {
    if (a->tensors.count != b->tensors.count) return false;
    for (size_t i = 0; i < a->tensors.count; i++) {
        const spad_kernel_tensor *x = &a->tensors.items[i], *y = &b->tensors.items[i];
        if (strcmp(x->name, y->name) != 0 || x->space != y->space || x->mode != y->mode ||
            x->byte.value != y->byte.value || x->flags != y->flags ||
            !spad__amounts_equal(x->dims, y->dims) || !spad__amounts_equal(x->blocks, y->blocks)) {
            return false;
        }
    }
    return true;
}

static bool has_same_objects(const spad_kernel *a, const spad_kernel *b) {
    if (a->syncs.count != b->syncs.count || a->units.count != b->units.count ||
        a->agents.count != b->agents.count) {
        return false;
    }
    for (size_t i = 0; i < a->syncs.count; i++) {
        const spad_kernel_sync *x = &a->syncs.items[i], *y = &b->syncs.items[i];
        if (strcmp(x->name, y->name) != 0 || x->kind != y->kind ||
            x->count.value != y->count.value || x->byte.value != y->byte.value ||
            !spad__amounts_equal(x->dims, y->dims)) {
            return false;
        }
    }
    for (size_t i = 0; i < a->agents.count; i++) {
        if (strcmp(a->agents.items[i].name, b->agents.items[i].name) != 0) return false;
    }
    return true;
}

static bool has_same_sources(const spad_kernel *a, const spad_kernel *b) {
    if (a->sources.count != b->sources.count) return false;
    for (size_t i = 0; i < a->sources.count; i++) {
        const spad_kernel_source *x = &a->sources.items[i], *y = &b->sources.items[i];
        if (x->line != y->line || x->caller != y->caller || strcmp(x->file, y->file) != 0)
            return false;
    }
    return true;
}

/* ---- sections ------------------------------------------------------------------------ */

static bool fold_section(spad__folder *f, spad__fold_section *section) {
    f->first = section->first;
    f->end = section->end;
    f->pass++;
    f->nodes.count = f->operations.count = 0;
    if (!spad__fold_loops(f) || !spad__fold_short_loops(f)) return false;
    spad__fold_node *nodes = spad__arena_array(&f->arena, f->nodes.count + 1, sizeof *nodes);
    if (nodes == NULL) return false;
    if (f->nodes.count > 0) memcpy(nodes, f->nodes.items, f->nodes.count * sizeof *nodes);
    section->nodes = nodes;
    section->count = f->nodes.count;
    return true;
}

/* Main before the agents, each agent, and main after them. NULL: no memory. */
static spad__fold_section *fold_sections(spad__folder *f, const spad_kernel *kernel) {
    const size_t agents = kernel->agents.count;
    spad__fold_section *sections = spad__arena_array(&f->arena, agents + 1, sizeof *sections);
    size_t at = 0;
    bool fine = sections != NULL;
    f->kernel = kernel;
    for (size_t i = 1; fine && i <= agents; i++) {
        const size_t begin =
            i < agents ? kernel->agents.items[i].statement : kernel->statements.count;
        if (i == 1 || i == agents) {
            sections[i == 1 ? 0 : agents] =
                (spad__fold_section){.agent = 0, .first = at, .end = begin};
            fine = fold_section(f, &sections[i == 1 ? 0 : agents]);
        }
        if (i == agents || !fine) break;
        at = kernel->statements.items[begin].end;
        sections[i] = (spad__fold_section){.agent = (int64_t)i, .first = begin + 1, .end = at};
        fine = fold_section(f, &sections[i]);
    }
    return fine ? sections : NULL;
}

/* Keeps the largest trip counts. */
static void note_trips(spad__fold_result *out, int64_t trips) {
    size_t at = out->trip_count;
    for (size_t i = 0; i < out->trip_count; i++) {
        if (out->trip_counts[i] == trips) return;
    }
    while (at > 0 && out->trip_counts[at - 1] < trips) at--;
    if (at == SPAD__FOLD_TRIPS) return;
    if (out->trip_count < SPAD__FOLD_TRIPS) out->trip_count++;
    for (size_t i = out->trip_count - 1; i > at; i--) out->trip_counts[i] = out->trip_counts[i - 1];
    out->trip_counts[at] = trips;
}

/* The trip counts in a node, whose numbers begin at `moving`. Recursion as deep as loops are
 * nested.
 */
static void note_loops_of(spad__fold_result *out, const spad__folder *f, uint32_t number,
                          const int64_t *moving) {
    const spad__fold_shape *shape = &f->shapes.items[number];
    if (shape->child_count == 0) return;
    note_trips(out, moving[shape->moving - 1]);
    for (size_t i = 0; i < shape->child_count; i++) {
        note_loops_of(out, f, shape->children[i], moving);
        moving += f->shapes.items[shape->children[i]].moving;
    }
}

static void count_loops(spad__fold_result *out, const spad__folder *f,
                        const spad__fold_section *sections, size_t count) {
    out->loops = 0;
    for (size_t s = 0; s < count; s++) {
        for (size_t i = 0; i < sections[s].count; i++) {
            const spad__fold_node *node = &sections[s].nodes[i];
            out->loops += f->shapes.items[node->shape].child_count > 0;
            note_loops_of(out, f, node->shape, node->moving);
        }
    }
}

/* ---- exact or not -------------------------------------------------------------------- */

/* The folded kernel with the trip count of a run. */
static spad_status check_run(bool *same, const spad__folder *f, const spad_kernel *straight,
                             const spad_kernel *folded, const spad_define *define,
                             spad_error *error) {
    const spad_kernel_options options = {.defines = define, .define_count = 1, .host = &f->host};
    spad_kernel *shaped = NULL;
    spad_status status = spad_kernel_reshape(&shaped, folded, &options, error);
    if (status == SPAD_OK) status = spad__fold_is_exact(same, f, straight, shaped, error);
    spad_kernel_destroy(shaped);
    return status;
}

/* No memory is a failure; that the builder or the walk refuses the loops is an answer. */
static spad_status answer_refusal(spad_status status, bool *same) {
    if (status == SPAD_OK || status == SPAD_ERR_HOST_MEMORY) return status;
    *same = false;
    return SPAD_OK;
}

static spad_status check_all_runs(bool *same, const spad__fold_plan *plan,
                                  const spad_kernel *folded, spad_error *error) {
    const spad__fold_request *request = plan->request;
    spad_status status = spad__fold_is_exact(same, plan->f, request->kernels[0], folded, error);
    for (size_t r = 1; plan->param != NULL && status == SPAD_OK && *same && r < request->count;
         r++) {
        const spad_define define = {plan->param, request->values[r]};
        status = check_run(same, plan->f, request->kernels[r], folded, &define, error);
    }
    return answer_refusal(status, same);
}

static spad_status fold_name_agents_file(spad_kernel *made, const spad__fold_request *request,
                                         spad_error *error) {
    const char *file = request->kernels[0]->file;
    if (file == NULL) return SPAD_OK;
    made->file = spad__arena_copy(&made->arena, file, strlen(file));
    if (made->file == NULL) return spad__fail_host_memory(error);
    return request->keeps_locations ? SPAD_OK : spad__locate_in_text(made, error);
}

static spad_status build_exact(spad__fold_result *out, const spad__fold_plan *plan,
                               spad_error *error) {
    bool same = true;
    spad_kernel *made = NULL;
    spad_status status = answer_refusal(spad__fold_build_agents(&made, plan, error), &same);
    if (status == SPAD_OK && same) status = check_all_runs(&same, plan, made, error);
    if (status == SPAD_OK && same) status = fold_name_agents_file(made, plan->request, error);
    if (status == SPAD_OK && same) {
        out->kernel = made;
        out->refusal = SPAD__FOLDED;
        return SPAD_OK;
    }
    spad_kernel_destroy(made);
    out->refusal = SPAD__FOLD_NOT_EXACT;
    return status;
}

spad_status spad__fold_assume(spad_kernel *folded, const char *assumption, spad_error *error) {
    const char *kept = spad__arena_copy(&folded->arena, assumption, strlen(assumption));
    if (kept == NULL) return spad__fail_host_memory(error);
    folded->assumption = kept;
    folded->content = spad__kernel_hash(folded);
    return SPAD_OK;
}

/* ---- the call ------------------------------------------------------------------------ */

static bool make_cursors(spad__folder *f) {
    const spad_kernel *k = f->kernel;
    size_t count = f->rings.count;
    for (size_t i = 0; i < k->tensors.count; i++) {
        f->tensors[i].cursor = count;
        count += k->tensors.items[i].blocks.count;
    }
    for (size_t i = 0; i < k->syncs.count; i++) {
        f->syncs[i].cursor = count;
        count += k->syncs.items[i].dims.count + 1;
    }
    if (!spad__array_reserve(&f->host, &f->cursors, count)) return false;
    for (size_t i = 0; i < count; i++) f->cursors.items[i] = (spad__fold_cursor){0};
    f->cursors.count = count;
    return true;
}

static bool start_agents(spad__folder *f) {
    const spad_kernel *k = f->kernel;
    f->by_agent = true;
    f->tensors = spad__arena_array(&f->arena, k->tensors.count + 1, sizeof *f->tensors);
    f->syncs = spad__arena_array(&f->arena, k->syncs.count + 1, sizeof *f->syncs);
    if (f->tensors == NULL || f->syncs == NULL) return false;
    const spad__fold_place stays = {.ring = -1, .made = -1};
    for (size_t i = 0; i < k->tensors.count; i++) f->tensors[i] = stays;
    for (size_t i = 0; i < k->syncs.count; i++) f->syncs[i] = stays;
    return spad__fold_find_rings(f) && make_cursors(f);
}

static spad_status fold_one(spad__fold_result *out, spad__fold_plan *plan, spad_error *error) {
    spad__folder *f = plan->f;
    plan->sections = fold_sections(f, plan->request->kernels[0]);
    if (plan->sections == NULL) return spad__fail_host_memory(error);
    count_loops(out, f, plan->sections, plan->section_count);
    out->refusal = SPAD__FOLD_NO_LOOPS;
    return out->loops > 0 ? build_exact(out, plan, error) : SPAD_OK;
}

static bool are_same_declarations(const spad__fold_request *request) {
    for (size_t r = 1; r < request->count; r++) {
        const spad_kernel *a = request->kernels[0], *b = request->kernels[r];
        if (!is_straight_with_agents(b) || !has_same_tensors(a, b) || !has_same_objects(a, b) ||
            !has_same_sources(a, b)) {
            return false;
        }
    }
    return true;
}

static spad_status fold_runs(spad__fold_result *out, spad__fold_plan *plan, spad_error *error) {
    const spad__fold_request *request = plan->request;
    spad__folder *f = plan->f;
    spad__fold_growth g = {.f = f,
                           .request = request,
                           .run_count = request->count,
                           .section_count = plan->section_count};
    out->refusal = SPAD__FOLD_DIFFERS;
    if (!are_same_declarations(request)) return SPAD_OK;
    for (size_t r = 0; r < request->count; r++) { /* shapes are those of the first one */
        g.runs[r] = fold_sections(f, request->kernels[r]);
        if (g.runs[r] == NULL) return spad__fail_host_memory(error);
    }
    f->kernel = request->kernels[0];
    spad__fold_section *joined = spad__arena_array(&f->arena, plan->section_count, sizeof *joined);
    if (joined == NULL || !spad__fold_grow(&g, joined, &out->refusal))
        return spad__fail_host_memory(error);
    if (out->refusal != SPAD__FOLDED) return SPAD_OK;
    count_loops(out, f, joined, plan->section_count);
    plan->sections = joined;
    plan->param = request->param;
    plan->param_value = request->values[0];
    return build_exact(out, plan, error);
}

spad_status spad__fold_agents(spad__fold_result *out, const spad__fold_request *request,
                              const spad_host *host, spad_error *error) {
    spad__folder f = {.host = spad__host_or_default(host), .kernel = request->kernels[0]};
    f.arena.host = f.host;
    *out = (spad__fold_result){.refusal = SPAD__FOLD_NOT_STRAIGHT};
    if (!is_straight_with_agents(f.kernel)) return SPAD_OK;
    spad__fold_plan plan = {
        .f = &f, .request = request, .section_count = f.kernel->agents.count + 1};
    spad_status status = SPAD_OK;
    if (!start_agents(&f)) {
        status = spad__fail_host_memory(error);
    } else if (request->count > 1) {
        status = fold_runs(out, &plan, error);
    } else {
        status = fold_one(out, &plan, error);
    }
    spad__folder_free(&f);
    return status;
}
