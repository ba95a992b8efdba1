/* SPDX-License-Identifier: Apache-2.0
 *
 * Numbers at the limits of 64 bits in every place of a kernel that takes one: counts, arrivals,
 * bytes, values of counters, indices, extents, bounds. Each kernel is refused, or checked, laid out
 * and simulated; the sanitizers see sums and products that do not fit.
 */
#include "support/support.h"

#include <stdio.h>
#include <string.h>

#include "spad/spad.h"

/* '@' is the number. */
static const char *const templates[] = {
    /* arrivals at an mbarrier */
    "kernel k on sm_90\nmbarrier f count @\ntensor o : global f32 (64, 64) output\ninit f\nfence\n"
    "agent p {\n arrive f by @\n arrive f by @\n}\n"
    "agent c {\n wait f parity 0\n wait f parity 1\n wait f parity 0\n simt w writes o\n}\n",
    /* bytes that an mbarrier expects */
    "kernel k on sm_90\nparam N = 4\nmbarrier f count 1\ninit f\nfence\n"
    "agent p { for n in 0..N {\n arrive f expect @\n expect f by @\n} }\n"
    "agent c { for n in 0..N { wait f parity n % 2 } }\n",
    /* counters */
    "kernel k on sm_90\nparam N = 4\ncounter c\ncounter d\n"
    "agent p { for n in 0..N {\n signal c by @\n take d by @\n} }\n"
    "agent q { for n in 0..N {\n take c by @\n signal d by @\n} }\n",
    "kernel k on sm_90\nparam N = 4\ncounter c\nagent p { for n in 0..N { signal c by @ } }\n"
    "agent q { for n in 0..N { wait c >= n * @ + @ } }\n",
    /* barriers */
    "kernel k on sm_90\nparam N = 4\nbarrier b count @\n"
    "agent p { for n in 0..N { sync b by @ } }\nagent q { for n in 0..N { arrive b by @ } }\n",
    /* arrivals by operations, runs of a loop inside another one */
    "kernel k on sm_90\nparam T = 3\nparam N = 4\nunit tma on copy free\n"
    "tensor k : shared bf16 [T * N] (64, 64) ring 2\nmbarrier f[2] count 1\ninit f[0]\ninit "
    "f[1]\nfence\n"
    "agent p { for t in 0..T { for n in 0..N {\n arrive f[(t * N + n) % 2] expect @\n"
    " tma l writes k[t * N + n] delivers f[(t * N + n) % 2] by @\n} } }\n"
    "agent c { for t in 0..T { for n in 0..N {\n"
    " wait f[(t * N + n) % 2] parity (t * N + n) / 2 % 2\n simt w reads k[t * N + n]\n} } }\n",
    /* indices, extents and places */
    "kernel k on trn2\nparam N = 4\ntensor x : sbuf bf16 [8] (128, 8) ring 2\n"
    "for i in 0..N {\n dma l writes x[i * @ % 8]\n vector v reads x[i * @ % 8]\n}\n",
    "kernel k on trn2\nparam N = 4\ntensor x : sbuf bf16 [N] (128, 8) mod free 2 base @\n"
    "for i in 0..N {\n dma l writes x[i]\n vector v reads x[i] cost @ ns\n}\n",
    "kernel k on trn2\nparam N = 4\ntensor x : sbuf bf16 [N] (128, @) ring 2\n"
    "for i in 0..N {\n dma l writes x[i](.., @ - 1..@)\n vector v reads x[i](.., 0..@)\n}\n",
    /* trip counts, bounds and conditions */
    "kernel k on trn2\nparam N = @\ntensor x : sbuf bf16 [N] (128, 8) ring 2\n"
    "for i in 0..N {\n dma l writes x[i]\n vector v reads x[i]\n}\n",
    "kernel k on trn2\nparam N = 4\nparam M = @\ntensor x : sbuf bf16 [N * M] (128, 8) ring 2\n"
    "for i in 0..N { for j in 0..M { if i * M + j < @ {\n dma l writes x[i * M + j]\n"
    " vector v reads x[i * M + j]\n} } }\n",
    "kernel k on trn2\nparam N = 4\ntensor x : sbuf bf16 [N] (128, 8) ring 2\n"
    "for i in @..@ + 4 {\n dma l writes x[i - @]\n if i / @ < @ { vector v reads x[i % @] }\n}\n",
    /* loops inside of each other */
    "kernel k on trn2\nparam T = 4\ntensor x : sbuf bf16 [T + @] (128, 8) ring 2\n"
    "for t in 0..T { for j in t..T {\n dma l writes x[j + @]\n vector v reads x[j + @]\n} }\n",
    /* threads and registers */
    "kernel k on sm_90\nparam N = 4\ngroup g\nunit cp on copy free\n"
    "tensor x : shared bf16 [N] (64, 64) ring 2\n"
    "agent p of @ threads registers @ { for n in 0..N {\n cp l writes x[n] in g\n commit g\n"
    " wait g pending @\n} }\n",
};

static const char *const numbers[] = {
    "9223372036854775807", "9223372036854775806",    "4611686018427387904",
    "4611686018427387903", "1125899906842624",       "3037000500",
    "2147483648",          "(-9223372036854775807)", "(-4611686018427387904)",
};

enum {
    TEMPLATES = sizeof templates / sizeof templates[0],
    NUMBERS = sizeof numbers / sizeof numbers[0]
};

/* The places of a template get two numbers in turn. */
static void fill(const char *template, const char *one, const char *other, char *text,
                 size_t size) {
    size_t used = 0;
    int place = 0;
    for (const char *at = template; *at != '\0'; at++) {
        const char *number = place % 2 == 0 ? one : other;
        used += (size_t)(*at == '@' ? snprintf(text + used, size - used, "%s", number)
                                    : snprintf(text + used, size - used, "%c", *at));
        place += *at == '@';
        assert_true(used < size);
    }
}

/* Whatever they say: it is the sanitizer that judges. A deadline of zero work would hide much. */
static void use(const spad_kernel *kernel) {
    enum { PATIENCE_NS = 1000000000 };
    const spad_check_options how = {.event_limit = 100000, .timeout_ns = PATIENCE_NS};
    const spad_layout_options place = {.timeout_ns = PATIENCE_NS};
    const spad_sim_options time = {.timeout_ns = PATIENCE_NS};
    spad_check *check;
    spad_layout *layout;
    spad_sim *sim;
    spad_error error;
    assert_ok(spad_check_create(&check, kernel, &how, &error), &error);
    spad_check_destroy(check);
    if (spad_layout_create(&layout, kernel, &place, NULL) == SPAD_OK) spad_layout_destroy(layout);
    if (spad_sim_create(&sim, kernel, &time, NULL) == SPAD_OK) spad_sim_destroy(sim);
}

static void limits_of_numbers(void **state) {
    (void)state;
    for (size_t t = 0; t < TEMPLATES; t++) {
        int read = 0;
        for (size_t i = 0; i < NUMBERS; i++) {
            for (size_t j = i; j <= i + 1 && j < NUMBERS; j++) {
                char text[2048];
                spad_kernel *kernel;
                fill(templates[t], numbers[i], numbers[j], text, sizeof text);
                if (spad_kernel_parse(&kernel, text, strlen(text), "k.spad", NULL, NULL, NULL) !=
                    SPAD_OK) {
                    continue;
                }
                use(kernel);
                spad_kernel_destroy(kernel);
                read++;
            }
        }
        if (read == 0) print_error("%s", templates[t]);
        assert_true(read > 0); /* the others are refused */
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(limits_of_numbers)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
