/* SPDX-License-Identifier: Apache-2.0
 *
 * The simulator beside a literal model on random kernels with agents, units, counters, a
 * barrier, an mbarrier and a group. The model knows nothing of kernels: it has the
 * program that the generator made, and moves time on by one nanosecond after the other.
 *
 * Beside it: the same kernels with long loops, skipped against run, and the kernels that
 * we ship with large trip counts.
 */
#include "base/error.h"
#include "sim/sim.h"
#include "sim/sim_report.h"
#include "support/kernels.h"
#include "support/support.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/random.h"
#include "spad/spad.h"
#include "support/files.h"

enum {
    AGENTS = 3,
    UNITS = 2,
    ENGINES = 3,
    STEPS = 6,
    ROUNDS = 3,
    TEXT_MAX = 1 << 13,
    ACTORS = AGENTS + UNITS * AGENTS,
    LOG_MAX = 512
};

/* ---- programs ---------------------------------------------------------------------- */

typedef enum step_kind {
    OPERATION,
    SIGNAL,
    TAKE,
    WAIT,
    SYNC,
    ARRIVE,
    ARRIVE_PHASE, /* at the mbarrier */
    WAIT_PHASE,
    COMMIT,
    WAIT_GROUP,
    DRAIN,
    STEP_KINDS
} step_kind;

typedef struct step {
    step_kind kind;
    int unit;   /* -1: none */
    int engine; /* OPERATION without a unit */
    int cost;
    bool in_group;
    int signals; /* OPERATION: counter that it raises; -1 */
    int counter;
    int amount;
} step;

typedef struct program {
    step steps[AGENTS][STEPS];
    int counts[AGENTS];
    int rounds;
    char text[TEXT_MAX];
    size_t used;
} program;

static const char *const engine_names[ENGINES] = {"simt", "tensor", "copy"};
static const char *const unit_names[UNITS] = {"cp", "mma"};
static const int unit_engines[UNITS] = {2, 1};

SPAD_PRINTF(2, 3) static void put(program *p, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    const int more = vsnprintf(p->text + p->used, TEXT_MAX - p->used, format, arguments);
    va_end(arguments);
    assert_true(more >= 0 && (size_t)more < TEXT_MAX - p->used);
    p->used += (size_t)more;
}

static step make_step(spad__random *random) {
    static const step_kind kinds[] = {OPERATION, OPERATION,  OPERATION,    OPERATION,  SIGNAL,
                                      SIGNAL,    TAKE,       WAIT,         SYNC,       ARRIVE,
                                      COMMIT,    WAIT_GROUP, ARRIVE_PHASE, WAIT_PHASE, DRAIN};
    step s = {
        .kind = kinds[spad__random_below(random, 15)], .unit = -1, .signals = -1, .amount = 1};
    const bool queued = spad__random_below(random, 2) == 0;
    const bool can_queue =
        s.kind == OPERATION || s.kind == SIGNAL || s.kind == TAKE || s.kind == WAIT;
    if (queued && can_queue) s.unit = (int)spad__random_below(random, UNITS);
    s.engine = s.unit >= 0 ? unit_engines[s.unit] : (int)spad__random_below(random, ENGINES);
    s.cost = (int)spad__random_below(random, 6);
    s.counter = (int)spad__random_below(random, 2);
    if (s.kind == OPERATION && spad__random_below(random, 2) == 0) s.signals = s.counter;
    s.in_group = s.kind == OPERATION && s.unit >= 0 && spad__random_below(random, 2) == 0;
    if (s.kind == WAIT_GROUP || s.kind == WAIT_PHASE) s.amount = (int)spad__random_below(random, 2);
    return s;
}

static void put_step(program *p, const step *s, int number) {
    char on[16] = "";
    if (s->unit >= 0) snprintf(on, sizeof on, " on %s", unit_names[s->unit]);
    switch (s->kind) {
    case OPERATION:
        put(p, "%s op%d cost %d ns", s->unit >= 0 ? unit_names[s->unit] : engine_names[s->engine],
            number, s->cost);
        if (s->in_group) put(p, " in g");
        if (s->signals >= 0) put(p, " signals c%d", s->signals);
        put(p, "\n");
        break;
    case SIGNAL: put(p, "signal c%d%s\n", s->counter, on); break;
    case TAKE: put(p, "take c%d%s\n", s->counter, on); break;
    case WAIT: put(p, "wait c%d >= %d%s\n", s->counter, s->amount, on); break;
    case SYNC: put(p, "sync all\n"); break;
    case ARRIVE: put(p, "arrive all\n"); break;
    case ARRIVE_PHASE: put(p, "arrive m\n"); break;
    case WAIT_PHASE: put(p, "wait m parity %d\n", s->amount); break;
    case COMMIT: put(p, "commit g\n"); break;
    case WAIT_GROUP: put(p, "wait g pending %d\n", s->amount); break;
    default: put(p, "drain all\n"); break;
    }
}

static void make_program(program *p, spad__random *random) {
    *p = (program){.rounds = 1 + (int)spad__random_below(random, ROUNDS)};
    put(p, "kernel k on sm_100\nparam R = %d\nunit cp on copy free\nunit mma on tensor serial\n",
        p->rounds);
    put(p,
        "counter c0 = 1\ncounter c1\nbarrier all count 2\nmbarrier m count 1\ngroup g\ninit m\n");
    for (int a = 0; a < AGENTS; a++) {
        p->counts[a] = 1 + (int)spad__random_below(random, STEPS);
        put(p, "agent a%d { for i in 0..R {\n", a);
        for (int i = 0; i < p->counts[a]; i++) {
            p->steps[a][i] = make_step(random);
            put_step(p, &p->steps[a][i], a * STEPS + i);
        }
        put(p, "} }\n");
    }
}

/* ---- the model --------------------------------------------------------------------- */

typedef struct queued {
    const step *step;
    int name;
    int agent;
    int bundle;
} queued;

/* An agent, or the queue of a unit for an agent. */
typedef struct actor {
    bool waits_for_engine;
    int since;
    bool works;
    int until;
    queued work;
    /* agents */
    int round;
    int at;
    bool has_contributed;
    int wanted_phase;
    int running[64]; /* per bundle */
    int bundles;     /* the last is open */
    /* units */
    queued queue[LOG_MAX];
    int head;
    int count;
} actor;

typedef struct logged {
    int name;
    int start;
    int end;
} logged;

typedef struct world {
    const program *p;
    actor actors[ACTORS];
    bool busy[ENGINES];
    int counters[2];
    int arrived;
    int phase;
    int m_phase;
    int now;
    logged log[LOG_MAX];
    int log_count;
} world;

static void end_work(world *w, int number) {
    actor *a = &w->actors[number];
    const step *s = a->work.step;
    a->works = false;
    w->busy[s->engine] = false;
    if (s->signals >= 0) w->counters[s->signals]++;
    if (s->in_group) w->actors[a->work.agent].running[a->work.bundle]--;
    if (number < AGENTS) {
        a->at++;
    } else {
        a->head++;
    }
}

static int queue_of(int agent, int unit) {
    return AGENTS + unit * AGENTS + agent;
}

/* Has everything ended that an agent has issued? */
static bool is_drained(const world *w, int agent) {
    for (int u = 0; u < UNITS; u++) {
        const actor *queue = &w->actors[queue_of(agent, u)];
        if (queue->head < queue->count) return false;
    }
    return true;
}

static void contribute(world *w) {
    if (++w->arrived == 2) {
        w->arrived = 0;
        w->phase++;
    }
}

/* Tries a step that is no operation. */
static bool passes(world *w, actor *a, const step *s) {
    switch (s->kind) {
    case SIGNAL: w->counters[s->counter]++; return true;
    case TAKE:
        if (w->counters[s->counter] < 1) return false;
        w->counters[s->counter]--;
        return true;
    case WAIT: return w->counters[s->counter] >= s->amount;
    case ARRIVE: contribute(w); return true;
    case SYNC:
        if (!a->has_contributed) {
            a->has_contributed = true;
            a->wanted_phase = w->phase + 1;
            contribute(w);
        }
        if (w->phase < a->wanted_phase) return false;
        a->has_contributed = false;
        return true;
    case ARRIVE_PHASE: w->m_phase++; return true;
    case WAIT_PHASE: return w->m_phase % 2 != s->amount;
    case COMMIT: a->bundles++; return true;
    case WAIT_GROUP: {
        /* all but the newest `amount` committed bundles are done */
        for (int b = 0; b < a->bundles - s->amount; b++) {
            if (a->running[b] > 0) return false;
        }
        return true;
    }
    default: return is_drained(w, (int)(a - w->actors));
    }
}

/* An agent does what takes no time. */
static bool move_agent(world *w, int number) {
    actor *a = &w->actors[number];
    bool moved = false;
    while (!a->works && !a->waits_for_engine && a->round < w->p->rounds) {
        if (a->at == w->p->counts[number]) {
            a->at = 0;
            a->round++;
            continue;
        }
        const step *s = &w->p->steps[number][a->at];
        const queued q = {s, number * STEPS + a->at, number, a->bundles};
        if (s->in_group) a->running[a->bundles]++;
        if (s->unit >= 0) {
            actor *unit = &w->actors[queue_of(number, s->unit)];
            unit->queue[unit->count++] = q;
            a->at++;
        } else if (s->kind == OPERATION) {
            a->waits_for_engine = true;
            a->since = w->now;
            a->work = q;
        } else if (passes(w, a, s)) {
            a->at++;
        } else {
            return moved;
        }
        moved = true;
    }
    return moved;
}

static bool move_unit(world *w, int number) {
    actor *a = &w->actors[number];
    bool moved = false;
    while (!a->works && !a->waits_for_engine && a->head < a->count) {
        const queued *q = &a->queue[a->head];
        if (q->step->kind == OPERATION) {
            a->waits_for_engine = true;
            a->since = w->now;
            a->work = *q;
        } else if (passes(w, a, q->step)) {
            a->head++;
        } else {
            return moved;
        }
        moved = true;
    }
    return moved;
}

/* The one that has waited longest gets its engine. */
static bool grant(world *w) {
    actor *next = NULL;
    for (int i = 0; i < ACTORS; i++) {
        actor *a = &w->actors[i];
        if (!a->waits_for_engine || w->busy[a->work.step->engine]) continue;
        if (next == NULL || a->since < next->since) next = a;
    }
    if (next == NULL) return false;
    next->waits_for_engine = false;
    next->works = true;
    next->until = w->now + next->work.step->cost;
    w->busy[next->work.step->engine] = true;
    w->log[w->log_count++] = (logged){next->work.name, w->now, next->until};
    return true;
}

static bool someone_works(const world *w) {
    for (int i = 0; i < ACTORS; i++) {
        if (w->actors[i].works) return true;
    }
    return false;
}

/* True: all came to their end. */
static bool run(world *w) {
    do {
        bool granted = true;
        while (granted) {
            bool moved = true;
            while (moved) {
                moved = false;
                for (int i = 0; i < ACTORS; i++) {
                    if (!w->actors[i].works || w->actors[i].until > w->now) continue;
                    end_work(w, i);
                    moved = true;
                }
                for (int i = 0; i < AGENTS; i++) moved |= move_agent(w, i);
                for (int i = AGENTS; i < ACTORS; i++) moved |= move_unit(w, i);
            }
            granted = false;
            while (grant(w)) granted = true;
        }
        w->now++;
    } while (someone_works(w));
    for (int i = 0; i < AGENTS; i++) {
        if (w->actors[i].round < w->p->rounds || !is_drained(w, i)) return false;
    }
    return true;
}

/* ---- tests ------------------------------------------------------------------------- */

static void assert_same(const program *p, const world *w, bool ends, const spad_kernel *kernel,
                        const spad_sim *sim) {
    const bool same_end = ends == (spad_sim_get_stuck(sim) == NULL);
    bool same = same_end && (size_t)w->log_count == spad__sim_row_count(sim);
    for (int i = 0; same && i < w->log_count; i++) {
        const spad__sim_row row = spad__sim_get_row(sim, (size_t)i);
        const spad_statement *s = spad_kernel_get_statement(kernel, (size_t)row.statement);
        same = atoi(s->name + 2) == w->log[i].name && row.start == w->log[i].start * 1000 &&
               row.end == w->log[i].end * 1000;
    }
    if (!same) print_error("%s", p->text);
    assert_true(same);
}

static void the_model_agrees(void **state) {
    (void)state;
    spad__random random = {31};
    static program p;
    static world w;
    int ended = 0;
    for (int round = 0; round < 4000; round++) {
        make_program(&p, &random);
        w = (world){.p = &p, .counters = {1, 0}};
        const bool ends = run(&w);
        spad_kernel *kernel = test_parse(p.text);
        spad_sim *sim;
        spad_error error;
        assert_ok(spad_sim_create(&sim, kernel, NULL, &error), &error);
        assert_same(&p, &w, ends, kernel, sim);
        ended += ends;
        spad_sim_destroy(sim);
        spad_kernel_destroy(kernel);
    }
    print_message("%d of 4000 programs end, the others wait forever\n", ended);
    assert_true(ended > 1000 && ended < 4000);
}

static int64_t total_waiting(const spad_sim *sim) {
    int64_t total = 0;
    for (size_t i = 0; i < sim->waits.count; i++) {
        total += sim->waits.items[i].total;
    }
    return total;
}

/* Returns whether something was skipped. */
static bool compare_with_skipping(const spad_kernel *kernel) {
    const spad_sim_options all = {.no_repeat = true};
    const spad_sim_options early = {.repeat_after = 1};
    spad_sim *run_all;
    spad_sim *skip;
    spad_error error;
    assert_ok(spad_sim_create(&run_all, kernel, &all, &error), &error);
    assert_ok(spad_sim_create(&skip, kernel, &early, &error), &error);
    const spad_sim_totals one = spad_sim_get_totals(run_all);
    const spad_sim_totals two = spad_sim_get_totals(skip);
    assert_int_equal(one.makespan, two.makespan);
    assert_int_equal(one.operations, two.operations);
    assert_int_equal(one.bound, two.bound);
    assert_int_equal(spad_sim_get_stuck(run_all) == NULL, spad_sim_get_stuck(skip) == NULL);
    assert_int_equal(total_waiting(run_all), total_waiting(skip));
    const size_t rows[2] = {spad__sim_row_count(run_all), spad__sim_row_count(skip)};
    if (rows[0] > 0) {
        const spad__sim_row a = spad__sim_get_row(run_all, rows[0] - 1);
        const spad__sim_row b = spad__sim_get_row(skip, rows[1] - 1);
        assert_int_equal(a.start, b.start);
        assert_int_equal(a.statement, b.statement);
        for (size_t i = 0; i < a.value_count; i++) assert_int_equal(a.values[i], b.values[i]);
    }
    const bool skipped = skip->repeats.count > 0;
    spad_sim_destroy(run_all);
    spad_sim_destroy(skip);
    return skipped;
}

static void skipping_changes_nothing(void **state) {
    (void)state;
    spad__random random = {8};
    static program p;
    int skipped = 0;
    for (int round = 0; round < 300; round++) {
        make_program(&p, &random);
        const spad_define define = {"R", 300 + (int64_t)spad__random_below(&random, 100)};
        const spad_kernel_options options = {.defines = &define, .define_count = 1};
        spad_kernel *kernel = test_parse_with(p.text, &options);
        skipped += compare_with_skipping(kernel);
        spad_kernel_destroy(kernel);
    }
    print_message("%d of 300 programs repeat themselves\n", skipped);
    assert_true(skipped > 30);
}

static void examples_repeat_themselves(void **state) {
    (void)state;
    static const struct {
        const char *file;
        const char *param;
    } cases[] = {{"07_gemm_sm80", "KT"},
                 {"08_gemm_sm90", "KT"},
                 {"10_gemm_sm100", "TILES"},
                 {"11_add_flags", "STEPS"},
                 {"12_gemm_cube", "TILES"}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char path[512];
        snprintf(path, sizeof path, TEST_KERNELS "/%s.spad", cases[i].file);
        char *text = test_read_file(path);
        for (int64_t n = 2001; n < 2004; n++) {
            const spad_define define = {cases[i].param, n};
            const spad_kernel_options options = {.defines = &define, .define_count = 1};
            spad_kernel *kernel = test_parse_with(text, &options);
            const bool skipped = compare_with_skipping(kernel);
            if (!skipped) print_error("%s does not repeat itself\n", cases[i].file);
            assert_true(skipped);
            spad_kernel_destroy(kernel);
        }
        free(text);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_model_agrees),
        cmocka_unit_test(skipping_changes_nothing),
        cmocka_unit_test(examples_repeat_themselves),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
