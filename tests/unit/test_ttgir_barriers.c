/* SPDX-License-Identifier: Apache-2.0
 *
 * Barriers that a conversion to LLVM has, put into the text of TTGIR: around operations with
 * regions, of partitions, and where the conversion does not say where they are.
 */
#include <stdio.h>
#include <string.h>

#include "spad/spad.h"
#include "support/support.h"

#define MODULE(warps)                                                                         \
    "#smem = #ttg.shared_memory\nmodule attributes {\"ttg.num-warps\" = " warps " : i32} {\n" \
    "  tt.func public @f(%x: tensor<4xf32>, %b: !ttg.memdesc<1xi64>) {\n"
#define REDUCE                                           \
    "    %3 = \"tt.reduce\"(%x) <{axis = 0 : i32}> ({\n" \
    "      tt.reduce.return %x : f32\n"                  \
    "    }) {allocation.offset = 16 : i32} : (tensor<4xf32>) -> f32\n"
#define ARRIVE "    ttng.arrive_barrier %b, 1 {a = 2 : i32} : !ttg.memdesc<1xi64>\n"
#define MARKED "    ttng.arrive_barrier %b, 1 {a = 2 : i32, spad.alone} : !ttg.memdesc<1xi64>\n"
#define PRODUCT "    ttng.tc_gen5_commit %b : !ttg.memdesc<1xi64>\n"
#define MARKED_PRODUCT "    ttng.tc_gen5_commit %b {spad.alone} : !ttg.memdesc<1xi64>\n"
#define BARRIER "    ttg.barrier local\n"
#define SPLIT(warps)                                                            \
    "    ttg.warp_specialize(%b)\n    default {\n      ttg.warp_yield\n    }\n" \
    "    partition0(%m: !ttg.memdesc<1xi64>) num_warps(" warps ") {\n"          \
    "      ttng.arrive_barrier %m, 1 : !ttg.memdesc<1xi64>\n"                   \
    "      ttg.warp_return\n    } : (!ttg.memdesc<1xi64>) -> ()\n"
#define CLOSE "    tt.return\n  }\n}\n"

enum { FIRST = 4 }; /* the line of the first operation */

typedef struct sample {
    const char *text;
    spad_ttgir_meeting meetings[3];
    const char *written; /* NULL: a fault */
    const char *message;
} sample;

static const sample samples[] = {
    {MODULE("4") ARRIVE CLOSE,
     {{FIRST, true, false, false}},
     MODULE("4") BARRIER ARRIVE CLOSE,
     NULL},
    {MODULE("4") ARRIVE CLOSE, {{FIRST, false, true, false}}, MODULE("4") ARRIVE CLOSE, NULL},
    {MODULE("4") ARRIVE PRODUCT CLOSE, {{0}}, MODULE("4") MARKED MARKED_PRODUCT CLOSE, NULL},
    {MODULE("1") ARRIVE REDUCE CLOSE, {{0}}, MODULE("1") ARRIVE REDUCE CLOSE, NULL},
    /* an operation with a region is its lines together; two barriers at one place are one */
    {MODULE("4") REDUCE BARRIER CLOSE,
     {{FIRST, true, true, true}, {FIRST + 3, true, false, false}},
     MODULE("4") BARRIER REDUCE BARRIER BARRIER CLOSE,
     NULL},
    {MODULE("4") REDUCE PRODUCT CLOSE,
     {{FIRST, false, true, true}, {FIRST + 3, true, false, false}},
     MODULE("4") REDUCE BARRIER PRODUCT CLOSE,
     NULL},
    {MODULE("4") REDUCE CLOSE,
     {{FIRST, true, false, false}},
     NULL,
     "\"tt.reduce\" in line 4 has no barrier for its scratch memory"},
    {MODULE("4") SPLIT("1") CLOSE, {{0}}, MODULE("4") SPLIT("1") CLOSE, NULL},
    {MODULE("1") SPLIT("4") CLOSE,
     {{0}},
     NULL,
     "line 9 of a kernel with partitions lets one thread arrive for several warps"},
    {MODULE("4") CLOSE, {{8, true, false, false}}, NULL, "line 8 of a text of 7"},
    {MODULE("4") "    %0 = %1\n" CLOSE, {{0}}, NULL, ""},
};

typedef struct written {
    char text[4096];
    size_t length;
} written;

static int append(void *context, const char *bytes, size_t count) {
    written *w = context;
    if (w->length + count >= sizeof w->text) return 1;
    memcpy(w->text + w->length, bytes, count);
    w->length += count;
    w->text[w->length] = '\0';
    return 0;
}

static spad_status write_sample(const sample *s, written *out, const spad_host *host,
                                spad_error *error) {
    const spad_sink sink = {.write = append, .context = out};
    size_t count = 0;
    while (count < 3 && s->meetings[count].line > 0) count++;
    *out = (written){.length = 0};
    return spad_ttgir_write_barriers(s->text, strlen(s->text), s->meetings, count, &sink, host,
                                     error);
}

static void barriers_are_where_the_warps_meet(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof samples / sizeof *samples; i++) {
        const sample *s = &samples[i];
        written out;
        spad_error error;
        const spad_status status = write_sample(s, &out, NULL, &error);
        if ((status == SPAD_OK) != (s->written != NULL)) print_error("sample %zu\n", i);
        if (s->written != NULL) {
            assert_ok(status, &error);
            assert_string_equal(out.text, s->written);
        } else {
            assert_int_not_equal(status, SPAD_OK);
            if (s->message[0] != '\0') assert_string_equal(error.message, s->message);
            assert_int_equal(out.length, 0);
        }
    }
}

static spad_status scenario(const spad_host *host, void *context) {
    written out;
    spad_error error;
    return write_sample(context, &out, host, &error);
}

static void memory(void **state) {
    (void)state;
    sample copy = samples[4];
    test_fail_each_allocation(scenario, &copy);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(barriers_are_where_the_warps_meet),
        cmocka_unit_test(memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
