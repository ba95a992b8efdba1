/* SPDX-License-Identifier: Apache-2.0
 *
 * The simulator beside a literal model on random kernels without synchronisation.
 *
 * The model keeps, for every byte of every lane, when its last write and its last read
 * end; for every engine when it is free, or every stretch in which it is not; and
 * applies the rules of docs/sim-how.md one operation and one byte at a time. Durations are
 * those of the rows: tests/unit/test_sim.c examines them.
 *
 * Beside it: loops that are skipped against loops that are run, deeper rings against
 * shallower ones, and the tuner against all combinations.
 */
#include "base/error.h"
#include "sim/sim.h"
#include "sim/sim_report.h"
#include "sim/tune.h"
#include "support/kernels.h"
#include "support/support.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/random.h"
#include "spad/spad.h"

enum { TEXT_MAX = 1 << 14, LANES = 128, BYTES = 512, CELLS_MAX = 2048, BUSY_MAX = 4096 };

/* ---- random kernels ---------------------------------------------------------------- */

typedef struct writer {
    char text[TEXT_MAX];
    size_t used;
    spad__random *random;
    bool one_transfer; /* at most one statement of the dma engine */
    int transfers;
    int operations;
} writer;

SPAD_PRINTF(2, 3) static void put(writer *w, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    const int more = vsnprintf(w->text + w->used, TEXT_MAX - w->used, format, arguments);
    va_end(arguments);
    assert_true(more >= 0 && (size_t)more < TEXT_MAX - w->used);
    w->used += (size_t)more;
}

static int below(writer *w, int bound) {
    return (int)spad__random_below(w->random, (uint64_t)bound);
}

static const char *pick(writer *w, const char *const *words, int count) {
    return words[below(w, count)];
}

/* x, y, z in SBUF with N tiles of (4, 8); p in PSUM with two. */
static void put_tensors(writer *w) {
    static const char *const places[] = {
        "", "ring 1", "ring 2", "ring 3", "mod base 0 free 2", "mod base 32 free 3"};
    static const char *const inner[] = {"ring 1", "ring 2", "ring [1, 2]", ""};
    put(w, "tensor x : sbuf bf16 [N] (4, 8) %s\n", pick(w, places, 6));
    put(w, "tensor y : sbuf bf16 [N] (4, 8) %s\n", pick(w, places, 6));
    put(w, "tensor z : sbuf bf16 [N, 2] (4, 8) %s\n", pick(w, inner, 4));
    put(w, "tensor s : sbuf bf16 (4, 8) %s\n", below(w, 2) ? "at 16" : "");
    put(w, "tensor half : sbuf bf16 (4, 4) alias of s + 8\n");
    put(w, "tensor p : psum f32 [N] (4, 8) ring %d\n", 1 + below(w, 2));
}

static void put_access(writer *w, bool psum) {
    static const char *const indices[] = {"i", "i", "i", "i % 2", "(i + 1) % N", "i / 2"};
    static const char *const parts[] = {"",           "",           "",         "(0..2, ..)",
                                        "(.., 0..4)", "(.., 4..8)", "(2..4, 3)"};
    const char *index = pick(w, indices, 6);
    if (psum) {
        put(w, "p[%s]", index);
        return;
    }
    switch (below(w, 6)) {
    case 0: put(w, "s%s", pick(w, parts, 7)); break;
    case 1: put(w, "half"); break;
    case 2: put(w, "z[%s, %d]%s", index, below(w, 2), pick(w, parts, 7)); break;
    case 3: put(w, "y[%s]%s", index, pick(w, parts, 7)); break;
    default: put(w, "x[%s]%s", index, pick(w, parts, 7)); break;
    }
}

static void put_operation(writer *w) {
    static const char *const engines[] = {"vector", "scalar", "gpsimd", "dma", "tensor"};
    int engine = below(w, 5);
    if (engine == 3 && w->one_transfer && w->transfers > 0) engine = 0;
    w->transfers += engine == 3;
    put(w, "%s op%d", engines[engine], w->operations++);
    const int reads = below(w, 3);
    for (int i = 0; i < reads; i++) {
        put(w, i == 0 ? " reads " : ", ");
        put_access(w, engine < 2 && below(w, 4) == 0);
    }
    put(w, below(w, 4) == 0 ? " updates " : " writes ");
    put_access(w, engine == 4);
    if (below(w, 3) != 0) put(w, " cost %d ns", below(w, 20));
    put(w, "\n");
}

static void put_body(writer *w, int operations) {
    static const char *const conditions[] = {"i > 0", "i % 2 == 0", "i < N - 1", "i >= 3"};
    for (int k = 0; k < operations; k++) {
        const int form = below(w, 8);
        if (form == 0) put(w, "if %s {\n", pick(w, conditions, 4));
        if (form == 1) put(w, "for j in 0..%d {\n", 2 + below(w, 3));
        put_operation(w);
        if (form <= 1) put(w, "}\n");
    }
}

static void put_kernel(writer *w, spad__random *random, bool one_transfer) {
    w->used = 0;
    w->random = random;
    w->one_transfer = one_transfer;
    w->transfers = w->operations = 0;
    put(w, "kernel k on %s\nparam N = 6\n", below(w, 2) ? "trn1" : "trn2");
    put_tensors(w);
    if (below(w, 3) == 0) put(w, "vector first writes s cost 7 ns\n");
    put(w, "for i in 0..N {\n");
    put_body(w, 1 + below(w, 5));
    put(w, "}\n");
    if (below(w, 3) == 0) put(w, "scalar last reads s, x[0] writes y[N - 1]\n");
}

static spad_sim *simulate(const spad_kernel *kernel, const spad_sim_options *options) {
    spad_sim *sim;
    spad_error error;
    assert_ok(spad_sim_create(&sim, kernel, options, &error), &error);
    return sim;
}

/* ---- the model --------------------------------------------------------------------- */

typedef struct cell {
    bool placed;
    int64_t home; /* placed: the space */
    int64_t slot;
    int64_t written[LANES][BYTES]; /* end of the last write; of the last read */
    int64_t read[LANES][BYTES];
} cell;

typedef struct busy {
    int64_t engine;
    int64_t start;
    int64_t end;
} busy;

typedef struct model {
    const spad_kernel *kernel;
    const spad_target *target;
    cell *cells[CELLS_MAX];
    size_t cell_count;
    int64_t free[SPAD_ENGINES_MAX];
    int64_t of_statement[256];
    int64_t used[SPAD_ENGINES_MAX][SPAD_SPACES_MAX]; /* until when an engine uses a space */
    busy busy[BUSY_MAX];
    size_t busy_count;
} model;

static cell *find_cell(model *m, const spad_walk_access *a) {
    const int64_t home =
        a->placed ? (int64_t)spad_kernel_get_tensor(m->kernel, (size_t)a->tensor)->space : a->home;
    const int64_t slot = a->placed ? 0 : a->slot;
    for (size_t i = 0; i < m->cell_count; i++) {
        cell *c = m->cells[i];
        if (c->placed == a->placed && c->home == home && c->slot == slot) return c;
    }
    assert_true(m->cell_count < CELLS_MAX);
    cell *c = calloc(1, sizeof *c);
    assert_non_null(c);
    c->placed = a->placed;
    c->home = home;
    c->slot = slot;
    m->cells[m->cell_count++] = c;
    return c;
}

/* Does the access touch that byte of that lane? */
static bool touches(const spad_walk_access *a, int64_t lane, int64_t byte) {
    if (lane < a->rect.lane || lane >= a->rect.lane + a->rect.lanes) return false;
    for (int64_t run = 0; run < a->runs; run++) {
        const int64_t from = a->rect.byte + run * a->stride;
        if (byte >= from && byte < from + a->rect.bytes) return true;
    }
    return false;
}

static int64_t larger(int64_t a, int64_t b) {
    return a > b ? a : b;
}

static int64_t bytes_ready(model *m, const spad_walk_event *event) {
    int64_t ready = 0;
    for (size_t i = 0; i < event->access_count; i++) {
        const spad_walk_access *a = &event->accesses[i];
        cell *c = find_cell(m, a);
        for (int lane = 0; lane < 8; lane++) {
            for (int byte = 0; byte < BYTES; byte++) {
                if (!touches(a, lane, byte)) continue;
                ready = larger(ready, c->written[lane][byte]);
                if ((a->kind & SPAD_ACCESS_WRITE) != 0) ready = larger(ready, c->read[lane][byte]);
            }
        }
    }
    return ready;
}

static void note_bytes(model *m, const spad_walk_event *event, int64_t end) {
    for (size_t i = 0; i < event->access_count; i++) {
        const spad_walk_access *a = &event->accesses[i];
        cell *c = find_cell(m, a);
        for (int lane = 0; lane < 8; lane++) {
            for (int byte = 0; byte < BYTES; byte++) {
                if (!touches(a, lane, byte)) continue;
                if ((a->kind & SPAD_ACCESS_READ) != 0) {
                    c->read[lane][byte] = larger(c->read[lane][byte], end);
                }
                if ((a->kind & SPAD_ACCESS_WRITE) != 0) {
                    c->written[lane][byte] = larger(c->written[lane][byte], end);
                }
            }
        }
    }
}

static int64_t port_ready(const model *m, const spad_walk_event *event, size_t engine) {
    int64_t ready = 0;
    for (size_t i = 0; i < m->target->exclusion_count; i++) {
        const spad_exclusion *e = &m->target->exclusions[i];
        if (e->engine_a != engine && e->engine_b != engine) continue;
        const size_t other = e->engine_a == engine ? e->engine_b : e->engine_a;
        for (size_t k = 0; k < event->access_count; k++) {
            const size_t tensor = (size_t)event->accesses[k].tensor;
            if (spad_kernel_get_tensor(m->kernel, tensor)->space != e->space) continue;
            ready = larger(ready, m->used[other][e->space]);
        }
    }
    return ready;
}

/* The first moment from `ready` on at which the engine is idle for that long. */
static int64_t first_room(const model *m, int64_t engine, int64_t ready, int64_t length) {
    int64_t best = INT64_MAX;
    for (size_t c = 0; c <= m->busy_count; c++) {
        const int64_t from = c == m->busy_count ? ready : m->busy[c].end;
        if (c < m->busy_count && m->busy[c].engine != engine) continue;
        if (from < ready || from >= best) continue;
        bool idle = true;
        for (size_t i = 0; i < m->busy_count && idle; i++) {
            const busy *b = &m->busy[i];
            idle = b->engine != engine || b->end <= from || b->start >= from + length;
            if (length == 0 && b->engine == engine && b->start <= from && from < b->end) {
                idle = false;
            }
        }
        if (idle) best = from;
    }
    return best;
}

static void check_row(model *m, const spad_walk_event *event, const spad__sim_row *row) {
    const spad_statement *s = spad_kernel_get_statement(m->kernel, (size_t)event->statement);
    const size_t engine = (size_t)s->engine;
    const bool copies = m->target->engines[engine].bytes_per_us > 0;
    const int64_t length = row->end - row->start;
    assert_int_equal(row->statement, event->statement);
    assert_int_equal(row->engine, engine);
    if (s->cost_kind == SPAD_COST_NS) assert_int_equal(length, event->cost * 1000);

    int64_t ready = larger(bytes_ready(m, event), port_ready(m, event, engine));
    if (copies && s->cost_kind == SPAD_COST_TARGET) ready += 1300000;
    ready = larger(ready, copies ? m->of_statement[event->statement] : m->free[engine]);
    const int64_t start = copies ? first_room(m, (int64_t)engine, ready, length) : ready;
    assert_int_equal(row->start, start);
    assert_int_equal(row->queued, start - ready);

    note_bytes(m, event, row->end);
    m->free[engine] = row->end;
    m->of_statement[event->statement] = row->end;
    for (size_t k = 0; k < event->access_count; k++) {
        const size_t tensor = (size_t)event->accesses[k].tensor;
        m->used[engine][spad_kernel_get_tensor(m->kernel, tensor)->space] = row->end;
    }
    if (copies && length > 0) {
        assert_true(m->busy_count < BUSY_MAX);
        m->busy[m->busy_count++] = (busy){(int64_t)engine, row->start, row->end};
    }
}

static void check_kernel(const spad_kernel *kernel, const spad_sim *sim) {
    model *m = calloc(1, sizeof *m);
    assert_non_null(m);
    m->kernel = kernel;
    m->target = spad_kernel_get_target(kernel);
    spad_walk *walk;
    const spad_walk_event *event;
    size_t at = 0;
    int64_t makespan = 0;
    assert_int_equal(spad_walk_create(&walk, kernel, NULL, NULL), SPAD_OK);
    do {
        assert_int_equal(spad_walk_next(&event, walk, NULL), SPAD_OK);
        if (event->kind != SPAD_WALK_OPERATION) continue;
        const spad__sim_row row = spad__sim_get_row(sim, at++);
        check_row(m, event, &row);
        makespan = larger(makespan, row.end);
    } while (event->kind != SPAD_WALK_END);
    assert_int_equal(at, spad__sim_row_count(sim));
    assert_int_equal(makespan, spad_sim_get_totals(sim).makespan);
    spad_walk_destroy(walk);
    for (size_t i = 0; i < m->cell_count; i++) free(m->cells[i]);
    free(m);
}

static void the_model_agrees(void **state) {
    (void)state;
    spad__random random = {20260401};
    static writer w;
    for (int round = 0; round < 400; round++) {
        put_kernel(&w, &random, false);
        spad_kernel *kernel = test_parse(w.text);
        spad_sim *sim = simulate(kernel, NULL);
        check_kernel(kernel, sim);
        spad_sim_destroy(sim);
        spad_kernel_destroy(kernel);
    }
}

/* ---- skipping ---------------------------------------------------------------------- */

static int64_t total_of(const spad_sim *sim, spad__wait_kind kind) {
    int64_t total = 0;
    for (size_t i = 0; i < sim->waits.count; i++) {
        const spad__sim_wait *w = &sim->waits.items[i];
        if (w->kind == kind) total += w->total;
    }
    return total;
}

static void assert_same_result(const spad_sim *a, const spad_sim *b, size_t engines) {
    const spad_sim_totals one = spad_sim_get_totals(a);
    const spad_sim_totals two = spad_sim_get_totals(b);
    assert_int_equal(one.makespan, two.makespan);
    assert_int_equal(one.operations, two.operations);
    assert_int_equal(one.unknown, two.unknown);
    for (size_t e = 0; e < engines; e++) {
        assert_int_equal(spad__sim_get_engine(a, e).busy, spad__sim_get_engine(b, e).busy);
        assert_int_equal(spad__sim_get_engine(a, e).operations,
                         spad__sim_get_engine(b, e).operations);
    }
    for (int kind = 0; kind < SPAD__WAIT_KINDS; kind++) {
        assert_int_equal(total_of(a, (spad__wait_kind)kind), total_of(b, (spad__wait_kind)kind));
    }
    const size_t rows = spad__sim_row_count(a);
    const spad__sim_row last = spad__sim_get_row(a, rows - 1);
    const spad__sim_row other = spad__sim_get_row(b, spad__sim_row_count(b) - 1);
    assert_int_equal(last.start, other.start);
    assert_int_equal(last.statement, other.statement);
}

static void skipping_changes_nothing(void **state) {
    (void)state;
    spad__random random = {7};
    static writer w;
    int skipped = 0;
    for (int round = 0; round < 80; round++) {
        put_kernel(&w, &random, false);
        const spad_define define = {"N", 1500 + below(&w, 500)};
        const spad_kernel_options options = {.defines = &define, .define_count = 1};
        spad_kernel *kernel = test_parse_with(w.text, &options);
        const spad_sim_options all = {.no_repeat = true};
        const spad_sim_options early = {.repeat_after = 1};
        spad_sim *run = simulate(kernel, &all);
        spad_sim *skip = simulate(kernel, &early);
        assert_int_equal(run->repeats.count, 0);
        skipped += skip->repeats.count > 0;
        assert_same_result(skip, run, spad_kernel_get_target(kernel)->engine_count);
        spad_sim_destroy(run);
        spad_sim_destroy(skip);
        spad_kernel_destroy(kernel);
    }
    print_message("%d of 80 kernels have loops that repeat themselves\n", skipped);
    assert_true(skipped > 25);
}

/* ---- depth ------------------------------------------------------------------------- */

static int64_t makespan_of(const spad_kernel *kernel, const spad_define *rings, size_t count) {
    const spad_kernel_options options = {.rings = rings, .ring_count = count};
    spad_kernel *shaped;
    spad_error error;
    assert_ok(spad_kernel_reshape(&shaped, kernel, &options, &error), &error);
    spad_sim *sim = simulate(shaped, NULL);
    const int64_t makespan = spad_sim_get_totals(sim).makespan;
    spad_sim_destroy(sim);
    spad_kernel_destroy(shaped);
    return makespan;
}

/* With transfers of one statement only: see docs/sim-how.md for the others. */
static void deeper_rings_are_never_slower(void **state) {
    (void)state;
    spad__random random = {99};
    static writer w;
    int faster = 0;
    for (int round = 0; round < 200; round++) {
        put_kernel(&w, &random, true);
        spad_kernel *kernel = test_parse(w.text);
        static const char *const names[] = {"x", "y", "p"};
        for (size_t n = 0; n < 3; n++) {
            const spad_kernel_tensor *t = NULL;
            for (size_t i = 0; i < spad_kernel_tensor_count(kernel); i++) {
                const spad_kernel_tensor *row = spad_kernel_get_tensor(kernel, i);
                if (strcmp(row->name, names[n]) == 0) t = row;
            }
            if (t->mode != SPAD_MODE_AUTO) continue;
            int64_t before = INT64_MAX;
            /* a tile that has a slot of its own keeps one in every multiple of the depth */
            for (int64_t depth = 1; depth <= 8; depth *= 2) {
                const spad_define ring = {names[n], depth};
                const int64_t now = makespan_of(kernel, &ring, 1);
                assert_true(now <= before);
                faster += now < before && before != INT64_MAX;
                before = now;
            }
        }
        spad_kernel_destroy(kernel);
    }
    assert_true(faster > 20);
}

/* ---- the tuner --------------------------------------------------------------------- */

/* A pipeline of three engines; depths 1 are right, because every tile is used at once. */
static void put_pipeline(writer *w, spad__random *random) {
    w->used = 0;
    w->random = random;
    put(w, "kernel k on trn2\nparam N = 12\n");
    put(w, "tensor x : sbuf bf16 [N] (128, 512) ring 1\n");
    put(w, "tensor y : sbuf bf16 [N] (128, 512) ring 2\n");
    put(w, "tensor z : sbuf bf16 [N] (128, %d) ring 1\n", 512 * (1 + below(w, 40)));
    put(w, "tensor out : hbm bf16 [N] (128, 512) output\n");
    put(w, "for i in 0..N {\n");
    put(w, "dma load writes x[i] cost %d ns\n", 1 + below(w, 20));
    put(w, "vector a reads x[i] writes y[i] cost %d ns\n", 1 + below(w, 20));
    put(w, "scalar b reads y[i] writes z[i] cost %d ns\n", 1 + below(w, 20));
    put(w, "gpsimd c reads z[i], x[i] cost %d ns\n", 1 + below(w, 20));
    put(w, "}\n");
}

typedef struct best {
    int64_t planned;
    int64_t bytes;
} best;

/* The makespan with the places of the planner; INT64_MAX: it does not fit. */
static int64_t planned_makespan(const spad_kernel *kernel) {
    spad_layout *layout;
    spad_sim *sim;
    int64_t makespan = INT64_MAX;
    assert_int_equal(spad_layout_create(&layout, kernel, NULL, NULL), SPAD_OK);
    if (spad_layout_fits(layout)) {
        const spad_sim_options options = {.layout = layout};
        assert_int_equal(spad_sim_create(&sim, kernel, &options, NULL), SPAD_OK);
        makespan = spad_sim_get_totals(sim).makespan;
        spad_sim_destroy(sim);
    }
    spad_layout_destroy(layout);
    return makespan;
}

/* All depths up to `most` for x, y and z. */
static best try_all(const spad_kernel *kernel, int64_t most) {
    static const char *const names[] = {"x", "y", "z"};
    best b = {INT64_MAX, INT64_MAX};
    for (int64_t code = 0; code < most * most * most; code++) {
        const int64_t depths[3] = {1 + code % most, 1 + code / most % most, 1 + code / most / most};
        spad_define rings[3];
        int64_t bytes = 0;
        for (size_t i = 0; i < 3; i++) {
            rings[i] = (spad_define){names[i], depths[i]};
            const spad_kernel_tensor *t = spad_kernel_get_tensor(kernel, i);
            bytes += depths[i] * t->tile_bytes * t->tile_lanes;
        }
        const spad_kernel_options options = {.rings = rings, .ring_count = 3};
        spad_kernel *shaped;
        assert_int_equal(spad_kernel_reshape(&shaped, kernel, &options, NULL), SPAD_OK);
        const int64_t planned = planned_makespan(shaped);
        const bool better = planned < b.planned || (planned == b.planned && bytes < b.bytes);
        if (better) b = (best){planned, bytes};
        spad_kernel_destroy(shaped);
    }
    return b;
}

static int64_t time_of(const spad__tune_point *point) {
    return point->fits ? point->planned : point->makespan;
}

static void the_tuner_finds_the_best(void **state) {
    (void)state;
    spad__random random = {5};
    static writer w;
    for (int round = 0; round < 12; round++) {
        put_pipeline(&w, &random);
        spad_kernel *kernel = test_parse(w.text);
        const best b = try_all(kernel, 4);
        spad_error error;
        spad_tune *all;
        spad_tune *descent;
        const spad_tune_options four = {.depth_most = 4};
        const spad_tune_options down = {.depth_most = 4, .exhaustive_most = -1};
        assert_ok(spad_tune_create(&all, kernel, &four, &error), &error);
        assert_ok(spad_tune_create(&descent, kernel, &down, &error), &error);
        const spad_tune_totals one = spad_tune_get_totals(all);
        const spad_tune_totals two = spad_tune_get_totals(descent);
        assert_true(one.exhaustive);
        assert_int_equal(one.combinations, 64);
        assert_int_equal(one.planned, b.planned);
        assert_int_equal(one.bytes, b.bytes);
        assert_int_equal(makespan_of(spad_tune_get_chosen(all), NULL, 0), one.makespan);
        assert_true(two.planned <= two.written_planned);
        assert_false(two.exhaustive);
        assert_true(two.makespan >= one.makespan);
        assert_true(two.deepest <= one.makespan && two.bound <= two.deepest);
        /* where the deepest fit, the descent gives up for nothing what gives nothing */
        if (one.makespan == one.deepest) assert_int_equal(two.makespan, one.makespan);
        for (size_t i = 1; i < all->points.count; i++) {
            const spad__tune_point *p = &all->points.items[i - 1];
            const spad__tune_point *q = &all->points.items[i];
            assert_true(p->bytes < q->bytes && time_of(p) > time_of(q));
        }
        spad_tune_destroy(all);
        spad_tune_destroy(descent);
        spad_kernel_destroy(kernel);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_model_agrees),
        cmocka_unit_test(skipping_changes_nothing),
        cmocka_unit_test(deeper_rings_are_never_slower),
        cmocka_unit_test(the_tuner_finds_the_best),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
