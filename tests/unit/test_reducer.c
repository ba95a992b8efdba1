/* SPDX-License-Identifier: Apache-2.0
 *
 * Constants and identities against decoders written from the formats' definitions,
 * and the life cycle of reducers: each violation with its message. */
#include "support/support.h"

#include <math.h>
#include <string.h>

#include "spad/block.h"

/* ---- values ------------------------------------------------------------------------ */

typedef struct format {
    spad_dtype dtype;
    int exponent_bits, fraction_bits, bias;
    char kind; /* i: IEEE, n: all ones is NaN, z: -0 is NaN, f: all codes are numbers */
} format;

static const format small_formats[] = {
    {SPAD_FLOAT16, 5, 10, 15, 'i'},           {SPAD_BFLOAT16, 8, 7, 127, 'i'},
    {SPAD_FLOAT8_E3M4, 3, 4, 3, 'i'},         {SPAD_FLOAT8_E4M3, 4, 3, 7, 'i'},
    {SPAD_FLOAT8_E4M3FN, 4, 3, 7, 'n'},       {SPAD_FLOAT8_E4M3FNUZ, 4, 3, 8, 'z'},
    {SPAD_FLOAT8_E4M3B11FNUZ, 4, 3, 11, 'z'}, {SPAD_FLOAT8_E5M2, 5, 2, 15, 'i'},
    {SPAD_FLOAT8_E5M2FNUZ, 5, 2, 16, 'z'},    {SPAD_FLOAT4_E2M1FN, 2, 1, 1, 'f'},
};

/* The number of a code, straight from the definition. */
static double decode(const format *f, uint64_t code) {
    const int exponent = (int)(code >> f->fraction_bits & ((1U << f->exponent_bits) - 1));
    const double fraction = (double)(code & ((1U << f->fraction_bits) - 1));
    const double sign = code >> (f->exponent_bits + f->fraction_bits) & 1 ? -1 : 1;
    const uint64_t magnitude = code & ((1U << (f->exponent_bits + f->fraction_bits)) - 1);
    const int highest = (1 << f->exponent_bits) - 1;
    if (f->kind == 'i' && exponent == highest)
        return fraction == 0 ? sign * (double)INFINITY : (double)NAN;
    if (f->kind == 'n' && magnitude == (1U << (f->exponent_bits + f->fraction_bits)) - 1)
        return (double)NAN;
    if (f->kind == 'z' && sign < 0 && magnitude == 0) return (double)NAN;
    const double scale = ldexp(1, -f->fraction_bits);
    if (exponent == 0) return sign * ldexp(fraction * scale, 1 - f->bias);
    return sign * ldexp(1 + fraction * scale, exponent - f->bias);
}

static uint64_t encode(spad_dtype dtype, double number) {
    spad_value value;
    spad_error error;
    assert_ok(spad_value_from_real(&value, dtype, number, &error), &error);
    assert_int_equal(value.dtype, dtype);
    return value.bits;
}

static void reals_round_to_the_nearest(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof small_formats / sizeof small_formats[0]; i++) {
        const format *f = &small_formats[i];
        const uint64_t codes = UINT64_C(1) << (1 + f->exponent_bits + f->fraction_bits);
        for (uint64_t code = 0; code < codes; code++) {
            const double number = decode(f, code);
            if (isnan(number)) continue;
            assert_int_equal(encode(f->dtype, number), code);
            /* between this and the next of the same sign */
            const double next = code + 1 < codes ? decode(f, code + 1) : (double)NAN;
            if (!isfinite(number) || !isfinite(next) || (code + 1 == codes / 2)) continue;
            const double middle = (number + next) / 2;
            assert_int_equal(encode(f->dtype, middle), code % 2 == 0 ? code : code + 1);
            assert_int_equal(encode(f->dtype, nextafter(middle, number)), code);
            assert_int_equal(encode(f->dtype, nextafter(middle, next)), code + 1);
        }
    }
    assert_int_equal(encode(SPAD_FLOAT32, 1.0), 0x3F800000);
    assert_int_equal(encode(SPAD_FLOAT32, 0.1), 0x3DCCCCCD);
    assert_int_equal(encode(SPAD_FLOAT32, 1e-45), 1);
    assert_int_equal(encode(SPAD_FLOAT32, 1e300), 0x7F800000);
    assert_int_equal(encode(SPAD_FLOAT64, -2.5), UINT64_C(0xC004000000000000));
    assert_int_equal(encode(SPAD_FLOAT64, 5e-324), 1);
    assert_int_equal(encode(SPAD_FLOAT8_E4M3FN, 1e9), 0x7E); /* 448: no infinity */
    assert_int_equal(encode(SPAD_FLOAT8_E4M3FN, (double)NAN), 0x7F);
    assert_int_equal(encode(SPAD_FLOAT8_E4M3FNUZ, (double)NAN), 0x80);
    assert_int_equal(encode(SPAD_FLOAT8_E4M3FNUZ, -0.0), 0);
    assert_int_equal(encode(SPAD_FLOAT16, (double)NAN), 0x7E00);
    assert_int_equal(encode(SPAD_FLOAT8_E8M0FNU, 1.0), 127);
    assert_int_equal(encode(SPAD_FLOAT8_E8M0FNU, 3.0), 128); /* between 2 and 4, to even */
    assert_int_equal(encode(SPAD_FLOAT8_E8M0FNU, 1.5), 128);
    assert_int_equal(encode(SPAD_FLOAT8_E8M0FNU, 1.4), 127);
    assert_int_equal(encode(SPAD_FLOAT8_E8M0FNU, 1e300), 254);
    assert_int_equal(encode(SPAD_FLOAT8_E8M0FNU, 1e-300), 0);
}

static void whole_numbers_are_rounded_once(void **state) {
    (void)state;
    spad_value v;
    spad_error e;
    /* through a double it would be a tie */
    const int64_t above_the_tie = (INT64_C(1) << 60) + (INT64_C(1) << 36) + 1;
    assert_ok(spad_value_from_int(&v, SPAD_FLOAT32, above_the_tie, &e), &e);
    assert_int_equal(v.bits, 0x5d800001);
    assert_ok(spad_value_from_int(&v, SPAD_FLOAT32, -above_the_tie, &e), &e);
    assert_int_equal(v.bits, 0xdd800001);
    assert_ok(spad_value_from_int(&v, SPAD_FLOAT32, INT64_MIN, &e), &e);
    assert_int_equal(v.bits, 0xdf000000);
    assert_ok(spad_value_from_int(&v, SPAD_FLOAT64, 1, &e), &e);
    assert_int_equal(v.bits, INT64_C(0x3ff0000000000000));
    assert_ok(spad_value_from_int(&v, SPAD_FLOAT8_E8M0FNU, 4, &e), &e);
    assert_int_equal(v.bits, 129);
}

static void values_that_do_not_exist(void **state) {
    (void)state;
    spad_value v;
    spad_error e;
    assert_int_equal(spad_value_from_real(&v, SPAD_INT32, 1.0, &e), SPAD_ERR_DTYPE);
    assert_string_equal(e.message, "int32 is not a floating-point type");
    assert_int_equal(spad_value_from_real(&v, SPAD_FLOAT4_E2M1FN, (double)NAN, &e),
                     SPAD_ERR_ARGUMENT);
    assert_string_equal(e.message, "float4_e2m1fn has no nan");
    assert_int_equal(spad_value_from_int(&v, SPAD_FLOAT8_E8M0FNU, 0, &e), SPAD_ERR_ARGUMENT);
    assert_string_equal(e.message, "float8_e8m0fnu has no zero and no negative numbers");
    assert_int_equal(spad_value_from_int(&v, SPAD_INT4, 8, &e), SPAD_ERR_ARGUMENT);
    assert_string_equal(e.message, "int4 cannot hold 8; it holds -8 to 7");
    assert_int_equal(spad_value_from_int(&v, SPAD_UINT8, -1, &e), SPAD_ERR_ARGUMENT);
    assert_int_equal(spad_value_from_int(&v, SPAD_BOOL, 2, &e), SPAD_ERR_ARGUMENT);
    assert_int_equal(spad_value_from_int(&v, SPAD_FLOAT8_E5M2_X4, 0, &e), SPAD_ERR_DTYPE);
    assert_string_equal(e.message, "float8_e5m2_x4 has no single values");
    assert_int_equal(v.dtype, SPAD_DTYPE_NONE);
    assert_ok(spad_value_from_int(&v, SPAD_INT64, INT64_MIN, &e), &e);
    assert_int_equal(v.bits, UINT64_C(1) << 63);
    assert_ok(spad_value_from_int(&v, SPAD_INT8, -1, &e), &e);
    assert_int_equal(v.bits, 0xFF);
}

static uint64_t identity(spad_reduce op, spad_dtype dtype) {
    spad_value v;
    spad_error e;
    assert_ok(spad_reduce_identity(&v, op, dtype, &e), &e);
    assert_int_equal(v.dtype, dtype);
    return v.bits;
}

static void identities(void **state) {
    (void)state;
    assert_int_equal(identity(SPAD_REDUCE_SUM, SPAD_FLOAT16), 0);
    assert_int_equal(identity(SPAD_REDUCE_MAX, SPAD_FLOAT16), 0xFC00);
    assert_int_equal(identity(SPAD_REDUCE_MIN, SPAD_FLOAT16), 0x7C00);
    assert_int_equal(identity(SPAD_REDUCE_MAX, SPAD_FLOAT32), 0xFF800000);
    assert_int_equal(identity(SPAD_REDUCE_MAX, SPAD_BFLOAT16), 0xFF80);
    assert_int_equal(identity(SPAD_REDUCE_MAX, SPAD_FLOAT8_E4M3FN), 0xFE); /* -448 */
    assert_int_equal(identity(SPAD_REDUCE_MIN, SPAD_FLOAT8_E4M3FN), 0x7E);
    assert_int_equal(identity(SPAD_REDUCE_MAX, SPAD_FLOAT8_E8M0FNU), 0);
    assert_int_equal(identity(SPAD_REDUCE_MIN, SPAD_FLOAT8_E8M0FNU), 254);
    assert_int_equal(identity(SPAD_REDUCE_MAX, SPAD_INT32), 0x80000000);
    assert_int_equal(identity(SPAD_REDUCE_MIN, SPAD_INT32), 0x7FFFFFFF);
    assert_int_equal(identity(SPAD_REDUCE_MAX, SPAD_UINT8), 0);
    assert_int_equal(identity(SPAD_REDUCE_MIN, SPAD_UINT64), UINT64_MAX);
    assert_int_equal(identity(SPAD_REDUCE_BITAND, SPAD_INT16), 0xFFFF);
    assert_int_equal(identity(SPAD_REDUCE_BITAND, SPAD_BOOL), 1);
    assert_int_equal(identity(SPAD_REDUCE_BITOR, SPAD_INT16), 0);
    assert_int_equal(identity(SPAD_REDUCE_BITXOR, SPAD_UINT32), 0);
    spad_value v;
    spad_error e;
    assert_int_equal(spad_reduce_identity(&v, SPAD_REDUCE_BITOR, SPAD_FLOAT32, &e), SPAD_ERR_DTYPE);
    assert_string_equal(e.message, "bitor works on integers and bool, not on float32");
    assert_int_equal(spad_reduce_identity(&v, SPAD_REDUCE_SUM, SPAD_FLOAT8_E8M0FNU, &e),
                     SPAD_ERR_DTYPE);
    assert_int_equal(spad_reduce_identity(&v, SPAD_REDUCE_SUM, SPAD_FLOAT4_E2M1FN_X4, &e),
                     SPAD_ERR_DTYPE);
    assert_string_equal(e.message, "sum does not work on float4_e2m1fn_x4");
    assert_int_equal(spad_reduce_identity(&v, SPAD_REDUCE_COUNT, SPAD_INT8, &e), SPAD_ERR_ARGUMENT);
    spad_reduce op;
    assert_ok(spad_reduce_parse(&op, "bitxor", &e), &e);
    assert_int_equal(op, SPAD_REDUCE_BITXOR);
    assert_int_equal(spad_reduce_parse(&op, "bitxorr", &e), SPAD_ERR_UNKNOWN);
    assert_non_null(strstr(e.message, "did you mean 'bitxor'"));
    assert_string_equal(spad_reduce_name(SPAD_REDUCE_COUNT), "?");
    spad_replication r;
    assert_ok(spad_replication_parse(&r, NULL, &e), &e);
    assert_int_equal(r, SPAD_REPLICATION_UNSET);
    assert_ok(spad_replication_parse(&r, "none", &e), &e);
    assert_int_equal(r, SPAD_REPLICATION_NONE);
    assert_int_equal(spad_replication_parse(&r, "some", &e), SPAD_ERR_UNKNOWN);
    assert_string_equal(e.message, "replication is 'all', 'none' or not given, not 'some'");
}

/* ---- the life cycle ---------------------------------------------------------------- */

typedef struct fixture {
    spad_block *block;
    int64_t sum, dst;
    spad_error error;
} fixture;

static fixture make(spad_reduce op, spad_dtype dtype, spad_replication replication) {
    fixture f;
    const spad_target *target;
    assert_ok(spad_target_find(&target, "sm_90", &f.error), &f.error);
    assert_ok(spad_block_create(&f.block, target, NULL, &f.error), &f.error);
    assert_ok(spad_block_alloc_reducer(&f.sum, f.block, SPAD_SHAPE(4, 8), dtype, op, replication,
                                       "r", &f.error),
              &f.error);
    assert_ok(spad_block_alloc_fragment(&f.dst, f.block, SPAD_SHAPE(4, 8), dtype, "dst", &f.error),
              &f.error);
    return f;
}

static fixture make_sum(void) {
    return make(SPAD_REDUCE_SUM, SPAD_FLOAT32, SPAD_REPLICATION_UNSET);
}

static void enter(fixture *f, spad_block_flow kind) {
    assert_ok(spad_block_enter(f->block, kind, &f->error), &f->error);
}

static void leave(fixture *f) {
    assert_ok(spad_block_leave(f->block, &f->error), &f->error);
}

static void init(fixture *f) {
    assert_ok(spad_block_reducer_init(f->block, f->sum, NULL, &f->error), &f->error);
}

static void finalize(fixture *f) {
    assert_ok(spad_block_reducer_finalize(f->block, f->sum, f->dst, 1, &f->error), &f->error);
}

/* The call is refused with a code and a message. */
#define assert_refused(f, call, status_code, text)      \
    do {                                                \
        assert_int_equal((call), (status_code));        \
        assert_string_equal((f).error.message, (text)); \
        assert_string_equal((f).error.subject, "r");    \
    } while (0)

static void one_epoch(void **state) {
    (void)state;
    fixture f = make_sum();
    init(&f);
    enter(&f, SPAD_FLOW_SERIAL);
    enter(&f, SPAD_FLOW_PARALLEL);
    for (int i = 0; i < 3; i++) {
        assert_ok(spad_block_reducer_update(f.block, f.sum, SPAD_REDUCE_SUM, &f.error), &f.error);
    }
    leave(&f);
    leave(&f);
    enter(&f, SPAD_FLOW_BRANCH); /* further branches are fine, loops are not */
    finalize(&f);
    leave(&f);
    assert_ok(spad_block_plan(f.block, &f.error), &f.error);
    spad_block_destroy(f.block);
}

static void steps_out_of_order(void **state) {
    (void)state;
    fixture f = make_sum();
    assert_refused(f, spad_block_plan(f.block, &f.error), SPAD_ERR_LIFE_CYCLE,
                   "reducer 'r' is never initialised");
    assert_refused(f, spad_block_reducer_update(f.block, f.sum, SPAD_REDUCE_SUM, &f.error),
                   SPAD_ERR_LIFE_CYCLE, "reducer 'r' is updated before it is initialised");
    assert_refused(f, spad_block_reducer_finalize(f.block, f.sum, f.dst, 1, &f.error),
                   SPAD_ERR_LIFE_CYCLE, "reducer 'r' is finalised before it is initialised");
    enter(&f, SPAD_FLOW_PARALLEL);
    assert_refused(f, spad_block_reducer_init(f.block, f.sum, NULL, &f.error), SPAD_ERR_LIFE_CYCLE,
                   "reducer 'r' is initialised inside a parallel loop; do it before the loop");
    leave(&f);
    init(&f);
    assert_refused(f, spad_block_reducer_init(f.block, f.sum, NULL, &f.error), SPAD_ERR_LIFE_CYCLE,
                   "reducer 'r' is initialised twice; finalize it first");
    assert_refused(f, spad_block_reducer_update(f.block, f.sum, SPAD_REDUCE_SUM, &f.error),
                   SPAD_ERR_LIFE_CYCLE, "reducer 'r' is updated outside of a parallel loop");
    assert_refused(f, spad_block_plan(f.block, &f.error), SPAD_ERR_LIFE_CYCLE,
                   "reducer 'r' is never finalised");
    enter(&f, SPAD_FLOW_PARALLEL);
    assert_refused(f, spad_block_reducer_update(f.block, f.sum, SPAD_REDUCE_MAX, &f.error),
                   SPAD_ERR_ARGUMENT, "reducer 'r' is for sum and is updated with max");
    assert_refused(f, spad_block_reducer_finalize(f.block, f.sum, f.dst, 1, &f.error),
                   SPAD_ERR_LIFE_CYCLE,
                   "reducer 'r' is finalised inside a parallel loop; do it after the loop");
    leave(&f);
    enter(&f, SPAD_FLOW_SERIAL);
    assert_refused(f, spad_block_reducer_finalize(f.block, f.sum, f.dst, 1, &f.error),
                   SPAD_ERR_LIFE_CYCLE,
                   "reducer 'r' is finalised in another loop or branch than it was initialised in");
    leave(&f);
    assert_refused(f, spad_block_reducer_finalize(f.block, f.sum, f.dst, 0, &f.error),
                   SPAD_ERR_ARGUMENT,
                   "reducer 'r' is finalised with a batch of less than 1 result");
    finalize(&f);
    assert_refused(f, spad_block_reducer_finalize(f.block, f.sum, f.dst, 1, &f.error),
                   SPAD_ERR_LIFE_CYCLE, "reducer 'r' is finalised twice");
    assert_refused(f, spad_block_reducer_init(f.block, f.sum, NULL, &f.error), SPAD_ERR_LIFE_CYCLE,
                   "reducer 'r' is initialised again after finalize; allocate another one");
    enter(&f, SPAD_FLOW_PARALLEL);
    assert_refused(f, spad_block_reducer_update(f.block, f.sum, SPAD_REDUCE_SUM, &f.error),
                   SPAD_ERR_LIFE_CYCLE, "reducer 'r' is updated after finalize");
    leave(&f);
    spad_block_destroy(f.block);
}

static void the_loop_of_the_init_is_the_loop_of_the_finalize(void **state) {
    (void)state;
    fixture f = make_sum();
    enter(&f, SPAD_FLOW_SERIAL);
    init(&f);
    leave(&f);
    assert_int_equal(spad_block_reducer_finalize(f.block, f.sum, f.dst, 1, &f.error),
                     SPAD_ERR_LIFE_CYCLE);
    enter(&f, SPAD_FLOW_SERIAL); /* another loop at the same depth */
    assert_int_equal(spad_block_reducer_finalize(f.block, f.sum, f.dst, 1, &f.error),
                     SPAD_ERR_LIFE_CYCLE);
    leave(&f);
    spad_block_destroy(f.block);
}

static void destinations(void **state) {
    (void)state;
    fixture f = make_sum();
    int64_t wrong_type, wrong_shape, shared, other, ended, early, late;
    spad_error *e = &f.error;
    assert_ok(
        spad_block_alloc_fragment(&wrong_type, f.block, SPAD_SHAPE(4, 8), SPAD_FLOAT16, "h", e), e);
    assert_ok(
        spad_block_alloc_fragment(&wrong_shape, f.block, SPAD_SHAPE(8, 4), SPAD_FLOAT32, "t", e),
        e);
    assert_ok(spad_block_alloc_fragment(&ended, f.block, SPAD_SHAPE(4, 8), SPAD_FLOAT32, "e", e),
              e);
    assert_ok(spad_block_free(f.block, ended, e), e);
    spad_block_request timed = {.scope = "local.fragment",
                                .shape = SPAD_SHAPE(4, 8),
                                .dtype = SPAD_FLOAT32,
                                .timed = true,
                                .end = 1};
    assert_ok(spad_block_alloc(&early, f.block, &timed, e), e);
    timed.begin = 1000;
    timed.end = 2000;
    assert_ok(spad_block_alloc(&late, f.block, &timed, e), e);
    assert_ok(
        spad_block_alloc_shared(&shared, f.block, SPAD_SHAPE(4, 8), SPAD_FLOAT32, NULL, "s", e), e);
    assert_ok(spad_block_alloc_reducer(&other, f.block, SPAD_SHAPE(4, 8), SPAD_FLOAT32,
                                       SPAD_REDUCE_SUM, SPAD_REPLICATION_UNSET, "r2", e),
              e);
    init(&f);
    const struct {
        int64_t to;
        const char *message;
    } cases[] = {
        {f.sum, "reducer 'r' is finalised into itself; give a separate fragment"},
        {other, "reducer 'r' is finalised into another reducer; give a fragment"},
        {shared,
         "reducer 'r' is finalised into something that is not a fragment ('local.fragment')"},
        {ended, "reducer 'r' is finalised into a fragment that has ended"},
        {early, "reducer 'r' is finalised into a fragment that has ended"},
        {late, "reducer 'r' is finalised into a fragment that is not live yet"},
        {wrong_type, "reducer 'r' is finalised into a fragment of another element type"},
        {wrong_shape, "reducer 'r' is finalised into a fragment of another shape"},
        {SPAD_BLOCK_IN_PLACE,
         "reducer 'r' was opened by init, so finalize needs a fragment for the results"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        assert_refused(f, spad_block_reducer_finalize(f.block, f.sum, cases[i].to, 1, e),
                       SPAD_ERR_ARGUMENT, cases[i].message);
    }
    assert_int_equal(spad_block_reducer_finalize(f.block, f.sum, 99, 1, e), SPAD_ERR_ARGUMENT);
    assert_string_equal(e->message, "the block has no buffer number 99; it has 9");
    assert_int_equal(spad_block_reducer_init(f.block, shared, NULL, e), SPAD_ERR_SPACE);
    assert_string_equal(e->message, "buffer 's' is not a reducer but 'shared.dyn'");
    finalize(&f);
    spad_block_destroy(f.block);
}

static void seeds(void **state) {
    (void)state;
    fixture f = make_sum();
    spad_value v;
    spad_block_buffer info;
    assert_ok(spad_value_from_int(&v, SPAD_INT32, 36, &f.error), &f.error);
    assert_refused(f, spad_block_reducer_init(f.block, f.sum, &v, &f.error), SPAD_ERR_DTYPE,
                   "reducer 'r' of float32 is initialised with a value of int32");
    assert_ok(spad_value_from_int(&v, SPAD_FLOAT32, 36, &f.error), &f.error);
    assert_ok(spad_block_reducer_init(f.block, f.sum, &v, &f.error), &f.error);
    assert_ok(spad_block_get(&info, f.block, f.sum, &f.error), &f.error);
    assert_int_equal(info.init.bits, v.bits); /* kept once, whatever the replication */
    spad_block_destroy(f.block);
}

/* The rules of the manual of tilelang.language.allocate. */
static void fills(void **state) {
    (void)state;
    spad_value zero, minus_zero, one, ones;
    spad_error e;
    assert_ok(spad_value_from_real(&zero, SPAD_FLOAT32, 0, &e), &e);
    assert_ok(spad_value_from_real(&minus_zero, SPAD_FLOAT32, -0.0, &e), &e);
    assert_ok(spad_value_from_real(&one, SPAD_FLOAT32, 1, &e), &e);
    assert_ok(spad_value_from_int(&ones, SPAD_INT32, -1, &e), &e);

    fixture f = make(SPAD_REDUCE_SUM, SPAD_FLOAT32, SPAD_REPLICATION_ALL);
    assert_refused(f, spad_block_reducer_fill(f.block, f.sum, one, &f.error), SPAD_ERR_ARGUMENT,
                   "reducer 'r' for sum must be filled with 0: replicas would each add it; init "
                   "takes a seed");
    assert_refused(f, spad_block_reducer_fill(f.block, f.sum, ones, &f.error), SPAD_ERR_DTYPE,
                   "reducer 'r' of float32 is initialised with a value of int32");
    assert_ok(spad_block_reducer_fill(f.block, f.sum, minus_zero, &f.error), &f.error);
    assert_int_equal(spad_block_reducer_fill(f.block, f.sum, zero, &f.error), SPAD_ERR_LIFE_CYCLE);
    assert_refused(f, spad_block_touch(f.block, f.sum, SPAD_TOUCH_READ, &f.error),
                   SPAD_ERR_LIFE_CYCLE,
                   "reducer 'r' is read before finalize; its parts are not combined yet");
    assert_refused(
        f, spad_block_reducer_finalize(f.block, f.sum, f.dst, 1, &f.error), SPAD_ERR_ARGUMENT,
        "reducer 'r' was filled, so it is finalised in place; use init for a destination");
    assert_ok(spad_block_reducer_finalize(f.block, f.sum, SPAD_BLOCK_IN_PLACE, 1, &f.error),
              &f.error);
    assert_ok(spad_block_touch(f.block, f.sum, SPAD_TOUCH_READ, &f.error), &f.error);
    spad_block_destroy(f.block);

    f = make(SPAD_REDUCE_MAX, SPAD_FLOAT32, SPAD_REPLICATION_NONE);
    assert_ok(spad_block_reducer_fill(f.block, f.sum, one, &f.error), &f.error); /* a clamper */
    spad_block_destroy(f.block);

    f = make(SPAD_REDUCE_BITAND, SPAD_INT32, SPAD_REPLICATION_UNSET);
    spad_value other = {SPAD_INT32, 5};
    assert_refused(
        f, spad_block_reducer_fill(f.block, f.sum, other, &f.error), SPAD_ERR_ARGUMENT,
        "reducer 'r' must be filled with the identity of its operator; init takes a seed");
    assert_ok(spad_block_reducer_fill(f.block, f.sum, ones, &f.error), &f.error);
    spad_block_destroy(f.block);
}

static void what_cannot_be_allocated(void **state) {
    (void)state;
    fixture f = make_sum();
    int64_t n;
    assert_int_equal(spad_block_alloc_reducer(&n, f.block, SPAD_SHAPE(4), SPAD_FLOAT32,
                                              SPAD_REDUCE_BITOR, SPAD_REPLICATION_UNSET, "x",
                                              &f.error),
                     SPAD_ERR_DTYPE);
    assert_int_equal(n, -1);
    assert_int_equal(spad_block_alloc_reducer(&n, f.block, SPAD_SHAPE(4), SPAD_INT32,
                                              SPAD_REDUCE_BITOR, SPAD_REPLICATION_ALL, "x",
                                              &f.error),
                     SPAD_ERR_ARGUMENT);
    assert_string_equal(f.error.message,
                        "local.reducer 'x': with a replication given only sum, max "
                        "and min work; leave it to the compiler");
    assert_int_equal(spad_block_alloc_reducer(&n, f.block, SPAD_SHAPE(4), SPAD_INT32,
                                              SPAD_REDUCE_SUM, SPAD_REPLICATION_COUNT, "x",
                                              &f.error),
                     SPAD_ERR_ARGUMENT);
    spad_block_destroy(f.block);
}

static void accumulators_are_opaque(void **state) {
    (void)state;
    fixture f = make_sum();
    init(&f);
    assert_refused(f, spad_block_touch(f.block, f.sum, SPAD_TOUCH_READ, &f.error),
                   SPAD_ERR_LIFE_CYCLE,
                   "reducer 'r' is read; read the fragment that finalize writes");
    assert_refused(f, spad_block_touch(f.block, f.sum, SPAD_TOUCH_WRITE, &f.error),
                   SPAD_ERR_LIFE_CYCLE,
                   "reducer 'r' is stored to; only init or fill, update and finalize change it");
    assert_refused(f, spad_block_touch(f.block, f.sum, SPAD_TOUCH_ADDRESS, &f.error),
                   SPAD_ERR_LIFE_CYCLE,
                   "reducer 'r' has its address taken; it has no storage of its own");
    finalize(&f);
    assert_int_equal(spad_block_touch(f.block, f.sum, SPAD_TOUCH_READ, &f.error),
                     SPAD_ERR_LIFE_CYCLE); /* dead */
    assert_ok(spad_block_free(f.block, f.sum, &f.error), &f.error);
    assert_refused(f, spad_block_reducer_update(f.block, f.sum, SPAD_REDUCE_SUM, &f.error),
                   SPAD_ERR_NOT_LIVE, "reducer 'r' has ended already");
    spad_block_destroy(f.block);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reals_round_to_the_nearest),
        cmocka_unit_test(whole_numbers_are_rounded_once),
        cmocka_unit_test(values_that_do_not_exist),
        cmocka_unit_test(identities),
        cmocka_unit_test(one_epoch),
        cmocka_unit_test(steps_out_of_order),
        cmocka_unit_test(the_loop_of_the_init_is_the_loop_of_the_finalize),
        cmocka_unit_test(destinations),
        cmocka_unit_test(seeds),
        cmocka_unit_test(fills),
        cmocka_unit_test(what_cannot_be_allocated),
        cmocka_unit_test(accumulators_are_opaque),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
