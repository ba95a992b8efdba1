/* SPDX-License-Identifier: Apache-2.0
 *
 * Witnesses as SVG in the page: agents and units are rows, steps are columns, what the error is
 * about is red, and an arrow goes from an arrival to the wait that it lets go on. Plain markup, so
 * that it is there without JavaScript; colours are the page's (page.css).
 */
#include <string.h>

#include "base/assert.h"
#include "report/html.h"

/* Pixels. */
enum {
    NAMES_WIDTH = 118,
    LEFT_EDGE = 12,
    COLUMN_GAP = 16,
    STEP_WIDTH = 88, /* at least */
    STEP_MARGIN = 8,
    STEP_LETTERS = 30, /* at most */
    ROW_HEIGHT = 54,
    STEP_HEIGHT = 38,
    TOP_EDGE = 8
};

/* Where columns begin; the last one is where the picture ends. As wide as its longest text each. */
typedef struct columns {
    int begin[SPAD__WITNESS_STEPS + 1];
} columns;

/* At least what a letter of 12 pixels takes in the fonts that a browser may have. */
static int letter_width(unsigned char c) {
    if (c >= 0x80) return c >= 0xC0 ? 12 : 0; /* the bytes after the first one of a letter */
    if (strchr("mwMW%@", c) != NULL) return 12;
    if (strchr("fijlrtI[](){}|.,:;'!/ ", c) != NULL) return 5;
    return c >= 'A' && c <= 'Z' ? 9 : 8;
}

static int text_width(const char *text) {
    int width = 0;
    size_t letters = 0;
    for (; *text != '\0'; text++) {
        const int own = letter_width((unsigned char)*text);
        width += own;
        letters += own > 0;
    }
    return letters <= STEP_LETTERS ? width : STEP_LETTERS * 8;
}

static columns find_columns(const spad__witness *w) {
    columns made = {.begin = {LEFT_EDGE}};
    int widths[SPAD__WITNESS_STEPS] = {0};
    spad__assert(w->columns <= SPAD__WITNESS_STEPS);
    for (size_t i = 0; i < w->step_count; i++) {
        const spad__witness_step *step = &w->steps[i];
        const int text = text_width(step->text), where = text_width(step->where);
        const int width = 2 * STEP_MARGIN + (text > where ? text : where);
        if (width > widths[step->column]) widths[step->column] = width;
    }
    for (int32_t i = 0; i < w->columns; i++) {
        const int width = widths[i] > STEP_WIDTH ? widths[i] : STEP_WIDTH;
        made.begin[i + 1] = made.begin[i] + width + COLUMN_GAP;
    }
    return made;
}

static int step_x(const columns *at, const spad__witness_step *step) {
    return at->begin[step->column];
}

static int step_end(const columns *at, const spad__witness_step *step) {
    return at->begin[step->column + 1] - COLUMN_GAP;
}

static int step_y(const spad__witness_step *step) {
    return TOP_EDGE + (int)step->row * ROW_HEIGHT + (ROW_HEIGHT - STEP_HEIGHT) / 2;
}

static const char *step_class(const spad__witness_step *step) {
    if (step->wrong) return "wrong";
    switch (step->kind) {
    case SPAD__STEP_OPERATION: return "operation";
    case SPAD__STEP_WAIT: return "wait";
    case SPAD__STEP_ARRIVE: return "arrive";
    case SPAD__STEP_OTHER: break;
    }
    return "other";
}

static void write_step(spad__out *out, const columns *at, const spad__witness_step *step) {
    const int x = step_x(at, step);
    const int y = step_y(step);
    const int width = step_end(at, step) - x;
    const int middle = x + width / 2;
    spad__out_format(out, "<g class=\"step %s\"><title>", step_class(step));
    spad__out_markup(out, step->text, 0);
    if (step->where[0] != '\0') spad__out_string(out, ", ");
    spad__out_markup(out, step->where, 0);
    if (step->line > 0) spad__out_format(out, ", line %ld", (long)step->line);
    spad__out_format(out,
                     "</title><rect x=\"%d\" y=\"%d\" width=\"%d\" height=\"%d\" rx=\"5\"/>"
                     "<text x=\"%d\" y=\"%d\">",
                     x, y, width, STEP_HEIGHT, middle, y + (step->where[0] ? 16 : 23));
    spad__out_markup(out, step->text, STEP_LETTERS);
    if (step->where[0] != '\0') {
        spad__out_format(out, "</text><text class=\"where\" x=\"%d\" y=\"%d\">", middle, y + 31);
        spad__out_markup(out, step->where, STEP_LETTERS);
    }
    spad__out_string(out, "</text></g>\n");
}

static void write_arrow(spad__out *out, const columns *at, const spad__witness *w,
                        const spad__witness_arrow *arrow, size_t number) {
    const spad__witness_step *from = &w->steps[arrow->from];
    const spad__witness_step *to = &w->steps[arrow->to];
    const int x1 = step_end(at, from);
    const int x2 = step_x(at, to) - 3;
    const int y1 = step_y(from) + STEP_HEIGHT / 2;
    const int y2 = step_y(to) + STEP_HEIGHT / 2;
    const int bend = x2 - x1 > 48 ? (x2 - x1) / 2 : 24;
    spad__out_format(out,
                     "<path class=\"%s\" marker-end=\"url(#head%zu)\" d=\"M%d %dC%d %d %d %d "
                     "%d %d\"/>\n",
                     arrow->in_vain ? "vain" : "release", number, x1, y1, x1 + bend, y1, x2 - bend,
                     y2, x2, y2);
}

static void write_rails(spad__out *out, const spad__witness *w, int width) {
    for (size_t i = 0; i < w->row_count; i++) {
        spad__out_format(out, "<path class=\"rail\" d=\"M0 %dH%d\"/>\n",
                         TOP_EDGE + (int)i * ROW_HEIGHT + ROW_HEIGHT / 2, width);
    }
}

/* The names stay where they are when the steps are scrolled. */
static void write_names(spad__out *out, const spad__witness *w, int height) {
    spad__out_format(out, "<svg class=\"names\" width=\"%d\" height=\"%d\">\n", NAMES_WIDTH,
                     height);
    for (size_t i = 0; i < w->row_count; i++) {
        spad__out_string(out, "<g><title>");
        spad__out_markup(out, w->rows[i], 0);
        spad__out_format(out, "</title><text x=\"6\" y=\"%d\">",
                         TOP_EDGE + (int)i * ROW_HEIGHT + ROW_HEIGHT / 2 + 4);
        spad__out_markup(out, w->rows[i], 17);
        spad__out_string(out, "</text></g>\n");
    }
    spad__out_string(out, "</svg>");
}

/* A race: its accesses are in the last column, one above the other. */
static const char *last_words(spad_finding_code code) {
    switch (code) {
    case SPAD_FINDING_RACE:
    case SPAD_FINDING_FREE_IN_USE: return "red: both may happen now, in either order";
    case SPAD_FINDING_DEADLOCK: return "red: these waits never end";
    default: return "red: waits that never end, or pass at the wrong time";
    }
}

static void write_witness(spad__out *out, const spad__witness *w, size_t number) {
    const columns at = find_columns(w);
    const int width = at.begin[w->columns];
    const int height = 2 * TOP_EDGE + (int)w->row_count * ROW_HEIGHT;
    spad__out_string(out, "<figure><figcaption><span class=\"tag error\">");
    spad__out_string(out, spad_finding_name(w->code));
    spad__out_string(out, "</span> ");
    spad__out_markup(out, w->title, 0);
    spad__out_string(out, "</figcaption>\n<div class=\"strip\" tabindex=\"0\"><div>");
    write_names(out, w, height);
    spad__out_format(out,
                     "<svg class=\"steps\" role=\"img\" "
                     "aria-label=\"how it happens\" width=\"%d\" height=\"%d\" viewBox=\"0 0 %d "
                     "%d\" xmlns=\"http://www.w3.org/2000/svg\">\n<defs><marker id=\"head%zu\" "
                     "viewBox=\"0 0 8 8\" refX=\"7\" refY=\"4\" markerWidth=\"7\" "
                     "markerHeight=\"7\" orient=\"auto\"><path class=\"head\" d=\"M0 0L8 4L0 8z\"/>"
                     "</marker></defs>\n",
                     width, height, width, height, number);
    write_rails(out, w, width);
    for (size_t i = 0; i < w->arrow_count; i++) write_arrow(out, &at, w, &w->arrows[i], number);
    for (size_t i = 0; i < w->step_count; i++) write_step(out, &at, &w->steps[i]);
    spad__out_string(
        out, "</svg></div></div>\n<p class=\"muted\">rows: agents and their units; time goes "
             "to the right; arrow: releases the wait; dashed arrow: already "
             "arrived, so it does not release the wait; ");
    spad__out_string(out, last_words(w->code));
    spad__out_string(out, "</p></figure>\n");
}

void spad__write_witnesses(spad__out *out, const spad__page_part *parts, size_t count) {
    size_t number = 0;
    for (size_t i = 0; i < count; i++) {
        const spad__witnesses *all = &parts[i].picture->report->witnesses;
        for (size_t k = 0; k < all->count; k++, number++) {
            if (number == 0) {
                spad__out_string(out, "<section id=\"witnesses\"><h2>how it happens</h2>\n");
            }
            write_witness(out, &all->items[k], number);
        }
    }
    if (number > 0) spad__out_string(out, "</section>\n");
}
