/* SPDX-License-Identifier: Apache-2.0
 *
 * Reading a kernel with what the command line says about it.
 */
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli.h"

#define CHECK_NS INT64_C(10000000000) /* for a look before something else */

enum { DEFINES_MAX = sizeof((cli_words *)0)->items / sizeof(char *), NAME_ROOM = 128 };

/* NAME=N pairs; the names are copied into `names`. */
static bool take_pairs(spad_define *out, char names[][NAME_ROOM], const char *option, int64_t least,
                       const cli_words *words) {
    for (size_t i = 0; i < words->count; i++) {
        const char *word = words->items[i];
        const char *sign = strchr(word, '=');
        const size_t length = sign != NULL ? (size_t)(sign - word) : 0;
        char *end = NULL;
        errno = 0;
        const long long value = sign != NULL ? strtoll(sign + 1, &end, 10) : 0;
        if (length == 0 || length >= NAME_ROOM || end == sign + 1 || *end != '\0' || errno != 0) {
            cli_message("option '%s' needs a name and a whole number%s, such as N=64, not '%s'",
                        option, errno == ERANGE ? " of 64 bits" : "", word);
            return false;
        }
        if (value < least) {
            cli_message("option '%s' needs at least %lld, not '%s'", option, (long long)least,
                        word);
            return false;
        }
        memcpy(names[i], word, length);
        names[i][length] = '\0';
        out[i] = (spad_define){names[i], value};
    }
    return true;
}

static bool is_ttgir(const char *path, const cli_text *text) {
    const char *ending = strrchr(path, '.');
    if (ending != NULL && strcmp(ending, ".ttgir") == 0) return true;
    if (ending != NULL && strcmp(ending, ".spad") == 0) return false;
    return spad_ttgir_detect(text->bytes, text->length);
}

bool cli_is_kernel(const char *path, const cli_text *text) {
    const char *ending = strrchr(path, '.');
    if (ending != NULL && strcmp(ending, ".spad") == 0) return true;
    if (ending != NULL && strcmp(ending, ".csv") == 0) return false;
    if (is_ttgir(path, text) || cli_is_ptx(path, text)) return true;
    size_t at = 0;
    while (at < text->length && strchr("# \t\r\n", text->bytes[at]) != NULL) {
        if (text->bytes[at] == '#') {
            while (at < text->length && text->bytes[at] != '\n') at++;
        } else {
            at++;
        }
    }
    return text->length - at > 7 && memcmp(text->bytes + at, "kernel ", 7) == 0;
}

/* Tells what the reader of TTGIR learned beyond the kernel. */
static void tell_ttgir(const char *path, const spad_ttgir_info *info) {
    if (info->assumed[0] != '\0') {
        cli_message("%s: sizes that were not given with -D: %s", path, info->assumed);
    }
    if (info->unrolled) {
        cli_message("%s: run with its sizes, without loops: no expression for %s", path,
                    info->reason);
    }
    if (info->scratch[0] != '\0') {
        cli_message("%s: scratch memory of operations has no size in the text: %s", path,
                    info->scratch);
    }
    if (info->approximated[0] != '\0') {
        cli_message("%s: data decides; it is assumed that %s", path, info->approximated);
    }
    if (info->skipped[0] != '\0') {
        cli_message("%s: with these sizes and this program_id, %s", path, info->skipped);
    }
    if (info->blocks > 1) {
        cli_message("%s: what %s %lld blocks of a cluster %s", path,
                    info->together ? "all" : "each of", (long long)info->blocks,
                    info->together ? "do together" : "does");
    }
}

static spad_status read_kernel(cli_kernel *out, const cli_launch_words *launch,
                               const spad_kernel_options *options, spad_diagnostics *faults,
                               spad_error *error) {
    const char *name = cli_input_name(out->path);
    if (cli_is_ptx(out->path, &out->text))
        return cli_read_launch(out, launch, options, faults, error);
    if (!is_ttgir(out->path, &out->text)) {
        return spad_kernel_parse(&out->kernel, out->text.bytes, out->text.length, name, options,
                                 faults, error);
    }
    spad_ttgir_info info;
    const spad_status status = spad_kernel_read_ttgir(
        &out->kernel, &info, out->text.bytes, out->text.length, name, options, faults, error);
    if (status != SPAD_OK) return status;
    tell_ttgir(name, &info);
    cli_read_program(out->kernel, out->path);
    return SPAD_OK;
}

/* Shows faults on stderr, where *faults says what they are. */
static cli_exit parse(cli_kernel *out, spad_diagnostics **faults,
                      const spad_kernel_options *options, const cli_kernel_words *words) {
    const spad_sink messages = cli_sink(stderr, false);
    spad_error error;
    if (spad_diagnostics_create(faults, NULL, &error) != SPAD_OK) return cli_fail(&error);
    cli_exit exit = cli_take_launch(out, &words->launch, *faults, words->json);
    if (exit == CLI_FINE) {
        const spad_status status = read_kernel(out, &words->launch, options, *faults, &error);
        exit = status == SPAD_OK           ? CLI_FINE
               : status == SPAD_ERR_SYNTAX ? CLI_USAGE
                                           : cli_fail_input(&error, out->path, words->json);
    }
    if (spad_diagnostics_count(*faults) > 0) {
        spad_diagnostics_write(*faults, SPAD_FORMAT_TEXT, &messages, NULL);
        return CLI_USAGE;
    }
    spad_diagnostics_destroy(*faults);
    *faults = NULL;
    return exit;
}

/* Takes ownership of `text`, even on failure. */
static cli_exit read_text(cli_kernel *out, spad_diagnostics **faults, const char *path,
                          cli_text text, const cli_kernel_words *words) {
    spad_define defines[DEFINES_MAX];
    spad_define rings[DEFINES_MAX];
    char names[DEFINES_MAX][NAME_ROOM];
    char ring_names[DEFINES_MAX][NAME_ROOM];
    *out = (cli_kernel){.path = path, .text = text};
    *faults = NULL;
    cli_exit exit = CLI_FINE;
    spad_kernel_options options = {.defines = defines,
                                   .define_count = words->defines.count,
                                   .rings = rings,
                                   .ring_count = words->rings.count};
    if (!take_pairs(defines, names, "-D", INT64_MIN, &words->defines) ||
        !take_pairs(rings, ring_names, "--ring", 1, &words->rings)) {
        exit = CLI_USAGE;
    }
    if (exit == CLI_FINE && words->target != NULL) {
        exit = cli_find_target(&options.target, &out->target, words->target);
    }
    if (exit == CLI_FINE) exit = parse(out, faults, &options, words);
    if (exit != CLI_FINE) cli_free_kernel(out);
    return exit;
}

/* Reads a file unless it is one that no kernel is in. */
static cli_exit read_own(cli_text *text, const char *path) {
    const cli_exit exit = cli_read(text, path, cli_limit_of(path));
    if (exit != CLI_FINE || cli_is_kernel(path, text) || !cli_refuse_other_than_kernel(path, text))
        return exit;
    free(text->bytes);
    *text = (cli_text){0};
    return CLI_USAGE;
}

cli_exit cli_read_or_faults(cli_kernel *out, spad_diagnostics **faults, const char *path,
                            const cli_kernel_words *words) {
    cli_text text;
    *out = (cli_kernel){.path = path};
    *faults = NULL;
    const cli_exit exit = read_own(&text, path);
    if (exit != CLI_FINE) return exit;
    return read_text(out, faults, path, text, words);
}

cli_exit cli_parse_kernel(cli_kernel *out, const char *path, cli_text text,
                          const cli_kernel_words *words) {
    spad_diagnostics *faults;
    const spad_sink results = spad_sink_file(stdout);
    const cli_exit exit = read_text(out, &faults, path, text, words);
    if (faults != NULL && words->json)
        spad_diagnostics_write(faults, SPAD_FORMAT_JSON, &results, NULL);
    spad_diagnostics_destroy(faults);
    return exit;
}

cli_exit cli_read_kernel(cli_kernel *out, const char *path, const cli_kernel_words *words) {
    cli_text text;
    *out = (cli_kernel){.path = path};
    const cli_exit exit = read_own(&text, path);
    if (exit != CLI_FINE) return exit;
    return cli_parse_kernel(out, path, text, words);
}

cli_exit cli_check_first(const cli_kernel *input, const spad_layout *layout, const char *doing,
                         int64_t timeout_ns, const cli_kernel_words *words) {
    const bool sooner = timeout_ns > 0 && timeout_ns < CHECK_NS;
    const spad_check_options options = {.layout = layout,
                                        .no_advice = true,
                                        .one_shape = true,
                                        .timeout_ns = sooner ? timeout_ns : CHECK_NS};
    const spad_sink messages = cli_sink(stderr, false);
    spad_check *check;
    spad_error error = {0};
    if (spad_check_create(&check, input->kernel, &options, &error) != SPAD_OK) {
        return cli_fail(&error);
    }
    const bool passes = spad_check_passes(check);
    if (!passes) {
        spad_check_write_text(check, input->kernel, input->text.bytes, input->text.length,
                              &messages, NULL);
    }
    spad_check_destroy(check);
    if (passes) return CLI_FINE;
    error.code = SPAD_ERR_ARGUMENT;
    snprintf(error.message, sizeof error.message,
             words->force ? "it is %s although it is wrong"
                          : "it is not %s, because it is wrong; "
                            "use '--force' to override",
             doing);
    cli_fail_input(&error, input->path, words->json && !words->force);
    return words->force ? CLI_FINE : CLI_FINDINGS;
}

void cli_free_kernel(cli_kernel *kernel) {
    spad_kernel_destroy(kernel->kernel);
    spad_target_destroy(kernel->target);
    spad_ptx_launch_file_destroy(kernel->launch);
    free(kernel->module);
    free(kernel->text.bytes);
    *kernel = (cli_kernel){0};
}
