/* SPDX-License-Identifier: Apache-2.0
 *
 * Several memories against brute force: every memory of every phase of every buffer is tried, and
 * every offset of every stay; the least cost is the one that was proved. The same problem as a CSV
 * text has the same cost, and the rows that are written are a plan. Every two of the rules that a
 * file with a choice of memories can have are in at least one text of a hundred, on one row.
 *
 *     test_tiers_exact [PROBLEMS [SEED [table]]]
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/random.h"
#include "plan/tiers/tiers.h"
#include "spad/experimental/spaces.h"
#include "support/rarest_pairs.h"
#include "support/support.h"

enum { BUFFERS = 4, USES = 3, PHASES = 2 * USES - 1, MEMORIES = 3, MOMENTS = 6, STAYS = 12 };

static int64_t problems = 5000;
static uint64_t seed = 2026;
static bool table;

/* ---- rules ------------------------------------------------------------------------- */

typedef enum rule {
    END,
    EMPTY,
    ALIGNMENT,
    CAPACITY,
    CHOICE,
    ANY,
    USES_COLUMN,
    HOME,
    KEPT,
    CONSTANT,
    ALIGNED,
    GRANULE,
    RULES
} rule;

static const char *const rule_names[RULES] = {"end",    "size 0",     "alignment",     "capacity",
                                              "choice", "any memory", "uses",          "home",
                                              "kept",   "constant",   "aligned space", "granule"};

static int64_t texts;
static int64_t met[RULES][RULES]; /* texts in which a row has both */

typedef struct stay {
    int buffer, memory, lower, upper;
    int64_t offset;
} stay;

typedef struct oracle {
    int memories;
    spad_tier memory[MEMORIES];
    int count;
    spad__tier_buffer buffer[BUFFERS];
    int64_t uses[BUFFERS][USES];
    int where[BUFFERS][PHASES];
    int64_t least; /* -1: nothing fits */
} oracle;

static int64_t move(const oracle *o, const spad__tier_buffer *b, int from, int to) {
    if (from == to || (b->constant && (int)b->home == to)) return 0;
    return b->size * (o->memory[from].cost + o->memory[to].cost);
}

static int64_t cost_of(const oracle *o, int i, const int *where) {
    const spad__tier_buffer *b = &o->buffer[i];
    const int last = 2 * (int)b->use_count - 2;
    int64_t cost = 0;
    for (int k = 0; k <= last; k++) {
        if (k % 2 == 0) cost += b->size * o->memory[where[k]].cost;
        if (k > 0) cost += move(o, b, where[k - 1], where[k]);
    }
    if (b->home != SPAD__NO_MEMORY) cost += move(o, b, (int)b->home, where[0]);
    if (b->kept) cost += move(o, b, where[last], (int)b->home);
    return cost;
}

static int list_stays(const oracle *o, int memory, stay *out) {
    int count = 0;
    for (int i = 0; i < o->count; i++) {
        const spad__tier_buffer *b = &o->buffer[i];
        const int last = 2 * (int)b->use_count - 2;
        for (int k = 0; k <= last; k++) {
            const int lower = (int)b->uses[k / 2] + k % 2;
            const int upper = k % 2 == 0 ? lower + 1 : (int)b->uses[k / 2 + 1];
            if (o->where[i][k] != memory) continue;
            if (k > 0 && o->where[i][k - 1] == memory)
                out[count - 1].upper = upper;
            else
                out[count++] = (stay){i, memory, lower, upper, 0};
        }
    }
    return count;
}

static bool share(const oracle *o, const stay *a, const stay *b) {
    if (a->lower == a->upper || b->lower == b->upper) return false; /* no time */
    return a->lower < b->upper && b->lower < a->upper &&
           a->offset < b->offset + o->buffer[b->buffer].size &&
           b->offset < a->offset + o->buffer[a->buffer].size;
}

/* Can the stays from number k on be placed? */
static bool place_stays(const oracle *o, stay *stays, int count, int k, int64_t capacity) {
    if (k == count) return true;
    const spad__tier_buffer *b = &o->buffer[stays[k].buffer];
    if (stays[k].lower == stays[k].upper) /* no time needs no room */
        return place_stays(o, stays, count, k + 1, capacity);
    for (int64_t at = 0; at + b->size <= capacity; at += b->alignment) {
        stays[k].offset = at;
        bool free = true;
        for (int j = 0; j < k && free; j++) free = !share(o, &stays[j], &stays[k]);
        if (free && place_stays(o, stays, count, k + 1, capacity)) return true;
        if (b->size == 0) break; /* anywhere is as good */
    }
    return false;
}

static bool all_fit(const oracle *o) {
    for (int m = 0; m < o->memories; m++) {
        stay stays[STAYS];
        const int count = list_stays(o, m, stays);
        if (o->memory[m].capacity == SPAD_UNBOUNDED) continue;
        if (!place_stays(o, stays, count, 0, o->memory[m].capacity)) return false;
    }
    return true;
}

static void try_memories(oracle *o, int i, int k, int64_t cost) {
    if (o->least >= 0 && cost >= o->least) return;
    if (i == o->count) {
        if (all_fit(o)) o->least = cost;
        return;
    }
    const int phases = 2 * (int)o->buffer[i].use_count - 1;
    if (k == phases) {
        try_memories(o, i + 1, 0, cost + cost_of(o, i, o->where[i]));
        return;
    }
    for (int m = 0; m < o->memories; m++) {
        if ((o->buffer[i].memories >> m & 1) == 0) continue;
        o->where[i][k] = m;
        try_memories(o, i, k + 1, cost);
    }
}

/* ---- random problems --------------------------------------------------------------- */

static void random_tiers(spad__random *random, oracle *o, spad__tiers *tiers) {
    spad_error error;
    o->memories = (int)spad__random_in(random, 1, MEMORIES);
    for (int m = 0; m < o->memories; m++) {
        const bool open = m + 1 == o->memories && spad__random_below(random, 4) > 0;
        o->memory[m] =
            (spad_tier){.capacity = open ? SPAD_UNBOUNDED : spad__random_in(random, 2, 9),
                        .cost = m + spad__random_in(random, 0, 2)};
        assert_ok(spad__tiers_add_memory(NULL, tiers, &o->memory[m], &error), &error);
    }
    const int most = o->memories == MEMORIES ? BUFFERS - 1 : BUFFERS;
    o->count = (int)spad__random_in(random, 1, most);
    for (int i = 0; i < o->count; i++) {
        spad__tier_buffer *b = &o->buffer[i];
        *b = (spad__tier_buffer){.size = spad__random_in(random, 0, 5), .home = SPAD__NO_MEMORY};
        b->alignment = spad__random_below(random, 4) == 0 ? 2 : 1;
        b->uses = o->uses[i];
        const int limit = o->memories == MEMORIES ? USES - 1 : USES;
        for (int64_t t = 0; t < MOMENTS && (int)b->use_count < limit; t++)
            if (spad__random_below(random, 3) == 0) o->uses[i][b->use_count++] = t;
        if (b->use_count == 0) o->uses[i][b->use_count++] = 2;
        b->memories = (uint32_t)spad__random_in(random, 1, (1 << o->memories) - 1);
        if (spad__random_below(random, 2) == 0) b->memories = (1U << o->memories) - 1;
        if (spad__random_below(random, 3) > 0) continue;
        b->home = (size_t)spad__random_below(random, (uint64_t)o->memories);
        b->constant = spad__random_below(random, 2) == 0;
        b->kept = spad__random_below(random, 2) == 0;
    }
    for (int i = 0; i < o->count; i++)
        assert_ok(spad__tiers_add(NULL, tiers, &o->buffer[i], &error), &error);
}

/* ---- the comparison ---------------------------------------------------------------- */

/* Puts the stays of a result into the oracle, phase by phase, and checks all rules. */
static void check_result(oracle *o, const spad_tiers_result *r) {
    size_t at = 0;
    int64_t cost = 0;
    for (int i = 0; i < o->count; i++) {
        const spad__tier_buffer *b = &o->buffer[i];
        const int last = 2 * (int)b->use_count - 2;
        size_t mine = at;
        while (at < r->stay_count && r->stays[at].buffer == (size_t)i) at++;
        assert_true(mine < at);
        assert_int_equal(r->stays[mine].lower, b->uses[0]);
        assert_int_equal(r->stays[at - 1].upper, b->uses[b->use_count - 1] + 1);
        for (int k = 0; k <= last; k++) {
            const int64_t lower = b->uses[k / 2] + k % 2;
            const int64_t upper = k % 2 == 0 ? lower + 1 : b->uses[k / 2 + 1];
            if (lower == upper) { /* no time: where the next stay begins, or between two */
                const bool next = r->stays[mine].upper == lower;
                o->where[i][k] = (int)r->stays[mine].memory;
                if (next && mine + 1 < at && r->stays[mine + 1].lower == lower &&
                    r->stays[mine + 1].upper == lower)
                    o->where[i][k] = (int)r->stays[++mine].memory;
                continue;
            }
            if (lower >= r->stays[mine].upper) mine++;
            assert_true(mine < at && r->stays[mine].lower <= lower &&
                        upper <= r->stays[mine].upper);
            o->where[i][k] = (int)r->stays[mine].memory;
            assert_true(b->memories >> r->stays[mine].memory & 1);
        }
        cost += cost_of(o, i, o->where[i]);
    }
    assert_int_equal(at, r->stay_count);
    assert_int_equal(cost, r->cost);
    for (size_t a = 0; a < r->stay_count; a++) {
        const spad_tier_stay *x = &r->stays[a];
        const spad_tier *memory = &o->memory[x->memory];
        assert_true(x->offset >= 0 && x->offset % o->buffer[x->buffer].alignment == 0);
        if (x->lower < x->upper)
            assert_true(x->offset + o->buffer[x->buffer].size <= memory->capacity);
        for (size_t c = 0; c < a; c++) {
            const spad_tier_stay *y = &r->stays[c];
            if (x->memory != y->memory) continue;
            const stay p = {(int)x->buffer, 0, (int)x->lower, (int)x->upper, x->offset};
            const stay q = {(int)y->buffer, 0, (int)y->lower, (int)y->upper, y->offset};
            assert_false(share(o, &p, &q));
        }
    }
}

/* ---- as a text --------------------------------------------------------------------- */

static void append(char *text, size_t room, const char *before, int64_t number, const char *after) {
    const size_t length = strlen(text);
    snprintf(text + length, room - length, "%s%lld%s", before, (long long)number, after);
}

/* How a problem is written: what another text could say as well, and rules of a chip. */
typedef struct wording {
    bool end;
    bool bare; /* uses at both ends of a life are left out, and the names of all memories */
    bool ruled;
    spad_space space[MEMORIES];
} wording;

static const char *const memory_names[MEMORIES] = {"m0", "m1", "m2"};

/* Where every row names one memory, plan_rules has the rules of a chip. */
static bool has_choice(const oracle *o) {
    for (int i = 0; i < o->count; i++)
        if ((o->buffer[i].memories & (o->buffer[i].memories - 1)) != 0) return true;
    return false;
}

static wording random_wording(const oracle *o, spad__random *random) {
    wording w = {.end = spad__random_below(random, 2) == 0,
                 .bare = spad__random_below(random, 2) == 0,
                 .ruled = spad__random_below(random, 2) == 0 && has_choice(o)};
    const int64_t granule = spad__random_in(random, 1, 3);
    for (int m = 0; m < MEMORIES; m++)
        w.space[m] = (spad_space){.name = memory_names[m],
                                  .lanes = 1,
                                  .bytes = SPAD_UNBOUNDED,
                                  .alignment = INT64_C(1) << spad__random_below(random, 3),
                                  .granule = granule};
    return w;
}

static bool has_bare_uses(const spad__tier_buffer *b) {
    return b->use_count < 3;
}

/* The same problem with the rules of the chip: an alignment that suits all memories of a buffer,
 * and memories of whole granules. */
static oracle ruled_oracle(const oracle *o, const wording *w) {
    oracle r = *o;
    for (int m = 0; m < r.memories; m++)
        if (r.memory[m].capacity != SPAD_UNBOUNDED)
            r.memory[m].capacity -= r.memory[m].capacity % w->space[m].granule;
    for (int i = 0; i < r.count; i++) {
        r.buffer[i].uses = r.uses[i];
        for (int m = 0; m < r.memories; m++) {
            if ((r.buffer[i].memories >> m & 1) == 0) continue;
            int64_t common = r.buffer[i].alignment;
            while (common % w->space[m].alignment != 0 || common % w->space[m].granule != 0)
                common += r.buffer[i].alignment;
            r.buffer[i].alignment = common;
        }
    }
    r.least = -1;
    try_memories(&r, 0, 0, 0);
    return r;
}

static void count_rules(const oracle *o, const wording *w) {
    bool both[RULES][RULES] = {{0}};
    texts++;
    for (int i = 0; i < o->count; i++) {
        const spad__tier_buffer *b = &o->buffer[i];
        const bool all = b->memories + 1 == 1U << o->memories;
        bool has[RULES] = {[END] = w->end,
                           [EMPTY] = b->size == 0,
                           [ALIGNMENT] = b->alignment > 1,
                           [CHOICE] = (b->memories & (b->memories - 1)) != 0,
                           [ANY] = all && w->bare,
                           [USES_COLUMN] = !(w->bare && has_bare_uses(b)),
                           [HOME] = b->home != SPAD__NO_MEMORY,
                           [KEPT] = b->kept,
                           [CONSTANT] = b->constant};
        for (int m = 0; m < o->memories; m++) {
            has[CAPACITY] = has[CAPACITY] || o->memory[m].capacity != SPAD_UNBOUNDED;
            has[ALIGNED] = has[ALIGNED] || (w->ruled && w->space[m].alignment > 1);
            has[GRANULE] = has[GRANULE] || (w->ruled && w->space[m].granule > 1);
        }
        for (int x = 0; x < RULES; x++)
            for (int y = 0; y < x; y++) both[x][y] = both[x][y] || (has[x] && has[y]);
    }
    for (int x = 0; x < RULES; x++)
        for (int y = 0; y < x; y++) met[x][y] += both[x][y];
}

static int64_t rules_met(int x, int y, const void *context) {
    (void)context;
    return x > y ? met[x][y] : met[y][x];
}

static void write_problem(const oracle *o, const wording *w, char *text, size_t room) {
    snprintf(text, room, "id,lower,%s,size,alignment,constant,kept,home,uses,space\n",
             w->end ? "end" : "upper");
    for (int i = 0; i < o->count; i++) {
        const spad__tier_buffer *b = &o->buffer[i];
        append(text, room, "b", i, ",");
        append(text, room, "", b->uses[0], ",");
        append(text, room, "", b->uses[b->use_count - 1] + !w->end, ",");
        append(text, room, "", b->size, ",");
        append(text, room, "", b->alignment, ",");
        append(text, room, "", b->constant, ",");
        append(text, room, "", b->kept, b->home == SPAD__NO_MEMORY ? ",," : ",m");
        if (b->home != SPAD__NO_MEMORY) append(text, room, "", (int64_t)b->home, ",");
        const bool bare = w->bare && has_bare_uses(b);
        for (size_t k = 0; k < b->use_count && !bare; k++) append(text, room, " ", b->uses[k], "");
        snprintf(text + strlen(text), room - strlen(text), ",");
        const char *before = "m";
        const bool all = b->memories + 1 == 1U << o->memories;
        for (int m = 0; m < o->memories; m++) {
            if ((b->memories >> m & 1) == 0 || (all && w->bare)) continue;
            append(text, room, before, m, "");
            before = "|m";
        }
        snprintf(text + strlen(text), room - strlen(text), "\n");
    }
}

static spad_spaces *read_problem(const oracle *o, const spad_target *target, const char *text) {
    spad_error error;
    spad_spaces *spaces;
    assert_ok(spad_spaces_create(&spaces, NULL, &error), &error);
    if (target != NULL) spad_spaces_set_target(spaces, target);
    for (int m = 0; m < o->memories; m++) {
        const spad_tier memory = {memory_names[m], o->memory[m].capacity, o->memory[m].cost};
        assert_ok(spad_spaces_add_memory(NULL, spaces, &memory, &error), &error);
    }
    assert_ok(spad_spaces_read_csv(spaces, text, strlen(text), "t.csv", NULL, &error), &error);
    return spaces;
}

static void compare_text(const oracle *given, spad__random *random) {
    enum { ROOM = 4096 };
    char text[ROOM];
    spad_error error;
    spad_spaces_result *r;
    const wording w = random_wording(given, random);
    const spad_target target = {.name = "test", .space_count = MEMORIES, .spaces = w.space};
    const oracle ruled = w.ruled ? ruled_oracle(given, &w) : *given;
    const oracle *o = &ruled;
    write_problem(given, &w, text, sizeof text);
    count_rules(given, &w);
    spad_spaces *spaces = read_problem(given, w.ruled ? &target : NULL, text);
    assert_ok(spad_spaces_solve(&r, spaces, NULL, &error), &error);
    assert_int_equal(r->verdict <= SPAD_PLAN_FEASIBLE, o->least >= 0);
    if (r->tiers != NULL && o->least >= 0) assert_int_equal(r->tiers->cost, o->least);
    if (o->least >= 0) {
        test_text sink;
        test_text_init(&sink);
        assert_ok(spad_spaces_write_csv(spaces, r, text, strlen(text), &sink.sink, &error), &error);
        spad_spaces *again = read_problem(given, NULL, sink.bytes); /* pins that do not clash */
        spad_spaces_result *same;
        assert_ok(spad_spaces_solve(&same, again, NULL, &error), &error);
        assert_true(same->tiers == NULL && same->verdict == SPAD_PLAN_OPTIMAL);
        spad_spaces_result_destroy(same);
        spad_spaces_destroy(again);
        test_text_free(&sink);
    }
    spad_spaces_result_destroy(r);
    spad_spaces_destroy(spaces);
}

static void compare_one(spad__random *random, bool text, int64_t *impossible, int64_t *moved) {
    oracle o = {.least = -1};
    spad_error error;
    spad__tiers *tiers;
    spad_tiers_result *r;
    assert_ok(spad__tiers_create(&tiers, NULL, &error), &error);
    random_tiers(random, &o, tiers);
    try_memories(&o, 0, 0, 0);
    if (text) compare_text(&o, random);
    assert_ok(spad__tiers_solve(&r, tiers, NULL, &error), &error);
    if (o.least < 0) {
        assert_int_equal(r->verdict, SPAD_PLAN_INFEASIBLE);
        ++*impossible;
    } else {
        assert_int_equal(r->verdict, SPAD_PLAN_OPTIMAL);
        assert_int_equal(r->cost, o.least);
        assert_int_equal(r->bound, o.least);
        check_result(&o, r);
        *moved += r->moved > 0;
    }
    spad__tiers_result_destroy(r);
    const spad_plan_options few = {.node_limit = 1 + (int64_t)spad__random_below(random, 4)};
    assert_ok(spad__tiers_solve(&r, tiers, &few, &error), &error);
    if (o.least >= 0) assert_true(r->bound <= o.least && o.least <= r->cost);
    if (r->verdict == SPAD_PLAN_INFEASIBLE) assert_true(o.least < 0);
    if (r->verdict <= SPAD_PLAN_FEASIBLE) check_result(&o, r);
    spad__tiers_result_destroy(r);
    spad__tiers_destroy(tiers);
}

static void tiers_agree_with_brute_force(void **state) {
    (void)state;
    spad__random random = {seed};
    int64_t impossible = 0;
    int64_t moved = 0;
    for (int64_t n = 0; n < problems; n++)
        compare_one(&random, problems > 5000 || n % 4 == 0, &impossible, &moved);
    if (table) {
        write_rarest_pairs("rule", rule_names, RULES, rules_met, NULL);
        printf("%lld texts\n", (long long)texts);
    }
    if (problems < 1000) return;
    assert_true(impossible > problems / 50 && moved > problems / 20);
    for (int x = 0; x < RULES; x++)
        for (int y = 0; y < x; y++)
            if (met[x][y] < texts / 100)
                fail_msg("%s and %s meet in %lld texts", rule_names[x], rule_names[y],
                         (long long)met[x][y]);
}

int main(int argc, char **argv) {
    if (argc > 1) problems = strtoll(argv[1], NULL, 10);
    if (argc > 2) seed = strtoull(argv[2], NULL, 10);
    table = argc > 3 && strcmp(argv[3], "table") == 0;
    const struct CMUnitTest tests[] = {cmocka_unit_test(tiers_agree_with_brute_force)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
