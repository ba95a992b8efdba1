/* SPDX-License-Identifier: Apache-2.0
 *
 * Two reports side by side: what moved, grew, vanished, and the peaks.
 *
 * Boxes belong together by the name of their space, their own name, and how many of that
 * name began before them; unnamed ones by their order alone. Both lists are sorted by
 * that key and merged. O(n log n).
 */
#include <stdlib.h>
#include <string.h>

#include "base/assert.h"
#include "base/error.h"
#include "report/html.h"
#include "report/report.h"
#include "spad/experimental/report_parts.h"

struct spad_report_diff {
    spad_host host;
    spad__picture sides[2];
    int64_t *states[2]; /* per box: SPAD_DIFF_... */
    SPAD_ARRAY(spad_report_change) changes;
};

/* ---- pairing ----------------------------------------------------------------------- */

typedef struct keyed {
    const char *space;
    const char *name;
    int64_t turn; /* boxes of that name before it */
    size_t number;
} keyed;

/* By space and name; boxes of one name stay in the order of the picture: turn is that place. */
static int compare_names(const void *left, const void *right) {
    const keyed *a = left;
    const keyed *b = right;
    int order = strcmp(a->space, b->space);
    if (order == 0) order = strcmp(a->name, b->name);
    return order != 0 ? order : (a->turn > b->turn) - (a->turn < b->turn);
}

static void list_side(keyed *keys, const spad__picture *p) {
    for (size_t i = 0; i < p->count; i++) {
        const spad_report_box *box = &p->report->boxes.items[p->order[i]];
        const char *space = p->report->target->spaces[box->space].name;
        keys[i] = (keyed){space, box->name != NULL ? box->name : "", (int64_t)i, p->order[i]};
    }
    qsort(keys, p->count, sizeof *keys, compare_names);
    int64_t turn = 0;
    for (size_t i = 0; i < p->count; i++) {
        const bool same = i > 0 && strcmp(keys[i].space, keys[i - 1].space) == 0 &&
                          strcmp(keys[i].name, keys[i - 1].name) == 0;
        turn = same ? turn + 1 : 0;
        keys[i].turn = turn;
    }
}

static unsigned compare_boxes(const spad_report_box *a, const spad_report_box *b) {
    unsigned what = 0;
    if (a->rect.byte != b->rect.byte || a->rect.lane != b->rect.lane) what |= SPAD_DIFF_MOVED;
    if (a->rect.bytes != b->rect.bytes || a->rect.lanes != b->rect.lanes) what |= SPAD_DIFF_SIZED;
    if (a->begin != b->begin || a->end != b->end) what |= SPAD_DIFF_TIMED;
    return what;
}

static void note(spad_report_diff *diff, const keyed *before, const keyed *after) {
    spad_report_change change = {.before = -1, .after = -1};
    if (before != NULL) change.before = (int64_t)before->number;
    if (after != NULL) change.after = (int64_t)after->number;
    if (after == NULL)
        change.what = SPAD_DIFF_GONE;
    else if (before == NULL)
        change.what = SPAD_DIFF_NEW;
    else
        change.what = compare_boxes(&diff->sides[0].report->boxes.items[before->number],
                                    &diff->sides[1].report->boxes.items[after->number]);
    if (before != NULL) diff->states[0][before->number] = change.what;
    if (after != NULL) diff->states[1][after->number] = change.what;
    diff->changes.items[diff->changes.count++] = change;
}

static void merge(spad_report_diff *diff, const keyed *a, const keyed *b) {
    size_t i = 0;
    size_t j = 0;
    while (i < diff->sides[0].count || j < diff->sides[1].count) {
        int order;
        if (i == diff->sides[0].count)
            order = 1;
        else if (j == diff->sides[1].count)
            order = -1;
        else
            order = compare_names(&a[i], &b[j]);
        note(diff, order <= 0 ? &a[i] : NULL, order >= 0 ? &b[j] : NULL);
        i += order <= 0;
        j += order >= 0;
    }
}

static int compare_box_changes(const void *left, const void *right) {
    const spad_report_change *a = left;
    const spad_report_change *b = right;
    if ((a->before < 0) != (b->before < 0)) return a->before < 0 ? 1 : -1;
    if (a->before != b->before) return a->before < b->before ? -1 : 1;
    return (a->after > b->after) - (a->after < b->after);
}

static spad_status pair_boxes(spad_report_diff *diff, spad_error *error) {
    spad__arena arena = {.host = diff->host};
    keyed *keys[2];
    const size_t total = diff->sides[0].count + diff->sides[1].count;
    bool failed = !spad__array_reserve(&diff->host, &diff->changes, total);
    for (int side = 0; side < 2; side++) {
        const size_t count = diff->sides[side].count;
        keys[side] = spad__arena_array(&arena, count + 1, sizeof *keys[side]);
        diff->states[side] = spad__new_array(&diff->host, count + 1, sizeof *diff->states[side]);
        failed = failed || keys[side] == NULL || diff->states[side] == NULL;
    }
    if (!failed) {
        for (int side = 0; side < 2; side++) list_side(keys[side], &diff->sides[side]);
        merge(diff, keys[0], keys[1]);
        if (total > 0)
            qsort(diff->changes.items, diff->changes.count, sizeof *diff->changes.items,
                  compare_box_changes);
    }
    spad__arena_free(&arena);
    return failed ? spad__fail_host_memory(error) : SPAD_OK;
}

/* ---- life -------------------------------------------------------------------------- */

spad_status spad_report_diff_create(spad_report_diff **out, const spad_report *before,
                                    const spad_report *after, const spad_host *host,
                                    spad_error *error) {
    *out = NULL;
    const spad_host memory = spad__host_or_default(host);
    spad_report_diff *diff = spad__new(&memory, sizeof *diff);
    if (diff == NULL) return spad__fail_host_memory(error);
    diff->host = memory;
    spad_status status = spad__picture_make(&diff->sides[0], before, error);
    if (status != SPAD_OK) {
        spad__free(&memory, diff, sizeof *diff);
        return status;
    }
    status = spad__picture_make(&diff->sides[1], after, error);
    if (status == SPAD_OK) status = pair_boxes(diff, error);
    if (status != SPAD_OK) {
        spad_report_diff_destroy(diff);
        return status;
    }
    *out = diff;
    return SPAD_OK;
}

void spad_report_diff_destroy(spad_report_diff *diff) {
    if (diff == NULL) return;
    const spad_host host = diff->host;
    for (int side = 0; side < 2; side++) {
        spad__free(&host, diff->states[side],
                   (diff->sides[side].count + 1) * sizeof *diff->states[side]);
        spad__picture_free(&diff->sides[side]);
    }
    spad__array_free(&host, &diff->changes);
    spad__free(&host, diff, sizeof *diff);
}

size_t spad_report_diff_count(const spad_report_diff *diff) {
    return diff->changes.count;
}

const spad_report_change *spad_report_diff_get(const spad_report_diff *diff, size_t number) {
    return number < diff->changes.count ? &diff->changes.items[number] : NULL;
}

/* ---- what writers share ------------------------------------------------------------ */

static const spad_report_box *diff_box(const spad_report_diff *diff, int side, int64_t number) {
    return number >= 0 ? &diff->sides[side].report->boxes.items[number] : NULL;
}

static const char *diff_space_name(const spad_report_diff *diff, int side, size_t view) {
    const spad__picture *p = &diff->sides[side];
    return p->report->target->spaces[p->views[view].space].name;
}

/* The view of a side with that name, or NULL. */
static const spad__view *view_named(const spad_report_diff *diff, int side, const char *name) {
    for (size_t i = 0; i < diff->sides[side].view_count; i++) {
        if (strcmp(diff_space_name(diff, side, i), name) == 0) return &diff->sides[side].views[i];
    }
    return NULL;
}

/* Calls write(context, name, before, after) for every space of either side. */
static void each_space(const spad_report_diff *diff,
                       void (*write)(void *context, const char *name, const spad__view *before,
                                     const spad__view *after),
                       void *context) {
    for (size_t i = 0; i < diff->sides[0].view_count; i++) {
        const char *name = diff_space_name(diff, 0, i);
        write(context, name, &diff->sides[0].views[i], view_named(diff, 1, name));
    }
    for (size_t i = 0; i < diff->sides[1].view_count; i++) {
        const char *name = diff_space_name(diff, 1, i);
        if (view_named(diff, 0, name) == NULL) write(context, name, NULL, &diff->sides[1].views[i]);
    }
}

static const struct {
    unsigned bit;
    const char *word;
} change_words[] = {{SPAD_DIFF_GONE, "gone"},
                    {SPAD_DIFF_NEW, "new"},
                    {SPAD_DIFF_MOVED, "moved"},
                    {SPAD_DIFF_SIZED, "sized"},
                    {SPAD_DIFF_TIMED, "timed"}};

enum { WORDS = sizeof change_words / sizeof change_words[0] };

static size_t count_changes(const spad_report_diff *diff, unsigned bit) {
    size_t count = 0;
    for (size_t i = 0; i < diff->changes.count; i++) {
        count +=
            bit == 0 ? diff->changes.items[i].what == 0 : (diff->changes.items[i].what & bit) != 0;
    }
    return count;
}

/* ---- text -------------------------------------------------------------------------- */

static void text_space(void *context, const char *name, const spad__view *before,
                       const spad__view *after) {
    spad__out *out = context;
    const int64_t a = before != NULL ? before->facts.peak_bytes : 0;
    const int64_t b = after != NULL ? after->facts.peak_bytes : 0;
    spad__out_string(out, "  ");
    const size_t width = spad__out_plain(out, name, 20);
    spad__out_repeat(out, " ", 20 - (int64_t)width);
    spad__out_format(out, " live peak %13s -> %13s B  %s%s\n", spad__grouped(a).text,
                     spad__grouped(b).text, b >= a ? "+" : "", spad__grouped(b - a).text);
    spad__out_format(out, "%22s highest   %13s -> %13s B\n", "",
                     spad__grouped(before != NULL ? before->facts.top : 0).text,
                     spad__grouped(after != NULL ? after->facts.top : 0).text);
}

static void out_place(spad__out *out, const spad_report_box *box) {
    if (!spad__is_drawn(box))
        spad__out_string(out, "no address");
    else if (box->rect.lane != 0)
        spad__out_format(out, "%s (lane %s)", spad__grouped(box->rect.byte).text,
                         spad__grouped(box->rect.lane).text);
    else
        spad__out_string(out, spad__grouped(box->rect.byte).text);
}

static void text_box_change(spad__out *out, const spad_report_diff *diff,
                            const spad_report_change *change) {
    const spad_report_box *a = diff_box(diff, 0, change->before);
    const spad_report_box *b = diff_box(diff, 1, change->after);
    spad__out_string(out, "  ");
    const size_t width = spad__out_plain(out, spad__box_label(a != NULL ? a : b), 24);
    spad__out_repeat(out, " ", 25 - (int64_t)width);
    if (a == NULL || b == NULL) {
        const spad_report_box *only = a != NULL ? a : b;
        spad__out_format(out, "%s: %s at ", a != NULL ? "gone" : "new",
                         spad__exact_size(only->rect.bytes).text);
        out_place(out, only);
        spad__out_string(out, "\n");
        return;
    }
    const char *comma = "";
    if ((change->what & SPAD_DIFF_MOVED) != 0) {
        spad__out_string(out, "moved ");
        out_place(out, a);
        spad__out_string(out, " -> ");
        out_place(out, b);
        comma = ", ";
    }
    if ((change->what & SPAD_DIFF_SIZED) != 0) {
        spad__out_format(out, "%s%s %s -> %s", comma,
                         b->rect.bytes >= a->rect.bytes ? "grew" : "shrank",
                         spad__grouped(a->rect.bytes).text, spad__exact_size(b->rect.bytes).text);
        if (a->rect.lanes != b->rect.lanes)
            spad__out_format(out, " (%s -> %s lanes)", spad__grouped(a->rect.lanes).text,
                             spad__grouped(b->rect.lanes).text);
        comma = ", ";
    }
    if ((change->what & SPAD_DIFF_TIMED) != 0)
        spad__out_format(out, "%slives [%s, %s) -> [%s, %s)", comma, spad__grouped(a->begin).text,
                         spad__grouped(a->end).text, spad__grouped(b->begin).text,
                         spad__grouped(b->end).text);
    spad__out_string(out, "\n");
}

/* Numbers of boxes and the tables by them are those of the reports as they were compared. */
static spad_status check_sides(const spad_report_diff *diff, spad_error *error) {
    for (int side = 0; side < 2; side++) {
        const size_t then = diff->sides[side].count;
        const size_t now = diff->sides[side].report->boxes.count;
        if (now == then) continue;
        spad__fail(error, SPAD_ERR_STALE,
                   "the %s report has changed since it was compared (boxes: %zu then, %zu now): "
                   "compare again",
                   side == 0 ? "first" : "second", then, now);
        spad__fact_amounts(error, (int64_t)now, (int64_t)then, SPAD_NO_FACT);
        return SPAD_ERR_STALE;
    }
    return SPAD_OK;
}

static void write_diff_text(spad__out *out, const void *object) {
    const spad_report_diff *diff = object;
    spad__out_plain(out, diff->sides[0].report->title, 60);
    spad__out_string(out, " -> ");
    spad__out_plain(out, diff->sides[1].report->title, 60);
    spad__out_string(out, "\n");
    each_space(diff, text_space, out);
    spad__out_format(out, "  %s the same", spad__grouped((int64_t)count_changes(diff, 0)).text);
    for (int w = 0; w < WORDS; w++) {
        const size_t count = count_changes(diff, change_words[w].bit);
        if (count > 0)
            spad__out_format(out, ", %s %s", spad__grouped((int64_t)count).text,
                             change_words[w].word);
    }
    spad__out_string(out, "\n");
    for (size_t i = 0; i < diff->changes.count; i++) {
        if (diff->changes.items[i].what != 0) text_box_change(out, diff, &diff->changes.items[i]);
    }
}

/* ---- JSON -------------------------------------------------------------------------- */

static void json_side(spad__json *json, const char *key, const spad__view *view) {
    spad__json_key(json, key);
    if (view == NULL) {
        spad__json_string(json, NULL);
        return;
    }
    spad__json_open_flat(json, '{');
    spad__json_key_int(json, "peak", view->facts.peak_bytes);
    spad__json_key_int(json, "peak_time", view->facts.peak_time);
    spad__json_key_int(json, "top", view->facts.top);
    spad__json_key_int(json, "boxes", (int64_t)view->facts.boxes);
    spad__json_key_int(json, "conflicts", view->facts.conflicts);
    spad__json_close_flat(json, '}');
}

static void json_diff_space(void *context, const char *name, const spad__view *before,
                            const spad__view *after) {
    spad__json *json = context;
    spad__json_open(json, '{');
    spad__json_key_string(json, "name", name);
    json_side(json, "before", before);
    json_side(json, "after", after);
    spad__json_close(json, '}');
}

static void json_box(spad__json *json, const char *key, const spad_report_box *box) {
    spad__json_key(json, key);
    if (box == NULL) {
        spad__json_string(json, NULL);
        return;
    }
    spad__json_open(json, '{');
    spad__json_place(json, box);
    spad__json_close(json, '}');
}

static void json_change(spad__json *json, const spad_report_diff *diff,
                        const spad_report_change *change) {
    const spad_report_box *a = diff_box(diff, 0, change->before);
    const spad_report_box *b = diff_box(diff, 1, change->after);
    const int side = a != NULL ? 0 : 1;
    const spad_report_box *box = a != NULL ? a : b;
    spad__assert(box != NULL); /* a change is of a box on one side at least */
    spad__json_open_flat(json, '{');
    spad__json_key_string(json, "space", diff->sides[side].report->target->spaces[box->space].name);
    spad__json_key_string(json, "name", box->name);
    spad__json_key_open(json, "what", '[');
    for (int w = 0; w < WORDS; w++) {
        if ((change->what & change_words[w].bit) != 0)
            spad__json_string(json, change_words[w].word);
    }
    spad__json_close(json, ']');
    json_box(json, "before", a);
    json_box(json, "after", b);
    spad__json_close_flat(json, '}');
}

static void write_diff_json(spad__json *json, const void *object) {
    const spad_report_diff *diff = object;
    spad__json_open(json, '{');
    spad__json_key_string(json, "format", "spad-diff");
    spad__json_key_int(json, "version", 1);
    spad__json_key_string(json, "before", diff->sides[0].report->title);
    spad__json_key_string(json, "after", diff->sides[1].report->title);
    spad__json_key_int(json, "same", (int64_t)count_changes(diff, 0));
    spad__json_key_open(json, "spaces", '[');
    each_space(diff, json_diff_space, json);
    spad__json_close(json, ']');
    spad__json_key_open(json, "changes", '[');
    for (size_t i = 0; i < diff->changes.count; i++) {
        if (diff->changes.items[i].what != 0) json_change(json, diff, &diff->changes.items[i]);
    }
    spad__json_close(json, ']');
    spad__json_close(json, '}');
}

/* ---- page -------------------------------------------------------------------------- */

spad_status spad_report_diff_write(const spad_report_diff *diff, spad_format format,
                                   const spad_sink *sink, spad_error *error) {
    const spad_status status = check_sides(diff, error);
    if (status != SPAD_OK) return status;
    if (format != SPAD_FORMAT_HTML)
        return spad__write_as(diff, write_diff_text, write_diff_json, format, sink, error);
    const spad__page_part parts[2] = {{&diff->sides[0], diff->states[0]},
                                      {&diff->sides[1], diff->states[1]}};
    return spad__write_page(parts, 2, sink, error);
}
