/* SPDX-License-Identifier: Apache-2.0
 *
 * Fits a target file to measured figures.
 *
 * Most figures are taken as they are. The memory of the chip is a law with three unknowns (see
 * cli_memory_law), fitted to copies of several sizes and depths by least squares of the relative
 * error: with `depth` copies of b bytes in flight and one done every T, a copy takes depth x T and
 * the part in use is u = b / (share x T). Points at the limit say nothing about the law, and those
 * that the issuing thread limits say nothing about the memory; both are left out.
 *
 * Latencies are those of tiles as a matrix product loads them, one stage at a time (tiles_cache,
 * tiles_memory): rows that are apart take longer than bytes in a row. A stage is 128 bytes wide,
 * the memory brings 256, so every second one is in the cache already: what was measured is the mean
 * of the two. Files from before these measurements have the latency of the law instead.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "calibrate.h"

/* ---- reading ----------------------------------------------------------------------- */

/* The next cell of a line, ended with '\0'; NULL: the line is over. */
static char *next_cell(char **rest) {
    char *cell = *rest;
    if (cell == NULL) return NULL;
    char *comma = strchr(cell, ',');
    if (comma != NULL) *comma = '\0';
    *rest = comma == NULL ? NULL : comma + 1;
    return cell;
}

static bool to_number(const char *text, double *out) {
    char *end;
    if (text == NULL) return false;
    *out = strtod(text, &end);
    return end != text && *end == '\0' && isfinite(*out) && *out >= 0;
}

static bool read_line(cli_figure *out, char *line) {
    char *rest = line;
    const char *name = next_cell(&rest);
    const char *parameters = next_cell(&rest);
    const char *value = next_cell(&rest);
    const char *unit = next_cell(&rest);
    const char *spread = next_cell(&rest);
    if (unit == NULL || rest != NULL) return false;
    if (strlen(name) >= sizeof out->name || strlen(parameters) >= sizeof out->parameters) {
        return false;
    }
    memcpy(out->name, name, strlen(name) + 1);
    memcpy(out->parameters, parameters, strlen(parameters) + 1);
    return to_number(value, &out->value) && to_number(spread, &out->spread);
}

cli_exit cli_read_figures(cli_figures *out, const cli_text *text, const char *path) {
    out->count = 0;
    char *line = text->bytes;
    for (int number = 1; line != NULL && *line != '\0'; number++) {
        char *end = strchr(line, '\n');
        if (end != NULL) *end = '\0';
        const bool is_heading = strncmp(line, "name,", 5) == 0;
        if (line[0] != '#' && !is_heading) {
            const bool room = out->count < CLI_FIGURES_MAX;
            if (!room || !read_line(&out->items[out->count], line)) {
                cli_message("%s:%d: %s", cli_input_name(path), number,
                            room ? "not a figure: name,parameters,value,unit,spread"
                                 : "too many figures");
                return CLI_USAGE;
            }
            out->count++;
        }
        line = end == NULL ? NULL : end + 1;
    }
    return CLI_FINE;
}

static const cli_figure *find(const cli_figures *figures, const char *name,
                              const char *parameters) {
    for (size_t i = 0; i < figures->count; i++) {
        const cli_figure *f = &figures->items[i];
        if (strcmp(f->name, name) != 0) continue;
        if (parameters == NULL || strcmp(f->parameters, parameters) == 0) return f;
    }
    return NULL;
}

/* ---- the memory -------------------------------------------------------------------- */

/* "bytes=4096 depth=2 blocks=132" */
typedef struct copy_point {
    double bytes;
    double depth;
    double period; /* ns from one to the next */
} copy_point;

enum { POINTS_MAX = 128 };

static double parameter(const cli_figure *f, const char *name) {
    const char *at = strstr(f->parameters, name);
    return at == NULL ? 0 : strtod(at + strlen(name), NULL);
}

static size_t find_points(copy_point *points, const cli_figures *figures, const char *name,
                          const char *key, double value) {
    size_t count = 0;
    for (size_t i = 0; i < figures->count && count < POINTS_MAX; i++) {
        const cli_figure *f = &figures->items[i];
        if (strcmp(f->name, name) != 0 || parameter(f, key) != value) continue;
        const copy_point p = {parameter(f, "bytes="), parameter(f, "depth="), f->value};
        if (p.bytes > 0 && p.depth > 0 && p.period > 0) points[count++] = p;
    }
    return count;
}

/* Solves the 3 x 3 system in place, with pivots; false: it has no single solution. */
static bool solve3(double a[3][4]) {
    for (int i = 0; i < 3; i++) {
        int best = i;
        for (int j = i + 1; j < 3; j++) {
            if (fabs(a[j][i]) > fabs(a[best][i])) best = j;
        }
        if (fabs(a[best][i]) < 1e-300) return false;
        for (int k = 0; k < 4; k++) {
            const double held = a[i][k];
            a[i][k] = a[best][k];
            a[best][k] = held;
        }
        for (int j = 0; j < 3; j++) {
            if (j == i) continue;
            const double factor = a[j][i] / a[i][i];
            for (int k = i; k < 4; k++) a[j][k] -= factor * a[i][k];
        }
    }
    for (int i = 0; i < 3; i++) a[i][3] /= a[i][i];
    return true;
}

/* The three terms of the law at a point. */
static void terms_of(double terms[3], const copy_point *p, double share) {
    const double busy = p->bytes / share;
    const double used = busy / p->period;
    terms[0] = 1;
    terms[1] = p->bytes;
    terms[2] = busy * used / (1 - used);
}

/* Does the point say something about the law: below the limit, and not held up by the thread that
 * issues the copies? */
static bool shows_law(const copy_point *p, double share, double issue) {
    return p->bytes / share <= 0.93 * p->period && p->period >= 1.25 * issue;
}

static int compare_numbers(const void *a, const void *b) {
    const double x = *(const double *)a;
    const double y = *(const double *)b;
    return (x > y) - (x < y);
}

bool cli_fit_memory(cli_memory_law *out, const cli_figures *figures, const char *name) {
    const cli_figure *units = find(figures, "units", NULL);
    copy_point points[POINTS_MAX];
    const size_t count =
        units == NULL ? 0 : find_points(points, figures, name, "blocks=", units->value);
    double issue = HUGE_VAL; /* ns of the thread that issues a copy */
    out->share = 0;
    for (size_t i = 0; i < count; i++) {
        issue = fmin(issue, points[i].period);
        out->share = fmax(out->share, points[i].bytes / points[i].period);
    }
    double system[3][4] = {{0}};
    size_t used = 0;
    for (size_t i = 0; i < count; i++) {
        const copy_point *p = &points[i];
        double terms[3];
        if (!shows_law(p, out->share, issue)) continue;
        terms_of(terms, p, out->share);
        const double right = p->depth * p->period;
        for (int r = 0; r < 3; r++) {
            for (int c = 0; c < 3; c++) system[r][c] += terms[r] * terms[c] / (right * right);
            system[r][3] += terms[r] / right;
        }
        used++;
    }
    if (used < 4 || !solve3(system)) return false;
    out->latency = fmax(system[0][3], 0);
    out->rate = system[1][3] > 0 ? 1 / system[1][3] : 1e6;
    out->queue = fmax(system[2][3], 0);
    double errors[POINTS_MAX];
    size_t compared = 0;
    for (size_t i = 0; i < count; i++) {
        double terms[3];
        if (!shows_law(&points[i], out->share, issue)) continue;
        terms_of(terms, &points[i], out->share);
        const double law = out->latency + terms[1] / out->rate + out->queue * terms[2];
        errors[compared++] = 100 * fabs(law / (points[i].depth * points[i].period) - 1);
    }
    qsort(errors, compared, sizeof errors[0], compare_numbers);
    out->error = errors[compared / 2];
    return true;
}

/* ---- tiles -------------------------------------------------------------------------- */

/* The time of a stage beyond its bytes at `rate`, one at a time: the mean over the sizes. */
static double mean_latency(const copy_point *points, size_t count, double rate) {
    double sum = 0;
    size_t used = 0;
    for (size_t i = 0; i < count; i++) {
        if (points[i].depth != 1) continue;
        sum += points[i].period - points[i].bytes / rate;
        used++;
    }
    return used == 0 ? 0 : sum / (double)used;
}

bool cli_fit_tiles(cli_tile_law *out, const cli_figures *figures, double rate) {
    copy_point cache[POINTS_MAX];
    copy_point memory[POINTS_MAX];
    const size_t cached = find_points(cache, figures, "tiles_cache", "group=", 16);
    const size_t fresh = find_points(memory, figures, "tiles_memory", "group=", 16);
    const double both = mean_latency(memory, fresh, rate);
    *out = (cli_tile_law){.hit = mean_latency(cache, cached, rate)};
    out->miss = 2 * both - out->hit;
    for (size_t i = 0; i < cached; i++) { /* half of a stage is merged with a neighbour's */
        out->share = fmax(out->share, 0.75 * cache[i].bytes / cache[i].period);
    }
    return out->hit > 0 && out->miss > out->hit;
}

/* ---- the target file --------------------------------------------------------------- */

/* What is written to, and whether all figures were there. */
typedef struct chip_writer {
    FILE *out;
    const cli_figures *figures;
    const char *origin; /* "spad calibrate cuda:0, 2026-11-15" */
    bool complete;
} chip_writer;

static double figure(chip_writer *w, const char *name, const char *parameters) {
    const cli_figure *f = find(w->figures, name, parameters);
    if (f != NULL && f->value > 0) return f->value;
    cli_message("the figures have no '%s'%s%s", name, parameters == NULL ? "" : ", ",
                parameters == NULL ? "" : parameters);
    w->complete = false;
    return 1;
}

/* "measured "spad calibrate cuda:0, 2026-11-15; spread 0.3 %"" */
static void put_origin(const chip_writer *w, const char *unit, double spread) {
    fprintf(w->out, " measured \"%s; %s %.1f %%\"\n", w->origin, unit, spread);
}

static double spread_of(const chip_writer *w, const char *name, const char *parameters) {
    const cli_figure *f = find(w->figures, name, parameters);
    return f == NULL ? 0 : f->spread;
}

/* What a written byte takes, so that as many reads and writes together come at the rate that was
 * measured. */
static void put_written(const chip_writer *w, double reads) {
    const cli_figure *both = find(w->figures, "memory", "both");
    if (both == NULL || both->value <= 0 || both->value >= 2 * reads) return;
    fprintf(w->out, "    written %.2f TB/s", 1 / (2 / both->value - 1 / reads) / 1000);
    put_origin(w, "with as many reads; spread", both->spread);
}

static void put_memory(chip_writer *w, double units) {
    cli_memory_law memory = {0};
    cli_memory_law cache = {0};
    cli_tile_law tiles = {0};
    if (!cli_fit_memory(&memory, w->figures, "copy_memory") ||
        !cli_fit_memory(&cache, w->figures, "copy_cache")) {
        cli_message("the figures have too few copies to fit a memory to");
        w->complete = false;
        return;
    }
    const double bytes = figure(w, "cache", NULL);
    const bool tiled = cli_fit_tiles(&tiles, w->figures, memory.rate);
    const double share = fmax(cache.share, tiles.share);
    fprintf(w->out, "\nspace global {\n    rate %.2f TB/s", memory.share * units / 1000);
    put_origin(w, "error of the law", memory.error);
    put_written(w, memory.share * units);
    fprintf(w->out, "    cache %.0f MiB rate %.2f TB/s merges 2", bytes / (1 << 20),
            share * units / 1000);
    put_origin(w, "error of the law", cache.error);
    if (tiled) {
        fprintf(w->out, "    hit %.0f ns measured \"%s; tiles, one stage at a time\"\n", tiles.hit,
                w->origin);
    }
    fprintf(w->out, "    queue %.1f percent", 100 * memory.queue);
    put_origin(w, "error of the law", memory.error);
    fprintf(w->out, "}\n\nengine copy {\n    path global to shared rate %.0f GB/s latency %.0f ns",
            memory.rate, tiled ? tiles.miss : memory.latency);
    put_origin(w, tiled ? "latency of tiles; error of the law" : "error of the law", memory.error);
    fputs("}\n", w->out);
}

static void put_engines(chip_writer *w, double units) {
    const char *const both = "n=256 warpgroups=2";
    const double clock = figure(w, "clock", both);
    const double cycles = figure(w, "wgmma_rate", both);
    fprintf(w->out, "\nengine tensor {\n    clock %.0f MHz", 1000 * clock);
    put_origin(w, "spread", spread_of(w, "clock", both));
    fprintf(w->out, "    macs %.0f at bf16, fp16", 64.0 * 256.0 * 16.0 / cycles);
    put_origin(w, "spread", spread_of(w, "wgmma_rate", both));
    /* Not measured here, but by an example: docs/results/calibrate.md. */
    fputs("    queue 6 measured \"examples/cuda/copies.cu, H200 at 1500 MHz, 2026-11-16\"\n",
          w->out);
    fprintf(w->out, "    latency %.0f cycles",
            figure(w, "wgmma_latency", "n=128") - figure(w, "wgmma_rate", "n=128 warpgroups=1"));
    put_origin(w, "spread", spread_of(w, "wgmma_latency", "n=128"));
    fputs("}\n\nengine simt {\n", w->out);
    fprintf(w->out, "    clock %.0f MHz", 1000 * clock);
    put_origin(w, "spread", spread_of(w, "clock", both));
    static const struct {
        const char *figure;
        const char *kind;
        double elements; /* of one instruction */
    } kinds[] = {
        {"fma", "fma", 1}, {"exp", "exp", 1}, {"convert", "convert", 2}, {"shuffle", "reduce", 1}};
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
        const char *const most = "threads=1024";
        fprintf(w->out, "    elements %.0f %s",
                kinds[i].elements * figure(w, kinds[i].figure, most), kinds[i].kind);
        put_origin(w, "spread", spread_of(w, kinds[i].figure, most));
    }
    const char *const whole = "16 bytes a thread";
    fprintf(w->out, "    path registers to global rate %.1f GB/s latency 500 ns",
            figure(w, "store", whole) / units);
    put_origin(w, "the latency is an estimate; spread", spread_of(w, "store", whole));
    const cli_figure *fragments = find(w->figures, "store", "4 bytes a thread");
    if (fragments != NULL && fragments->value > 0) {
        fprintf(w->out, "    path registers to global rate %.2f GB/s latency 500 ns pieces 4 B",
                fragments->value / units);
        put_origin(w, "the latency is an estimate; spread", fragments->spread);
    }
    static const char *const directions[2][2] = {{"load_shared", "shared to registers"},
                                                 {"store_shared", "registers to shared"}};
    for (int i = 0; i < 2; i++) {
        fprintf(w->out, "    path %s rate %.0f B/cycle latency 30 cycles", directions[i][1],
                figure(w, directions[i][0], "threads=1024"));
        put_origin(w, "the latency is an estimate; spread",
                   spread_of(w, directions[i][0], "threads=1024"));
    }
    fputs("}\n", w->out);
}

/* A block that starts, brings one box and ends, less the box; and a turn of two warps. */
static void put_block_times(const chip_writer *w) {
    const cli_figure *one = find(w->figures, "block", "boxes=1");
    const cli_figure *nine = find(w->figures, "block", "boxes=9");
    const cli_figure *clock = find(w->figures, "clock", "n=256 warpgroups=2");
    const cli_figure *turn = find(w->figures, "mbarrier", NULL);
    if (one != NULL && nine != NULL && nine->value > one->value) {
        const double us = one->value - (nine->value - one->value) / 8;
        if (us > 0) fprintf(w->out, " block %.0f ns", 1000 * us);
    }
    if (one != NULL && turn != NULL && clock != NULL && clock->value > 0) {
        fprintf(w->out, " signal %.0f ns", turn->value / clock->value);
    }
}

bool cli_write_chip(FILE *out, const cli_figures *figures, const char *name, const char *origin) {
    chip_writer w = {out, figures, origin, true};
    const cli_figure *device = find(figures, "units", NULL);
    const double units = figure(&w, "units", NULL);
    fprintf(out, "# Made by %s from measurements on the device; docs/calibrate.md says how.\n",
            origin);
    fprintf(out, "target %s \"%s, one of its %.0f multiprocessors\" like sm_90\n", name,
            device == NULL ? "?" : device->parameters, units);
    fprintf(out, "units %.0f launch %.1f us", units, figure(&w, "launch", "first"));
    put_block_times(&w);
    put_origin(&w, "spread", spread_of(&w, "launch", "first"));
    put_memory(&w, units);
    put_engines(&w, units);
    return w.complete;
}
