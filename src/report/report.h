/* SPDX-License-Identifier: Apache-2.0
 *
 * A report from the inside, and the picture: what writers need to know about
 * each space beyond its boxes.
 *
 * Invariants of a report
 *   begin < end for every box and bar
 *   sizes are not negative; byte + bytes and lane + lanes fit 64 bits
 *   the sum of the bytes of all boxes fits, so no sum over some of them overflows
 *   names, dims and texts are in the arena
 */
#ifndef SPAD_REPORT_REPORT_H
#define SPAD_REPORT_REPORT_H

#include "base/memory.h"
#include "base/moment.h"
#include "base/names.h"
#include "base/text.h"
#include "finding/witness.h"
#include "kernel/origin.h"
#include "spad/experimental/report_parts.h"
#include "spad/report.h"

enum { SPAD__NOTES = 16 };

typedef struct spad__bar {
    size_t row; /* number of its row */
    spad_report_bar bar;
} spad__bar;

/* A roof of the simulation: an engine, a path, a memory, and how long it works. */
typedef struct spad__roof_row {
    const char *name;
    const char *kind;
    const char *basis;
    int64_t busy; /* thousandths of the makespan */
} spad__roof_row;

/* Two boxes that may share bytes: an output in place of an input that dies where it is born. */
typedef struct spad__in_place_boxes {
    size_t output;
    size_t input;
} spad__in_place_boxes;

/* A change after which a plan fits. */
typedef struct spad__report_change {
    const char *name; /* of the buffer; NULL: it has no name */
    const char *text;
    int64_t leaves;    /* bytes that are no longer live at the peak */
    spad_report *with; /* boxes of the plan with the change; NULL: its places are not known */
} spad__report_change;

/* The kernel as far as the page tells about its lines (from_program.c). Texts are numbers of
 * `words`. */
typedef struct spad__program_source {
    size_t file;
    size_t code;
    int32_t line;
    int64_t caller; /* the source of the call that led to it; -1: none */
} spad__program_source;

/* A statement that has a line in the source. */
typedef struct spad__program_statement {
    int32_t line;
    size_t agent;   /* "" is the main program */
    size_t name;    /* of an operation; else "" */
    int64_t source; /* -1: none */
} spad__program_statement;

typedef struct spad__program_use {
    size_t statement;
    size_t tensor;
    unsigned kind;       /* SPAD_ACCESS_... */
    spad_location place; /* width 0: none of its own */
} spad__program_use;

/* The text of a file of the program. */
typedef struct spad__program_file {
    size_t name;
    const char *text;
} spad__program_file;

typedef struct spad__program {
    bool taken;
    spad__names words;
    char first[SPAD_PROGRAM_FILE_MAX]; /* the file of the first statement; "": not known */
    SPAD_ARRAY(spad__program_file) files;
    SPAD_ARRAY(spad__program_source) sources;
    SPAD_ARRAY(spad__program_statement) statements;
    SPAD_ARRAY(spad__program_use) uses; /* by statement */
} spad__program;

struct spad_report {
    spad_host host;
    spad__arena texts;
    const spad_target *target;
    spad__origin origin; /* of the layouts and checks in it; unknown: there are none */
    const char *title;
    bool is_titled; /* by the caller */
    const char *time_unit;
    const char *badge; /* what the times are not; NULL: nothing to say */
    const char *costs; /* what the times rest on: how many costs of each origin; NULL: no figures */
    const char *bound; /* what bounds the kernel, and what would help; NULL: no time */
    const char *file;  /* of the source; NULL: no source */
    const char *source; /* NUL after it */
    size_t note_count;
    const char *notes[SPAD__NOTES];
    bool in_tables[SPAD__NOTES]; /* per note: tables of the page have what it is about */
    int64_t total_bytes;
    size_t plan_space; /* of the last plan that was added */
    int64_t works_at;  /* the smallest capacity that is known to work; 0: not known */
    spad__limit limit;
    int64_t steps; /* since it was last asked */
    SPAD_ARRAY(spad_report_box) boxes;
    SPAD_ARRAY(spad__in_place_boxes) in_places; /* by output, then input */
    SPAD_ARRAY(const char *) rows;
    SPAD_ARRAY(spad__bar) bars;
    SPAD_ARRAY(spad__roof_row) roofs;        /* the busiest first */
    SPAD_ARRAY(spad__report_change) changes; /* the cheapest first */
    SPAD_ARRAY(spad_finding) findings;
    spad__witnesses witnesses;
    spad__program program;
};

/* The program of the kernel, once. */
spad_status spad__report_take_program(spad_report *report, const spad_kernel *kernel,
                                      spad_error *error);
void spad__report_drop_program(spad_report *report);

/* The changes of a fit for the layout, with the buffers after each. */
spad_status spad__report_take_fit(spad_report *report, const spad_layout *layout,
                                  const spad_fit *fit, spad_error *error);
/* The last note is about what the tables of changes and of the peak have, too. */
void spad__report_note_in_tables(spad_report *report);

/* A tensor of a trace as a box. */
spad_status spad__report_add_tensor(spad_report *report, const spad_trace *trace,
                                    const spad_tensor *tensor, spad_error *error);

/* What a scoped manager holds when it refuses a tensor, and that tensor; nothing if the error of
 * the layout is another one. */
spad_status spad__report_add_refusal(spad_report *report, const spad_kernel *kernel,
                                     const spad_error *failure, spad_error *error);

/* Counts a step of what is added, and asks the limit once in SPAD_REPORT_LOOK. */
spad_status spad__report_step(spad_report *report, spad_error *error);

/* Before something is drawn: takes a copy of the limit, since writing changes no report, and asks
 * it. SPAD_ERR_TIME, SPAD_ERR_CANCELLED. */
spad_status spad__report_check_limit(const spad_report *report, spad__limit *limit,
                                     spad_error *error);

/* The state of a report before a call, to undo a failed call. */
typedef struct spad__mark {
    size_t boxes;
    size_t in_places;
    size_t bars;
    size_t rows;
    size_t roofs;
    size_t changes;
    size_t findings;
    size_t witnesses;
    size_t notes;
    int64_t total_bytes;
    const char *title;
    const char *time_unit;
    const char *badge;
    const char *costs;
    const char *bound;
    const char *file;
    const char *source;
    spad__origin origin;
    bool has_program;
} spad__mark;

spad__mark spad__report_mark(const spad_report *report);
void spad__report_restore(spad_report *report, spad__mark before);

/* A report is about one kernel: the kernel of the first object that has one. `word`: what is added,
 * as in spad__match_origins. */
spad_status spad__report_take_origin(spad_report *report, const char *word,
                                     const spad__origin *origin, spad_error *error);

/* The first number beyond the families of the report. */
int64_t spad__next_family(const spad_report *report);

/* The input in whose place a box is; -1: none. Of several, the first. */
int64_t spad__report_input_of(const spad_report *report, size_t box);
/* Is one of two boxes in place of the other? O(log pairs). */
bool spad__report_in_place(const spad_report *report, size_t a, size_t b);

/* Does the box take part in the map? */
bool spad__is_drawn(const spad_report_box *box);

/* ---- the picture ------------------------------------------------------------------- */

typedef struct spad__step {
    int64_t time;
    int64_t live; /* from this time on */
} spad__step;

/* One space of a picture. */
typedef struct spad__view {
    size_t space;
    spad_report_space facts;
    size_t first;  /* its boxes: order[first .. first + facts.boxes) */
    bool has_heap; /* some box is on the heap of a manager */
    SPAD_ARRAY(spad__step) steps;
    SPAD_ARRAY(size_t) peak; /* boxes live at the peak, largest first */
} spad__view;

typedef struct spad__picture {
    spad_host host;
    const spad_report *report;
    int64_t begin; /* of the time axis */
    int64_t end;
    size_t view_count; /* spaces that have boxes, in the order of the target */
    spad__view *views;
    size_t *order;    /* numbers of boxes by space, begin, byte, lane, number */
    int64_t *partner; /* per box: one it conflicts with, or -1 */
    size_t count;
    spad__limit limit; /* of the report, for what is written */
} spad__picture;

spad_status spad__picture_make(spad__picture *picture, const spad_report *report,
                               spad_error *error);
void spad__picture_free(spad__picture *picture);

/* One of the forms of spad_report_write. */
typedef spad_status spad__report_writer(const spad__picture *picture, const spad_sink *sink,
                                        spad_error *error);
spad__report_writer spad__write_report_text, spad__write_report_svg, spad__write_report_light,
    spad__write_report_html, spad__write_report_json, spad__write_report_trace;

/* ---- one lane ---------------------------------------------------------------------- */

/* One lane of a space over time; see lane_usage.c. */
typedef struct spad__report_lane {
    const spad_report *report;
    int64_t lane;
    const spad__moment *edges; /* begins and ends of the boxes of the space, sorted */
    size_t edge_count;
} spad__report_lane;

/* Does the lane count for the box? One without an address counts in all of them. */
bool spad__in_lane(const spad_report_box *box, int64_t lane);

/* most[k] becomes at least the live bytes after the k-th different time of the edges. */
spad_status spad__lane_live(int64_t *most, const spad__report_lane *lane, spad_error *error);

/* partner[b] becomes a box that shares bytes of the lane with b while both live. */
spad_status spad__lane_conflicts(int64_t *partner, const spad__report_lane *lane,
                                 spad_error *error);

/* ---- what writers share ------------------------------------------------------------ */

/* floor(value x pixels / span) for 0 <= value <= span and pixels below 2^22, without floats. */
int64_t spad__scale(int64_t value, int64_t span, int64_t pixels);

/* Lanes, bytes and life of a box, as keys of a JSON object. */
void spad__json_place(spad__json *json, const spad_report_box *box);

/* The name, or "(unnamed)". */
const char *spad__box_label(const spad_report_box *box);

/* The part of a name before its index: boxes of one stem have one colour. */
size_t spad__stem_length(const char *name);

/* What a memory must have for a report: up to the highest end, and the live bytes, since boxes
 * without an address have no end. A heap begins at the top of its region, so that its highest end
 * says nothing: then the live bytes alone, unless something is outside. */
int64_t spad__space_used(const spad__view *view);

enum { SPAD__COLOURS = 12 };

/* Colours of one map: the first stems have one each, in the order in which they come; a later one
 * shares the one that its name gives. Zeroed is empty. */
typedef struct spad__colours {
    size_t count;
    const char *names[SPAD__COLOURS];
} spad__colours;

/* Below SPAD__COLOURS. */
int spad__colour_of(spad__colours *known, const char *name);

/* As CSS and SVG write it; odd slots of a ring are a little darker. */
void spad__out_colour(spad__out *out, int colour, bool is_odd);

/* Text of the user for a terminal: control, formatting and direction characters become '?',
 * and of one longer than `most` characters (0: no limit) the middle is left out, because names
 * often differ at their ends. Returns the characters written. */
size_t spad__out_plain(spad__out *out, const char *text, size_t most);
size_t spad__out_plain_stem(spad__out *out, const char *name, size_t most);

/* Text of the user for XML and HTML. */
void spad__out_markup(spad__out *out, const char *text, size_t most);
void spad__out_markup_stem(spad__out *out, const char *name, size_t most);

/* A JSON string that may stand in a script element of HTML. NULL: null. */
void spad__out_script_string(spad__out *out, const char *text);

/* "1234 B (1.2 KiB)" is for people, "1.2 KiB" alone for axes. No floats. */
void spad__out_bytes_short(spad__out *out, int64_t bytes);

#endif
