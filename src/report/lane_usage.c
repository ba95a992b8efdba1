/* SPDX-License-Identifier: Apache-2.0
 *
 * One lane of a space over time: how many of its bytes are in use, and which
 * boxes are in each other's way. Both walk the edges of the boxes in time order over
 * a tree whose leaves are the runs of bytes between two addresses at which a box
 * begins or ends. O(n log n) time, O(n) memory.
 *
 * Live bytes: the measure of the union. A node counts the boxes that cover it
 * whole, and knows how many bytes below it are covered (Bentley's algorithm for the
 * area of rectangles). So aliases, and conflicts, count once.
 *
 * Conflicts: a node keeps the box that ends last among those that cover it whole
 * (`here`) and among all that touch it (`below`), each with the best of another family,
 * so that an alias does not hide a stranger. Walking forwards by begin, a box that begins
 * before the last end over its bytes is in conflict with that box, which began before it.
 * Walking backwards with times turned round finds those that begin after it, so every
 * box that has a partner gets one. An output in place of its input shares one moment with it,
 * the last of the input, and may. Where such a pair is the latest, only boxes that end at the same
 * time (backwards: begin) can be in conflict, so these are looked at one by one.
 */
#include <stdlib.h>

#include "base/checked.h"
#include "base/compare.h"
#include "base/error.h"
#include "report/report.h"

bool spad__in_lane(const spad_report_box *box, int64_t lane) {
    if (!spad__is_drawn(box)) return true;
    return box->rect.lane <= lane && lane < box->rect.lane + box->rect.lanes;
}

static bool covers_bytes(const spad_report_box *box, int64_t lane) {
    return spad__is_drawn(box) && box->rect.bytes > 0 && spad__in_lane(box, lane);
}

/* ---- leaves: runs of bytes between addresses --------------------------------------- */

typedef struct byte_runs {
    int64_t *at; /* sorted, different; run k is [at[k], at[k + 1]) */
    size_t count;
    size_t capacity;
} byte_runs;

static bool collect_runs(byte_runs *out, const spad__report_lane *lane) {
    *out = (byte_runs){.capacity = lane->edge_count};
    if (out->capacity == 0) return true;
    out->at = spad__new_array(&lane->report->host, out->capacity, sizeof *out->at);
    if (out->at == NULL) return false;
    for (size_t i = 0; i < lane->edge_count; i++) { /* two edges a box: one per address */
        const spad_report_box *box = &lane->report->boxes.items[lane->edges[i].buffer];
        if (!covers_bytes(box, lane->lane)) continue;
        out->at[out->count++] = box->rect.byte + (lane->edges[i].begins ? 0 : box->rect.bytes);
    }
    if (out->count == 0) return true;
    qsort(out->at, out->count, sizeof *out->at, spad__compare_int64);
    size_t kept = 1;
    for (size_t i = 1; i < out->count; i++) {
        if (out->at[i] != out->at[kept - 1]) out->at[kept++] = out->at[i];
    }
    out->count = kept;
    return true;
}

static void free_runs(byte_runs *r, const spad__report_lane *lane) {
    spad__free(&lane->report->host, r->at, r->capacity * sizeof *r->at);
}

static size_t run_at(const byte_runs *r, int64_t address) {
    size_t low = 0;
    size_t high = r->count;
    while (high - low > 1) {
        const size_t middle = low + (high - low) / 2;
        if (r->at[middle] <= address)
            low = middle;
        else
            high = middle;
    }
    return low;
}

/* The runs [*first, *last) of a box. */
static void box_runs(size_t *first, size_t *last, const byte_runs *r, const spad_report_box *box) {
    *first = run_at(r, box->rect.byte);
    *last = run_at(r, box->rect.byte + box->rect.bytes);
}

/* ---- live bytes -------------------------------------------------------------------- */

typedef struct cover {
    int32_t whole; /* boxes that cover the node whole, and not its parent */
    int64_t bytes; /* of the node that are covered, as far as its subtree knows */
} cover;

typedef struct cover_tree {
    const byte_runs *runs;
    cover *nodes;
    size_t first; /* of the range that is changed */
    size_t last;
    int32_t change;
} cover_tree;

/* The node covers runs [low, high). */
static void change_cover(const cover_tree *tree, size_t node, size_t low, size_t high) {
    cover *n = &tree->nodes[node];
    const size_t middle = low + (high - low) / 2;
    if (tree->first <= low && high <= tree->last) {
        n->whole += tree->change;
    } else {
        if (tree->first < middle) change_cover(tree, 2 * node, low, middle);
        if (middle < tree->last) change_cover(tree, 2 * node + 1, middle, high);
    }
    if (n->whole > 0)
        n->bytes = tree->runs->at[high] - tree->runs->at[low];
    else if (high - low == 1)
        n->bytes = 0;
    else
        n->bytes = tree->nodes[2 * node].bytes + tree->nodes[2 * node + 1].bytes;
}

static void walk_live(int64_t *most, const spad__report_lane *lane, cover_tree *tree) {
    int64_t unplaced = 0;
    size_t k = 0;
    for (size_t i = 0; i < lane->edge_count; i++) {
        const spad__moment *edge = &lane->edges[i];
        const spad_report_box *box = &lane->report->boxes.items[edge->buffer];
        if (!spad__is_drawn(box)) {
            unplaced += edge->begins ? box->rect.bytes : -box->rect.bytes;
        } else if (covers_bytes(box, lane->lane)) {
            box_runs(&tree->first, &tree->last, tree->runs, box);
            tree->change = edge->begins ? 1 : -1;
            change_cover(tree, 1, 0, tree->runs->count - 1);
        }
        if (i + 1 < lane->edge_count && edge[1].time == edge->time) continue;
        most[k] = spad__max(most[k], tree->nodes[1].bytes + unplaced);
        k++;
    }
}

spad_status spad__lane_live(int64_t *most, const spad__report_lane *lane, spad_error *error) {
    const spad_host *host = &lane->report->host;
    byte_runs r;
    if (!collect_runs(&r, lane)) return spad__fail_host_memory(error);
    const size_t size = 4 * (r.count + 1) * sizeof(cover);
    cover_tree tree = {.runs = &r, .nodes = spad__new_array(host, r.count + 1, 4 * sizeof(cover))};
    if (tree.nodes != NULL) walk_live(most, lane, &tree);
    const bool failed = tree.nodes == NULL;
    spad__free(host, tree.nodes, size);
    free_runs(&r, lane);
    return failed ? spad__fail_host_memory(error) : SPAD_OK;
}

/* ---- conflicts --------------------------------------------------------------------- */

/* The box that ends last, and the one that does so in another family; box + 1, 0: none. */
typedef struct latest {
    size_t box[2];
    int64_t end[2];
} latest;

typedef struct latest_tree {
    const spad_report *report;
    latest *nodes; /* two per node: here, below */
    size_t first;  /* of the range that is asked about or changed */
    size_t last;
    size_t box;
    int64_t end; /* of that box */
} latest_tree;

static bool same_family(const spad_report *report, size_t a, size_t b) {
    const int64_t family = report->boxes.items[a].family;
    return a == b || (family >= 0 && family == report->boxes.items[b].family);
}

static void update_latest(const spad_report *report, latest *best, size_t box, int64_t end) {
    if (best->box[0] == 0 || end > best->end[0]) {
        if (best->box[0] != 0 && !same_family(report, best->box[0] - 1, box)) {
            best->box[1] = best->box[0];
            best->end[1] = best->end[0];
        }
        best->box[0] = box + 1;
        best->end[0] = end;
    } else if (!same_family(report, best->box[0] - 1, box) &&
               (best->box[1] == 0 || end > best->end[1])) {
        best->box[1] = box + 1;
        best->end[1] = end;
    }
}

static void insert_latest(const latest_tree *tree, size_t node, size_t low, size_t high) {
    update_latest(tree->report, &tree->nodes[2 * node + 1], tree->box, tree->end);
    if (tree->first <= low && high <= tree->last) {
        update_latest(tree->report, &tree->nodes[2 * node], tree->box, tree->end);
        return;
    }
    const size_t middle = low + (high - low) / 2;
    if (tree->first < middle) insert_latest(tree, 2 * node, low, middle);
    if (middle < tree->last) insert_latest(tree, 2 * node + 1, middle, high);
}

/* The latest end of a stranger in the range goes to *best. */
static void query_latest(latest *best, const latest_tree *tree, size_t node, size_t low,
                         size_t high) {
    const bool whole = tree->first <= low && high <= tree->last;
    const latest *from = &tree->nodes[2 * node + (whole ? 1 : 0)];
    for (int i = 0; i < 2; i++) {
        if (from->box[i] == 0 || same_family(tree->report, from->box[i] - 1, tree->box)) continue;
        update_latest(tree->report, best, from->box[i] - 1, from->end[i]);
    }
    if (whole) return;
    const size_t middle = low + (high - low) / 2;
    if (tree->first < middle) query_latest(best, tree, 2 * node, low, middle);
    if (middle < tree->last) query_latest(best, tree, 2 * node + 1, middle, high);
}

/* The first edge at or after a time. */
static size_t first_edge_at(const spad__report_lane *lane, int64_t time) {
    size_t low = 0;
    size_t high = lane->edge_count;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        if (lane->edges[middle].time < time)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* A box whose edge is at the time (its begin, or its end) and which shares bytes of the lane with
 * a box that it may not share them with; -1: none. Both are live at one moment next to it. */
static int64_t find_rival(const spad__report_lane *lane, size_t number, int64_t time, bool begins) {
    const spad_report *report = lane->report;
    const spad_rect *mine = &report->boxes.items[number].rect;
    for (size_t k = first_edge_at(lane, time); k < lane->edge_count && lane->edges[k].time == time;
         k++) {
        const size_t other = lane->edges[k].buffer;
        const spad_report_box *box = &report->boxes.items[other];
        if (lane->edges[k].begins == begins && covers_bytes(box, lane->lane) &&
            box->rect.byte < mine->byte + mine->bytes &&
            mine->byte < box->rect.byte + box->rect.bytes && !same_family(report, number, other) &&
            !spad__report_in_place(report, number, other))
            return (int64_t)other;
    }
    return -1;
}

/* The partner of a box when the latest stranger over its bytes is known. */
static int64_t partner_from(const spad__report_lane *lane, size_t number, size_t latest_box,
                            bool back) {
    const spad_report_box *other = &lane->report->boxes.items[latest_box];
    if (!spad__report_in_place(lane->report, number, latest_box)) return (int64_t)latest_box;
    return find_rival(lane, number, back ? other->begin : other->end, back);
}

/* One box in the order of the walk. On the way back times are turned round (~t, which fits). */
static void find_partner(int64_t *partner, latest_tree *tree, const spad__report_lane *lane,
                         const byte_runs *r, size_t number, bool back) {
    const spad_report_box *box = &tree->report->boxes.items[number];
    box_runs(&tree->first, &tree->last, r, box);
    tree->box = number;
    tree->end = back ? ~box->begin : box->end;
    if (partner[number] < 0) {
        latest best = {0};
        query_latest(&best, tree, 1, 0, r->count - 1);
        if (best.box[0] != 0 && best.end[0] > (back ? ~box->end : box->begin))
            partner[number] = partner_from(lane, number, best.box[0] - 1, back);
    }
    insert_latest(tree, 1, 0, r->count - 1);
}

/* Edges [from, until) of the walk, all at one time: the boxes that live for one moment, or the
 * others. */
static void walk_begins(int64_t *partner, const spad__report_lane *lane, latest_tree *tree,
                        const byte_runs *r, size_t from, size_t until, bool back, bool one_moment) {
    for (size_t i = from; i < until; i++) {
        const spad__moment *edge = &lane->edges[back ? lane->edge_count - 1 - i : i];
        const spad_report_box *box = &tree->report->boxes.items[edge->buffer];
        if (!edge->begins || !covers_bytes(box, lane->lane)) continue;
        if ((box->end - box->begin == 1) == one_moment)
            find_partner(partner, tree, lane, r, edge->buffer, back);
    }
}

/* Of boxes that begin together, those that live for one moment come first: so an input is always
 * before the output in its place. */
static void walk_conflicts(int64_t *partner, const spad__report_lane *lane, latest_tree *tree,
                           const byte_runs *r, bool back) {
    size_t until;
    for (size_t from = 0; from < lane->edge_count; from = until) {
        const size_t last = lane->edge_count - 1;
        const int64_t time = lane->edges[back ? last - from : from].time;
        for (until = from; until <= last; until++)
            if (lane->edges[back ? last - until : until].time != time) break;
        walk_begins(partner, lane, tree, r, from, until, back, !back);
        walk_begins(partner, lane, tree, r, from, until, back, back);
    }
}

spad_status spad__lane_conflicts(int64_t *partner, const spad__report_lane *lane,
                                 spad_error *error) {
    const spad_host *host = &lane->report->host;
    byte_runs r;
    spad_status status = SPAD_OK;
    if (!collect_runs(&r, lane)) return spad__fail_host_memory(error);
    const size_t size = 8 * (r.count + 1) * sizeof(latest);
    for (int back = 0; back < 2 && r.count > 0; back++) {
        latest_tree tree = {.report = lane->report,
                            .nodes = spad__new_array(host, r.count + 1, 8 * sizeof(latest))};
        if (tree.nodes == NULL) {
            status = spad__fail_host_memory(error);
            break;
        }
        walk_conflicts(partner, lane, &tree, &r, back != 0);
        spad__free(host, tree.nodes, size);
    }
    free_runs(&r, lane);
    return status;
}
