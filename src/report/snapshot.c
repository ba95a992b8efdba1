/* SPDX-License-Identifier: Apache-2.0
 *
 * A report as a memory snapshot that PyTorch's memory_viz page opens: a pickle with
 * `segments` (one per space, with the blocks that are never freed) and `device_traces`
 * (alloc and free in the order of time). Every space is a device.
 *
 * That page knows one-dimensional addresses: a box lies at lane x bytes of a lane +
 * byte, with the bytes of its first lane as its size. Its name is the one frame of
 * its stack. Opcodes are those of protocol 2, which every version of the page and of
 * Python reads (Python's pickletools describe them).
 */
#include <stdlib.h>
#include <string.h>

#include "base/checked.h"
#include "base/error.h"
#include "report/report.h"

/* ---- pickle ------------------------------------------------------------------------- */

enum {
    PROTO = 0x80,
    LONG1 = 0x8A,
    BINUNICODE = 'X',
    BININT = 'J',
    EMPTY_DICT = '}',
    EMPTY_LIST = ']',
    APPEND = 'a',
    SETITEM = 's',
    STOP = '.'
};

static void put_byte(spad__out *out, int byte) {
    const char c = (char)byte;
    spad__out_bytes(out, &c, 1);
}

static void put_little(spad__out *out, uint64_t value, int bytes) {
    for (int i = 0; i < bytes; i++) put_byte(out, (int)(value >> (8 * i) & 0xFF));
}

static void put_int(spad__out *out, int64_t value) {
    if (value >= INT32_MIN && value <= INT32_MAX) {
        put_byte(out, BININT);
        put_little(out, (uint64_t)value, 4);
    } else {
        put_byte(out, LONG1);
        put_byte(out, 8);
        put_little(out, (uint64_t)value, 8);
    }
}

/* Bytes of the text once what is not UTF-8 has become the replacement character. */
static size_t mended_length(const char *text) {
    size_t mended = 0;
    for (size_t length = strlen(text), size; length > 0; text += size, length -= size) {
        size = spad__utf8_length(text, length);
        mended += size > 0 ? size : 3;
        if (size == 0) size = 1;
    }
    return mended;
}

static void put_string(spad__out *out, const char *text) {
    const size_t length = mended_length(text);
    put_byte(out, BINUNICODE);
    put_little(out, length & 0xFFFFFFFFu, 4);
    for (size_t left = strlen(text), size; left > 0; text += size, left -= size) {
        size = spad__utf8_length(text, left);
        if (size > 0)
            spad__out_bytes(out, text, size);
        else
            spad__out_string(out, "\xEF\xBF\xBD");
        if (size == 0) size = 1;
    }
}

static void put_item_int(spad__out *out, const char *key, int64_t value) {
    put_string(out, key);
    put_int(out, value);
    put_byte(out, SETITEM);
}

static void put_item_string(spad__out *out, const char *key, const char *value) {
    put_string(out, key);
    put_string(out, value);
    put_byte(out, SETITEM);
}

/* ---- what memory_viz wants ----------------------------------------------------------------------
 */

typedef struct device {
    const spad__picture *picture;
    const spad__view *view; /* NULL: a space without boxes */
    int64_t pitch;          /* bytes from lane to lane */
    int64_t number;
} device;

static void put_frames(spad__out *out, const spad_report *report, const spad_report_box *box) {
    put_string(out, "frames");
    put_byte(out, EMPTY_LIST);
    put_byte(out, EMPTY_DICT);
    put_item_string(out, "name", spad__box_label(box));
    put_item_string(out, "filename", report->file != NULL ? report->file : report->title);
    put_item_int(out, "line", box->line);
    put_byte(out, APPEND);
    put_byte(out, SETITEM);
}

/* The address in the one dimension of the page; 0 where it does not fit. */
static int64_t flat_address(const device *d, const spad_report_box *box) {
    int64_t address;
    if (!spad__mul(box->rect.lane, d->pitch, &address) ||
        !spad__add(address, box->rect.byte - d->view->facts.low, &address)) {
        return 0;
    }
    return address;
}

static void put_event(spad__out *out, const device *d, const spad_report_box *box, bool begins) {
    put_byte(out, EMPTY_DICT);
    put_item_string(out, "action", begins ? "alloc" : "free_completed");
    put_item_int(out, "addr", flat_address(d, box));
    put_item_int(out, "size", box->rect.bytes);
    put_item_int(out, "stream", 0);
    put_item_int(out, "time_us", begins ? box->begin : box->end);
    put_frames(out, d->picture->report, box);
    put_byte(out, APPEND);
}

static int compare_edges(const void *left, const void *right) {
    const spad__edge *a = left;
    const spad__edge *b = right;
    if (a->time != b->time) return a->time < b->time ? -1 : 1;
    if (a->begins != b->begins) return a->begins ? 1 : -1;
    return (a->box > b->box) - (a->box < b->box);
}

static bool in_snapshot(const spad_report_box *box) {
    return spad__is_drawn(box) && box->rect.bytes > 0;
}

static spad_status put_trace(spad__out *out, const device *d, spad_error *error) {
    const spad__picture *p = d->picture;
    const size_t capacity = 2 * d->view->facts.boxes;
    spad__edge *edges = spad__new(&p->host, capacity * sizeof *edges);
    if (edges == NULL) return spad__fail_host_memory(error);
    size_t count = 0;
    for (size_t i = 0; i < d->view->facts.boxes; i++) {
        const size_t number = p->order[d->view->first + i];
        const spad_report_box *box = &p->report->boxes.items[number];
        if (!in_snapshot(box)) continue;
        edges[count++] = (spad__edge){box->begin, number, true};
        if (!box->open) edges[count++] = (spad__edge){box->end, number, false};
    }
    if (count > 0) qsort(edges, count, sizeof *edges, compare_edges);
    for (size_t i = 0; i < count; i++) {
        put_event(out, d, &p->report->boxes.items[edges[i].box], edges[i].begins);
    }
    spad__free(&p->host, edges, capacity * sizeof *edges);
    return SPAD_OK;
}

static void put_block(spad__out *out, const device *d, const spad_report_box *box) {
    put_byte(out, EMPTY_DICT);
    put_item_int(out, "address", flat_address(d, box));
    put_item_int(out, "size", box->rect.bytes);
    put_item_int(out, "requested_size", box->rect.bytes - box->padding);
    put_item_string(out, "state", "active_allocated");
    put_frames(out, d->picture->report, box);
    put_byte(out, APPEND);
}

static void put_segment(spad__out *out, const device *d) {
    const spad__picture *p = d->picture;
    int64_t total;
    if (!spad__mul(d->pitch, p->report->target->spaces[d->view->space].lanes, &total)) {
        total = INT64_MAX;
    }
    put_byte(out, EMPTY_DICT);
    put_item_int(out, "device", d->number);
    put_item_int(out, "address", 0);
    put_item_int(out, "total_size", total);
    put_item_int(out, "stream", 0);
    put_item_string(out, "segment_type", p->report->target->spaces[d->view->space].name);
    put_string(out, "blocks");
    put_byte(out, EMPTY_LIST);
    for (size_t i = 0; i < d->view->facts.boxes; i++) {
        const spad_report_box *box = &p->report->boxes.items[p->order[d->view->first + i]];
        if (box->open && in_snapshot(box)) put_block(out, d, box);
    }
    put_byte(out, SETITEM);
    put_byte(out, APPEND);
}

/* ---- the whole ---------------------------------------------------------------------- */

static device device_of(const spad__picture *p, size_t view) {
    const spad_report_space *facts = &p->views[view].facts;
    const int64_t size = p->report->target->spaces[p->views[view].space].bytes;
    int64_t pitch = size != SPAD_UNBOUNDED ? spad__max(size, facts->top) : facts->top;
    if (!spad__sub(pitch, facts->low, &pitch)) pitch = INT64_MAX;
    return (device){p, &p->views[view], pitch, (int64_t)view};
}

spad_status spad_report_write_snapshot(const spad_report *report, const spad_sink *sink,
                                       spad_error *error) {
    spad__picture p;
    spad_status status = spad__picture_make(&p, report, error);
    if (status != SPAD_OK) return status;
    spad__out out;
    spad__out_start(&out, sink);
    put_byte(&out, PROTO);
    put_byte(&out, 4);
    put_byte(&out, EMPTY_DICT);
    put_string(&out, "segments");
    put_byte(&out, EMPTY_LIST);
    for (size_t i = 0; i < p.view_count; i++) {
        const device d = device_of(&p, i);
        put_segment(&out, &d);
    }
    put_byte(&out, SETITEM);
    put_string(&out, "device_traces");
    put_byte(&out, EMPTY_LIST);
    for (size_t i = 0; i < p.view_count && status == SPAD_OK; i++) {
        const device d = device_of(&p, i);
        put_byte(&out, EMPTY_LIST);
        status = put_trace(&out, &d, error);
        put_byte(&out, APPEND);
    }
    put_byte(&out, SETITEM);
    put_byte(&out, STOP);
    spad__picture_free(&p);
    return status == SPAD_OK ? spad__out_finish(&out, error) : status;
}
