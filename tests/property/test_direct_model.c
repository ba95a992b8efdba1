/* SPDX-License-Identifier: Apache-2.0
 *
 * Direct placement against a literal reading of its rules: 10^5 random kernels
 * on random chips.
 *
 * The model visits every logical tile, evaluates the formula of the modulo
 * scheme as it is written down, and tries every rule on every tile. It has no
 * code in common with the library, which examines no tile of a ring. A refusal
 * must have the right status and name the first tile that breaks the rule; a
 * placement must have the right table, sharing and footprint, and the overlaps
 * of two tensors are found by comparing every pair. */
#include "support/support.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/random.h"
#include "spad/direct.h"

enum { CASES = TEST_RUNS(100000), TILES = 256, RANK = 3 };

typedef struct spot {
    int64_t lane, byte; /* byte in the space */
} spot;

/* A tensor and what the model says about it. */
typedef struct model {
    const spad_space *space;
    spad_direct_tensor given;
    int64_t block[RANK], dims[2], counts[3][RANK + 1];
    spad_direct_spot spots[TILES];
    int64_t lanes, bytes;
    int tiles;
    spot at[TILES];
    spad_status status;
    int bad_tile; /* -1: the refusal is not about a tile */
} model;

/* ---- random chips and tensors ------------------------------------------------------ */

typedef struct chip {
    spad_target target;
    spad_space space;
    spad_lane_rule rules[2];
    int64_t starts[2][3];
} chip;

static int64_t pick(spad__random *r, int64_t low, int64_t high) {
    return spad__random_in(r, low, high);
}

static bool chance(spad__random *r, int64_t one_in) {
    return pick(r, 1, one_in) == 1;
}

static void random_chip(chip *c, spad__random *r) {
    memset(c, 0, sizeof *c);
    c->space = (spad_space){
        .name = "mem",
        .about = "",
        .lanes = pick(r, 1, 12),
        .alignment = chance(r, 2) ? 1 : pick(r, 1, 4),
        .granule = chance(r, 2) ? 1 : pick(r, 1, 4),
    };
    if (chance(r, 2)) {
        c->space.bank_bytes = pick(r, 1, 24);
        c->space.bytes = c->space.bank_bytes * pick(r, 1, 12);
        c->space.banks_exclusive = chance(r, 2);
    } else {
        c->space.bytes = pick(r, 1, 200);
    }
    if (chance(r, 2)) c->space.reserved = pick(r, 0, c->space.bytes);
    if (chance(r, 2)) {
        const int64_t half = pick(r, 1, c->space.lanes);
        for (int i = 0; i < 2; i++) {
            for (int s = 0; s < 3; s++) c->starts[i][s] = pick(r, 0, 2) * pick(r, 0, 4);
            c->rules[i] = (spad_lane_rule){.lanes_min = i == 0 ? 1 : half + 1,
                                           .lanes_max = i == 0 ? half : c->space.lanes,
                                           .start_count = (size_t)pick(r, 1, 3),
                                           .starts = c->starts[i]};
        }
        c->space.lane_rule_count = half < c->space.lanes ? 2 : 1;
        c->space.lane_rules = c->rules;
    }
    if (chance(r, 8)) { /* steps over banks and over bytes that are aligned only together */
        c->space = (spad_space){.name = "mem",
                                .about = "",
                                .lanes = 4,
                                .bytes = 9 * pick(r, 4, 12),
                                .alignment = 2,
                                .granule = 1,
                                .bank_bytes = 9};
    }
    c->target = (spad_target){
        .name = "chip", .about = "", .family = "test", .space_count = 1, .spaces = &c->space};
}

static spad_shape random_counts(model *m, spad__random *r, int which) {
    size_t rank = chance(r, 3) ? 0 : m->given.block.rank;
    if (chance(r, 60)) rank = (size_t)pick(r, 0, RANK);
    for (size_t d = 0; d < rank; d++) {
        m->counts[which][d] = chance(r, 2) ? 1 : pick(r, 1, 4);
        if (chance(r, 60)) m->counts[which][d] = pick(r, -1, 30);
    }
    return (spad_shape){.rank = rank, .dims = m->counts[which]};
}

static void random_tensor(model *m, spad__random *r, const spad_space *space) {
    memset(m, 0, sizeof *m);
    m->space = space;
    m->given.space = "mem";
    m->given.name = "t";
    m->given.dtype = SPAD_UINT8;
    m->given.block = (spad_shape){.rank = (size_t)pick(r, 0, RANK), .dims = m->block};
    m->tiles = 1;
    for (size_t d = 0; d < m->given.block.rank; d++) {
        m->block[d] = pick(r, 1, 6);
        m->tiles *= (int)m->block[d];
    }
    m->dims[0] = pick(r, 1, chance(r, 2) ? 2 : space->lanes);
    m->dims[1] = pick(r, 1, chance(r, 2) ? 4 : 24);
    m->given.tile = (spad_shape){.rank = 2, .dims = m->dims};
    m->lanes = m->dims[0];
    m->bytes = m->dims[1];
    while (m->bytes % space->granule != 0) m->bytes++;
}

static int64_t random_byte(spad__random *r, const spad_space *space) {
    if (space->banks_exclusive) return chance(r, 8) ? pick(r, -1, 4) : 0;
    return chance(r, 2) ? 0 : pick(r, -1, 16);
}

/* ---- the rules, literally ---------------------------------------------------------- */

static int64_t usable(const spad_space *space) {
    return space->bytes - space->reserved;
}

static int64_t bank_count(const spad_space *space) {
    if (space->bank_bytes == 0) return 1;
    int64_t banks = 0;
    while (banks * space->bank_bytes < usable(space)) banks++;
    return banks;
}

static bool lane_is_legal(const spad_space *space, int64_t lane, int64_t lanes) {
    bool found = space->lane_rule_count == 0;
    for (size_t i = 0; i < space->lane_rule_count; i++) {
        const spad_lane_rule *rule = &space->lane_rules[i];
        if (lanes < rule->lanes_min || lanes > rule->lanes_max) continue;
        for (size_t s = 0; s < rule->start_count; s++) found |= rule->starts[s] == lane;
    }
    return found && lane >= 0 && lane + lanes <= space->lanes;
}

static bool size_is_legal(const model *m) {
    if (m->space->banks_exclusive && m->bytes > m->space->bank_bytes) return false;
    return m->bytes <= usable(m->space);
}

static void block_index(const model *m, int tile, int64_t *index) {
    for (size_t d = m->given.block.rank; d-- > 0;) {
        index[d] = tile % m->block[d];
        tile /= (int)m->block[d];
    }
}

/* sum over d of (I[d] mod S[d]) * S[d + 1] * S[d + 2] ... */
static int64_t line(spad_shape counts, const int64_t *index) {
    int64_t sum = 0;
    for (size_t d = 0; d < counts.rank; d++) {
        int64_t stride = 1;
        for (size_t e = d + 1; e < counts.rank; e++) stride *= counts.dims[e];
        sum += index[d] % counts.dims[d] * stride;
    }
    return sum;
}

static int64_t product(spad_shape counts) {
    int64_t p = 1;
    for (size_t d = 0; d < counts.rank; d++) p *= counts.dims[d];
    return p;
}

static spad_status tuple_status(const model *m, spad_shape counts) {
    if (counts.rank != 0 && counts.rank != m->given.block.rank) return SPAD_ERR_SHAPE;
    for (size_t d = 0; d < counts.rank; d++) {
        if (counts.dims[d] < 1) return SPAD_ERR_ARGUMENT;
    }
    return SPAD_OK;
}

static spad_status ring_status(const model *m) {
    const spad_direct_rings *g = &m->given.rings;
    const spad_shape tuples[] = {g->bank_tiles, g->lane_tiles, g->free_tiles};
    for (int i = 0; i < 3; i++) {
        const spad_status status = tuple_status(m, tuples[i]);
        if (status != SPAD_OK) return status;
    }
    const spad_space *space = m->space;
    if (!size_is_legal(m)) return SPAD_ERR_BOUNDS;
    if (space->banks_exclusive && (g->base.byte != 0 || g->base.lane != 0 ||
                                   product(g->lane_tiles) != 1 || product(g->free_tiles) != 1)) {
        return SPAD_ERR_BANK;
    }
    const int64_t banks = product(g->bank_tiles);
    if (g->base.bank < 0 || g->base.bank + banks > bank_count(space)) return SPAD_ERR_BOUNDS;
    if (m->lanes > space->lanes) return SPAD_ERR_LANES; /* in every mode */
    if (g->base.lane < 0 || g->base.lane + product(g->lane_tiles) * m->lanes > space->lanes) {
        return SPAD_ERR_BOUNDS;
    }
    const int64_t end = (g->base.bank + banks - 1) * space->bank_bytes + g->base.byte +
                        product(g->free_tiles) * m->bytes;
    if (g->base.byte < 0 || end > usable(space)) return SPAD_ERR_BOUNDS;
    const int64_t in_bank = g->base.byte + product(g->free_tiles) * m->bytes;
    return banks > 1 && in_bank > space->bank_bytes ? SPAD_ERR_BOUNDS : SPAD_OK;
}

static void judge_rings(model *m) {
    const spad_direct_rings *g = &m->given.rings;
    m->bad_tile = -1;
    m->status = ring_status(m);
    if (m->status != SPAD_OK) return;
    for (int t = 0; t < m->tiles; t++) {
        int64_t index[RANK];
        block_index(m, t, index);
        const int64_t bank = g->base.bank + line(g->bank_tiles, index);
        m->at[t].lane = g->base.lane + line(g->lane_tiles, index) * m->lanes;
        m->at[t].byte =
            bank * m->space->bank_bytes + g->base.byte + line(g->free_tiles, index) * m->bytes;
    }
    for (int t = 0; t < m->tiles && m->status == SPAD_OK; t++) {
        if (lane_is_legal(m->space, m->at[t].lane, m->lanes)) continue;
        m->status = SPAD_ERR_LANES;
        m->bad_tile = t;
    }
    for (int t = 0; t < m->tiles && m->status == SPAD_OK; t++) {
        if (m->at[t].byte % m->space->alignment == 0) continue;
        m->status = SPAD_ERR_ALIGNMENT;
        m->bad_tile = t;
    }
}

static spad_status spot_status(const model *m, spad_direct_spot s) {
    const spad_space *space = m->space;
    if (s.bank < 0 || s.bank >= bank_count(space)) return SPAD_ERR_BOUNDS;
    if (space->banks_exclusive && (s.byte != 0 || s.lane != 0)) return SPAD_ERR_BANK;
    if (!lane_is_legal(space, s.lane, m->lanes)) return SPAD_ERR_LANES;
    const int64_t byte = s.bank * space->bank_bytes + s.byte;
    if (s.byte < 0 || byte + m->bytes > usable(space)) return SPAD_ERR_BOUNDS;
    return byte % space->alignment == 0 ? SPAD_OK : SPAD_ERR_ALIGNMENT;
}

static void judge_spots(model *m) {
    m->bad_tile = -1;
    m->status = size_is_legal(m) ? SPAD_OK : SPAD_ERR_BOUNDS;
    for (int t = 0; t < m->tiles && m->status == SPAD_OK; t++) {
        m->status = spot_status(m, m->spots[t]);
        if (m->status != SPAD_OK) m->bad_tile = t;
        m->at[t] =
            (spot){m->spots[t].lane, m->spots[t].bank * m->space->bank_bytes + m->spots[t].byte};
    }
}

/* ---- requests ---------------------------------------------------------------------- */

static void random_rings(model *m, spad__random *r) {
    const spad_space *space = m->space;
    m->given.mode = SPAD_MODE_MOD;
    m->given.rings.base = (spad_direct_spot){
        .bank = chance(r, 4) ? pick(r, -1, bank_count(space)) : 0,
        .lane = !space->banks_exclusive && chance(r, 3) ? pick(r, -1, space->lanes) : 0,
        .byte = random_byte(r, space),
    };
    if (space->bank_bytes > 0 || chance(r, 30)) m->given.rings.bank_tiles = random_counts(m, r, 0);
    if (!space->banks_exclusive || chance(r, 20)) {
        m->given.rings.lane_tiles = random_counts(m, r, 1);
        m->given.rings.free_tiles = random_counts(m, r, 2);
    }
    judge_rings(m);
}

static void random_spots(model *m, spad__random *r) {
    for (int t = 0; t < m->tiles; t++) {
        m->spots[t] = (spad_direct_spot){
            .bank = pick(r, 0, bank_count(m->space) - 1),
            .lane = m->space->banks_exclusive ? 0 : pick(r, 0, 1) * pick(r, 0, m->space->lanes / 2),
            .byte = m->space->banks_exclusive ? 0 : pick(r, 0, 3) * m->space->alignment,
        };
        if (chance(r, 100)) m->spots[t].bank = pick(r, -1, 12);
        if (chance(r, 100)) m->spots[t].lane = pick(r, -2, 12);
        if (chance(r, 100)) m->spots[t].byte = pick(r, -2, 200);
    }
    m->given.mode = SPAD_MODE_AT;
    m->given.spots = m->spots;
    m->given.spot_count = (size_t)m->tiles;
    judge_spots(m);
}

static spad_status from_model(spad_direct_spot *out, const int64_t *index, int64_t lanes,
                              int64_t bytes, void *context, spad_error *error) {
    (void)error;
    const model *m = context;
    assert_int_equal(lanes, m->lanes);
    assert_int_equal(bytes, m->bytes);
    int64_t number = 0;
    for (size_t d = 0; d < m->given.block.rank; d++) number = number * m->block[d] + index[d];
    const spot at = m->at[number];
    const int64_t bank = m->space->bank_bytes > 0 ? at.byte / m->space->bank_bytes : 0;
    *out = (spad_direct_spot){
        .bank = bank, .lane = at.lane, .byte = at.byte - bank * m->space->bank_bytes};
    return SPAD_OK;
}

/* ---- comparison -------------------------------------------------------------------- */

/* The message of a refusal names the first bad tile. */
static void check_refusal(const model *m, const spad_error *error) {
    char expected[80] = "tensor 't'";
    if (m->bad_tile >= 0) {
        int64_t index[RANK];
        block_index(m, m->bad_tile, index);
        strcat(expected, ", tile (");
        for (size_t d = 0; d < m->given.block.rank; d++) {
            snprintf(expected + strlen(expected), 8, d == 0 ? "%d" : ", %d", (int)index[d]);
        }
        strcat(expected, m->given.block.rank == 1 ? ",)" : ")");
    }
    strcat(expected, ": ");
    if (strncmp(error->message, expected, strlen(expected)) != 0) {
        fail_msg("'%s' does not begin with '%s'", error->message, expected);
    }
}

static void check_footprint(const model *m, spad_rect rect) {
    int64_t lane = INT64_MAX, byte = INT64_MAX, lane_end = 0, byte_end = 0;
    for (int t = 0; t < m->tiles; t++) {
        if (m->at[t].lane < lane) lane = m->at[t].lane;
        if (m->at[t].byte < byte) byte = m->at[t].byte;
        if (m->at[t].lane + m->lanes > lane_end) lane_end = m->at[t].lane + m->lanes;
        if (m->at[t].byte + m->bytes > byte_end) byte_end = m->at[t].byte + m->bytes;
    }
    if (m->given.mode == SPAD_MODE_MOD) { /* with its holes */
        const spad_direct_rings *g = &m->given.rings;
        lane_end = lane + product(g->lane_tiles) * m->lanes;
        byte_end = byte + (product(g->bank_tiles) - 1) * m->space->bank_bytes +
                   product(g->free_tiles) * m->bytes;
    }
    assert_int_equal(rect.lane, lane);
    assert_int_equal(rect.byte, byte);
    assert_int_equal(rect.lanes, lane_end - lane);
    assert_int_equal(rect.bytes, byte_end - byte);
}

static bool same_spot(const model *m, int a, int b) {
    return m->at[a].lane == m->at[b].lane && m->at[a].byte == m->at[b].byte;
}

static void check_table(const model *m, const spad_direct *direct, size_t number) {
    int physical = 0, numbers[TILES];
    for (int t = 0; t < m->tiles; t++) {
        int first = 0, next = t + 1;
        while (!same_spot(m, first, t)) first++;
        while (next < m->tiles && !same_spot(m, next, t)) next++;
        numbers[t] = first == t ? physical++ : numbers[first];
        spad_direct_tile row;
        assert_int_equal(spad_direct_get_tile(&row, direct, number, t, NULL), SPAD_OK);
        assert_int_equal(row.tile, t);
        assert_int_equal(row.rect.lane, m->at[t].lane);
        assert_int_equal(row.rect.lanes, m->lanes);
        assert_int_equal(row.rect.byte, m->at[t].byte);
        assert_int_equal(row.rect.bytes, m->bytes);
        assert_int_equal(row.spot.lane, m->at[t].lane);
        assert_int_equal(row.spot.bank * m->space->bank_bytes + row.spot.byte, m->at[t].byte);
        assert_int_equal(row.physical, numbers[t]);
        assert_int_equal(row.next, next < m->tiles ? next : -1);
        spad_direct_tile head;
        assert_int_equal(spad_direct_get_physical(&head, direct, number, numbers[t], NULL),
                         SPAD_OK);
        assert_int_equal(head.tile, first);
    }
    spad_direct_info info;
    assert_int_equal(spad_direct_get(&info, direct, number, NULL), SPAD_OK);
    assert_int_equal(info.tiles, m->tiles);
    assert_int_equal(info.physical, physical);
    check_footprint(m, info.footprint);
}

/* Painted: every byte of every lane is in the shared rectangle if it is in both. */
static void check_shared(const model *ma, spot p, const model *mb, spot q, spad_rect shared) {
    const int64_t lane_end = p.lane + ma->lanes, byte_end = p.byte + ma->bytes;
    int64_t lanes = 0, bytes = 0;
    for (int64_t l = p.lane; l < lane_end; l++) {
        const bool both = l >= q.lane && l < q.lane + mb->lanes;
        assert_int_equal(both, l >= shared.lane && l < shared.lane + shared.lanes);
        lanes += both;
    }
    for (int64_t b = p.byte; b < byte_end; b++) {
        const bool both = b >= q.byte && b < q.byte + mb->bytes;
        assert_int_equal(both, b >= shared.byte && b < shared.byte + shared.bytes);
        bytes += both;
    }
    assert_int_equal(shared.lanes, lanes);
    assert_int_equal(shared.bytes, bytes);
}

/* Every pair of physical tiles, compared. */
static void check_overlaps(const model *const *models, size_t count, const spad_direct *direct) {
    static spad_direct_overlap found[4 * TILES * TILES];
    size_t total, expected = 0;
    assert_int_equal(
        spad_direct_list_overlaps(&total, found, sizeof found / sizeof *found, direct, NULL),
        SPAD_OK);
    for (size_t a = 0; a < count; a++) {
        for (int i = 0; i < models[a]->tiles; i++) {
            for (size_t b = a; b < count; b++) {
                for (int j = a == b ? i + 1 : 0; j < models[b]->tiles; j++) {
                    const model *ma = models[a], *mb = models[b];
                    bool seen = false; /* not the first tile of its place */
                    for (int k = 0; k < i; k++) seen |= same_spot(ma, k, i);
                    for (int k = 0; k < j; k++) seen |= same_spot(mb, k, j);
                    const spot p = ma->at[i], q = mb->at[j];
                    if (seen || p.lane >= q.lane + mb->lanes || q.lane >= p.lane + ma->lanes ||
                        p.byte >= q.byte + mb->bytes || q.byte >= p.byte + ma->bytes) {
                        continue;
                    }
                    const spad_direct_overlap *pair = &found[expected++];
                    assert_true(expected <= total);
                    assert_int_equal(pair->tensor_a, a);
                    assert_int_equal(pair->tile_a, i);
                    assert_int_equal(pair->tensor_b, b);
                    assert_int_equal(pair->tile_b, j);
                    check_shared(ma, p, mb, q, pair->shared);
                }
            }
        }
    }
    assert_int_equal(total, expected);
}

typedef struct tally {
    int accepted;
    int refused[64]; /* by -status */
} tally;

/* Declares the tensor; true if it was placed. */
static bool check_declaration(const model *m, spad_direct *direct, tally *t) {
    spad_error error;
    size_t number;
    spad_direct_tensor given = m->given;
    const size_t before = spad_direct_count(direct);
    if (before > 0) given.name = NULL;
    const spad_status status = spad_direct_declare(&number, direct, &given, &error);
    if (status != m->status) {
        fail_msg("status %d, expected %d: %s", status, m->status,
                 status != SPAD_OK ? error.message : "");
    }
    if (status != SPAD_OK) {
        if (before == 0) check_refusal(m, &error);
        assert_int_equal(spad_direct_count(direct), before);
        t->refused[-status]++;
        return false;
    }
    t->accepted++;
    check_table(m, direct, number);
    return true;
}

static void follows_the_model(void **state) {
    (void)state;
    spad__random r = {.state = 20260101};
    tally t = {0};
    static model models[3];
    for (int n = 0; n < CASES; n++) {
        chip c;
        random_chip(&c, &r);
        spad_direct *direct;
        assert_int_equal(spad_direct_create(&direct, &c.target, NULL, NULL), SPAD_OK);
        const model *placed[4];
        size_t count = 0;
        for (int i = 0; i < 2; i++) {
            model *m = &models[i];
            random_tensor(m, &r, &c.space);
            if (chance(&r, 2) && bank_count(&c.space) > 0) {
                random_spots(m, &r);
            } else {
                random_rings(m, &r);
            }
            if (check_declaration(m, direct, &t)) placed[count++] = m;
        }
        if (count > 0) { /* the same places from a callback */
            models[2] = *placed[0];
            models[2].given.mode = SPAD_MODE_FUNC;
            models[2].given.rings = (spad_direct_rings){.base = {0}};
            models[2].given.spots = NULL;
            models[2].given.spot_count = 0;
            models[2].given.func = from_model;
            models[2].given.context = &models[2];
            models[2].given.block.dims = models[2].block;
            models[2].given.tile.dims = models[2].dims;
            assert_true(check_declaration(&models[2], direct, &t));
            placed[count++] = &models[2];
        }
        if (n % 8 == 0) check_overlaps(placed, count, direct);
        spad_direct_destroy(direct);
    }
    /* the random kernels reach everything */
    assert_true(t.accepted > CASES / 4);
    assert_true(t.refused[-SPAD_ERR_SHAPE] > CASES / 100);
    assert_true(t.refused[-SPAD_ERR_ARGUMENT] > CASES / 1000);
    assert_true(t.refused[-SPAD_ERR_LANES] > CASES / 100);
    assert_true(t.refused[-SPAD_ERR_BOUNDS] > CASES / 100);
    assert_true(t.refused[-SPAD_ERR_ALIGNMENT] > CASES / 100);
    assert_true(t.refused[-SPAD_ERR_BANK] > CASES / 100);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(follows_the_model)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
