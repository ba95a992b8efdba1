/* SPDX-License-Identifier: Apache-2.0
 *
 * A report as a memory snapshot that PyTorch's memory_viz page opens: a pickle with
 * `segments` (one per space, cut into blocks as they are at the end) and `device_traces`
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

static void put_event(spad__out *out, const device *d, const spad_report_box *box, bool begins,
                      const char *action) {
    put_byte(out, EMPTY_DICT);
    put_item_string(out, "action", action);
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
        const spad_report_box *box = &p->report->boxes.items[edges[i].box];
        if (edges[i].begins) {
            put_event(out, d, box, true, "alloc");
        } else { /* the page joins the two */
            put_event(out, d, box, false, "free_requested");
            put_event(out, d, box, false, "free_completed");
        }
    }
    spad__free(&p->host, edges, capacity * sizeof *edges);
    return SPAD_OK;
}

/* Bytes of a segment that nobody, or one box, has at the end. */
static void put_block(spad__out *out, const device *d, int64_t address, int64_t size,
                      const spad_report_box *box) {
    put_byte(out, EMPTY_DICT);
    put_item_int(out, "address", address);
    put_item_int(out, "size", size);
    put_item_int(out, "requested_size", box != NULL ? size - box->padding : 0);
    put_item_string(out, "state", box != NULL ? "active_allocated" : "inactive");
    if (box != NULL) {
        put_frames(out, d->picture->report, box);
    } else {
        put_string(out, "frames");
        put_byte(out, EMPTY_LIST);
        put_byte(out, SETITEM);
    }
    put_byte(out, APPEND);
}

typedef struct block {
    int64_t address;
    size_t box;
} block;

static int compare_blocks(const void *left, const void *right) {
    const block *a = left;
    const block *b = right;
    if (a->address != b->address) return a->address < b->address ? -1 : 1;
    return (a->box > b->box) - (a->box < b->box);
}

/* The page adds up sizes to find addresses, so blocks stand without holes between them; what
 * lies on top of another one is left out. */
static spad_status put_blocks(spad__out *out, const device *d, int64_t total, spad_error *error) {
    const spad__picture *p = d->picture;
    const size_t boxes = d->view->facts.boxes;
    block *blocks = spad__new(&p->host, boxes * sizeof *blocks);
    if (blocks == NULL) return spad__fail_host_memory(error);
    size_t count = 0;
    for (size_t i = 0; i < boxes; i++) {
        const size_t number = p->order[d->view->first + i];
        const spad_report_box *box = &p->report->boxes.items[number];
        if (box->open && in_snapshot(box)) blocks[count++] = (block){flat_address(d, box), number};
    }
    if (count > 0) qsort(blocks, count, sizeof *blocks, compare_blocks);
    int64_t at = 0;
    for (size_t i = 0; i < count; i++) {
        const spad_report_box *box = &p->report->boxes.items[blocks[i].box];
        int64_t end;
        if (blocks[i].address < at || !spad__add(blocks[i].address, box->rect.bytes, &end))
            continue;
        if (blocks[i].address > at) put_block(out, d, at, blocks[i].address - at, NULL);
        put_block(out, d, blocks[i].address, box->rect.bytes, box);
        at = end;
    }
    if (at < total) put_block(out, d, at, total - at, NULL);
    spad__free(&p->host, blocks, boxes * sizeof *blocks);
    return SPAD_OK;
}

static spad_status put_segment(spad__out *out, const device *d, spad_error *error) {
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
    const spad_status status = put_blocks(out, d, total, error);
    put_byte(out, SETITEM);
    put_byte(out, APPEND);
    return status;
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
    for (size_t i = 0; i < p.view_count && status == SPAD_OK; i++) {
        const device d = device_of(&p, i);
        status = put_segment(&out, &d, error);
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
