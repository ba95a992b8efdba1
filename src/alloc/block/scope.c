/* SPDX-License-Identifier: Apache-2.0
 *
 * Scope names, and what each family of chips makes of them: two columns of one
 * table. Which optional parts a chip has is read off its engines and spaces, so
 * that chips from a target file work like the built-in ones.
 *
 * Scopes: TileLang language/allocate.py and codegen_cuda.cc; for the Ascend
 * levels TileLang-Ascend.
 */
#include <string.h>

#include "alloc/block/block.h"
#include "base/text.h"

static const char *const names[SPAD_BLOCK_SCOPE_COUNT] = {
#define SPAD_BLOCK_SCOPE_SPELLING(name, spelling) [SPAD_BLOCK_##name] = spelling,
    SPAD_BLOCK_SCOPE_LIST(SPAD_BLOCK_SCOPE_SPELLING)
#undef SPAD_BLOCK_SCOPE_SPELLING
};

const char *spad_block_scope_name(spad_block_scope scope) {
    return (unsigned)scope < SPAD_BLOCK_SCOPE_COUNT ? names[scope] : "?";
}

spad_status spad__block_scope_parse(spad_block_scope *out, const char *name, spad_error *error) {
    *out = SPAD_BLOCK_SHARED_DYN;
    spad__nearest nearest;
    spad__nearest_start(&nearest, name);
    for (int i = 0; i < SPAD_BLOCK_SCOPE_COUNT; i++) {
        if (strcmp(name, names[i]) == 0) {
            *out = (spad_block_scope)i;
            return SPAD_OK;
        }
        spad__nearest_offer(&nearest, names[i]);
    }
    char hint[128];
    char shown[SPAD_NAME_FACT_MAX];
    spad__nearest_phrase(&nearest, hint, sizeof hint);
    spad__copy_cut(shown, sizeof shown, name);
    spad__fail(error, SPAD_ERR_UNKNOWN, "no scope is called '%s'%s", shown,
               hint[0] != '\0' ? hint : "; the scopes are those of TileLang, such as 'shared.dyn'");
    spad__fact_names(error, name, NULL);
    return SPAD_ERR_UNKNOWN;
}

/* ---- what the chip has ------------------------------------------------------------- */

/* The bit of a space in the masks of engines; 0 if the chip does not have it. */
static uint64_t space_bit(const spad_target *target, const char *name) {
    size_t number;
    if (spad_target_find_space(&number, target, name, NULL) != SPAD_OK) return 0;
    return UINT64_C(1) << number;
}

/* An engine that copies between shared and global memory both ways by itself is
 * the bulk copy engine; mbarriers as TileLang uses them came with it (sm_90).
 * Threads do the same, but through registers. */
bool spad__block_has_bulk_copies(const spad_block *block) {
    const spad_target *target = block->target;
    const uint64_t shared = space_bit(target, "shared");
    const uint64_t global = space_bit(target, "global");
    const uint64_t registers = space_bit(target, "registers");
    const uint64_t both = shared | global;
    if (shared == 0 || global == 0 || registers == 0) return false; /* nothing to decide by */
    for (size_t e = 0; e < target->engine_count; e++) {
        const spad_engine *engine = &target->engines[e];
        if ((engine->reads & both) == both && (engine->writes & both) == both &&
            (engine->reads & registers) == 0) {
            return true;
        }
    }
    return false;
}

/* wgmma: an engine that multiplies from shared memory into registers and does not
 * see global memory, as threads do. */
static bool has_wgmma(const spad_block *block) {
    const spad_target *target = block->target;
    const uint64_t shared = space_bit(target, "shared");
    const uint64_t registers = space_bit(target, "registers");
    const uint64_t global = space_bit(target, "global");
    for (size_t e = 0; e < target->engine_count; e++) {
        const spad_engine *engine = &target->engines[e];
        if ((engine->reads & shared) != 0 && (engine->writes & registers) != 0 &&
            (engine->reads & global) == 0) {
            return true;
        }
    }
    return false;
}

static bool has_tensor_memory(const spad_block *block) {
    return space_bit(block->target, "tmem") != 0;
}

/* ---- what a scope is --------------------------------------------------------------- */

typedef struct scope_home {
    block_kind kind;
    const char *space; /* NULL: none */
} scope_home;

typedef struct scope_rule {
    scope_home gpu;
    scope_home core;                        /* Ascend */
    bool (*needs)(const spad_block *block); /* GPU; NULL: every one has it */
    const char *needs_text;
    const char *instead; /* where the scope does not exist */
} scope_rule;

#define NOT_ON_A_CORE \
    { BLOCK_NOT_HERE, NULL }
#define NOT_ON_A_GPU \
    { BLOCK_NOT_HERE, NULL }
#define DESCRIPTOR(test, text)                                                      \
    {                                                                               \
        .gpu = {BLOCK_THREAD, "registers"}, .core = NOT_ON_A_CORE, .needs = (test), \
        .needs_text = (text), .instead = "the cube unit needs no descriptors"       \
    }
#define BARRIER_RULE                                                  \
    {                                                                 \
        .gpu = {BLOCK_STATIC, "shared"}, .core = NOT_ON_A_CORE,       \
        .needs = spad__block_has_bulk_copies,                         \
        .needs_text = "mbarriers; sm_90 and later have them",         \
        .instead = "cores synchronise by flags, which take no memory" \
    }
#define LEVEL(space_name)                                                                  \
    {                                                                                      \
        .gpu = NOT_ON_A_GPU, .core = {BLOCK_ARENA, space_name},                            \
        .instead = "it is a level of an Ascend core; use 'shared.dyn' or 'local.fragment'" \
    }

static const scope_rule scope_rules[SPAD_BLOCK_SCOPE_COUNT] = {
    [SPAD_BLOCK_SHARED_DYN] = {.gpu = {BLOCK_ARENA, "shared"}, .core = {BLOCK_ARENA, "l1"}},
    [SPAD_BLOCK_SHARED] = {.gpu = {BLOCK_STATIC, "shared"}, .core = {BLOCK_ARENA, "ub"}},
    [SPAD_BLOCK_BARRIER] = BARRIER_RULE,
    [SPAD_BLOCK_CLUSTER_BARRIER] = BARRIER_RULE,
    [SPAD_BLOCK_TMEM] = {.gpu = {BLOCK_TENSOR, "tmem"},
                         .core = NOT_ON_A_CORE,
                         .needs = has_tensor_memory,
                         .needs_text = "tensor memory; sm_100, sm_103 and sm_110 have it",
                         .instead = "accumulators live in 'wmma.accumulator'"},
    [SPAD_BLOCK_LOCAL] = {.gpu = {BLOCK_THREAD, "registers"},
                          .core = NOT_ON_A_CORE,
                          .instead = "a core has no thread-private arrays; use 'shared' (ub)"},
    [SPAD_BLOCK_FRAGMENT] = {.gpu = {BLOCK_THREAD, "registers"},
                             .core = NOT_ON_A_CORE,
                             .instead = "use 'wmma.accumulator' (l0c) or 'shared' (ub)"},
    [SPAD_BLOCK_VAR] = {.gpu = {BLOCK_THREAD, "registers"}, .core = {BLOCK_THREAD, NULL}},
    [SPAD_BLOCK_REDUCER] = {.gpu = {BLOCK_THREAD, "registers"},
                            .core = NOT_ON_A_CORE,
                            .instead = "a core has no threads to reduce over"},
    [SPAD_BLOCK_WGMMA] = DESCRIPTOR(has_wgmma, "wgmma; sm_90 has it"),
    [SPAD_BLOCK_TCGEN05_SMEM] =
        DESCRIPTOR(has_tensor_memory, "tcgen05; sm_100, sm_103 and sm_110 have it"),
    [SPAD_BLOCK_TCGEN05_INSTR] =
        DESCRIPTOR(has_tensor_memory, "tcgen05; sm_100, sm_103 and sm_110 have it"),
    [SPAD_BLOCK_GLOBAL] = {.gpu = {BLOCK_GLOBAL, "global"}, .core = {BLOCK_GLOBAL, "gm"}},
    [SPAD_BLOCK_L1] = LEVEL("l1"),
    [SPAD_BLOCK_MATRIX_A] = LEVEL("l0a"),
    [SPAD_BLOCK_MATRIX_B] = LEVEL("l0b"),
    [SPAD_BLOCK_ACCUMULATOR] = LEVEL("l0c"),
};

spad_status spad__block_resolve(block_kind *kind, size_t *space, const spad_block *block,
                                spad_block_scope scope, spad_error *error) {
    const scope_rule *rule = &scope_rules[scope];
    const scope_home *home = block->is_core ? &rule->core : &rule->gpu;
    const char *chip = block->target->name;
    *kind = home->kind;
    *space = SPAD_NO_SPACE;
    if (home->kind == BLOCK_NOT_HERE) {
        spad__fail(error, SPAD_ERR_CAPABILITY, "scope '%s' does not exist on %s: %s", names[scope],
                   chip, rule->instead);
        spad__fact_names(error, names[scope], chip);
        return SPAD_ERR_CAPABILITY;
    }
    if (!block->is_core && rule->needs != NULL && !rule->needs(block)) {
        spad__fail(error, SPAD_ERR_CAPABILITY, "scope '%s': %s has no %s", names[scope], chip,
                   rule->needs_text);
        spad__fact_names(error, names[scope], chip);
        return SPAD_ERR_CAPABILITY;
    }
    if (home->space == NULL) return SPAD_OK;
    const spad_status status = spad_target_find_space(space, block->target, home->space, error);
    if (status == SPAD_OK || home->kind == BLOCK_ARENA) return status;
    *space = SPAD_NO_SPACE; /* a chip from a file that does not count registers */
    return SPAD_OK;
}

/* ---- replication ------------------------------------------------------------------- */

spad_status spad_replication_parse(spad_replication *out, const char *name, spad_error *error) {
    *out = SPAD_REPLICATION_UNSET;
    if (name == NULL || *name == '\0') return SPAD_OK;
    if (strcmp(name, "all") == 0) *out = SPAD_REPLICATION_ALL;
    if (strcmp(name, "none") == 0) *out = SPAD_REPLICATION_NONE;
    if (*out != SPAD_REPLICATION_UNSET) return SPAD_OK;
    char shown[SPAD_NAME_FACT_MAX];
    spad__copy_cut(shown, sizeof shown, name);
    spad__fail(error, SPAD_ERR_UNKNOWN, "replication is 'all', 'none' or not given, not '%s'",
               shown);
    spad__fact_names(error, name, NULL);
    return SPAD_ERR_UNKNOWN;
}
