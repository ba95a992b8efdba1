/* SPDX-License-Identifier: Apache-2.0
 *
 * What a chip can count: at the limit a kernel is right, one above it there is the finding, and a
 * target that does not know the limit gives none.
 */
#include <stdio.h>
#include <string.h>

#include "kernel/kernel_builder.h"
#include "spad/spad.h"
#include "support/kernels.h"
#include "support/support.h"

static int64_t count_code(const char *text, const spad_kernel_options *options,
                          spad_finding_code code) {
    spad_kernel *kernel = test_parse_with(text, options);
    spad_check *check;
    spad_error error;
    int64_t count = 0;
    assert_ok(spad_check_create(&check, kernel, NULL, &error), &error);
    for (size_t i = 0; i < spad_check_finding_count(check); i++) {
        count += spad_check_get_finding(check, i)->code == code;
    }
    spad_check_destroy(check);
    spad_kernel_destroy(kernel);
    return count;
}

#define SM "kernel k on sm_90\n"
#define CORES "kernel k on 910b\n"
#define TMA "unit tma on copy free proxy\n"
#define IN "tensor in : global u8 (4096) input\n"

/* The text with one of two amounts for '@'. */
static const struct {
    const char *text;
    spad_finding_code code;
    const char *fine;
    const char *wrong;
} cases[] = {
    {SM "mbarrier m count @\ninit m\narrive m by @\nwait m parity 0\n", SPAD_FINDING_MBARRIER_LIMIT,
     "1048575", "1048576"},
    {SM "mbarrier m count 1\ninit m count @\narrive m by @\nwait m parity 0\n",
     SPAD_FINDING_MBARRIER_LIMIT, "1048575", "1048576"},
    {SM TMA IN "tensor x : shared u8 (4096)\nmbarrier m count 1\ninit m\narrive m expect @\n"
               "tma load reads in writes x delivers m by @\nwait m parity 0\n",
     SPAD_FINDING_MBARRIER_LIMIT, "1048575", "1048576"},
    /* two expectations of one phase, before the first delivery */
    {SM TMA IN "tensor x : shared u8 (4096)\nmbarrier m count 1\ninit m\nexpect m by @\n"
               "arrive m expect @\ntma load reads in writes x delivers m by 2 * @\n"
               "wait m parity 0\n",
     SPAD_FINDING_MBARRIER_LIMIT, "524287", "524288"},
    {SM "barrier b[@] count 1\nsync b[0]\n", SPAD_FINDING_BARRIER_LIMIT, "16", "17"},
    {SM "barrier a[8] count 1\nbarrier b[@] count 1\nsync b[0]\n", SPAD_FINDING_BARRIER_LIMIT, "8",
     "9"},
    {SM "barrier b count @\nsync b by @\n", SPAD_FINDING_BARRIER_LIMIT, "64", "65"},
    {SM "barrier b count @\nsync b by @\n", SPAD_FINDING_BARRIER_LIMIT, "1024", "1056"},
    {SM "agent a of 512 threads { }\nagent b of @ threads { }\n", SPAD_FINDING_THREAD_LIMIT, "512",
     "513"},
    {SM "agent a of 256 threads registers 240 { }\nagent b of 128 threads registers @ { }\n",
     SPAD_FINDING_REGISTER_LIMIT, "32", "40"},
    {SM "agent a of 32 threads registers @ { }\n", SPAD_FINDING_REGISTER_LIMIT, "256", "264"},
    {SM "agent a of 32 threads registers @ { }\n", SPAD_FINDING_REGISTER_LIMIT, "24", "16"},
    {SM "agent a of 32 threads registers @ { }\n", SPAD_FINDING_REGISTER_LIMIT, "40", "44"},
    {SM "tensor r : registers u32 (@)\nagent a of 32 threads { simt w writes r }\n",
     SPAD_FINDING_REGISTER_LIMIT, "32 * 255", "32 * 255 + 1"},
    {SM "tensor r : registers u32 (@)\nagent a of 32 threads registers 40 { simt w writes r }\n",
     SPAD_FINDING_REGISTER_LIMIT, "32 * 40", "32 * 40 + 1"},
    {"kernel k on 910b\nunit mte2 fifo\nunit v on vector fifo\ncounter f[9]\n"
     "for i in 0..@ { signal f[i] on mte2; take f[i] on v }\n",
     SPAD_FINDING_FLAG_LIMIT, "8", "9"},
    {SM "tensor x : shared[@] u8 (8)\nsimt w writes x\n", SPAD_FINDING_CLUSTER_LIMIT, "7", "8"},
    {SM TMA IN "tensor x : shared u8 (64) at @\ntma load reads in writes x\n",
     SPAD_FINDING_MISALIGNED, "48", "40"},
    {SM TMA IN "tensor x : shared u8 (64)\ntma load reads in writes x(@..32)\n",
     SPAD_FINDING_MISALIGNED, "16", "8"},
};

static void fill(char *out, size_t size, const char *text, const char *amount) {
    size_t used = 0;
    for (const char *at = text; *at != '\0'; at++) {
        used += (size_t)(*at == '@' ? snprintf(out + used, size - used, "%s", amount)
                                    : snprintf(out + used, size - used, "%c", *at));
        assert_true(used < size);
    }
}

static void a_limit_is_reached_and_not_passed(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char text[1024];
        fill(text, sizeof text, cases[i].text, cases[i].fine);
        if (count_code(text, NULL, cases[i].code) != 0) print_error("%s\n", text);
        assert_int_equal(count_code(text, NULL, cases[i].code), 0);
        fill(text, sizeof text, cases[i].text, cases[i].wrong);
        if (count_code(text, NULL, cases[i].code) == 0) print_error("%s\n", text);
        assert_int_not_equal(count_code(text, NULL, cases[i].code), 0);
    }
}

static void what_is_not_known_is_not_examined(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const spad_target *known;
        spad_error error;
        const bool sm = strstr(cases[i].text, "sm_90") != NULL;
        assert_ok(spad_target_find(&known, sm ? "sm_90" : "910b", &error), &error);
        spad_target target = *known;
        spad_space spaces[SPAD_SPACES_MAX];
        spad_engine engines[SPAD_ENGINES_MAX];
        memcpy(spaces, known->spaces, known->space_count * sizeof *spaces);
        memcpy(engines, known->engines, known->engine_count * sizeof *engines);
        target.limits = (spad_limits){0};
        target.spaces = spaces;
        target.engines = engines;
        for (size_t s = 0; s < target.space_count; s++) spaces[s].thread_bytes = 0;
        for (size_t e = 0; e < target.engine_count; e++) engines[e].proxy_align = 0;
        char text[1024];
        fill(text, sizeof text, cases[i].text, cases[i].wrong);
        const spad_kernel_options options = {.target = &target};
        if (count_code(text, &options, cases[i].code) != 0) print_error("%s\n", text);
        assert_int_equal(count_code(text, &options, cases[i].code), 0);
    }
}

/* Flags of two pairs, of two cores, and those of which a pipe is not the only user. */
/* Reported where the limit is passed, and once; numbers stay at the limit of 64 bits. */
static void limits_are_passed_once(void **state) {
    (void)state;
    static const struct {
        const char *text;
        spad_finding_code code;
        int64_t count;
        const char *message; /* of the first */
    } rows[] = {
        {SM "agent a of 1025 threads { }\nagent b of 1 threads { }\nagent c of 2 threads { }\n",
         SPAD_FINDING_THREAD_LIMIT, 1,
         "the agents up to 'a' have 1025 threads, and a block of sm_90 has at most 1024"},
        {SM "agent a of 512 threads registers 240 { }\nagent b of 128 threads registers 240 { }\n",
         SPAD_FINDING_REGISTER_LIMIT, 1,
         "the agents up to 'a' are given 122880 registers, and a block of sm_90 has 65536; give "
         "some of them fewer"},
        {SM "agent a of 9223372036854775807 threads registers 240 { }\n"
            "agent b of 9223372036854775807 threads registers 240 { }\n",
         SPAD_FINDING_REGISTER_LIMIT, 1,
         "the agents up to 'a' are given 9223372036854775807 registers, and a block of sm_90 has "
         "65536; give some of them fewer"},
        {SM "barrier a[9223372036854775807] count 1\nbarrier b[9223372036854775807] count 1\n"
            "sync b[0]\n",
         SPAD_FINDING_BARRIER_LIMIT, 1,
         "9223372036854775807 barriers up to 'a', and a block of sm_90 has 16; use one again, or "
         "an mbarrier"},
        {SM TMA IN "tensor x : shared u8 (4096)\nmbarrier m count 1\ninit m\n"
                   "expect m by 9223372036854775807\narrive m expect 9223372036854775807\n"
                   "tma load reads in writes x delivers m by 4096\nwait m parity 0\n",
         SPAD_FINDING_MBARRIER_LIMIT, 3,
         "m waits for 9,223,372,036,854,775,807 B at the same time, and an mbarrier of sm_90 "
         "counts up "
         "to 1,048,575; use several mbarriers, or smaller copies"},
        {SM "mbarrier m count 2097152\ninit m\narrive m by 2097152\nwait m parity 0\n"
            "invalidate m\ninit m count 2097153\narrive m by 2097153\n",
         SPAD_FINDING_MBARRIER_LIMIT, 2,
         "'m' waits for 2,097,152 arrivals, and an mbarrier of sm_90 counts up to 1,048,575; let "
         "fewer "
         "threads arrive"},
        {SM "barrier b count 96\nagent a { for i in 0..2 { sync b by 33 } }\n"
            "agent c { for i in 0..2 { sync b by 63 } }\n",
         SPAD_FINDING_BARRIER_LIMIT, 2,
         "33 threads come to 'b', and a barrier of sm_90 counts whole warps of 32; try 64"},
        /* one tensor twice is there once */
        {SM "tensor r : registers f32 (65536)\n"
            "agent a of 128 threads { simt z writes r; simt f reads r updates r }\n",
         SPAD_FINDING_REGISTER_LIMIT, 2,
         "z uses 262,144 B in registers, 2,048 for each of the 128 threads of 'a', and a thread "
         "has "
         "at most 1,020; use more threads or smaller tiles"},
    };
    for (size_t r = 0; r < sizeof rows / sizeof rows[0]; r++) {
        spad_kernel *kernel = test_parse(rows[r].text);
        spad_check *check;
        spad_error error;
        int64_t count = 0;
        assert_ok(spad_check_create(&check, kernel, NULL, &error), &error);
        for (size_t i = 0; i < spad_check_finding_count(check); i++) {
            const spad_finding *finding = spad_check_get_finding(check, i);
            if (finding->code != rows[r].code) continue;
            if (count++ == 0) assert_string_equal(finding->message, rows[r].message);
        }
        assert_int_equal(count, rows[r].count);
        spad_check_destroy(check);
        spad_kernel_destroy(kernel);
    }
}

static void other_counters_are_no_flags(void **state) {
    (void)state;
    static const char *const texts[] = {
        "kernel k on 910b\nunit mte2 fifo\nunit v on vector fifo\nunit mte3 fifo\ncounter f[9]\n"
        "for i in 0..8 { signal f[i] on mte2; take f[i] on v }\nsignal f[8] on mte2\n"
        "take f[8] on mte3\n",
        "kernel k on 910b\nunit mte2 fifo\nunit v on vector fifo\ncounter f[9]\ncounter g[9]\n"
        "agent a { for i in 0..8 { signal f[i] on mte2; take f[i] on v } }\n"
        "agent b { for i in 0..8 { signal g[i] on mte2; take g[i] on v } }\n",
        "kernel k on 910b\nunit mte2 fifo\nunit v on vector fifo\ncounter f[9]\n"
        "agent a { for i in 0..9 { signal f[i] on mte2 } }\n"
        "agent b { for i in 0..9 { take f[i] on v } }\n",
        ("kernel k on 910b\nunit v on vector fifo\ncounter f[9]\n"
         "for i in 0..9 { signal f[i] on v; take f[i] on v }\n"),
    };
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        assert_int_equal(count_code(texts[i], NULL, SPAD_FINDING_FLAG_LIMIT), 0);
    }
}

/* A barrier to which everything contributes 1 says nothing of threads. */
static void barriers_may_count_agents(void **state) {
    (void)state;
    const char *text = SM "barrier b count 3\nagent a { sync b }\nagent c { sync b }\n"
                          "agent d { sync b }\n";
    assert_int_equal(count_code(text, NULL, SPAD_FINDING_BARRIER_LIMIT), 0);
}

/* The planner knows what the asynchronous proxy needs. */
static void places_suit_the_proxy(void **state) {
    (void)state;
    spad_kernel *kernel = test_parse(SM TMA IN "tensor a : shared u8 [3] (20) ring 3\n"
                                               "for i in 0..3 { tma load reads in(0..20) writes "
                                               "a[i] }\n");
    spad_layout *layout;
    spad_error error;
    spad_rect rect;
    assert_ok(spad_layout_create(&layout, kernel, NULL, &error), &error);
    for (int64_t slot = 0; slot < 3; slot++) {
        assert_true(spad_layout_get_place(&rect, layout, 1, slot));
        assert_int_equal(rect.byte % 16, 0);
    }
    spad_layout_destroy(layout);
    spad_kernel_destroy(kernel);
}

/* A proof for all trip counts says nothing of kernels that pass a limit at some of them. */
static void what_grows_is_not_proved(void **state) {
    (void)state;
    static const char *const texts[] = {
        SM "param N = 3\ntensor r : registers u32 (64)\n"
           "agent a of N * 32 threads { for i in 0..N { simt w writes r } }\n",
        SM "param N = 3\ntensor r : registers u32 (64)\n"
           "agent a registers N * 8 { for i in 0..N { simt w writes r } }\n",
        SM "param N = 3\nbarrier b[N] count 1\nfor i in 0..N { sync b[i] }\n",
        SM "param N = 3\nbarrier b count N * 32\nfor i in 0..4 { sync b by N * 32 }\n",
        CORES "param N = 6\nunit mte2 fifo\nunit v on vector fifo\ncounter f[N]\n"
              "for i in 0..N { signal f[i] on mte2; take f[i] on v }\n",
        SM "param N = 3\ntensor x : shared u8 (8)\nmbarrier m count 1\ninit m\n"
           "for i in 0..N { expect m by 8 }\narrive m\n"
           "for i in 0..N { simt l writes x delivers m }\nwait m parity 0\n",
    };
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        spad_kernel *kernel = test_parse(texts[i]);
        spad_check *check;
        spad_error error;
        assert_ok(spad_check_create(&check, kernel, NULL, &error), &error);
        if (spad_check_get_verdict(check) == SPAD_VERDICT_PROVED_ALL) print_error("%s", texts[i]);
        assert_int_not_equal(spad_check_get_verdict(check), SPAD_VERDICT_PROVED_ALL);
        spad_check_destroy(check);
        spad_kernel_destroy(kernel);
    }
}

/* ---- instances of a space ---------------------------------------------------------- */

/* What a core of the 910b reaches; the main program is no core, and the 950 reaches both. */
static void memory_of_a_core_is_its_own(void **state) {
    (void)state;
    static const struct {
        const char *text;
        int64_t count;
    } rows[] = {
        {CORES "tensor a : ub u8 (32)\ntensor b : ub[1] u8 (32)\n"
               "agent v { vector w writes a; vector w writes b; vector w writes a }\n",
         1},
        {CORES "tensor a : ub u8 (32)\ntensor b : ub[1] u8 (32)\n"
               "agent v { vector w reads a writes b }\n",
         1},
        {CORES "tensor a : ub u8 (32)\ntensor b : ub[1] u8 (32)\n"
               "agent v { vector w writes a }\nagent u { vector w writes b }\n",
         0},
        {CORES "tensor a : ub u8 (32)\ntensor b : ub[1] u8 (32)\n"
               "vector w writes a\nvector w writes b\n",
         0},
        {CORES "tensor a : ub[0] u8 (32)\ntensor b : ub u8 (32)\n"
               "agent v { vector w writes a; vector w writes b }\n",
         0},
        {"kernel k on 950\ntensor a : ub u8 (32)\ntensor b : ub[1] u8 (32)\n"
         "agent v { vector w writes a; vector w writes b }\n",
         0},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        assert_int_equal(count_code(rows[i].text, NULL, SPAD_FINDING_PRIVATE_MEMORY),
                         rows[i].count);
    }
}

/* The same bytes of two instances are different memory. */
static void instances_do_not_overlap(void **state) {
    (void)state;
    static const char *const texts[] = {
        SM "tensor a : shared u8 (64) at 0\ntensor b : shared%s u8 (64) at 32\n"
           "simt w writes a\nsimt w writes b\nsimt r reads a, b\n",
        SM "tensor a : shared u8 (64) at 0\ntensor b : shared%s u8 (64) at 32\n"
           "agent x { simt w writes a; simt r reads a }\nagent y { simt w writes b; simt r reads b "
           "}\n",
    };
    static const spad_finding_code codes[] = {SPAD_FINDING_LIFETIME_CONFLICT, SPAD_FINDING_RACE};
    for (size_t i = 0; i < 2; i++) {
        char text[512];
        const char *at = strstr(texts[i], "%s");
        snprintf(text, sizeof text, "%.*s[1]%s", (int)(at - texts[i]), texts[i], at + 2);
        assert_int_equal(count_code(text, NULL, codes[i]), 0);
        snprintf(text, sizeof text, "%.*s%s", (int)(at - texts[i]), texts[i], at + 2);
        assert_int_not_equal(count_code(text, NULL, codes[i]), 0);
    }
}

/* Capacity is per instance, and so are the rows of a layout. */
static void a_layout_has_a_row_for_each_instance(void **state) {
    (void)state;
    spad_kernel *kernel =
        test_parse(CORES "tensor a : ub u8 (150000)\ntensor b : ub[1] u8 (100000)\n"
                         "vector w writes a\nvector w writes b\n"
                         "vector r reads a\nvector r reads b\n");
    spad_layout *layout;
    spad_error error;
    assert_ok(spad_layout_create(&layout, kernel, NULL, &error), &error);
    assert_true(spad_layout_fits(layout));
    assert_int_equal(spad_layout_space_count(layout), 2);
    for (size_t i = 0; i < 2; i++) {
        const spad_layout_space *row = spad_layout_get_space(layout, i);
        const spad_space *space = &spad_kernel_get_target(kernel)->spaces[row->space];
        assert_int_equal(space->instance, (int64_t)i);
        assert_int_equal(row->capacity, 196608);
    }
    test_text page;
    test_text_init(&page);
    assert_ok(spad_layout_write(layout, SPAD_FORMAT_JSON, &page.sink, &error), &error);
    assert_non_null(strstr(page.bytes, "\"ub[1]\""));
    test_text_free(&page);
    spad_layout_destroy(layout);
    spad_kernel_destroy(kernel);
}

static void instances_read_back(void **state) {
    (void)state;
    spad_kernel *kernel = test_parse(CORES "region ub[1] 0..4096\nscope s {\n"
                                           "tensor a : ub[1] u8 (32) stack\n"
                                           "tensor b : \"ub\"[0] u8 (32)\n"
                                           "vector w writes a, b\n}\n");
    test_text page;
    spad_error error;
    test_text_init(&page);
    assert_ok(spad_kernel_write_text(kernel, &page.sink, &error), &error);
    assert_non_null(strstr(page.bytes, "region ub[1] 0..4096"));
    assert_non_null(strstr(page.bytes, "tensor a : ub[1] "));
    assert_non_null(strstr(page.bytes, "tensor b : ub "));
    spad_kernel *again = test_parse(page.bytes);
    assert_int_equal(spad_kernel_get_tensor(again, 0)->space,
                     spad_kernel_get_tensor(kernel, 0)->space);
    spad_kernel_destroy(again);
    test_text_free(&page);
    spad_kernel_destroy(kernel);
}

static void instances_that_are_not_there_are_refused(void **state) {
    (void)state;
    static const char *const texts[] = {
        CORES "tensor a : ub[2] u8 (32)\n", CORES "tensor a : l1[1] u8 (32)\n",
        CORES "tensor a : ub[x] u8 (32)\n", CORES "tensor a : ub[1 u8 (32)\n",
        CORES "tensor a : ub u8 (32)\ntensor b : ub[1] u8 (32) alias of a\n"};
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        spad_kernel *kernel;
        spad_error error;
        assert_int_equal(
            spad_kernel_parse(&kernel, texts[i], strlen(texts[i]), "k.spad", NULL, NULL, &error),
            SPAD_ERR_SYNTAX);
    }
}

/* Threads are part of the text, and of what the builder is given. */
static void threads_read_back(void **state) {
    (void)state;
    const char *text = "kernel k on sm_90\nparam W = 4\nthreads W * 64 registers 100\n\n"
                       "agent a of W * 32 threads registers 240 {\n}\n"
                       "agent b registers 24 {\n}\nagent c {\n}\n"
                       "agent d[2] as w of 64 threads {\n}\n";
    spad_kernel *kernel = test_parse(text);
    test_text page;
    spad_error error;
    test_text_init(&page);
    assert_ok(spad_kernel_write_text(kernel, &page.sink, &error), &error);
    assert_non_null(strstr(page.bytes, "agent a of W * 32 threads registers 240 {"));
    assert_non_null(strstr(page.bytes, "\nthreads W * 64 registers 100\n"));
    assert_non_null(strstr(page.bytes, "agent b registers 24 {"));
    assert_int_equal(spad_kernel_get_agent(kernel, 0)->threads.value, 256);
    assert_int_equal(spad_kernel_get_agent(kernel, 0)->registers.value, 100);
    assert_non_null(strstr(page.bytes, "agent c {"));
    assert_int_equal(spad_kernel_get_agent(kernel, 1)->threads.value, 128);
    assert_int_equal(spad_kernel_get_agent(kernel, 3)->threads.value, 0);
    assert_int_equal(spad_kernel_get_agent(kernel, 5)->threads.value, 64);
    test_text_free(&page);
    spad_kernel_destroy(kernel);
}

static void threads_that_cannot_be_are_refused(void **state) {
    (void)state;
    static const char *const texts[] = {
        "kernel k on sm_90\nthreads 0\n",
        "kernel k on sm_90\nthreads 32\nthreads 32\n",
        "kernel k on sm_90\nagent a { }\nthreads 32\n",
        "kernel k on sm_90\nfor i in 0..2 { threads 32 }\n",
        "kernel k on sm_90\nthreads registers 32\n",
        "kernel k on sm_90\nagent a of 0 * 1 threads { }\n",
        "kernel k on sm_90\nagent a of -1 threads { }\n",
        "kernel k on sm_90\nagent a of 32 { }\n",
        "kernel k on sm_90\nagent a registers -8 { }\n",
    };
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        spad_kernel *kernel;
        spad_error error;
        assert_int_equal(
            spad_kernel_parse(&kernel, texts[i], strlen(texts[i]), "k.spad", NULL, NULL, &error),
            SPAD_ERR_SYNTAX);
        assert_null(kernel);
    }
    spad__kernel_builder *builder;
    spad_error error;
    const spad_target *target;
    assert_ok(spad_target_find(&target, "sm_90", &error), &error);
    assert_ok(spad__kernel_builder_create(&builder, "k", "", target, NULL, &error), &error);
    const spad_amount some = {.value = 32};
    const spad_amount none = {0};
    assert_int_equal(spad__kernel_builder_threads(builder, none, some, &error), SPAD_ERR_ARGUMENT);
    assert_ok(spad__kernel_builder_threads(builder, some, some, &error), &error);
    assert_int_equal(spad__kernel_builder_threads(builder, some, some, &error), SPAD_ERR_NAME);
    assert_string_equal(error.message, "the threads of the main program are stated twice");
    assert_ok(spad__kernel_builder_agent(builder, "a", &error), &error);
    assert_ok(spad__kernel_builder_threads(builder, some, some, &error), &error);
    assert_ok(spad__kernel_builder_end(builder, &error), &error);
    assert_int_equal(spad__kernel_builder_threads(builder, some, some, &error), SPAD_ERR_ARGUMENT);
    spad__kernel_builder_destroy(builder);
}

/* The main program has the threads of a block: they are limited as those of agents, and a message
 * points to where they are stated. */
static void threads_of_the_main_program(void **state) {
    (void)state;
    static const struct {
        const char *line;
        const char *message;
        spad_finding_code code;
    } lines[] = {
        {"threads 1024 registers 64", NULL, 0},
        {"threads 1056", "the main program has 1056 threads, and a block of sm_90 has at most 1024",
         SPAD_FINDING_THREAD_LIMIT},
        {"threads 512 registers 200",
         "the main program has 512 threads of 200 registers; on sm_90 a thread has at most 255, "
         "and "
         "a block 65536",
         SPAD_FINDING_REGISTER_LIMIT},
        {"threads 64 registers 256",
         "the main program has 64 threads of 256 registers; on sm_90 a thread has at most 255, and "
         "a block 65536",
         SPAD_FINDING_REGISTER_LIMIT},
        {"threads 16",
         "op uses 32,768 B in registers, 2,048 for each of the 16 threads of 'main', and a thread "
         "has at most 1,020; use more threads or smaller tiles",
         SPAD_FINDING_REGISTER_LIMIT},
    };
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
        char text[256];
        snprintf(text, sizeof text,
                 "kernel k on sm_90\n%s\ntensor x : registers f32 (128, 64)\n"
                 "simt op writes x\n",
                 lines[i].line);
        spad_kernel *kernel = test_parse(text);
        spad_check *check;
        spad_error error;
        assert_ok(spad_check_create(&check, kernel, NULL, &error), &error);
        const spad_finding *found = NULL;
        for (size_t f = 0; f < spad_check_finding_count(check); f++) {
            const spad_finding *finding = spad_check_get_finding(check, f);
            if (finding->severity == SPAD_SEVERITY_ERROR) found = finding;
        }
        if (lines[i].message == NULL) {
            assert_null(found);
        } else {
            assert_non_null(found);
            assert_string_equal(found->message, lines[i].message);
            assert_int_equal(found->code, lines[i].code);
            assert_int_equal(found->line, i + 1 < sizeof lines / sizeof *lines ? 2 : 4);
        }
        spad_check_destroy(check);
        spad_kernel_destroy(kernel);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_limit_is_reached_and_not_passed),
        cmocka_unit_test(what_is_not_known_is_not_examined),
        cmocka_unit_test(other_counters_are_no_flags),
        cmocka_unit_test(limits_are_passed_once),
        cmocka_unit_test(barriers_may_count_agents),
        cmocka_unit_test(places_suit_the_proxy),
        cmocka_unit_test(what_grows_is_not_proved),
        cmocka_unit_test(memory_of_a_core_is_its_own),
        cmocka_unit_test(instances_do_not_overlap),
        cmocka_unit_test(a_layout_has_a_row_for_each_instance),
        cmocka_unit_test(instances_read_back),
        cmocka_unit_test(instances_that_are_not_there_are_refused),
        cmocka_unit_test(threads_read_back),
        cmocka_unit_test(threads_of_the_main_program),
        cmocka_unit_test(threads_that_cannot_be_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
