/* SPDX-License-Identifier: Apache-2.0
 *
 * Fits a target file to measured figures.
 *
 * Most figures are taken as they are. The memory of the chip is a law with three unknowns (see
 * cli_memory_law), fitted to copies of several sizes and depths by least squares of the relative
 * error: with `depth` copies of b bytes in flight and one done every T, a copy takes depth x T and
 * the part in use is u = b / (share x T). Points at the limit say nothing about the law, and those
 * that the issuing thread limits say nothing about the memory; both are left out.
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
        if (number > 1 && line[0] != '#') {
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
                          double blocks) {
    size_t count = 0;
    for (size_t i = 0; i < figures->count && count < POINTS_MAX; i++) {
        const cli_figure *f = &figures->items[i];
        if (strcmp(f->name, name) != 0 || parameter(f, "blocks=") != blocks) continue;
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

static int compare_numbers(const void *a, const void *b) {
    const double x = *(const double *)a;
    const double y = *(const double *)b;
    return (x > y) - (x < y);
}

bool cli_fit_memory(cli_memory_law *out, const cli_figures *figures, const char *name) {
    const cli_figure *units = find(figures, "units", NULL);
    copy_point points[POINTS_MAX];
    const size_t count =
        units == NULL ? 0 : find_points(points, figures, name, units->value);
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
        if (p->bytes / out->share > 0.93 * p->period || p->period < 1.25 * issue) continue;
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
        if (points[i].bytes / out->share > 0.93 * points[i].period ||
            points[i].period < 1.25 * issue) {
            continue;
        }
        terms_of(terms, &points[i], out->share);
        const double law = out->latency + terms[1] / out->rate + out->queue * terms[2];
        errors[compared++] = 100 * fabs(law / (points[i].depth * points[i].period) - 1);
    }
    qsort(errors, compared, sizeof errors[0], compare_numbers);
    out->error = errors[compared / 2];
    return true;
}
