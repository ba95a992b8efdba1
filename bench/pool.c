/* SPDX-License-Identifier: Apache-2.0
 *
 * One allocate+free pair of the pool beside malloc and mimalloc: a number of live blocks
 * of mixed sizes, of which a random one is freed and one of a random size allocated.
 * Sizes are drawn evenly over their logarithm. The pool manages addresses of memory
 * that is not touched; the others touch what they manage, as they must. Times are those of
 * the processor, so that other work on the machine disturbs little. Where threads are compared
 * there is the clock on the wall too: only it sees threads that sleep until others let them in,
 * but it also sees other work.
 *
 * mimalloc is opened at run time (Debian: libmimalloc2.0); without it its column is empty.
 */
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/random.h"
#include "bench.h"
#include "spad/device/pool.h"

enum { PAIRS = 1 << 19, RUNS = 7, THREAD_RUNS = 21, MOST_LIVE = 100000, MOST_THREADS = 2 };
static const double LEAST_SECONDS = 0.5; /* of runs: a busy machine has its quiet moments */

/* What is measured: one of three. */
typedef struct allocator {
    spad_pool *pool; /* not NULL: the pool */
    void *(*get)(size_t);
    void (*put)(void *);
} allocator;

typedef struct job {
    const allocator *allocator;
    int live;
    int64_t *sizes; /* PAIRS of them */
    uint32_t *victims;
    spad_allocation *blocks;
    void **pointers;
} job;

static void fill(job *j) {
    for (int i = 0; i < j->live; i++) {
        if (j->allocator->pool != NULL) {
            spad_pool_alloc(&j->blocks[i], j->allocator->pool, j->sizes[i % PAIRS], 1, NULL);
        } else {
            j->pointers[i] = j->allocator->get((size_t)j->sizes[i % PAIRS]);
        }
    }
}

static void empty(job *j) {
    for (int i = 0; i < j->live; i++) {
        if (j->allocator->pool != NULL) {
            spad_pool_free(j->allocator->pool, &j->blocks[i], NULL);
        } else {
            j->allocator->put(j->pointers[i]);
        }
    }
}

static void run_pool(void *context) {
    job *j = context;
    spad_pool *pool = j->allocator->pool;
    for (int i = 0; i < PAIRS; i++) {
        spad_allocation *block = &j->blocks[j->victims[i]];
        spad_pool_free(pool, block, NULL);
        spad_pool_alloc(block, pool, j->sizes[i], 1, NULL);
    }
}

static void run_pointers(void *context) {
    job *j = context;
    const allocator *a = j->allocator;
    for (int i = 0; i < PAIRS; i++) {
        void **pointer = &j->pointers[j->victims[i]];
        a->put(*pointer);
        *pointer = a->get((size_t)j->sizes[i]);
    }
}

static void *checked(void *block) {
    if (block != NULL) return block;
    fprintf(stderr, "bench_pool: out of memory\n");
    exit(1);
}

static void job_init(job *j, const allocator *a, int live, int64_t least, int64_t most,
                     uint64_t seed) {
    spad__random random = {seed};
    *j = (job){.allocator = a, .live = live};
    j->sizes = checked(malloc(PAIRS * sizeof *j->sizes));
    j->victims = checked(malloc(PAIRS * sizeof *j->victims));
    j->blocks = checked(calloc((size_t)live, sizeof *j->blocks));
    j->pointers = checked(calloc((size_t)live, sizeof *j->pointers));
    int octaves = 0;
    while (least << octaves < most) octaves++;
    for (int i = 0; i < PAIRS; i++) {
        const int64_t low = least << spad__random_below(&random, (uint64_t)octaves);
        j->sizes[i] = spad__random_in(&random, low, 2 * low);
        j->victims[i] = (uint32_t)spad__random_below(&random, (uint64_t)live);
    }
    fill(j);
}

static void job_deinit(job *j) {
    empty(j);
    free(j->sizes);
    free(j->victims);
    free(j->blocks);
    free(j->pointers);
}

static double cpu_seconds(void) {
    struct timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

static double measure(const allocator *a, int live, int64_t least, int64_t most) {
    job j;
    double best = 1e99;
    double spent = 0;
    job_init(&j, a, live, least, most, 1);
    for (int i = 0; i < RUNS || spent < LEAST_SECONDS; i++) {
        const double start = cpu_seconds();
        a->pool != NULL ? run_pool(&j) : run_pointers(&j);
        const double took = cpu_seconds() - start;
        if (took < best) best = took;
        spent += took;
    }
    job_deinit(&j);
    return best * 1e9 / PAIRS;
}

/* ---- threads ----------------------------------------------------------------------- */

typedef struct worker {
    pthread_t thread;
    pthread_barrier_t *barrier;
    job job;
    double took; /* processor time of the last run */
} worker;

static void *work(void *context) {
    worker *w = context;
    fill(&w->job); /* by the thread that uses them */
    for (int i = 0; i < THREAD_RUNS; i++) {
        pthread_barrier_wait(w->barrier);
        const double start = cpu_seconds();
        w->job.allocator->pool != NULL ? run_pool(&w->job) : run_pointers(&w->job);
        w->took = cpu_seconds() - start;
        pthread_barrier_wait(w->barrier);
    }
    return NULL;
}

/* Million pairs a second of all threads together, each in the best run. */
typedef struct rate {
    double clock;
    double processor;
} rate;

static rate throughput(const allocator *a, int threads, int live) {
    static worker workers[MOST_THREADS];
    pthread_barrier_t barrier;
    rate best = {0};
    pthread_barrier_init(&barrier, NULL, (unsigned)threads + 1);
    for (int t = 0; t < threads; t++) {
        worker *w = &workers[t];
        w->barrier = &barrier;
        job_init(&w->job, a, live, 64, 65536, (uint64_t)t + 1);
        empty(&w->job);
        pthread_create(&w->thread, NULL, work, w);
    }
    for (int i = 0; i < THREAD_RUNS; i++) {
        pthread_barrier_wait(&barrier);
        const double start = bench_seconds();
        pthread_barrier_wait(&barrier);
        const double clock = threads * (double)PAIRS / (bench_seconds() - start) * 1e-6;
        double processor = 0;
        for (int t = 0; t < threads; t++) processor += PAIRS / workers[t].took * 1e-6;
        if (clock > best.clock) best.clock = clock;
        if (processor > best.processor) best.processor = processor;
    }
    for (int t = 0; t < threads; t++) {
        pthread_join(workers[t].thread, NULL);
        job_deinit(&workers[t].job);
    }
    pthread_barrier_destroy(&barrier);
    return best;
}

static void report_threads(const char *name, const allocator *a) {
    const rate one = throughput(a, 1, 1000);
    const rate two = throughput(a, 2, 1000);
    printf("%-9s by the clock %6.1f and %6.1f (%.2fx), of processor time %6.1f and %6.1f (%.2fx)\n",
           name, one.clock, two.clock, two.clock / one.clock, one.processor, two.processor,
           two.processor / one.processor);
}

/* ---- report ------------------------------------------------------------------------ */

/* The one function type that dlsym's result is turned into. */
static void load(void *out, void *library, const char *name) {
    void *symbol = dlsym(library, name);
    memcpy(out, &symbol, sizeof symbol);
}

int main(void) {
    static const struct {
        const char *name;
        int64_t least, most;
    } mixes[] = {{"64 B to 1 KiB", 64, 1024},
                 {"64 B to 64 KiB", 64, 65536},
                 {"256 B to 1 MiB", 256, 1 << 20}};
    static const int lives[] = {64, 1000, 10000, MOST_LIVE};
    allocator ours = {0};
    allocator libc = {.get = malloc, .put = free};
    allocator mi = {0};
    if (spad_pool_create_over(&ours.pool, 0, INT64_C(1) << 40, NULL, NULL) != SPAD_OK) return 1;
    void *library = dlopen("libmimalloc.so.2", RTLD_NOW | RTLD_LOCAL);
    if (library != NULL) {
        load(&mi.get, library, "mi_malloc");
        load(&mi.put, library, "mi_free");
    } else {
        printf("mimalloc is not here (Debian: apt-get install libmimalloc2.0)\n");
    }
    printf("ns of processor time per free+allocate pair, best of at least %d runs of %d\n", RUNS,
           PAIRS);
    printf("%-16s %7s  %8s %8s %8s\n", "sizes", "live", "pool", "malloc", "mimalloc");
    for (size_t m = 0; m < sizeof mixes / sizeof mixes[0]; m++) {
        for (size_t l = 0; l < sizeof lives / sizeof lives[0]; l++) {
            if (mixes[m].most * lives[l] > INT64_C(10000000000)) continue; /* they touch it */
            printf("%-16s %7d  %8.1f %8.1f", mixes[m].name, lives[l],
                   measure(&ours, lives[l], mixes[m].least, mixes[m].most),
                   measure(&libc, lives[l], mixes[m].least, mixes[m].most));
            if (mi.get != NULL)
                printf(" %8.1f", measure(&mi, lives[l], mixes[m].least, mixes[m].most));
            printf("\n");
        }
    }
    printf(
        "\nmillion pairs a second with one thread and with two, 64 B to 64 KiB, 1000 live blocks a "
        "thread\n");
    report_threads("pool", &ours);
    report_threads("malloc", &libc);
    if (mi.get != NULL) report_threads("mimalloc", &mi);
    spad_pool_destroy(ours.pool);
    return 0;
}
