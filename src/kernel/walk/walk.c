/* SPDX-License-Identifier: Apache-2.0
 *
 * The walk: a cursor over the list of statements and a frame for every open loop,
 * scope and agent. An if needs no frame: its then-part falls through to the ELSE
 * statement, which is jumped over.
 *
 * All memory but the places of scoped tensors is taken when the walk is made. Time:
 * see spad/walk.h.
 */
#include "kernel/walk/walk.h"

#include "kernel/origin.h"

/* ---- life -------------------------------------------------------------------------- */

static void free_items(spad_walk *walk, void *items, size_t count, size_t size) {
    spad__free(&walk->host, items, count * size);
}

/* Is there a wait for the next phase, without a parity? */
static bool waits_for_next(const spad_kernel *k) {
    for (size_t i = 0; i < k->statements.count; i++) {
        const spad_statement *s = &k->statements.items[i];
        if ((s->flags & SPAD_SYNC_NEXT) != 0 && s->amount == 0) return true;
    }
    return false;
}

/* More objects than there is memory for. */
static const int64_t waited_max = INT64_C(1) << 40;

static bool allocate_waited(spad_walk *walk) {
    const spad_kernel *k = walk->kernel;
    if (!waits_for_next(k)) return true;
    walk->first_element = spad__walk_take(walk, k->syncs.count, sizeof *walk->first_element);
    if (walk->first_element == NULL) return false;
    for (size_t i = 0; i < k->syncs.count; i++) {
        walk->first_element[i] = walk->elements;
        if (k->syncs.items[i].elements > waited_max - (int64_t)walk->elements) return false;
        walk->elements += (size_t)k->syncs.items[i].elements;
    }
    walk->waited = spad__walk_take(walk, 2 * walk->elements, sizeof *walk->waited);
    return walk->waited != NULL;
}

static bool allocate_walk_tables(spad_walk *walk) {
    const spad_kernel *k = walk->kernel;
    for (size_t i = 0; i < k->statements.count; i++) {
        const spad_statement *s = &k->statements.items[i];
        if (s->access_count > walk->access_room) walk->access_room = s->access_count;
        if (s->completion_count > walk->completion_room) {
            walk->completion_room = s->completion_count;
        }
    }
    walk->frames = spad__walk_take(walk, k->blocks_deep, sizeof *walk->frames);
    walk->values = spad__walk_take(walk, k->loops.count + k->cursors.count, sizeof *walk->values);
    walk->lives = spad__walk_take(walk, k->tensors.count, sizeof *walk->lives);
    walk->accesses = spad__walk_take(walk, walk->access_room, sizeof *walk->accesses);
    walk->completions = spad__walk_take(walk, walk->completion_room, sizeof *walk->completions);
    if (k->is_scoped) {
        walk->scoped = spad__walk_take(walk, k->tensors.count, sizeof *walk->scoped);
        walk->managers = spad__walk_take(walk, k->target->space_count, sizeof *walk->managers);
        if (walk->managers == NULL || (k->tensors.count > 0 && walk->scoped == NULL)) return false;
    }
    return allocate_waited(walk) && (k->blocks_deep == 0 || walk->frames != NULL) &&
           (k->loops.count + k->cursors.count == 0 || walk->values != NULL) &&
           (k->tensors.count == 0 || walk->lives != NULL) &&
           (walk->access_room == 0 || walk->accesses != NULL) &&
           (walk->completion_room == 0 || walk->completions != NULL);
}

spad_status spad_walk_create(spad_walk **out, const spad_kernel *kernel,
                             const spad_walk_options *options, spad_error *error) {
    *out = NULL;
    if (options != NULL) {
        const spad_status status = spad__match_layout(kernel, options->layout, error);
        if (status != SPAD_OK) return status;
    }
    return spad__walk_create(out, kernel, options, error);
}

spad_status spad__walk_create(spad_walk **out, const spad_kernel *kernel,
                              const spad_walk_options *options, spad_error *error) {
    static const spad_walk_options defaults = {0};
    *out = NULL;
    if (options == NULL) options = &defaults;
    const int64_t agents = (int64_t)kernel->agents.count;
    if (options->agent < SPAD_WALK_ALL || options->agent >= agents) {
        return spad__fail(error, SPAD_ERR_ARGUMENT, "kernel '%s' has %lld agents, no number %lld",
                          kernel->name, (long long)agents, (long long)options->agent);
    }
    const spad_host host = spad__host_or_default(options->host);
    spad_walk *walk = spad__new(&host, sizeof *walk);
    if (walk == NULL) return spad__fail_host_memory(error);
    walk->host = host;
    walk->kernel = kernel;
    walk->options = *options;
    walk->stop = kernel->statements.count;
    if (options->agent > 0) { /* one agent: its statement and what it holds */
        walk->at = kernel->agents.items[options->agent].statement;
        walk->stop = kernel->statements.items[walk->at].end;
        walk->forked = walk->joined = true;
    }
    spad_status status = allocate_walk_tables(walk) ? SPAD_OK : spad__fail_host_memory(error);
    if (status == SPAD_OK) status = spad__walk_make_managers(walk, error);
    if (status == SPAD_OK) {
        *out = walk;
    } else {
        spad_walk_destroy(walk);
    }
    return status;
}

void spad_walk_destroy(spad_walk *walk) {
    if (walk == NULL) return;
    const spad_kernel *k = walk->kernel;
    for (size_t i = 0; walk->scoped != NULL && i < k->tensors.count; i++) {
        free_items(walk, walk->scoped[i].rects, (size_t)k->tensors.items[i].tiles,
                   sizeof(spad_rect));
    }
    for (size_t i = 0; walk->managers != NULL && i < k->target->space_count; i++) {
        spad_stack_destroy(walk->managers[i].stack);
        spad__array_free(&walk->host, &walk->managers[i].heap);
    }
    free_items(walk, walk->scoped, k->tensors.count, sizeof *walk->scoped);
    free_items(walk, walk->managers, k->target->space_count, sizeof *walk->managers);
    free_items(walk, walk->frames, k->blocks_deep, sizeof *walk->frames);
    free_items(walk, walk->values, k->loops.count + k->cursors.count, sizeof *walk->values);
    free_items(walk, walk->waited, 2 * walk->elements, sizeof *walk->waited);
    free_items(walk, walk->first_element, k->syncs.count, sizeof *walk->first_element);
    free_items(walk, walk->lives, k->tensors.count, sizeof *walk->lives);
    free_items(walk, walk->accesses, walk->access_room, sizeof *walk->accesses);
    free_items(walk, walk->completions, walk->completion_room, sizeof *walk->completions);
    const spad_host host = walk->host;
    spad__free(&host, walk, sizeof *walk);
}

/* ---- questions --------------------------------------------------------------------- */

const int64_t *spad_walk_get_values(const spad_walk *walk) {
    return walk->values;
}

/* ---- control ----------------------------------------------------------------------- */

static bool comparison_holds(const spad_walk *walk, const spad_comparison *comparison) {
    const int64_t a = spad__walk_value(walk, comparison->left);
    const int64_t b = spad__walk_value(walk, comparison->right);
    switch (comparison->relation) {
    case SPAD_EQUAL: return a == b;
    case SPAD_NOT_EQUAL: return a != b;
    case SPAD_LESS: return a < b;
    case SPAD_LESS_EQUAL: return a <= b;
    case SPAD_GREATER: return a > b;
    default: return a >= b;
    }
}

static size_t branch(const spad_walk *walk, const spad_statement *s) {
    bool all = true;
    for (size_t i = 0; i < s->comparison_count; i++) {
        if (s->comparisons[i].alternative) {
            if (all) break;
            all = true;
        }
        all = all && comparison_holds(walk, &s->comparisons[i]);
    }
    if (all) return walk->at + 1;
    return s->item >= 0 ? (size_t)s->item + 1 : s->end;
}

static void emit_iteration(spad_walk *walk, const spad__walk_frame *top) {
    const int64_t loop = walk->kernel->statements.items[top->statement].item;
    walk->event.kind = SPAD_WALK_ITERATION;
    walk->event.statement = (int64_t)top->statement;
    walk->event.loop = loop;
    walk->event.value = walk->values[loop];
}

/* The cursor is at the end of the innermost frame: the next iteration, or its end. */
static spad_status leave_frame(spad_walk *walk) {
    const spad__walk_frame *top = &walk->frames[walk->frame_count - 1];
    const spad_statement *s = &walk->kernel->statements.items[top->statement];
    walk->event.statement = (int64_t)top->statement;
    if (s->kind == SPAD_STATEMENT_FOR) {
        const spad_kernel_loop *loop = &walk->kernel->loops.items[s->item];
        if (walk->values[s->item] + 1 < loop->end.value) {
            walk->values[s->item]++;
            walk->at = top->statement + 1;
            emit_iteration(walk, top);
            return SPAD_OK;
        }
        walk->event.kind = SPAD_WALK_LOOP_END;
        walk->event.loop = s->item;
    } else if (s->kind == SPAD_STATEMENT_SCOPE) {
        walk->event.kind = SPAD_WALK_SCOPE_CLOSE;
        const spad_status status = spad__walk_close_scope(walk, s);
        if (status != SPAD_OK) return status;
    } else {
        walk->event.kind = SPAD_WALK_AGENT_END;
        walk->event.agent = walk->agent;
        walk->agent = 0;
    }
    walk->frame_count--;
    return SPAD_OK;
}

/* Enters a loop, unless nothing in it can happen. */
static bool enter_loop(spad_walk *walk, const spad_statement *s) {
    const spad_kernel_loop *loop = &walk->kernel->loops.items[s->item];
    if (loop->begin.value == loop->end.value || s->end == walk->at + 1) {
        walk->at = s->end;
        return false;
    }
    walk->values[s->item] = loop->begin.value;
    spad__walk_push(walk, walk->at);
    walk->frames[walk->frame_count - 1].begins = true;
    walk->event.kind = SPAD_WALK_LOOP_BEGIN;
    walk->event.loop = s->item;
    walk->at++;
    return true;
}

/* An agent's block: main passes by, and a walk of all goes in. */
static void enter_agent(spad_walk *walk, const spad_statement *s) {
    if (!walk->forked) {
        walk->forked = true;
        walk->event.kind = SPAD_WALK_FORK;
        if (walk->options.agent != 0) return;
        while (walk->at < walk->stop &&
               walk->kernel->statements.items[walk->at].kind == SPAD_STATEMENT_AGENT) {
            walk->at = walk->kernel->statements.items[walk->at].end;
        }
        return;
    }
    spad__walk_push(walk, walk->at);
    for (size_t i = 0; walk->waited != NULL && i < walk->elements; i++) {
        walk->waited[walk->elements + i] = 0;
    }
    walk->agent = s->item;
    walk->event.kind = SPAD_WALK_AGENT_BEGIN;
    walk->event.agent = s->item;
    walk->at++;
}

/* The innermost frame is a loop: this is its last iteration, and it is over. */
static void end_loop(spad_walk *walk) {
    const size_t statement = walk->frames[walk->frame_count - 1].statement;
    const spad_statement *s = &walk->kernel->statements.items[statement];
    walk->values[s->item] = walk->kernel->loops.items[s->item].end.value - 1;
    walk->at = s->end;
}

static void move_cursor(spad_walk *walk, const spad_statement *s) {
    const int64_t round = 2 * walk->kernel->cursors.items[s->item].count.value;
    int64_t *at = &walk->values[walk->kernel->loops.count + (size_t)s->item];
    if (s->kind == SPAD_STATEMENT_CURSOR) {
        *at = 0;
    } else {
        *at = (*at + spad__walk_value(walk, s->amount) % round) % round;
    }
}

/* One step on; *emitted: it is an event. */
static spad_status step_statement(spad_walk *walk, bool *emitted) {
    *emitted = true;
    if (walk->frame_count > 0) {
        spad__walk_frame *top = &walk->frames[walk->frame_count - 1];
        if (top->begins) {
            top->begins = false;
            emit_iteration(walk, top);
            return SPAD_OK;
        }
        if (walk->at == walk->kernel->statements.items[top->statement].end) {
            return leave_frame(walk);
        }
    }
    const bool over = walk->at == walk->stop;
    const spad_statement *s = over ? NULL : &walk->kernel->statements.items[walk->at];
    const bool at_agent = s != NULL && s->kind == SPAD_STATEMENT_AGENT;
    if (walk->forked && !walk->joined && !at_agent && walk->frame_count == 0) {
        walk->joined = true;
        walk->event.kind = SPAD_WALK_JOIN;
        return SPAD_OK;
    }
    if (over) {
        walk->event.kind = SPAD_WALK_END;
        return SPAD_OK;
    }
    walk->event.statement = (int64_t)walk->at;
    switch (s->kind) {
    case SPAD_STATEMENT_FOR: *emitted = enter_loop(walk, s); return SPAD_OK;
    case SPAD_STATEMENT_IF:
        walk->at = branch(walk, s);
        *emitted = false;
        return SPAD_OK;
    case SPAD_STATEMENT_ELSE:
        walk->at = s->end;
        *emitted = false;
        return SPAD_OK;
    case SPAD_STATEMENT_AGENT: enter_agent(walk, s); return SPAD_OK;
    case SPAD_STATEMENT_BREAK:
        end_loop(walk);
        *emitted = false;
        return SPAD_OK;
    case SPAD_STATEMENT_CURSOR:
    case SPAD_STATEMENT_ADVANCE:
        move_cursor(walk, s);
        walk->at++;
        *emitted = false;
        return SPAD_OK;
    default: break;
    }
    const size_t number = walk->at++;
    switch (s->kind) {
    case SPAD_STATEMENT_TENSOR: return spad__walk_tensor(walk, s);
    case SPAD_STATEMENT_SCOPE: return spad__walk_open_scope(walk, s, number);
    case SPAD_STATEMENT_SECTION: return spad__walk_next_section(walk, s);
    case SPAD_STATEMENT_OPERATION: return spad__walk_operation(walk, s);
    case SPAD_STATEMENT_ALLOC:
    case SPAD_STATEMENT_FREE: return spad__walk_tile(walk, s);
    default: return spad__walk_sync(walk, s);
    }
}

spad_status spad_walk_jump(spad_walk *walk, int64_t value, spad_error *error) {
    if (walk->failed != SPAD_OK || walk->event.kind != SPAD_WALK_ITERATION) {
        return spad__fail(error, SPAD_ERR_ARGUMENT,
                          "a jump starts at an iteration event of a loop");
    }
    const int64_t number = walk->event.loop;
    const spad_kernel_loop *loop = &walk->kernel->loops.items[number];
    if (value < walk->values[number] || value >= loop->end.value) {
        spad__fail(error, SPAD_ERR_BOUNDS, "loop '%s' continues from %lld to %lld, not to %lld",
                   loop->name, (long long)walk->values[number], (long long)loop->end.value - 1,
                   (long long)value);
        spad__fact_names(error, loop->name, NULL);
        return SPAD_ERR_BOUNDS;
    }
    walk->values[number] = value;
    return SPAD_OK;
}

/* Field by field: to set so small a struct as a whole takes longer than all the rest of an
 * event. */
static void clear_event(spad_walk *walk) {
    spad_walk_event *event = &walk->event;
    event->kind = SPAD_WALK_END;
    event->time = walk->time;
    event->statement = -1;
    event->agent = walk->agent;
    event->loop = -1;
    event->value = 0;
    event->tensor = -1;
    event->tile = -1;
    event->life = 0;
    event->object = -1;
    event->element = 0;
    event->amount = 0;
    event->expect = 0;
    event->cost = 0;
    event->access_count = 0;
    event->accesses = NULL;
    event->completion_count = 0;
    event->completions = NULL;
}

spad_status spad_walk_next(const spad_walk_event **out, spad_walk *walk, spad_error *error) {
    *out = NULL;
    bool emitted = false;
    while (walk->failed == SPAD_OK && !emitted) {
        clear_event(walk);
        walk->failed = step_statement(walk, &emitted);
    }
    if (walk->failed != SPAD_OK) {
        if (error != NULL) *error = walk->error;
        return walk->failed;
    }
    if (walk->event.kind != SPAD_WALK_END) walk->time++;
    *out = &walk->event;
    return SPAD_OK;
}
