/* SPDX-License-Identifier: Apache-2.0
 *
 * The reader of TTGIR: the module, its function and the sizes, and which of two ways to take.
 */
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "kernel/kernel.h"
#include "read/ttgir.h"

enum { TTGIR_SIZE = 4096, PROGRAMS = 128, DEFINES = SPAD__TTGIR_DEFINES };

/* ---- what it is ---------------------------------------------------------------------- */

/* The first word that is no alias, in the first lines of a text. */
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

/* How a function is seen from outside: 2 for "public", 1 where nothing is said, 0 for "private". */
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
        t->warps = value;
        t->warps_given = true;
    }
    if (spad__mlir_number_of(m, module, "ttg.num-ctas", &value) && value > 1) {
        t->blocks = info->blocks = value;
    }
    if ((t->blocks & (t->blocks - 1)) != 0) {
        SPAD__MLIR_FAULT(t->m, spad__mlir_attribute(m, module, "ttg.num-ctas"),
                         "a cluster of %lld blocks, which is no power of 2", (long long)t->blocks);
        return false;
    }
    const uint32_t pairs = spad__mlir_attribute(m, module, "ttng.two-ctas");
    t->shared_barriers = pairs != 0;
    t->pairs = pairs != 0 && t->blocks > 1 && spad__mlir_is(m, pairs, "true");
    if (spad__mlir_number_of(m, module, "ttg.shared", &value) && value >= 0) {
        info->shared_bytes = t->shared_bytes = value;
    }
    if (spad__mlir_number_of(m, module, "ttg.tensor_memory_size", &value)) {
        info->tensor_columns = value;
    }
    info->warps = t->warps;
    t->meets = info->barriers = spad__ttgir_has_barriers(t, module);
    return true;
}

static bool name_is(const spad__mlir *m, uint32_t token, const char *name) {
    const size_t length = strlen(name); /* of "%K", or of a string */
    const size_t marks = m->tokens.items[token].kind == SPAD__MLIR_STRING ? 2 : 1;
    return m->tokens.items[token].length == length + marks &&
           memcmp(spad__mlir_text(m, token) + 1, name, length) == 0;
}

/* The value that the caller gives an argument, if one. */
static spad_status give_value(spad__ttgir *t, int bits, spad__ttgir_argument *argument, bool *used,
                              spad_error *error) {
    for (size_t d = 0; d < t->options->define_count; d++) {
        const spad_define *define = &t->options->defines[d];
        const int64_t most = INT64_MAX >> (64 - bits);
        if (!name_is(t->m, argument->name, define->name)) continue;
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
    if (!spad__array_reserve(t->host, &t->arguments, r->argument_count)) {
        return spad__fail_host_memory(error);
    }
    for (uint32_t i = 0; i < r->argument_count; i++) {
        const spad__mlir_value *value = &m->values.items[m->arguments.items[r->first_argument + i]];
        const int bits = spad__ttgir_integer_bits(m, value->type);
        spad__ttgir_argument argument = {
            .name = spad__ttgir_argument_name(t, value), .integer = bits > 0, .value = TTGIR_SIZE};
        const spad_status given = bits > 0 ? give_value(t, bits, &argument, used, error) : SPAD_OK;
        if (given != SPAD_OK) return given;
        t->arguments.items[t->arguments.count++] = argument;
    }
    return SPAD_OK;
}

/* Which block of the grid: values with names of their own, unless an argument has the name. */
static void ttgir_read_program(spad__ttgir *t, bool *used) {
    const struct {
        const char *name;
        int64_t *value;
    } places[] = {{"program_id_x", &t->program[0]}, {"program_id_y", &t->program[1]},
                  {"program_id_z", &t->program[2]}, {"program_id", &t->program[0]},
                  {"num_programs", &t->programs},   {"clc_tiles", &t->handed_out}};
    for (size_t d = 0; d < t->options->define_count; d++) {
        for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
            const spad_define *define = &t->options->defines[d];
            if (used[d] || define->value < 0 || strcmp(define->name, places[i].name) != 0) continue;
            used[d] = true;
            *places[i].value = define->value;
        }
    }
}

/* ---- the two ways -------------------------------------------------------------------- */

static void begin_pass(spad__ttgir *t, bool run) {
    spad__scalars_free(&t->scalars);
    t->scalars = (spad__scalars){.host = t->host, .run = run};
    for (size_t i = 0; i < t->names.count; i++) {
        spad__free(t->host, t->names.items[i], SPAD__TTGIR_NAME);
    }
    t->names.count = t->buffers.count = t->notes.count = t->accesses.count = 0;
    t->maps.count = 0;
    t->params.count = t->agents.count = t->rounds.count = t->calls.count = 0;
    spad__index_clear(&t->buffer_index);
    t->run = run;
    t->unclear = t->has_offsets = t->dry = false;
    t->regions = t->loops = t->depth = t->call_depth = 0;
    t->call = 0;
    t->inner_op = t->left_op = t->ended_op = t->steps_op = t->unread_op = -1;
    t->again_op = t->same_op = t->empty_op = t->handed_op = -1;
    t->retired = 0;
    t->unknown_count = 0;
    t->steady_end = t->steady_call = 0;
    t->call_base = t->call_count = t->rounds_run = 0;
    t->used_arguments = 0;
    t->register_bytes = 0;
}

static void free_all(spad__ttgir *t) {
    begin_pass(t, false);
    spad__array_free(t->host, &t->values);
    spad__array_free(t->host, &t->used);
    spad__array_free(t->host, &t->givers);
    spad__array_free(t->host, &t->origins);
    spad__array_free(t->host, &t->bounds);
    spad__array_free(t->host, &t->functions);
    spad__array_free(t->host, &t->calls);
    spad__index_free(&t->buffer_index, t->host);
    spad__array_free(t->host, &t->buffers);
    spad__array_free(t->host, &t->notes);
    spad__array_free(t->host, &t->accesses);
    spad__array_free(t->host, &t->maps);
    spad__array_free(t->host, &t->params);
    spad__array_free(t->host, &t->arguments);
    spad__array_free(t->host, &t->agents);
    spad__array_free(t->host, &t->rounds);
    spad__array_free(t->host, &t->names);
    spad__scalars_free(&t->scalars);
    spad_kernel_builder_destroy(t->builder);
}

/* A name for the kernel: that of the function. */
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

/* What data decides, and the kernel has in one way only: executions of the program that are others
 * are not in it. Returns the length of the text. */
static size_t list_assumptions(const spad__ttgir *t, char *text, size_t size) {
    char loaded[80];
    size_t used = 0;
    text[0] = '\0';
    if (t->handed_op >= 0) {
        used = spad__append(text, size, used,
                            "cluster launch control hands out %lld tiles (clc_tiles)",
                            (long long)t->handed_out);
    }
    used = append_line(t, text, size, used, t->inner_op, "the loop",
                       " has the same number of rounds each time");
    used = append_line(t, text, size, used, t->steps_op, "the loop", " has whole steps from 0 on");
    used =
        append_line(t, text, size, used, t->same_op, "the condition", " is the same in each round");
    used = append_line(t, text, size, used, t->again_op, "the load",
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
    used = append_line(t, text, size, used, t->unread_op, "the load",
                       " is left out where its product is");
    append_line(t, text, size, used, t->left_op, "the return", " is not taken");
}

static spad_status one_pass(spad__ttgir *t, bool run, spad_kernel **out, const bool *used,
                            spad_error *error) {
    char name[SPAD__TTGIR_NAME], about[160], assumption[200];
    spad_define defines[DEFINES];
    spad_kernel_options options = *t->options;
    begin_pass(t, run);
    if (!spad__ttgir_run(t)) return SPAD_ERR_SYNTAX;
    options.defines = defines;
    options.define_count = 0;
    for (size_t i = 0; i < t->options->define_count; i++) {
        if (!used[i]) defines[options.define_count++] = t->options->defines[i];
    }
    function_name(t, name);
    snprintf(about, sizeof about, "from Triton%s",
             run ? "; run with its sizes, without loops" : "");
    spad_kernel_builder_destroy(t->builder);
    t->builder = NULL;
    const spad_status made =
        spad_kernel_builder_create(&t->builder, name, about, t->target, &options, error);
    if (made != SPAD_OK) return made;
    if (list_assumptions(t, assumption, sizeof assumption) > 0) {
        const spad_status assumed = spad_kernel_builder_assume(t->builder, assumption, error);
        if (assumed != SPAD_OK) return assumed;
    }
    const spad_status emitted = spad__ttgir_emit(t, out, t->m->source->file, error);
    if (emitted == SPAD_OK && t->warps_given) {
        (*out)->main_threads = t->warps * t->target->limits.warp;
    }
    return emitted;
}

/* Sizes that decide something and were not given. */
static void list_assumed(const spad__ttgir *t, spad_ttgir_info *info) {
    uint64_t matter = t->used_arguments;
    size_t used = 0;
    for (size_t i = 0; i < t->params.count; i++) matter |= t->params.items[i].arguments;
    for (size_t i = 0; i < t->arguments.count && i < 63; i++) {
        char name[SPAD__TTGIR_NAME];
        const spad__ttgir_argument *argument = &t->arguments.items[i];
        if (!argument->integer || argument->given || !(matter >> i & 1)) continue;
        spad__ttgir_word_name(t, argument->name, name);
        const int length = snprintf(info->assumed + used, sizeof info->assumed - used, "%s%s = %d",
                                    used > 0 ? ", " : "", name, TTGIR_SIZE);
        if (length < 0 || (size_t)length >= sizeof info->assumed - used) break;
        used += (size_t)length;
    }
}

/* How many operations have scratch memory whose size is not in the text, and what is known. */
static void list_scratch(const spad__ttgir *t, spad_ttgir_info *info) {
    size_t computed = 0, unknown = 0;
    const spad__mlir_token *first = NULL;
    for (size_t i = 0; i < t->buffers.count; i++) {
        const spad__ttgir_buffer *b = &t->buffers.items[i];
        if (b->scratch && b->computed && b->rank > 0) computed++;
        if (!b->scratch || b->rank > 0 || unknown++ > 0) continue;
        first = &t->m->tokens.items[t->m->ops.items[b->op].name];
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

/* What the program leaves out with these sizes. */
static void list_skipped(const spad__ttgir *t, spad_ttgir_info *info) {
    size_t used = 0;
    used = append_line(t, info->skipped, sizeof info->skipped, used, t->ended_op,
                       "the program returns", "");
    append_line(t, info->skipped, sizeof info->skipped, used, t->empty_op, "the loop",
                " has no rounds");
}

static bool is_unclear(const spad__ttgir *t, spad_status status) {
    return status != SPAD_OK && t->unclear && !t->failed && !t->scalars.out_of_memory;
}

/* With numbers; where data decides even then, with any number of rounds, and at last with ends of
 * loops that are whole steps away. */
static spad_status run_pass(spad__ttgir *t, spad_kernel **out, spad_ttgir_info *info,
                            const bool *used, spad_error *error) {
    char why[sizeof t->unclear_why];
    spad_status status = one_pass(t, true, out, used, error);
    info->unrolled = true;
    if (!is_unclear(t, status)) return status;
    const int32_t op = t->unclear_op;
    memcpy(why, t->unclear_why, sizeof why);
    if (!t->numbers) {
        t->any_rounds = true;
        status = one_pass(t, false, out, used, error);
        info->unrolled = false;
        if (!is_unclear(t, status)) return status;
        if (!spad__ttgir_find_bounds(t)) return spad__fail_host_memory(error);
        status = one_pass(t, false, out, used, error);
        if (!is_unclear(t, status)) return status;
    }
    char names[120];
    t->op = op;
    spad__ttgir_list_loads(t, names, sizeof names);
    if (names[0] == '\0') {
        SPAD__TTGIR_FAULT(t, "%s: only a run on the device knows it", why);
    } else {
        SPAD__TTGIR_FAULT(
            t, "%s: only a run on the device knows it; with -D NAME=N loads have a value: %s", why,
            names);
    }
    return SPAD_ERR_SYNTAX;
}

/* With expressions; if something has none, with numbers. */
static spad_status two_ways(spad__ttgir *t, spad_kernel **out, spad_ttgir_info *info,
                            const bool *used, spad_error *error) {
    if (t->numbers) return run_pass(t, out, info, used, error);
    spad_status status = one_pass(t, false, out, used, error);
    if (is_unclear(t, status)) {
        snprintf(info->reason, sizeof info->reason, "%s, in line %ld", t->unclear_why,
                 line_of_op(t, t->unclear_op));
        list_assumed(t, info);
        status = run_pass(t, out, info, used, error);
        if (!info->unrolled) info->reason[0] = '\0';
    }
    info->placed = t->has_offsets;
    if (status == SPAD_OK) {
        list_scratch(t, info);
        list_approximations(t, info);
        list_skipped(t, info);
    }
    if (status == SPAD_OK && info->assumed[0] == '\0') list_assumed(t, info);
    return status;
}

/* A size has a name that no argument has: those that do are listed. */
static spad_status list_sizes(const spad__ttgir *t, spad_error *error) {
    char names[160] = "", message[160], name[SPAD__TTGIR_NAME];
    size_t used = 0;
    if (error == NULL) return SPAD_ERR_UNKNOWN;
    for (size_t i = 0; i < t->arguments.count; i++) {
        if (!t->arguments.items[i].integer) continue;
        spad__ttgir_word_name(t, t->arguments.items[i].name, name);
        used = spad__append(names, sizeof names, used, "%s%s", used > 0 ? ", " : "", name);
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
        const spad_status found = spad_target_find(&t->target, chip, error);
        if (found != SPAD_OK) return found;
    }
    t->thread_registers = spad_target_find_space(&space, t->target, "registers", NULL) == SPAD_OK;
    t->matrix_registers = t->thread_registers &&
                          spad_target_find_engine(&engine, t->target, "tensor", NULL) == SPAD_OK &&
                          (t->target->engines[engine].writes >> space & 1) != 0;
    return SPAD_OK;
}

static spad_status convert(spad__ttgir *t, spad_kernel **out, spad_ttgir_info *info,
                           spad_error *error) {
    char chip[32];
    bool used[DEFINES] = {false};
    const spad__mlir_op *module = find_module(t);
    if (module == NULL) return SPAD_ERR_SYNTAX;
    if (!read_module(t, module, info, chip, sizeof chip)) return SPAD_ERR_SYNTAX;
    const spad_status targeted = set_target(t, module, chip, error);
    if (targeted != SPAD_OK) return targeted;
    if (t->options->define_count > DEFINES) {
        return spad__fail(error, SPAD_ERR_ARGUMENT, "more than %d values", DEFINES);
    }
    const spad_status read = ttgir_read_arguments(t, used, error);
    if (read != SPAD_OK) return read;
    if (!spad__ttgir_find_uses(t) || !spad__ttgir_find_origins(t)) {
        return spad__fail_host_memory(error);
    }
    t->ranks = spad__ttgir_count_ranks(t);
    info->together = t->ranks > 1;
    ttgir_read_program(t, used);
    spad__ttgir_read_loaded(t, used);
    const spad_status status = two_ways(t, out, info, used, error);
    return status == SPAD_ERR_UNKNOWN ? list_sizes(t, error) : status;
}

/* ---- the call ------------------------------------------------------------------------ */

spad_status spad__ttgir_read(spad_kernel **out, spad_ttgir_info *info, const spad__source *source,
                             const spad_kernel_options *options, bool numbers,
                             spad_diagnostics *diagnostics, spad_error *error) {
    const spad_host host = spad__host_or_default(options->host);
    spad__mlir m = {.host = &host, .source = source, .diagnostics = diagnostics};
    spad__ttgir t = {.m = &m,
                     .host = &host,
                     .options = options,
                     .target = options->target,
                     .numbers = numbers,
                     .programs = PROGRAMS,
                     .handed_out = SPAD__TTGIR_ROUNDS_OF_DATA,
                     .blocks = 1,
                     .ranks = 1,
                     .shared_bytes = -1,
                     .warps = 4};
    spad__diagnostics_begin(diagnostics, source);
    spad_status status = SPAD_OK;
    if (!spad__mlir_read(&m)) status = spad__fail_host_memory(error);
    if (status == SPAD_OK && spad_diagnostics_count(diagnostics) == 0) {
        status = convert(&t, out, info, error);
        if (m.out_of_memory || t.scalars.out_of_memory) status = spad__fail_host_memory(error);
    }
    free_all(&t);
    spad__mlir_free(&m);
    if (status != SPAD_OK && status != SPAD_ERR_SYNTAX) return status;
    return spad__diagnostics_end(diagnostics, error);
}

spad_status spad_kernel_read_ttgir(spad_kernel **out, spad_ttgir_info *info, const char *text,
                                   size_t length, const char *file,
                                   const spad_kernel_options *options,
                                   spad_diagnostics *diagnostics, spad_error *error) {
    static const spad_kernel_options defaults = {0};
    spad_ttgir_info unwanted;
    spad_diagnostics *own = NULL;
    *out = NULL;
    if (info == NULL) info = &unwanted;
    *info = (spad_ttgir_info){.shared_bytes = -1, .tensor_columns = -1, .blocks = 1};
    if (options == NULL) options = &defaults;
    if (length > (size_t)SPAD__MLIR_MIB << 20) {
        return spad__fail(error, SPAD_ERR_ARGUMENT,
                          "%zu MiB of TTGIR: at most %d are read; a kernel has less than one",
                          length >> 20, SPAD__MLIR_MIB);
    }
    if (diagnostics == NULL) {
        const spad_status made = spad_diagnostics_create(&own, options->host, error);
        if (made != SPAD_OK) return made;
        diagnostics = own;
    }
    const spad__source source = {
        .file = file != NULL ? file : "<text>", .text = length > 0 ? text : "", .length = length};
    const spad_status status =
        spad__ttgir_read(out, info, &source, options, false, diagnostics, error);
    spad_diagnostics_destroy(own);
    return status;
}
