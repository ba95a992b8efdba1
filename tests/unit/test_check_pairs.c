/* SPDX-License-Identifier: Apache-2.0
 *
 * Findings that come in pairs: each is reported, or both are one with a count. A check that has no
 * memory for the first of them ends there, and leaves nothing.
 */
#include "support/support.h"

#include <string.h>

#include "spad/check.h"
#include "support/kernels.h"

#define CORE "kernel k on trn2\n"
#define GPU "kernel k on sm_90\n"

static const struct {
    const char *text;
    const char *codes; /* in the order of the findings, without SPAD- */
} cases[] = {
    {CORE "tensor a : sbuf u8 (128, 8)\n"
          "tensor b : sbuf u8 (128, 8)\n",
     "NEVER-USED NEVER-USED"},
    {CORE "tensor a : sbuf u8 (128, 8)\n"
          "tensor b : sbuf u8 (128, 8)\n"
          "vector w writes a, b\n",
     "NEVER-READ NEVER-READ"},
    {CORE "tensor a : sbuf u8 (128, 8)\n"
          "tensor b : sbuf u8 (128, 8)\n"
          "vector r reads a, b\n",
     "UNINITIALISED-READ"},
    {CORE "tensor a : sbuf u8 (128, 8)\n"
          "tensor b : sbuf u8 (128, 8)\n"
          "vector w writes a, b\n"
          "vector v writes a, b\n"
          "vector r reads a, b\n",
     "DEAD-WRITE DEAD-WRITE"},
    {CORE "tensor a : sbuf u8 [2] (128, 8) output\n"
          "tensor b : sbuf u8 (128, 8) output\n",
     "UNWRITTEN-OUTPUT UNWRITTEN-OUTPUT"},
    {CORE "tensor a : sbuf u8 [2] (128, 8) at 300000\n"
          "vector w writes a[0], a[1]\n"
          "vector r reads a[0], a[1]\n",
     "OUT-OF-SPACE"},
    {CORE "tensor a : sbuf u8 [4] (128, 8) mod base 212980 free 4\n"
          "for i in 0..4 { vector w writes a[i]\n"
          "vector r reads a[i] }\n",
     "OUT-OF-SPACE"},
    {CORE "tensor i : hbm u8 [2] (128, 8) input\n"
          "tensor a : sbuf u8 [2] (128, 8)\n"
          "dma l reads i[0] writes a[0]\n"
          "dma l reads i[1] writes a[1]\n"
          "vector r reads a[0], a[1]\n",
     "SHORT-ROW SHORT-ROW"},
    {GPU "barrier a count 100\n"
         "barrier b count 100\n"
         "agent x of 100 threads { sync a by 100\n"
         "sync b by 100 }\n",
     "BARRIER-LIMIT BARRIER-LIMIT BARRIER-LIMIT BARRIER-LIMIT"},
    {GPU "mbarrier a count 2000000\n"
         "mbarrier b count 2000000\n"
         "init a\n"
         "init b\n",
     "MBARRIER-LIMIT MBARRIER-LIMIT"},
    {GPU "agent x of 2000 threads { fence }\n"
         "agent y of 2000 threads { fence }\n",
     "THREAD-LIMIT"},
    {GPU "tensor x : shared u8 (8)\n"
         "tensor y : shared u8 (8)\n"
         "agent a { simt w writes x, y }\n"
         "agent b { simt v writes x, y }\n",
     "RACE NEVER-READ NEVER-READ"},
    {GPU "barrier b count 3\n"
         "agent a { sync b }\n"
         "agent c { sync b }\n",
     "DEADLOCK"},
    {GPU "counter c\n"
         "counter d\n"
         "agent a { take c }\n"
         "agent b { take d }\n",
     "DEADLOCK DEADLOCK"},
    {CORE "tensor a : sbuf u8 (128, 8)\n"
          "tensor b : sbuf u8 (128, 8)\n"
          "for i in 0..3 parallel { vector w writes a, b }\n"
          "vector r reads a, b\n",
     "DEAD-WRITE DEAD-WRITE PARALLEL-DEPENDENCE"},
    {CORE "tensor a : sbuf u8 (128, 8)\n"
          "tensor b : sbuf u8 (128, 8)\n"
          "alloc a\n"
          "alloc b\n"
          "vector w writes a, b\n"
          "vector r reads a, b\n"
          "free a\n"
          "free b\n"
          "free a\n"
          "free b\n",
     "DOUBLE-FREE DOUBLE-FREE"},
    {CORE "tensor a : sbuf u8 (128, 8)\n"
          "tensor b : sbuf u8 (128, 8)\n"
          "alloc a\n"
          "alloc b\n"
          "vector w writes a, b\n"
          "vector r reads a, b\n",
     "LEAK LEAK"},
    {CORE "tensor a : sbuf u8 (128, 8)\n"
          "tensor b : sbuf u8 (128, 8)\n"
          "alloc a\n"
          "alloc b\n"
          "vector w writes a, b\n"
          "free a\n"
          "free b\n"
          "vector r reads a, b\n",
     "USE-AFTER-FREE USE-AFTER-FREE"},
    {GPU "barrier b count 128\n"
         "tensor x : shared u8 (8)\n"
         "tensor y : shared u8 (8)\n"
         "agent c of 128 threads {\n"
         "simt f writes x, y\n"
         "simt l reads x, y elected\n"
         "}\n",
     "MISSING-SYNC"},
    {GPU "unit tma on copy free proxy\n"
         "group g\n"
         "tensor x : shared u8 (64)\n"
         "tensor y : shared u8 (64)\n"
         "tensor o : global u8 (128) output\n"
         "simt f writes x, y\n"
         "agent a {\n"
         "tma s reads x writes o(0..64) in g\n"
         "tma s reads y writes o(64..128) in g\n"
         "commit g\n"
         "wait g pending 0\n"
         "}\n",
     "MISSING-FENCE MISSING-FENCE"},
    {GPU "mbarrier m count 1\n"
         "mbarrier n count 1\n"
         "init m\n"
         "init n\n"
         "agent a { expect m by 5000000\n"
         "expect n by 5000000 }\n",
     "MBARRIER-LIMIT MBARRIER-LIMIT LEFTOVER LEFTOVER"},
    {GPU "tensor x : shared u8 (8)\n"
         "tensor y : shared u8 (8)\n"
         "simt a writes x\n"
         "simt b reads x writes y\n"
         "simt c writes x\n"
         "simt d reads x writes y\n",
     "NEVER-READ WASTED-WORK WASTED-WORK"},
    {CORE "tensor a : hbm u8 (128, 8)\n"
          "tensor b : hbm u8 (128, 8)\n"
          "tensor s : sbuf u8 (128, 8)\n"
          "vector z writes s\n"
          "dma w reads s writes a\n"
          "dma w reads s writes b\n",
     "NEVER-READ NEVER-READ SHORT-ROW SHORT-ROW"},
    {GPU "mbarrier m count 1\n"
         "mbarrier n count 1\n"
         "init m\n"
         "init n\n"
         "agent a { arrive m\n"
         "arrive m\n"
         "arrive n\n"
         "arrive n }\n",
     "UNWATCHED-PHASE UNWATCHED-PHASE"},
    {CORE "tensor a : sbuf u8 (128, 8) at 0\n"
          "tensor b : sbuf u8 (128, 8) at 0\n"
          "tensor c : sbuf u8 (128, 8) at 64\n"
          "tensor d : sbuf u8 (128, 8) at 64\n"
          "vector w writes a\n"
          "vector w writes b\n"
          "vector w writes c\n"
          "vector w writes d\n"
          "vector r reads a, c\n"
          "vector r reads b, d\n",
     "LIFETIME-CONFLICT LIFETIME-CONFLICT"},
    {GPU "mbarrier m count 1\n"
         "mbarrier n count 1\n"
         "init m count 2000000\n"
         "init n count 2000000\n",
     "MBARRIER-LIMIT MBARRIER-LIMIT"},
    {GPU "mbarrier m count 1\n"
         "init m\n"
         "agent a { expect m by 9223372036854775807\n"
         "expect m by 9223372036854775807 }\n",
     "MBARRIER-LIMIT MBARRIER-LIMIT LEFTOVER"},
    {GPU "mbarrier m count 1\n"
         "mbarrier n count 1\n"
         "init m\n"
         "init n\n"
         "agent a { for i in 0..2 {\n"
         "init m\n"
         "init n\n"
         "} }\n",
     "MBARRIER-LIFE MBARRIER-LIFE"},
};

static void each_of_a_pair_is_found(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        spad_kernel *kernel = test_parse(cases[i].text);
        spad_check *check;
        spad_error error;
        char found[400] = "";
        assert_ok(spad_check_create(&check, kernel, NULL, &error), &error);
        for (size_t f = 0; f < spad_check_finding_count(check); f++) {
            const char *name = spad_finding_name(spad_check_get_finding(check, f)->code);
            assert_memory_equal(name, "SPAD-", 5);
            if (f > 0) strcat(found, " ");
            strcat(found, name + 5);
        }
        assert_string_equal(found, cases[i].codes);
        spad_check_destroy(check);
        spad_kernel_destroy(kernel);
    }
}

static void no_memory_for_one_of_them(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        spad_kernel *kernel = test_parse(cases[i].text);
        test_check_without_memory(kernel);
        spad_kernel_destroy(kernel);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_of_a_pair_is_found),
        cmocka_unit_test(no_memory_for_one_of_them),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
