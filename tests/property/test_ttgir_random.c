/* SPDX-License-Identifier: Apache-2.0
 *
 * Random TTGIR. Functions with loops in loops that carry stages, phases, sums and values of the
 * round before: where the reader finds expressions for them, the kernel has the events of the
 * function run with numbers. And recorded texts with lines and words left out, doubled and
 * exchanged: they are read, or refused with a message.
 *
 *   test_ttgir_random [RUNS [SEED]]
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/random.h"
#include "frontend/ttgir/ttgir.h"
#include "spad/spad.h"
#include "support/files.h"
#include "support/support.h"

static long runs = 1500;
static uint64_t seed = 1;

/* ---- functions -------------------------------------------------------------------------- */

typedef struct maker {
    spad__random random;
    test_text text;
    int values; /* %v0 ... that can be named here */
    int names;  /* used so far */
    char list[64][16];
} maker;

static int pick(maker *m, int below) {
    return (int)(spad__random_next(&m->random) % (uint64_t)below);
}

static const char *any(maker *m) {
    return m->list[pick(m, m->values)];
}

static void keep(maker *m, const char *name) {
    if (m->values == 64) return;
    snprintf(m->list[m->values++], sizeof m->list[0], "%s", name);
}

#define X "!ttg.memdesc<3x8x8xf16, #shared, #smem, mutable>"
#define Y "!ttg.memdesc<8x8xf16, #shared, #smem, mutable>"

/* A number from what there is; its name in `name`. */
static void put_number(maker *m, char *name) {
    static const char *const ops[] = {"addi",  "subi",  "muli",       "minsi", "maxsi",     "divsi",
                                      "remsi", "andi",  "xori",       "minui", "ceildivsi", "shrsi",
                                      "divui", "remui", "floordivsi", "shrui"};
    const int op = pick(m, 16);
    snprintf(name, 16, "%%v%d", m->names++);
    if (pick(m, 6) == 0) {
        const int number = m->names++;
        static const char *const relations[] = {"eq",  "ne",  "slt", "sle", "sgt",
                                                "sge", "ult", "ule", "ugt", "uge"};
        test_text_put(&m->text, "%%b%d = arith.cmpi %s, %s, %s : i32\n", number,
                      relations[pick(m, 10)], any(m), any(m));
        if (pick(m, 4) == 0) {
            test_text_put(&m->text, "%s = arith.%s %%b%d : i1 to i32\n", name,
                          pick(m, 2) ? "extsi" : "extui", number);
        } else {
            test_text_put(&m->text, "%s = arith.select %%b%d, %s, %s : i32\n", name, number, any(m),
                          any(m));
        }
        return;
    }
    if (pick(m, 20) == 0) { /* the low bit, or a narrow number */
        const int number = m->names++;
        const char *type = pick(m, 2) ? "i1" : "i8";
        test_text_put(&m->text, "%%t%d = arith.trunci %s : i32 to %s\n", number, any(m), type);
        test_text_put(&m->text, "%s = arith.%s %%t%d : %s to i32\n", name,
                      pick(m, 2) ? "extsi" : "extui", number, type);
        return;
    }
    /* divisors and masks are constants */
    const bool constant = op >= 5 && op != 9;
    char other[16];
    snprintf(other, sizeof other, "%%c%d", op == 7 || op == 8 ? 1 : 2 + pick(m, 2));
    test_text_put(&m->text, "%s = arith.%s %s, %s : i32\n", name, ops[op], any(m),
                  constant ? other : any(m));
}

static void put_store(maker *m) {
    const int number = m->names++;
    test_text_put(&m->text, "%%r%d = arith.remsi %s, %%c3 : i32\n", number, any(m));
    test_text_put(&m->text, "%%y%d = ttg.memdesc_index %%x[%%r%d] : " X " -> " Y "\n", number,
                  number);
    test_text_put(&m->text, "ttg.local_store %%p, %%y%d : tensor<8x8xf16> -> " Y "\n", number);
}

/* What a loop carries in `name` after a round. */
static void put_next(maker *m, const char *name, const char *stage, char *next) {
    const int number = m->names++;
    const int size = 2 + pick(m, 3);
    snprintf(next, 16, "%%n%d", number);
    switch (pick(m, 7)) {
    case 0:
    case 1: /* the stage of a ring */
        test_text_put(&m->text, "%%a%d = arith.addi %s, %%c1 : i32\n", number, name);
        if (pick(m, 2) == 0) {
            test_text_put(&m->text, "%%e%d = arith.cmpi %s, %%a%d, %%c%d : i32\n", number,
                          pick(m, 2) ? "sge" : "eq", number, size);
            test_text_put(&m->text, "%s = arith.select %%e%d, %%c0, %%a%d : i32\n", next, number,
                          number);
        } else {
            test_text_put(&m->text, "%%e%d = arith.cmpi slt, %%a%d, %%c%d : i32\n", number, number,
                          size);
            test_text_put(&m->text, "%s = arith.select %%e%d, %%a%d, %%c0 : i32\n", next, number,
                          number);
        }
        break;
    case 2: /* the phase of a ring, or of something else */
        test_text_put(&m->text, "%%a%d = arith.addi %s, %%c1 : i32\n", number, stage);
        test_text_put(&m->text, "%%e%d = arith.cmpi sge, %%a%d, %%c%d : i32\n", number, number,
                      size);
        test_text_put(&m->text, "%%f%d = arith.xori %s, %%c1 : i32\n", number, name);
        test_text_put(&m->text, "%s = arith.select %%e%d, %%f%d, %s : i32\n", next, number, number,
                      name);
        break;
    case 3: test_text_put(&m->text, "%s = arith.xori %s, %%c1 : i32\n", next, name); break;
    case 4:
        test_text_put(&m->text, "%s = arith.addi %s, %%c%d : i32\n", next, name, pick(m, 4));
        break;
    case 5: snprintf(next, 16, "%s", any(m)); break;
    default: put_number(m, next); break;
    }
}

static void put_body(maker *m, int depth);

static void put_loop(maker *m, int depth) {
    const int number = m->names++;
    const int count = pick(m, 4);
    const int outside = m->values;
    char names[4][16], next[4][16];
    const char *stop = pick(m, 3) == 0 ? any(m) : pick(m, 3) == 0 ? "%c3" : "%K";
    if (count > 0) test_text_put(&m->text, "%%l%d:%d = ", number, count);
    test_text_put(&m->text, "scf.for %%i%d = %s to %s step %s", number,
                  pick(m, 4) == 0 ? "%c1" : "%c0", stop, pick(m, 4) == 0 ? "%c2" : "%c1");
    if (count > 0) {
        test_text_put(&m->text, " iter_args(");
        for (int k = 0; k < count; k++) {
            snprintf(names[k], sizeof names[k], "%%k%d_%d", number, k);
            test_text_put(&m->text, "%s%s = %s", k > 0 ? ", " : "", names[k],
                          pick(m, 4) == 0 ? any(m) : m->list[pick(m, 3)]);
        }
        test_text_put(&m->text, ") -> (i32)");
    }
    test_text_put(&m->text, " : i32 {\n");
    char variable[16];
    snprintf(variable, sizeof variable, "%%i%d", number);
    keep(m, variable);
    for (int k = 0; k < count; k++) keep(m, names[k]);
    put_body(m, depth + 1);
    for (int k = 0; k < count; k++) put_next(m, names[k], names[0], next[k]);
    if (count > 0) test_text_put(&m->text, "scf.yield ");
    for (int k = 0; k < count; k++) test_text_put(&m->text, "%s%s", k > 0 ? ", " : "", next[k]);
    test_text_put(&m->text, "\n}\n");
    m->values = outside;
    for (int k = 0; k < count; k++) {
        char result[16];
        snprintf(result, sizeof result, "%%l%d#%d", number, k);
        if (count > 0) keep(m, result);
    }
}

static void put_body(maker *m, int depth) {
    const int count = 1 + pick(m, 4);
    for (int i = 0; i < count; i++) {
        char name[16];
        const int what = pick(m, 6);
        const int outside = m->values;
        if (what == 0 && depth < 3) {
            put_loop(m, depth);
        } else if (what == 1) {
            const int number = m->names++;
            test_text_put(&m->text, "%%b%d = arith.cmpi slt, %s, %s : i32\nscf.if %%b%d {\n",
                          number, any(m), any(m), number);
            put_store(m);
            if (pick(m, 2) == 0) {
                test_text_put(&m->text, "} else {\n");
                put_store(m);
            }
            test_text_put(&m->text, "}\n");
            m->values = outside;
        } else if (what < 4) {
            put_number(m, name);
            keep(m, name);
        } else {
            put_store(m);
        }
    }
}

static void make_function(maker *m) {
    m->values = m->names = 0;
    test_text_clear(&m->text);
    test_text_put(
        &m->text,
        "#shared = #ttg.swizzled_shared<{vec = 8, perPhase = 1, maxPhase = 8, order = [1, 0]}>\n"
        "#smem = #ttg.shared_memory\n"
        "module attributes {ttg.target = \"cuda:80\"} {\n"
        "tt.func public @f(%%p: !tt.ptr<f16>, %%K: i32) {\n");
    for (int i = 0; i < 5; i++) {
        char name[16];
        snprintf(name, sizeof name, "%%c%d", i);
        test_text_put(&m->text, "%s = arith.constant %d : i32\n", name, i);
        keep(m, name);
    }
    keep(m, "%K");
    test_text_put(&m->text, "%%x = ttg.local_alloc : () -> " X "\n");
    put_loop(m, 0);
    put_store(m);
    test_text_put(&m->text, "tt.return\n}\n}\n");
}

/* ---- both ways --------------------------------------------------------------------------- */

static spad_kernel *read_one(const char *text, int64_t size, bool numbers, spad_ttgir_info *info) {
    const spad_define define = {"K", size};
    const spad_kernel_options options = {.defines = &define, .define_count = 1};
    const spad__source source = {"k.ttgir", text, strlen(text)};
    spad_diagnostics *faults;
    spad_error error;
    spad_kernel *kernel = NULL;
    assert_ok(spad_diagnostics_create(&faults, NULL, &error), &error);
    *info = (spad_ttgir_info){0};
    const spad_status status =
        spad__ttgir_read(&kernel, info, &source, &options, numbers, faults, &error);
    assert_int_equal(status == SPAD_OK, kernel != NULL);
    if (status != SPAD_OK) assert_true(error.message[0] != '\0');
    spad_diagnostics_destroy(faults);
    return kernel;
}

/* The tile of the next store; -1: there is none; -2: the walk fails. */
static int64_t next_tile(spad_walk *walk) {
    const spad_walk_event *event;
    do {
        if (spad_walk_next(&event, walk, NULL) != SPAD_OK) return -2;
    } while (event->kind != SPAD_WALK_OPERATION && event->kind != SPAD_WALK_END);
    return event->kind == SPAD_WALK_END ? -1 : event->accesses[0].tile;
}

static void compare(const char *text, const spad_kernel *a, const spad_kernel *b) {
    const spad_walk_options options = {.agent = SPAD_WALK_ALL};
    spad_walk *one, *other;
    spad_error error;
    assert_ok(spad_walk_create(&one, a, &options, &error), &error);
    assert_ok(spad_walk_create(&other, b, &options, &error), &error);
    for (;;) {
        const int64_t x = next_tile(one);
        const int64_t y = next_tile(other);
        if (x != y) fputs(text, stderr);
        assert_int_equal(x, y);
        if (x < 0) break;
    }
    spad_walk_destroy(one);
    spad_walk_destroy(other);
}

static void expressions_are_what_is_run(void **state) {
    (void)state;
    maker m = {0};
    long loops = 0, both = 0;
    m.random.state = seed;
    test_text_init(&m.text);
    for (long i = 0; i < runs; i++) {
        make_function(&m);
        for (int64_t size = 0; size < 8; size += 1 + pick(&m, 4)) {
            spad_ttgir_info info, other;
            spad_kernel *a = read_one(m.text.bytes, size, false, &info);
            spad_kernel *b = read_one(m.text.bytes, size, true, &other);
            if (a != NULL && b != NULL) {
                compare(m.text.bytes, a, b);
                both++;
                if (!info.unrolled) loops++;
            }
            spad_kernel_destroy(a);
            spad_kernel_destroy(b);
        }
    }
    printf("%ld functions, %ld read both ways, %ld with loops\n", runs, both, loops);
    assert_true(both > runs / 2 && loops > runs / 4);
    test_text_free(&m.text);
}

/* ---- spoiled texts ------------------------------------------------------------------------ */

static void put_part(test_text *out, const char *from, const char *to) {
    if (to > from) {
        assert_int_equal(out->sink.write(out->sink.context, from, (size_t)(to - from)), 0);
    }
}

static void spoil(maker *m, const char *text, size_t length) {
    const size_t from = spad__random_next(&m->random) % length;
    size_t to = from + spad__random_next(&m->random) % 60;
    const size_t other = spad__random_next(&m->random) % length;
    static const char *const words[] = {"(",
                                        ")",
                                        "{",
                                        "}\n",
                                        "%",
                                        "#loc",
                                        "\"",
                                        "->",
                                        "[",
                                        ":",
                                        " = ",
                                        "\n",
                                        "^bb",
                                        "loc(",
                                        "callsite(",
                                        "fused[",
                                        "-1",
                                        "99999999999999999999",
                                        "!ttg.memdesc<",
                                        "0x",
                                        "\\",
                                        "// ",
                                        "{-#",
                                        "1.0e+3",
                                        "a.b {\n"};
    if (to > length) to = length;
    test_text_clear(&m->text);
    put_part(&m->text, text, text + from);
    switch (pick(m, 5)) {
    case 0: break; /* left out */
    case 1:        /* twice */
        put_part(&m->text, text + from, text + to);
        put_part(&m->text, text + from, text + to);
        break;
    case 2: /* something else */
        put_part(&m->text, text + other, text + (other + 40 < length ? other + 40 : length));
        break;
    case 3: return; /* the end */
    default: {
        const char *word = words[pick(m, (int)(sizeof words / sizeof *words))];
        put_part(&m->text, word, word + strlen(word));
        put_part(&m->text, text + from, text + to);
    }
    }
    put_part(&m->text, text + to, text + length);
}

static void spoiled_texts_are_refused_or_read(void **state) {
    (void)state;
    static const char *const files[] = {"softmax_sm80_s3_v39", "matmul_tma_sm90_s3_v39",
                                        "matmul_tma_ws_sm100_s3_v39", "attention_ws_sm100_s2_v39",
                                        "persistent_ws_sm100_s2_v39"};
    maker m = {0};
    m.random.state = seed + 1;
    test_text_init(&m.text);
    for (size_t f = 0; f < sizeof files / sizeof *files; f++) {
        char path[128];
        snprintf(path, sizeof path, "tests/ttgir/%s.ttgir", files[f]);
        char *text = test_read_file(path);
        const size_t length = strlen(text);
        for (long i = 0; i < runs / 15; i++) {
            spad_ttgir_info info;
            spoil(&m, text, length);
            spad_kernel_destroy(read_one(m.text.bytes, 192, false, &info));
        }
        free(text);
    }
    test_text_free(&m.text);
}

int main(int count, char **words) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(expressions_are_what_is_run),
                                       cmocka_unit_test(spoiled_texts_are_refused_or_read)};
    runs = count > 1 ? atol(words[1]) : test_effort(6000);
    if (count > 2) seed = strtoull(words[2], NULL, 10);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
