/* SPDX-License-Identifier: Apache-2.0
 *
 * Accesses that depend on data: what may have been written is not there for certain, and what it
 * may have been written over is not there any more.
 */
#include "check_life_fixture.h"

#define CORE "kernel k on trn2\n"
#define X "tensor x : sbuf u8 (128, 8)\n"
#define BYTES "bytes [0, 8) of lanes [0, 128) of its slot"

typedef struct may_case {
    const char *text;
    spad_verdict verdict;
    const char *findings;
} may_case;

static void expect_findings(const may_case *c) {
    spad_kernel *kernel = test_parse(c->text);
    spad_check *check;
    spad_error error;
    char found[4096];
    assert_ok(spad_check_create(&check, kernel, &(spad_check_options){.no_advice = true}, &error),
              &error);
    describe(check, found, sizeof found);
    assert_string_equal(found, c->findings);
    assert_int_equal(spad_check_get_verdict(check), c->verdict);
    spad_check_destroy(check);
    spad_kernel_destroy(kernel);
}

/* The device may have written all of it: a warning, and no verdict. */
static void reads_of_what_may_be_written(void **state) {
    (void)state;
    static const may_case cases[] = {
        {CORE X "vector w may writes x\nvector r reads x\n", SPAD_VERDICT_UNKNOWN,
         "4:16 SPAD-UNINITIALISED-READ x1: r reads 'x', but it is not certain that w, which may "
         "write 'x', has written " BYTES "; write all of it first, or declare it as input\n"
         "  3:1 w may write 'x' here\n"},
        {CORE X "vector w may writes x\nvector r may reads x\n", SPAD_VERDICT_UNKNOWN,
         "4:20 SPAD-UNINITIALISED-READ x1: r may read 'x', but it is not certain that w, which may "
         "write 'x', has written " BYTES "; write all of it first, or declare it as input\n"
         "  3:1 w may write 'x' here\n"},
        /* half of it is there */
        {CORE X "vector z writes x(.., 0..4)\nvector w may writes x\nvector r reads x\n",
         SPAD_VERDICT_UNKNOWN,
         "5:16 SPAD-UNINITIALISED-READ x1: r reads 'x', but it is not certain that w, which may "
         "write 'x', has written bytes [4, 8) of lanes [0, 128) of its slot; write all of it "
         "first, or "
         "declare it as input\n  4:1 w may write 'x' here\n"},
        /* another name of the same bytes, which is the one that is written */
        {CORE X "tensor v : sbuf u8 (128, 8) alias of x\nvector w may writes x\nvector r reads v\n",
         SPAD_VERDICT_UNKNOWN,
         "5:16 SPAD-UNINITIALISED-READ x1: r reads 'v', but it is not certain that w, which may "
         "write 'x', has written " BYTES "; write all of it first, or declare it as input\n"
         "  4:1 w may write 'x' here\n"},
        /* all of it was there before */
        {CORE X "vector z writes x\nvector w may writes x\nvector r reads x\n",
         SPAD_VERDICT_PROVED_SHAPE, ""},
        {CORE "tensor x : sbuf u8 (128, 8) persistent\nvector w may writes x\nvector r reads x\n",
         SPAD_VERDICT_PROVED_SHAPE, ""},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) expect_findings(&cases[i]);
}

/* What was written before `free` is no value of the next allocation, certain or not. */
static void new_tiles_have_no_old_values(void **state) {
    (void)state;
    static const may_case cases[] = {
        {CORE X "alloc x\nvector w may writes x\nfree x\nalloc x\nvector r reads x\nfree x\n",
         SPAD_VERDICT_WRONG,
         "7:16 SPAD-STALE-READ x1: r reads 'x', but " BYTES
         " may still hold an earlier life of it, "
         "written by w; `alloc` makes a new tile: write it first\n  4:1 w may write 'x' here\n"},
        /* what may be read need not be: no verdict */
        {CORE "for i in 0..3 {\n" X
              "if i == 0 { vector w may writes x }\nvector r may reads x\n}\n",
         SPAD_VERDICT_UNKNOWN,
         "5:20 SPAD-STALE-READ x2: r may read 'x' (i = 1), but " BYTES " may still hold an earlier "
         "life of it, written by w (i = 0); a declaration in a loop makes a new tensor each time: "
         "write it first, or declare it outside\n  4:13 w may write 'x' here (i = 0)\n"
         "5:20 SPAD-UNINITIALISED-READ x1: r may read 'x' (i = 0), but it is not certain that w, "
         "which may write 'x', has written " BYTES "; write all of it first, or declare it as "
         "input\n  4:13 w may write 'x' here\n"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) expect_findings(&cases[i]);
}

#define ONE_PLACE "tensor x : sbuf u8 (128, 8) at 0 output\ntensor y : sbuf u8 (128, 8) at 0\n"
#define OVER_Y                                                                                 \
    "6:16 SPAD-LIFETIME-CONFLICT x1: r reads 'y', but bytes [0, 8) of lanes [0, 128) of sbuf " \
    "may hold 'x', written by w; place them apart, or read it earlier\n"                       \
    "  5:1 w may write 'x' here\n"

/* What may be written over may still be there, and what may be read may be elsewhere: no verdict.
 */
static void what_may_be_overwritten(void **state) {
    (void)state;
    static const may_case cases[] = {
        {CORE ONE_PLACE "vector z writes y\nvector w may writes x\nvector r reads y\n",
         SPAD_VERDICT_UNKNOWN, OVER_Y},
        /* the same tensor in a ring: the write of the older tile may have been elsewhere */
        {CORE "tensor x : sbuf u8 [2] (128, 8) ring 1\nvector z writes x[1]\n"
              "vector w may writes x[0]\nvector r reads x[1]\n",
         SPAD_VERDICT_UNKNOWN,
         "5:16 SPAD-STALE-READ x1: r reads 'x[1]', but bytes [0, 8) of lanes [0, 128) of its slot "
         "may still hold 'x[0]', written by w; write it before it is read\n"
         "  4:1 w may write 'x[0]' here\n"},
        /* a certain error is one, also beside a possible one of the same two statements */
        {CORE ONE_PLACE "vector z writes y\nvector w writes x(.., 4..8) may writes x(.., 0..4)\n"
                        "vector r reads y\n",
         SPAD_VERDICT_WRONG,
         "6:16 SPAD-LIFETIME-CONFLICT x1: r reads 'y', but bytes [4, 8) of lanes [0, 128) of sbuf "
         "hold 'x', written by w; place them apart, or read it earlier\n"
         "  5:1 w writes 'x' here\n"
         "6:16 SPAD-LIFETIME-CONFLICT x1: r reads 'y', but bytes [0, 4) of lanes [0, 128) of sbuf "
         "may hold 'x', written by w; place them apart, or read it earlier\n"
         "  5:1 w may write 'x' here\n"},
        /* whichever bytes are read, they hold nothing, or what is not the tile: an error */
        {CORE X "vector r may reads x\n", SPAD_VERDICT_WRONG,
         "3:20 SPAD-UNINITIALISED-READ x1: r may read 'x', but nothing has written " BYTES
         "; write it first, or declare it as input\n  2:8 declared here\n"},
        {CORE X "vector w writes x(.., 0..4)\nvector r may reads x\n", SPAD_VERDICT_UNKNOWN,
         "4:20 SPAD-UNINITIALISED-READ x1: r may read 'x', but nothing has written bytes [4, 8) of "
         "lanes [0, 128) of its slot; write it first, or declare it as input\n"
         "  2:8 declared here\n"},
        {CORE X "alloc x\nvector w writes x\nfree x\nvector r may reads x\n", SPAD_VERDICT_WRONG,
         "6:20 SPAD-USE-AFTER-FREE x1: r may read 'x', which is not allocated now; free it later, "
         "or allocate it first\n  2:8 'x' is declared here\n"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) expect_findings(&cases[i]);
}

/* ---- agents ------------------------------------------------------------------------ */

#define SHARED "kernel k on sm_90\ntensor x : global u8 (1, 64) output\n"
#define TWO(first, second) SHARED "agent a {\n" first "\n}\nagent b {\n" second "\n}\n"

/* An unordered access that may touch other bytes than the other agent's: no verdict. Certain races
 * are found whatever comes between. */
static void races_of_what_may_be_touched(void **state) {
    (void)state;
    static const struct {
        const char *text;
        spad_verdict verdict;
        size_t races;
    } cases[] = {
        {TWO("simt w may writes x", "simt v may writes x"), SPAD_VERDICT_UNKNOWN, 1},
        {TWO("simt w may writes x", "simt v writes x(0, 0..8)"), SPAD_VERDICT_UNKNOWN, 1},
        {TWO("simt w writes x", "simt v may writes x(0, 0..8)"), SPAD_VERDICT_UNKNOWN, 1},
        {TWO("simt w writes x", "simt v may reads x"), SPAD_VERDICT_UNKNOWN, 1},
        {TWO("simt w writes x(0, 0..32)", "simt v may writes x(0, 32..64)"),
         SPAD_VERDICT_PROVED_SHAPE, 0},
        {TWO("simt w writes x", "simt v writes x"), SPAD_VERDICT_WRONG, 1},
        /* the possible write is the last one of its agent, and must not hide the certain one */
        {TWO("simt w writes x\nsimt m may writes x", "simt v writes x"), SPAD_VERDICT_WRONG, 2},
        {TWO("simt w writes x", "simt m may writes x\nsimt v writes x"), SPAD_VERDICT_WRONG, 2},
        /* one statement with a certain race and a possible one: one finding, the certain one */
        {TWO("simt w writes x(0, 0..8) may writes x(0, 8..64)", "simt v writes x"),
         SPAD_VERDICT_WRONG, 1},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        spad_kernel *kernel = test_parse(cases[i].text);
        spad_check *check;
        spad_error error;
        assert_ok(
            spad_check_create(&check, kernel, &(spad_check_options){.no_advice = true}, &error),
            &error);
        size_t races = 0;
        for (size_t f = 0; f < spad_check_finding_count(check); f++) {
            races += spad_check_get_finding(check, f)->code == SPAD_FINDING_RACE;
        }
        if (spad_check_get_verdict(check) != cases[i].verdict || races != cases[i].races) {
            fail_msg("%s: verdict %d, %zu races", cases[i].text, (int)spad_check_get_verdict(check),
                     races);
        }
        const bool open = cases[i].verdict == SPAD_VERDICT_UNKNOWN;
        const char *reason = spad_check_get_reason(check);
        if (open) assert_non_null(strstr(reason, "only the device knows"));
        spad_check_destroy(check);
        test_check_without_memory(kernel);
        spad_kernel_destroy(kernel);
    }
}

/* An output that may be written counts as written, under each of its names. */
static void outputs_that_may_be_written(void **state) {
    (void)state;
    static const char *const texts[] = {
        CORE "tensor o : sbuf u8 (128, 8) output\nvector w may writes o\n",
        CORE X "tensor o : sbuf u8 (128, 8) alias of x output\nvector w may writes x\n",
        CORE X "tensor o : sbuf u8 (64, 8) alias of x output\nvector w may writes x\n",
        CORE "tensor x : sbuf u8 [2] (128, 8)\ntensor o : sbuf u8 [2] (128, 8) alias of x output\n"
             "vector w may writes x[0]\nvector w may writes x[1]\n"};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        const may_case c = {texts[i], SPAD_VERDICT_PROVED_SHAPE, ""};
        expect_findings(&c);
    }
}

static void no_memory_for_what_may_be_written(void **state) {
    (void)state;
    static const char *const texts[] = {
        CORE X "vector z writes x(.., 0..4)\nvector w may writes x\nvector r reads x\n",
        CORE "tensor x : sbuf u8 [2] (128, 8)\ntensor o : sbuf u8 [2] (128, 8) alias of x output\n"
             "vector w may writes x[0]\nvector w may writes x[1]\n"};
    for (size_t i = 0; i < 2; i++) {
        spad_kernel *kernel = test_parse(texts[i]);
        test_check_without_memory(kernel);
        spad_kernel_destroy(kernel);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_of_what_may_be_written),
        cmocka_unit_test(new_tiles_have_no_old_values),
        cmocka_unit_test(what_may_be_overwritten),
        cmocka_unit_test(races_of_what_may_be_touched),
        cmocka_unit_test(outputs_that_may_be_written),
        cmocka_unit_test(no_memory_for_what_may_be_written),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
