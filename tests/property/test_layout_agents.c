/* SPDX-License-Identifier: Apache-2.0
 *
 * Layouts of kernels with agents against brute force. Random kernels: two agents and the main
 * program write and read three tiles of one size, as a whole or in pieces, in loops or not, and
 * hand over by counters. Two of the tiles may be those of one tensor. For a kernel that is right
 * with all tiles apart
 *   - the layout that was made is right, by an executor that visits every execution;
 *   - if the layout claims that none is lower, none is: every way to put the tiles on top of each
 *     other that is lower is wrong, by the same executor.
 *
 *     test_layout_agents [KERNELS [SEED]]
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "spad/spad.h"
#include "support/executor.h"
#include "support/kernels.h"
#include "support/random_text.h"
#include "support/support.h"

enum { TILES = 3, BYTES = 64, STEPS = 5, LEAST_TO_COUNT = 1000 };

static int64_t kernels = 20000;
static uint64_t seed = 16;

/* ---- kernels ----------------------------------------------------------------------- */

static void put_write(text *t, spad__random *random, int tile) {
    if (below(random, 3) > 0)
        put(t, " simt w writes t%d\n", tile);
    else
        put(t, " simt w writes t%d(0..32)\n simt v writes t%d(32..64)\n", tile, tile);
}

/* A step of an agent: tile t is written and read, or a hand-over. */
static void put_step(text *t, spad__random *random, int agent, bool looped) {
    const int tile = below(random, TILES);
    switch (below(random, 5)) {
    case 0: put(t, " simt w writes t%d\n simt r reads t%d\n", tile, tile); break;
    case 1: put_write(t, random, tile); break;
    case 2: put(t, " simt r reads t%d\n", tile); break;
    case 3: put(t, " signal c%d\n", agent); break;
    default:
        if (looped)
            put(t, " take c%d\n", 1 - agent);
        else
            put(t, " wait c%d >= %d\n", 1 - agent, 1 + below(random, 2));
        break;
    }
}

/* The programs, without the declarations of the tiles. */
static void put_programs(text *t, spad__random *random) {
    const bool looped = below(random, 3) == 0;
    const int steps = 2 + below(random, STEPS - 1);
    for (int tile = 0; tile < TILES; tile++)
        if (below(random, 4) == 0) put(t, "simt w writes t%d\n", tile);
    for (int agent = 0; agent < 2; agent++) {
        put(t, "agent a%d {\n", agent);
        if (looped) put(t, " for i in 0..2 {\n");
        for (int s = 0; s < (looped && steps > 4 ? 4 : steps); s++)
            put_step(t, random, agent, looped);
        if (looped) put(t, " }\n");
        put(t, "}\n");
    }
    for (int tile = 0; tile < TILES; tile++)
        if (below(random, 4) == 0) put(t, "simt r reads t%d\n", tile);
}

/* The kernel with its tiles at addresses. */
static spad_kernel *parse_at(const char *programs, const int *places) {
    text t = {.used = 0};
    put(&t, "kernel k on sm_90\ncounter c0\ncounter c1\n");
    for (int tile = 0; tile < TILES; tile++)
        put(&t, "tensor t%d : shared u8 (%d) at %d\n", tile, BYTES, places[tile] * BYTES);
    put(&t, "%s", programs);
    return test_parse(t.bytes);
}

/* The kernel with its tiles placed by the planner. `pair`: t1 and t2 are those of one tensor. */
static spad_kernel *parse_free(const char *programs, bool pair) {
    text t = {.used = 0};
    put(&t, "kernel k on sm_90\ncounter c0\ncounter c1\ntensor t0 : shared u8 (%d)\n", BYTES);
    if (pair)
        put(&t, "tensor u : shared u8 [2] (%d)\n", BYTES);
    else
        put(&t, "tensor t1 : shared u8 (%d)\ntensor t2 : shared u8 (%d)\n", BYTES, BYTES);
    for (const char *c = programs; *c != '\0'; c++) {
        const bool tile = pair && c[0] == 't' && (c[1] == '1' || c[1] == '2');
        if (tile)
            put(&t, "u[%d]", *++c - '1');
        else
            put(&t, "%c", *c);
    }
    return test_parse(t.bytes);
}

/* ---- the oracle -------------------------------------------------------------------- */

static bool is_right(const spad_kernel *kernel, const spad_layout *layout, bool *decided) {
    const executor_options options = {.layout = layout};
    const executor_result result = executor_run(kernel, &options);
    *decided = result.decided && !result.unmodelled && !result.walk_failed && !result.takers;
    return result.decided && result.wrong == 0;
}

static bool is_used(const char *programs, int tile) {
    char name[16];
    snprintf(name, sizeof name, "t%d", tile);
    return strstr(programs, name) != NULL;
}

/* The fewest places for the tiles that are used such that the kernel is right. */
static int fewest_places(const char *programs, bool *decided) {
    int fewest = TILES + 1;
    *decided = true;
    for (int code = 0; code < 27; code++) {
        const int places[TILES] = {code % 3, code / 3 % 3, code / 9};
        int most = 0;
        for (int tile = 0; tile < TILES; tile++)
            if (is_used(programs, tile)) most = places[tile] + 1 > most ? places[tile] + 1 : most;
        if (most >= fewest) continue;
        spad_kernel *k = parse_at(programs, places);
        bool sure;
        if (is_right(k, NULL, &sure)) fewest = most;
        *decided = *decided && sure;
        spad_kernel_destroy(k);
    }
    return fewest;
}

typedef struct tally {
    int right;
    int lower;  /* than with all tiles apart */
    int proved; /* and none is lower */
} tally;

static void one_kernel(spad__random *random, tally *count) {
    text programs = {.used = 0};
    put_programs(&programs, random);
    const bool pair = below(random, 2) == 0;
    spad_kernel *k = parse_free(programs.bytes, pair);
    bool sure;
    if (!is_right(k, NULL, &sure) || !sure) {
        spad_kernel_destroy(k);
        return;
    }
    count->right++;
    spad_error error;
    spad_layout *layout;
    assert_ok(spad_layout_create_checked(&layout, NULL, k, NULL, NULL, &error), &error);
    if (!is_right(k, layout, &sure) && sure) fail_msg("the layout is wrong:\n%s", programs.bytes);
    const spad_layout_space *row = spad_layout_get_space(layout, 0);
    int used = 0;
    for (int tile = 0; tile < TILES; tile++) used += is_used(programs.bytes, tile);
    if (row != NULL && row->height < used * BYTES) count->lower++;
    if (row != NULL && row->verdict == SPAD_PLAN_OPTIMAL) {
        const int fewest = fewest_places(programs.bytes, &sure);
        if (sure && fewest * BYTES != row->height)
            fail_msg("%d places are enough, the layout has %lld B%s:\n%s", fewest,
                     (long long)row->height, pair ? ", t1 and t2 are of one tensor" : "",
                     programs.bytes);
        count->proved += sure;
    }
    spad_layout_destroy(layout);
    spad_kernel_destroy(k);
}

static void layouts_are_right_and_the_lowest(void **state) {
    (void)state;
    spad__random random = {seed};
    tally count = {0};
    for (int64_t i = 0; i < kernels; i++) one_kernel(&random, &count);
    print_message("%lld kernels: %d right, %d lower than apart, %d proved the lowest\n",
                  (long long)kernels, count.right, count.lower, count.proved);
    if (kernels >= LEAST_TO_COUNT) assert_true(count.lower > 50 && count.proved > 50);
}

int main(int argc, char **argv) {
    if (argc > 1) kernels = atoll(argv[1]);
    if (argc > 2) seed = strtoull(argv[2], NULL, 10);
    const struct CMUnitTest tests[] = {cmocka_unit_test(layouts_are_right_and_the_lowest)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
