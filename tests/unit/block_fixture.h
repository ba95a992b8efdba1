/* SPDX-License-Identifier: Apache-2.0
 *
 * A block to play with, for the tests of blocks. */
#ifndef SPAD_TEST_BLOCK_FIXTURE_H
#define SPAD_TEST_BLOCK_FIXTURE_H

#include "support/support.h"

#include "alloc/block/block.h"

typedef struct fixture {
    const spad_target *target;
    spad_block *block;
    spad_error error;
} fixture;

static inline fixture make_with(const char *target, spad_block_options options) {
    fixture f;
    assert_ok(spad_target_find(&f.target, target, &f.error), &f.error);
    assert_ok(spad_block_create(&f.block, f.target, &options, &f.error), &f.error);
    return f;
}

static inline fixture make(const char *target) {
    return make_with(target, (spad_block_options){.name = "k"});
}

static inline void done(fixture *f) {
    spad_block_destroy(f->block);
}

static inline int64_t put(fixture *f, spad_block_request request) {
    int64_t number;
    assert_ok(spad_block_alloc(&number, f->block, &request, &f->error), &f->error);
    return number;
}

static inline int64_t bytes(fixture *f, const char *name, const char *scope, int64_t count) {
    return put(f,
               (spad_block_request){
                   .name = name, .scope = scope, .shape = SPAD_SHAPE(count), .dtype = SPAD_UINT8});
}

static inline spad_status refused(fixture *f, spad_block_request request) {
    int64_t number = 0;
    const size_t count = spad_block_count(f->block);
    const int64_t clock = f->block->clock;
    const spad_status status = spad_block_alloc(&number, f->block, &request, &f->error);
    assert_int_equal(number, -1);
    assert_int_equal(spad_block_count(f->block), count);
    assert_int_equal(f->block->clock, clock);
    return status;
}

static inline spad_block_buffer get(fixture *f, int64_t number) {
    spad_block_buffer info;
    assert_ok(spad_block_get(&info, f->block, number, &f->error), &f->error);
    return info;
}

static inline spad_block_totals plan(fixture *f) {
    spad_block_totals totals;
    assert_ok(spad_block_plan(f->block, &f->error), &f->error);
    assert_ok(spad_block_get_totals(&totals, f->block, &f->error), &f->error);
    return totals;
}

static const int64_t two_arrivals[] = {1, 128};

#endif
