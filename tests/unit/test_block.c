/* SPDX-License-Identifier: Apache-2.0
 *
 * Blocks: scopes, sizes, alignment, stages, reports, the trace, and failing host memory. Every
 * error with its message. */
#include "spad/experimental/trace_queries.h"
#include "unit/block_fixture.h"

#include <stdio.h>
#include <string.h>

/* ---- scopes ------------------------------------------------------------------------ */

static void scope_names(void **state) {
    (void)state;
    spad_error e;
    spad_block_scope scope;
    for (int i = 0; i < SPAD_BLOCK_SCOPE_COUNT; i++) {
        assert_ok(spad__block_scope_parse(&scope, spad_block_scope_name((spad_block_scope)i), &e),
                  &e);
        assert_int_equal(scope, i);
    }
    assert_string_equal(spad_block_scope_name(SPAD_BLOCK_SCOPE_COUNT), "?");
    assert_int_equal(spad__block_scope_parse(&scope, "local.fragmnt", &e), SPAD_ERR_UNKNOWN);
    assert_string_equal(e.message,
                        "no scope is called 'local.fragmnt'; did you mean 'local.fragment'?");
    assert_int_equal(spad__block_scope_parse(&scope, "texture", &e), SPAD_ERR_UNKNOWN);
    assert_string_equal(e.message,
                        "no scope is called 'texture'; the scopes are those of TileLang, "
                        "such as 'shared.dyn'");
}

static void which_chip_has_what(void **state) {
    (void)state;
    static const int64_t one[] = {1};
    const struct {
        const char *target;
        const char *scope;
        const char *message; /* NULL: it works */
    } cases[] = {
        {"sm_80", "shared.barrier",
         "scope 'shared.barrier': sm_80 has no mbarriers; sm_90 and later have them"},
        {"sm_89", "shared.cluster_barrier",
         "scope 'shared.cluster_barrier': sm_89 has no mbarriers; sm_90 and later have them"},
        {"sm_90", "shared.barrier", NULL},
        {"sm_100", "shared.barrier", NULL},
        {"sm_120", "shared.barrier", NULL},
        {"sm_90", "shared.tmem",
         "scope 'shared.tmem': sm_90 has no tensor memory; sm_100, sm_103 and sm_110 have it"},
        {"sm_120", "shared.tmem",
         "scope 'shared.tmem': sm_120 has no tensor memory; sm_100, sm_103 and sm_110 have it"},
        {"sm_110", "shared.tmem", NULL},
        {"sm_90", "local.descriptor.wgmma", NULL},
        {"sm_80", "local.descriptor.wgmma",
         "scope 'local.descriptor.wgmma': sm_80 has no wgmma; sm_90 has it"},
        {"sm_100", "local.descriptor.wgmma",
         "scope 'local.descriptor.wgmma': sm_100 has no wgmma; sm_90 has it"},
        {"sm_100", "local.descriptor.tcgen05_smem", NULL},
        {"sm_90", "local.descriptor.tcgen05_instr",
         "scope 'local.descriptor.tcgen05_instr': sm_90 has no tcgen05; sm_100, sm_103 and sm_110 "
         "have it"},
        {"sm_90", "wmma.matrix_a",
         "scope 'wmma.matrix_a' does not exist on sm_90: it is a level of an Ascend core; use "
         "'shared.dyn' or 'local.fragment'"},
        {"910b", "shared.barrier",
         "scope 'shared.barrier' does not exist on 910b: cores synchronise by flags, which take no "
         "memory"},
        {"910b", "local.fragment",
         "scope 'local.fragment' does not exist on 910b: use 'wmma.accumulator' (l0c) or 'shared' "
         "(ub)"},
        {"910b", "local",
         "scope 'local' does not exist on 910b: a core has no thread-private arrays; use 'shared' "
         "(ub)"},
        {"950", "wmma.accumulator", NULL},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        fixture f = make(cases[i].target);
        spad_block_request r = {
            .scope = cases[i].scope, .dtype = SPAD_FLOAT32, .shape = SPAD_SHAPE(32, 32)};
        if (strncmp(cases[i].scope, "local.desc", 10) == 0) {
            r.dtype = SPAD_DTYPE_NONE;
            r.shape = (spad_shape){0, NULL};
        }
        if (strstr(cases[i].scope, "barrier") != NULL) {
            r.dtype = SPAD_DTYPE_NONE;
            r.arrivals = one;
            r.arrival_count = 1;
        }
        int64_t number;
        const spad_status status = spad_block_alloc(&number, f.block, &r, &f.error);
        assert_int_equal(status, cases[i].message == NULL ? SPAD_OK : SPAD_ERR_CAPABILITY);
        if (cases[i].message != NULL) assert_string_equal(f.error.message, cases[i].message);
        done(&f);
    }
}

static void blocks_need_a_chip_with_blocks(void **state) {
    (void)state;
    spad_block *block;
    const spad_target *target;
    spad_error e;
    assert_int_equal(spad_block_create(&block, NULL, NULL, &e), SPAD_ERR_ARGUMENT);
    assert_ok(spad_target_find(&target, "trn2", &e), &e);
    assert_int_equal(spad_block_create(&block, target, NULL, &e), SPAD_ERR_CAPABILITY);
    assert_null(block);
    assert_string_equal(e.message, "trn2 has no thread blocks: a block needs a space called shared "
                                   "(GPU) or ub (Ascend)");
    const spad_block_options options = {.threads = -1};
    assert_ok(spad_target_find(&target, "sm_90", &e), &e);
    assert_int_equal(spad_block_create(&block, target, &options, &e), SPAD_ERR_ARGUMENT);
    spad_block_destroy(NULL);
}

/* ---- sizes and alignment ----------------------------------------------------------- */

static void element_sizes(void **state) {
    (void)state;
    fixture f = make("sm_90");
    /* 4-bit elements pack: TileLang test_cuda_shared_memory_alias_codegen.py */
    const int64_t a =
        put(&f, (spad_block_request){.shape = SPAD_SHAPE(127), .dtype = SPAD_FLOAT4_E2M1FN});
    const int64_t b = put(&f, (spad_block_request){.shape = SPAD_SHAPE(127), .dtype = SPAD_INT4});
    assert_int_equal(get(&f, a).bytes, 64);
    assert_int_equal(get(&f, a).offset, SPAD_NO_BYTE);
    assert_int_equal(plan(&f).dynamic_bytes, 128);
    assert_int_equal(get(&f, a).offset, 0);
    assert_int_equal(get(&f, b).offset, 64);
    done(&f);

    f = make("sm_90");
    const int64_t c = put(&f, (spad_block_request){.shape = SPAD_SHAPE(32), .dtype = SPAD_FLOAT16});
    const int64_t d =
        put(&f, (spad_block_request){.shape = SPAD_SHAPE(4, 8), .dtype = SPAD_FLOAT16});
    assert_int_equal(plan(&f).dynamic_bytes, 128);
    assert_int_equal(get(&f, c).offset, 0);
    assert_int_equal(get(&f, d).offset, 64);
    done(&f);
}

static void uses_and_alignments(void **state) {
    (void)state;
    static const int64_t expected[SPAD_USE_COUNT] = {16, 16, 128, 256, 512, 1024, 1024};
    for (int use = 0; use < SPAD_USE_COUNT; use++) {
        fixture f = make("sm_90");
        put(&f, (spad_block_request){.shape = SPAD_SHAPE(1), .dtype = SPAD_UINT8});
        const int64_t n = put(&f, (spad_block_request){.shape = SPAD_SHAPE(32),
                                                       .dtype = SPAD_FLOAT16,
                                                       .stages = 3,
                                                       .use = (spad_block_use)use});
        plan(&f);
        const spad_block_buffer info = get(&f, n);
        assert_int_equal(info.align, expected[use]);
        /* TileLang issue 2528: a stage of 64 bytes; every start is aligned */
        for (int64_t s = 0; s < info.stages; s++) {
            assert_int_equal((info.byte + s * info.stride) % info.align, 0);
        }
        assert_int_equal(info.stride, expected[use] < 64 ? 64 : expected[use]);
        assert_int_equal(info.span, 2 * info.stride + 64);
        done(&f);
    }
    fixture f = make("sm_90");
    const spad_block_request big = {
        .name = "x", .shape = SPAD_SHAPE(8), .dtype = SPAD_UINT8, .align = 2048};
    assert_int_equal(refused(&f, big), SPAD_ERR_ALIGNMENT);
    assert_string_equal(f.error.message,
                        "shared.dyn 'x': an alignment of 2048; it must be a power of "
                        "two up to 1024, as the base is not aligned to more");
    spad_block_request odd = big;
    odd.align = 24;
    assert_int_equal(refused(&f, odd), SPAD_ERR_ALIGNMENT);
    odd.align = 0;
    odd.use = SPAD_USE_BULK;
    assert_int_equal(refused(&f, odd), SPAD_ERR_SHAPE);
    assert_string_equal(f.error.message,
                        "shared.dyn 'x': bulk copies move multiples of 16 bytes; pad "
                        "the last extent");
    odd.use = SPAD_USE_COUNT;
    assert_int_equal(refused(&f, odd), SPAD_ERR_ARGUMENT);
    odd.use = SPAD_USE_TMA;
    odd.scope = "local";
    assert_int_equal(refused(&f, odd), SPAD_ERR_SPACE);
    assert_string_equal(f.error.message,
                        "local 'x': bulk copies and matrix operands are in shared memory");
    done(&f);
    f = make("sm_86");
    odd.scope = NULL;
    assert_int_equal(refused(&f, odd), SPAD_ERR_CAPABILITY);
    assert_string_equal(f.error.message, "buffer 'x': sm_86 has no bulk copies and no matrix "
                                         "operands in shared memory; sm_90 and later have "
                                         "them");
    done(&f);
}

static void bad_requests(void **state) {
    (void)state;
    fixture f = make("sm_100");
    spad_block_request r = {.name = "x", .shape = SPAD_SHAPE(4, 0), .dtype = SPAD_INT8};
    assert_int_equal(refused(&f, r), SPAD_ERR_SHAPE);
    assert_string_equal(f.error.message, "shared.dyn 'x': a buffer needs positive extents");
    r.shape = (spad_shape){0, NULL};
    assert_int_equal(refused(&f, r), SPAD_ERR_SHAPE);
    r.shape = SPAD_SHAPE(-1);
    assert_int_equal(refused(&f, r), SPAD_ERR_SHAPE);
    r.shape = SPAD_SHAPE(8);
    r.dtype = SPAD_DTYPE_NONE;
    assert_int_equal(refused(&f, r), SPAD_ERR_DTYPE);
    assert_string_equal(f.error.message, "shared.dyn 'x': it needs an element type");
    r.dtype = SPAD_INT8;
    r.stages = -2;
    assert_int_equal(refused(&f, r), SPAD_ERR_ARGUMENT);
    assert_string_equal(f.error.message, "shared.dyn 'x': a pipeline needs at least one stage");
    r.stages = INT64_MAX;
    assert_int_equal(refused(&f, r), SPAD_ERR_OVERFLOW);
    assert_string_equal(f.error.message, "shared.dyn 'x': its bytes do not fit 64 bits");
    r.stages = 2;
    r.scope = "local";
    assert_int_equal(refused(&f, r), SPAD_ERR_ARGUMENT);
    assert_string_equal(f.error.message,
                        "local 'x': stages are for shared memory and the levels of a core");
    r.scope = NULL;
    r.timed = true;
    r.begin = r.end = 4;
    assert_int_equal(refused(&f, r), SPAD_ERR_ARGUMENT);
    assert_string_equal(f.error.message,
                        "shared.dyn 'x': a lifetime [begin, end) needs 0 <= begin < end");
    bytes(&f, "x", NULL, 8);
    assert_int_equal(
        refused(&f, (spad_block_request){.name = "x", .shape = SPAD_SHAPE(8), .dtype = SPAD_INT8}),
        SPAD_ERR_NAME);
    assert_string_equal(f.error.message, "the block has a buffer called 'x' already");
    assert_int_equal(refused(&f, (spad_block_request){.name = "v",
                                                      .scope = "local.var",
                                                      .shape = SPAD_SHAPE(2),
                                                      .dtype = SPAD_INT8}),
                     SPAD_ERR_SHAPE);
    assert_string_equal(f.error.message, "local.var 'v': it has one element");
    const spad_value half = {SPAD_FLOAT16, 0x3800};
    assert_int_equal(refused(&f, (spad_block_request){.name = "v",
                                                      .scope = "local.var",
                                                      .dtype = SPAD_INT8,
                                                      .init = half}),
                     SPAD_ERR_DTYPE);
    assert_string_equal(f.error.message, "local.var 'v': the first value has another element type");
    assert_int_equal(refused(&f, (spad_block_request){.name = "d",
                                                      .scope = "local.descriptor.tcgen05_instr",
                                                      .dtype = SPAD_UINT64}),
                     SPAD_ERR_DTYPE);
    assert_string_equal(f.error.message,
                        "local.descriptor.tcgen05_instr 'd': this descriptor is a uint32");
    spad_block_buffer info;
    assert_int_equal(spad_block_get(&info, f.block, 77, &f.error), SPAD_ERR_ARGUMENT);
    done(&f);
}

static void messages_name_the_buffer(void **state) {
    (void)state;
    fixture f = make("sm_90");
    const struct {
        spad_block_request request;
        spad_status status;
        const char *start; /* of the message */
    } cases[] = {
        {{.name = "x", .shape = SPAD_SHAPE(-1), .dtype = SPAD_INT8},
         SPAD_ERR_SHAPE,
         "shared.dyn 'x': "},
        {{.name = "x", .shape = SPAD_SHAPE(INT64_MAX, 8), .dtype = SPAD_INT8},
         SPAD_ERR_OVERFLOW,
         "shared.dyn 'x': "},
        {{.name = "x",
          .scope = "local.reducer",
          .shape = SPAD_SHAPE(8),
          .dtype = SPAD_FLOAT32,
          .op = SPAD_REDUCE_BITOR},
         SPAD_ERR_DTYPE,
         "local.reducer 'x': "},
        {{.name = "x", .scope = "shard", .shape = SPAD_SHAPE(8), .dtype = SPAD_INT8},
         SPAD_ERR_UNKNOWN,
         "buffer 'x': no scope is called 'shard'"},
        {{.name = "x", .scope = "shared.tmem", .shape = SPAD_SHAPE(8, 8), .dtype = SPAD_INT8},
         SPAD_ERR_CAPABILITY,
         "buffer 'x': scope 'shared.tmem': sm_90 has no tensor memory"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        assert_int_equal(refused(&f, cases[i].request), cases[i].status);
        assert_memory_equal(f.error.message, cases[i].start, strlen(cases[i].start));
        assert_string_equal(f.error.subject, "x");
        int64_t n;
        assert_int_equal(spad_block_alloc(&n, f.block, &cases[i].request, NULL), cases[i].status);
    }
    int64_t n;
    assert_int_equal(spad_block_alloc_descriptor(&n, f.block, NULL, "d", &f.error),
                     SPAD_ERR_UNKNOWN);
    assert_int_equal(spad_block_alloc_shared(&n, f.block, SPAD_SHAPE(8), SPAD_INT32,
                                             "local.reducer", "r", &f.error),
                     SPAD_ERR_SPACE);
    assert_int_equal(n, -1);
    assert_string_equal(
        f.error.message,
        "local.reducer 'r': a reducer needs an operator; use spad_block_alloc_reducer");
    done(&f);
}

/* Threads that read and write everything are no bulk copies: without registers
 * in the file there is nothing to distinguish them by. */
static void a_chip_without_registers_has_no_bulk_copies(void **state) {
    (void)state;
    static const spad_space spaces[] = {
        {.name = "shared", .lanes = 1, .bytes = 65536, .alignment = 1, .granule = 1},
        {.name = "global",
         .lanes = 1,
         .bytes = 65536,
         .alignment = 1,
         .granule = 1,
         .off_chip = true}};
    static const spad_engine engines[] = {{.name = "threads", .reads = 3, .writes = 3}};
    const spad_target toy = {.name = "toy",
                             .family = "test",
                             .space_count = 2,
                             .spaces = spaces,
                             .engine_count = 1,
                             .engines = engines};
    fixture f = {.target = &toy};
    assert_ok(spad_block_create(&f.block, &toy, NULL, &f.error), &f.error);
    const spad_block_request copied = {
        .name = "x", .shape = SPAD_SHAPE(16), .dtype = SPAD_UINT8, .use = SPAD_USE_TMA};
    assert_int_equal(refused(&f, copied), SPAD_ERR_CAPABILITY);
    done(&f);
}

static void every_scope_of_tilelang(void **state) {
    (void)state;
    fixture f = make_with("sm_100", (spad_block_options){.threads = 100});
    int64_t n;
    spad_error *e = &f.error;
    const spad_value minus = {SPAD_INT32, 0xFFFFFFFF};
    assert_ok(spad_block_alloc_local(&n, f.block, SPAD_SHAPE(3), SPAD_INT4, "l", e), e);
    assert_int_equal(get(&f, n).bytes, 2);
    assert_ok(spad_block_alloc_fragment(&n, f.block, SPAD_SHAPE(64, 64), SPAD_FLOAT32, "f", e), e);
    assert_int_equal(get(&f, n).bytes, 16384);
    assert_ok(spad_block_alloc_var(&n, f.block, SPAD_INT32, &minus, "v", e), e);
    assert_int_equal(get(&f, n).init.bits, 0xFFFFFFFF);
    assert_ok(spad_block_alloc_var(&n, f.block, SPAD_FLOAT16, NULL, "w", e), e);
    assert_int_equal(get(&f, n).init.dtype, SPAD_FLOAT16); /* always initialised: 0 */
    assert_int_equal(get(&f, n).init.bits, 0);
    assert_ok(spad_block_alloc_descriptor(&n, f.block, "tcgen05_instr", "d", e), e);
    assert_int_equal(get(&f, n).bytes, 4);
    assert_ok(spad_block_alloc_descriptor(&n, f.block, "tcgen05_smem", "d2", e), e);
    assert_int_equal(get(&f, n).bytes, 8);
    assert_int_equal(spad_block_alloc_descriptor(&n, f.block, "tcgen05_sme", "d3", e),
                     SPAD_ERR_UNKNOWN);
    assert_ok(spad_block_alloc_global(&n, f.block, SPAD_SHAPE(1 << 20), SPAD_FLOAT32, "g", e), e);
    assert_int_equal(get(&f, n).bytes, 1 << 22);
    const spad_block_totals t = plan(&f);
    assert_int_equal(t.block_bytes, 1024);                     /* nothing but the reserve */
    assert_int_equal(t.thread_bytes, 2 + 164 + 4 + 2 + 4 + 8); /* 16384 over 100 threads */
    assert_int_equal(t.blocks_per_unit, 32);
    assert_string_equal(t.limited_by, "the block limit");
    done(&f);
}

/* ---- writing ----------------------------------------------------------------------- */

static fixture small_kernel(void) {
    fixture f = make("sm_100");
    const int64_t a = put(&f, (spad_block_request){.name = "A",
                                                   .shape = SPAD_SHAPE(96),
                                                   .dtype = SPAD_UINT8,
                                                   .stages = 2,
                                                   .use = SPAD_USE_TMA});
    assert_ok(spad_block_free(f.block, a, &f.error), &f.error);
    bytes(&f, NULL, NULL, 32);
    int64_t n;
    assert_ok(spad_block_alloc_barrier(&n, f.block, two_arrivals, 2, "full", &f.error), &f.error);
    assert_ok(spad_block_alloc_tmem(&n, f.block, SPAD_SHAPE(64, 32), SPAD_FLOAT32, "acc", &f.error),
              &f.error);
    const spad_value two = {SPAD_FLOAT16, 0x4000};
    assert_ok(spad_block_alloc_var(&n, f.block, SPAD_FLOAT16, &two, "v", &f.error), &f.error);
    plan(&f);
    return f;
}

static void the_report(void **state) {
    (void)state;
    fixture f = small_kernel();
    test_text text;
    test_text_init(&text);
    assert_ok(spad_block_write(f.block, SPAD_FORMAT_TEXT, &text.sink, &f.error), &f.error);
    assert_string_equal(
        text.bytes,
        "k on sm_100: fits, 1,376 of 233,472 B of shared memory\n"
        "       224 B  dynamic arena, base aligned to 128 B\n"
        "           224 B  at 0        [0, 1)  A  uint8 (96,), 2 stages of 96 B, 128 B apart\n"
        "            32 B  at 0        [2, end)  #1  uint8 (32,)\n"
        "              buffers 224 B, stage padding 32 B; at most 224 B live, at time 0\n"
        "        20 B  static\n"
        "            16 B  at 0        [3, end)  full  2 barriers, arrivals 1 128\n"
        "             4 B  address words of tensor memory\n"
        "       108 B  padding before the arena\n"
        "     1,024 B  reserve of the driver\n"
        "  opt-in: not needed, the plain limit is 49,152 B of static, padding and dynamic\n"
        "  blocks per unit: 16, limited by tensor memory\n"
        "  tensor memory: 32 of 512 columns, allocations of 32\n"
        "            32 columns  at 0 of allocation 0, lanes 0 to 63  [4, end)  acc  float32 (64, "
        "32)\n"
        "  registers: at least 2 B a thread\n"
        "             2 B  local.var  v  float16 (1,), first 0x4000\n");
    test_text_clear(&text);
    text.fail_after = 100;
    assert_int_equal(spad_block_write(f.block, SPAD_FORMAT_TEXT, &text.sink, &f.error),
                     SPAD_ERR_IO);
    text.fail_after = SIZE_MAX;
    test_text_clear(&text);
    assert_ok(spad_block_write(f.block, SPAD_FORMAT_JSON, &text.sink, &f.error), &f.error);
    static const char *const parts[] = {"\"block\": \"k\"",
                                        "\"target\": \"sm_100\"",
                                        "\"fits\": true",
                                        "\"dynamic_bytes\": 224",
                                        "\"address_word_bytes\": 4",
                                        "\"stage_padding\": 32",
                                        "\"needs_opt_in\": false",
                                        "\"limited_by\": \"tensor memory\"",
                                        "\"allocations\": [\n      32\n    ]",
                                        "\"scope\": \"shared.tmem\"",
                                        "\"arrivals\": [",
                                        "\"name\": null",
                                        "\"end\": null"};
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++) {
        if (strstr(text.bytes, parts[i]) == NULL) print_error("missing: %s\n", parts[i]);
        assert_non_null(strstr(text.bytes, parts[i]));
    }
    bytes(&f, "late", NULL, 8);
    assert_int_equal(spad_block_write(f.block, SPAD_FORMAT_TEXT, &text.sink, &f.error),
                     SPAD_ERR_STALE);
    assert_int_equal(spad_block_write(f.block, SPAD_FORMAT_JSON, &text.sink, &f.error),
                     SPAD_ERR_STALE);
    test_text_free(&text);
    done(&f);
}

static void the_trace(void **state) {
    (void)state;
    fixture f = small_kernel();
    spad_trace *trace;
    assert_ok(spad_trace_create(&trace, f.target, NULL, &f.error), &f.error);
    assert_ok(spad_block_write_trace(f.block, trace, &f.error), &f.error);
    assert_int_equal(spad_trace_tensor_count(trace), 5);
    assert_int_equal(spad_trace_scope_count(trace), 1);
    assert_int_equal(spad_trace_event_count(trace), 12);
    assert_string_equal(spad_trace_get_scope(trace, 0)->name, "k");
    assert_true(spad_trace_get_scope(trace, 0)->t_end != SPAD_OPEN_END);
    const spad_tensor *a = spad_trace_get_tensor(trace, 0);
    assert_string_equal(a->name, "A");
    assert_int_equal(a->rect.byte, 128); /* after the static part */
    assert_int_equal(a->rect.bytes, 224);
    assert_int_equal(a->mode, SPAD_MODE_AUTO);
    assert_int_equal(spad_trace_get_tensor(trace, 1)->rect.byte, 128);
    assert_true(a->t_end <= spad_trace_get_tensor(trace, 1)->t_begin);
    const spad_tensor *acc = spad_trace_get_tensor(trace, 3);
    assert_int_equal(acc->rect.lanes, 64);
    assert_int_equal(acc->rect.bytes, 128);
    spad_space_stats stats;
    assert_ok(spad_trace_get_stats(&stats, trace, a->space, &f.error), &f.error);
    assert_int_equal(stats.peak_bytes, 224);
    assert_int_equal(stats.live_tensors, 0);
    spad_trace_destroy(trace);

    const spad_target *other;
    assert_ok(spad_target_find(&other, "sm_90", &f.error), &f.error);
    assert_ok(spad_trace_create(&trace, other, NULL, &f.error), &f.error);
    assert_int_equal(spad_block_write_trace(f.block, trace, &f.error), SPAD_ERR_ARGUMENT);
    assert_string_equal(f.error.message, "the trace was made for target sm_90, not for sm_100");
    bytes(&f, "late", NULL, 8);
    assert_int_equal(spad_block_write_trace(f.block, trace, &f.error), SPAD_ERR_STALE);
    spad_trace_destroy(trace);
    done(&f);
}

/* ---- host memory ------------------------------------------------------------------- */

/* Plans once more: the plan before is there until then, and equal to the one after. */
static spad_status plan_again(spad_block *block) {
    spad_error error;
    test_text before, after;
    test_text_init(&before);
    test_text_init(&after);
    assert_ok(spad_block_write(block, SPAD_FORMAT_JSON, &before.sink, &error), &error);
    const spad_status status = spad_block_plan(block, &error);
    assert_ok(spad_block_write(block, SPAD_FORMAT_JSON, &after.sink, &error), &error);
    assert_string_equal(before.bytes, after.bytes);
    test_text_free(&before);
    test_text_free(&after);
    return status;
}

static spad_status scenario(const spad_host *host, void *context) {
    const spad_target *target;
    spad_error error;
    spad_block *block = NULL;
    spad_trace *trace = NULL;
    int64_t n;
    assert_ok(spad_target_find(&target, context, &error), &error);
    const spad_block_options options = {.name = "a kernel", .host = host};
    spad_status status = spad_trace_create(&trace, target, host, &error);
    if (status == SPAD_OK) status = spad_block_create(&block, target, &options, &error);
    char name[32];
    for (int i = 0; i < 20 && status == SPAD_OK; i++) {
        snprintf(name, sizeof name, "buffer%d", i);
        const bool tensor = i % 3 == 0 && strcmp(context, "sm_100") == 0;
        const bool barrier = i % 5 == 1 && strcmp(context, "sm_100") == 0;
        const spad_block_request r = {.name = i % 4 == 0 ? NULL : name,
                                      .scope = barrier      ? "shared.barrier"
                                               : tensor     ? "shared.tmem"
                                               : i % 2 == 0 ? "shared"
                                                            : NULL,
                                      .shape = SPAD_SHAPE(16, 4 * (i + 1)),
                                      .dtype = barrier ? SPAD_DTYPE_NONE : SPAD_FLOAT32,
                                      .arrivals = two_arrivals,
                                      .arrival_count = 2};
        const size_t count = spad_block_count(block);
        if (i % 6 == 0) status = spad_block_enter(block, SPAD_FLOW_SERIAL, &error);
        if (status == SPAD_OK) status = spad_block_alloc(&n, block, &r, &error);
        if (status != SPAD_OK) assert_int_equal(spad_block_count(block), count);
        if (status == SPAD_OK && i % 6 == 5) status = spad_block_leave(block, &error);
    }
    while (status == SPAD_OK && spad_block_leave(block, &error) == SPAD_OK) continue;
    if (status == SPAD_OK) status = spad_block_plan(block, &error);
    if (status == SPAD_OK) status = plan_again(block);
    const size_t events = trace != NULL ? spad_trace_event_count(trace) : 0;
    if (status == SPAD_OK) {
        status = spad_block_write_trace(block, trace, &error);
        if (status != SPAD_OK) { /* all or nothing */
            assert_int_equal(spad_trace_event_count(trace), events);
            assert_int_equal(spad_trace_tensor_count(trace), 0);
        }
    }
    spad_block_destroy(block);
    spad_trace_destroy(trace);
    return status;
}

static void every_host_allocation_may_fail(void **state) {
    (void)state;
    char gpu[] = "sm_100";
    char core[] = "910b";
    test_fail_each_allocation(scenario, gpu);
    test_fail_each_allocation(scenario, core);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(scope_names),
        cmocka_unit_test(which_chip_has_what),
        cmocka_unit_test(blocks_need_a_chip_with_blocks),
        cmocka_unit_test(element_sizes),
        cmocka_unit_test(uses_and_alignments),
        cmocka_unit_test(bad_requests),
        cmocka_unit_test(messages_name_the_buffer),
        cmocka_unit_test(a_chip_without_registers_has_no_bulk_copies),
        cmocka_unit_test(every_scope_of_tilelang),
        cmocka_unit_test(the_report),
        cmocka_unit_test(the_trace),
        cmocka_unit_test(every_host_allocation_may_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
