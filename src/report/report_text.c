/* SPDX-License-Identifier: Apache-2.0
 *
 * A report for a terminal: per space a map of letters, address upwards and time to
 * the right, 80 columns wide.
 *
 * Boxes of one stem ("x" of "x[3]") have one letter; its case changes from box to
 * box, so that the copies of a ring can be distinguished. Borders are rounded to the
 * nearest cell and a box fills at least one, but large ones are painted last, so a cell
 * shows the box that has most of it. '#' is a cell of a conflict. O(n x cells).
 */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/checked.h"
#include "base/error.h"
#include "report/report.h"
#include "spad/experimental/report_parts.h"

enum { WIDTH = 80, LABEL = 12, MAP_COLUMNS = 64, ROWS = 20, LETTERS = 26, PEAK_SHOWN = 10 };

/* Boxes with one letter. */
typedef struct stem {
    const char *name;
    size_t length;
    size_t first; /* number of its first box in the order */
    int64_t boxes;
    int64_t bytes; /* of its largest box */
    int64_t low;   /* addresses of all of them; low > top: none has one */
    int64_t top;
    int64_t begin;
    int64_t end;
} stem;

typedef struct map {
    spad__out *out;
    const spad__picture *picture;
    const spad__view *view;
    stem *stems;     /* in the order of their first box */
    size_t *stem_of; /* per box of the view */
    size_t *number;  /* per box of the view: how many of its stem came before it */
    size_t stem_count;
    char cells[ROWS][MAP_COLUMNS];
} map;

static const spad_report_box *box_at(const map *m, size_t i) {
    return &m->picture->report->boxes.items[m->picture->order[m->view->first + i]];
}

/* ---- stems ------------------------------------------------------------------------- */

typedef struct named {
    const char *name;
    size_t length;
    size_t index;
} named;

static int compare_named(const void *left, const void *right) {
    const named *a = left;
    const named *b = right;
    const size_t shorter = a->length < b->length ? a->length : b->length;
    const int order = memcmp(a->name, b->name, shorter);
    if (order != 0) return order;
    if (a->length != b->length) return a->length < b->length ? -1 : 1;
    return (a->index > b->index) - (a->index < b->index);
}

static bool is_same_stem(const named *a, const named *b) {
    return a->length == b->length && memcmp(a->name, b->name, a->length) == 0;
}

static int compare_stems(const void *left, const void *right) {
    const stem *a = left;
    const stem *b = right;
    return (a->first > b->first) - (a->first < b->first);
}

static void join_stem(stem *s, const spad_report_box *box, size_t index) {
    s->first = index < s->first ? index : s->first;
    s->boxes++;
    s->bytes = spad__max(s->bytes, box->rect.bytes);
    s->begin = spad__min(s->begin, box->begin);
    s->end = spad__max(s->end, box->end);
    if (!spad__is_drawn(box)) return;
    s->low = spad__min(s->low, box->rect.byte);
    s->top = spad__max(s->top, box->rect.byte + box->rect.bytes);
}

/* Equal names stand together after sorting; stems are then put in the order of time. */
static void find_stems(map *m, named *names) {
    const size_t boxes = m->view->facts.boxes;
    for (size_t i = 0; i < boxes; i++) {
        const char *name = spad__box_label(box_at(m, i));
        names[i] = (named){name, spad__stem_length(name), i};
    }
    qsort(names, boxes, sizeof *names, compare_named);
    for (size_t i = 0; i < boxes; i++) {
        if (i == 0 || !is_same_stem(&names[i - 1], &names[i])) {
            m->stems[m->stem_count++] = (stem){.name = names[i].name,
                                               .length = names[i].length,
                                               .first = SIZE_MAX,
                                               .low = INT64_MAX,
                                               .top = INT64_MIN,
                                               .begin = INT64_MAX,
                                               .end = INT64_MIN};
        }
        join_stem(&m->stems[m->stem_count - 1], box_at(m, names[i].index), names[i].index);
    }
    qsort(m->stems, m->stem_count, sizeof *m->stems, compare_stems);
    for (size_t s = 0; s < m->stem_count; s++) m->stem_of[m->stems[s].first] = s;
    const named *head = names;
    for (size_t i = 0; i < boxes; i++) {
        if (!is_same_stem(head, &names[i])) head = &names[i];
        m->stem_of[names[i].index] = m->stem_of[head->index]; /* the head has the lowest index */
    }
}

/* ---- painting ---------------------------------------------------------------------- */

typedef struct area {
    int64_t size;
    size_t index;
} area;

static int compare_map_areas(const void *left, const void *right) {
    const area *a = left;
    const area *b = right;
    if (a->size != b->size) return a->size < b->size ? -1 : 1;
    return (a->index > b->index) - (a->index < b->index);
}

static char letter_of(size_t which, int64_t number) {
    if (which >= LETTERS) return '*';
    return (char)((number % 2 == 0 ? 'a' : 'A') + (int)which);
}

/* The cells [*from, *to) of `cells` nearest to [begin, end) of a span; at least one. */
static void map_cells(int64_t *from, int64_t *to, int64_t begin, int64_t end, int64_t span,
                      int64_t cells) {
    *from = (spad__scale(begin, span, 2 * cells) + 1) / 2;
    *to = (spad__scale(end, span, 2 * cells) + 1) / 2;
    if (*from >= cells) *from = cells - 1;
    if (*to <= *from) *to = *from + 1;
}

static void paint_box(map *m, const spad_report_box *box, char letter) {
    const spad_report_space *facts = &m->view->facts;
    const spad__picture *p = m->picture;
    int64_t r0, r1, c0, c1;
    map_cells(&r0, &r1, spad__max(box->rect.byte, facts->low) - facts->low,
              box->rect.byte + box->rect.bytes - facts->low, facts->top - facts->low, ROWS);
    map_cells(&c0, &c1, spad__max(box->begin, p->begin) - p->begin, box->end - p->begin,
              p->end - p->begin, MAP_COLUMNS);
    for (int64_t r = r0; r < r1; r++) {
        for (int64_t c = c0; c < c1; c++) m->cells[r][c] = letter;
    }
}

/* The bytes and the time that a box shares with its partner. */
static void paint_conflict(map *m, const spad_report_box *a, const spad_report_box *b) {
    spad_report_box both = *a;
    both.begin = spad__max(a->begin, b->begin);
    both.end = spad__min(a->end, b->end);
    both.rect.byte = spad__max(a->rect.byte, b->rect.byte);
    both.rect.bytes =
        spad__min(a->rect.byte + a->rect.bytes, b->rect.byte + b->rect.bytes) - both.rect.byte;
    paint_box(m, &both, '#');
}

static void paint(map *m, area *areas, int64_t *counts) {
    const size_t boxes = m->view->facts.boxes;
    memset(m->cells, '.', sizeof m->cells);
    for (size_t i = 0; i < boxes; i++) {
        const spad_report_box *box = box_at(m, i);
        int64_t size;
        if (!spad__mul(box->rect.bytes, box->end - box->begin, &size)) size = INT64_MAX;
        areas[i] = (area){size, i};
        m->number[i] = (size_t)counts[m->stem_of[i]]++;
    }
    qsort(areas, boxes, sizeof *areas, compare_map_areas);
    for (size_t i = 0; i < boxes; i++) {
        const size_t index = areas[i].index;
        const spad_report_box *box = box_at(m, index);
        if (!spad__is_drawn(box) || box->rect.bytes == 0) continue;
        const int64_t number = box->slots > 0 ? box->slot : (int64_t)m->number[index];
        paint_box(m, box, letter_of(m->stem_of[index], number));
    }
    for (size_t i = 0; i < boxes; i++) {
        const int64_t partner = m->picture->partner[m->picture->order[m->view->first + i]];
        if (partner < 0) continue;
        paint_conflict(m, box_at(m, i), &m->picture->report->boxes.items[partner]);
    }
}

/* ---- writing ----------------------------------------------------------------------- */

/* Words of a text in lines of WIDTH columns; those after the first are indented. */
static void out_wrapped(spad__out *out, const char *text, size_t column) {
    enum { INDENT = 4 };
    bool first = true;
    while (*text != '\0') {
        char word[WIDTH - INDENT + 1];
        size_t length = strcspn(text, " ");
        if (length > sizeof word - 1) length = sizeof word - 1;
        memcpy(word, text, length);
        word[length] = '\0';
        text += length;
        text += strspn(text, " ");
        if (column + (first ? 0 : 1) + length > WIDTH) {
            spad__out_format(out, "\n%*s", INDENT, "");
            column = INDENT;
        } else if (!first) {
            spad__out_string(out, " ");
            column++;
        }
        column += spad__out_plain(out, word, 0);
        first = false;
    }
    spad__out_string(out, "\n");
}

/* A formatted text of numbers and short words, wrapped. */
static void out_line(spad__out *out, size_t column, const char *format, ...) SPAD_PRINTF(3, 4);

static void out_line(spad__out *out, size_t column, const char *format, ...) {
    char line[512];
    va_list arguments;
    va_start(arguments, format);
    spad__format_cut(line, sizeof line, format, arguments);
    va_end(arguments);
    out_wrapped(out, line, column);
}

static void write_use_line(const map *m, const char *name) {
    const spad_report_space *facts = &m->view->facts;
    const char *boxes = facts->boxes == 1 ? "box" : "boxes";
    const int64_t used = spad__space_used(m->view);
    if (facts->usable == SPAD_UNBOUNDED) {
        out_line(m->out, 0, "%s: %s %s, used %s", name, spad__grouped((int64_t)facts->boxes).text,
                 boxes, spad__both_sizes(used).text);
        return;
    }
    char share[32] = "too much";
    if (used <= facts->usable) {
        const int64_t part = spad__scale(used, spad__max(facts->usable, 1), 1000);
        snprintf(share, sizeof share, "%lld.%lld %%", (long long)(part / 10),
                 (long long)(part % 10));
    }
    out_line(m->out, 0, "%s: %s %s, used %s of %s (%s)", name,
             spad__grouped((int64_t)facts->boxes).text, boxes, spad__grouped(used).text,
             spad__exact_size(facts->usable).text, share);
}

static void write_map_head(const map *m) {
    const spad_report_space *facts = &m->view->facts;
    const spad_report *report = m->picture->report;
    char name[64];
    char unit[16];
    spad__copy_cut(name, sizeof name, report->target->spaces[m->view->space].name);
    spad__copy_cut(unit, sizeof unit, report->time_unit);
    spad__out_string(m->out, "\n");
    write_use_line(m, name);
    spad__out_string(m->out, "  ");
    out_line(m->out, 2, "live peak %s at %s %s, then free %s, largest hole %s",
             spad__exact_size(facts->peak_bytes).text, unit, spad__grouped(facts->peak_time).text,
             spad__exact_size(facts->peak_free).text, spad__exact_size(facts->largest_hole).text);
    if (facts->padding > 0)
        spad__out_format(m->out, "  padding %s over all boxes\n",
                         spad__exact_size(facts->padding).text);
    if (facts->conflicts > 0)
        spad__out_format(m->out, "  CONFLICT: %s boxes share bytes with another one (#)\n",
                         spad__grouped(facts->conflicts).text);
    if (facts->sampled)
        spad__out_string(m->out, "  boxes start at more than 256 lanes; only some were compared\n");
}

/* An address in the room of a label; rounded down to a larger unit where it has too many digits. */
static void write_address_label(spad__out *out, int64_t address) {
    static const char *const units[] = {"", " KiB", " MiB", " GiB", " TiB", " PiB", " EiB"};
    enum { ROOM = LABEL - 2, UNITS = sizeof units / sizeof units[0] };
    char label[48];
    int64_t size = address;
    for (int unit = 0; unit < UNITS; unit++, size /= 1024) {
        const int length =
            snprintf(label, sizeof label, "%s%s", spad__grouped(size).text, units[unit]);
        if (length <= ROOM) break;
    }
    spad__out_format(out, "%*s |", ROOM, label);
}

/* Below the rows that are after what is there. */
static void write_capacity(spad__out *out) {
    spad__out_format(out, "%*s |", LABEL - 2, "capacity");
    spad__out_repeat(out, "-", MAP_COLUMNS);
    spad__out_string(out, "|\n");
}

static void write_cells(const map *m) {
    const spad_report_space *facts = &m->view->facts;
    const int64_t span = facts->top - facts->low;
    bool after = facts->top > facts->usable; /* the rows so far are after the capacity */
    for (int64_t r = ROWS - 1; r >= 0; r--) {
        const int64_t address = facts->low + span / ROWS * r + span % ROWS * r / ROWS;
        if (after && address < facts->usable) {
            write_capacity(m->out);
            after = false;
        }
        write_address_label(m->out, address);
        spad__out_bytes(m->out, m->cells[r], MAP_COLUMNS);
        spad__out_string(m->out, "|\n");
    }
    if (after) write_capacity(m->out);
    const spad__figure left = spad__grouped(m->picture->begin);
    const spad__figure right = spad__grouped(m->picture->end);
    spad__out_format(m->out, "%*s%s%*s\n", LABEL, "", left.text,
                     MAP_COLUMNS - (int)strlen(left.text), right.text);
}

static void write_map_legend(const map *m) {
    for (size_t s = 0; s < m->stem_count && s < LETTERS; s++) {
        const stem *row = &m->stems[s];
        spad__out_format(m->out, "  %c ", letter_of(s, 0));
        const size_t width = spad__out_plain_stem(m->out, row->name, 22);
        spad__out_repeat(m->out, " ", 23 - (int64_t)width);
        char count[64] = "";
        if (row->boxes > 1)
            snprintf(count, sizeof count, "%s x ", spad__grouped((int64_t)row->boxes).text);
        if (row->low <= row->top)
            out_line(m->out, 27, "%s%s in [%s, %s), time [%s, %s)", count,
                     spad__exact_size(row->bytes).text, spad__grouped(row->low).text,
                     spad__grouped(row->top).text, spad__grouped(row->begin).text,
                     spad__grouped(row->end).text);
        else
            out_line(m->out, 27, "%s%s without an address, time [%s, %s)", count,
                     spad__exact_size(row->bytes).text, spad__grouped(row->begin).text,
                     spad__grouped(row->end).text);
    }
    if (m->stem_count > LETTERS)
        spad__out_format(m->out, "  * %s more names\n",
                         spad__grouped((int64_t)(m->stem_count - LETTERS)).text);
}

static int compare_shares(const void *left, const void *right) {
    const stem *a = left;
    const stem *b = right;
    if (a->bytes != b->bytes) return a->bytes > b->bytes ? -1 : 1;
    return compare_stems(left, right);
}

/* Boxes of the peak by their stems; bytes are those of all of them. Returns how many there are. */
static size_t find_shares(const map *m, named *names, stem *shares) {
    const size_t boxes = m->view->peak.count;
    size_t count = 0;
    for (size_t i = 0; i < boxes; i++) {
        const size_t number = m->view->peak.items[i];
        const char *name = spad__box_label(&m->picture->report->boxes.items[number]);
        names[i] = (named){name, spad__stem_length(name), i};
    }
    if (boxes > 0) qsort(names, boxes, sizeof *names, compare_named);
    for (size_t i = 0; i < boxes; i++) {
        const size_t number = m->view->peak.items[names[i].index];
        if (i == 0 || !is_same_stem(&names[i - 1], &names[i])) {
            shares[count++] =
                (stem){.name = names[i].name, .length = names[i].length, .first = names[i].index};
        }
        shares[count - 1].boxes++;
        shares[count - 1].bytes += m->picture->report->boxes.items[number].rect.bytes;
    }
    if (count > 0) qsort(shares, count, sizeof *shares, compare_shares);
    return count;
}

static void write_map_peak(const map *m, named *names, stem *shares) {
    const size_t count = find_shares(m, names, shares);
    spad__out_string(m->out, "  the peak consists of\n");
    for (size_t i = 0; i < count && i < PEAK_SHOWN; i++) {
        spad__out_format(m->out, "    %14s  ", spad__exact_size(shares[i].bytes).text);
        if (shares[i].boxes == 1) {
            spad__out_plain(m->out, shares[i].name, 50);
        } else {
            spad__out_plain_stem(m->out, shares[i].name, 40);
            spad__out_format(m->out, ", %s boxes", spad__grouped((int64_t)shares[i].boxes).text);
        }
        spad__out_string(m->out, "\n");
    }
    if (count > PEAK_SHOWN)
        spad__out_format(m->out, "    and %s smaller ones\n",
                         spad__grouped((int64_t)(count - PEAK_SHOWN)).text);
}

static spad_status write_map(spad__out *out, const spad__picture *p, const spad__view *view,
                             spad_error *error) {
    const size_t n = view->facts.boxes;
    spad__arena arena = {.host = p->host};
    map m = {.out = out, .picture = p, .view = view};
    named *names = spad__arena_array(&arena, n, sizeof *names);
    area *areas = spad__arena_array(&arena, n, sizeof *areas);
    int64_t *counts = spad__arena_array(&arena, n, sizeof *counts);
    m.stems = spad__arena_array(&arena, n, sizeof *m.stems);
    m.stem_of = spad__arena_array(&arena, n, sizeof *m.stem_of);
    m.number = spad__arena_array(&arena, n, sizeof *m.number);
    const bool failed = names == NULL || areas == NULL || counts == NULL || m.stems == NULL ||
                        m.stem_of == NULL || m.number == NULL;
    if (!failed) {
        find_stems(&m, names);
        paint(&m, areas, counts);
        write_map_head(&m);
        write_cells(&m);
        write_map_legend(&m);
        write_map_peak(&m, names, m.stems);
    }
    spad__arena_free(&arena);
    return failed ? spad__fail_host_memory(error) : SPAD_OK;
}

static void write_findings(spad__out *out, const spad_report *report) {
    if (report->findings.count > 0) spad__out_string(out, "\n");
    for (size_t i = 0; i < report->findings.count; i++) {
        const spad_finding *finding = &report->findings.items[i];
        char place[32] = "";
        if (finding->line > 0) snprintf(place, sizeof place, "line %ld: ", (long)finding->line);
        out_line(out, 0, "%s %s: %s%s", spad_severity_name(finding->severity),
                 spad_finding_name(finding->code), place, finding->message);
    }
}

spad_status spad__write_report_text(const spad__picture *picture, const spad_sink *sink,
                                    spad_error *error) {
    const spad_report *report = picture->report;
    spad_status status = SPAD_OK;
    spad__out out;
    spad__out_start_text(&out, sink);
    spad__out_limit(&out, &picture->limit);
    spad__out_plain(&out, report->title, WIDTH);
    spad__out_string(&out, "\n");
    if (report->badge != NULL) {
        spad__out_string(&out, "  ");
        out_wrapped(&out, report->badge, 2);
    }
    for (size_t i = 0; i < report->note_count; i++) {
        spad__out_string(&out, "  ");
        out_wrapped(&out, report->notes[i], 2);
    }
    for (size_t i = 0; i < picture->view_count && status == SPAD_OK; i++) {
        status = write_map(&out, picture, &picture->views[i], error);
    }
    if (picture->view_count == 0) spad__out_string(&out, "\nno boxes\n");
    write_findings(&out, report);
    return status == SPAD_OK ? spad__out_finish(&out, error) : status;
}
