/* SPDX-License-Identifier: Apache-2.0
 *
 * Statements in the user's language. CUDA: instructions of the PTX ISA, with the functions of
 * cuda::ptx and of CuTe where they differ in name.
 */
#include "check/hints.h"

#include <stdio.h>
#include <string.h>

#include "spad/experimental/kernel_rows.h"

const char spad__hint_lowering[] =
    "the order is up to Triton's lowering, and no statement of the program changes it: "
    "compile it with a newer Triton, or with num_stages=1, and "
    "report it to Triton";

static bool names_compiler(const char *compiler, const char *name) {
    return strncmp(compiler, name, strlen(name)) == 0;
}

spad__speech spad__speech_of(const spad_kernel *kernel) {
    const char *compiler = spad__kernel_get_compiler(kernel);
    if (names_compiler(compiler, "Triton")) return SPAD__SPEECH_TRITON;
    if (names_compiler(compiler, "TileLang")) return SPAD__SPEECH_TILELANG;
    return kernel->compiled && compiler[0] == '\0' ? SPAD__SPEECH_CUDA : SPAD__SPEECH_SPAD;
}

typedef struct spoken_fence {
    const char *name;    /* of the target; NULL: the proxy fence for all memories */
    const char *cuda[3]; /* plain, before, after */
    const char *tilelang;
} spoken_fence;

static const spoken_fence *find_spoken(const char *fence) {
    static const spoken_fence all[] = {
        {NULL,
         {"`fence.proxy.async` (cuda::ptx::fence_proxy_async())", NULL, NULL},
         "`T.fence_proxy_async()`"},
        {"shared",
         {"`fence.proxy.async.shared::cta` (cuda::ptx::fence_proxy_async(space_shared))", NULL,
          NULL},
         "`T.fence_proxy_async()`"},
        {"mbarrier",
         {"`fence.mbarrier_init.release.cluster` (cuda::ptx::fence_mbarrier_init())", NULL, NULL},
         NULL},
        {"wgmma", {"`wgmma.fence.sync.aligned`", NULL, NULL}, NULL},
        {"tcgen05",
         {NULL, "`tcgen05.fence::before_thread_sync`", "`tcgen05.fence::after_thread_sync`"},
         NULL},
    };
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) {
        if (fence == NULL ? all[i].name == NULL
                          : all[i].name != NULL && strcmp(all[i].name, fence) == 0) {
            return &all[i];
        }
    }
    return NULL;
}

void spad__hint_fence(char field[SPAD__HINT_MAX], const spad_kernel *kernel, const char *fence,
                      unsigned when) {
    const spad__speech speech = spad__speech_of(kernel);
    const spoken_fence *spoken = find_spoken(fence);
    const int which = when == SPAD_FENCE_BEFORE ? 1 : when == SPAD_FENCE_AFTER ? 2 : 0;
    const char *words = NULL;
    if (speech != SPAD__SPEECH_SPAD && spoken != NULL) words = spoken->cuda[which];
    if (speech == SPAD__SPEECH_TILELANG && spoken != NULL && spoken->tilelang != NULL)
        words = spoken->tilelang;
    if (words != NULL) {
        snprintf(field, SPAD__HINT_MAX, "%s", words);
    } else {
        snprintf(field, SPAD__HINT_MAX, "`fence%s%.40s%s`", fence != NULL ? " " : "",
                 fence != NULL ? fence : "",
                 which == 1   ? " before"
                 : which == 2 ? " after"
                              : "");
    }
}

/* The wait for operations of a unit, as PTX has it; NULL: none is known. */
static const char *group_wait_of(const spad_kernel *kernel, int64_t unit) {
    static const struct {
        const char *unit, *wait;
    } all[] = {{"cp", "cp.async.wait_group"},
               {"cp_async", "cp.async.wait_group"},
               {"cpasync", "cp.async.wait_group"},
               {"tma", "cp.async.bulk.wait_group"},
               {"wgmma", "wgmma.wait_group.sync.aligned"}};
    const char *name = unit >= 0 ? spad_kernel_get_unit(kernel, (size_t)unit)->name : "";
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) {
        if (strcmp(all[i].unit, name) == 0) return all[i].wait;
    }
    return NULL;
}

void spad__hint_group_wait(char field[SPAD__HINT_MAX], const spad_kernel *kernel, int64_t unit,
                           const char *group, int64_t pending) {
    const spad__speech speech = spad__speech_of(kernel);
    const char *instruction = group_wait_of(kernel, unit);
    char number[24] = "";
    if (pending >= 0) snprintf(number, sizeof number, " %lld", (long long)pending);
    if (speech == SPAD__SPEECH_SPAD || instruction == NULL) {
        snprintf(field, SPAD__HINT_MAX, "`wait %.60s pending%s`", group, number);
    } else if (speech == SPAD__SPEECH_TILELANG && strncmp(instruction, "wgmma", 5) == 0) {
        snprintf(field, SPAD__HINT_MAX, "`T.wait_wgmma(%s)`", pending >= 0 ? number + 1 : "0");
    } else {
        snprintf(field, SPAD__HINT_MAX, "`%s%s`", instruction, number);
    }
}
