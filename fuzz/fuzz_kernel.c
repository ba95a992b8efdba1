/* SPDX-License-Identifier: Apache-2.0
 *
 * Kernel text: any bytes give a kernel or faults. A kernel that was read keeps the
 * promises of its tables, walks without harm, and what is written of it reads back to
 * the same text and the same walk. It has a layout or a reason why not, and every slot
 * that a layout places is inside its space.
 */
#include "fuzz.h"
#include "kernel/kernel.h"
#include "spad/spad.h"

enum { EVENTS_MAX = 3000 };

static fuzz_text written(const spad_kernel *kernel) {
    fuzz_text text = {0};
    const spad_sink sink = {.write = fuzz_append, .context = &text};
    REQUIRE(spad_kernel_write_text(kernel, &sink, NULL) == SPAD_OK);
    return text;
}

static void check_tables(const spad_kernel *kernel) {
    const size_t count = spad_kernel_statement_count(kernel);
    for (size_t i = 0; i < count; i++) {
        const spad_statement *s = spad_kernel_get_statement(kernel, i);
        REQUIRE(s->end > i && s->end <= count && s->parent < (int64_t)i);
        if (s->parent >= 0) {
            REQUIRE(s->end <= spad_kernel_get_statement(kernel, (size_t)s->parent)->end);
        }
        REQUIRE(s->first_access + s->access_count <= spad__kernel_access_count(kernel));
        REQUIRE(s->first_completion + s->completion_count <= kernel->completions.count);
        REQUIRE(s->agent >= 0 && (size_t)s->agent < spad_kernel_agent_count(kernel));
    }
    for (size_t i = 0; i < spad_kernel_tensor_count(kernel); i++) {
        const spad_kernel_tensor *tensor = spad_kernel_get_tensor(kernel, i);
        REQUIRE(tensor->tiles >= 1 && tensor->slots >= 1 && tensor->tile_bytes >= 1);
        REQUIRE(tensor->home >= 0 && tensor->home <= (int64_t)i);
        REQUIRE(spad_kernel_get_tensor(kernel, (size_t)tensor->home)->mode != SPAD_MODE_ALIAS);
    }
}

static void check_access(const spad_kernel *kernel, const spad_walk_access *access) {
    const spad_kernel_tensor *tensor = spad_kernel_get_tensor(kernel, (size_t)access->tensor);
    const spad_kernel_tensor *home = spad_kernel_get_tensor(kernel, (size_t)access->home);
    REQUIRE(access->tile >= 0 && access->tile < tensor->tiles);
    REQUIRE(access->slot >= 0 && access->slot < home->slots);
    REQUIRE(access->rect.lanes >= 1 && access->rect.bytes >= 1 && access->runs >= 1);
    REQUIRE(access->rect.lane >= access->tile_rect.lane);
    REQUIRE(access->rect.lane + access->rect.lanes <=
            access->tile_rect.lane + access->tile_rect.lanes);
    const int64_t end =
        access->rect.byte + (access->runs - 1) * access->stride + access->rect.bytes;
    REQUIRE(access->rect.byte >= access->tile_rect.byte);
    REQUIRE(end <= access->tile_rect.byte + access->tile_rect.bytes);
}

static void same_event(const spad_walk_event *a, const spad_walk_event *b) {
    REQUIRE(a->kind == b->kind && a->time == b->time && a->statement == b->statement);
    REQUIRE(a->agent == b->agent && a->loop == b->loop && a->value == b->value);
    REQUIRE(a->tensor == b->tensor && a->tile == b->tile && a->life == b->life);
    REQUIRE(a->object == b->object && a->element == b->element && a->amount == b->amount);
    REQUIRE(a->expect == b->expect && a->cost == b->cost);
    REQUIRE(a->access_count == b->access_count && a->completion_count == b->completion_count);
    for (size_t i = 0; i < a->access_count; i++) {
        const spad_walk_access *x = &a->accesses[i];
        const spad_walk_access *y = &b->accesses[i];
        REQUIRE(x->tensor == y->tensor && x->tile == y->tile && x->slot == y->slot);
        REQUIRE(memcmp(&x->rect, &y->rect, sizeof x->rect) == 0 && x->runs == y->runs);
        REQUIRE(x->stride == y->stride && x->live == y->live && x->placed == y->placed);
    }
}

/* Walks both kernels side by side; true if the end was reached. */
static int walk_both(const spad_kernel *kernel, const spad_kernel *again, int64_t agent) {
    const spad_walk_options options = {.agent = agent};
    spad_walk *walk;
    spad_walk *other;
    REQUIRE(spad_walk_create(&walk, kernel, &options, NULL) == SPAD_OK);
    REQUIRE(spad_walk_create(&other, again, &options, NULL) == SPAD_OK);
    int ended = 0;
    for (int i = 0; i < EVENTS_MAX && !ended; i++) {
        const spad_walk_event *event;
        const spad_walk_event *twin;
        spad_error error;
        const spad_status status = spad_walk_next(&event, walk, &error);
        REQUIRE(status == spad_walk_next(&twin, other, NULL));
        if (status != SPAD_OK) {
            REQUIRE(error.code == status && error.message[0] != '\0');
            break;
        }
        same_event(event, twin);
        for (size_t a = 0; a < event->access_count; a++) check_access(kernel, &event->accesses[a]);
        ended = event->kind == SPAD_WALK_END;
    }
    spad_walk_destroy(walk);
    spad_walk_destroy(other);
    return ended;
}

static void check_layout(const spad_kernel *kernel) {
    const spad_layout_options options = {.timeout_ns = 2000000};
    spad_layout *layout;
    spad_error error;
    const spad_status status = spad_layout_create(&layout, kernel, &options, &error);
    REQUIRE(status == SPAD_OK || (error.code == status && error.message[0] != '\0'));
    if (status != SPAD_OK) return;
    for (size_t i = 0; i < spad_kernel_tensor_count(kernel); i++) {
        const spad_kernel_tensor *tensor = spad_kernel_get_tensor(kernel, i);
        const spad_space *space = &spad_kernel_get_target(kernel)->spaces[tensor->space];
        for (int64_t s = 0; s < tensor->slots && s < 64; s++) {
            spad_rect rect;
            if (!spad_layout_get_place(&rect, layout, (int64_t)i, s)) continue;
            REQUIRE(rect.byte >= 0 && rect.byte + rect.bytes <= spad_space_get_usable(space));
            REQUIRE(rect.lane >= 0 && rect.lane + rect.lanes <= space->lanes);
        }
    }
    fuzz_text text = {0};
    const spad_sink sink = {.write = fuzz_append, .context = &text};
    REQUIRE(spad_layout_write(layout, SPAD_FORMAT_TEXT, &sink, NULL) == SPAD_OK);
    REQUIRE(spad_layout_write(layout, SPAD_FORMAT_TABLE, &sink, NULL) == SPAD_OK);
    REQUIRE(spad_layout_write(layout, SPAD_FORMAT_JSON, &sink, NULL) == SPAD_OK);
    free(text.bytes);
    spad_layout_destroy(layout);
}

static void check_kernel(const spad_kernel *kernel) {
    check_tables(kernel);
    check_layout(kernel);
    const fuzz_text first = written(kernel);
    const spad_kernel_options options = {.target = spad_kernel_get_target(kernel)};
    spad_kernel *again;
    REQUIRE(spad_kernel_parse(&again, first.bytes, first.count, "again", &options, NULL, NULL) ==
            SPAD_OK);
    const fuzz_text second = written(again);
    REQUIRE(first.count == second.count && memcmp(first.bytes, second.bytes, first.count) == 0);
    const int ended = walk_both(kernel, again, SPAD_WALK_ALL);
    const size_t agents = spad_kernel_agent_count(kernel);
    for (size_t i = 0; i < agents && i < 4; i++) walk_both(kernel, again, (int64_t)i);
    if (ended) {
        spad_trace *trace;
        REQUIRE(spad_trace_create(&trace, spad_kernel_get_target(kernel), NULL, NULL) == SPAD_OK);
        const spad_status status = spad_kernel_write_trace(kernel, trace, NULL, NULL);
        REQUIRE(status == SPAD_OK || status == SPAD_ERR_ARGUMENT);
        spad_trace_destroy(trace);
    }
    spad_kernel_destroy(again);
    free(first.bytes);
    free(second.bytes);
}

static void check_faults(const spad_diagnostics *diagnostics) {
    for (size_t i = 0; i < spad_diagnostics_count(diagnostics); i++) {
        const spad_diagnostic *fault = spad_diagnostics_get(diagnostics, i);
        REQUIRE(fault->line >= 1 && fault->column >= 1 && fault->width >= 1);
        REQUIRE(strpbrk(fault->message, "\n\r\x1b") == NULL);
    }
    fuzz_text text = {0};
    const spad_sink sink = {.write = fuzz_append, .context = &text};
    REQUIRE(spad_diagnostics_write(diagnostics, SPAD_FORMAT_TEXT, &sink, NULL) == SPAD_OK);
    free(text.bytes);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    spad_diagnostics *diagnostics;
    spad_kernel *kernel;
    if (spad_diagnostics_create(&diagnostics, NULL, NULL) != SPAD_OK) return 0;
    const spad_status status =
        spad_kernel_parse(&kernel, (const char *)data, size, "fuzz", NULL, diagnostics, NULL);
    if (status == SPAD_OK) {
        check_kernel(kernel);
    } else {
        REQUIRE(status == SPAD_ERR_SYNTAX && kernel == NULL);
        REQUIRE(spad_diagnostics_count(diagnostics) >= 1);
        check_faults(diagnostics);
    }
    spad_kernel_destroy(kernel);
    spad_diagnostics_destroy(diagnostics);
    return 0;
}
