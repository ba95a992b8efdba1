/* SPDX-License-Identifier: Apache-2.0
 *
 * Direct placement to play with, for its tests. */
#ifndef SPAD_TEST_DIRECT_FIXTURE_H
#define SPAD_TEST_DIRECT_FIXTURE_H

#include "support/support.h"

#include "spad/direct.h"

typedef struct fixture {
    const spad_target *target;
    spad_trace *trace;
    spad_direct *direct;
    spad_error error;
} fixture;

static inline fixture make_on(const char *target, bool force_auto) {
    fixture f = {0};
    assert_ok(spad_target_find(&f.target, target, &f.error), &f.error);
    assert_ok(spad_trace_create(&f.trace, f.target, NULL, &f.error), &f.error);
    const spad_direct_options options = {.trace = f.trace, .force_auto = force_auto};
    assert_ok(spad_direct_create(&f.direct, f.target, &options, &f.error), &f.error);
    return f;
}

static inline fixture make(void) {
    return make_on("trn2", false);
}

static inline void done(fixture *f) {
    spad_direct_destroy(f->direct);
    spad_trace_destroy(f->trace);
}

static inline size_t declare(fixture *f, spad_direct_tensor tensor) {
    size_t number;
    assert_ok(spad_direct_declare(&number, f->direct, &tensor, &f->error), &f->error);
    return number;
}

static inline spad_direct_info info(fixture *f, size_t tensor) {
    spad_direct_info out;
    assert_ok(spad_direct_get(&out, f->direct, tensor, &f->error), &f->error);
    return out;
}

static inline spad_direct_tile tile(fixture *f, size_t tensor, int64_t number) {
    spad_direct_tile out;
    assert_ok(spad_direct_get_tile(&out, f->direct, tensor, number, &f->error), &f->error);
    return out;
}

static inline void assert_rect(spad_rect rect, int64_t lane, int64_t lanes, int64_t byte,
                               int64_t bytes) {
    assert_int_equal(rect.lane, lane);
    assert_int_equal(rect.lanes, lanes);
    assert_int_equal(rect.byte, byte);
    assert_int_equal(rect.bytes, bytes);
}

/* The declaration fails with this status and message and changes nothing. */
static inline void refused(fixture *f, spad_direct_tensor tensor, spad_status status,
                           const char *message) {
    const size_t tensors = spad_direct_count(f->direct);
    const size_t events = spad_trace_event_count(f->trace);
    size_t number = 7;
    assert_int_equal(spad_direct_declare(&number, f->direct, &tensor, &f->error), status);
    assert_string_equal(f->error.message, message);
    assert_int_equal(f->error.code, status);
    assert_true(number == SIZE_MAX);
    assert_int_equal(spad_direct_count(f->direct), tensors);
    assert_int_equal(spad_trace_event_count(f->trace), events);
}

#define TILE .space = "sbuf", .dtype = SPAD_BFLOAT16, .tile = SPAD_SHAPE(128, 512)
#define MOD .mode = SPAD_MODE_MOD, .rings
#define PSUM .space = "psum", .dtype = SPAD_FLOAT32, .tile = SPAD_SHAPE(128, 512)

static inline spad_status at_payload(spad_direct_spot *out, const int64_t *index, int64_t lanes,
                                     int64_t bytes, void *context, spad_error *error) {
    (void)lanes;
    (void)bytes;
    (void)error;
    *out = ((const spad_direct_spot *)context)[index[0]];
    return SPAD_OK;
}

/* A tensor of two tiles, the first at zero, the second at the spot. */
static inline spad_direct_tensor second_at(const char *space, int64_t lanes, int64_t bytes,
                                           spad_direct_spot *spots, spad_direct_spot second) {
    static int64_t dims[2], two[] = {2};
    dims[0] = lanes;
    dims[1] = bytes;
    spots[0] = (spad_direct_spot){0};
    spots[1] = second;
    return (spad_direct_tensor){.name = "t",
                                .space = space,
                                .dtype = SPAD_UINT8,
                                .tile = {2, dims},
                                .block = {1, two},
                                .mode = SPAD_MODE_FUNC,
                                .func = at_payload,
                                .context = spots};
}

#endif
