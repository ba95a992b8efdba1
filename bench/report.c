/* SPDX-License-Identifier: Apache-2.0
 *
 * Time and size of the pictures of 10^5 boxes, per box, beside a plain loop that prints the
 * same numbers. `bench_report PAGE.html` also leaves the page there; bench/first_paint.py
 * measures how long a browser takes to show it.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/random.h"
#include "bench.h"
#include "spad/spad.h"

enum { BOXES = 100000, RUNS = 3 };

static size_t written;

static int count_bytes(void *context, const char *bytes, size_t count) {
    (void)context;
    (void)bytes;
    written += count;
    return 0;
}

static const spad_sink nowhere = {count_bytes, NULL};

typedef struct job {
    const spad_report *report;
    spad_format format;
} job;

static void run_writer(void *context) {
    const job *j = context;
    written = 0;
    if (spad_report_write(j->report, j->format, &nowhere, NULL) != SPAD_OK) exit(1);
}

/* The least that has the same numbers: one line a box. */
static void run_loop(void *context) {
    const job *j = context;
    char line[256];
    written = 0;
    for (size_t i = 0; i < spad_report_box_count(j->report); i++) {
        const spad_report_box *b = spad_report_get_box(j->report, i);
        const int length = snprintf(line, sizeof line, "%s,%lld,%lld,%lld,%lld\n", b->name,
                                    (long long)b->rect.byte, (long long)b->rect.bytes,
                                    (long long)b->begin, (long long)b->end);
        count_bytes(NULL, line, (size_t)length);
    }
}

/* Columns of buffers that follow each other in the same bytes, as a planner leaves them. */
static spad_report *make_report(const spad_target *chip) {
    enum { COLUMNS = 256 };
    spad_report *report;
    spad__random random = {1};
    int64_t ends[COLUMNS] = {0};
    if (spad_report_create(&report, chip, NULL, NULL) != SPAD_OK) exit(1);
    for (int i = 0; i < BOXES; i++) {
        char name[32];
        const int column = (int)spad__random_below(&random, COLUMNS);
        const int64_t length = 1 + (int64_t)spad__random_below(&random, 200);
        snprintf(name, sizeof name, "t%d[%d]", column, i);
        const spad_report_box box = {.name = name,
                                     .rect = {0, 1, column * 768, 256 + column},
                                     .begin = ends[column],
                                     .end = ends[column] + length,
                                     .family = SPAD_NO_FAMILY};
        ends[column] = box.end + (int64_t)spad__random_below(&random, 20);
        if (spad_report_add_box(report, &box, NULL) != SPAD_OK) exit(1);
    }
    return report;
}

int main(int argc, char **argv) {
    static const struct {
        const char *name;
        spad_format format;
    } writers[] = {{"page (HTML)", SPAD_FORMAT_HTML},
                   {"JSON", SPAD_FORMAT_JSON},
                   {"SVG", SPAD_FORMAT_SVG},
                   {"text", SPAD_FORMAT_TEXT},
                   {"Chrome trace", SPAD_FORMAT_TRACE}};
    const spad_target *chip;
    if (spad_target_find(&chip, "910b", NULL) != SPAD_OK) chip = spad_target_get(0);
    spad_report *report = make_report(chip);
    job j = {.report = report};
    const double loop = bench_best(RUNS, BOXES, run_loop, &j);
    printf("%d boxes (best of %d runs)\n", BOXES, RUNS);
    printf("%-24s %8.0f ns a box   %5.1fx  %8.2f MB\n", "a loop that prints", loop, 1.0,
           (double)written / 1e6);
    for (size_t i = 0; i < sizeof writers / sizeof writers[0]; i++) {
        j.format = writers[i].format;
        const double ns = bench_best(RUNS, BOXES, run_writer, &j);
        printf("%-24s %8.0f ns a box   %5.1fx  %8.2f MB  %.3f s\n", writers[i].name, ns, ns / loop,
               (double)written / 1e6, ns * BOXES / 1e9);
    }
    if (argc > 1) {
        FILE *file = fopen(argv[1], "wb");
        if (file == NULL) return 1;
        const spad_sink sink = spad_sink_file(file);
        spad_report_write(report, SPAD_FORMAT_HTML, &sink, NULL);
        fclose(file);
    }
    spad_report_destroy(report);
    return 0;
}
