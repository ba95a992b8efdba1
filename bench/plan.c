/* SPDX-License-Identifier: Apache-2.0
 *
 * bench/plan: what the planner reaches, in tables.
 *
 *   plan FOLDER [--capacity N] [--seeds N] [--timeout S] [--peer CMD]
 *       every *.csv of the folder: minimise, or decide when the name ends in
 *       ".N.csv" (the capacity) or --capacity is given. Median and worst time over
 *       the seeds. --peer runs a command in the same run, with {file} and
 *       {capacity} replaced, and prints the ratio of the times. Times are those of the
 *       processor, not of the clock, so that other work on the machine counts less.
 *   plan --packings [--timeout S]      perfect packings of 20 to 1000 buffers
 *   plan --scale [COUNT] [--shape-seed N]   shapes of 10^3 to COUNT (10^6) buffers, by the clock
 *   plan --small                       kernels of 10 to 100 buffers, beside first fit
 *   plan --count FILE                  one solve with a node limit and no clock, for
 *                                      valgrind --tool=callgrind (see bench/callgrind.sh)
 */
#define _POSIX_C_SOURCE 200809L
#include <dirent.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

#include "spad/plan.h"
#include "support/packing.h"

enum { MOST_FILES = 256, MOST_SEEDS = 64 };

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* Processor time of this process. */
static double cpu_now(void) {
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* Processor time of the peers that have ended. */
static double peer_cpu(void) {
    struct rusage usage;
    getrusage(RUSAGE_CHILDREN, &usage);
    return (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
           (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) * 1e-6;
}

static void die(const char *what) {
    fprintf(stderr, "bench/plan: %s\n", what);
    exit(2);
}

typedef struct settings {
    int64_t capacity; /* 0: from the name of the file */
    int seeds;
    double timeout;
    const char *peer;
    uint64_t shape_seed; /* of the generated shapes */
} settings;

/* ---- one problem ------------------------------------------------------------------- */

static spad_plan *new_plan(void) {
    spad_error error;
    spad_plan *plan;
    if (spad_plan_create(&plan, NULL, &error) != SPAD_OK) die(error.message);
    return plan;
}

static spad_plan *read_plan(const char *path) {
    FILE *file = fopen(path, "rb");
    if (file == NULL) die(path);
    fseek(file, 0, SEEK_END);
    const size_t length = (size_t)ftell(file);
    rewind(file);
    char *text = malloc(length + 1);
    if (text == NULL || fread(text, 1, length, file) != length) die(path);
    fclose(file);
    spad_error error;
    spad_plan *plan = new_plan();
    if (spad_plan_read_csv(plan, text, length, path, NULL, &error) != SPAD_OK) die(error.message);
    free(text);
    return plan;
}

/* Solves and checks; the times, of the clock and of the processor, include everything between
 * problem and answer. */
typedef struct times {
    double wall;
    double cpu;
} times;

static spad_plan_result *solve(const spad_plan *plan, spad_plan_goal goal, uint64_t seed,
                               double timeout, times *spent) {
    const spad_plan_options options = {
        .goal = goal, .seed = seed, .timeout_ns = (int64_t)(timeout * 1e9)};
    spad_error error;
    spad_plan_result *result;
    const times start = {now(), cpu_now()};
    if (spad_plan_solve(&result, plan, &options, &error) != SPAD_OK) die(error.message);
    *spent = (times){now() - start.wall, cpu_now() - start.cpu};
    int64_t height;
    if (result->verdict <= SPAD_PLAN_FEASIBLE &&
        spad_plan_check(&height, plan, result->places, result->count, &error) != SPAD_OK)
        die(error.message);
    return result;
}

static int by_time(const void *x, const void *y) {
    const double a = *(const double *)x;
    const double b = *(const double *)y;
    return (a > b) - (a < b);
}

static double gap_of(const spad_plan_result *r) {
    return r->bound > 0 ? 100.0 * (double)(r->height - r->bound) / (double)r->bound : 0;
}

/* ---- a folder ---------------------------------------------------------------------- */

/* "A.1048576.csv" has the capacity in its name. */
static int64_t capacity_in_name(const char *name) {
    const char *dot = strchr(name, '.');
    char *end;
    if (dot == NULL) return 0;
    const long long value = strtoll(dot + 1, &end, 10);
    return strcmp(end, ".csv") == 0 && value > 0 ? value : 0;
}

static double run_peer(const settings *s, const char *path, int64_t capacity) {
    char command[4096];
    size_t used = 0;
    for (const char *p = s->peer; *p != '\0' && used + 1200 < sizeof command;) {
        if (strncmp(p, "{file}", 6) == 0) {
            used += (size_t)snprintf(command + used, 1024, "%s", path);
            p += 6;
        } else if (strncmp(p, "{capacity}", 10) == 0) {
            used += (size_t)snprintf(command + used, 64, "%lld", (long long)capacity);
            p += 10;
        } else {
            command[used++] = *p++;
        }
    }
    command[used] = '\0';
    const double start = peer_cpu();
    if (system(command) != 0) return -1;
    return peer_cpu() - start;
}

static void bench_file(const settings *s, const char *folder, const char *name, double *log_time,
                       double *log_ratio, int *peers) {
    char path[1024];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    spad_plan *plan = read_plan(path);
    spad_error error;
    const int64_t capacity = s->capacity > 0 ? s->capacity : capacity_in_name(name);
    if (capacity > 0 && spad_plan_set_capacity(plan, capacity, &error) != SPAD_OK)
        die(error.message);
    double cpu[MOST_SEEDS];
    spad_plan_result *result = NULL;
    for (int k = 0; k < s->seeds; k++) {
        spad_plan_result_destroy(result);
        times spent;
        result = solve(plan, capacity > 0 ? SPAD_PLAN_DECIDE : SPAD_PLAN_MINIMIZE, (uint64_t)k + 1,
                       s->timeout, &spent);
        cpu[k] = spent.cpu;
    }
    qsort(cpu, (size_t)s->seeds, sizeof *cpu, by_time);
    const double median = cpu[s->seeds / 2];
    printf("%-22s %7lld %14lld %14lld %8.4f %-10s %9lld %9.2f %9.2f", name,
           (long long)spad_plan_count(plan), (long long)result->peak_load,
           (long long)result->height, gap_of(result), spad_plan_verdict_name(result->verdict),
           (long long)result->nodes, median * 1e3, cpu[s->seeds - 1] * 1e3);
    *log_time += log(median);
    if (s->peer != NULL) {
        const double peer = run_peer(s, path, capacity > 0 ? capacity : INT64_C(1) << 50);
        if (peer < 0) {
            printf("    failed");
        } else {
            printf(" %9.2f %7.1fx", peer * 1e3, peer / median);
            *log_ratio += log(peer / median);
            (*peers)++;
        }
    }
    printf("\n");
    fflush(stdout);
    spad_plan_result_destroy(result);
    spad_plan_destroy(plan);
}

static int by_name(const void *x, const void *y) {
    return strcmp(*(char *const *)x, *(char *const *)y);
}

static void bench_folder(const settings *s, const char *folder) {
    char *names[MOST_FILES];
    size_t count = 0;
    DIR *dir = opendir(folder);
    if (dir == NULL) die(folder);
    for (struct dirent *entry = readdir(dir); entry != NULL; entry = readdir(dir)) {
        const size_t length = strlen(entry->d_name);
        if (length < 4 || strcmp(entry->d_name + length - 4, ".csv") != 0) continue;
        if (count < MOST_FILES) names[count++] = strdup(entry->d_name);
    }
    closedir(dir);
    qsort(names, count, sizeof *names, by_name);
    printf("%-22s %7s %14s %14s %8s %-10s %9s %9s %9s %s\n", "file", "n", "max load", "height",
           "gap %", "verdict", "nodes", "median ms", "worst ms",
           s->peer ? "  peer ms   ratio" : "");
    double log_time = 0;
    double log_ratio = 0;
    int peers = 0;
    for (size_t i = 0; i < count; i++) {
        bench_file(s, folder, names[i], &log_time, &log_ratio, &peers);
        free(names[i]);
    }
    if (count > 0) printf("geometric mean of medians %.3f ms", exp(log_time / (double)count) * 1e3);
    if (peers > 0) printf(", of ratios %.1fx", exp(log_ratio / peers));
    printf("\n");
}

/* ---- our own problems -------------------------------------------------------------- */

static void bench_packings(const settings *s) {
    printf("%-8s %6s %14s %14s %-10s %9s %9s\n", "packing", "seed", "optimum", "height", "verdict",
           "nodes", "ms");
    static const int32_t counts[] = {20, 50, 100, 200, 300, 500, 1000};
    for (size_t k = 0; k < sizeof counts / sizeof *counts; k++) {
        for (uint64_t seed = 1; seed <= 5; seed++) {
            spad_plan *plan = new_plan();
            spad_error error;
            times spent;
            const int64_t optimum = 4096;
            if (packing_perfect(plan, counts[k], optimum, seed, &error) != SPAD_OK)
                die(error.message);
            spad_plan_result *r = solve(plan, SPAD_PLAN_MINIMIZE, seed, s->timeout, &spent);
            printf("%-8d %6llu %14lld %14lld %-10s %9lld %9.2f\n", counts[k],
                   (unsigned long long)seed, (long long)optimum, (long long)r->height,
                   spad_plan_verdict_name(r->verdict), (long long)r->nodes, spent.cpu * 1e3);
            spad_plan_result_destroy(r);
            spad_plan_destroy(plan);
        }
    }
}

static double peak_kib(void) {
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    return (double)usage.ru_maxrss;
}

static void bench_scale(const settings *s, int32_t most) {
    static const char *const names[] = {"stack", "random", "training"};
    printf("%-9s %9s %10s %10s %12s %14s\n", "shape", "n", "s", "gap %", "us / buffer",
           "KiB / buffer (process peak)");
    for (int32_t n = 1000; n <= most; n *= 10) {
        for (int shape = 0; shape < 3; shape++) {
            spad_plan *plan = new_plan();
            spad_error error;
            times spent;
            if (packing_shaped(plan, (packing_shape)shape, n, s->shape_seed, &error) != SPAD_OK)
                die(error.message);
            spad_plan_result *r = solve(plan, SPAD_PLAN_MINIMIZE, 1, 9, &spent);
            printf("%-9s %9d %10.4f %10.4f %12.3f %14.3f\n", names[shape], n, spent.wall, gap_of(r),
                   spent.wall * 1e6 / n, peak_kib() / n);
            fflush(stdout);
            spad_plan_result_destroy(r);
            spad_plan_destroy(plan);
        }
    }
}

enum { SMALL_MOST = 100, SMALL_REPEATS = 20 };

/* The least that can be called a plan: first fit, the largest buffer first, without a bound. */
typedef struct first_fit {
    spad_plan_buffer buffers[SMALL_MOST];
    int64_t offset[SMALL_MOST];
    int32_t placed[SMALL_MOST]; /* the lowest first */
    int64_t height;
} first_fit;

static int by_size(const void *x, const void *y) {
    const int64_t a = ((const spad_plan_buffer *)x)->size;
    const int64_t b = ((const spad_plan_buffer *)y)->size;
    return (a < b) - (a > b);
}

static void run_first_fit(first_fit *f, const spad_plan *plan) {
    const int32_t n = (int32_t)spad_plan_count(plan);
    f->height = 0;
    for (int32_t i = 0; i < n; i++) f->buffers[i] = *spad_plan_get(plan, (size_t)i);
    qsort(f->buffers, (size_t)n, sizeof *f->buffers, by_size);
    for (int32_t i = 0; i < n; i++) {
        const spad_plan_buffer *b = &f->buffers[i];
        int64_t offset = 0;
        for (int32_t k = 0; k < i; k++) {
            const int32_t j = f->placed[k];
            const spad_plan_buffer *other = &f->buffers[j];
            if (other->lower >= b->upper || b->lower >= other->upper) continue;
            if (f->offset[j] >= offset + b->size) break;
            if (f->offset[j] + other->size > offset) offset = f->offset[j] + other->size;
        }
        int32_t at = i;
        for (; at > 0 && f->offset[f->placed[at - 1]] > offset; at--)
            f->placed[at] = f->placed[at - 1];
        f->placed[at] = i;
        f->offset[i] = offset;
        if (offset + b->size > f->height) f->height = offset + b->size;
    }
}

/* Seconds of a solve and of first fit. Each problem is solved several times between two readings of
 * the clock: one solve takes about as long as a reading. */
static void time_small(packing_shape shape, int32_t n, uint64_t seed, double *ours, double *fit) {
    static const spad_plan_options options = {.seed = 1, .timeout_ns = 100000000};
    static first_fit f;
    spad_plan *plan = new_plan();
    spad_error error;
    if (packing_shaped(plan, shape, n, seed, &error) != SPAD_OK) die(error.message);
    const double start = cpu_now();
    for (int k = 0; k < SMALL_REPEATS; k++) {
        spad_plan_result *result;
        if (spad_plan_solve(&result, plan, &options, &error) != SPAD_OK) die(error.message);
        spad_plan_result_destroy(result);
    }
    const double solved = cpu_now();
    for (int k = 0; k < SMALL_REPEATS; k++) run_first_fit(&f, plan);
    *ours += (solved - start) / SMALL_REPEATS;
    *fit += (cpu_now() - solved) / SMALL_REPEATS;
    spad_plan_destroy(plan);
}

static void bench_small(void) {
    enum { TIMES = 200 };
    static const char *const names[] = {"stack", "random", "training"};
    printf("%-9s %5s %12s %15s %7s\n", "shape", "n", "us / solve", "us / first fit", "ratio");
    for (int32_t n = 10; n <= SMALL_MOST; n += 30) {
        for (int shape = 0; shape < 3; shape++) {
            double ours = 0;
            double fit = 0;
            for (uint64_t seed = 0; seed < TIMES; seed++)
                time_small((packing_shape)shape, n, seed, &ours, &fit);
            printf("%-9s %5d %12.2f %15.2f %6.1fx\n", names[shape], n, ours / TIMES * 1e6,
                   fit / TIMES * 1e6, ours / fit);
        }
    }
}

static void count_instructions(const char *path) {
    spad_plan *plan = read_plan(path);
    const spad_plan_options options = {.seed = 1, .node_limit = 20000};
    spad_error error;
    spad_plan_result *result;
    if (spad_plan_solve(&result, plan, &options, &error) != SPAD_OK) die(error.message);
    printf("%s: %lld nodes, height %lld\n", path, (long long)result->nodes,
           (long long)result->height);
    spad_plan_result_destroy(result);
    spad_plan_destroy(plan);
}

int main(int argc, char **argv) {
    settings s = {.seeds = 1, .timeout = 10, .shape_seed = 7};
    const char *what = NULL;
    const char *folder = NULL;
    for (int i = 1; i < argc; i++) {
        const char *value = i + 1 < argc ? argv[i + 1] : NULL;
        if (strcmp(argv[i], "--capacity") == 0 && value != NULL)
            s.capacity = strtoll(argv[++i], NULL, 10);
        else if (strcmp(argv[i], "--seeds") == 0 && value != NULL)
            s.seeds = atoi(argv[++i]);
        else if (strcmp(argv[i], "--timeout") == 0 && value != NULL)
            s.timeout = atof(argv[++i]);
        else if (strcmp(argv[i], "--shape-seed") == 0 && value != NULL)
            s.shape_seed = strtoull(argv[++i], NULL, 10);
        else if (strcmp(argv[i], "--peer") == 0 && value != NULL)
            s.peer = argv[++i];
        else if (strncmp(argv[i], "--", 2) == 0)
            what = argv[i];
        else
            folder = argv[i];
    }
    if (s.seeds < 1 || s.seeds > MOST_SEEDS) die("--seeds is between 1 and 64");
    if (what == NULL && folder != NULL)
        bench_folder(&s, folder);
    else if (what != NULL && strcmp(what, "--packings") == 0)
        bench_packings(&s);
    else if (what != NULL && strcmp(what, "--scale") == 0)
        bench_scale(&s, folder != NULL ? atoi(folder) : 1000000);
    else if (what != NULL && strcmp(what, "--small") == 0)
        bench_small();
    else if (what != NULL && strcmp(what, "--count") == 0 && folder != NULL)
        count_instructions(folder);
    else
        die("usage: plan FOLDER [--seeds N] [--timeout S] [--capacity N] [--peer CMD] | --packings "
            "| "
            "--scale [N] [--shape-seed N] | --small | --count FILE");
    return 0;
}
