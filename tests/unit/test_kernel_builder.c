/* SPDX-License-Identifier: Apache-2.0
 * Kernels from C calls: the same program as from text, what the calls refuse, and that a
 * refused call changes nothing. */
#include "kernel/kernel.h"
#include "spad/experimental/kernel_rows.h"
#include "support/kernels.h"
#include "support/support.h"
#include "target/target.h"

#include <string.h>

#include "kernel/kernel_builder.h"
#include "spad/experimental/walk.h"

static const spad_target *target(const char *name) {
    const spad_target *found;
    assert_int_equal(spad_target_find(&found, name, NULL), SPAD_OK);
    return found;
}

static spad_amount number(int64_t value) {
    return (spad_amount){.value = value};
}

/* ---- a whole kernel ---------------------------------------------------------------- */

static const char pipeline_text[] =
    "kernel pipeline on sm_90 \"built\"\n"
    "param S = 2\n"
    "unit tma on copy free proxy\n"
    "counter ready[2] = 1\n"
    "mbarrier full[S] count 1\n"
    "group loads\n"
    "tensor x : shared float16 [8] (16, 64) ring S align 128\n"
    "tensor in : global float16 [8] (16, 64) input\n"
    "agent producer {\n"
    "    for i in 0..8 parallel {\n"
    "        tma load reads in[i] writes x[i](0..8, ..) in loads delivers full[i % S] cost 100 ns\n"
    "        if i == 0 {\n"
    "            commit loads\n"
    "        } else {\n"
    "            arrive full[i % S] by 1 expect 16 on tma\n"
    "        }\n"
    "    }\n"
    "}\n"
    "agent consumer {\n"
    "    wait ready[1] >= 1\n"
    "}\n"
    "drain all\n";

/* Stops at the first call that fails; the builder is always destroyed. */
#define TRY(call)                               \
    do {                                        \
        if (status == SPAD_OK) status = (call); \
    } while (0)

static spad_status build_declarations(spad__kernel_builder *b, int64_t ids[5], spad_error *error) {
    const spad_target *t = target("sm_90");
    size_t copy;
    size_t shared;
    size_t global;
    spad_expr s;
    spad_status status = spad__target_find_engine(&copy, t, "copy", error);
    TRY(spad_target_find_space(&shared, t, "shared", error));
    TRY(spad_target_find_space(&global, t, "global", error));
    TRY(spad__kernel_builder_param(&s, b, "S", number(2), error));
    TRY(spad__kernel_builder_unit(&ids[0], b, "tma", copy, SPAD_UNIT_FREE, true, error));
    if (status != SPAD_OK) return status;
    const spad_amount two = number(2);
    const spad_amount depth = {.expr = s};
    const spad_amount eight = number(8);
    const spad_amount shape[] = {number(16), number(64)};
    TRY(spad__kernel_builder_sync(&ids[1], b, SPAD_SYNC_COUNTER, "ready", (spad_amounts){1, &two},
                                  number(1), error));
    TRY(spad__kernel_builder_sync(&ids[2], b, SPAD_SYNC_MBARRIER, "full", (spad_amounts){1, &depth},
                                  number(1), error));
    TRY(spad__kernel_builder_sync(&ids[3], b, SPAD_SYNC_GROUP, "loads", (spad_amounts){0, NULL},
                                  number(0), error));
    spad_kernel_tensor x = {.name = "x",
                            .space = shared,
                            .dtype = SPAD_FLOAT16,
                            .blocks = {1, &eight},
                            .dims = {2, shape},
                            .ring = {1, &depth},
                            .align = number(128)};
    TRY(spad__kernel_builder_tensor(&ids[4], b, &x, error));
    const spad_kernel_tensor in = {.name = "in",
                                   .space = global,
                                   .dtype = SPAD_FLOAT16,
                                   .blocks = {1, &eight},
                                   .dims = {2, shape},
                                   .flags = SPAD_TENSOR_INPUT};
    int64_t in_number;
    TRY(spad__kernel_builder_tensor(&in_number, b, &in, error));
    return status;
}

static spad_status build_load(spad__kernel_builder *b, const int64_t ids[5], spad_expr i,
                              spad_expr slot, spad_error *error) {
    spad_expr zero;
    spad_expr eight;
    spad_expr cost;
    spad_status status = spad__kernel_builder_number(&zero, b, 0, error);
    TRY(spad__kernel_builder_number(&eight, b, 8, error));
    TRY(spad__kernel_builder_expr(&cost, b, "100", error));
    if (status != SPAD_OK) return status;
    const spad_expr_range ranges[] = {{.from = zero, .to = eight}, {0}};
    const spad_kernel_access reads = {
        .tensor = ids[4] + 1, .kind = SPAD_ACCESS_READ, .index_count = 1, .index = &i};
    const spad_kernel_access writes = {.tensor = ids[4],
                                       .kind = SPAD_ACCESS_WRITE,
                                       .index_count = 1,
                                       .index = &i,
                                       .range_count = 2,
                                       .ranges = ranges};
    const spad_kernel_completion delivers = {
        .kind = SPAD_COMPLETION_DELIVER, .object = ids[2], .index_count = 1, .index = &slot};
    TRY(spad__kernel_builder_operation(b, "tma", "load", error));
    TRY(spad__kernel_builder_access(b, &reads, error));
    TRY(spad__kernel_builder_access(b, &writes, error));
    TRY(spad__kernel_builder_group(b, ids[3], error));
    TRY(spad__kernel_builder_completion(b, &delivers, error));
    TRY(spad__kernel_builder_cost(b, SPAD_COST_NS, cost, error));
    return status;
}

static spad_status build_producer(spad__kernel_builder *b, const int64_t ids[5],
                                  spad_error *error) {
    spad_expr i;
    spad_expr slot;
    spad_expr zero;
    spad_expr bytes;
    spad_status status = spad__kernel_builder_agent(b, "producer", error);
    TRY(spad__kernel_builder_for(&i, b, "i", number(0), number(8), true, error));
    TRY(spad__kernel_builder_expr(&slot, b, "i % S", error));
    TRY(spad__kernel_builder_number(&zero, b, 0, error));
    TRY(spad__kernel_builder_number(&bytes, b, 16, error));
    if (status == SPAD_OK) status = build_load(b, ids, i, slot, error);
    if (status != SPAD_OK) return status;
    const spad_comparison first = {i, SPAD_EQUAL, zero, false};
    const spad_statement commit = spad__statement_of(SPAD_STATEMENT_COMMIT, ids[3]);
    spad_statement arrive = spad__statement_of(SPAD_STATEMENT_ARRIVE, ids[2]);
    arrive.index_count = 1;
    arrive.index = &slot;
    arrive.expect = bytes;
    arrive.unit = ids[0];
    TRY(spad__kernel_builder_if(b, &first, 1, error));
    TRY(spad__kernel_builder_statement(b, &commit, error));
    TRY(spad__kernel_builder_else(b, error));
    TRY(spad__kernel_builder_statement(b, &arrive, error));
    for (int block = 0; block < 3; block++) TRY(spad__kernel_builder_end(b, error));
    return status;
}

static spad_status build_consumer(spad__kernel_builder *b, const int64_t ids[5],
                                  spad_error *error) {
    spad_expr one;
    spad_status status = spad__kernel_builder_agent(b, "consumer", error);
    TRY(spad__kernel_builder_number(&one, b, 1, error));
    if (status != SPAD_OK) return status;
    spad_statement wait = spad__statement_of(SPAD_STATEMENT_WAIT_VALUE, ids[1]);
    wait.index_count = 1;
    wait.index = &one;
    wait.amount = one;
    const spad_statement drain = spad__statement_of(SPAD_STATEMENT_DRAIN, -1);
    TRY(spad__kernel_builder_statement(b, &wait, error));
    TRY(spad__kernel_builder_end(b, error));
    TRY(spad__kernel_builder_statement(b, &drain, error));
    return status;
}

static spad_status build_pipeline(spad_kernel **out, const spad_host *host, spad_error *error) {
    const spad_kernel_options options = {.host = host};
    spad__kernel_builder *b;
    int64_t ids[5];
    *out = NULL;
    spad_status status =
        spad__kernel_builder_create(&b, "pipeline", "built", target("sm_90"), &options, error);
    if (status != SPAD_OK) return status;
    TRY(build_declarations(b, ids, error));
    TRY(build_producer(b, ids, error));
    TRY(build_consumer(b, ids, error));
    TRY(spad__kernel_builder_finish(out, b, error));
    spad__kernel_builder_destroy(b);
    return status;
}

static void calls_and_text_make_the_same_kernel(void **state) {
    (void)state;
    spad_error error;
    spad_kernel *built;
    test_text out;
    assert_ok(build_pipeline(&built, NULL, &error), &error);
    test_text_init(&out);
    assert_ok(spad_kernel_write_text(built, &out.sink, &error), &error);
    assert_string_equal(out.bytes, pipeline_text);
    assert_null(spad_kernel_get_file(built));
    assert_int_equal(spad_kernel_get_statement(built, 0)->location.line, 0);
    spad_kernel *read = test_parse(pipeline_text);
    test_text_clear(&out);
    assert_ok(spad_kernel_write_text(read, &out.sink, &error), &error);
    assert_string_equal(out.bytes, pipeline_text);
    spad_kernel_destroy(built);
    spad_kernel_destroy(read);
    test_text_free(&out);
}

static spad_status build_scenario(const spad_host *host, void *context) {
    (void)context;
    spad_kernel *kernel;
    const spad_status status = build_pipeline(&kernel, host, NULL);
    spad_kernel_destroy(kernel);
    return status;
}

static void every_allocation_may_fail(void **state) {
    (void)state;
    test_fail_each_allocation(build_scenario, NULL);
}

/* ---- refusals ---------------------------------------------------------------------- */

typedef struct fixture {
    spad__kernel_builder *b;
    spad_error error;
    int64_t tensor;
    int64_t counter;
    spad_expr one;
} fixture;

static void start(fixture *f) {
    const spad_amount four = number(4);
    const spad_amount shape[] = {number(128), number(8)};
    const spad_kernel_tensor x = {
        .name = "x", .dtype = SPAD_UINT8, .blocks = {1, &four}, .dims = {2, shape}};
    assert_ok(spad__kernel_builder_create(&f->b, "k", NULL, target("trn2"), NULL, &f->error),
              &f->error);
    assert_ok(spad__kernel_builder_tensor(&f->tensor, f->b, &x, &f->error), &f->error);
    assert_ok(spad__kernel_builder_sync(&f->counter, f->b, SPAD_SYNC_COUNTER, "c",
                                        (spad_amounts){0, NULL}, number(0), &f->error),
              &f->error);
    assert_ok(spad__kernel_builder_number(&f->one, f->b, 1, &f->error), &f->error);
}

#define REFUSED(call, expected, text)               \
    do {                                            \
        assert_int_equal(call, expected);           \
        assert_string_equal(f.error.message, text); \
        assert_int_equal(f.error.code, expected);   \
    } while (0)

/* What text cannot say, because the reader would not get so far. */
static void nonsense_is_refused(void **state) {
    (void)state;
    fixture f;
    spad_expr expr;
    int64_t id;
    start(&f);
    spad__kernel_builder *none;
    REFUSED(spad__kernel_builder_create(&none, "k", NULL, NULL, NULL, &f.error), SPAD_ERR_ARGUMENT,
            "a kernel needs a target with memory spaces");
    REFUSED(spad__kernel_builder_create(&none, "9k", NULL, target("trn2"), NULL, &f.error),
            SPAD_ERR_NAME, "not a name: a letter or '_' and up to 62 more letters, digits or '_'");
    REFUSED(spad__kernel_builder_apply(&expr, f.b, SPAD_EXPR_ADD, f.one, 99, &f.error),
            SPAD_ERR_UNKNOWN, "no such operation or expression");
    REFUSED(spad__kernel_builder_apply(&expr, f.b, SPAD_EXPR_NUMBER, f.one, f.one, &f.error),
            SPAD_ERR_UNKNOWN, "no such operation or expression");
    assert_int_equal(expr, 0);
    spad_expr before;
    spad_expr after;
    assert_ok(spad__kernel_builder_number(&before, f.b, 7, &f.error), &f.error);
    REFUSED(spad__kernel_builder_expr(&expr, f.b, "1 +", &f.error), SPAD_ERR_SYNTAX,
            "expected a number, a name or '(' after '+', found the end of the file");
    assert_ok(spad__kernel_builder_number(&after, f.b, 7, &f.error), &f.error);
    assert_int_equal(after, before + 1); /* nothing was added in between */
    REFUSED(spad__kernel_builder_expr(&expr, f.b, "1 1", &f.error), SPAD_ERR_SYNTAX,
            "expected the end of the expression after '1', found '1'");
    REFUSED(spad__kernel_builder_unit(&id, f.b, "u", 99, SPAD_UNIT_FREE, false, &f.error),
            SPAD_ERR_UNKNOWN, "no such engine or order");
    REFUSED(spad__kernel_builder_region(f.b, 99, number(0), number(1), SPAD_STACK_EXACT, &f.error),
            SPAD_ERR_UNKNOWN, "no such space or behaviour");
    REFUSED(spad__kernel_builder_if(f.b, NULL, 0, &f.error), SPAD_ERR_ARGUMENT,
            "an if needs a comparison");
    const spad_comparison odd = {f.one, SPAD_RELATIONS, f.one, false};
    REFUSED(spad__kernel_builder_if(f.b, &odd, 1, &f.error), SPAD_ERR_ARGUMENT, "no such relation");
    REFUSED(spad__kernel_builder_else(f.b, &f.error), SPAD_ERR_ARGUMENT, "an else without its if");
    REFUSED(spad__kernel_builder_end(f.b, &f.error), SPAD_ERR_ARGUMENT,
            "there is no open block to end");
    REFUSED(spad__kernel_builder_scope(f.b, NULL, number(1), &f.error), SPAD_ERR_NAME,
            "not a name: a letter or '_' and up to 62 more letters, digits or '_'");
    REFUSED(spad__kernel_builder_operation(f.b, "dma", "a b", &f.error), SPAD_ERR_NAME,
            "not a name: a letter or '_' and up to 62 more letters, digits or '_'");
    const spad_kernel_access access = {.tensor = f.tensor, .kind = SPAD_ACCESS_READ};
    REFUSED(spad__kernel_builder_access(f.b, &access, &f.error), SPAD_ERR_ARGUMENT,
            "there is no operation to add this to");
    spad_statement s = spad__statement_of(SPAD_STATEMENT_FOR, 0);
    REFUSED(spad__kernel_builder_statement(f.b, &s, &f.error), SPAD_ERR_ARGUMENT,
            "this kind of statement has a call of its own");
    s = spad__statement_of(SPAD_STATEMENT_SIGNAL, 99);
    REFUSED(spad__kernel_builder_statement(f.b, &s, &f.error), SPAD_ERR_UNKNOWN,
            "no such barrier, counter or group");
    s = spad__statement_of(SPAD_STATEMENT_SIGNAL, f.counter);
    s.unit = 5;
    REFUSED(spad__kernel_builder_statement(f.b, &s, &f.error), SPAD_ERR_UNKNOWN, "no such unit");
    s.unit = -1;
    s.amount = 77;
    REFUSED(spad__kernel_builder_statement(f.b, &s, &f.error), SPAD_ERR_UNKNOWN,
            "no such expression");
    s = spad__statement_of(SPAD_STATEMENT_FREE, 99);
    REFUSED(spad__kernel_builder_statement(f.b, &s, &f.error), SPAD_ERR_UNKNOWN, "no such tensor");
    const spad_amount two = number(2);
    REFUSED(spad__kernel_builder_sync(&id, f.b, SPAD_SYNC_GROUP, "g", (spad_amounts){1, &two},
                                      number(0), &f.error),
            SPAD_ERR_ARGUMENT, "not a kind of synchronisation, or an array of groups");
    const spad_amount many[17] = {{0}};
    REFUSED(spad__kernel_builder_sync(&id, f.b, SPAD_SYNC_COUNTER, "d", (spad_amounts){17, many},
                                      number(0), &f.error),
            SPAD_ERR_SHAPE, "17 dimensions are too many: at most 16");
    spad__kernel_builder_destroy(f.b);
}

/* Numbers below and above each table, and an expression that is not there in every place for one.
 */
static void every_number_is_looked_up(void **state) {
    (void)state;
    fixture f;
    spad_expr expr;
    int64_t id;
    start(&f);
    static const spad_target nothing = {.name = "nothing"};
    const spad_amount bad = {.value = 1, .expr = 77};
    const spad_amounts none = {0, NULL};
    const spad_amounts bads = {1, &bad};
    spad__kernel_builder *other;
    REFUSED(spad__kernel_builder_create(&other, "k", NULL, &nothing, NULL, &f.error),
            SPAD_ERR_ARGUMENT, "a kernel needs a target with memory spaces");
    assert_null(other);
    static const char lost[] = "no such expression";
    REFUSED(spad__kernel_builder_param(&expr, f.b, "P", bad, &f.error), SPAD_ERR_UNKNOWN, lost);
    REFUSED(spad__kernel_builder_region(f.b, 0, bad, number(1), SPAD_STACK_EXACT, &f.error),
            SPAD_ERR_UNKNOWN, lost);
    REFUSED(spad__kernel_builder_region(f.b, 0, number(0), bad, SPAD_STACK_EXACT, &f.error),
            SPAD_ERR_UNKNOWN, lost);
    REFUSED(spad__kernel_builder_sync(&id, f.b, SPAD_SYNC_COUNTER, "d", bads, number(0), &f.error),
            SPAD_ERR_UNKNOWN, lost);
    REFUSED(spad__kernel_builder_sync(&id, f.b, SPAD_SYNC_COUNTER, "d", none, bad, &f.error),
            SPAD_ERR_UNKNOWN, lost);
    REFUSED(spad__kernel_builder_for(&expr, f.b, "i", bad, number(1), false, &f.error),
            SPAD_ERR_UNKNOWN, lost);
    REFUSED(spad__kernel_builder_for(&expr, f.b, "i", number(0), bad, false, &f.error),
            SPAD_ERR_UNKNOWN, lost);
    const spad_comparison sides[] = {{77, SPAD_LESS, f.one, false}, {f.one, SPAD_LESS, 77, false}};
    for (size_t i = 0; i < 2; i++) {
        REFUSED(spad__kernel_builder_if(f.b, &sides[i], 1, &f.error), SPAD_ERR_UNKNOWN, lost);
    }
    REFUSED(spad__kernel_builder_scope(f.b, "s", bad, &f.error), SPAD_ERR_UNKNOWN, lost);
    REFUSED(spad__kernel_builder_apply(&expr, f.b, SPAD_EXPR_ADD, 99, f.one, &f.error),
            SPAD_ERR_UNKNOWN, "no such operation or expression");
    REFUSED(spad__kernel_builder_apply(&expr, f.b, (spad_expr_op)99, f.one, f.one, &f.error),
            SPAD_ERR_UNKNOWN, "no such operation or expression");
    REFUSED(spad__kernel_builder_unit(&id, f.b, "u", 0, SPAD_UNIT_ORDERS, false, &f.error),
            SPAD_ERR_UNKNOWN, "no such engine or order");
    REFUSED(spad__kernel_builder_region(f.b, 0, number(0), number(1), (spad_stack_behaviour)9,
                                        &f.error),
            SPAD_ERR_UNKNOWN, "no such space or behaviour");
    REFUSED(spad__kernel_builder_sync(&id, f.b, SPAD_SYNC_KINDS, "d", none, number(0), &f.error),
            SPAD_ERR_ARGUMENT, "not a kind of synchronisation, or an array of groups");
    spad_statement s = spad__statement_of(SPAD_STATEMENT_SIGNAL, -1);
    REFUSED(spad__kernel_builder_statement(f.b, &s, &f.error), SPAD_ERR_UNKNOWN,
            "no such barrier, counter or group");
    s = spad__statement_of(SPAD_STATEMENT_SIGNAL, f.counter);
    s.unit = -2;
    REFUSED(spad__kernel_builder_statement(f.b, &s, &f.error), SPAD_ERR_UNKNOWN, "no such unit");
    s = spad__statement_of(SPAD_STATEMENT_KINDS, f.counter);
    REFUSED(spad__kernel_builder_statement(f.b, &s, &f.error), SPAD_ERR_ARGUMENT,
            "this kind of statement has a call of its own");
    assert_ok(spad__kernel_builder_operation(f.b, "dma", "load", &f.error), &f.error);
    spad_kernel_access access = {.tensor = -1, .kind = SPAD_ACCESS_READ};
    REFUSED(spad__kernel_builder_access(f.b, &access, &f.error), SPAD_ERR_UNKNOWN,
            "no such tensor");
    access.tensor = f.tensor;
    access.kind = 0;
    REFUSED(spad__kernel_builder_access(f.b, &access, &f.error), SPAD_ERR_ARGUMENT,
            "no such kind of access");
    spad_expr lost_index = 77;
    access.kind = SPAD_ACCESS_READ;
    access.index = &lost_index;
    access.index_count = 1;
    REFUSED(spad__kernel_builder_access(f.b, &access, &f.error), SPAD_ERR_UNKNOWN, lost);
    spad_expr_range ranges[] = {{.from = 77}, {.to = 77}};
    access.index = &f.one;
    access.range_count = 2;
    access.ranges = ranges;
    REFUSED(spad__kernel_builder_access(f.b, &access, &f.error), SPAD_ERR_UNKNOWN, lost);
    ranges[0] = (spad_expr_range){0};
    REFUSED(spad__kernel_builder_access(f.b, &access, &f.error), SPAD_ERR_UNKNOWN, lost);
    spad_kernel_completion signal = {.kind = SPAD_COMPLETION_SIGNAL, .object = -1};
    REFUSED(spad__kernel_builder_completion(f.b, &signal, &f.error), SPAD_ERR_UNKNOWN,
            "no such barrier, counter or group");
    signal.object = f.counter;
    signal.amount = 77;
    REFUSED(spad__kernel_builder_completion(f.b, &signal, &f.error), SPAD_ERR_UNKNOWN, lost);
    REFUSED(spad__kernel_builder_cost(f.b, SPAD_COST_NS, 77, &f.error), SPAD_ERR_UNKNOWN, lost);
    REFUSED(spad__kernel_builder_cost(f.b, (spad_cost_kind)9, f.one, &f.error), SPAD_ERR_ARGUMENT,
            "a cost is in cycles or in ns");
    REFUSED(spad__kernel_builder_group(f.b, -1, &f.error), SPAD_ERR_UNKNOWN,
            "no such barrier, counter or group");
    spad_kernel *kernel;
    assert_ok(spad__kernel_builder_finish(&kernel, f.b, &f.error), &f.error);
    assert_int_equal(spad_kernel_statement_count(kernel), 2); /* nothing of that was added */
    assert_int_equal(spad__kernel_access_count(kernel), 0);
    spad_kernel_destroy(kernel);
    spad__kernel_builder_destroy(f.b);
}

/* Beyond the end of each table there is nothing. */
static void tables_end(void **state) {
    (void)state;
    spad_kernel *k = test_parse(pipeline_text);
    assert_non_null(spad_kernel_get_param(k, spad_kernel_param_count(k) - 1));
    assert_null(spad_kernel_get_param(k, spad_kernel_param_count(k)));
    assert_null(spad_kernel_get_tensor(k, spad_kernel_tensor_count(k)));
    assert_null(spad_kernel_get_region(k, spad_kernel_region_count(k)));
    assert_null(spad_kernel_get_unit(k, spad_kernel_unit_count(k)));
    assert_null(spad_kernel_get_sync(k, spad_kernel_sync_count(k)));
    assert_null(spad_kernel_get_agent(k, spad_kernel_agent_count(k)));
    assert_null(spad_kernel_get_loop(k, spad_kernel_loop_count(k)));
    assert_null(spad_kernel_get_statement(k, spad_kernel_statement_count(k)));
    assert_null(spad_kernel_get_access(k, spad__kernel_access_count(k)));
    assert_null(spad_kernel_get_completion(k, k->completions.count));
    assert_string_equal(spad_statement_kind_name(SPAD_STATEMENT_KINDS), "?");
    spad_kernel *same; /* without options: the same numbers */
    spad_error error;
    assert_ok(spad_kernel_reshape(&same, k, NULL, &error), &error);
    assert_int_equal(spad_kernel_statement_count(same), spad_kernel_statement_count(k));
    spad_kernel_destroy(same);
    spad_kernel_destroy(k);
}

static void nonsense_in_operations_is_refused(void **state) {
    (void)state;
    fixture f;
    int64_t inner;
    spad_expr i;
    start(&f);
    const spad_amount shape[] = {number(128), number(8)};
    const spad_kernel_tensor y = {.name = "y", .dtype = SPAD_UINT8, .dims = {2, shape}};
    assert_ok(spad__kernel_builder_for(&i, f.b, "i", number(0), number(4), false, &f.error),
              &f.error);
    assert_ok(spad__kernel_builder_tensor(&inner, f.b, &y, &f.error), &f.error);
    assert_ok(spad__kernel_builder_end(f.b, &f.error), &f.error);
    assert_ok(spad__kernel_builder_operation(f.b, "dma", "load", &f.error), &f.error);
    spad_kernel_access access = {.tensor = inner, .kind = SPAD_ACCESS_READ};
    REFUSED(spad__kernel_builder_access(f.b, &access, &f.error), SPAD_ERR_UNKNOWN,
            "the block that declares 'y' is closed");
    access.tensor = f.tensor;
    access.kind = 4;
    REFUSED(spad__kernel_builder_access(f.b, &access, &f.error), SPAD_ERR_ARGUMENT,
            "no such kind of access");
    const spad_kernel_completion odd = {.kind = (spad_completion_kind)9, .object = f.counter};
    REFUSED(spad__kernel_builder_completion(f.b, &odd, &f.error), SPAD_ERR_ARGUMENT,
            "no such kind of completion");
    REFUSED(spad__kernel_builder_cost(f.b, SPAD_COST_TARGET, f.one, &f.error), SPAD_ERR_ARGUMENT,
            "a cost is in cycles or in ns");
    /* the smallest number has no digits of its own */
    spad_expr smallest;
    test_text out;
    spad_kernel *kernel;
    spad_statement wait = spad__statement_of(SPAD_STATEMENT_WAIT_VALUE, f.counter);
    assert_ok(spad__kernel_builder_number(&smallest, f.b, INT64_MIN, &f.error), &f.error);
    const spad_comparison always = {smallest, SPAD_LESS, f.one, false};
    assert_ok(spad__kernel_builder_if(f.b, &always, 1, &f.error), &f.error);
    wait.amount = smallest;
    assert_ok(spad__kernel_builder_statement(f.b, &wait, &f.error), &f.error);
    assert_ok(spad__kernel_builder_end(f.b, &f.error), &f.error);
    assert_ok(spad__kernel_builder_finish(&kernel, f.b, &f.error), &f.error);
    test_text_init(&out);
    assert_int_equal(spad_kernel_write_text(kernel, &out.sink, NULL), SPAD_OK);
    assert_non_null(strstr(out.bytes, "    wait c >= (-9223372036854775807 - 1)\n"));
    test_text_free(&out);
    spad_kernel_destroy(kernel);
    spad__kernel_builder_destroy(f.b);
}

static void tensors_that_mean_nothing_are_refused(void **state) {
    (void)state;
    fixture f;
    int64_t id;
    start(&f);
    const spad_amount shape[] = {number(128), number(8)};
    spad_kernel_tensor y = {.name = "y", .dtype = SPAD_UINT8, .dims = {2, shape}};
    y.mode = SPAD_MODE_FUNC;
    REFUSED(spad__kernel_builder_tensor(&id, f.b, &y, &f.error), SPAD_ERR_ARGUMENT,
            "tensors of a kernel are auto, at, mod, stack, heap or alias");
    y.mode = SPAD_MODE_AUTO;
    y.space = 99;
    REFUSED(spad__kernel_builder_tensor(&id, f.b, &y, &f.error), SPAD_ERR_UNKNOWN, "no such space");
    y.space = 0;
    y.dims.count = 0;
    REFUSED(spad__kernel_builder_tensor(&id, f.b, &y, &f.error), SPAD_ERR_SHAPE,
            "a tile has at least one dimension");
    y.dims.count = 2;
    y.name = NULL;
    REFUSED(spad__kernel_builder_tensor(&id, f.b, &y, &f.error), SPAD_ERR_NAME,
            "not a name: a letter or '_' and up to 62 more letters, digits or '_'");
    y.name = "y";
    y.mode = SPAD_MODE_ALIAS;
    y.alias_of = 99;
    REFUSED(spad__kernel_builder_tensor(&id, f.b, &y, &f.error), SPAD_ERR_UNKNOWN,
            "no such tensor");
    y.alias_of = f.tensor;
    y.alias_tile = 4;
    REFUSED(spad__kernel_builder_tensor(&id, f.b, &y, &f.error), SPAD_ERR_BOUNDS,
            "'x' has 4 tiles");
    assert_int_equal(id, -1);
    y.alias_tile = 3;
    assert_ok(spad__kernel_builder_tensor(&id, f.b, &y, &f.error), &f.error);
    assert_int_equal(id, 1); /* the refused ones left nothing after */
    spad__kernel_builder_destroy(f.b);
}

static void lives_of_tensors_have_limits(void **state) {
    (void)state;
    fixture f;
    int64_t id;
    start(&f);
    const spad_amount shape[] = {number(128), number(8)};
    spad_kernel_tensor heap = {
        .name = "h", .dtype = SPAD_UINT8, .dims = {2, shape}, .mode = SPAD_MODE_HEAP};
    assert_ok(spad__kernel_builder_tensor(&id, f.b, &heap, &f.error), &f.error);
    spad_statement s = spad__statement_of(SPAD_STATEMENT_ALLOC, id);
    REFUSED(spad__kernel_builder_statement(f.b, &s, &f.error), SPAD_ERR_ARGUMENT,
            "'alloc h': this statement cannot control the lifetime of a tensor that is heap");
    s = spad__statement_of(SPAD_STATEMENT_FREE, id);
    s.index_count = 1;
    s.index = &f.one;
    REFUSED(spad__kernel_builder_statement(f.b, &s, &f.error), SPAD_ERR_ARGUMENT,
            "a heap tensor is freed as a whole");
    spad__kernel_builder_destroy(f.b);
}

/* A variable is good for its own loop only. */
static void closed_loops_are_closed(void **state) {
    (void)state;
    fixture f;
    spad_expr i;
    start(&f);
    assert_ok(spad__kernel_builder_for(&i, f.b, "i", number(0), number(4), false, &f.error),
              &f.error);
    spad_kernel *kernel;
    REFUSED(spad__kernel_builder_finish(&kernel, f.b, &f.error), SPAD_ERR_ARGUMENT,
            "blocks that are still open: 1");
    assert_ok(spad__kernel_builder_end(f.b, &f.error), &f.error);
    assert_ok(spad__kernel_builder_operation(f.b, "dma", "load", &f.error), &f.error);
    const spad_kernel_access access = {
        .tensor = f.tensor, .kind = SPAD_ACCESS_WRITE, .index_count = 1, .index = &i};
    REFUSED(spad__kernel_builder_access(f.b, &access, &f.error), SPAD_ERR_UNKNOWN,
            "the loop of 'i' is closed");
    REFUSED(spad__kernel_builder_for(&i, f.b, "j", number(0), (spad_amount){.expr = i}, false,
                                     &f.error),
            SPAD_ERR_ARGUMENT, "'i' changes with a loop; a number or parameters are expected here");
    assert_ok(spad__kernel_builder_finish(&kernel, f.b, &f.error), &f.error);
    assert_int_equal(spad__kernel_access_count(kernel), 0);
    assert_int_equal(spad_kernel_loop_count(kernel), 1);
    spad_kernel *second;
    REFUSED(spad__kernel_builder_finish(&second, f.b, &f.error), SPAD_ERR_ARGUMENT,
            "the builder was already finished");
    assert_null(second);
    spad__kernel_builder_destroy(f.b);
    spad_kernel_destroy(kernel);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(calls_and_text_make_the_same_kernel),
        cmocka_unit_test(every_allocation_may_fail),
        cmocka_unit_test(nonsense_is_refused),
        cmocka_unit_test(every_number_is_looked_up),
        cmocka_unit_test(tables_end),
        cmocka_unit_test(nonsense_in_operations_is_refused),
        cmocka_unit_test(tensors_that_mean_nothing_are_refused),
        cmocka_unit_test(lives_of_tensors_have_limits),
        cmocka_unit_test(closed_loops_are_closed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
