/* SPDX-License-Identifier: Apache-2.0
 *
 * The reader of TTGIR: the module, its function and the sizes, and which of two ways to take.
 */
#include <stdio.h>
#include <string.h>

#include "base/options.h"
#include "base/text.h"
#include "frontend/gpu/kernel_expr.h"
#include "frontend/ttgir/ttgir.h"
#include "kernel/kernel.h"
#include "kernel/kernel_builder.h"
#include "spad/experimental/kernel_rows.h"
#include "spad/experimental/ttgir.h"
#include "target/target.h"

enum { TTGIR_SIZE = 4096, PROGRAMS = 128, DEFINES = SPAD__TTGIR_DEFINES };

/* ---- what it is ---------------------------------------------------------------------- */

/* The first word that is not an alias, in the first lines of a text. */
bool spad_ttgir_detect(const char *text, size_t length) {
    size_t at = spad__mark_bytes(text, length);
    while (at < length) {
        const char *line = text + at;
        const char *stop = memchr(line, '\n', length - at);
        const size_t width = stop != NULL ? (size_t)(stop - line) : length - at;
        size_t skip = 0;
        while (skip < width && (line[skip] == ' ' || line[skip] == '\t' || line[skip] == '\r')) {
            skip++;
        }
        const char *word = line + skip;
        const size_t left = width - skip;
        at += width + 1;
        if (left == 0 || (left > 1 && word[0] == '/' && word[1] == '/')) continue;
        if (word[0] == '#' && memchr(word, '=', left) != NULL && left > 1 && word[1] != ' ') {
            continue;
        }
        return (left >= 6 && memcmp(word, "module", 6) == 0) ||
               (left >= 7 && memcmp(word, "tt.func", 7) == 0) ||
               (left >= 16 && memcmp(word, "\"builtin.module\"", 16) == 0);
    }
    return false;
}

/* ---- the module ---------------------------------------------------------------------- */

/* How a function is seen from outside: 2 for "public", 1 where it has no visibility, 0 for
 * "private". */
static int visibility_of(const spad__mlir *m, const spad__mlir_op *function) {
    const uint32_t at = spad__mlir_attribute(m, function, "sym_visibility");
    if (spad__mlir_is(m, function->name + 1, "public")) return 2;
    if (spad__mlir_is(m, function->name + 1, "private")) return 0;
    return at == 0 ? 1 : spad__mlir_is(m, at, "\"private\"") ? 0 : 2;
}

/* The next function of this visibility, from an operation of a region on; -1: none. */
static int32_t next_function(const spad__mlir *m, int32_t op, int visibility) {
    for (; op >= 0; op = m->ops.items[op].next) {
        const spad__mlir_op *o = &m->ops.items[op];
        if (!spad__mlir_named(m, o, "tt.func") || o->first_region < 0) continue;
        if (visibility_of(m, o) == visibility) return op;
    }
    return -1;
}

/* Several kernels in one text: no one of them is meant. */
static void refuse_functions(spad__ttgir *t, int32_t first, int32_t second, int visibility) {
    const spad__mlir *m = t->m;
    char names[160] = "";
    size_t used = 0, count = 0;
    for (int32_t op = first; op >= 0; op = next_function(m, m->ops.items[op].next, visibility)) {
        const uint32_t symbol = spad__ttgir_symbol(t, &m->ops.items[op]);
        const uint32_t shown = symbol != 0 ? symbol : m->ops.items[op].name;
        const uint32_t length = m->tokens.items[shown].length;
        if (count++ < 4) {
            used = spad__append(names, sizeof names, used, "%s%.*s", used > 0 ? ", " : "",
                                (int)(length < 32 ? length : 32), spad__mlir_text(m, shown));
        }
    }
    SPAD__MLIR_FAULT(m, m->ops.items[second].name,
                     "%zu public functions (%s%s): a text with one kernel is read; leave the "
                     "others out, or make them private",
                     count, names, count > 4 ? ", ..." : "");
}

/* The public function of a region, or the one of which nothing is said, or the first private one;
 * -1: none, or with a fault several. */
static int32_t ttgir_find_function(spad__ttgir *t, int32_t first) {
    for (int visibility = 2; visibility >= 0; visibility--) {
        const int32_t found = next_function(t->m, first, visibility);
        if (found < 0) continue;
        const int32_t second = next_function(t->m, t->m->ops.items[found].next, visibility);
        if (second < 0 || visibility == 0) return found;
        refuse_functions(t, found, second, visibility);
        return -1;
    }
    return -1;
}

static bool read_module(spad__ttgir *t, const spad__mlir_op *module, spad_ttgir_info *info,
                        char *chip, size_t size) {
    const spad__mlir *m = t->m;
    int64_t value;
    const uint32_t at = spad__mlir_attribute(m, module, "ttg.target");
    chip[0] = '\0';
    if (at != 0 && m->tokens.items[at].kind == SPAD__MLIR_STRING) {
        const char *text = spad__mlir_text(m, at) + 1;
        const size_t length = m->tokens.items[at].length - 2;
        if (length > 5 && memcmp(text, "cuda:", 5) == 0 && length - 5 < size - 3) {
            snprintf(chip, size, "sm_%.*s", (int)(length - 5), text + 5);
        } else if (t->options->target == NULL) {
            SPAD__MLIR_FAULT(t->m, at,
                             "a target of another vendor: only those of NVIDIA are known");
            return false;
        }
    }
    if (spad__mlir_number_of(m, module, "ttg.num-warps", &value) && value > 0 && value <= 64) {
        t->g->records.warps = value;
        t->module.warps_given = true;
    }
    if (spad__mlir_number_of(m, module, "ttg.num-ctas", &value) && value > 1) {
        t->g->cluster.declared = info->blocks = value;
    }
    if ((t->g->cluster.declared & (t->g->cluster.declared - 1)) != 0) {
        SPAD__MLIR_FAULT(t->m, spad__mlir_attribute(m, module, "ttg.num-ctas"),
                         "a cluster of %lld blocks, which is no power of 2",
                         (long long)t->g->cluster.declared);
        return false;
    }
    const uint32_t pairs = spad__mlir_attribute(m, module, "ttng.two-ctas");
    t->g->cluster.joint = pairs != 0;
    t->g->cluster.pairs =
        pairs != 0 && t->g->cluster.declared > 1 && spad__mlir_is(m, pairs, "true");
    if (spad__mlir_number_of(m, module, "ttg.shared", &value) && value >= 0) {
        info->shared_bytes = t->module.shared_bytes = value;
    }
    if (spad__mlir_number_of(m, module, "ttg.tensor_memory_size", &value)) {
        info->tensor_columns = value;
    }
    info->warps = t->g->records.warps;
    t->g->records.has_barriers = info->barriers = spad__ttgir_has_barriers(t, module);
    return true;
}

static bool name_is(const spad__mlir *m, uint32_t token, const char *name) {
    const size_t length = strlen(name); /* of "%K", or of a string */
    const size_t marks = m->tokens.items[token].kind == SPAD__MLIR_STRING ? 2 : 1;
    return m->tokens.items[token].length == length + marks &&
           memcmp(spad__mlir_text(m, token) + 1, name, length) == 0;
}

/* The value that the caller gives an argument, if one. */
static spad_status give_value(const spad__ttgir *t, uint32_t name, int bits,
                              spad__gpu_argument *argument, bool *used, spad_error *error) {
    for (size_t d = 0; d < t->options->define_count; d++) {
        const spad_define *define = &t->options->defines[d];
        const int64_t most = INT64_MAX >> (64 - bits);
        if (!name_is(t->m, name, define->name)) continue;
        if (define->value > most || define->value < -most - 1) {
            return spad__fail(error, SPAD_ERR_ARGUMENT, "%s is i%d: %lld is outside its range",
                              define->name, bits, (long long)define->value);
        }
        argument->given = used[d] = true;
        argument->value = define->value;
    }
    return SPAD_OK;
}

static spad_status ttgir_read_arguments(spad__ttgir *t, bool *used, spad_error *error) {
    const spad__mlir *m = t->m;
    const spad__mlir_region *r = &m->regions.items[m->ops.items[t->function].first_region];
    if (!spad__array_reserve(t->g->host, &t->g->arguments, r->argument_count)) {
        return spad__fail_host_memory(error);
    }
    for (uint32_t i = 0; i < r->argument_count; i++) {
        const spad__mlir_value *value = &m->values.items[m->arguments.items[r->first_argument + i]];
        const int bits = spad__ttgir_integer_bits(m, value->type);
        const uint32_t name = spad__ttgir_argument_name(t, value);
        spad__gpu_argument argument = {.integer = bits > 0, .value = TTGIR_SIZE};
        spad__ttgir_word_name(t, name, argument.name);
        if (bits > 0) SPAD__GPU_TRY(give_value(t, name, bits, &argument, used, error));
        t->g->arguments.items[t->g->arguments.count++] = argument;
    }
    return SPAD_OK;
}

/* Which block of the grid: values with names of their own, unless an argument has the name. */
static void ttgir_read_program(spad__ttgir *t, bool *used) {
    const struct {
        const char *name;
        int64_t *value;
    } places[] = {{"program_id_x", &t->g->grid.block[0]}, {"program_id_y", &t->g->grid.block[1]},
                  {"program_id_z", &t->g->grid.block[2]}, {"program_id", &t->g->grid.block[0]},
                  {"num_programs", &t->g->grid.size},     {"clc_tiles", &t->g->grid.tiles}};
    for (size_t d = 0; d < t->options->define_count; d++) {
        for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
            const spad_define *define = &t->options->defines[d];
            if (used[d] || define->value < 0 || strcmp(define->name, places[i].name) != 0) continue;
            used[d] = true;
            *places[i].value = define->value;
        }
    }
}

/* ---- passes -------------------------------------------------------------------------- */

static void begin_pass(spad__ttgir *t, spad__gpu_mode mode) {
    spad__gpu_begin_pass(t->g, mode);
    t->calls.sites.count = 0;
    t->calls.current = 0;
    t->calls.shared_base = t->calls.count = 0;
    t->calls.depth = 0;
    t->loops.iterations_run = 0;
    t->loops.steady_end = t->loops.steady_call = 0;
}

static void free_text(spad__ttgir *t) {
    spad__array_free(t->g->host, &t->values);
    spad__array_free(t->g->host, &t->uses.used);
    spad__array_free(t->g->host, &t->uses.loaded);
    spad__array_free(t->g->host, &t->uses.givers);
    spad__array_free(t->g->host, &t->uses.origins);
    spad__array_free(t->g->host, &t->bounds);
    spad__array_free(t->g->host, &t->calls.functions);
    spad__array_free(t->g->host, &t->calls.sites);
}

/* The name of the kernel: the function's. */
static void function_name(const spad__ttgir *t, char *name) {
    const uint32_t symbol = spad__ttgir_symbol(t, &t->m->ops.items[t->function]);
    name[0] = '\0';
    if (symbol != 0) spad__ttgir_word_name(t, symbol, name);
    if (name[0] == '\0') strcpy(name, "kernel_of_triton");
}

static long line_of_op(const spad__ttgir *t, int32_t op) {
    return (long)t->m->tokens.items[t->m->ops.items[op].name].line;
}

/* Adds a sentence about the line of an operation, where there is one. */
static size_t append_line(const spad__ttgir *t, char *text, size_t size, size_t used, int32_t op,
                          const char *before, const char *after) {
    if (op < 0) return used;
    return spad__append(text, size, used, "%s%s in line %ld%s", used > 0 ? ", " : "", before,
                        line_of_op(t, op), after);
}

/* The same for the site of an assumption. */
static size_t append_assumed(const spad__ttgir *t, char *text, size_t size, size_t used,
                             spad__gpu_assumption what, const char *before, const char *after) {
    return append_line(t, text, size, used, t->g->assumptions.sites[what], before, after);
}

/* The conditions that are assumed to be the same in each iteration. */
static size_t append_repeated(const spad__ttgir *t, char *text, size_t size, size_t used) {
    const spad__gpu_assumptions *a = &t->g->assumptions;
    if (a->repeated_count == 0) return used;
    if (a->repeated_count == 1) {
        return append_line(t, text, size, used, a->repeated[0], "the condition",
                           " is the same in each round");
    }
    return spad__append(text, size, used,
                        "%sthe conditions in line %ld and line %ld%s are the same in each round",
                        used > 0 ? ", " : "", line_of_op(t, a->repeated[0]),
                        line_of_op(t, a->repeated[1]), a->repeated_count > 2 ? " and others" : "");
}

/* What data decides, and the kernel has in one way only: other executions of the program are not in
 * it. Returns the length of the text. */
static size_t list_assumptions(const spad__ttgir *t, char *text, size_t size) {
    char loaded[80];
    size_t used = 0;
    text[0] = '\0';
    if (t->g->assumptions.sites[SPAD__ASSUME_TILES] >= 0) {
        used = spad__append(text, size, used,
                            "cluster launch control hands out %lld tiles (clc_tiles)",
                            (long long)t->g->grid.tiles);
    }
    used = append_assumed(t, text, size, used, SPAD__ASSUME_TRIPS, "the loop",
                          " has the same number of rounds each time");
    used = append_assumed(t, text, size, used, SPAD__ASSUME_WHOLE_STEPS, "the loop",
                          " has whole steps from 0 on");
    used = append_repeated(t, text, size, used);
    used = append_assumed(t, text, size, used, SPAD__ASSUME_LOAD_REPEATS, "the load",
                          " has the same value as other loads of its place");
    spad__ttgir_list_loaded(t, loaded, sizeof loaded);
    if (loaded[0] == '\0') return used;
    return spad__append(text, size, used, "%sloads of %s have the given value each time",
                        used > 0 ? ", " : "", loaded);
}

/* These, and what is left out and changes no verdict. */
static void list_approximations(const spad__ttgir *t, spad_ttgir_info *info) {
    char *text = info->approximated;
    const size_t size = sizeof info->approximated;
    size_t used = list_assumptions(t, text, size);
    used = append_assumed(t, text, size, used, SPAD__ASSUME_LOAD_UNREAD, "the load",
                          " is left out where its product is");
    append_assumed(t, text, size, used, SPAD__ASSUME_NO_EARLY_RETURN, "the return",
                   " is not taken");
}

/* The builder of the kernel, with what holds for all of it. `used`: values of the caller that are
 * not parameters. */
static spad_status begin_kernel(spad__ttgir *t, const bool *used, spad_error *error) {
    char name[SPAD__GPU_NAME], about[160], assumption[200];
    spad_define defines[DEFINES];
    spad_kernel_options options = *t->options;
    spad__kernel_builder **builder = &t->g->emission.builder;
    options.defines = defines;
    options.define_count = 0;
    for (size_t i = 0; i < t->options->define_count; i++) {
        if (!used[i]) defines[options.define_count++] = t->options->defines[i];
    }
    function_name(t, name);
    snprintf(about, sizeof about, "from Triton%s",
             spad__gpu_is_concrete(t->g) ? "; run with its sizes, without loops" : "");
    SPAD__GPU_TRY(spad__kernel_builder_create(builder, name, about, t->g->target, &options, error));
    if (list_assumptions(t, assumption, sizeof assumption) > 0) {
        SPAD__GPU_TRY(spad__kernel_builder_assume(*builder, assumption, error));
    }
    if (t->uncounted[0] != '\0') {
        SPAD__GPU_TRY(spad__kernel_builder_uncounted(*builder, t->uncounted, error));
    }
    if (t->compiler[0] != '\0') {
        SPAD__GPU_TRY(spad__kernel_builder_compiler(*builder, t->compiler, error));
    }
    if (!t->module.warps_given || t->g->cluster.count > 1) return SPAD_OK;
    /* of a cluster only agents have threads */
    const spad_amount threads = {.value = t->g->records.warps * SPAD__GPU_WARP};
    return spad__kernel_builder_threads(*builder, threads, (spad_amount){0}, error);
}

static spad_status one_pass(spad__ttgir *t, spad__gpu_mode mode, spad_kernel **out,
                            const bool *used, spad_error *error) {
    begin_pass(t, mode);
    if (!spad__ttgir_run(t)) return SPAD_ERR_SYNTAX;
    SPAD__GPU_TRY(begin_kernel(t, used, error));
    return spad__gpu_emit(t->g, out, t->m->ops.count, t->m->source->file, error);
}

/* Sizes that decide something and were not given. */
static void list_assumed(const spad__ttgir *t, spad_ttgir_info *info) {
    uint64_t matter = t->g->emission.used_arguments;
    size_t used = 0;
    for (size_t i = 0; i < t->g->emission.params.count; i++)
        matter |= t->g->emission.params.items[i].arguments;
    for (size_t i = 0; i < t->g->arguments.count && i < 63; i++) {
        const spad__gpu_argument *argument = &t->g->arguments.items[i];
        if (!argument->integer || argument->given || !(matter >> i & 1)) continue;
        const int length = snprintf(info->assumed + used, sizeof info->assumed - used, "%s%s = %d",
                                    used > 0 ? ", " : "", argument->name, TTGIR_SIZE);
        if (length < 0 || (size_t)length >= sizeof info->assumed - used) break;
        used += (size_t)length;
    }
}

/* How many operations have scratch memory whose size is not in the text, and what is known. */
static void list_scratch(const spad__ttgir *t, spad_ttgir_info *info) {
    size_t computed = 0, unknown = 0;
    const spad__mlir_token *first = NULL;
    for (size_t i = 0; i < t->g->memory.buffers.count; i++) {
        const spad__gpu_buffer *b = &t->g->memory.buffers.items[i];
        if (b->role == SPAD__GPU_SCRATCH && b->computed && b->rank > 0) computed++;
        if (b->role != SPAD__GPU_SCRATCH || b->rank > 0 || unknown++ > 0) continue;
        first = &t->m->tokens.items[t->m->ops.items[b->site].name];
    }
    char counted[80] = "", missing[sizeof info->scratch - sizeof counted] = "";
    if (computed > 0) {
        snprintf(counted, sizeof counted, "%zu sized by %s layouts", computed,
                 computed > 1 ? "their" : "its");
    }
    if (unknown > 0) {
        const int length = first->length < 40 ? (int)first->length : 40;
        snprintf(missing, sizeof missing, "%s%zu not counted, the first is %.*s in line %ld",
                 computed > 0 ? ", " : "", unknown, length, t->m->source->text + first->start,
                 (long)first->line);
    }
    snprintf(info->scratch, sizeof info->scratch, "%s%s", counted, missing);
}

/* Work that the program skips with these sizes. */
static void list_skipped(const spad__ttgir *t, spad_ttgir_info *info) {
    size_t used = 0;
    used = append_assumed(t, info->skipped, sizeof info->skipped, used, SPAD__ASSUME_RETURN,
                          "the program returns", "");
    append_assumed(t, info->skipped, sizeof info->skipped, used, SPAD__ASSUME_NO_ITERATIONS,
                   "the loop", " has no rounds");
}

static bool is_unresolved(const spad__ttgir *t, spad_status status) {
    return status != SPAD_OK && t->g->outcome == SPAD__GPU_UNRESOLVED &&
           !t->g->scalars.out_of_memory;
}

static spad_status refuse_data(spad__ttgir *t, int32_t op, const char *why) {
    char names[120];
    t->g->site = op;
    spad__ttgir_list_loads(t, names, sizeof names);
    if (names[0] == '\0') {
        spad__gpu_fail(t->g, "%s: only a run on the device knows it", why);
    } else {
        spad__gpu_fail(
            t->g, "%s: only a run on the device knows it; with -D NAME=N loads have a value: %s",
            why, names);
    }
    return SPAD_ERR_SYNTAX;
}

/* With numbers; where data decides even then, with any trip counts, and at last with ends of loops
 * that are whole steps away. */
static spad_status concrete_pass(spad__ttgir *t, spad_kernel **out, spad_ttgir_info *info,
                                 const bool *used, spad_error *error) {
    char why[sizeof t->g->unresolved];
    spad_status status = one_pass(t, SPAD__GPU_CONCRETE, out, used, error);
    info->unrolled = true;
    if (!is_unresolved(t, status)) return status;
    const int32_t op = t->g->unresolved_site;
    memcpy(why, t->g->unresolved, sizeof why);
    if (t->concrete_only) return refuse_data(t, op, why);
    info->unrolled = false;
    status = one_pass(t, SPAD__GPU_ANY_ITERATIONS, out, used, error);
    if (!is_unresolved(t, status)) return status;
    if (!spad__ttgir_find_bounds(t)) return spad__fail_host_memory(error);
    status = one_pass(t, SPAD__GPU_WHOLE_STEPS, out, used, error);
    return is_unresolved(t, status) ? refuse_data(t, op, why) : status;
}

/* With expressions; if something has none, with numbers. */
static spad_status all_passes(spad__ttgir *t, spad_kernel **out, spad_ttgir_info *info,
                              const bool *used, spad_error *error) {
    if (t->concrete_only) return concrete_pass(t, out, info, used, error);
    spad_status status = one_pass(t, SPAD__GPU_SYMBOLIC, out, used, error);
    if (is_unresolved(t, status)) {
        snprintf(info->reason, sizeof info->reason, "%s, in line %ld", t->g->unresolved,
                 line_of_op(t, t->g->unresolved_site));
        list_assumed(t, info);
        status = concrete_pass(t, out, info, used, error);
        if (!info->unrolled) info->reason[0] = '\0';
    }
    info->placed = t->g->memory.placed;
    if (status != SPAD_OK) return status;
    list_scratch(t, info);
    list_approximations(t, info);
    list_skipped(t, info);
    if (info->assumed[0] == '\0') list_assumed(t, info);
    return SPAD_OK;
}

/* A size has a name that no argument has: those that do are listed. */
static spad_status list_sizes(const spad__ttgir *t, spad_error *error) {
    char names[160] = "", message[160];
    size_t used = 0;
    if (error == NULL) return SPAD_ERR_UNKNOWN;
    for (size_t i = 0; i < t->g->arguments.count; i++) {
        if (!t->g->arguments.items[i].integer) continue;
        used = spad__append(names, sizeof names, used, "%s%s", used > 0 ? ", " : "",
                            t->g->arguments.items[i].name);
    }
    if (names[0] == '\0') return SPAD_ERR_UNKNOWN;
    spad__append(message, sizeof message, 0, "%s", error->message);
    return spad__fail(error, SPAD_ERR_UNKNOWN, "%s; sizes of the function are %s", message, names);
}

/* The module, with its function in t; NULL: a fault, or no memory. */
static const spad__mlir_op *find_module(spad__ttgir *t) {
    spad__mlir *m = t->m;
    int32_t module = m->first_op;
    while (module >= 0 && !spad__mlir_named(m, &m->ops.items[module], "module") &&
           !spad__mlir_named(m, &m->ops.items[module], "builtin.module")) {
        module = m->ops.items[module].next;
    }
    if (module < 0 || m->ops.items[module].first_region < 0) {
        SPAD__MLIR_FAULT(m, 0, "no module: expected TTGIR, as Triton prints it");
        return NULL;
    }
    if (!spad__ttgir_is_new_dialect(t)) return NULL;
    const spad__mlir_region *body = &m->regions.items[m->ops.items[module].first_region];
    t->function = ttgir_find_function(t, body->first_op);
    if (!spad__ttgir_list_functions(t, body->first_op)) {
        m->out_of_memory = true;
        return NULL;
    }
    if (t->function < 0) {
        if (spad_diagnostics_count(m->diagnostics) > 0) return NULL;
        SPAD__MLIR_FAULT(m, m->ops.items[module].name,
                         "a module without a function of Triton ('tt.func')");
        return NULL;
    }
    if (!spad__ttgir_is_not_ttir(t)) return NULL;
    return &m->ops.items[module];
}

/* The chip of the caller, or the one that the module names. */
static spad_status set_target(spad__ttgir *t, const spad__mlir_op *module, const char *chip,
                              spad_error *error) {
    size_t engine, space;
    if (t->options->target == NULL) {
        if (chip[0] == '\0') {
            SPAD__MLIR_FAULT(t->m, module->name, "no chip: 'ttg.target' is missing; name one");
            return SPAD_ERR_SYNTAX;
        }
        const spad_status found = spad_target_find(&t->g->target, chip, error);
        if (found != SPAD_OK) return found;
    }
    if (spad_target_find_space(&space, t->g->target, "registers", NULL) != SPAD_OK) return SPAD_OK;
    t->g->registers = SPAD__GPU_THREAD_REGISTERS;
    if (spad__target_find_engine(&engine, t->g->target, "tensor", NULL) == SPAD_OK &&
        (t->g->target->engines[engine].writes >> space & 1) != 0) {
        t->g->registers = SPAD__GPU_MATRIX_REGISTERS;
    }
    return SPAD_OK;
}

static spad_status convert(spad__ttgir *t, spad_kernel **out, spad_ttgir_info *info,
                           spad_error *error) {
    char chip[32];
    bool used[DEFINES] = {false};
    const spad__mlir_op *module = find_module(t);
    if (module == NULL) return SPAD_ERR_SYNTAX;
    if (!read_module(t, module, info, chip, sizeof chip)) return SPAD_ERR_SYNTAX;
    spad__ttgir_find_compiler(t, module, t->compiler, sizeof t->compiler);
    const spad_status targeted = set_target(t, module, chip, error);
    if (targeted != SPAD_OK) return targeted;
    const spad_status read = ttgir_read_arguments(t, used, error);
    if (read != SPAD_OK) return read;
    if (!spad__ttgir_find_uses(t) || !spad__ttgir_find_origins(t) || !spad__ttgir_find_loaded(t)) {
        return spad__fail_host_memory(error);
    }
    spad__ttgir_list_uncounted(t, t->uncounted, sizeof t->uncounted);
    t->g->cluster.count = spad__ttgir_count_ranks(t);
    info->together = t->g->cluster.count > 1;
    ttgir_read_program(t, used);
    spad__ttgir_read_loaded(t, used);
    const spad_status status = all_passes(t, out, info, used, error);
    return status == SPAD_ERR_UNKNOWN ? list_sizes(t, error) : status;
}

/* ---- the call ------------------------------------------------------------------------ */

/* A use of a text that has been read. */
typedef spad_status ttgir_reader(spad__ttgir *t, void *context, spad_error *error);

static spad_status read_mlir_text(const spad__source *source, const spad_kernel_options *options,
                                  bool numbers, spad_diagnostics *diagnostics, ttgir_reader *read,
                                  void *context, spad_error *error) {
    const spad_host host = spad__host_or_default(options->host);
    spad__mlir m = {.host = &host, .source = source, .diagnostics = diagnostics};
    spad__gpu g = {.host = &host,
                   .target = options->target,
                   .grid = {.size = PROGRAMS, .tiles = SPAD__GPU_TRIPS_OF_DATA},
                   .records.warps = 4,
                   .cluster = {.declared = 1, .count = 1}};
    spad__ttgir t = {
        .g = &g, .m = &m, .options = options, .concrete_only = numbers, .module.shared_bytes = -1};
    g.text = spad__ttgir_text(&t);
    spad__diagnostics_begin(diagnostics, source);
    spad_status status = SPAD_OK;
    if (!spad__mlir_read(&m)) status = spad__fail_host_memory(error);
    if (status == SPAD_OK && spad_diagnostics_count(diagnostics) == 0) {
        status = read(&t, context, error);
        if (m.out_of_memory || g.scalars.out_of_memory) status = spad__fail_host_memory(error);
    }
    free_text(&t);
    spad__gpu_free(&g);
    spad__mlir_free(&m);
    if (status != SPAD_OK && status != SPAD_ERR_SYNTAX) return status;
    return spad__diagnostics_end(diagnostics, error);
}

typedef struct kernel_of_text {
    spad_kernel **out;
    spad_ttgir_info *info;
} kernel_of_text;

static spad_status read_kernel_of_text(spad__ttgir *t, void *context, spad_error *error) {
    const kernel_of_text *made = context;
    return convert(t, made->out, made->info, error);
}

spad_status spad__ttgir_read(spad_kernel **out, spad_ttgir_info *info, const spad__source *source,
                             const spad_kernel_options *options, bool numbers,
                             spad_diagnostics *diagnostics, spad_error *error) {
    kernel_of_text made = {out, info};
    return read_mlir_text(source, options, numbers, diagnostics, read_kernel_of_text, &made, error);
}

/* ---- tiles ----------------------------------------------------------------------------- */

typedef struct tiles_of_text {
    spad_ttgir_tile *tiles;
    size_t room;
    size_t *count;
    int64_t blocks;
} tiles_of_text;

static spad_status read_tiles_of_text(spad__ttgir *t, void *context, spad_error *error) {
    const tiles_of_text *made = context;
    bool used[DEFINES] = {false};
    if (find_module(t) == NULL) return SPAD_ERR_SYNTAX;
    SPAD__GPU_TRY(ttgir_read_arguments(t, used, error));
    return spad__ttgir_find_tiles(t, made->blocks, made->tiles, made->room, made->count, error);
}

/* A text that is too long, or values that are too many. */
static spad_status check_text_size(size_t length, const spad_kernel_options *options,
                                   spad_error *error) {
    if (length > (size_t)SPAD__MLIR_MIB << 20) {
        return spad__fail(error, SPAD_ERR_ARGUMENT,
                          "%zu MiB of TTGIR: at most %d are read; a kernel has less than one",
                          length >> 20, SPAD__MLIR_MIB);
    }
    if (options->define_count > DEFINES)
        return spad__fail(error, SPAD_ERR_ARGUMENT, "more than %d values", DEFINES);
    return SPAD_OK;
}

/* read_mlir_text of a text whose faults are one error. */
static spad_status with_own_diagnostics(const char *text, size_t length,
                                        const spad_kernel_options *options, ttgir_reader *read,
                                        void *context, spad_error *error) {
    spad_diagnostics *diagnostics;
    spad_status status = check_text_size(length, options, error);
    if (status == SPAD_OK) status = spad_diagnostics_create(&diagnostics, options->host, error);
    if (status != SPAD_OK) return status;
    const spad__source source = {
        .file = "<text>", .text = length > 0 ? text : "", .length = length};
    status = read_mlir_text(&source, options, false, diagnostics, read, context, error);
    spad_diagnostics_destroy(diagnostics);
    return status;
}

spad_status spad_ttgir_read_tiles(spad_ttgir_tile *tiles, size_t room, size_t *count,
                                  const char *text, size_t length, int64_t blocks,
                                  const spad_kernel_options *options, spad_error *error) {
    spad_kernel_options o;
    tiles_of_text made = {tiles, room, count, blocks};
    *count = 0;
    const spad_status status = SPAD__COPY_OPTIONS(&o, options, error);
    if (status != SPAD_OK) return status;
    return with_own_diagnostics(text, length, &o, read_tiles_of_text, &made, error);
}

/* ---- sources --------------------------------------------------------------------------- */

typedef struct source_of_text {
    char *file;
    size_t size;
    int32_t *source_line;
    int32_t line;
} source_of_text;

static spad_status find_source_of_text(spad__ttgir *t, void *context, spad_error *error) {
    const source_of_text *made = context;
    (void)error;
    for (size_t i = 0; i < t->m->ops.count && made->file[0] == '\0'; i++) {
        const spad__mlir_op *op = &t->m->ops.items[i];
        const uint32_t at = spad__mlir_location(t->m, op);
        if (t->m->tokens.items[op->name].line != made->line || at == 0) continue;
        const spad__ttgir_place place = spad__ttgir_place_at(t, at + 1);
        if (place.file == 0) continue;
        const int length = (int)t->m->tokens.items[place.file].length - 2; /* its quotes */
        snprintf(made->file, made->size, "%.*s", length, spad__mlir_text(t->m, place.file) + 1);
        *made->source_line = place.line;
    }
    return SPAD_OK;
}

spad_status spad_ttgir_find_source(char *file, size_t size, int32_t *source_line, const char *text,
                                   size_t length, int32_t line, const spad_host *host,
                                   spad_error *error) {
    source_of_text made = {file, size, source_line, line};
    const spad_kernel_options options = {.host = host};
    file[0] = '\0';
    *source_line = 0;
    const spad_status status =
        with_own_diagnostics(text, length, &options, find_source_of_text, &made, error);
    return status == SPAD_ERR_SYNTAX ? SPAD_OK : status;
}

/* ---- barriers -------------------------------------------------------------------------- */

typedef struct barriers_of_text {
    const spad_ttgir_meeting *meetings;
    size_t count;
    const spad_sink *sink;
} barriers_of_text;

static spad_status write_barriers_of_text(spad__ttgir *t, void *context, spad_error *error) {
    const barriers_of_text *made = context;
    const spad__mlir_op *module = find_module(t);
    if (module == NULL) return SPAD_ERR_SYNTAX;
    return spad__ttgir_write_barriers(t, module, made->meetings, made->count, made->sink, error);
}

spad_status spad_ttgir_write_barriers(const char *text, size_t length,
                                      const spad_ttgir_meeting *meetings, size_t count,
                                      const spad_sink *sink, const spad_host *host,
                                      spad_error *error) {
    barriers_of_text made = {meetings, count, sink};
    const spad_kernel_options options = {.host = host};
    return with_own_diagnostics(text, length, &options, write_barriers_of_text, &made, error);
}

/* ---- the kernel ------------------------------------------------------------------------ */

spad_status spad_kernel_read_ttgir(spad_kernel **out, spad_ttgir_info *info, const char *text,
                                   size_t length, const char *file,
                                   const spad_kernel_options *options,
                                   spad_diagnostics *diagnostics, spad_error *error) {
    spad_kernel_options o;
    spad_ttgir_info unwanted;
    spad_diagnostics *own = NULL;
    *out = NULL;
    if (info == NULL) info = &unwanted;
    *info = (spad_ttgir_info){.shared_bytes = -1, .tensor_columns = -1, .blocks = 1};
    spad_status status = SPAD__COPY_OPTIONS(&o, options, error);
    if (status == SPAD_OK) status = check_text_size(length, &o, error);
    if (status != SPAD_OK) return status;
    if (diagnostics == NULL) {
        status = spad_diagnostics_create(&own, o.host, error);
        if (status != SPAD_OK) return status;
        diagnostics = own;
    }
    const spad__source source = {
        .file = file != NULL ? file : "<text>", .text = length > 0 ? text : "", .length = length};
    status = spad__ttgir_read(out, info, &source, &o, false, diagnostics, error);
    spad_diagnostics_destroy(own);
    return status;
}
