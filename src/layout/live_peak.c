/* SPDX-License-Identifier: Apache-2.0
 *
 * The live peak of a space: the statement at which the most bytes of some lane are needed.
 *
 * The problem of the planner does not show it where the kernel has placed tensors itself: obstacles
 * that share bytes have become one box there, and its load is an average over lanes. Here the bytes
 * of one lane after the other are swept in time. A tree over the addresses counts how many of the
 * buffers that are needed cover each run of bytes, and knows how many bytes are covered at all, so
 * that bytes which two buffers share count once.
 *
 * Invariants of the tree: node 1 is the root, 2n and 2n+1 are the halves of n; `covers` counts the
 * buffers that cover all of a node but not all of its parent; `bytes` are the covered ones of the
 * node. O(n log n) for each of at most LANES_SWEPT lanes; buffers start in few.
 */
#include <stdlib.h>
#include <string.h>

#include "base/assert.h"
#include "base/checked.h"
#include "base/compare.h"
#include "base/interval.h"
#include "layout/layout.h"

enum { LANES_SWEPT = 128 };

typedef struct peak_edge {
    int64_t time;
    size_t buffer;
    int32_t sign;
} peak_edge;

typedef struct peak_node {
    int64_t bytes;
    int32_t covers;
} peak_node;

typedef struct peak_sweep {
    const spad_layout *layout;
    const spad_layout_space *row;
    peak_edge *edges;
    size_t edge_count;
    int64_t *at; /* addresses at which something begins or ends, ascending, once each */
    size_t at_count;
    peak_node *nodes;
    int64_t lanes[LANES_SWEPT];
    size_t lane_count;
    int64_t most;
    int64_t time;
} peak_sweep;

static int compare_edges(const void *left, const void *right) {
    const peak_edge *a = left;
    const peak_edge *b = right;
    int order = spad__compare(a->time, b->time);
    if (order == 0) order = spad__compare(a->sign, b->sign); /* ends first */
    return order != 0 ? order : spad__compare((int64_t)a->buffer, (int64_t)b->buffer);
}

static void keep_lane(peak_sweep *s, int64_t lane) {
    for (size_t k = 0; k < s->lane_count; k++)
        if (s->lanes[k] == lane) return;
    if (s->lane_count < LANES_SWEPT) s->lanes[s->lane_count++] = lane;
}

/* Edges, addresses and lanes of all buffers that are needed. False: one has no place. */
static bool collect_edges(peak_sweep *s) {
    for (size_t i = 0; i < s->row->buffer_count; i++) {
        const spad_layout_buffer *b = &s->layout->buffers.items[s->row->first_buffer + i];
        if (b->begin >= b->end || b->taken <= 0) continue;
        if (b->rect.byte == SPAD_NO_BYTE) return false;
        s->edges[s->edge_count++] = (peak_edge){b->begin, s->row->first_buffer + i, 1};
        s->edges[s->edge_count++] = (peak_edge){b->end, s->row->first_buffer + i, -1};
        s->at[s->at_count++] = b->rect.byte;
        s->at[s->at_count++] = b->rect.byte + b->taken;
        keep_lane(s, b->rect.lane);
    }
    if (s->edge_count == 0) return false;
    qsort(s->edges, s->edge_count, sizeof *s->edges, compare_edges);
    qsort(s->at, s->at_count, sizeof *s->at, spad__compare_int64);
    size_t kept = 1;
    for (size_t i = 1; i < s->at_count; i++)
        if (s->at[i] != s->at[kept - 1]) s->at[kept++] = s->at[i];
    s->at_count = kept;
    return true;
}

/* Adds `sign` to the count of bytes [from, until) in the node of addresses [low, high). As deep as
 * the tree. */
static void cover_bytes(peak_sweep *s, size_t node, size_t low, size_t high,
                        const spad__interval *bytes, int32_t sign) {
    if (bytes->end <= s->at[low] || s->at[high] <= bytes->begin) return;
    peak_node *n = &s->nodes[node];
    if (bytes->begin <= s->at[low] && s->at[high] <= bytes->end) {
        n->covers += sign;
        spad__assert(n->covers >= 0);
    } else {
        const size_t middle = low + (high - low) / 2;
        cover_bytes(s, 2 * node, low, middle, bytes, sign);
        cover_bytes(s, 2 * node + 1, middle, high, bytes, sign);
    }
    const bool leaf = high - low == 1;
    n->bytes = n->covers > 0 ? s->at[high] - s->at[low]
               : leaf        ? 0
                             : s->nodes[2 * node].bytes + s->nodes[2 * node + 1].bytes;
}

static void sweep_lane(peak_sweep *s, int64_t lane) {
    for (size_t i = 0; i < s->edge_count; i++) {
        const peak_edge *edge = &s->edges[i];
        const spad_layout_buffer *b = &s->layout->buffers.items[edge->buffer];
        const spad__interval bytes = {b->rect.byte, b->rect.byte + b->taken};
        if (b->rect.lane <= lane && lane - b->rect.lane < b->rect.lanes)
            cover_bytes(s, 1, 0, s->at_count - 1, &bytes, edge->sign);
        const bool last = i + 1 == s->edge_count || s->edges[i + 1].time != edge->time;
        const int64_t now = s->nodes[1].bytes;
        if (!last || now < s->most || (now == s->most && edge->time >= s->time)) continue;
        s->most = now;
        s->time = edge->time;
    }
}

spad_status spad__layout_find_peak(const spad_layout *layout, const spad_layout_space *row,
                                   int64_t *bytes, int64_t *statement, spad_error *error) {
    const size_t room = 2 * row->buffer_count + 1;
    const spad_host *host = &layout->host;
    peak_sweep s = {.layout = layout, .row = row, .time = INT64_MAX};
    s.edges = spad__new_array(host, room, sizeof *s.edges);
    s.at = spad__new_array(host, room, sizeof *s.at);
    s.nodes = spad__new_array(host, 4 * room, sizeof *s.nodes);
    const bool fine = s.edges != NULL && s.at != NULL && s.nodes != NULL;
    if (fine && collect_edges(&s)) {
        for (size_t k = 0; k < s.lane_count; k++) sweep_lane(&s, s.lanes[k]);
        *bytes = s.most;
        *statement = s.time;
    }
    spad__free(host, s.edges, room * sizeof *s.edges);
    spad__free(host, s.at, room * sizeof *s.at);
    spad__free(host, s.nodes, 4 * room * sizeof *s.nodes);
    return fine ? SPAD_OK : spad__fail_host_memory(error);
}

/* ---- who is needed then ---------------------------------------------------------------- */

/* Bytes of a lane that buffers of the peak have; `taken` is scratch. */
static int64_t bytes_in_lane(const spad_layout *layout, const spad_layout_space *row, int64_t lane,
                             spad__interval *taken) {
    size_t count = 0;
    for (size_t i = 0; i < row->alive_count; i++) {
        const spad_layout_buffer *buffer = &layout->buffers.items[row->alive[i]];
        const spad_rect rect = buffer->rect;
        if (rect.byte == SPAD_NO_BYTE || lane < rect.lane || lane >= rect.lane + rect.lanes)
            continue;
        taken[count++] = (spad__interval){rect.byte, rect.byte + buffer->taken};
    }
    return spad__covered_bytes(taken, count);
}

/* Bytes of the fullest lane at the peak: one in which a buffer starts. */
static int64_t bytes_at_peak(const spad_layout *layout, const spad_layout_space *row,
                             spad__interval *taken) {
    int64_t lanes[LANES_SWEPT];
    size_t count = 0;
    int64_t most = 0;
    for (size_t i = 0; i < row->alive_count && count < LANES_SWEPT; i++) {
        const int64_t lane = layout->buffers.items[row->alive[i]].rect.lane;
        size_t k = 0;
        while (k < count && lanes[k] != lane) k++;
        if (k < count) continue;
        lanes[count++] = lane;
        most = spad__max(most, bytes_in_lane(layout, row, lane, taken));
    }
    return most;
}

/* True if a buffer, the i-th of its space, is live at the peak. */
static bool is_at_peak(const spad__layout_space *space, size_t i,
                       const spad_layout_buffer *buffer) {
    const spad_plan_result *result = space->result;
    const int64_t peak = space->row.peak_statement;
    if (!space->ordered) return buffer->begin <= peak && peak < buffer->end;
    if (result->together_count == 0) return (int64_t)i == result->peak_time;
    for (size_t k = 0; k < result->together_count; k++)
        if (result->together[k] == i) return true;
    return false;
}

int64_t spad__layout_peak_statement(const spad_layout *layout, const spad__layout_space *space) {
    const spad_layout_space *row = &space->row;
    int64_t last = 0;
    if (!space->ordered && !row->timed) return space->result->peak_time;
    for (size_t i = 0; i < row->buffer_count; i++) {
        const spad_layout_buffer *buffer = &layout->buffers.items[row->first_buffer + i];
        if (is_at_peak(space, i, buffer)) last = spad__max(last, buffer->begin);
    }
    return last;
}

spad_status spad__layout_describe_peak(const spad_layout *layout, spad__layout_space *space,
                                       spad_error *error) {
    spad_layout_space *row = &space->row;
    const size_t count = row->buffer_count;
    spad__sized *list = spad__new_array(&layout->host, count + 1, sizeof *list);
    spad__interval *taken = spad__new_array(&layout->host, count + 1, sizeof *taken);
    space->alive = spad__new_array(&layout->host, count + 1, sizeof *space->alive);
    const bool fine = list != NULL && taken != NULL && space->alive != NULL;
    size_t alive = 0;
    size_t placed = 0;
    for (size_t i = 0; fine && i < count; i++) {
        const spad_layout_buffer *buffer = &layout->buffers.items[row->first_buffer + i];
        if (!is_at_peak(space, i, buffer)) continue;
        list[alive++] = (spad__sized){buffer->taken, row->first_buffer + i};
        row->peak_padding += buffer->padding;
        if (buffer->rect.byte == SPAD_NO_BYTE) continue;
        taken[placed++] = (spad__interval){buffer->rect.byte, buffer->rect.byte + buffer->taken};
    }
    if (fine) {
        qsort(list, alive, sizeof *list, spad__compare_sized);
        for (size_t i = 0; i < alive; i++) space->alive[i] = list[i].number;
        row->alive_count = alive;
        row->alive = space->alive;
        row->hole = spad__largest_gap(&row->hole_at, taken, placed, 0, row->capacity);
        if (placed == alive && space->ordered) row->peak_bytes = bytes_at_peak(layout, row, taken);
    }
    spad__free(&layout->host, list, (count + 1) * sizeof *list);
    spad__free(&layout->host, taken, (count + 1) * sizeof *taken);
    return fine ? SPAD_OK : spad__fail_host_memory(error);
}
