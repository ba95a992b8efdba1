/* SPDX-License-Identifier: Apache-2.0
 *
 * spad cuda: kernels of CUDA C++ and PTX. `list` shows what is in a file; the other words are
 * commands that take such files by themselves.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli.h"
#include "spad/experimental/ptx.h"

/* ---- list -------------------------------------------------------------------------- */

static void print_extents(const char *what, const int32_t extents[3]) {
    if (extents[0] <= 0) return;
    printf(", %s %d", what, (int)extents[0]);
    for (int d = 1; d < 3; d++) {
        if (extents[d] > 1 || (d == 1 && extents[2] > 1)) printf(" x %d", (int)extents[d]);
    }
}

static void print_kernel(const spad_ptx *ptx, size_t number) {
    const spad_ptx_kernel k = spad_ptx_get_kernel(ptx, number);
    cli_print(stdout, "%s", cli_has_namesake(ptx, number) ? k.full_name : k.plain_name);
    if (strcmp(k.plain_name, k.name) != 0) {
        printf("\n");
        cli_print(stdout, "    mangled %s", k.name);
    }
    printf("\n    line %d, %" PRId64 " instructions, shared %" PRId64 " B%s", (int)k.line,
           k.instructions, k.shared_bytes, k.dynamic_shared ? " and dynamic" : "");
    print_extents("threads", k.required_threads);
    if (k.required_threads[0] <= 0) print_extents("threads at most", k.most_threads);
    print_extents("cluster", k.cluster);
    printf("\n");
    for (size_t i = 0; i < k.parameter_count; i++) {
        const spad_ptx_parameter p = spad_ptx_get_parameter(ptx, number, i);
        cli_print(stdout, "    --arg %zu=...  %s", i, p.type);
        if (p.bytes > 8) printf("[%" PRId64 "], align %" PRId64, p.bytes, p.align);
        printf("%s\n", p.pointer                         ? ", a pointer"
                       : p.bytes == 128 && p.align >= 64 ? ", perhaps a tensor map"
                                                         : "");
    }
}

/* One line about a module, and its kernels. */
static void print_module(const spad_ptx *ptx, const char *path, const char *source) {
    const size_t count = spad_ptx_kernel_count(ptx);
    cli_print(stdout, "%s%s%s: %zu kernel%s for %s", cli_input_name(path),
              source[0] != '\0' ? ", " : "", source, count, count == 1 ? "" : "s",
              spad_ptx_target(ptx));
    printf("\n");
    for (size_t i = 0; i < count; i++) print_kernel(ptx, i);
}

static spad_status list_text(const cli_text *text, const char *path, spad_diagnostics *faults,
                             spad_error *error) {
    spad_ptx *ptx;
    const spad_status status =
        spad_ptx_create(&ptx, text->bytes, text->length, cli_input_name(path), NULL, faults, error);
    if (status == SPAD_OK) print_module(ptx, path, "");
    spad_ptx_destroy(ptx);
    return status;
}

/* All modules of a fatbin or an executable. Without PTX, the reason is the error. */
static spad_status list_image(const spad_ptx_image *image, const char *path,
                              spad_diagnostics *faults, spad_error *error) {
    bool any = false;
    for (size_t i = 0; i < spad_ptx_image_count(image); i++) {
        const spad_ptx_image_entry entry = spad_ptx_image_get(image, i);
        spad_ptx *ptx;
        if (!entry.ptx) continue;
        any = true;
        const spad_status status =
            spad_ptx_image_read(&ptx, image, i, cli_input_name(path), faults, error);
        if (status != SPAD_OK) return status;
        print_module(ptx, path, entry.source);
        spad_ptx_destroy(ptx);
    }
    if (any) return SPAD_OK;
    spad_ptx *none;
    return spad_ptx_image_find(&none, image, NULL, NULL, cli_input_name(path), faults, error);
}

static cli_exit list_bytes(const cli_text *text, const char *path, spad_diagnostics *faults) {
    spad_ptx_image *image = NULL;
    spad_error error;
    if (spad_ptx_image_detect(text->bytes, text->length)) {
        const cli_exit exit = cli_open_image(&image, text, path, false);
        if (exit != CLI_FINE) return exit;
    }
    const spad_status status = image != NULL ? list_image(image, path, faults, &error)
                                             : list_text(text, path, faults, &error);
    spad_ptx_image_destroy(image);
    if (status == SPAD_OK) return CLI_FINE;
    return status == SPAD_ERR_SYNTAX ? CLI_USAGE : cli_fail_input(&error, path, false);
}

/* The modules of a file, which a launch file may name. */
static cli_exit list_file(cli_text *text, const char *path, spad_diagnostics *faults) {
    spad_ptx_launch_file *launch = NULL;
    char *module = NULL;
    cli_exit exit = CLI_FINE;
    if (cli_is_launch_file(path, text)) {
        exit = cli_parse_launch_file(&launch, text, path, faults, false);
        if (exit == CLI_FINE) exit = cli_read_module(text, &module, launch, path);
    }
    const char *name = module != NULL ? module : path;
    if (exit == CLI_FINE) exit = cli_compile_cuda(text, name);
    if (exit == CLI_FINE && !cli_is_ptx(name, text)) {
        cli_message("'%s': expected PTX, CUDA C++, or a fatbin or program that nvcc made",
                    cli_input_name(name));
        exit = CLI_USAGE;
    }
    if (exit == CLI_FINE) exit = list_bytes(text, name, faults);
    spad_ptx_launch_file_destroy(launch);
    free(module);
    return exit;
}

static cli_exit list(const char *path) {
    const spad_sink messages = cli_sink(stderr, false);
    spad_diagnostics *faults;
    spad_error error;
    cli_text text;
    cli_exit exit = cli_read(&text, path, cli_limit_of(path));
    if (exit != CLI_FINE) return exit;
    if (spad_diagnostics_create(&faults, NULL, &error) == SPAD_OK) {
        exit = list_file(&text, path, faults);
        if (spad_diagnostics_count(faults) > 0)
            spad_diagnostics_write(faults, SPAD_FORMAT_TEXT, &messages, NULL);
        spad_diagnostics_destroy(faults);
    } else {
        exit = cli_fail(&error);
    }
    free(text.bytes);
    return exit;
}

/* ---- report ------------------------------------------------------------------------ */

/* A page with everything: layout, findings, time. */
static cli_exit write_page(const cli_kernel *input, const cli_pictures *pictures) {
    const spad_analysis_options options = {
        .timeout_ns = cli_time_left(pictures->timeout_ns, pictures->started),
        .source = input->text.bytes,
        .source_length = input->text.length};
    spad_analysis *analysis;
    spad_error error;
    if (spad_analysis_create(&analysis, input->kernel, &options, &error) != SPAD_OK)
        return cli_fail(&error);
    cli_exit exit = cli_draw_analysis(pictures, analysis);
    const bool passes = spad_check_passes(spad_analysis_get_check(analysis));
    if (exit == CLI_FINE && (!passes || input->wrong > 0)) exit = CLI_FINDINGS;
    spad_analysis_destroy(analysis);
    return exit;
}

static cli_exit report(const cli_command *command, int count, char **arguments) {
    cli_pictures pictures = {.started = cli_clock()};
    cli_kernel_words words = {0};
    const char *timeout = NULL;
    const cli_option options[] = {CLI_KERNEL_OPTIONS(words),
                                  {.name = "-o", .value = &pictures.html},
                                  {.name = "--output", .value = &pictures.html},
                                  {.name = "--timeout", .value = &timeout},
                                  {.name = NULL}};
    cli_kernel input;
    cli_exit exit;
    if (!cli_take_options(command, options, &count, arguments, &exit)) return exit;
    if (count != 1 || pictures.html == NULL) {
        cli_message("a report needs one kernel and a file: spad cuda report FILE -o OUT.html");
        return CLI_USAGE;
    }
    if (timeout != NULL && !cli_take_seconds("--timeout", timeout, &pictures.timeout_ns))
        return CLI_USAGE;
    words.launch.timeout_ns = pictures.timeout_ns;
    exit = cli_read_kernel(&input, arguments[0], &words);
    if (exit != CLI_FINE) return exit;
    exit = write_page(&input, &pictures);
    cli_free_kernel(&input);
    return exit;
}

/* ---- the command --------------------------------------------------------------------- */

static cli_exit run_cuda(const cli_command *command, int count, char **words) {
    static const char *const verbs[] = {"list",  "report", "run", "reproduce",
                                        "check", "plan",   "sim"};
    if (count == 0 || strcmp(words[0], "--help") == 0 || strcmp(words[0], "-h") == 0) {
        fputs(command->usage, count == 0 ? stderr : stdout);
        return count == 0 ? CLI_USAGE : CLI_FINE;
    }
    if (strcmp(words[0], "list") == 0) {
        if (count == 2) return list(words[1]);
        cli_message("one file is needed; see 'spad cuda --help'");
        return CLI_USAGE;
    }
    if (strcmp(words[0], "report") == 0) return report(command, count - 1, words + 1);
    if (strcmp(words[0], "run") == 0 && count > 1 &&
        (strcmp(words[1], "--help") == 0 || strcmp(words[1], "-h") == 0)) {
        fputs(command->usage, stdout);
        return CLI_FINE;
    }
    if (strcmp(words[0], "run") == 0) return cli_cuda_run(count - 1, words + 1);
    if (strcmp(words[0], "reproduce") == 0)
        return cli_run_python(command->name, "'spad cuda reproduce'", count, words);
    for (size_t i = 4; i < sizeof verbs / sizeof *verbs; i++) {
        const cli_command *own = cli_find_command(verbs[i]);
        if (strcmp(words[0], verbs[i]) == 0) return own->run(own, count - 1, words + 1);
    }
    return cli_unknown("command", words[0], verbs, sizeof verbs / sizeof *verbs,
                       "spad cuda --help");
}

const cli_command cli_cuda = {
    .name = "cuda",
    .about = "execute a CUDA kernel's PTX for one launch, and check, plan or simulate it",
    .usage =
        "usage: spad cuda list FILE\n"
        "       spad cuda report FILE -o OUT.html [options as for check]\n"
        "       spad cuda check|plan|sim FILE [--kernel NAME] --grid X,Y,Z --block X,Y,Z\n"
        "                 [--cluster X,Y,Z] [--smem BYTES] --arg NAME=VALUE... [options of the "
        "command]\n"
        "       spad cuda run [--keep FOLDER] [--preload] [options of check] -- PROGRAM ARGS...\n"
        "       spad cuda reproduce LAUNCH.toml [--finding N] [--arch sm_90a] -o FOLDER\n"
        "\n"
        "FILE is PTX, CUDA C++ that nvcc compiles (NVCC names another nvcc, NVCC_FLAGS its "
        "flags),\n"
        "or what nvcc made with PTX in it: a fatbin, an executable, a shared object or an object.\n"
        "It may also be a launch file, which names one of those and has all that follows.\n"
        "No GPU is needed: spad executes the launch as far as addresses, trip counts and\n"
        "synchronisation need it. `report` writes a page with layout, findings and time.\n"
        "`list` shows the kernels of a file and their parameters.\n"
        "`run` runs a program on spad's own CUDA runtime, which computes nothing and records\n"
        "launches, and checks each of them. The program is built with 'nvcc -cudart shared' and\n"
        "has PTX in it.\n"
        "`reproduce` writes a folder for a machine with a GPU: the kernel, copies in which the\n"
        "warps of a finding are late, and a launcher that counts how often results differ. It\n"
        "runs in Python; the package spad must be installed (docs/cuda-reproduce.md).\n"
        "\n"
        "  --launch FILE.toml        a launch file (docs/cuda-launch.md); other options win\n"
        "  --kernel NAME             a kernel, or a pattern with *, of its name in C++ or its\n"
        "                            mangled name; not needed where there is one\n"
        "  --arch sm_90a             of several texts in a fatbin or a program, the one for this\n"
        "                            architecture; default: the newest one\n"
        "  --grid X,Y,Z              blocks of the grid; missing extents are 1\n"
        "  --block X,Y,Z             threads of a block; not needed where .reqntid gives them\n"
        "  --cluster X,Y,Z           blocks of a cluster, which are executed together\n"
        "  --cta X,Y,Z               the block that is executed; default 0,0,0\n"
        "  --smem BYTES              dynamic shared memory\n"
        "  --arg NAME=VALUE          an argument, in the order of the parameters; a number as "
        "NAME\n"
        "                            names the parameter. VALUE: 4096, 1.5, bf16[64,64] (a "
        "pointer),\n"
        "                            i32[4]=1,2,3,4, i32[16]=zeros,\n"
        "                            tensormap:bf16[4096,4096],box[128,64],swizzle128,\n"
        "                            bytes:0a1b.. (a struct; .. is an unknown byte), unknown\n"
        "  --keep FOLDER             for run: keeps the launch files and the PTX there\n"
        "  --preload                 for run: loads the runtime in front of all libraries, for\n"
        "                            programs that bring a CUDA runtime of their own\n"
        "\n"
        "exit status: that of the command; docs/cuda.md explains what is checked and what is not\n",
    .run = run_cuda};
