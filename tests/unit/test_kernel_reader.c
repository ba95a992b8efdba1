/* SPDX-License-Identifier: Apache-2.0
 * Kernel text: what it means, every fault with its place, and back to text. */
#include "kernel/evaluate.h"
#include "support/kernels.h"
#include "support/support.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "spad/experimental/kernel_rows.h"
#include "support/faults.h"

/* ---- what it means ----------------------------------------------------------------- */

static const char full_text[] =
    "# every statement and every clause\n"
    "kernel full on trn2 \"every \\\"statement\\\"\"\n"
    "param N = 16\n"
    "param D = N / 8 + 0\n"
    "region sbuf 4..100 KiB as library_later\n"
    "unit q on dma serial proxy\n"
    "unit vector same\n"
    "counter c[2, D] = 3\n"
    "mbarrier m[D] count N\n"
    "barrier b count 2\n"
    "group g\n"
    "tensor x : sbuf bf16 [N, 2] (128, 4, 8) ring [2, 1] lane 0 align 32 output\n"
    "tensor y : psum f32 [N] (64, 512) mod base 0 lane 64 bank 1 free 1 par 1 banks 2\n"
    "tensor z : hbm u8 [N] (7) at 3 step 9 persistent\n"
    "tensor w : sbuf bf16 [2] (128, 2, 8) alias of x[1, 0] + 0 ring 2\n"
    "tensor v : sbuf bf16 [N, 2] (1, 4, 4) alias of x + 32\n"
    "tensor u : hbm fp16 (4, 4) input\n"
    "for i in 0..N parallel {\n"
    "    if i % 2 == 0 and i != 4 {\n"
    "        q load reads z[i] writes x[i, 0](.., 1..3, 2),\n"
    "               x[i, 1]\n"
    "            in g delivers m[i % D] by 5 after reads\n"
    "            arrives m[0] signals c[0, 1] by 2 cost 3 + i ns\n"
    "    } else {\n"
    "        vector add reads x[i, 0] updates y[i] cost 64 cycles\n"
    "        tensor mm reads x[i, i / 15] updates y[i]\n"
    "        if i < 3 and i <= 3 and i > 0 and i >= 0 { fence }\n"
    "    }\n"
    "}\n"
    "sync b by 2; arrive b; arrive m[1] by 2 expect 64 on q drop relaxed\n"
    "signal c[1, 0] by 2 on q relaxed\n"
    "wait c[1, 0] >= 4 on q\n"
    "take c[1, 0]\n"
    "init m[0]; init m[1] count 4; expect m[0] by 8; wait m[0] parity 1 relaxed\n"
    "invalidate m[0]\n"
    "commit g; wait g pending 1 reads; drain q; drain all; fence\n"
    "alloc x[3, 1]; free x\n";

static void every_statement_is_understood(void **state) {
    (void)state;
    spad_kernel *k = test_parse(full_text);
    assert_string_equal(spad_kernel_get_name(k), "full");
    assert_string_equal(spad_kernel_get_about(k), "every \"statement\"");
    assert_string_equal(spad_kernel_get_file(k), "k.spad");
    assert_string_equal(spad_kernel_get_target(k)->name, "trn2");
    assert_false(spad_kernel_is_implicit(k));
    assert_int_equal(spad_kernel_param_count(k), 2);
    assert_int_equal(spad_kernel_get_param(k, 1)->value, 2);
    assert_int_equal(spad_kernel_get_param(k, 1)->location.line, 4);
    assert_int_equal(spad_kernel_get_param(k, 1)->location.column, 7);
    assert_null(spad_kernel_get_param(k, 2));

    const spad_kernel_region *region = spad_kernel_get_region(k, 0);
    assert_int_equal(region->lower.value, 4);
    assert_int_equal(region->upper.value, 102400);
    assert_int_equal(region->behaviour, SPAD_STACK_LIBRARY_LATER);
    const spad_kernel_unit *unit = spad_kernel_get_unit(k, 0);
    assert_string_equal(spad_kernel_get_target(k)->engines[unit->engine].name, "dma");
    assert_int_equal(unit->order, SPAD_UNIT_SERIAL);
    assert_true(unit->proxy);
    const spad_kernel_sync *c = spad_kernel_get_sync(k, 0);
    assert_int_equal(c->kind, SPAD_SYNC_COUNTER);
    assert_int_equal(c->elements, 4);
    assert_int_equal(c->count.value, 3);
    assert_int_equal(spad_kernel_get_sync(k, 1)->count.value, 16);
    assert_int_equal(spad_kernel_agent_count(k), 1);
    assert_string_equal(spad_kernel_get_agent(k, 0)->name, "main");

    const spad_kernel_tensor *x = spad_kernel_get_tensor(k, 0);
    assert_int_equal(x->tiles, 32);
    assert_int_equal(x->slots, 2);
    assert_int_equal(x->tile_lanes, 128);
    assert_int_equal(x->tile_bytes, 64);
    assert_int_equal(x->align.value, 32);
    assert_int_equal(x->flags, SPAD_TENSOR_OUTPUT);
    const spad_kernel_tensor *y = spad_kernel_get_tensor(k, 1);
    assert_int_equal(y->mode, SPAD_MODE_MOD);
    assert_int_equal(y->bank.value, 1);
    assert_int_equal(y->banks.items[0].value, 2);
    const spad_kernel_tensor *z = spad_kernel_get_tensor(k, 2);
    assert_int_equal(z->tile_lanes, 1);
    assert_int_equal(z->tile_bytes, 7);
    assert_int_equal(z->flags, SPAD_TENSOR_PERSISTENT);
    const spad_kernel_tensor *w = spad_kernel_get_tensor(k, 3);
    assert_int_equal(w->home, 0);
    assert_int_equal(w->home_tile, 2);
    assert_int_equal(w->home_step, 32);
    const spad_kernel_tensor *v = spad_kernel_get_tensor(k, 4);
    assert_int_equal(v->home_tile, -1);
    assert_int_equal(v->home_byte, 32);
    spad_kernel_destroy(k);
}

static void statements_nest(void **state) {
    (void)state;
    spad_kernel *k = test_parse(full_text);
    static const spad_statement_kind kinds[] = {
        SPAD_STATEMENT_TENSOR,     SPAD_STATEMENT_TENSOR,    SPAD_STATEMENT_TENSOR,
        SPAD_STATEMENT_TENSOR,     SPAD_STATEMENT_TENSOR,    SPAD_STATEMENT_TENSOR,
        SPAD_STATEMENT_FOR,        SPAD_STATEMENT_IF,        SPAD_STATEMENT_OPERATION,
        SPAD_STATEMENT_ELSE,       SPAD_STATEMENT_OPERATION, SPAD_STATEMENT_OPERATION,
        SPAD_STATEMENT_IF,         SPAD_STATEMENT_FENCE,     SPAD_STATEMENT_SYNC,
        SPAD_STATEMENT_ARRIVE,     SPAD_STATEMENT_ARRIVE,    SPAD_STATEMENT_SIGNAL,
        SPAD_STATEMENT_WAIT_VALUE, SPAD_STATEMENT_TAKE,      SPAD_STATEMENT_INIT,
        SPAD_STATEMENT_INIT,       SPAD_STATEMENT_EXPECT,    SPAD_STATEMENT_WAIT_PARITY,
        SPAD_STATEMENT_INVALIDATE, SPAD_STATEMENT_COMMIT,    SPAD_STATEMENT_WAIT_GROUP,
        SPAD_STATEMENT_DRAIN,      SPAD_STATEMENT_DRAIN,     SPAD_STATEMENT_FENCE,
        SPAD_STATEMENT_ALLOC,      SPAD_STATEMENT_FREE,
    };
    assert_int_equal(spad_kernel_statement_count(k), sizeof kinds / sizeof kinds[0]);
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
        assert_int_equal(spad_kernel_get_statement(k, i)->kind, kinds[i]);
    }
    const spad_statement *loop = spad_kernel_get_statement(k, 6);
    const spad_statement *branch = spad_kernel_get_statement(k, 7);
    const spad_statement *other = spad_kernel_get_statement(k, 9);
    assert_int_equal(loop->end, 14);
    assert_int_equal(branch->end, 14);
    assert_int_equal(branch->item, 9);
    assert_int_equal(branch->comparison_count, 2);
    assert_int_equal(other->end, 14);
    assert_int_equal(other->parent, 7);
    const spad_statement *load = spad_kernel_get_statement(k, 8);
    assert_string_equal(load->name, "load");
    assert_int_equal(load->unit, 0);
    assert_int_equal(load->access_count, 3);
    assert_int_equal(load->completion_count, 3);
    assert_int_equal(load->group, 3);
    assert_int_equal(load->cost_kind, SPAD_COST_NS);
    assert_true(load->guarded);
    assert_int_equal(load->loop, 0);
    assert_int_equal(load->location.line, 20);
    assert_int_equal(load->location.column, 9);
    const spad_kernel_access *part = spad_kernel_get_access(k, load->first_access + 1);
    assert_int_equal(part->range_count, 3);
    assert_int_equal(part->ranges[0].from, 0);
    assert_int_equal(part->ranges[2].to, 0);
    assert_int_equal(part->location.column, 34);
    const spad_statement *arrive = spad_kernel_get_statement(k, 16);
    assert_int_equal(arrive->flags, SPAD_SYNC_DROP | SPAD_SYNC_RELAXED);
    assert_int_equal(arrive->unit, 0);
    assert_int_equal(spad_kernel_get_expr(k, arrive->expect).least, 64);
    assert_int_equal(spad_kernel_get_expr(k, spad_kernel_get_statement(k, 20)->amount).least, 16);
    spad_kernel_destroy(k);
}

/* Bounds are exact where they say so. */
static void expressions_have_bounds(void **state) {
    (void)state;
    static const struct {
        const char *text;
        int64_t least;
        int64_t most;
        bool exact;
    } cases[] = {
        {"i", 0, 9, true},
        {"-i", -9, 0, true},
        {"3 - i * 2", -15, 3, true},
        {"i / 3", 0, 3, true},
        {"(i - 5) / 3", -2, 1, true},
        {"i % 3", 0, 2, true},
        {"i % 16", 0, 9, true},
        {"(i + 100) % 16", 0, 15, true}, /* 4 to 13 does not cross a border */
        {"i * 4 + j", 0, 39, true},
        {"(i * 4 + j) % 7", 0, 6, true},
        {"(i * 4) % 6", 0, 5, false},
        {"i - i", -9, 9, false},
        {"2 * 3 + 4", 10, 10, true},
    };
    for (size_t c = 0; c < sizeof cases / sizeof cases[0]; c++) {
        char text[256];
        snprintf(text, sizeof text,
                 "kernel k on trn2\ncounter s\nfor i in 0..10 { for j in 0..4 {\nif j == 9 {"
                 "wait s >= %s\n} } }",
                 cases[c].text);
        spad_kernel *k = test_parse(text);
        const spad_expr expr = spad_kernel_get_statement(k, 3)->amount;
        const spad_expr_info info = spad_kernel_get_expr(k, expr);
        int64_t least = INT64_MAX;
        int64_t most = INT64_MIN;
        for (int64_t i = 0; i < 10; i++) {
            for (int64_t j = 0; j < 4; j++) {
                const int64_t values[] = {i, j};
                const int64_t value = spad__kernel_evaluate(k, expr, values);
                least = value < least ? value : least;
                most = value > most ? value : most;
            }
        }
        if (strcmp(cases[c].text, "(i + 100) % 16") == 0) {
            assert_int_equal(info.least, 4);
            assert_int_equal(info.most, 13);
        } else {
            assert_int_equal(info.least, cases[c].least);
            assert_int_equal(info.most, cases[c].most);
        }
        assert_int_equal(info.exact, cases[c].exact);
        assert_true(info.least <= least && most <= info.most);
        if (info.exact) {
            assert_int_equal(info.least, least);
            assert_int_equal(info.most, most);
        }
        spad_kernel_destroy(k);
    }
}

static void defines_and_targets_can_be_given(void **state) {
    (void)state;
    const char *text = "kernel k on trn2\nparam N = 4\nparam M = N * 2\n"
                       "tensor x : sbuf bf16 [M] (128, 8)\n";
    const spad_define defines[] = {{"N", 5}, {"N", 6}};
    spad_kernel_options options = {.defines = defines, .define_count = 2};
    assert_int_equal(spad_target_find(&options.target, "trn1", NULL), SPAD_OK);
    spad_kernel *k = test_parse_with(text, &options);
    assert_string_equal(spad_kernel_get_target(k)->name, "trn1");
    assert_int_equal(spad_kernel_get_param(k, 0)->value, 6);
    assert_int_equal(spad_kernel_get_param(k, 0)->preset.value, 4);
    assert_int_equal(spad_kernel_get_tensor(k, 0)->tiles, 12);
    spad_kernel_destroy(k);

    const spad_define unknown = {"MM", 5};
    options = (spad_kernel_options){.defines = &unknown, .define_count = 1};
    spad_error error;
    assert_int_equal(spad_kernel_parse(&k, text, strlen(text), NULL, &options, NULL, &error),
                     SPAD_ERR_UNKNOWN);
    assert_null(k);
    assert_string_equal(error.message, "no parameter 'MM' here; did you mean 'M'?");
}

static void rings_can_be_given(void **state) {
    (void)state;
    const char *text = "kernel k on trn2\n"
                       "tensor x : sbuf u8 [8] (1, 4) ring 2\n"
                       "tensor y : sbuf u8 [4, 2] (1, 4) ring [2, 1]\n"
                       "tensor z : sbuf u8 [8] (1, 4)\n"
                       "tensor a : sbuf u8 [8] (1, 4) at 0\n";
    const spad_define rings[] = {{"x", 0}, {"y", 3}, {"z", 9}, {"z", 5}};
    spad_kernel_options options = {.rings = rings, .ring_count = 4};
    spad_kernel *k = test_parse_with(text, &options);
    test_text out;
    test_text_init(&out);
    assert_int_equal(spad_kernel_write_text(k, &out.sink, NULL), SPAD_OK);
    assert_string_equal(out.bytes, "kernel k on trn2\n"
                                   "tensor x : sbuf uint8 [8] (1, 4)\n"
                                   "tensor y : sbuf uint8 [4, 2] (1, 4) ring 3\n"
                                   "tensor z : sbuf uint8 [8] (1, 4) ring 5\n"
                                   "tensor a : sbuf uint8 [8] (1, 4) at 0\n");
    assert_int_equal(spad_kernel_get_tensor(k, 1)->slots, 3);
    spad_kernel_destroy(k);
    test_text_free(&out);

    static const struct {
        spad_define ring;
        spad_status status;
        const char *message;
    } cases[] = {
        {{"a", 2},
         SPAD_ERR_ARGUMENT,
         "'a' cannot have a ring: it is not auto, or has no block dimensions"},
        {{"xx", 2}, SPAD_ERR_UNKNOWN, "no tensor 'xx' here; did you mean 'x'?"},
        {{"x", -1}, SPAD_ERR_SYNTAX, "a ring of -1; it must be at least 1"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        spad_error error;
        options = (spad_kernel_options){.rings = &cases[i].ring, .ring_count = 1};
        assert_int_equal(spad_kernel_parse(&k, text, strlen(text), NULL, &options, NULL, &error),
                         cases[i].status);
        assert_string_equal(error.message, cases[i].message);
        assert_null(k);
    }
}

/* ---- faults ------------------------------------------------------------------------ */

static spad_status read_kernel(const char *text, const char *file, spad_diagnostics *diagnostics,
                               spad_error *error) {
    spad_kernel *kernel;
    const spad_status status =
        spad_kernel_parse(&kernel, text, strlen(text), file, NULL, diagnostics, error);
    if (status != SPAD_OK) assert_null(kernel);
    spad_kernel_destroy(kernel);
    return status;
}

#define CHECK_FAULTS(before, after, cases) TEST_FAULTS(read_kernel, before, after, cases)

static const char prelude[] = "kernel k on trn2\n"
                              "param N = 4\n"
                              "tensor x : sbuf bf16 [N] (128, 512)\n"
                              "tensor h : hbm bf16 [N] (128, 512)\n"
                              "tensor p : psum f32 (128, 512)\n"
                              "unit q on dma free\n"
                              "counter c[2]\n"
                              "mbarrier m count 1\n"
                              "barrier b count 2\n"
                              "group g\n";

static void faults_of_expressions_are_found(void **state) {
    (void)state;
    static const test_fault cases[] = {
        {"param M = 1 / 0", 1, 11, 5, "'/' by 0; it must be at least 1"},
        {"param M = 5 % 0", 1, 11, 5, "'%' by 0; it must be at least 1"},
        {"param M = 4 / (2 - 3)", 1, 11, 11, "'/' by -1; it must be at least 1"},
        {"param M = 9223372036854775807 + 1", 1, 11, 23, "the result of '+' does not fit 64 bits"},
        {"param M = -9223372036854775807 - 2", 1, 11, 24, "the result of '-' does not fit 64 bits"},
        {"param M = 3.5", 1, 11, 3, "a whole number is expected here"},
        {"param M = 8589934592 GiB", 1, 11, 14, "the size does not fit 64 bits"},
        {"param M = (3", 1, 13, 1, "expected ')' after '3', found the end of the line"},
        {"param M = 3 +", 1, 14, 1,
         "expected a number, a name or '(' after '+', found the end of the line"},
        {"param M = )", 1, 11, 1, "expected a number, a name or '(' after '=', found ')'"},
        {"param M = NN + 1", 1, 11, 2,
         "no parameter or loop variable 'NN' here; did you mean 'N'?"},
        {"param M = x", 1, 11, 1, "'x' is a tensor, not a number"},
        {"param M = 99999999999999999999", 1, 11, 20,
         "too many digits: the number does not fit 64 bits"},
        {"for i in 0..9223372036854775807 { dma l writes x[i * 2] }", 1, 50, 5,
         "the result of '*' does not fit 64 bits in every iteration"},
        {"for i in 0..N { for j in 0..N { dma l writes x[i * j] } }", 1, 48, 5,
         "a product of two loop variables is not affine; one side must have no loop variables"},
        {"for i in 0..N { for j in 1..N { dma l writes x[i / j] } }", 1, 48, 5,
         "'/' needs a number or a parameter on its right side"},
        {"for i in 0..N { param M = i }", 1, 27, 1,
         "'i' changes with a loop; a number or parameters are expected here"},
        {"param M = "
         "((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((("
         "(((((((((((((((((((((((((((((((((((((((((((((((((((1",
         1, 139, 1, "the expression is nested too deep"},
        {"param M = "
         "1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1",
         1, 11, 66, "the expression is too long: at most 64 numbers, names and operators"},
    };
    CHECK_FAULTS(prelude, "\n", cases);
}

static void faults_of_declarations_are_found(void **state) {
    (void)state;
    static const test_fault cases[] = {
        {"param N = 5", 1, 7, 1, "'N' is already a parameter here"},
        {"for k in 0..2 { }; param k = 5", 1, 26, 1,
         "'k' is already a loop variable above: choose another name"},
        {"for k in 0..2 { tensor t : sbuf u8 (1, 4) }; counter t = 0", 1, 54, 1,
         "'t' is already a tensor above: choose another name"},
        {"param", 1, 6, 1,
         "expected a name for the parameter after 'param', found the end of the line"},
        {"param M", 1, 8, 1, "expected '=' after 'M', found the end of the line"},
        {"param M =", 1, 10, 1,
         "expected a number, a name or '(' after '=', found the end of the line"},
        {"param 3x = 4", 1, 7, 2,
         "not a name: a letter or '_' and up to 62 more letters, digits or '_'"},
        {"param M = 4 5", 1, 13, 1, "expected the end of the line after '4', found '5'"},
        {"tensor y : sbfu bf16 (128, 512)", 1, 12, 4,
         "target 'trn2' has no space 'sbfu'; it has sbuf, psum, hbm"},
        {"tensor y : sbuf bf17 (128, 512)", 1, 17, 4,
         "unknown element type 'bf17'; did you mean 'bf16'?"},
        {"tensor y : sbuf bf16", 1, 21, 1,
         "expected '(' and the shape of a tile after 'bf16', found the end of the line"},
        {"tensor y : sbuf bf16 [0] (128, 512)", 1, 22, 14, "an extent of 0; it must be at least 1"},
        {"tensor y : sbuf bf16 (128, -1)", 1, 22, 9, "an extent of -1; it must be at least 1"},
        {"tensor y : sbuf bf16 (129, 512)", 1, 22, 10,
         "a tile of 129 lanes does not fit: 'sbuf' has 128"},
        {"tensor y : sbuf bf16 ()", 1, 23, 1,
         "expected a number, a name or '(' after '(', found ')'"},
        {"tensor x : sbuf bf16 (128, 512)", 1, 8, 1, "'x' is already a tensor here"},
        {"tensor N : sbuf bf16 (128, 512)", 1, 8, 1, "'N' is already a parameter here"},
        {"tensor y : sbuf bf16 (128, 4611686018427387904)", 1, 22, 26,
         "the bytes of an array of bfloat16 of this shape do not fit 64 bits"},
        {"tensor y : sbuf bf16 [9223372036854775807] (128, 512)", 1, 22, 32,
         "the size of the tensor does not fit 64 bits"},
        {"tensor y : sbuf bf16 (128, 512) ringg 2", 1, 33, 5,
         "a tensor has no 'ringg'; did you mean 'ring'?"},
        {"tensor y : sbuf bf16 (128, 512) ring 2", 1, 22, 10,
         "a ring needs block dimensions: write [N] before the shape of a tile"},
        {"tensor y : sbuf bf16 [N] (128, 512) ring 0", 1, 22, 14,
         "a ring of 0; it must be at least 1"},
        {"tensor y : sbuf bf16 [N] (128, 512) ring [2, 2]", 1, 22, 14,
         "'ring' has 2 numbers, but the tensor has block rank 1"},
        {"tensor y : sbuf bf16 [N] (128, 512) ring 2 ring 2", 1, 44, 4, "'ring' is given twice"},
        {"tensor y : sbuf bf16 [N] (128, 512) at 0 mod", 1, 42, 3,
         "'mod' is a second placement; a tensor has one"},
        {"tensor y : sbuf bf16 (128, 512) at -4", 1, 8, 1,
         "'at', 'base' or the offset is negative: -4"},
        {"tensor y : sbuf bf16 (64, 512) at 0 lane 32", 1, 22, 9,
         "a tile of 64 lanes cannot start at lane 32 of 'sbuf'; 33 to 64 lanes start at 0 or 64"},
        {"tensor y : sbuf bf16 (32, 512) lane 16", 1, 22, 9,
         "a tile of 32 lanes cannot start at lane 16 of 'sbuf'; 1 to 32 lanes start at 0, 32, 64 "
         "or 96"},
        {"tensor y : sbuf bf16 [N] (32, 512) mod par 8", 1, 22, 13,
         "a tile of 32 lanes cannot start at lane 128 of 'sbuf'; 1 to 32 lanes start at 0, 32, 64 "
         "or 96"},
        {"tensor y : sbuf bf16 [N] (128, 512) mod free [2, 2]", 1, 22, 14,
         "'free' has 2 numbers, but the tensor has block rank 1"},
        {"tensor y : sbuf bf16 [N] (128, 512) mod banks 2", 1, 8, 1, "space 'sbuf' has no banks"},
        {"tensor y : psum f32 [N] (128, 512) mod banks 2 step 4", 1, 8, 1,
         "'step' does not go with 'mod'"},
        {"tensor y : sbuf bf16 (128, 512) free 2", 1, 8, 1, "'free' does not go with 'auto'"},
        {"tensor y : sbuf bf16 (128, 512) at 9223372036854775807", 1, 22, 10,
         "the address of the last tile does not fit 64 bits"},
        {"tensor y : sbuf bf16 (128, 512) at 0 bank 1", 1, 8, 1, "space 'sbuf' has no banks"},
        {"tensor y : sbuf bf16 (128, 512) stack", 1, 8, 1, "a stack tensor must be in a scope"},
        {"tensor y : hbm bf16 (128, 512) heap", 1, 8, 1,
         "space 'hbm' is off chip; it needs no manager"},
        {"tensor y : sbuf bf16 [5000] (1, 1) heap", 1, 8, 1,
         "5,000 tiles are too many for one scoped declaration: at most 4096"},
        {"tensor y : sbuf bf16 (128, 512) alias of z", 1, 42, 1,
         "no tensor 'z' here; did you mean 'x', 'h' or 'p'?"},
        {"tensor y : sbuf bf16 (128, 512) alias of N", 1, 42, 1,
         "'N' is a parameter, not a tensor"},
        {"tensor y : psum bf16 (128, 512) alias of x[0]", 1, 8, 1,
         "'x' is in 'sbuf'; an alias must be in the same space"},
        {"tensor y : sbuf bf16 (128, 512) alias of x", 1, 22, 10,
         "an alias tile for tile has the block dimensions of 'x' and no ring; or name the one tile "
         "that holds it: alias of x[0]"},
        {"tensor y : sbuf bf16 (128, 512) alias of x[4]", 1, 42, 4,
         "index 4 is outside 'x', which has 4"},
        {"tensor y : sbuf bf16 (128, 512) alias of x[0, 0]", 1, 42, 1,
         "'x' has block rank 1; indices given: 2"},
        {"tensor y : sbuf bf16 (128, 512) alias of x[0] + 1", 1, 8, 1,
         "128 lanes x 1,025 bytes do not fit in a tile of 'x' of 128 x 1,024"},
        {"tensor y : sbuf bf16 (128, 513) alias of x[0]", 1, 8, 1,
         "128 lanes x 1,026 bytes do not fit in a tile of 'x' of 128 x 1,024"},
        {"tensor y : sbuf bf16 [2] (128, 256) alias of x[0] ring [1, 1]", 1, 22, 14,
         "'ring' has 2 numbers, but the tensor has block rank 1"},
        {"tensor y : sbuf bf16 [N] (128, 512) alias of x ring 2", 1, 22, 14,
         "an alias tile for tile has the block dimensions of 'x' and no ring; or name the one tile "
         "that holds it: alias of x[0]"},
        {"tensor y : sbuf bf16 (128, 512) align -1", 1, 8, 1, "'align' is negative: -1"},
        {"tensor y : sbuf bf16 (1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1)", 1, 71, 1,
         "more than 16 dimensions"},
        {"region sbuf 0..212985", 1, 8, 14,
         "the region [0, 212,985) is outside the 212,984 usable bytes of 'sbuf'"},
        {"region sbuf 5..4", 1, 8, 9,
         "the region [5, 4) is outside the 212,984 usable bytes of 'sbuf'"},
        {"region sbuf 0..8 as library", 1, 21, 7,
         "expected 'exact', 'library_2026_04' or 'library_later' after 'as', found 'library'"},
        {"region sbuf 0..8; region sbuf 0..9", 1, 26, 9, "a second region of 'sbuf'"},
        {"region sub 0..8", 1, 8, 3, "target 'trn2' has no space 'sub'; it has sbuf, psum, hbm"},
        {"unit r on dmaa free", 1, 11, 4,
         "target 'trn2' has no engine 'dmaa'; it has tensor, vector, scalar, gpsimd, sync, dma"},
        {"unit dma", 1, 9, 1,
         "expected 'free', 'fifo', 'serial' or 'same' after 'dma', found the end of the line"},
        {"unit dma fast", 1, 10, 4,
         "expected 'free', 'fifo', 'serial' or 'same' after 'dma', found 'fast'"},
        {"unit x on dma free", 1, 6, 1, "'x' is already a tensor here"},
        {"dma l writes x[0]; unit dma free", 1, 25, 3,
         "'dma' is the engine of an operation above: declare the unit before it"},
        {"barrier d count 0", 1, 9, 1, "a count of 0; it must be at least 1"},
        {"barrier d", 1, 10, 1, "expected 'count' after 'd', found the end of the line"},
        {"mbarrier e[0] count 1", 1, 10, 1, "an extent of 0; it must be at least 1"},
        {"counter d = -1", 1, 9, 1, "a count of -1; it must be at least 0"},
        {"counter d[9223372036854775807, 4]", 1, 9, 1,
         "the number of objects does not fit 64 bits"},
        {"group d[2]", 1, 8, 1, "expected the end of the line after 'd', found '['"},
        {"mbarrier e count N * N - 17", 1, 10, 1, "a count of -1; it must be at least 1"},
    };
    CHECK_FAULTS(prelude, "\n", cases);
}

static void faults_of_blocks_are_found(void **state) {
    (void)state;
    static const test_fault cases[] = {
        {"for i in 0..N {", 2, 1, 1, "'for' in line 11 has no '}'"},
        {"for i in 0..N", 1, 14, 1, "expected '{' after 'N', found the end of the line"},
        {"for i in 4..0 { }", 1, 10, 4, "the loop runs from 4 down to 0"},
        {"for i in 0..N - 5 { }", 1, 10, 8, "the loop runs from 0 down to -1"},
        {"for i in -9223372036854775807..9223372036854775807 { }", 1, 10, 41,
         "the trip count from -9223372036854775807 to 9223372036854775807 does not fit 64 bits"},
        {"for i 0..N { }", 1, 7, 1, "expected 'in' after 'i', found '0'"},
        {"for i in 0,N { }", 1, 11, 1, "expected '..' after '0', found ','"},
        {"for x in 0..N { }", 1, 5, 1, "'x' is already a tensor here"},
        {"for i in 0..N { for i in 0..N { } }", 1, 21, 1, "'i' is already a loop variable here"},
        {"if N { }", 1, 6, 1, "expected '==', '!=', '<', '<=', '>' or '>=' after 'N', found '{'"},
        {"if N = 4 { }", 1, 6, 1,
         "expected '==', '!=', '<', '<=', '>' or '>=' after 'N', found '='"},
        {"if N == 4 { } else", 1, 19, 1, "expected '{' after 'else', found the end of the line"},
        {"else { }", 1, 1, 4, "an else without its if"},
        {"}", 1, 1, 1, "this '}' closes nothing"},
        {"scope s sections 0 { }", 1, 7, 1, "0 sections; a scope has at least 1"},
        {"scope { }", 1, 7, 1, "expected a name for the scope after 'scope', found '{'"},
        {"next section", 1, 1, 12, "'next section' must be in a scope"},
        {"next step", 1, 6, 4, "expected 'section' after 'next', found 'step'"},
        {"for i in 0..N { agent a { } }", 1, 23, 1,
         "an agent is declared outside of all blocks, at the top of the kernel"},
        {"agent a { }\nfence\nagent a2 { }", 3, 7, 2,
         "agents must be adjacent: a statement of the main program is between them"},
        {"agent a { tensor y : sbuf bf16 (1, 1) heap }", 1, 18, 1,
         "a kernel with agents has no stack or heap tensors; use auto, ring, mod or at"},
        {"scope s { }\nagent a { }", 2, 7, 1,
         "a kernel has either agents or scopes: agents run concurrently, and the order of scoped "
         "allocations would be "
         "undefined; use auto, ring, mod or at"},
        {"agent a { }\nscope s { }", 2, 7, 1,
         "a kernel has either agents or scopes: agents run concurrently, and the order of scoped "
         "allocations would be "
         "undefined; use auto, ring, mod or at"},
        {"agent a { }; agent a { }", 1, 20, 1, "'a' is already an agent here"},
        {"scope s { if N == 4 { }", 2, 1, 1, "'scope' in line 11 has no '}'"},
        {"kernel k2 on trn1", 1, 1, 6, "a second kernel; a file has one"},
    };
    CHECK_FAULTS(prelude, "\n", cases);
}

static void faults_of_operations_are_found(void **state) {
    (void)state;
    static const test_fault cases[] = {
        {"dmaa load writes x[0]", 1, 1, 4,
         "'dmaa' is not a statement, unit or engine of trn2; did you mean 'dma'?"},
        {"dma", 1, 4, 1,
         "expected a name for the operation after 'dma', found the end of the line"},
        {"dma load writes", 1, 16, 1,
         "expected a tensor after 'writes', found the end of the line"},
        {"dma load writes y", 1, 17, 1, "no tensor 'y' here; did you mean 'x', 'h' or 'p'?"},
        {"dma load writes N", 1, 17, 1, "'N' is a parameter, not a tensor"},
        {"dma load writes xx[0]", 1, 17, 2, "no tensor 'xx' here; did you mean 'x'?"},
        {"dma load writes x", 1, 17, 1, "tensor 'x' has block rank 1; indices given: 0"},
        {"dma load writes x[0, 1]", 1, 17, 7, "tensor 'x' has block rank 1; indices given: 2"},
        {"dma load writes x[4]", 1, 17, 4, "index 4 is outside 'x', which has 4"},
        {"dma load writes x[-1]", 1, 17, 5, "index -1 is outside 'x', which has 4"},
        {"for i in 0..N { dma load writes x[i + 1] }", 1, 33, 8,
         "index 'i + 1' reaches 4 and 'x' has only 4"},
        {"for i in 0..N { dma load writes x[(i + 1) % 5] }", 1, 33, 14,
         "index '(i + 1) % 5' reaches 4 and 'x' has only 4"},
        {"for i in 1..3 { dma load writes x[2 * i] }", 1, 33, 8,
         "index '2 * i' reaches 4 and 'x' has only 4"},
        {"dma load writes x[0](0..128)", 1, 17, 12, "a tile of 'x' has rank 2; ranges given: 1"},
        {"dma load writes x[0](0..129, ..)", 1, 17, 16,
         "the range ends at 129 and this dimension of 'x' at 128"},
        {"dma load writes x[0](5..5, ..)", 1, 17, 14, "the range of 'x' is empty"},
        {"dma load writes x[0](9..5, ..)", 1, 17, 14, "the range of 'x' is empty"},
        {"dma load writes x[0](128, ..)", 1, 17, 13, "index 128 is outside 'x', which has 128"},
        {"dma load writes x[0](.., 0..512", 1, 32, 1,
         "expected ',' or ')' after '512', found the end of the line"},
        {"tensor mm writes x[0]", 1, 18, 4,
         "engine 'tensor' of trn2 cannot write to 'sbuf', where 'x' is"},
        {"dma load reads p", 1, 16, 1,
         "engine 'dma' of trn2 cannot read from 'psum', where 'p' is"},
        {"gpsimd copy reads p writes x[0]", 1, 19, 1,
         "engine 'gpsimd' of trn2 cannot read from 'psum', where 'p' is"},
        {"sync copy reads x[0]", 1, 17, 4,
         "engine 'sync' of trn2 cannot read from 'sbuf', where 'x' is"},
        {"dma load writes x[0] in g", 1, 25, 1,
         "only an operation on a unit belongs to a group; declare one for engine 'dma'"},
        {"q load writes x[0] in c", 1, 23, 1, "'c' is a counter; a group is expected here"},
        {"q load writes x[0] delivers c[0]", 1, 29, 4,
         "'c' is a counter; an mbarrier is expected here"},
        {"q load writes x[0] delivers m by 0", 1, 29, 6, "an amount of 0; it is at least 1"},
        {"q load writes x[0] signals c[2]", 1, 28, 4, "index 2 is outside 'c', which has 2"},
        {"q load writes x[0] signals c[0] after", 1, 38, 1,
         "expected 'reads' after 'after', found the end of the line"},
        {"dma load writes x[0] cost 5", 1, 28, 1,
         "expected 'cycles' or 'ns' after '5', found the end of the line"},
        {"dma load writes x[0] cost -5 ns", 1, 27, 5, "a cost of -5; it is at least 0"},
        {"dma load write x[0]", 1, 10, 5, "an operation has no 'write'; did you mean 'writes'?"},
        {"dma load writes x[0] writes", 1, 28, 1,
         "expected a tensor after 'writes', found the end of the line"},
        {"lod writes x[0]", 1, 1, 3, "'lod' is not a statement, unit or engine of trn2"},
        {"frobnicate", 1, 1, 10, "'frobnicate' is not a statement, unit or engine of trn2"},
        {"\"for\" load", 1, 1, 5, "'for' is not a statement, unit or engine of trn2"},
        {"tensor", 1, 7, 1,
         "expected a name for the operation after 'tensor', found the end of the line"},
    };
    CHECK_FAULTS(prelude, "\n", cases);
}

static void faults_of_synchronisation_are_found(void **state) {
    (void)state;
    static const test_fault cases[] = {
        {"sync m", 1, 1, 6, "'m' is an mbarrier; a barrier is expected here"},
        {"sync bb", 1, 6, 2, "no barrier 'bb' here; did you mean 'b'?"},
        {"sync b by 0", 1, 1, 11, "an amount of 0; it is at least 1"},
        {"arrive c[0]", 1, 1, 11, "'c' is a counter; an mbarrier or a barrier is expected here"},
        {"arrive b expect 4", 1, 1, 17, "'arrive b' has no 'expect'"},
        {"arrive b relaxed", 1, 1, 16, "'arrive b' has no 'relaxed'"},
        {"arrive m by -1", 1, 1, 14, "an amount of -1; it is at least 1"},
        {"arrive m on dma", 1, 13, 3,
         "engine 'dma' is not declared as a unit here; write 'unit dma fifo' above"},
        {"arrive m on qq", 1, 13, 2, "no unit 'qq' here; did you mean 'q'?"},
        {"arrive m drop drop2", 1, 15, 5,
         "expected the end of the line after 'drop', found 'drop2'"},
        {"signal c", 1, 1, 8, "array 'c' has block rank 1; indices given: 0"},
        {"signal c[2]", 1, 1, 11, "index 2 is outside 'c', which has 2"},
        {"signal m", 1, 1, 8, "'m' is an mbarrier; a counter is expected here"},
        {"signal c[0] expect 3", 1, 1, 20, "'signal c' has no 'expect'"},
        {"wait c[0]", 1, 10, 1,
         "expected '>=', 'parity', 'next' or 'pending' after ']', found the end of the line"},
        {"wait c[0] >= -1", 1, 1, 15, "an amount of -1; it is at least 0"},
        {"wait m parity 2", 1, 1, 15, "a parity of 2; it is at least 0 and at most 1"},
        {"wait m pending 1", 1, 1, 16, "'m' is an mbarrier; a group is expected here"},
        {"wait g parity 1", 1, 1, 15, "'g' is a group; an mbarrier is expected here"},
        {"wait g pending -1", 1, 1, 17, "an amount of -1; it is at least 0"},
        {"wait g pending 1 relaxed", 1, 1, 24, "'wait g' has no 'relaxed'"},
        {"wait m parity 1 on q", 1, 1, 20, "'wait m' has no 'on'"},
        {"take c[0] by 0", 1, 1, 14, "an amount of 0; it is at least 1"},
        {"init c[0]", 1, 1, 9, "'c' is a counter; an mbarrier is expected here"},
        {"init m count 0", 1, 1, 14, "an amount of 0; it is at least 1"},
        {"expect m", 1, 1, 8, "'expect m' needs an amount: by and a number"},
        {"commit m", 1, 1, 8, "'m' is an mbarrier; a group is expected here"},
        {"commit g by 2", 1, 1, 13, "'commit g' has no 'by'"},
        {"invalidate g", 1, 1, 12, "'g' is a group; an mbarrier is expected here"},
        {"drain dma", 1, 7, 3,
         "engine 'dma' is not declared as a unit here; write 'unit dma fifo' above"},
        {"drain", 1, 6, 1, "expected a unit after 'drain', found the end of the line"},
        {"fence 4", 1, 7, 1, "expected the end of the line after 'fence', found '4'"},
        {"alloc y", 1, 7, 1, "no tensor 'y' here; did you mean 'x', 'h' or 'p'?"},
        {"free x[4]", 1, 1, 9, "index 4 is outside 'x', which has 4"},
        {"alloc x[0, 1]", 1, 1, 13, "tensor 'x' has block rank 1; indices given: 2"},
        {"free h; fence x", 1, 15, 1, "target 'trn2' has no fence 'x'; it has no fences"},
    };
    CHECK_FAULTS(prelude, "\n", cases);
}

static void faults_of_the_head_are_found(void **state) {
    (void)state;
    static const test_fault cases[] = {
        {"", 1, 1, 1, "a kernel file starts with 'kernel', a name, 'on' and a target"},
        {"param N = 4", 1, 1, 5, "a kernel file starts with 'kernel', a name, 'on' and a target"},
        {"kernel", 1, 7, 1,
         "expected a name for the kernel after 'kernel', found the end of the file"},
        {"kernel k", 1, 9, 1, "expected 'on' after 'k', found the end of the file"},
        {"kernel k on trn9", 1, 13, 4,
         "no target is called 'trn9'; did you mean 'trn1', 'trn2' or 'trn3'?"},
        {"kernel k on trn2 trn1", 1, 18, 4,
         "expected the end of the line after 'trn2', found 'trn1'"},
    };
    CHECK_FAULTS("", "", cases);
}

/* Sizes that do not fit 64 bits, long names and long conditions. */
static void limits_are_faults(void **state) {
    (void)state;
    static const test_fault cases[] = {
        {"tensor y : sbuf u8 [N] (1, 2) ring 9223372036854775807", 1, 20, 10,
         "the size of the ring does not fit 64 bits"},
        {"tensor y : sbuf u8 [N, N] (1, 2) mod free [9223372036854775807, 2]", 1, 20, 13,
         "the number of tiles in a ring does not fit 64 bits"},
        {"tensor y : sbuf u8 (1, 2) mod base 9223372036854775807", 1, 20, 6,
         "the address of the last tile does not fit 64 bits"},
        {"tensor y : sbuf u8 (1, 2) alias of x[0] + 9223372036854775807", 1, 20, 6,
         "the size of the alias does not fit 64 bits"},
        {"tensor y : sbuf u8 [2, 2] (1, 2) alias of x[0] ring [1, 1]", 1, 8, 1,
         "the ring of an alias is one number"},
        {"param aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa = 1", 1, 7, 64,
         "a name has at most 63 characters"},
        {"if 1 < 2 and 1 < 2 and 1 < 2 and 1 < 2 and 1 < 2 and 1 < 2 and 1 < 2 and 1 < 2 and 1 < 2 "
         "and 1 < 2 and 1 < 2 and 1 < 2 and 1 < 2 and 1 < 2 and 1 < 2 and 1 < 2 and 1 < 2 { }",
         1, 164, 1, "more than 16 comparisons"},
        {"param M = 1 +\nparam K = M + 1\nfor i in 0..K { dma load writes x[M] }", 1, 14, 1,
         "expected a number, a name or '(' after '+', found the end of the line"},
        {"q load writes x[0] signals c[0", 1, 31, 1,
         "expected ',' or ']' after '0', found the end of the line"},
        {"q load writes x[0] signals c[0] by", 1, 35, 1,
         "expected a number, a name or '(' after 'by', found the end of the line"},
        {"tensor y : sbuf u8 (1, 2) alias of x[0", 1, 39, 1,
         "expected ',' or ']' after '0', found the end of the line"},
    };
    CHECK_FAULTS(prelude, "\n", cases);
    /* neighbouring values further apart than numbers can say: no fault, and no claim */
    spad_kernel_destroy(
        test_parse("kernel k on trn2\ncounter c[2]\n"
                   "for i in 0..1 { signal c[i * 4 * 4611686018427387904 % 2] }\n"));
    spad_kernel *kernel;
    spad_error error;
    assert_int_equal(
        spad_kernel_parse(&kernel, "", (size_t)INT32_MAX + 1, NULL, NULL, NULL, &error),
        SPAD_ERR_ARGUMENT);
    assert_string_equal(error.message,
                        "a text of 2147483648 bytes is too long: at most 2147483647");
}

/* One run, several faults; a name with a faulty declaration is not reported again, and
 * the lines of a faulty operation are skipped together. */
static void several_faults_are_found_in_one_run(void **state) {
    (void)state;
    const char *text = "kernel k on trn2\n"
                       "tensor x : sbuf bf16 [4 (128, 512)\n"
                       "tensor y : psum f32 (128, 512)\n"
                       "for i in 0..4 {\n"
                       "    dma load writes x[i]\n"
                       "    vectr exp reads x[i]\n"
                       "              writes y\n"
                       "    dma store reads y\n"
                       "    if i = 3 { dma load writes nowhere }\n"
                       "}\n"
                       "vector add updates z\n";
    spad_diagnostics *diagnostics;
    spad_kernel *kernel;
    test_text shown;
    assert_int_equal(spad_diagnostics_create(&diagnostics, NULL, NULL), SPAD_OK);
    assert_int_equal(
        spad_kernel_parse(&kernel, text, strlen(text), "k.spad", NULL, diagnostics, NULL),
        SPAD_ERR_SYNTAX);
    test_text_init(&shown);
    assert_int_equal(spad_diagnostics_write(diagnostics, SPAD_FORMAT_TEXT, &shown.sink, NULL),
                     SPAD_OK);
    assert_string_equal(
        shown.bytes,
        "k.spad:2:25: error: expected ',' or ']' after '4', found '('\n"
        "    2 | tensor x : sbuf bf16 [4 (128, 512)\n"
        "      |                         ^\n"
        "k.spad:6:5: error: 'vectr' is not a statement, unit or engine of trn2; did you mean "
        "'vector'?\n"
        "    6 |     vectr exp reads x[i]\n"
        "      |     ^~~~~\n"
        "k.spad:8:21: error: engine 'dma' of trn2 cannot read from 'psum', where 'y' is\n"
        "    8 |     dma store reads y\n"
        "      |                     ^\n"
        "k.spad:9:10: error: expected '==', '!=', '<', '<=', '>' or '>=' after 'i', found '='\n"
        "    9 |     if i = 3 { dma load writes nowhere }\n"
        "      |          ^\n"
        "k.spad:11:20: error: no tensor 'z' here; did you mean 'y'?\n"
        "   11 | vector add updates z\n"
        "      |                    ^\n");
    test_text_free(&shown);
    spad_diagnostics_destroy(diagnostics);
}

/* A block, or an expression, can be nested only so deep. */
static void depth_is_limited(void **state) {
    (void)state;
    enum { DEEP = 300 };
    static char text[DEEP * 40];
    char *at = text + sprintf(text, "kernel k on trn2\n");
    for (int i = 0; i < DEEP; i++) at += sprintf(at, "if 1 == 1 {\n");
    spad_kernel *k;
    spad_error error;
    assert_int_equal(spad_kernel_parse(&k, text, strlen(text), NULL, NULL, NULL, &error),
                     SPAD_ERR_SYNTAX);
    assert_string_equal(error.message, "blocks are nested too deep: at most 256");
    at = text + sprintf(text, "kernel k on trn2\n");
    for (int i = 0; i < 65; i++) at += sprintf(at, "for i%d in 0..1 {\n", i);
    assert_int_equal(spad_kernel_parse(&k, text, strlen(text), NULL, NULL, NULL, &error),
                     SPAD_ERR_SYNTAX);
    assert_string_equal(error.message, "loops are nested too deep: at most 64");
    assert_int_equal(error.line, 66);
}

/* ---- back to text ------------------------------------------------------------------ */

static void written_kernels_read_back(void **state) {
    (void)state;
    test_text first;
    test_text second;
    test_text_init(&first);
    test_text_init(&second);
    spad_kernel *k = test_parse(full_text);
    assert_int_equal(spad_kernel_write_text(k, &first.sink, NULL), SPAD_OK);
    spad_kernel *again = test_parse(first.bytes);
    assert_int_equal(spad_kernel_write_text(again, &second.sink, NULL), SPAD_OK);
    assert_string_equal(first.bytes, second.bytes);
    assert_non_null(strstr(first.bytes, "param D = N / 8 + 0\n"));
    assert_non_null(strstr(first.bytes, "counter c[2, D] = 3\n"));
    assert_non_null(strstr(
        first.bytes, "tensor w : sbuf bfloat16 [2] (128, 2, 8) alias of x[1, 0] + 0 ring 2\n"));
    assert_non_null(strstr(first.bytes,
                           "        q load reads z[i] writes x[i, 0](.., 1..3, 2), x[i, 1] in g "
                           "delivers m[i % D] by 5 after reads arrives m[0] signals c[0, 1] by 2 "
                           "cost 3 + i ns\n    } else {\n"));
    assert_int_equal(spad_kernel_statement_count(k), spad_kernel_statement_count(again));
    spad_kernel_destroy(k);
    spad_kernel_destroy(again);
    test_text_free(&first);
    test_text_free(&second);
}

/* Comments, and empty lines above rows. What a text may not have is replaced. */
static void comments_stay_with_their_rows(void **state) {
    (void)state;
    const char *text = "\xEF\xBB\xBF# about\n"
                       "kernel k on trn2 # its \"chip\"\r\n"
                       "\n"
                       "# a number\n"
                       "param N = 4 # rounds\n"
                       "macro copy(to) { # a macro\n"
                       "    dma load writes to # \x1b[1m \xFF \xC3\xA4\t.\n"
                       "    # done\n"
                       "}\n"
                       "tensor x : sbuf uint8 (4, 8); tensor y : sbuf uint8 (4, 8) # both\n"
                       "for i in 0..N {\n"
                       "    copy(x)\n"
                       "    copy(y)\n"
                       "    # the end\n"
                       "} # of the loop\n"
                       "# of all";
    const char *written = "# about\n"
                          "kernel k on trn2 # its \"chip\"\n"
                          "\n"
                          "# a number\n"
                          "param N = 4 # rounds\n"
                          "tensor x : sbuf uint8 (4, 8) # both\n"
                          "tensor y : sbuf uint8 (4, 8)\n"
                          "for i in 0..N {\n"
                          "    # the end\n"
                          "    # of the loop\n"
                          "    # a macro\n"
                          "    dma load writes x # ?[1m ? \xC3\xA4\t.\n"
                          "    # done\n"
                          "    dma load writes y\n"
                          "}\n"
                          "# of all\n";
    spad_kernel *k = test_parse(text);
    spad_kernel *copy;
    spad_error error;
    assert_ok(spad_kernel_reshape(&copy, k, NULL, &error), &error);
    const spad_kernel *const kernels[] = {k, copy};
    for (size_t i = 0; i < 2; i++) {
        test_text out;
        test_text_init(&out);
        assert_int_equal(spad_kernel_write_text(kernels[i], &out.sink, NULL), SPAD_OK);
        assert_string_equal(out.bytes, written);
        test_text_free(&out);
    }
    spad_kernel_destroy(k);
    spad_kernel_destroy(copy);
}

/* The main program is an agent like others: its threads have a line of the text. */
static void threads_of_the_main_program_read_back(void **state) {
    (void)state;
    const char *text = "kernel k on sm_90\n"
                       "param W = 2\n"
                       "threads W * 128 registers 168\n"
                       "mbarrier m count 1\n"
                       "agent load of 128 threads registers 24 {\n"
                       "}\n";
    const spad_define define = {"W", 3};
    const spad_kernel_options options = {.defines = &define, .define_count = 1};
    spad_kernel *k = test_parse(text);
    spad_kernel *wider;
    spad_error error;
    test_text out;
    test_text_init(&out);
    assert_int_equal(spad_kernel_write_text(k, &out.sink, NULL), SPAD_OK);
    assert_string_equal(out.bytes, text);
    assert_int_equal(spad_kernel_get_agent(k, 0)->threads.value, 256);
    assert_int_equal(spad_kernel_get_agent(k, 0)->registers.value, 168);
    assert_ok(spad_kernel_reshape(&wider, k, &options, &error), &error);
    assert_int_equal(spad_kernel_get_agent(wider, 0)->threads.value, 384);
    assert_int_equal(spad_kernel_get_agent(wider, 1)->threads.value, 128);
    spad_kernel_destroy(k);
    spad_kernel_destroy(wider);
    test_text_free(&out);
}

/* Signs, parentheses and the smallest number keep their meaning. */
static void expressions_are_written_exactly(void **state) {
    (void)state;
    static const char *const cases[] = {
        "1 - (2 - 3)", "(1 - 2) - 3", "1 - 2 - 3",         "2 * (3 + 4)",
        "(7 / 2) * 2", "7 / (2 * 2)", "-(1 + 2)",          "-5 % 3",
        "-(5 % 3)",    "- -5",        "(7 % 4) % (5 % 3)", "-9223372036854775807 - 1",
        "1 - -5",      "2 * -3",
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char text[128];
        test_text out;
        test_text_init(&out);
        snprintf(text, sizeof text, "kernel k on trn2\nparam M = %s\n", cases[i]);
        spad_kernel *k = test_parse(text);
        assert_int_equal(spad_kernel_write_text(k, &out.sink, NULL), SPAD_OK);
        spad_kernel *again = test_parse(out.bytes);
        assert_int_equal(spad_kernel_get_param(k, 0)->value,
                         spad_kernel_get_param(again, 0)->value);
        spad_kernel_destroy(k);
        spad_kernel_destroy(again);
        test_text_free(&out);
    }
    const spad_define smallest = {"M", INT64_MIN};
    const spad_kernel_options options = {.defines = &smallest, .define_count = 1};
    test_text out;
    test_text_init(&out);
    spad_kernel *k = test_parse_with("kernel k on trn2\nparam M = 4\n", &options);
    assert_int_equal(spad_kernel_write_text(k, &out.sink, NULL), SPAD_OK);
    assert_string_equal(out.bytes, "kernel k on trn2\nparam M = -9223372036854775807 - 1\n");
    spad_kernel_destroy(k);
    test_text_free(&out);
}

/* Chips from files may have any names. */
static void names_of_chips_are_quoted_where_they_must(void **state) {
    (void)state;
    const char *chip = "target \"my-chip\"\nspace \"m-1\" { bytes 64 }\n"
                       "engine scope { reads \"m-1\"; writes \"m-1\" }\n"
                       "engine \"e.2\" { writes \"m-1\" }\nengine tensor { writes \"m-1\" }\n";
    const char *text = "kernel k on \"my-chip\"\n"
                       "region \"m-1\" 0..64\n"
                       "unit u on \"e.2\" fifo\n"
                       "tensor x : \"m-1\" uint8 (4)\n"
                       "\"scope\" one writes x\n"
                       "\"e.2\" two writes x\n"
                       "tensor three writes x\n";
    spad_target *target;
    test_text out;
    assert_int_equal(spad_target_parse(&target, chip, strlen(chip), NULL, NULL, NULL, NULL),
                     SPAD_OK);
    const spad_kernel_options options = {.target = target};
    spad_kernel *k = test_parse_with(text, &options);
    test_text_init(&out);
    assert_int_equal(spad_kernel_write_text(k, &out.sink, NULL), SPAD_OK);
    assert_string_equal(out.bytes, text);
    spad_kernel_destroy(k);
    spad_target_destroy(target);
    test_text_free(&out);
}

static void a_failing_sink_is_reported(void **state) {
    (void)state;
    test_text out;
    test_text_init(&out);
    out.fail_after = 40;
    spad_kernel *k = test_parse(full_text);
    assert_int_equal(spad_kernel_write_text(k, &out.sink, NULL), SPAD_ERR_IO);
    spad_kernel_destroy(k);
    test_text_free(&out);
}

/* ---- memory ------------------------------------------------------------------------ */

static char full_copy[sizeof full_text];

static spad_status parse_scenario(const spad_host *host, void *context) {
    const spad_define define = {"N", 16};
    const spad_define ring = {"x", 2};
    const spad_kernel_options options = {.defines = &define,
                                         .define_count = 1,
                                         .rings = context == full_copy ? &ring : NULL,
                                         .ring_count = context == full_copy,
                                         .host = host};
    spad_kernel *kernel;
    const char *text = context;
    const spad_status status =
        spad_kernel_parse(&kernel, text, strlen(text), "k.spad", &options, NULL, NULL);
    spad_kernel_destroy(kernel);
    return status;
}

/* A text with a fault: the fault is the answer, unless memory was missing on the way to it. */
static spad_status fault_scenario(const spad_host *host, void *context) {
    const spad_status status = parse_scenario(host, context);
    assert_true(status == SPAD_ERR_SYNTAX || status == SPAD_ERR_HOST_MEMORY);
    return status == SPAD_ERR_SYNTAX ? SPAD_OK : status;
}

static void every_allocation_may_fail(void **state) {
    (void)state;
    memcpy(full_copy, full_text, sizeof full_copy);
    test_fail_each_allocation(parse_scenario, full_copy);
    char agents[] = "kernel k on sm_90\nparam N = 16\nagent a { for i in 0..N { fence } }\n"
                    "agent b { fence }\n";
    test_fail_each_allocation(parse_scenario, agents);
    char scopes[] = "kernel k on trn2\nparam N = 16\nscope s sections N {\n"
                    "tensor t : sbuf u8 (1, 4) stack\nnext section }\n";
    test_fail_each_allocation(parse_scenario, scopes);
    char broken[] = "kernel k on trn2\ntensor t : sbuf u8 (1, 4) nonsense\n";
    test_fail_each_allocation(fault_scenario, broken);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_statement_is_understood),
        cmocka_unit_test(statements_nest),
        cmocka_unit_test(expressions_have_bounds),
        cmocka_unit_test(defines_and_targets_can_be_given),
        cmocka_unit_test(rings_can_be_given),
        cmocka_unit_test(faults_of_the_head_are_found),
        cmocka_unit_test(faults_of_expressions_are_found),
        cmocka_unit_test(faults_of_declarations_are_found),
        cmocka_unit_test(faults_of_blocks_are_found),
        cmocka_unit_test(faults_of_operations_are_found),
        cmocka_unit_test(faults_of_synchronisation_are_found),
        cmocka_unit_test(limits_are_faults),
        cmocka_unit_test(several_faults_are_found_in_one_run),
        cmocka_unit_test(depth_is_limited),
        cmocka_unit_test(written_kernels_read_back),
        cmocka_unit_test(comments_stay_with_their_rows),
        cmocka_unit_test(threads_of_the_main_program_read_back),
        cmocka_unit_test(expressions_are_written_exactly),
        cmocka_unit_test(names_of_chips_are_quoted_where_they_must),
        cmocka_unit_test(a_failing_sink_is_reported),
        cmocka_unit_test(every_allocation_may_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
