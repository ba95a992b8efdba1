/* SPDX-License-Identifier: Apache-2.0
 *
 * The map of last writers against an array with one number per byte: random rectangles with
 * runs, small and large, so that chunks of pieces fill, split and vanish. What a cursor returns
 * covers its rectangle once; the counts of the writers are those of the pieces.
 */
#include "support/breaks.h"

#include <stdlib.h>
#include <string.h>

#include "base/random.h"
#include "check/last_writers.h"

enum { LANES = 5, BYTES = 3000, WRITES = 6000, ROUNDS = 6 };

typedef struct model {
    spad_host host;
    spad__bytemap map;
    spad__writers writers;
    spad__writer last[LANES][BYTES];
    spad__spot hint;
} model;

typedef struct shape {
    spad_rect rect;
    int64_t runs;
    int64_t stride;
} shape;

/* Mostly narrow, sometimes wide or in runs. */
static shape make_shape(spad__random *random, int64_t widest) {
    shape s = {.runs = 1};
    s.rect.lane = spad__random_in(random, 0, LANES - 1);
    s.rect.lanes = spad__random_in(random, 1, LANES - s.rect.lane);
    if (spad__random_in(random, 0, 2) > 0) s.rect = (spad_rect){.lane = 0, .lanes = LANES};
    s.rect.bytes = spad__random_in(random, 1, spad__random_in(random, 0, 30) == 0 ? BYTES : widest);
    s.rect.byte = spad__random_in(random, 0, BYTES - s.rect.bytes);
    if (spad__random_in(random, 0, 4) == 0) {
        s.stride = s.rect.bytes + spad__random_in(random, 0, 5);
        s.runs = 1 + spad__random_in(random, 0, (BYTES - s.rect.byte - s.rect.bytes) / s.stride);
        if (s.runs == 1) s.stride = 0;
    }
    return s;
}

static bool write_shape(model *m, shape s, spad__writer writer) {
    if (!spad__bytemap_write(&m->map, &m->host, &m->writers, s.rect, s.runs, s.stride, writer,
                             &m->hint)) {
        return false;
    }
    assert_true(spad__bytemap_is_valid(&m->map));
    for (int64_t run = 0; run < s.runs; run++) {
        for (int64_t l = 0; l < s.rect.lanes; l++) {
            for (int64_t b = 0; b < s.rect.bytes; b++) {
                m->last[s.rect.lane + l][s.rect.byte + run * s.stride + b] = writer;
            }
        }
    }
    return true;
}

static void check_look(model *m, shape s) {
    static unsigned char seen[LANES][BYTES];
    memset(seen, 0, sizeof seen);
    spad__byte_cursor look = spad__bytemap_read(&m->map, s.rect, s.runs, s.stride, &m->hint);
    spad_rect part;
    spad__writer writer;
    int64_t bytes = 0;
    while (spad__bytemap_next(&look, &part, &writer)) {
        assert_true(part.lanes > 0 && part.bytes > 0);
        for (int64_t l = part.lane; l < part.lane + part.lanes; l++) {
            for (int64_t b = part.byte; b < part.byte + part.bytes; b++) {
                assert_int_equal(m->last[l][b], writer);
                assert_int_equal(seen[l][b], 0);
                seen[l][b] = 1;
            }
        }
        bytes += part.lanes * part.bytes;
    }
    assert_int_equal(bytes, s.rect.lanes * s.rect.bytes * s.runs);
    for (int64_t run = 0; run < s.runs; run++) {
        assert_int_equal(seen[s.rect.lane][s.rect.byte + run * s.stride], 1);
    }
}

/* Counts pieces anew; writers that are over are in their list, once. */
static void check_counts(model *m, spad__writer newest) {
    uint32_t *counts = calloc(newest + 1, sizeof *counts);
    assert_non_null(counts);
    for (size_t b = 0; b < m->map.bands.count; b++) {
        const spad__band *band = &m->map.bands.items[b];
        for (size_t c = 0; c < band->chunks.count; c++) {
            assert_true(band->chunks.items[c].pieces.count > 0);
            for (size_t i = 0; i < band->chunks.items[c].pieces.count; i++) {
                counts[band->chunks.items[c].pieces.items[i].writer]++;
            }
        }
    }
    size_t over = 0;
    for (spad__writer w = 1; w <= newest; w++) {
        assert_int_equal(m->writers.rows[w].pieces, counts[w]);
        over += counts[w] == 0;
    }
    for (spad__writer w = m->writers.over; w != 0; w = m->writers.rows[w].next) {
        assert_int_equal(counts[w], 0);
        over--;
    }
    assert_int_equal(over, 0);
    free(counts);
}

static bool start(model *m, const spad_host *host) {
    memset(m, 0, sizeof *m);
    m->host = *host;
    m->writers.rows = calloc(WRITES + 1, sizeof *m->writers.rows);
    assert_non_null(m->writers.rows);
    return spad__bytemap_init(&m->map, host, 0, LANES, 0, BYTES);
}

static void stop(model *m) {
    spad__bytemap_free(&m->map, &m->host);
    free(m->writers.rows);
}

static void maps_are_those_of_the_model(void **state) {
    (void)state;
    static model m;
    for (uint64_t seed = 1; seed <= ROUNDS; seed++) {
        spad__random random = {seed};
        size_t most = 0;
        test_host host;
        test_host_init(&host);
        assert_true(start(&m, &host.host));
        for (spad__writer w = 1; w <= WRITES; w++) {
            assert_true(write_shape(&m, make_shape(&random, seed % 2 == 0 ? 3 : 60), w));
            check_look(&m, make_shape(&random, 200));
            if (w % 500 == 0) check_counts(&m, w);
            if (m.map.bands.items[0].chunks.count > most) most = m.map.bands.items[0].chunks.count;
        }
        assert_int_equal(m.map.bands.count, LANES);
        if (seed % 2 == 0) assert_true(most > 3); /* chunks were split */
        stop(&m);
        test_host_assert_clean(&host);
    }
}

static spad_status fill(const spad_host *host, void *context) {
    static model m;
    (void)context;
    bool done = start(&m, host);
    for (spad__writer w = 1; w <= 700 && done; w++) { /* backwards, a byte in two */
        const shape s = {{0, LANES, BYTES - 2 * (int64_t)w, 1}, 1, 0};
        done = write_shape(&m, s, w);
    }
    const shape half = {{2, 1, 0, BYTES}, 1, 0};
    if (done) done = write_shape(&m, half, 701);
    stop(&m);
    return done ? SPAD_OK : SPAD_ERR_HOST_MEMORY;
}

static void every_allocation_may_fail(void **state) {
    (void)state;
    test_fail_each_allocation(fill, NULL);
}

/* The walk over a map sees each field that is wrong. */
static void walks_see_what_is_wrong(void **state) {
    (void)state;
    const spad_host host = spad__host_or_default(NULL);
    static spad__writer_row rows[3000];
    spad__writers writers = {.rows = rows};
    spad__random random = {3};
    spad__bytemap map;
    spad__spot hint = {0, 0};
    assert_true(spad__bytemap_init(&map, &host, 0, 16, INT64_MIN, INT64_MAX));
    for (spad__writer writer = 1; writer < 3000; writer++) {
        const spad_rect rect = {.lane = spad__random_in(&random, 0, 3),
                                .lanes = spad__random_in(&random, 1, 12),
                                .byte = spad__random_in(&random, 0, 5000),
                                .bytes = spad__random_in(&random, 1, 40)};
        assert_true(spad__bytemap_write(&map, &host, &writers, rect, 1, 0, writer, &hint));
        assert_true(spad__bytemap_is_valid(&map));
    }
    assert_true(map.bands.count > 3 && map.bands.items[2].chunks.count > 1);
    spad__map_piece *pieces = map.bands.items[2].chunks.items[1].pieces.items;
    BREAKS(spad__bytemap_is_valid(&map), pieces[1].byte, pieces[0].byte);
    BREAKS(spad__bytemap_is_valid(&map), pieces[0].byte, INT64_MIN);
    BREAKS(spad__bytemap_is_valid(&map), map.bands.items[2].lane, map.bands.items[3].lane);
    BREAKS(spad__bytemap_is_valid(&map), map.bands.items[2].chunks.items[1].pieces.count, 0);
    BREAKS(spad__bytemap_is_valid(&map), map.byte_end, 100);
    spad__bytemap_free(&map, &host);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(maps_are_those_of_the_model),
        cmocka_unit_test(walks_see_what_is_wrong),
        cmocka_unit_test(every_allocation_may_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
