/* SPDX-License-Identifier: Apache-2.0
 *
 * CUDA kernels: what the command line and a launch file say about their launch.
 */
#define _POSIX_C_SOURCE 200809L
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli.h"
#include "spad/experimental/ptx.h"

static bool has_ending(const char *path, const char *ending) {
    const char *dot = strrchr(path, '.');
    return dot != NULL && strcmp(dot, ending) == 0;
}

bool cli_is_ptx(const char *path, const cli_text *text) {
    if (has_ending(path, ".ptx") || has_ending(path, ".cu")) return true;
    if (spad_ptx_image_detect(text->bytes, text->length) || cli_is_launch_file(path, text))
        return true;
    return !has_ending(path, ".spad") && spad_ptx_detect(text->bytes, text->length);
}

/* ---- words ------------------------------------------------------------------------- */

/* "132", or up to three numbers with commas, each at least `least`. */
static spad_status take_extents(uint32_t out[3], const char *option, const char *word,
                                uint32_t least, spad_error *error) {
    const char *at = word;
    if (word != NULL) memset(out, 0, 3 * sizeof *out);
    for (int d = 0; d < 3 && word != NULL; d++) {
        char *end;
        errno = 0;
        const unsigned long value = strtoul(at, &end, 10);
        const bool fine = *at >= '0' && *at <= '9' && errno == 0 && value <= INT32_MAX &&
                          (*end == '\0' || (*end == ',' && d < 2));
        if (!fine) {
            snprintf(error->message, sizeof error->message,
                     "option '%s' needs up to three whole numbers, such as 16,8,1, not '%.80s'",
                     option, word);
            return error->code = SPAD_ERR_ARGUMENT;
        }
        if (value < least) {
            snprintf(error->message, sizeof error->message,
                     "option '%s' needs extents of at least %u, not '%.80s'", option,
                     (unsigned)least, word);
            return error->code = SPAD_ERR_ARGUMENT;
        }
        out[d] = (uint32_t)value;
        if (*end == '\0') break;
        at = end + 1;
    }
    return SPAD_OK;
}

/* Options of the command line replace what the launch file says, arguments all at once. */
static spad_status take_launch(spad_ptx_launch *out, const spad_ptx *ptx,
                               const cli_launch_words *words, const spad_ptx_launch_file *file,
                               spad_error *error) {
    *out = file != NULL ? spad_ptx_launch_file_get(file) : (spad_ptx_launch){0};
    const struct {
        const char *option;
        const char *word;
        uint32_t *extents;
        uint32_t least;
    } rows[] = {{"--grid", words->grid, out->grid, 1},
                {"--block", words->block, out->block, 1},
                {"--cluster", words->cluster, out->cluster, 1},
                {"--cta", words->cta, out->cta, 0}};
    const char *kernel = words->kernel;
    if (kernel == NULL && file != NULL) kernel = spad_ptx_launch_file_kernel(file);
    spad_status status = spad_ptx_find_kernel(&out->kernel, ptx, kernel, error);
    for (size_t i = 0; i < sizeof rows / sizeof *rows && status == SPAD_OK; i++)
        status = take_extents(rows[i].extents, rows[i].option, rows[i].word, rows[i].least, error);
    if (status != SPAD_OK) return status;
    if (out->block[0] == 0 && spad_ptx_get_kernel(ptx, out->kernel).required_threads[0] <= 0) {
        snprintf(error->message, sizeof error->message,
                 "how many threads a block has is not known: give --block, such as --block 128");
        return error->code = SPAD_ERR_ARGUMENT;
    }
    if (words->smem != NULL &&
        !cli_take_bytes("--smem", words->smem, 0, &out->dynamic_shared_bytes)) {
        snprintf(error->message, sizeof error->message,
                 "dynamic shared memory is a number of bytes");
        return error->code = SPAD_ERR_ARGUMENT;
    }
    if (words->arguments.count > 0 || file == NULL) {
        out->arguments = words->arguments.items;
        out->argument_count = words->arguments.count;
        out->parameters = NULL;
    }
    out->way = words->way;
    out->timeout_ns = words->timeout_ns;
    return SPAD_OK;
}

/* ---- runs -------------------------------------------------------------------------- */

static void tell_remark(const char *path, const spad_ptx_remark *remark) {
    char times[40] = "";
    if (remark->times > 1) snprintf(times, sizeof times, ", %" PRId64 " times", remark->times);
    cli_message("%s:%d: %s: %s%s", remark->file != NULL ? remark->file : path,
                (int)(remark->file != NULL ? remark->source_line : remark->line),
                remark->wrong ? "error" : "note", remark->message, times);
}

/* The calls that its line was inlined into, the innermost first. */
static void tell_calls(const spad_ptx_run *run, size_t index) {
    spad_ptx_frame frame;
    for (size_t depth = 0; spad_ptx_run_get_frame(&frame, run, index, depth); depth++) {
        const bool named = frame.function[0] != '\0';
        cli_print(stderr, "    %s%s%scalled at %s:%d", named ? "in " : "", frame.function,
                  named ? ", " : "", frame.file != NULL ? frame.file : "?", (int)frame.line);
        fputc('\n', stderr);
    }
}

/* Do two remarks say the same of one line of the program? Copies of a line, as of inlined code and
 * of unrolled loops, have one each; which warp was first may differ. */
static bool is_same_remark(const spad_ptx_remark *a, const spad_ptx_remark *b) {
    const size_t length = strcspn(a->message, "(");
    return a->file == b->file && a->source_line == b->source_line &&
           (a->file != NULL || a->line == b->line) && strcspn(b->message, "(") == length &&
           memcmp(a->message, b->message, length) == 0;
}

/* A remark with the times of all that say the same; false: an earlier one was told for it. */
static bool sum_remarks(const spad_ptx_run *run, size_t index, spad_ptx_remark *out) {
    *out = spad_ptx_run_get_remark(run, index);
    for (size_t i = 0; i < spad_ptx_run_remark_count(run); i++) {
        if (i == index) continue;
        const spad_ptx_remark other = spad_ptx_run_get_remark(run, i);
        if (!is_same_remark(out, &other)) continue;
        if (i < index) return false;
        out->times += other.times;
    }
    return true;
}

static const char *module_name(const cli_kernel *kernel) {
    return kernel->module != NULL ? kernel->module : cli_input_name(kernel->path);
}

bool cli_has_namesake(const spad_ptx *ptx, size_t kernel) {
    const char *name = spad_ptx_get_kernel(ptx, kernel).plain_name;
    for (size_t i = 0; i < spad_ptx_kernel_count(ptx); i++) {
        if (i != kernel && strcmp(spad_ptx_get_kernel(ptx, i).plain_name, name) == 0) return true;
    }
    return false;
}

/* Names the kernel with its template arguments where that says more than the verdict does. */
static void tell_name(const char *path, const spad_ptx *ptx, size_t kernel, bool all) {
    const spad_ptx_kernel k = spad_ptx_get_kernel(ptx, kernel);
    if (strcmp(k.full_name, k.plain_name) != 0 && (all || cli_has_namesake(ptx, kernel)))
        cli_message("%s: kernel %s", path, k.full_name);
}

/* Prints what the run found besides its kernel. */
static void tell_run(cli_kernel *out, const spad_ptx_run *run, const cli_launch_words *words) {
    const char *path = module_name(out);
    const spad_ptx_counts counts = spad_ptx_run_get_counts(run);
    cli_message("%s: executed %" PRId64 " warp instructions of %d warp%s in %d block%s: %" PRId64
                " accesses and synchronisations; global memory is not compared",
                path, counts.instructions, (int)counts.warps, counts.warps == 1 ? "" : "s",
                (int)counts.ctas, counts.ctas == 1 ? "" : "s", counts.events);
    if (counts.loops > 0) cli_message("%s: %s", path, spad_ptx_run_get_folding(run));
    for (size_t i = 0; i < spad_ptx_run_remark_count(run); i++) {
        spad_ptx_remark remark;
        const bool told = sum_remarks(run, i, &remark) && !(words->checks && remark.wrong);
        if (told) tell_remark(path, &remark);
        if (told && words->calls) tell_calls(run, i);
        out->wrong += remark.wrong;
    }
}

static spad_status run_launch(cli_kernel *out, const spad_ptx *ptx, const cli_launch_words *words,
                              const spad_kernel_options *options, spad_error *error) {
    spad_ptx_launch launch;
    spad_ptx_run *run;
    spad_status status = take_launch(&launch, ptx, words, out->launch, error);
    if (status == SPAD_OK) status = spad_ptx_run_create(&run, ptx, &launch, options, error);
    if (status != SPAD_OK) return status;
    if (words->way == 0) tell_name(module_name(out), ptx, launch.kernel, words->calls);
    if (words->way == 0) tell_run(out, run, words);
    out->choices = spad_ptx_run_get_counts(run).choices;
    out->kernel = spad_ptx_run_take_kernel(run);
    cli_read_program(out->kernel, module_name(out));
    spad_ptx_run_destroy(run);
    return SPAD_OK;
}

spad_status cli_read_launch(cli_kernel *out, const cli_launch_words *words,
                            const spad_kernel_options *options, spad_diagnostics *faults,
                            spad_error *error) {
    spad_ptx *ptx;
    spad_status status = spad_ptx_create(&ptx, out->text.bytes, out->text.length, module_name(out),
                                         NULL, faults, error);
    if (status != SPAD_OK) return status;
    status = run_launch(out, ptx, words, options, error);
    spad_ptx_destroy(ptx);
    return status;
}
