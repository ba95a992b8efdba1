/* SPDX-License-Identifier: Apache-2.0
 *
 * Changed kernels compute the same. Random kernels without synchronisation, with loads that may
 * leave their loops and rings of any depth, are run in program order with symbolic values: what a
 * slot holds is a hash of the operation that wrote it and of what that read. After every change
 * the outputs have the same values as before. The memory of this test knows slots and nothing of
 * the analyses.
 *
 *     test_advice_values [KERNELS [SEED]]
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "spad/spad.h"
#include "support/kernels.h"
#include "support/random_text.h"
#include "support/support.h"

enum { CELLS = 512, TENSORS = 3 };

static int64_t kernels = 150;
static uint64_t seed = 6;

/* ---- kernels ----------------------------------------------------------------------- */

static const char *const outer_indices[] = {"0", "1", "i", "i % 2", "N - 1 - i"};
static const char *const inner_indices[] = {"0", "1", "i", "j", "(i + j) % N", "j % 2"};

/* A tensor with or without tiles; the loop around its declaration is the inner one or none. */
typedef struct shape {
    bool tiled;
    bool inside;
} shape;

static void declare(text *t, spad__random *random, int number, shape s) {
    put(t, "tensor t%d : sbuf u8 %s (128, 64)", number, s.tiled ? "[N]" : "");
    if (s.tiled && below(random, 3) > 0) put(t, " ring %d", 1 + below(random, 4));
    put(t, "\n");
}

static void put_tile(text *t, spad__random *random, int number, const shape *s, bool inner) {
    put(t, "t%d", number);
    if (!s[number].tiled) return;
    put(t, "[%s]", inner ? inner_indices[below(random, 6)] : outer_indices[below(random, 5)]);
}

static void put_operation(text *t, spad__random *random, const shape *s, bool inner) {
    const char *const index =
        inner ? inner_indices[below(random, 6)] : outer_indices[below(random, 5)];
    const int a = below(random, TENSORS);
    const int b = below(random, TENSORS);
    if (!inner && (s[a].inside || s[b].inside)) return;
    const bool guarded = below(random, 5) == 0;
    if (guarded) put(t, "if %s > 0 { ", inner && below(random, 2) ? "j" : "i");
    switch (below(random, 4)) {
    case 0:
    case 1:
        put(t, "dma l%d reads in[%s] writes ", a, index);
        put_tile(t, random, a, s, inner);
        break;
    case 2:
        put(t, "vector v reads ");
        put_tile(t, random, a, s, inner);
        put(t, " %s ", below(random, 2) ? "updates" : "writes");
        put_tile(t, random, b, s, inner);
        break;
    default:
        put(t, "dma o reads ");
        put_tile(t, random, a, s, inner);
        put(t, " writes out[%s, %s]", inner ? "i" : index, inner ? "j" : "0");
        break;
    }
    if (below(random, 2)) put(t, " cost %d ns", 1 + below(random, 50));
    put(t, guarded ? " }\n" : "\n");
}

static void make_kernel(text *t, spad__random *random) {
    shape s[TENSORS];
    t->used = 0;
    put(t, "kernel k on trn2\nparam N = %d\ntensor in : hbm u8 [N] (128, 64) input\n",
        2 + below(random, 2));
    put(t, "tensor out : hbm u8 [N, N] (128, 64) persistent\n");
    for (int i = 0; i < TENSORS; i++) {
        s[i] = (shape){.tiled = below(random, 2) != 0, .inside = below(random, 4) == 0};
        if (!s[i].inside) declare(t, random, i, s[i]);
    }
    put(t, "for i in 0..N {\n");
    for (int i = below(random, 3); i > 0; i--) put_operation(t, random, s, false);
    put(t, "for j in 0..N {\n");
    for (int i = 0; i < TENSORS; i++)
        if (s[i].inside) declare(t, random, i, s[i]);
    for (int i = 2 + below(random, 4); i > 0; i--) put_operation(t, random, s, true);
    put(t, "}\n");
    for (int i = below(random, 2); i > 0; i--) put_operation(t, random, s, false);
    put(t, "}\n");
}

/* ---- values ------------------------------------------------------------------------ */

/* What is in the slots of a tensor, by its name. */
typedef struct cell {
    char name[8];
    int64_t slot;
    uint64_t value;
} cell;

typedef struct memory {
    cell cells[CELLS];
    size_t count;
} memory;

static uint64_t mix(uint64_t hash, uint64_t word) {
    hash = (hash ^ word) * UINT64_C(0x9E3779B97F4A7C15);
    return hash ^ hash >> 31;
}

static cell *cell_of(memory *m, const spad_kernel *k, const spad_walk_access *access) {
    const spad_kernel_tensor *t = spad_kernel_get_tensor(k, (size_t)access->tensor);
    const bool whole = spad_kernel_get_target(k)->spaces[t->space].off_chip;
    const int64_t slot = whole ? access->tile : access->tile % t->slots;
    for (size_t i = 0; i < m->count; i++)
        if (m->cells[i].slot == slot && strcmp(m->cells[i].name, t->name) == 0) return &m->cells[i];
    assert_true(m->count < CELLS);
    cell *c = &m->cells[m->count++];
    snprintf(c->name, sizeof c->name, "%.7s", t->name);
    c->slot = slot;
    c->value = mix((uint64_t)slot + 1, (unsigned char)t->name[0]);
    return c;
}

static void run_operation(memory *m, const spad_kernel *k, const spad_walk_event *event) {
    const char *name = spad_kernel_get_statement(k, (size_t)event->statement)->name;
    uint64_t value = 7;
    for (; *name != '\0'; name++) value = mix(value, (unsigned char)*name);
    for (size_t i = 0; i < event->access_count; i++)
        if ((event->accesses[i].kind & SPAD_ACCESS_READ) != 0)
            value = mix(value, cell_of(m, k, &event->accesses[i])->value);
    for (size_t i = 0; i < event->access_count; i++)
        if ((event->accesses[i].kind & SPAD_ACCESS_WRITE) != 0)
            cell_of(m, k, &event->accesses[i])->value = value;
}

/* Of all tiles of `out`, at the end. */
static uint64_t outputs_of(const spad_kernel *k) {
    const spad_walk_options options = {.agent = SPAD_WALK_ALL};
    memory *m = calloc(1, sizeof *m);
    spad_walk *walk;
    spad_error error;
    uint64_t sum = 0;
    assert_non_null(m);
    assert_ok(spad_walk_create(&walk, k, &options, &error), &error);
    for (;;) {
        const spad_walk_event *event;
        assert_ok(spad_walk_next(&event, walk, &error), &error);
        if (event->kind == SPAD_WALK_END) break;
        if (event->kind == SPAD_WALK_OPERATION) run_operation(m, k, event);
    }
    for (size_t i = 0; i < m->count; i++)
        if (strcmp(m->cells[i].name, "out") == 0)
            sum += mix((uint64_t)m->cells[i].slot, m->cells[i].value);
    spad_walk_destroy(walk);
    free(m);
    return sum;
}

/* ---- all --------------------------------------------------------------------------- */

static void outputs_stay(void **state) {
    (void)state;
    spad__random random = {seed};
    int64_t proved = 0;
    int64_t counts[SPAD_ADVICE_KINDS] = {0};
    for (int64_t i = 0; i < kernels; i++) {
        text t;
        spad_kernel *kernel;
        spad_advice *advice;
        spad_error error;
        make_kernel(&t, &random);
        if (spad_kernel_parse(&kernel, t.bytes, t.used, "k", NULL, NULL, &error) != SPAD_OK)
            continue;
        assert_ok(spad_advice_create(&advice, kernel, NULL, &error), &error);
        proved += spad_advice_get_totals(advice).proved;
        for (size_t c = 0; c < spad_advice_count(advice); c++)
            counts[spad_advice_get(advice, c)->kind]++;
        if (outputs_of(kernel) != outputs_of(spad_advice_get_kernel(advice))) {
            const spad_sink sink = spad_sink_file(stderr);
            fprintf(stderr, "kernel %lld\n%s\n", (long long)i, t.bytes);
            spad_kernel_write_text(spad_advice_get_kernel(advice), &sink, NULL);
            fail_msg("a change has other outputs");
        }
        spad_advice_destroy(advice);
        spad_kernel_destroy(kernel);
    }
    printf("%lld kernels: %lld proved, %lld loads moved, %lld rings deeper, %lld shorter\n",
           (long long)kernels, (long long)proved, (long long)counts[SPAD_ADVICE_LOAD],
           (long long)counts[SPAD_ADVICE_DEEPER], (long long)counts[SPAD_ADVICE_SHORTER]);
    if (kernels < 1000) return;
    assert_true(counts[SPAD_ADVICE_LOAD] > 20);
    assert_true(counts[SPAD_ADVICE_DEEPER] > 5);
    assert_true(counts[SPAD_ADVICE_SHORTER] > 5);
}

int main(int count, char **arguments) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(outputs_stay)};
    if (count > 1) kernels = strtoll(arguments[1], NULL, 10);
    if (count > 2) seed = strtoull(arguments[2], NULL, 10);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
