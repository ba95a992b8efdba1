/* SPDX-License-Identifier: Apache-2.0
 *
 * Shared by the commands of spad: exit codes, options, input, messages.
 * Results go to stdout, messages to stderr. Only the public headers are used.
 */
#ifndef SPAD_CLI_H
#define SPAD_CLI_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "spad/device.h"
#include "spad/experimental/ptx.h"
#include "spad/spad.h"

typedef enum cli_exit {
    CLI_FINE = 0,
    CLI_FINDINGS = 1, /* a check found something, or it does not fit */
    CLI_USAGE = 2,    /* wrong words on the command line, or bad input */
    CLI_INTERNAL = 3  /* no memory, output that fails, a device that fails */
} cli_exit;

/* A command: `spad <name> ...`. One file each, listed in main.c. */
typedef struct cli_command {
    const char *name;
    const char *about; /* one line */
    const char *usage; /* what --help prints */
    cli_exit (*run)(const struct cli_command *command, int count, char **words);
} cli_command;

extern const cli_command cli_calibrate;
extern const cli_command cli_check;
extern const cli_command cli_completion;
extern const cli_command cli_cuda;
extern const cli_command cli_devices;
extern const cli_command cli_diff;
extern const cli_command cli_emit;
extern const cli_command cli_fit;
extern const cli_command cli_lsp;
extern const cli_command cli_man;
extern const cli_command cli_plan;
extern const cli_command cli_nki;
extern const cli_command cli_triton;
extern const cli_command cli_tilelang;
extern const cli_command cli_replay;
extern const cli_command cli_sim;
extern const cli_command cli_targets;
extern const cli_command cli_tune;
extern const cli_command cli_sweep;

#define CLI_ABOUT "decides, checks and shows where the buffers of accelerator kernels live on chip"
#define CLI_STATUS \
    "0 fine, 1 findings or does not fit, 2 usage or bad input, 3 output failed or internal"

/* All commands, in the order of the help; the one with a name, or NULL; and the message for a name
 * that none has. */
const cli_command *const *cli_list_commands(size_t *count);
const cli_command *cli_find_command(const char *name);
cli_exit cli_unknown_command(const char *name);

/* ---- options ----------------------------------------------------------------------- */

/* The values of an option that may be given several times. */
typedef struct cli_words {
    const char *items[64];
    size_t count;
} cli_words;

/* "--name" sets *flag; "--name VALUE" or "--name=VALUE" sets *value or adds to *words,
 * where "-DVALUE" is fine as well. The table ends with a row without a name. */
typedef struct cli_option {
    const char *name;
    bool *flag;
    const char **value;
    cli_words *words;
} cli_option;

/* Takes the options out of the words and moves the others to the front; "--"
 * ends the options and "-" is a word. --help prints the usage. True: continue with
 * *count words. False: return *exit. */
bool cli_take_options(const cli_command *command, const cli_option *options, int *count,
                      char **words, cli_exit *exit);

/* The value of an option as a whole number of at least `least`. False: the reason was printed. */
bool cli_take_number(const char *option, const char *word, int64_t least, int64_t *out);

/* The same for bytes, where 4KiB and 0x1000 are fine. */
bool cli_take_bytes(const char *option, const char *word, int64_t least, int64_t *out);

/* "0.5": seconds with up to nine decimals, as nanoseconds. False: the reason was printed. */
bool cli_take_seconds(const char *option, const char *word, int64_t *out);

/* Nanoseconds of a clock that never goes back, and what is left since `started` of a timeout: at
 * least 1 ns, since 0 is no limit and stays so. */
int64_t cli_clock(void);
int64_t cli_time_left(int64_t timeout_ns, int64_t started);

/* ---- messages ---------------------------------------------------------------------- */

#if defined(__GNUC__)
#define CLI_PRINTF(format_index) __attribute__((format(printf, format_index, format_index + 1)))
#define CLI_PRINTF_LIST(format_index) __attribute__((format(printf, format_index, 0)))
#else
#define CLI_PRINTF(format_index)
#define CLI_PRINTF_LIST(format_index)
#endif

/* "spad: ..." on stderr. One line; see spad_text_clean. */
void cli_message(const char *format, ...) CLI_PRINTF(1);
/* A piece of a line with names from a file or the command line, made safe in the same way. */
void cli_print(FILE *out, const char *format, ...) CLI_PRINTF(2);

/* How many of the next words are "--color=WHEN", or "--color" and WHEN: 0, 1 or 2. */
int cli_count_color(char *const *words, int count);
/* Takes them; false: the reason was printed. */
bool cli_take_color(char *const *words, int count);
/* Takes what the library writes: text for a person, with colour where that is wanted, or JSON. */
spad_sink cli_sink(FILE *out, bool json);

/* The message of a failed call, with its place if it has one, and its exit code. */
cli_exit cli_fail(const spad_error *error);
/* The same about an input; with `json` also as JSON on stdout (docs/schema/faults). */
cli_exit cli_fail_input(const spad_error *error, const char *path, bool json);
/* The same about a kernel that has been read: a fault at a statement, or one that does not fit, is
 * a finding. */
cli_exit cli_fail_kernel(const spad_error *error, const char *path, bool json);

/* Reports that a word is not one of the names, with the nearest ones and how to get help. */
cli_exit cli_unknown(const char *what, const char *word, const char *const *names, size_t count,
                     const char *help);

/* ---- input ------------------------------------------------------------------------- */

typedef struct cli_text {
    char *bytes;
    size_t length;
} cli_text;

/* The most that is read, in MiB: far more than a person writes, and than 10^7 rows need. */
typedef enum cli_limit { CLI_TEXT_MIB = 64, CLI_ROWS_MIB = 1024 } cli_limit;

/* Reports what a file is that no command reads, by its ending or its bytes; false: it may be one of
 * ours. */
bool cli_refuse_foreign(const char *path, const cli_text *text);
/* The same for commands that read only kernels: a table of buffers is refused too. */
bool cli_refuse_other_than_kernel(const char *path, const cli_text *text);

/* Reads a whole file, or stdin for "-"; else reports why not. A NUL follows the text. Freed with
 * free(). */
cli_exit cli_read(cli_text *out, const char *path, cli_limit mebibytes);

/* Reads the first bytes of a regular file into out->bytes, which has room for so many. False: it is
 * something else, such as a pipe, of which what has been read is gone; or it cannot be read. */
bool cli_read_head(cli_text *out, size_t room, const char *path);

/* The name of an input in messages: "<stdin>" for "-". */
const char *cli_input_name(const char *path);

/* The target that a word names: a built-in name or a file. *owned is set if it came from a file. */
cli_exit cli_find_target(const spad_target **target, spad_target **owned, const char *word);

/* ---- kernels ----------------------------------------------------------------------- */

/* How a kernel of a .ptx or .cu file is launched. */
typedef struct cli_launch_words {
    const char *kernel; /* a name, or a pattern with `*` */
    const char *file;   /* a launch file; options of the command line win */
    const char *arch;   /* of several in a fatbin: "sm_90a"; NULL: the newest one */
    const char *grid;   /* "132" or "8,4,1" */
    const char *block;
    const char *cluster;
    const char *cta;
    const char *smem;
    cli_words arguments;
    bool calls;         /* show where the line of a remark was inlined */
    bool checks;        /* errors of the execution are findings of a check that follows */
    uint32_t way;       /* of what data decides: see spad_ptx_launch */
    int64_t timeout_ns; /* of the execution; 0: its own default */
} cli_launch_words;

/* The options of the command line about a kernel. */
typedef struct cli_kernel_words {
    cli_launch_words launch;
    cli_words defines; /* N=64 */
    cli_words rings;   /* x=3 */
    const char *target;
    bool json;  /* results go to stdout as JSON, and faults of a kernel as well */
    bool force; /* continue with a kernel that is wrong */
} cli_kernel_words;

/* The rows of an option table that fill it in. */
#define CLI_KERNEL_OPTIONS(kernel_words)                                \
    {.name = "-D", .words = &(kernel_words).defines},                   \
        {.name = "--define", .words = &(kernel_words).defines},         \
        {.name = "--ring", .words = &(kernel_words).rings},             \
        {.name = "--kernel", .value = &(kernel_words).launch.kernel},   \
        {.name = "--launch", .value = &(kernel_words).launch.file},     \
        {.name = "--arch", .value = &(kernel_words).launch.arch},       \
        {.name = "--grid", .value = &(kernel_words).launch.grid},       \
        {.name = "--block", .value = &(kernel_words).launch.block},     \
        {.name = "--cluster", .value = &(kernel_words).launch.cluster}, \
        {.name = "--cta", .value = &(kernel_words).launch.cta},         \
        {.name = "--smem", .value = &(kernel_words).launch.smem},       \
        {.name = "--arg", .words = &(kernel_words).launch.arguments}, { \
        .name = "--target", .value = &(kernel_words).target             \
    }

/* Their lines in a usage text. */
#define CLI_KERNEL_USAGE                                          \
    "  -D, --define NAME=N       another value for a parameter\n" \
    "  --ring TENSOR=N           another depth for a ring\n"      \
    "  --target TARGET           a chip to use instead of the kernel's; a name or a file\n"

/* The same of a command that people call with CUDA kernels as well. */
#define CLI_LAUNCH_USAGE                                                                   \
    "  --kernel NAME, --grid X,Y,Z, --arg NAME=VALUE, --launch FILE.toml\n"                \
    "                            and others: the launch of a CUDA kernel; see 'spad cuda " \
    "--help'\n"

typedef struct cli_kernel {
    const char *path;
    cli_text text;
    char *module;                 /* the file that the text is from; NULL: path */
    spad_ptx_launch_file *launch; /* NULL: the launch is on the command line */
    int64_t wrong;       /* faults that executing it has shown; their messages are on stderr */
    int32_t choices;     /* places where data decides; the kernel has one answer for each */
    spad_target *target; /* one that came from a file */
    spad_kernel *kernel;
} cli_kernel;

/* Reads a kernel; faults are shown on stderr, and on stdout if that is JSON. */
cli_exit cli_read_kernel(cli_kernel *out, const char *path, const cli_kernel_words *words);
/* The same, but *faults is what is wrong with the text; NULL: nothing. On stderr alone. */
cli_exit cli_read_or_faults(cli_kernel *out, spad_diagnostics **faults, const char *path,
                            const cli_kernel_words *words);
void cli_free_kernel(cli_kernel *kernel);

/* PTX by its ending or its first lines; CUDA C++ by its ending; what nvcc made from it by its first
 * bytes; launch files. */
bool cli_is_ptx(const char *path, const cli_text *text);
/* Executes the launch that the words describe, and takes its kernel. `faults`: of the text. */
spad_status cli_read_launch(cli_kernel *out, const cli_launch_words *words,
                            const spad_kernel_options *options, spad_diagnostics *faults,
                            spad_error *error);
/* Gives the lines of a compiled kernel their texts, where the files of the program can be read;
 * relative names are relative to the folder of the module. */
void cli_read_program(spad_kernel *kernel, const char *module);
/* Is there another kernel of this name, which only template arguments tell apart? */
bool cli_has_namesake(const spad_ptx *ptx, size_t kernel);
/* Lists the entries of a fatbin or an executable, with `text` as its bytes. */
cli_exit cli_open_image(spad_ptx_image **out, const cli_text *text, const char *path, bool json);
/* A launch file by its ending or its first line. */
bool cli_is_launch_file(const char *path, const cli_text *text);
/* Reads a launch file. CLI_USAGE without a message: see `faults`. */
cli_exit cli_parse_launch_file(spad_ptx_launch_file **out, const cli_text *text, const char *path,
                               spad_diagnostics *faults, bool json);
/* The bytes of the module of a launch file in place of `text`; *module: its path, for free(). */
cli_exit cli_read_module(cli_text *text, char **module, const spad_ptx_launch_file *file,
                         const char *path);
/* Prepares the text of a file that cli_is_ptx: reads its launch file and the module, compiles CUDA
 * C++, and takes PTX out of fatbins and executables. CLI_USAGE without a message: see `faults`. */
cli_exit cli_take_launch(cli_kernel *out, const cli_launch_words *words, spad_diagnostics *faults,
                         bool json);
/* How much is read of a file with a kernel. */
cli_limit cli_limit_of(const char *path);
/* CUDA C++ as PTX, by nvcc; any other file as it is. */
cli_exit cli_compile_cuda(cli_text *text, const char *path);

/* A kernel by its ending, or by its first word after comments. */
bool cli_is_kernel(const char *path, const cli_text *text);
/* cli_read_kernel for a text that was read; takes ownership of it, even on failure. */
cli_exit cli_parse_kernel(cli_kernel *out, const char *path, cli_text text,
                          const cli_kernel_words *words);

/* --fix: lists the changes that keep the proof of a kernel, and writes the kernel with them to a
 * file (NULL: none; "-": stdout, and the list to stderr). CLI_FINDINGS: no proof to keep.
 */
cli_exit cli_fix(const cli_kernel *input, const char *output, const spad_advice_options *options,
                 bool json);

/* Is a kernel right? Of one that is not, errors go to stderr; with `force` the answer is CLI_FINE
 * all the same. For commands whose result would mislead. It takes 10 seconds at most, or
 * `timeout_ns` if that is less (0: not given). */
cli_exit cli_check_first(const cli_kernel *input, const spad_layout *layout, const char *doing,
                         int64_t timeout_ns, const cli_kernel_words *words);

/* ---- what the user wants to hear of ------------------------------------------------ */

enum { CLI_RULES_MAX = 128 };

/* Options, .spad.toml and a baseline. Zeroed, with the words of the command line. */
typedef struct cli_policy {
    const char *compiler_faults;
    const char *baseline;
    bool has_baseline; /* that of .spad.toml is not read */
    spad_check_policy policy;
    spad_rule_level levels[CLI_RULES_MAX];
    char **known; /* owned, and each of them */
} cli_policy;

/* Fills in the rest for an input. Freed with cli_free_policy, also after a failure. */
cli_exit cli_take_policy(cli_policy *policy, const char *input);
void cli_free_policy(cli_policy *policy);

/* Takes the fingerprints of a file, once. */
cli_exit cli_read_baseline(cli_policy *policy, const char *path);

typedef struct cli_checks {
    const spad_check **items;
    size_t count;
} cli_checks;

/* Writes the findings that are not hidden, or in a baseline already, as one. */
cli_exit cli_write_baseline(const char *path, const cli_checks *checks);

/* ---- other programs ---------------------------------------------------------------- */

/* spad cuda run: the words after it. */
cli_exit cli_cuda_run(int count, char **words);
/* Runs a program with its output in a file, or as ours; its exit code, or -1 with a message. */
int cli_run_program(char *const *words, const char *output);
/* $NVCC, or nvcc where it is usually installed, or the one on the path. */
char *cli_find_nvcc(void);

/* ---- Python ------------------------------------------------------------------------ */

/* Runs 'python3 -P -m spad VERB WORDS' in place of this process, with the Python of SPAD_PYTHON if
 * that is set. Returns only if that fails; `what` is what needs it, and has no double quote. */
cli_exit cli_run_python(const char *verb, const char *what, int count, char **words);

/* A file of another compiler that the Python package reads: by its ending, or by its content. */
bool cli_is_model_name(const char *path);
bool cli_is_model(const char *path, const cli_text *text);

/* ---- places ------------------------------------------------------------------------ */

/* The options of the command line about a file to place. */
typedef struct cli_plan_words {
    cli_kernel_words kernel;
    const char *capacity;
    const char *space;
    bool end_exclusive;
} cli_plan_words;

#define CLI_PLAN_OPTIONS(plan_words)                                        \
    CLI_KERNEL_OPTIONS((plan_words).kernel),                                \
        {.name = "--capacity", .value = &(plan_words).capacity},            \
        {.name = "--end-exclusive", .flag = &(plan_words).end_exclusive}, { \
        .name = "--space", .value = &(plan_words).space                     \
    }

#define CLI_PLAN_USAGE                                                                    \
    CLI_KERNEL_USAGE                                                                      \
    "  --target T --space S      for a CSV file: capacity, lanes and rules of a memory\n" \
    "  --capacity N              for a CSV file: bytes per lane, such as 192KiB\n"        \
    "  --end-exclusive           for a CSV file: column 'end' is the time after the last\n"

/* A memory for a CSV file that names none. */
typedef struct cli_made_up {
    spad_space space;
    spad_target target;
} cli_made_up;

/* A file with places: a kernel and its layout, or a plan and its result. Do not copy. */
typedef struct cli_places {
    const spad_target *target;
    bool fits;
    cli_kernel kernel;
    spad_layout *layout; /* NULL: a CSV file */
    spad_plan *plan;
    spad_plan_result *result;
    size_t space; /* of the plan */
    spad_target *owned;
    cli_made_up made_up;
} cli_places;

/* Reads the rows of a CSV file as a problem, on the memory that the words name or on one made up
 * for it: plan, target and space. Freed with cli_free_places, also after a failure. */
cli_exit cli_read_buffers(cli_places *out, const cli_text *text, const char *path,
                          const cli_plan_words *words);
/* Adds the rows of a CSV text to a problem. */
typedef spad_status cli_row_reader(void *into, const cli_text *text, const char *name,
                                   const spad_plan_csv_options *options, spad_error *error);
/* Reads rows, or shows what is wrong with each of them, and how a column `end` was taken. */
cli_exit cli_read_rows(cli_row_reader *read, void *into, const cli_text *text, const char *path,
                       const cli_plan_words *words);
/* Reads and places. Not fitting is not a failure: see `fits`. */
cli_exit cli_find_places(cli_places *out, const char *path, const cli_plan_words *words);
void cli_free_places(cli_places *places);

enum { CLI_CLASH_MAX = 256 };

/* Names the two rows of a plan whose rules clash. */
void cli_clash_sentence(char field[CLI_CLASH_MAX], const spad_plan *plan,
                        const spad_plan_result *result);

/* "192 KiB", "1,020 B": the largest unit that divides. */
enum { CLI_SIZE_ROOM = 48 };
void cli_format_size(char field[CLI_SIZE_ROOM], int64_t bytes);
/* "163,840": digits in groups of three. Returns the field. */
const char *cli_group_digits(char field[CLI_SIZE_ROOM], int64_t number);

/* A table of places: of the buffers of a plan, if it was found, or of the tensors of a kernel, if
 * they fit. Of many, the largest. */
cli_exit cli_print_plan(FILE *out, const spad_plan *plan, const spad_plan_result *result);
cli_exit cli_print_layout(FILE *out, const spad_layout *layout);

/* ---- reports ----------------------------------------------------------------------- */

/* The options with which every command that has a picture writes it. */
typedef struct cli_pictures {
    const char *html;
    const char *svg;
    const char *trace;
    const char *data;
    bool text;
    int64_t timeout_ns; /* for pictures of an analysis, from `started` on; 0: none */
    int64_t started;
} cli_pictures;

/* Rows for a table of options. */
#define CLI_PICTURE_OPTIONS(pictures)                                                             \
    {.name = "--report", .value = &(pictures).html}, {.name = "--svg", .value = &(pictures).svg}, \
        {.name = "--trace", .value = &(pictures).trace},                                          \
        {.name = "--data", .value = &(pictures).data}, {                                          \
        .name = "--text", .flag = &(pictures).text                                                \
    }

/* Lines for the usage of a command. */
#define CLI_PICTURE_USAGE                                                               \
    "  --report OUT.html         a page with maps, curves, findings; opens from disk\n" \
    "  --svg OUT.svg             the picture alone, to print\n"                         \
    "  --text                    a map of letters on stdout\n"                          \
    "  --trace OUT.json          for Perfetto and chrome://tracing\n"                   \
    "  --data OUT.json           the report as data (docs/schema)\n"

/* Can they be written, or is stdout taken by --json or by another one? `other` is one more output
 * of the command, or NULL. False: the reason was printed. */
bool cli_pictures_fit(const cli_pictures *pictures, bool json, const char *other);

/* Where the summary of a command goes: to stderr if a document goes to stdout, which is then the
 * document alone. */
FILE *cli_summary_file(const cli_pictures *pictures, const char *other);

/* Was any of them asked for? */
bool cli_wants_pictures(const cli_pictures *pictures);

/* Writes those that were asked for; "-" is stdout. */
cli_exit cli_write_pictures(const cli_pictures *pictures, const spad_report *report);

/* "exp_rows (N = 16)" */
enum { CLI_TITLE = 512 };
void cli_kernel_title(char field[CLI_TITLE], const spad_kernel *kernel);

/* Writes the pictures of an analysis that were asked for. */
cli_exit cli_draw_analysis(const cli_pictures *pictures, const spad_analysis *analysis);

/* Writes a file, or to stdout for "-", with write(sink, context, error). A file is replaced as a
 * whole when all of it is on the disk; a failure leaves the old one. See files.c. */
cli_exit cli_write_file(const char *path,
                        spad_status (*write)(const spad_sink *sink, const void *context,
                                             spad_error *error),
                        const void *context);

/* ---- JSON -------------------------------------------------------------------------- */

/* A list of documents that the library writes one by one, each indented. */
typedef struct cli_list {
    spad_sink items; /* give this to the library for each item */
    bool any;
    bool line_start;
} cli_list;

void cli_list_open(cli_list *list);
void cli_list_next(cli_list *list); /* in front of each item */
void cli_list_close(cli_list *list);

/* The same for the members of an object. */
void cli_object_open(cli_list *list);
void cli_object_key(cli_list *list, const char *key); /* in front of each */
void cli_object_close(cli_list *list);

#endif
