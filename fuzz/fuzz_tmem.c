/* SPDX-License-Identifier: Apache-2.0
 *
 * Tensor memory, with any numbers: the allocation protocol beside a map of columns, and packings,
 * which are examined pair by pair. After them modulo rings: addresses of two tiles are the same
 * exactly if their indices are the same modulo the ring.
 *
 * Input: 1 byte which of the three, then records of numbers.
 */
#include "faults.h"
#include "spad/spad.h"

enum { CALLS_MAX = 200, TENSORS_MAX = 24 };

static int64_t next_number(fuzz_input *in) {
    static const int64_t edges[] = {INT64_MAX, INT64_MIN, -1, 512, 1024, 0, 64};
    const int first = fuzz_next(in);
    if (first >= 249) return edges[first - 249];
    return first;
}

/* ---- the protocol ------------------------------------------------------------------ */

static void allocate(spad_tmem *tmem, fuzz_input *in, int16_t owner[SPAD_TMEM_COLUMNS_MAX]) {
    const int64_t shift = fuzz_next(in);
    const int64_t columns = shift < 8 ? INT64_C(16) << shift : next_number(in);
    const int64_t warp = fuzz_next(in) % 4;
    int64_t column = -1;
    spad_error error;
    if (spad_tmem_alloc(&column, tmem, columns, warp, &error) != SPAD_OK) return;
    REQUIRE(column >= 0 && columns <= SPAD_TMEM_COLUMNS_MAX - column);
    for (int64_t i = column; i < column + columns; i++) {
        REQUIRE(owner[i] == 0);
        owner[i] = (int16_t)(1 + warp);
    }
}

static void release(spad_tmem *tmem, fuzz_input *in, int16_t owner[SPAD_TMEM_COLUMNS_MAX]) {
    const int64_t column = (int64_t)fuzz_next(in) * 32 % 1024;
    const int64_t columns = INT64_C(16) << fuzz_next(in) % 8;
    const int64_t warp = fuzz_next(in) % 4;
    spad_error error;
    if (spad_tmem_free(tmem, column, columns, warp, &error) != SPAD_OK) {
        REQUIRE(error.message[0] != '\0');
        return;
    }
    for (int64_t i = column; i < column + columns; i++) {
        REQUIRE(owner[i] == 1 + warp);
        owner[i] = 0;
    }
}

static void follow_protocol(fuzz_input *in) {
    int16_t owner[SPAD_TMEM_COLUMNS_MAX] = {0};
    const spad_target *target;
    spad_tmem tmem;
    REQUIRE(spad_target_find(&target, "sm_100", NULL) == SPAD_OK);
    REQUIRE(spad_tmem_init(&tmem, target, NULL) == SPAD_OK);
    for (int i = 0; i < CALLS_MAX && in->size > 0; i++) {
        const int what = fuzz_next(in);
        if (what == 255) {
            spad_tmem_relinquish(&tmem);
        } else if (what & 1) {
            allocate(&tmem, in, owner);
        } else {
            release(&tmem, in, owner);
        }
    }
    bool held = false;
    for (int i = 0; i < SPAD_TMEM_COLUMNS_MAX; i++) held |= owner[i] != 0;
    REQUIRE((spad_tmem_finish(&tmem, NULL) == SPAD_OK) == !held);
}

/* ---- packing ----------------------------------------------------------------------- */

static bool overlap(int64_t a, int64_t a_end, int64_t b, int64_t b_end) {
    return a < b_end && b < a_end;
}

static void check_packing(const spad_tmem_totals *totals, const spad_tmem_place *places,
                          const int64_t *sizes, const spad_tmem_tensor *tensors, size_t count,
                          spad_tmem_packing packing) {
    int64_t sum = 0;
    for (size_t i = 0; i < totals->allocs; i++) {
        REQUIRE(sizes[i] >= SPAD_TMEM_COLUMNS_MIN && sizes[i] <= SPAD_TMEM_COLUMNS_MAX);
        REQUIRE((sizes[i] & (sizes[i] - 1)) == 0 && (i == 0 || sizes[i] <= sizes[i - 1]));
        sum += sizes[i];
    }
    REQUIRE(sum == totals->columns);
    for (size_t i = 0; i < count; i++) {
        const spad_tmem_tensor *t = &tensors[i];
        const spad_tmem_place *p = &places[i];
        REQUIRE(p->alloc < totals->allocs && p->column >= 0);
        REQUIRE(p->column + t->columns <= sizes[p->alloc]);
        REQUIRE(p->column % spad_tmem_alignment(t->columns) == 0);
        REQUIRE(p->lane >= 0 && p->lane + t->lanes <= SPAD_TMEM_LANES);
        for (size_t k = 0; k < i; k++) {
            const spad_tmem_tensor *u = &tensors[k];
            const spad_tmem_place *q = &places[k];
            if (p->alloc != q->alloc) continue;
            const bool meet =
                overlap(t->begin, t->end, u->begin, u->end) &&
                overlap(p->column, p->column + t->columns, q->column, q->column + u->columns) &&
                overlap(p->lane, p->lane + t->lanes, q->lane, q->lane + u->lanes);
            REQUIRE(!meet);
            if (packing == SPAD_TMEM_TILELANG) REQUIRE(!t->freed_by_hand && !u->freed_by_hand);
        }
    }
}

static void pack(fuzz_input *in) {
    spad_tmem_tensor tensors[TENSORS_MAX];
    spad_tmem_place places[2][TENSORS_MAX];
    int64_t sizes[2][TENSORS_MAX];
    spad_tmem_totals totals[2];
    size_t count = 0;
    const fuzz_fault fault = (fuzz_fault)(fuzz_next(in) % FUZZ_WRITE);
    fuzz_run run;
    fuzz_run_init(&run, fault, 1 + fuzz_next(in) % 64U);
    while (in->size > 0 && count < TENSORS_MAX) {
        const int64_t begin = next_number(in);
        const int64_t life = fuzz_next(in);
        tensors[count++] = (spad_tmem_tensor){.lanes = next_number(in),
                                              .columns = next_number(in),
                                              .begin = begin,
                                              .end = begin < INT64_MAX - 256 ? begin + life : life,
                                              .freed_by_hand = fuzz_next(in) == 1};
    }
    spad_status status[2];
    for (int how = 0; how < 2; how++) {
        const spad_tmem_packing packing = how == 0 ? SPAD_TMEM_BEST : SPAD_TMEM_TILELANG;
        TRY(&run, spad_tmem_pack(&totals[how], places[how], sizes[how], tensors, count, packing,
                                 &run.host, &run.error));
        status[how] = run.status;
        if (run.status == SPAD_OK) {
            check_packing(&totals[how], places[how], sizes[how], tensors, count, packing);
        }
    }
    REQUIRE(status[0] == status[1] && run.blocks == 0);
    if (status[0] == SPAD_OK) REQUIRE(totals[0].columns <= totals[1].columns);
}

/* ---- modulo rings ------------------------------------------------------------------ */

static spad_shape next_shape(fuzz_input *in, int64_t *dims) {
    const size_t rank = fuzz_next(in) % 4U;
    for (size_t i = 0; i < rank; i++) dims[i] = next_number(in) % 16;
    return (spad_shape){rank, dims};
}

static void check_ring(const spad_modular_tensor *t, fuzz_input *in) {
    int64_t a[SPAD_RANK_MAX] = {0};
    int64_t b[SPAD_RANK_MAX] = {0};
    bool same = true;
    int64_t address[2];
    for (size_t i = 0; i < t->rank; i++) {
        a[i] = fuzz_next(in) % t->block[i];
        b[i] = fuzz_next(in) % t->block[i];
        same &= a[i] % t->free_tiles[i] == b[i] % t->free_tiles[i];
    }
    REQUIRE(spad_modular_get_address(&address[0], t, a, NULL) == SPAD_OK);
    REQUIRE(spad_modular_get_address(&address[1], t, b, NULL) == SPAD_OK);
    REQUIRE((address[0] == address[1]) == same);
    for (int i = 0; i < 2; i++) {
        REQUIRE(address[i] >= t->base && address[i] - t->base <= t->bytes - t->tile_bytes);
    }
}

static void make_rings(fuzz_input *in) {
    spad_modular modular = {.cursor = next_number(in)};
    for (int i = 0; i < CALLS_MAX && in->size > 0; i++) {
        int64_t dims[3][4];
        spad_modular_tensor t;
        const spad_modular before = modular;
        const spad_modular_request request = {
            .shape = next_shape(in, dims[0]),
            .dtype = (spad_dtype)(fuzz_next(in) % (SPAD_DTYPE_COUNT + 1)),
            .block = next_shape(in, dims[1]),
            .free_tiles = next_shape(in, dims[2]),
            .align_to = fuzz_next(in) & 1 ? next_number(in) : 0};
        spad_error error;
        if (spad_modular_alloc(&t, &modular, &request, &error) != SPAD_OK) {
            REQUIRE(modular.cursor == before.cursor && error.message[0] != '\0');
            continue;
        }
        REQUIRE(t.base >= before.cursor && modular.cursor - t.base == t.bytes);
        if (request.align_to > 0) REQUIRE(t.base % request.align_to == 0);
        if (t.tile_bytes > 0) check_ring(&t, in);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    fuzz_input in = {data, size};
    switch (fuzz_next(&in) % 3) {
    case 0: follow_protocol(&in); break;
    case 1: pack(&in); break;
    default: make_rings(&in);
    }
    return 0;
}
