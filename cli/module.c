/* SPDX-License-Identifier: Apache-2.0
 *
 * The PTX of a file: as it is, compiled from CUDA C++, or out of a fatbin or an executable; and
 * launch files, which name such a file.
 */
#include <stdlib.h>
#include <string.h>

#include "cli.h"
#include "spad/experimental/ptx.h"

enum { HEAD_BYTES = 16 };

cli_exit cli_open_image(spad_ptx_image **out, const cli_text *text, const char *path, bool json) {
    const spad_ptx_image_options options = {.unpack_zstd = spad_zstd_unpack};
    spad_error error;
    const spad_status status =
        spad_ptx_image_create(out, text->bytes, text->length, &options, &error);
    return status == SPAD_OK ? CLI_FINE : cli_fail_input(&error, path, json);
}

/* The text of a module in place of the file that it was in. */
static cli_exit keep_text(cli_text *text, const spad_ptx *ptx) {
    size_t length;
    const char *bytes = spad_ptx_text(ptx, &length);
    char *copy = malloc(length + 1);
    if (copy == NULL) {
        cli_message("out of memory");
        return CLI_INTERNAL;
    }
    memcpy(copy, bytes, length + 1);
    free(text->bytes);
    *text = (cli_text){copy, length};
    return CLI_FINE;
}

static cli_exit unpack_module(cli_text *text, const char *path, const cli_launch_words *words,
                              const char *kernel, spad_diagnostics *faults, bool json) {
    spad_ptx_image *image;
    spad_ptx *ptx = NULL;
    spad_error error;
    cli_exit exit = cli_open_image(&image, text, path, json);
    if (exit != CLI_FINE) return exit;
    const spad_status status =
        spad_ptx_image_find(&ptx, image, words->arch, kernel, cli_input_name(path), faults, &error);
    exit = status == SPAD_OK           ? keep_text(text, ptx)
           : status == SPAD_ERR_SYNTAX ? CLI_USAGE
                                       : cli_fail_input(&error, path, json);
    spad_ptx_destroy(ptx);
    spad_ptx_image_destroy(image);
    return exit;
}

cli_limit cli_limit_of(const char *path) {
    char bytes[HEAD_BYTES];
    cli_text head = {.bytes = bytes};
    const bool image =
        cli_read_head(&head, sizeof bytes, path) && spad_ptx_image_detect(head.bytes, head.length);
    return image ? CLI_ROWS_MIB : CLI_TEXT_MIB;
}

/* ---- launch files ------------------------------------------------------------------ */

bool cli_is_launch_file(const char *path, const cli_text *text) {
    const char *dot = strrchr(path, '.');
    return (dot != NULL && strcmp(dot, ".toml") == 0) ||
           spad_ptx_launch_file_detect(text->bytes, text->length);
}

/* The path of a file that another one names: relative to its folder. */
static char *path_beside(const char *path, const char *name) {
    const char *slash = name[0] == '/' ? NULL : strrchr(path, '/');
    const size_t folder = slash != NULL ? (size_t)(slash - path) + 1 : 0;
    char *whole = malloc(folder + strlen(name) + 1);
    if (whole == NULL) return NULL;
    memcpy(whole, path, folder);
    strcpy(whole + folder, name);
    return whole;
}

cli_exit cli_parse_launch_file(spad_ptx_launch_file **out, const cli_text *text, const char *path,
                               spad_diagnostics *faults, bool json) {
    spad_error error;
    const spad_status status = spad_ptx_launch_file_create(
        out, text->bytes, text->length, cli_input_name(path), NULL, faults, &error);
    if (status == SPAD_OK) return CLI_FINE;
    return status == SPAD_ERR_SYNTAX ? CLI_USAGE : cli_fail_input(&error, path, json);
}

cli_exit cli_read_module(cli_text *text, char **module, const spad_ptx_launch_file *file,
                         const char *path) {
    *module = path_beside(path, spad_ptx_launch_file_module(file));
    if (*module == NULL) {
        cli_message("out of memory");
        return CLI_INTERNAL;
    }
    free(text->bytes);
    *text = (cli_text){0};
    return cli_read(text, *module, cli_limit_of(*module));
}

/* The launch file of the command line, or the input itself; then the text is its module's. */
static cli_exit take_launch_file(cli_kernel *out, const cli_launch_words *words,
                                 spad_diagnostics *faults, bool json) {
    cli_text text;
    cli_exit exit;
    if (words->file != NULL) {
        exit = cli_read(&text, words->file, CLI_TEXT_MIB);
        if (exit == CLI_FINE)
            exit = cli_parse_launch_file(&out->launch, &text, words->file, faults, json);
        free(text.bytes);
        return exit;
    }
    if (!cli_is_launch_file(out->path, &out->text)) return CLI_FINE;
    exit = cli_parse_launch_file(&out->launch, &out->text, out->path, faults, json);
    if (exit != CLI_FINE) return exit;
    return cli_read_module(&out->text, &out->module, out->launch, out->path);
}

cli_exit cli_take_launch(cli_kernel *out, const cli_launch_words *words, spad_diagnostics *faults,
                         bool json) {
    if (!cli_is_ptx(out->path, &out->text)) return CLI_FINE;
    const cli_exit exit = take_launch_file(out, words, faults, json);
    if (exit != CLI_FINE) return exit;
    const char *path = out->module != NULL ? out->module : out->path;
    const char *kernel = words->kernel;
    if (kernel == NULL && out->launch != NULL) kernel = spad_ptx_launch_file_kernel(out->launch);
    if (spad_ptx_image_detect(out->text.bytes, out->text.length))
        return unpack_module(&out->text, path, words, kernel, faults, json);
    return cli_compile_cuda(&out->text, path);
}
