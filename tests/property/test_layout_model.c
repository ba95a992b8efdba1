/* SPDX-License-Identifier: Apache-2.0
 *
 * Layouts against full walks. The walk shows when each life of each slot is first and last
 * touched; two that meet in time must not meet in bytes, and no planned slot may meet bytes
 * that the kernel has placed while those are in use. The layout knows nothing of
 * iterations, the walk nothing of the text, so the two can only agree if both are right.
 *
 * Random kernels have loops, conditions, declarations at all depths, rings, aliases and
 * fixed places; the shipped kernels are examined in the same way.
 */
#include "base/error.h"
#include "support/kernels.h"
#include "support/support.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/random.h"
#include "spad/check.h"
#include "spad/experimental/walk.h"
#include "spad/layout.h"
#include "support/files.h"

enum { KERNELS = 3000, TEXT_MAX = 1 << 16, INSTANCES = 20000 };

/* ---- one life of one place in a walk ----------------------------------------------- */

typedef struct instance {
    int64_t home;
    int64_t slot;
    int64_t life;
    bool planned;
    size_t space;
    spad_rect rect; /* of the whole slot */
    int64_t first;
    int64_t last;
    bool by_agents;
} instance;

typedef struct record {
    const spad_kernel *kernel;
    instance *items;
    int count;
    int64_t *lives; /* per tensor */
    int64_t fork;
    int64_t join;
} record;

static instance *find_instance(record *r, const instance *like) {
    for (int i = r->count; i-- > 0;) {
        instance *item = &r->items[i];
        if (item->home == like->home && item->slot == like->slot && item->life == like->life &&
            item->rect.byte == like->rect.byte && item->rect.lane == like->rect.lane) {
            return item;
        }
    }
    assert_true(r->count < INSTANCES);
    r->items[r->count] = *like;
    return &r->items[r->count++];
}

/* The whole slot of the home, from a tile of it or of an alias. */
static spad_rect slot_rect(const spad_kernel *k, const spad_walk_access *a) {
    const spad_kernel_tensor *tensor = spad_kernel_get_tensor(k, (size_t)a->tensor);
    const spad_kernel_tensor *home = spad_kernel_get_tensor(k, (size_t)a->home);
    spad_rect rect = a->tile_rect;
    if (tensor->mode == SPAD_MODE_ALIAS) {
        rect.byte -= tensor->home_byte;
        if (tensor->home_tile >= 0) rect.byte -= a->tile % tensor->slots * tensor->home_step;
    }
    rect.lanes = home->tile_lanes;
    rect.bytes = home->tile_bytes;
    return rect;
}

static void note(record *r, const spad_walk_event *event, const spad_walk_access *a) {
    const spad_kernel_tensor *home = spad_kernel_get_tensor(r->kernel, (size_t)a->home);
    if (spad_kernel_get_target(r->kernel)->spaces[home->space].off_chip) return;
    assert_true(a->placed); /* every touched slot has a place */
    const instance like = {.home = a->home,
                           .slot = a->slot,
                           .life = r->lives[a->home],
                           .planned = home->mode == SPAD_MODE_AUTO,
                           .space = home->space,
                           .rect = slot_rect(r->kernel, a),
                           .first = event->time,
                           .last = event->time};
    instance *item = find_instance(r, &like);
    item->last = event->time;
    item->by_agents |= event->agent > 0;
}

static bool meet_in_time(const record *r, const instance *a, const instance *b) {
    int64_t from[2] = {a->first, b->first};
    int64_t to[2] = {a->last, b->last};
    const instance *both[2] = {a, b};
    for (int i = 0; i < 2; i++) {
        const unsigned flags = spad_kernel_get_tensor(r->kernel, (size_t)both[i]->home)->flags;
        if (both[i]->by_agents && from[i] > r->fork) from[i] = r->fork;
        if (both[i]->by_agents && to[i] < r->join) to[i] = r->join;
        if ((flags & SPAD_TENSOR_INPUT) != 0) from[i] = 0;
        if ((flags & SPAD_TENSOR_OUTPUT) != 0) to[i] = INT64_MAX;
    }
    return from[0] <= to[1] && from[1] <= to[0];
}

/* Compares all pairs with a planned one. Returns the pairs that share bytes in turns. */
static int compare_instances(const record *r) {
    int shared = 0;
    for (int i = 0; i < r->count; i++) {
        const instance *a = &r->items[i];
        for (int j = 0; j < i; j++) {
            const instance *b = &r->items[j];
            if (a->space != b->space || (a->home == b->home && a->slot == b->slot)) continue;
            if (!a->planned && !b->planned) continue;
            if (!spad_rect_overlaps(a->rect, b->rect)) continue;
            shared++;
            if (meet_in_time(r, a, b)) {
                const spad_kernel_tensor *x = spad_kernel_get_tensor(r->kernel, (size_t)a->home);
                const spad_kernel_tensor *y = spad_kernel_get_tensor(r->kernel, (size_t)b->home);
                print_error("%s slot %lld [%lld, %lld] and %s slot %lld [%lld, %lld]\n", x->name,
                            (long long)a->slot, (long long)a->first, (long long)a->last, y->name,
                            (long long)b->slot, (long long)b->first, (long long)b->last);
                fail();
            }
        }
    }
    return shared;
}

/* Rules that hold for every planned buffer, examined one by one. */
static void check_rules(const spad_kernel *k, const spad_layout *layout) {
    for (size_t i = 0; i < spad_layout_space_count(layout); i++) {
        const spad_layout_space *row = spad_layout_get_space(layout, i);
        const spad_space *space = &spad_kernel_get_target(k)->spaces[row->space];
        for (size_t b = 0; b < row->planned_count; b++) {
            const spad_layout_buffer *buffer =
                spad_layout_get_buffer(layout, row->first_buffer + b);
            for (int64_t s = 0; s < buffer->slots; s++) {
                const int64_t byte = buffer->rect.byte + s * buffer->stride;
                assert_int_equal(byte % buffer->alignment, 0);
                assert_int_equal(byte % space->alignment, 0);
                assert_true(byte >= 0 && byte + buffer->rect.bytes <= row->height);
                if (space->banks_exclusive) {
                    assert_int_equal(byte / space->bank_bytes,
                                     (byte + buffer->rect.bytes - 1) / space->bank_bytes);
                }
            }
            assert_int_equal(
                spad_space_check_lanes(space, buffer->rect.lane, buffer->rect.lanes, NULL),
                SPAD_OK);
        }
        assert_true(row->bound <= row->height && row->height <= row->capacity);
        assert_true(row->peak_bytes <= row->height);
    }
}

/* Walks with the places of a layout that fits. Returns the pairs that share bytes. */
static int check_layout(const spad_kernel *k, spad_layout *layout) {
    static instance items[INSTANCES];
    const spad_walk_options options = {.agent = SPAD_WALK_ALL, .layout = layout};
    record r = {.kernel = k, .items = items, .fork = -1, .join = -1};
    spad_walk *walk;
    spad_error error;
    const spad_walk_event *event;
    check_rules(k, layout);
    r.lives = calloc(spad_kernel_tensor_count(k) + 1, sizeof *r.lives);
    assert_non_null(r.lives);
    assert_ok(spad_walk_create(&walk, k, &options, &error), &error);
    do {
        if (spad_walk_next(&event, walk, &error) != SPAD_OK) break; /* what came before counts */
        if (event->kind == SPAD_WALK_TENSOR) r.lives[event->tensor]++;
        if (event->kind == SPAD_WALK_FORK) r.fork = event->time;
        if (event->kind == SPAD_WALK_JOIN) r.join = event->time;
        for (size_t i = 0; i < event->access_count; i++) note(&r, event, &event->accesses[i]);
    } while (event->kind != SPAD_WALK_END);
    spad_walk_destroy(walk);
    free(r.lives);
    return compare_instances(&r);
}

/* ---- random kernels ---------------------------------------------------------------- */

typedef struct maker {
    spad__random random;
    char text[TEXT_MAX];
    size_t used;
    int tensors;
    int loops;
    int statements;
    struct {
        int rank;
        int extent;
        bool aliased; /* can have aliases */
    } tensor[64];
} maker;

static int64_t pick(maker *m, int64_t low, int64_t high) {
    return spad__random_in(&m->random, low, high);
}

SPAD_PRINTF(2, 3) static void put(maker *m, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    m->used += (size_t)vsnprintf(m->text + m->used, TEXT_MAX - m->used, format, arguments);
    va_end(arguments);
    assert_true(m->used < TEXT_MAX - 1);
}

/* `open`: tensors that can be named, up to `visible`. */
static void put_tensor(maker *m, int *open, int *visible, bool top) {
    const int number = m->tensors++;
    const int mode = (int)pick(m, 0, 9);
    const int extent = (int)pick(m, 1, 4);
    const int lanes = pick(m, 0, 1) == 0 ? 128 : (int)pick(m, 1, 4) * 32;
    const bool psum = pick(m, 0, 4) == 0;
    m->tensor[number].rank = pick(m, 0, 2) > 0;
    m->tensor[number].extent = extent;
    m->tensor[number].aliased = mode < 8;
    const int parent = *visible > 0 ? open[pick(m, 0, *visible - 1)] : -1;
    if (mode >= 8 && parent >= 0 && m->tensor[parent].aliased) {
        m->tensor[number].rank = m->tensor[parent].rank;
        m->tensor[number].extent = m->tensor[parent].extent;
        put(m, "tensor t%d : sbuf u8 ", number);
        if (m->tensor[number].rank > 0) put(m, "[%d] ", m->tensor[number].extent);
        put(m, "(1, 1) alias of t%d\n", parent);
        open[(*visible)++] = number;
        return;
    }
    m->tensor[number].aliased = !psum && mode < 8;
    put(m, "tensor t%d : %s u8 ", number, psum ? "psum" : "sbuf");
    if (m->tensor[number].rank > 0) put(m, "[%d] ", extent);
    put(m, "(%d, %d)", lanes, (int)pick(m, 1, psum ? 2048 : 6000));
    if (mode == 0 && !psum) {
        put(m, " at %d step 700", (int)pick(m, 0, 20000));
    } else if (mode == 1 && m->tensor[number].rank > 0 && !psum) {
        put(m, " mod base %d free %d", (int)pick(m, 0, 20000), (int)pick(m, 1, 3));
    } else {
        if (m->tensor[number].rank > 0 && mode < 6) put(m, " ring %d", (int)pick(m, 1, 3));
        if (mode == 4) put(m, " align %d", 1 << pick(m, 0, 10));
    }
    if (top && pick(m, 0, 7) == 0) put(m, " input");
    if (top && pick(m, 0, 7) == 0) put(m, " output");
    put(m, "\n");
    open[(*visible)++] = number;
}

static void put_index(maker *m, int number, const int *loops, int depth) {
    if (m->tensor[number].rank == 0) return;
    if (depth == 0 || pick(m, 0, 3) == 0) {
        put(m, "[%d]", (int)pick(m, 0, m->tensor[number].extent - 1));
    } else {
        put(m, "[(i%d + %d) %% %d]", loops[pick(m, 0, depth - 1)], (int)pick(m, 0, 3),
            m->tensor[number].extent);
    }
}

static void put_block(maker *m, int *open, int visible, int *loops, int depth) {
    const int count = (int)pick(m, 1, 5);
    for (int i = 0; i < count && m->statements < 40; i++, m->statements++) {
        const int kind = (int)pick(m, 0, 9);
        if (kind <= 1 && m->tensors < 24) {
            put_tensor(m, open, &visible, false);
        } else if (kind <= 3 && depth < 3) {
            loops[depth] = m->loops++;
            put(m, "for i%d in %d..%d {\n", loops[depth], (int)pick(m, -1, 1), (int)pick(m, 1, 4));
            put_block(m, open, visible, loops, depth + 1);
            put(m, "}\n");
        } else if (kind == 4 && depth > 0) {
            put(m, "if i%d %s %d {\n", loops[depth - 1], pick(m, 0, 1) == 0 ? "==" : ">",
                (int)pick(m, 0, 2));
            put_block(m, open, visible, loops, depth);
            put(m, "}\n");
        } else if (visible > 0) {
            put(m, "scalar op");
            for (int a = 0; a < (int)pick(m, 1, 2); a++) {
                const int number = open[pick(m, 0, visible - 1)];
                put(m, "%s t%d", pick(m, 0, 1) == 0 ? " reads" : " writes", number);
                put_index(m, number, loops, depth);
            }
            put(m, "\n");
        }
    }
}

static void make_kernel(maker *m, uint64_t seed) {
    int open[64];
    int loops[4];
    int visible = 0;
    memset(m, 0, sizeof *m);
    m->random.state = seed;
    put(m, "kernel k on trn2\n");
    const int first = (int)pick(m, 1, 5);
    for (int i = 0; i < first; i++) put_tensor(m, open, &visible, true);
    put_block(m, open, visible, loops, 0);
    put_block(m, open, visible, loops, 0);
}

static void random_layouts_keep_lives_apart(void **state) {
    (void)state;
    static maker m;
    int fitted = 0;
    int shared = 0;
    for (uint64_t seed = 1; seed <= KERNELS; seed++) {
        make_kernel(&m, seed);
        spad_kernel *k;
        spad_layout *layout;
        spad_error error;
        const spad_status status =
            spad_kernel_parse(&k, m.text, strlen(m.text), "k", NULL, NULL, &error);
        if (status != SPAD_OK) print_error("%s\n%s", error.message, m.text);
        assert_int_equal(status, SPAD_OK);
        const spad_layout_options options = {.timeout_ns = 20000000};
        assert_ok(spad_layout_create(&layout, k, &options, &error), &error);
        if (spad_layout_fits(layout)) {
            fitted++;
            shared += check_layout(k, layout);
        }
        spad_layout_destroy(layout);
        spad_kernel_destroy(k);
    }
    assert_true(fitted > KERNELS / 2);
    assert_true(shared > KERNELS); /* the planner does reuse bytes */
}

/* ---- operations in flight ---------------------------------------------------------------
 * A kernel that is right when no two slots share bytes is right with the places of its layout:
 * the order check examines every pair of accesses to the same bytes. */

static spad_check_counts count_findings(const spad_kernel *k, spad_layout *layout) {
    const spad_check_options options = {.layout = layout, .no_advice = true, .one_shape = true};
    spad_check *check;
    spad_error error;
    assert_ok(spad_check_create(&check, k, &options, &error), &error);
    const spad_check_counts counts = spad_check_get_counts(check);
    if (layout != NULL && counts.errors > 0) {
        print_error("%s\n", spad_check_get_finding(check, 0)->message);
    }
    spad_check_destroy(check);
    return counts;
}

/* Statements of one program: copies in flight, commits, waits, and plain operations. */
static void put_flights(maker *m, const char *group, int depth) {
    const int count = (int)pick(m, 2, 7);
    for (int i = 0; i < count && m->statements < 40; i++, m->statements++) {
        const int t = (int)pick(m, 0, 4);
        const int kind = (int)pick(m, 0, 11);
        if (kind <= 2) {
            put(m, "cp load reads x writes t%d in %s\n", t, group);
        } else if (kind <= 4) {
            put(m, "commit %s\n", group);
        } else if (kind <= 6) {
            put(m, "commit %s\nwait %s pending %d\n", group, group, (int)pick(m, 0, 2) / 2);
        } else if (kind == 7) {
            put(m, "cp load reads x writes t%d\n", t);
        } else if (kind == 8 && depth < 2) {
            const int loop = m->loops++;
            put(m, "for i%d in 0..%d {\n", loop, (int)pick(m, 1, 3));
            put_flights(m, group, depth + 1);
            if (pick(m, 0, 1) == 0) {
                put(m, "if i%d == 0 {\n", loop);
                put_flights(m, group, depth + 1);
                put(m, "}\n");
            }
            put(m, "}\n");
        } else {
            put(m, "simt op writes t%d\n", t);
        }
    }
}

/* What runs on at the end of a block is wrong: most wait for it, and only there. */
static void make_flights(maker *m, uint64_t seed) {
    memset(m, 0, sizeof *m);
    m->random.state = seed;
    put(m, "kernel k on sm_90\nunit cp on copy free\ngroup g\ngroup h\ncounter done\n"
           "tensor x : global u8 (64) input\n");
    for (int i = 0; i < 5; i++) put(m, "tensor t%d : shared u8 (64)\n", i);
    put_flights(m, "g", 0);
    const bool agents = pick(m, 0, 1) == 0;
    if (agents) {
        for (int a = 0; a < 2; a++) {
            put(m, "agent a%d {\n", a);
            put_flights(m, a == 0 ? "g" : "h", 0);
            put(m, "signal done on cp\n}\n");
        }
        put_flights(m, "h", 0);
    }
    if (pick(m, 0, 7) > 0) put(m, "drain all\n%s", agents ? "wait done >= 2\n" : "");
}

static void places_are_safe_for_operations_in_flight(void **state) {
    (void)state;
    static maker m;
    int right = 0;
    int sharing = 0;
    for (uint64_t seed = 1; seed <= KERNELS / 2; seed++) {
        make_flights(&m, seed);
        spad_layout *layout;
        spad_error error;
        spad_kernel *k = test_parse(m.text);
        if (count_findings(k, NULL).errors == 0) {
            right++;
            assert_ok(spad_layout_create(&layout, k, NULL, &error), &error);
            sharing += check_layout(k, layout) > 0;
            const spad_check_counts counts = count_findings(k, layout);
            if (counts.errors > 0) print_error("%s", m.text);
            assert_int_equal(counts.errors, 0);
            spad_layout_destroy(layout);
        }
        spad_kernel_destroy(k);
    }
    assert_true(right > KERNELS / 20); /* the sample is worth something */
    assert_true(sharing > KERNELS / 100);
}

/* ---- the shipped kernels ----------------------------------------------------------- */

static spad_kernel *read_shipped(const char *name) {
    char path[512];
    spad_kernel *k;
    snprintf(path, sizeof path, TEST_KERNELS "/%s", name);
    char *text = test_read_file(path);
    k = test_parse_named(text, name, NULL);
    free(text);
    return k;
}

static void shipped_kernels_keep_lives_apart(void **state) {
    (void)state;
    test_files files;
    test_list_kernels(&files, TEST_KERNELS);
    assert_true(files.count >= 28);
    for (size_t i = 0; i < files.count; i++) {
        spad_kernel *k = read_shipped(files.names[i]);
        spad_layout *layout;
        spad_error error;
        assert_ok(spad_layout_create(&layout, k, NULL, &error), &error);
        if (!spad_layout_fits(layout)) print_error("%s does not fit\n", files.names[i]);
        assert_true(spad_layout_fits(layout));
        check_layout(k, layout);
        assert_int_equal(count_findings(k, layout).errors, 0);
        spad_layout_destroy(layout);
        spad_kernel_destroy(k);
    }
}

/* What the comments of the kernels say, and what barriers add to it. */
static void shipped_kernels_are_as_high_as_they_say(void **state) {
    (void)state;
    static const struct {
        const char *file;
        const char *space;
        int64_t height;
    } cases[] = {
        {"01_tensor_add.spad", "sbuf", 6144},
        {"02_matmul_4_exact_fit.spad", "sbuf", 180224},
        {"03_attention_v9.spad", "sbuf", 108396},
        {"04_fused_linear.spad", "sbuf", 148744},
        {"04_allocated_attention.spad", "sbuf", 78712},
        {"04_pipelined_attention.spad", "sbuf", 137676 - 512}, /* where the last tile ends */
        {"07_gemm_sm80.spad", "shared", 98304},
        {"08_gemm_sm90.spad", "shared", 131072 + 64},
        {"09_flash_attention_2.spad", "shared", 65536},
        {"10_gemm_sm100.spad", "shared", 212992 + 96},
        {"10_gemm_sm100.spad", "tmem", 2048},
        {"10_gemm_mxfp8.spad", "shared", 202752 + 80},
        {"10_gemm_mxfp8.spad", "tmem", 288 * 4},
        {"11_online_softmax.spad", "ub", 4 * 32768 + 128}, /* of 164480 that are declared */
        {"12_flash_attention.spad", "ub", 139008},
        {"12_flash_attention.spad", "l0c", 131072},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        spad_kernel *k = read_shipped(cases[i].file);
        spad_layout *layout;
        spad_error error;
        assert_ok(spad_layout_create(&layout, k, NULL, &error), &error);
        int64_t height = 0;
        for (size_t s = 0; s < spad_layout_space_count(layout); s++) {
            const spad_layout_space *row = spad_layout_get_space(layout, s);
            const spad_space *space = &spad_kernel_get_target(k)->spaces[row->space];
            if (strcmp(space->name, cases[i].space) == 0) height = row->height;
        }
        if (height != cases[i].height) {
            print_error("%s: %lld in %s\n", cases[i].file, (long long)height, cases[i].space);
        }
        assert_int_equal(height, cases[i].height);
        spad_layout_destroy(layout);
        spad_kernel_destroy(k);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_layouts_keep_lives_apart),
        cmocka_unit_test(places_are_safe_for_operations_in_flight),
        cmocka_unit_test(shipped_kernels_keep_lives_apart),
        cmocka_unit_test(shipped_kernels_are_as_high_as_they_say),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
