/* SPDX-License-Identifier: Apache-2.0
 *
 * spad replay: runs a log of allocations against each pool of a device, and beside
 * them against the device's own allocator and malloc.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli.h"

static const char usage[] =
    "usage: spad replay LOG [options]\n"
    "\n"
    "LOG is a CSV file as RMM's logging adaptor and spad_wrapper_create_log write it, with the "
    "columns\n"
    "Thread,Time,Action,Pointer,Size,Stream; '-' is stdin. It is replayed in order, by one\n"
    "thread, against\n"
    "\n"
    "  pool         the pool, with lists of freed blocks per thread\n"
    "  pool, exact  the pool without them: sizes are rounded to blocks only\n"
    "  device       the device's own allocator\n"
    "  malloc       the C library's (host only)\n"
    "\n"
    "  --device NAME             host (default), cuda:N, opencl:N, ascend:N, neuron:N\n"
    "  --block BYTES             block size of the pools; default: the alignment of the device\n"
    "  --align BYTES             alignment of every allocation; default 1\n"
    "  --max BYTES               most bytes that a pool may take; default: no limit\n"
    "  --grow BYTES              smallest chunk that a pool takes; default: half of what it has\n"
    "  --json                    the result as JSON\n"
    "\n"
    "The log itself, block by block over its rows, as a picture:\n"
    "\n" CLI_PICTURE_USAGE "\n"
    "peak: the most bytes requested at one time. held: the most in blocks and lists of the pool.\n"
    "taken: bytes that the pool took for them, in chunks; unused: percentage of these that was\n"
    "not requested at the peak. Below the table: frees of pointers that the log has not\n"
    "allocated, which are ignored, and frees with a size other than the allocated one.\n"
    "Exit status 1: an allocation was refused.\n";

typedef struct replay_words {
    const char *device, *block, *align, *max, *grow;
    cli_pictures pictures;
    bool json;
} replay_words;

typedef struct replay_job {
    const spad_log *log;
    spad_device *device;
    spad_pool_options pool;
    int64_t align;
    FILE *out; /* of the table */
    bool json;
    bool any; /* a result was printed */
    bool refused;
    spad_replay last;
} replay_job;

/* A number of bytes after an option that may be missing. */
static bool take_bytes(const char *option, const char *word, int64_t *out) {
    return word == NULL || cli_take_bytes(option, word, 1, out);
}

/* ---- results ----------------------------------------------------------------------- */

/* What a pool took for it; a negative number of bytes where there is no pool. */
typedef struct footprint {
    int64_t held;
    int64_t taken;
} footprint;

static void print_json(const char *name, const spad_replay *r, footprint f) {
    printf("  {\n    \"memory\": \"%s\",\n    \"nanoseconds\": %" PRId64 ",\n"
           "    \"allocations\": %" PRId64 ",\n    \"frees\": %" PRId64 ",\n"
           "    \"refused\": %" PRId64 ",\n    \"left\": %" PRId64 ",\n"
           "    \"unknown_frees\": %" PRId64 ",\n    \"resized_frees\": %" PRId64 ",\n"
           "    \"peak\": %" PRId64,
           name, r->nanoseconds, r->allocations, r->frees, r->failures, r->left, r->unknown_frees,
           r->resized_frees, r->peak_bytes);
    if (f.taken >= 0)
        printf(",\n    \"held\": %" PRId64 ",\n    \"taken\": %" PRId64, f.held, f.taken);
    printf("\n  }");
}

static void print_row(FILE *out, const char *name, const spad_replay *r, footprint f) {
    const int64_t calls = r->allocations + r->failures + r->frees;
    fprintf(out, "%-12s %10.3f ms %9.1f ns %8" PRId64 " %14" PRId64, name,
            (double)r->nanoseconds * 1e-6, calls > 0 ? (double)r->nanoseconds / (double)calls : 0.0,
            r->failures, r->peak_bytes);
    if (f.taken < 0) {
        fprintf(out, " %14s %14s %7s\n", "-", "-", "-");
    } else {
        const double unused =
            f.taken > 0 ? 100.0 * (double)(f.taken - r->peak_bytes) / (double)f.taken : 0.0;
        fprintf(out, " %14" PRId64 " %14" PRId64 " %6.1f%%\n", f.held, f.taken, unused);
    }
}

/* Oddities of the log, the same for every memory. */
static void print_anomalies(const spad_replay *r) {
    if (r->unknown_frees > 0)
        printf("%" PRId64 " %s of unknown pointers: ignored\n", r->unknown_frees,
               r->unknown_frees == 1 ? "free" : "frees");
    if (r->resized_frees > 0)
        printf("%" PRId64 " %s with a size other than the allocated one\n", r->resized_frees,
               r->resized_frees == 1 ? "free" : "frees");
}

static void print_result(replay_job *job, const char *name, const spad_replay *r, footprint f) {
    job->refused |= r->failures > 0;
    if (job->json) {
        printf(job->any ? ",\n" : "[\n");
        print_json(name, r, f);
    } else {
        if (!job->any) {
            fprintf(job->out, "%-12s %13s %12s %8s %14s %14s %14s %7s\n", "memory", "time",
                    "a call", "refused", "peak", "held", "taken", "unused");
        }
        print_row(job->out, name, r, f);
    }
    job->last = *r;
    job->any = true;
}

/* ---- runs -------------------------------------------------------------------------- */

static cli_exit run_on(replay_job *job, const char *name, const spad_memory *memory,
                       spad_pool *pool) {
    spad_replay result;
    spad_error error;
    if (spad_memory_replay(&result, memory, job->log, job->align, NULL, &error) != SPAD_OK)
        return cli_fail(&error);
    footprint f = {-1, -1};
    if (pool != NULL) {
        const spad_pool_stats stats = spad_pool_get_stats(pool);
        f = (footprint){stats.peak_held_bytes, stats.capacity_bytes};
    }
    print_result(job, name, &result, f);
    return CLI_FINE;
}

static cli_exit run_pool(replay_job *job, const char *name, bool exact) {
    const spad_memory memory = spad_device_get_memory(job->device);
    spad_pool_options options = job->pool;
    spad_pool *pool;
    spad_error error;
    options.exact = exact;
    if (options.block_bytes == 0)
        options.block_bytes = spad_device_get_info(job->device)->alignment;
    if (spad_pool_create(&pool, &memory, &options, &error) != SPAD_OK) return cli_fail(&error);
    const spad_memory pooled = spad_pool_get_memory(pool);
    const cli_exit exit = run_on(job, name, &pooled, pool);
    spad_pool_destroy(pool);
    return exit;
}

static spad_status malloc_alloc(void *context, spad_allocation *out, int64_t bytes, int64_t align,
                                spad_error *error) {
    (void)context;
    (void)error;
    const size_t unit = (size_t)align;
    const size_t size = bytes > 0 ? (size_t)bytes : 1;
    void *block = unit <= 16 ? malloc(size) : aligned_alloc(unit, (size + unit - 1) / unit * unit);
    *out = (spad_allocation){0};
    if (block == NULL) return SPAD_ERR_NO_FIT;
    *out = (spad_allocation){
        .address = (int64_t)(uintptr_t)block, .bytes = bytes, .handle = (uint64_t)(uintptr_t)block};
    return SPAD_OK;
}

static spad_status malloc_free(void *context, const spad_allocation *block, spad_error *error) {
    (void)context;
    (void)error;
    free((void *)(uintptr_t)block->handle);
    return SPAD_OK;
}

static cli_exit run_all(replay_job *job) {
    static const spad_memory_calls malloc_calls = {.alloc = malloc_alloc, .free = malloc_free};
    const spad_memory raw = spad_device_get_memory(job->device);
    const spad_memory libc = {.calls = &malloc_calls};
    cli_exit exit = run_pool(job, "pool", false);
    if (exit == CLI_FINE) exit = run_pool(job, "pool, exact", true);
    if (exit == CLI_FINE) exit = run_on(job, "device", &raw, NULL);
    if (exit == CLI_FINE && spad_device_get_info(job->device)->host_reads)
        exit = run_on(job, "malloc", &libc, NULL);
    if (job->json && job->any) printf("\n]\n");
    if (!job->json && exit == CLI_FINE) print_anomalies(&job->last);
    return exit == CLI_FINE && job->refused ? CLI_FINDINGS : exit;
}

/* The log as it was recorded. */
static cli_exit draw(const spad_log *log, const char *path, const cli_pictures *pictures) {
    const spad_target *host;
    spad_report *report = NULL;
    spad_error error;
    if (!cli_wants_pictures(pictures)) return CLI_FINE;
    const spad_report_options options = {.title = cli_input_name(path), .time_unit = "row"};
    spad_status status = spad_target_find(&host, "host", &error);
    if (status == SPAD_OK) status = spad_report_create(&report, host, &options, &error);
    if (status == SPAD_OK) status = spad_report_add_log(report, log, 0, &error);
    const cli_exit exit =
        status == SPAD_OK ? cli_write_pictures(pictures, report) : cli_fail(&error);
    spad_report_destroy(report);
    return exit;
}

static cli_exit replay(replay_job *job, const char *path, const replay_words *words) {
    cli_text text;
    spad_error error;
    spad_log *log;
    cli_exit exit = cli_read(&text, path, CLI_ROWS_MIB);
    if (exit != CLI_FINE) return exit;
    const spad_status status =
        spad_log_parse(&log, text.bytes, text.length, cli_input_name(path), NULL, &error);
    free(text.bytes);
    if (status != SPAD_OK) return cli_fail_input(&error, path, words->json);
    if (spad_device_open(&job->device, words->device != NULL ? words->device : "host", NULL,
                         &error) != SPAD_OK) {
        exit = cli_fail(&error);
    } else {
        job->log = log;
        exit = run_all(job);
        spad_device_close(job->device, NULL);
    }
    if (exit <= CLI_FINDINGS) {
        const cli_exit drawn = draw(log, path, &words->pictures);
        if (drawn != CLI_FINE) exit = drawn;
    }
    spad_log_destroy(log);
    return exit;
}

static cli_exit run(const cli_command *command, int count, char **words) {
    replay_words w = {0};
    replay_job job = {.align = 1};
    const cli_option options[] = {
        {.name = "--device", .value = &w.device}, {.name = "--block", .value = &w.block},
        {.name = "--align", .value = &w.align},   {.name = "--max", .value = &w.max},
        {.name = "--grow", .value = &w.grow},     {.name = "--json", .flag = &w.json},
        CLI_PICTURE_OPTIONS(w.pictures),          {.name = NULL},
    };
    cli_exit exit;
    if (!cli_take_options(command, options, &count, words, &exit)) return exit;
    if (count != 1) {
        cli_message("'spad replay' needs one log, not %d", count);
        return CLI_USAGE;
    }
    if (!take_bytes("--block", w.block, &job.pool.block_bytes) ||
        !take_bytes("--align", w.align, &job.align) ||
        !take_bytes("--max", w.max, &job.pool.max_bytes) ||
        !take_bytes("--grow", w.grow, &job.pool.grow_bytes)) {
        return CLI_USAGE;
    }
    if (!cli_pictures_fit(&w.pictures, w.json, NULL)) return CLI_USAGE;
    job.json = w.json;
    job.out = cli_summary_file(&w.pictures, NULL);
    return replay(&job, words[0], &w);
}

const cli_command cli_replay = {
    .name = "replay",
    .about = "run a log of allocations against each pool",
    .usage = usage,
    .run = run,
};
