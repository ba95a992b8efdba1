/* SPDX-License-Identifier: Apache-2.0
 *
 * The parser of PTX: words, operands, scopes, declarations, lines; all of it without host memory.
 * The files in tests/ptx are of nvcc, apart from syntax.ptx, which ptxas accepts. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ptx_text_fixture.h"
#include "support/files.h"

typedef spad__ptx_instruction instruction;

static void must_read(module *out, const char *text) {
    spad_error error;
    const spad_status status = read_bytes(out, NULL, text, strlen(text), NULL, &error);
    if (status != SPAD_OK) {
        print_error("line %d, column %d: %s\n", error.line, error.column, error.message);
    }
    assert_int_equal(status, SPAD_OK);
}

/* ---- words ------------------------------------------------------------------------------ */

static instruction name_of(const char *name) {
    instruction i;
    memset(&i, 0xA5, sizeof i); /* fields that the name does not tell are left alone */
    spad__ptx_read_name(&i, name, strlen(name));
    return i;
}

static void every_word_is_found(void **state) {
    (void)state;
#define OP_ROW(name, spelling) {spelling, SPAD__PTX_OP_##name},
#define WORD_ROW(name, spelling) {"bra." spelling, SPAD__PTX_WORD_##name},
#define SPECIAL_ROW(name, spelling) {spelling, SPAD__PTX_SPECIAL_##name},
#define TYPE_ROW(name, spelling, bits) {spelling, SPAD__PTX_##name},
    static const struct {
        const char *text;
        int value;
    } ops[] = {SPAD__PTX_OPS(OP_ROW)}, words[] = {SPAD__PTX_WORDS(WORD_ROW)},
      specials[] = {SPAD__PTX_SPECIALS(SPECIAL_ROW)}, types[] = {SPAD__PTX_NUMBER_TYPES(TYPE_ROW)};
    for (size_t i = 0; i < sizeof ops / sizeof ops[0]; i++) {
        const instruction read = name_of(ops[i].text);
        assert_int_equal(read.op, ops[i].value);
        assert_string_equal(spad__ptx_op_name(read.op), ops[i].text);
        assert_false(read.unknown_word);
        if (i > 0) assert_true(strcmp(ops[i - 1].text, ops[i].text) < 0);
    }
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
        if (strncmp(words[i].text, "bra.async.", 10) == 0) continue; /* joined: see below */
        const instruction read = name_of(words[i].text);
        assert_int_equal(read.op, SPAD__PTX_OP_BRA);
        assert_true(spad__ptx_has(&read, (spad__ptx_word)words[i].value));
        assert_false(read.unknown_word);
        if (i > 0) assert_true(strcmp(words[i - 1].text, words[i].text) < 0);
    }
    for (size_t i = 0; i < sizeof specials / sizeof specials[0]; i++) {
        assert_int_equal(spad__ptx_find_special(specials[i].text, strlen(specials[i].text)),
                         specials[i].value);
    }
    for (size_t i = 0; i < sizeof types / sizeof types[0]; i++) {
        assert_int_equal(spad__ptx_find_type(types[i].text, strlen(types[i].text)), types[i].value);
    }
    assert_int_equal(spad__ptx_find_special("%nothing", 8), SPAD__PTX_SPECIAL_COUNT);
    assert_int_equal(spad__ptx_find_type("b33", 3), SPAD__PTX_NO_TYPE);
    assert_string_equal(spad__ptx_op_name(SPAD__PTX_OP_UNKNOWN), "unknown");
    assert_int_equal(spad__ptx_type_bits(SPAD__PTX_B128), 128);
    assert_int_equal(spad__ptx_type_bits(SPAD__PTX_NO_TYPE), 0);
    assert_true(spad__ptx_type_is_float(SPAD__PTX_BF16X2));
    assert_false(spad__ptx_type_is_float(SPAD__PTX_B32));
    assert_true(spad__ptx_type_is_signed(SPAD__PTX_S16X2));
    assert_false(spad__ptx_type_is_signed(SPAD__PTX_U64));
}

#define HAS(i, word) assert_true(spad__ptx_has(&(i), SPAD__PTX_WORD_##word))

static void names_are_split(void **state) {
    (void)state;
    instruction i = name_of("cp.async.bulk.tensor.2d.shared::cluster.global.tile."
                            "mbarrier::complete_tx::bytes.multicast::cluster.L2::cache_hint");
    assert_int_equal(i.op, SPAD__PTX_OP_CP_ASYNC_BULK_TENSOR);
    assert_int_equal(i.space, SPAD__PTX_SHARED_CLUSTER);
    assert_int_equal(i.second_space, SPAD__PTX_GLOBAL);
    HAS(i, ND2);
    HAS(i, TILE);
    HAS(i, MBARRIER_COMPLETE);
    HAS(i, MULTICAST_CLUSTER);
    HAS(i, L2_CACHE_HINT);
    assert_false(i.unknown_word);
    i = name_of("mma.sync.aligned.m16n8k64.row.col.kind::mxf4.block_scale.scale_vec::2X.f32.e2m1."
                "e2m1.f32.ue8m0");
    assert_int_equal(i.type_count, 5);
    assert_int_equal(i.types[4], SPAD__PTX_UE8M0);
    assert_int_equal(i.shape[0], 16);
    assert_int_equal(i.shape[1], 8);
    assert_int_equal(i.shape[2], 64);
    assert_false(i.unknown_word);
    i = name_of("tcgen05.wait::ld.sync.aligned");
    assert_int_equal(i.op, SPAD__PTX_OP_TCGEN05_WAIT);
    HAS(i, LD_WORD);
    i = name_of("fence.proxy.async.shared::cta");
    assert_int_equal(i.op, SPAD__PTX_OP_FENCE_PROXY);
    assert_int_equal(i.space, SPAD__PTX_SHARED);
    HAS(i, ASYNC);
    HAS(i, ASYNC_SHARED_CTA);
    i = name_of("ld.global .v4\t.u32"); /* blanks may stand in front of a dot */
    assert_int_equal(i.op, SPAD__PTX_OP_LD);
    assert_int_equal(i.vector, 4);
    assert_int_equal(i.types[0], SPAD__PTX_U32);
    i = name_of("cp.async.bulk.prefetch.tensor.1d.L2.global");
    assert_int_equal(i.op, SPAD__PTX_OP_CP_ASYNC_BULK_PREFETCH_TENSOR);
    i = name_of("ld.param::entry.b32");
    assert_int_equal(i.space, SPAD__PTX_PARAM);
    assert_true(name_of("add.s32.s32.s32.s32.s32.s32").unknown_word);
    assert_true(name_of("mov.global.shared.local.b32").unknown_word);
    assert_true(name_of("mma.m16n8").unknown_word == false);
    assert_true(name_of("mma.m16n8k").unknown_word);
    assert_true(name_of("mma.m16n8k8x").unknown_word);
    assert_true(name_of("ld.v3.b32").unknown_word);
    assert_true(name_of("ld.u32.frobnicate").unknown_word);
    assert_int_equal(name_of("frobnicate.u32").op, SPAD__PTX_OP_UNKNOWN);
    assert_int_equal(name_of("").op, SPAD__PTX_OP_UNKNOWN);
    assert_int_equal(name_of("::.::").op, SPAD__PTX_OP_UNKNOWN);
}

/* ---- operands as text ------------------------------------------------------------------- */

typedef struct shown {
    char text[4096];
    size_t used;
} shown;

static void show(shown *out, const char *format, ...) SPAD_PRINTF(2, 3);
static void show(shown *out, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    const int length =
        vsnprintf(out->text + out->used, sizeof out->text - out->used, format, arguments);
    va_end(arguments);
    assert_true(length >= 0 && (size_t)length < sizeof out->text - out->used);
    out->used += (size_t)length;
}

static const char *register_name(const module *m, const spad__ptx_function *f, int32_t number) {
    assert_true(number >= 0 && number < f->register_count);
    return m->registers.items[f->first_register + number].name;
}

static void show_items(shown *out, const module *m, const spad__ptx_function *f, int32_t first,
                       int32_t count);

static void show_address(shown *out, const module *m, const spad__ptx_function *f,
                         const spad__ptx_operand *o) {
    show(out, "[");
    if (o->reg >= 0) show(out, "%s", register_name(m, f, o->reg));
    if (o->variable >= 0) show(out, "%s", spad__ptx_variable_of(m, f, o->variable)->name);
    show(out, "%+lld", (long long)o->value);
    show_items(out, m, f, o->first, o->count);
    show(out, "]");
}

static void show_operand(shown *out, const module *m, const spad__ptx_function *f,
                         const spad__ptx_operand *o) {
    if (o->negated) show(out, "!");
    switch ((spad__ptx_operand_kind)o->kind) {
    case SPAD__PTX_SINK: show(out, "_"); break;
    case SPAD__PTX_REGISTER: show(out, "%s", register_name(m, f, o->reg)); break;
    case SPAD__PTX_IMMEDIATE:
        show(out, o->wide ? "d%llx" : "%lld", (unsigned long long)o->value);
        break;
    case SPAD__PTX_SPECIAL: show(out, "special %d.%d", o->special, o->component); break;
    case SPAD__PTX_ADDRESS: show_address(out, m, f, o); break;
    case SPAD__PTX_VARIABLE:
        show(out, "&%s%+lld", spad__ptx_variable_of(m, f, o->variable)->name, (long long)o->value);
        break;
    case SPAD__PTX_FUNCTION: show(out, "%s()", m->functions.items[o->value].name); break;
    case SPAD__PTX_LABEL: show(out, "to %lld", (long long)o->value); break;
    case SPAD__PTX_TABLE: show(out, "table %lld", (long long)o->value); break;
    case SPAD__PTX_VECTOR:
        show_items(out, m, f, o->first, o->count);
        if (o->count == 0) show(out, "{}");
        break;
    }
    if (o->also >= 0) show(out, "|%s", register_name(m, f, o->also));
}

static void show_items(shown *out, const module *m, const spad__ptx_function *f, int32_t first,
                       int32_t count) {
    assert_true(count >= 0);
    for (int32_t i = 0; i < count; i++) {
        show(out, i == 0 ? "{" : " ");
        show_operand(out, m, f, &m->operands.items[first + i]);
    }
    if (count > 0) show(out, "}");
}

/* "@!%p1 mov %r1, 7; ..." of the instructions of a function. */
static void show_function(shown *out, const module *m, const spad__ptx_function *f) {
    for (int32_t i = 0; i < f->instruction_count; i++) {
        const instruction *in = &m->instructions.items[f->first_instruction + i];
        if (i > 0) show(out, "; ");
        if (in->guard >= 0) {
            show(out, "@%s%s ", in->guard_negated ? "!" : "", register_name(m, f, in->guard));
        }
        show(out, "%s", spad__ptx_op_name(in->op));
        for (int32_t k = 0; k < in->count; k++) {
            show(out, k == 0 ? " " : ", ");
            show_operand(out, m, f, &m->operands.items[in->first + k]);
        }
    }
}

static const spad__ptx_function *function_named(const module *m, const char *name) {
    for (size_t i = 0; i < m->functions.count; i++) {
        if (strcmp(m->functions.items[i].name, name) == 0) return &m->functions.items[i];
    }
    fail_msg("no function %s", name);
    return NULL;
}

static void operands_are_read(void **state) {
    (void)state;
    static const char *const cases[][2] = {
        {"ret;", "ret"},
        {"mov.u32 %r1, %tid.y;", "mov %r1, special 0.1"},
        {"mov.u32 %r1, WARP_SZ;", "mov %r1, special 32.0"},
        {"mov.u32 %r1, %envreg3;", "mov %r1, special 37.0"},
        {"mov.u64 %rd1, %clock64;", "mov %rd1, special 24.0"},
        {"add.s32 %r1, %r2, -5;", "add %r1, %r2, -5"},
        {"add.s32 %r1, %r2, 0xFFFFFFFF;", "add %r1, %r2, 4294967295"},
        {"mov.b64 %rd1, 0xFFFFFFFFFFFFFFFF;", "mov %rd1, -1"},
        {"mov.b64 %rd1, -9223372036854775808;", "mov %rd1, -9223372036854775808"},
        {"mov.u32 %r1, 017 + 0b11 + 9U;", "mov %r1, 27"},
        {"mov.u32 %r1, (1 << 4 | 3) ^ ~0 & 0xF0;", "mov %r1, 227"},
        {"mov.u32 %r1, 7 / 2 * 2 - 7 % 4;", "mov %r1, 3"},
        {"mov.u32 %r1, -7 / 2;", "mov %r1, -3"},
        {"mov.u32 %r1, (.u64)-8 >> 62;", "mov %r1, 3"},
        {"mov.u32 %r1, -8 >> 62;", "mov %r1, -1"},
        {"mov.u32 %r1, -8 >> 70;", "mov %r1, -1"},
        {"mov.u32 %r1, 8 << 64;", "mov %r1, 0"},
        {"mov.u32 %r1, -1 < 0 ? 5 : 6;", "mov %r1, 5"},
        {"mov.u32 %r1, -1 < 0U ? 5 : 6;", "mov %r1, 6"},
        {"mov.u32 %r1, 1 == 1 && 2 != 2 || !0;", "mov %r1, 1"},
        {"mov.u32 %r1, 3 >= 2 + (3 <= 2) + (3 > 2);", "mov %r1, 1"},
        {"mov.f32 %f1, 0f3F800000;", "mov %f1, 1065353216"},
        {"mov.f32 %f1, -0f3F800000;", "mov %f1, 3212836864"},
        {"mov.f32 %f1, 1.5;", "mov %f1, d3ff8000000000000"},
        {"mov.f32 %f1, -25e-1;", "mov %f1, dc004000000000000"},
        {"mov.f32 %f1, 1e400;", "mov %f1, d7ff0000000000000"},
        {"mov.f64 %rd1, 0D4000000000000000;", "mov %rd1, d4000000000000000"},
        {"setp.lt.and.s32 %p1|%p2, %r1, 0, !%p3;", "setp %p1|%p2, %r1, 0, !%p3"},
        {"elect.sync _|%p1, -1;", "elect.sync _|%p1, -1"},
        {"shfl.sync.up.b32 %r1|_, %r2, 1, 0, -1;", "shfl %r1, %r2, 1, 0, -1"},
        {"ld.shared.b64 %rd1, [bar];", "ld %rd1, [bar+0]"},
        {"ld.shared.b64 %rd1, [bar+8];", "ld %rd1, [bar+8]"},
        {"ld.global.b32 %r1, [%rd1+-4];", "ld %r1, [%rd1-4]"},
        {"ld.global.b32 %r1, [%rd1-4];", "ld %r1, [%rd1-4]"},
        {"ld.global.b32 %r1, [ %rd1 + 2 * 4 ];", "ld %r1, [%rd1+8]"},
        {"ld.global.b32 %r1, [g+12];", "ld %r1, [g+12]"},
        {"ld.shared.b32 %r1, [64];", "ld %r1, [+64]"},
        {"ld.param.b64 %rd1, [ptr];", "ld %rd1, [ptr+0]"},
        {"mov.u64 %rd1, g;", "mov %rd1, &g+0"},
        {"mov.u64 %rd1, g+8;", "mov %rd1, &g+8"},
        {"mov.u64 %rd1, g[2];", "mov %rd1, &g+8"},
        {"mov.u64 %rd1, f;", "mov %rd1, f()"},
        {"mov.b64 {%r1, _}, %rd1;", "mov {%r1 _}, %rd1"},
        {"mov.b64 %rd1, {%r1, 7};", "mov %rd1, {%r1 7}"},
        {"mov.b64 %rd1, %v;", "mov %rd1, {%v %v}"},
        {"mov.b32 %v.y, %v.x;", "mov %v, %v"},
        {"vadd.s32.u32.u32 %r1, %r2.b0, %r3.h1;", "vadd %r1, %r2, %r3"},
        {"tex.2d.v4.f32.f32 {%f1,%f2,%f3,%f4}, [%rd1, {%f5, %f6}];",
         "tex {%f1 %f2 %f3 %f4}, [%rd1+0{%f5 %f6}]"},
        {"cp.async.bulk.tensor.2d.global.shared::cta.bulk_group [%rd1, {%r1, 0}], [bar];",
         "cp.async.bulk.tensor [%rd1+0{%r1 0}], [bar+0]"},
        {"tex.1d.v4.f32.f32 {%f1,_,_,_}, [g, %rd2, {%f5}];", "tex {%f1 _ _ _}, [g+0{%rd2 %f5}]"},
        {"call f, (%r1);", "call {}, f(), {%r1}"},
        {"call.uni f, (sent);", "call {}, f(), {&sent+0}"},
        {"call f;", "call {}, f(), {}"},
        {"call (%r1), f, ();", "call {%r1}, f(), {}"},
        {"t: .calltargets f; call (%r1, _), %rd1, (1, 2), t;",
         "call {%r1 _}, %rd1, {1 2}, table 0"},
        {"t: .callprototype _; call %rd1, (), t;", "call {}, %rd1, {}, table -1"},
        {"@%p1 bra l; @!%p2 bra l; l: ret; l2: bra l2;",
         "@%p1 bra to 2; @!%p2 bra to 2; ret; bra to 3"},
        {"bra end; end:", "bra to 1"},
        {"t: .branchtargets a, b, a; a: brx.idx %r1, t; b: ret;", "brx.idx %r1, table 0; ret"},
        {"frob.u32 %r1, [bar], {1, 2};", "unknown %r1, [bar+0], {1 2}"},
        {"/* a */ ret // b\n;;", "ret"},
        {"# 1 \"file\"\nret;\r\n@@DWARF .byte 1\n", "ret"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char text[1024];
        module m;
        shown out = {.used = 0};
        snprintf(text, sizeof text, "%s%s%s", BODY, cases[i][0], END);
        must_read(&m, text);
        show_function(&out, &m, function_named(&m, "k"));
        assert_string_equal(out.text, cases[i][1]);
        spad__ptx_module_free(&m);
    }
}

/* ---- scopes ----------------------------------------------------------------------------- */

static void braces_have_names_of_their_own(void **state) {
    (void)state;
    module m;
    must_read(&m, HEAD ".entry k () {\n"
                       ".reg .b32 %r<100>, x;\n"
                       "mov.b32 x, %r10;\n"
                       "top: bra skip;\n"
                       "{ .reg .b64 x; .reg .b64 %r1<4>;\n"
                       "  mov.b64 x, %r10; mov.b32 %r1, %r20;\n" /* %r10 is of %r1<4> here */
                       "  top: bra top; bra skip; }\n"
                       "{ .reg .f32 x; mov.f32 x, 0; bra top; bra skip; skip: }\n"
                       "mov.b32 x, %r10;\n"
                       "skip: bra top; }");
    const spad__ptx_function *f = function_named(&m, "k");
    static const char wanted[] =
        "mov x, %r10; bra to 10; mov x, %r10; mov %r1, %r20; bra to 4; bra to 10; "
        "mov x, 0; bra to 1; bra to 9; mov x, %r10; bra to 1";
    shown out = {.used = 0};
    show_function(&out, &m, f);
    assert_string_equal(out.text, wanted);
    const spad__ptx_operand *o = m.operands.items;
    const spad__ptx_register *r = m.registers.items;
    assert_int_equal(r[o[m.instructions.items[0].first].reg].type, SPAD__PTX_B32);
    assert_int_equal(r[o[m.instructions.items[2].first].reg].type, SPAD__PTX_B64);
    assert_int_equal(r[o[m.instructions.items[2].first + 1].reg].type, SPAD__PTX_B64);
    assert_int_equal(r[o[m.instructions.items[6].first].reg].type, SPAD__PTX_F32);
    assert_int_equal(o[m.instructions.items[9].first + 1].reg,
                     o[m.instructions.items[0].first + 1].reg);
    spad__ptx_module_free(&m);
}

static void huge_ranges_cost_nothing(void **state) {
    (void)state;
    test_host host;
    test_host_init(&host);
    module m;
    static const char text[] =
        HEAD ".entry k () { .reg .b32 %r<2000000000>; mov.b32 %r1999999999, %r0; }";
    assert_int_equal(read_bytes(&m, &host.host, text, sizeof text - 1, NULL, NULL), SPAD_OK);
    assert_int_equal(m.registers.count, 2);
    assert_true(host.live_bytes < 16384);
    spad__ptx_module_free(&m);
    spad__ptx_module_free(&m); /* of a zeroed one: nothing */
    test_host_assert_clean(&host);
}

/* ---- declarations ----------------------------------------------------------------------- */

static const spad__ptx_variable *variable_named(const module *m, const char *name) {
    for (size_t i = 0; i < m->variables.count; i++) {
        if (strcmp(m->variables.items[i].name, name) == 0) return &m->variables.items[i];
    }
    fail_msg("no variable %s", name);
    return NULL;
}

static void assert_initial(const module *m, const char *name, const void *bytes, size_t count) {
    const spad__ptx_variable *v = variable_named(m, name);
    assert_int_equal(v->bytes, count);
    assert_non_null(v->initial);
    assert_memory_equal(v->initial, bytes, count);
}

static module syntax_module(void) {
    module m;
    char *text = test_read_file("tests/ptx/syntax.ptx");
    must_read(&m, text);
    free(text);
    return m;
}

static void variables_have_their_values(void **state) {
    (void)state;
    module m = syntax_module();
    assert_int_equal(m.version[0], 8);
    assert_int_equal(m.version[1], 7);
    assert_string_equal(m.target, "sm_100a");
    assert_int_equal(m.architecture, 100);
    assert_int_equal(m.address_bytes, 8);
    assert_initial(&m, "bytes", "\1\2\3\4", 4);
    assert_int_equal(variable_named(&m, "bytes")->align, 4);
    assert_initial(&m, "rows", "\1\2\0\0\3\0\0\0\4\5\6\7", 12);
    const float vector[4] = {1, 0.5F, -1.25F, 100};
    assert_initial(&m, "vector", vector, sizeof vector);
    assert_int_equal(variable_named(&m, "vector")->align, 16);
    const double wide = 1.5;
    assert_initial(&m, "wide", &wide, sizeof wide);
    const int64_t far = -(INT64_C(1) << 40) + 6;
    assert_initial(&m, "far", &far, sizeof far);
    const int32_t values[3] = {5, 6, -8};
    assert_initial(&m, "values", values, sizeof values);
    const int16_t limits[2] = {-32768, 32767};
    assert_initial(&m, "limits", limits, sizeof limits);
    assert_int_equal(variable_named(&m, "limits")->space, SPAD__PTX_CONST);
    assert_null(variable_named(&m, "barriers")->initial);
    const spad__ptx_variable *dynamic = variable_named(&m, "dynamic");
    assert_true(dynamic->external);
    assert_int_equal(dynamic->bytes, 0);
    assert_int_equal(dynamic->align, 128);
    /* addresses */
    const spad__ptx_variable *v = variable_named(&m, "addresses");
    assert_int_equal(v->relocation_count, 2);
    const spad__ptx_relocation *r = &m.relocations.items[v->first_relocation];
    assert_ptr_equal(&m.variables.items[r[0].variable], variable_named(&m, "bytes"));
    assert_false(r[0].generic);
    assert_ptr_equal(&m.variables.items[r[1].variable], variable_named(&m, "rows"));
    assert_true(r[1].generic);
    assert_int_equal(r[1].offset, 8);
    assert_int_equal(r[1].addend, 8);
    v = variable_named(&m, "masked");
    assert_int_equal(v->relocation_count, 1);
    assert_int_equal(m.relocations.items[v->first_relocation].offset, 0);
    spad__ptx_module_free(&m);
}

static void functions_have_their_directives(void **state) {
    (void)state;
    module m = syntax_module();
    assert_int_equal(m.functions.count, 4);
    const spad__ptx_function *f = function_named(&m, "syntax");
    assert_true(f->entry);
    assert_false(f->external);
    assert_true(f->explicit_cluster);
    assert_int_equal(f->cluster[0], 2);
    assert_int_equal(f->cluster[2], 1);
    assert_int_equal(f->most_threads[0], 128);
    assert_int_equal(f->required_threads[0], 0);
    assert_int_equal(f->parameter_count, 3);
    const spad__ptx_variable *p = &m.locals.items[f->first_variable];
    assert_string_equal(p[0].name, "pointer");
    assert_true(p[0].pointer);
    assert_int_equal(p[0].pointer_space, SPAD__PTX_GLOBAL);
    assert_int_equal(p[0].align, 8);
    assert_int_equal(p[1].bytes, 128);
    assert_int_equal(p[1].align, 64);
    assert_int_equal(p[2].type, SPAD__PTX_F32);
    f = function_named(&m, "in_registers");
    assert_int_equal(f->result_count, 1);
    assert_int_equal(f->parameter_count, 3);
    assert_int_equal(m.locals.items[f->first_variable].space, SPAD__PTX_REG);
    assert_string_equal(register_name(&m, f, 0), "result");
    assert_string_equal(register_name(&m, f, 2), "b");
    f = function_named(&m, "named"); /* an alias */
    assert_false(f->external);
    assert_int_equal(f->first_instruction, function_named(&m, "later")->first_instruction);
    assert_int_equal(f->instruction_count, 3);
    spad__ptx_module_free(&m);
}

static void later_declarations_add_to_earlier_ones(void **state) {
    (void)state;
    module m;
    must_read(&m, HEAD ".extern .global .b32 a[];\n"
                       ".extern .func f (.param .b32 x) .noreturn;\n"
                       ".visible .func f (.param .b32 y) { .extern .shared .b8 s[]; ret; }\n"
                       ".func f (.param .b32 z);\n"
                       ".global .b32 a[2] = {1, 2};\n"
                       ".extern .global .b32 a[];\n"
                       ".shared .attribute(.managed) .b32 c, d[2];\n");
    assert_int_equal(m.variables.count, 4);
    assert_int_equal(variable_named(&m, "a")->bytes, 8);
    assert_false(variable_named(&m, "a")->external);
    assert_true(variable_named(&m, "s")->external);
    assert_int_equal(m.functions.count, 1);
    const spad__ptx_function *f = &m.functions.items[0];
    assert_false(f->external);
    assert_int_equal(f->instruction_count, 1);
    assert_string_equal(m.locals.items[f->first_variable].name, "y");
    spad__ptx_module_free(&m);
}

/* ---- lines ------------------------------------------------------------------------------ */

static void lines_know_their_callers(void **state) {
    (void)state;
    module m;
    must_read(&m, HEAD
              ".func f () {\n"
              "add.u32 %clock, 1, 2;\n"
              ".loc 1 10 3\n"
              "nop;\n"
              ".loc 2 20 5, function_name $name, inlined_at 1 10 3\n"
              "nop;\n"
              ".loc 2 30 7, function_name $name+4, inlined_at 2 20 5\n"
              "nop;\n"
              ".loc 9 1 1, function_name $none, inlined_at 3 3 3\n"
              "nop;\n}\n"
              ".file 1 \"a.cu\"\n.file 2 \"b\\\"h\", 1234, 99\n.section .debug_info { .b8 1 }\n"
              ".section .debug_str\n{\n$name:\n.b8 95,90\n.b8 110,0\n$other:\n.b8 0x71, 0\n}\n");
    const instruction *i = m.instructions.items;
    const spad__ptx_location *l = m.locations.items;
    assert_int_equal(i[0].location, -1);
    assert_int_equal(i[0].line, 5);
    assert_int_equal(l[i[1].location].line, 10);
    assert_int_equal(l[i[1].location].inlined_at, -1);
    assert_string_equal(m.files.items[l[i[1].location].file], "a.cu");
    assert_int_equal(l[i[2].location].inlined_at, i[1].location);
    assert_string_equal(l[i[2].location].function, "_Zn");
    assert_string_equal(m.files.items[l[i[2].location].file], "b\\\"h");
    assert_int_equal(l[i[3].location].inlined_at, i[2].location);
    assert_string_equal(l[i[3].location].function, "q");
    assert_int_equal(l[i[4].location].file, -1);
    assert_null(l[i[4].location].function);
    assert_int_equal(l[l[i[4].location].inlined_at].line, 3);
    spad__ptx_module_free(&m);
}

/* ---- files of nvcc ---------------------------------------------------------------------- */

static int count_ops(const module *m, spad__ptx_op op) {
    int count = 0;
    for (size_t i = 0; i < m->instructions.count; i++) count += m->instructions.items[i].op == op;
    return count;
}

static void files_of_nvcc_are_read(void **state) {
    (void)state;
    static const char *const names[] = {"ring", "calls", "tables", "syntax"};
    for (size_t n = 0; n < 4; n++) {
        char path[64];
        snprintf(path, sizeof path, "tests/ptx/%s.ptx", names[n]);
        char *text = test_read_file(path);
        module m;
        must_read(&m, text);
        assert_true(spad__ptx_detect(text, strlen(text)));
        for (size_t i = 0; i < m.instructions.count; i++) {
            assert_int_not_equal(m.instructions.items[i].op, SPAD__PTX_OP_UNKNOWN);
            assert_false(m.instructions.items[i].unknown_word);
        }
        if (n == 0) {
            assert_int_equal(count_ops(&m, SPAD__PTX_OP_MBARRIER_INIT), 6);
            assert_int_equal(m.functions.items[0].cluster[0], 2);
            const spad__ptx_location *l = m.locations.items;
            bool found = false;
            for (size_t i = 0; i < m.locations.count; i++) {
                found = found || (l[i].function != NULL && strstr(l[i].function, "wait") != NULL &&
                                  strcmp(m.files.items[l[i].file], "ring.cu") == 0);
            }
            assert_true(found);
        }
        if (n == 1) assert_int_equal(count_ops(&m, SPAD__PTX_OP_CALL), 3);
        spad__ptx_module_free(&m);
        free(text);
    }
}

/* ---- without memory --------------------------------------------------------------------- */

static spad_status read_text(const spad_host *host, void *context) {
    module m;
    const char *text = context;
    const spad_status status = read_bytes(&m, host, text, strlen(text), NULL, NULL);
    spad__ptx_module_free(&m);
    return status;
}

static void every_allocation_may_fail(void **state) {
    (void)state;
    static const char *const names[] = {"tests/ptx/syntax.ptx", "tests/ptx/calls.ptx",
                                        "tests/ptx/tables.ptx"};
    for (size_t i = 0; i < 3; i++) {
        char *text = test_read_file(names[i]);
        test_fail_each_allocation(read_text, text);
        free(text);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_word_is_found),
        cmocka_unit_test(names_are_split),
        cmocka_unit_test(operands_are_read),
        cmocka_unit_test(braces_have_names_of_their_own),
        cmocka_unit_test(huge_ranges_cost_nothing),
        cmocka_unit_test(variables_have_their_values),
        cmocka_unit_test(functions_have_their_directives),
        cmocka_unit_test(later_declarations_add_to_earlier_ones),
        cmocka_unit_test(lines_know_their_callers),
        cmocka_unit_test(files_of_nvcc_are_read),
        cmocka_unit_test(every_allocation_may_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
