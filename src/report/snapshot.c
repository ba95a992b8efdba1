/* SPDX-License-Identifier: Apache-2.0
 *
 * A report as a memory snapshot that PyTorch's memory_viz page opens (MemoryViz.js and
 * process_alloc_data.js of torch/utils/viz): a pickle with
 *
 *   segments            a stretch of memory each, cut into blocks as they are at the end
 *   device_traces       for every space, the events in the order of time
 *   allocator_settings  title, target, and which device is which space
 *
 * That page knows one-dimensional addresses, and a block by its address alone. So every lane at
 * which boxes start is a segment, and a box is at lane x bytes of a lane + byte, with the bytes
 * of its first lane as its size. Boxes that start at the same byte while both are live (aliases,
 * conflicts) are in layers: layer 1 is a second memory above the first one, and so on.
 *
 * What the page also wants: blocks of a segment without holes, because it adds up their sizes to
 * find them; an event for every segment before those of its blocks; free_requested right in front
 * of free_completed; frames with a name and a filename that are strings. Segments belong to a
 * private pool, for which the page has a view with the whole memory as its frame. Opcodes are
 * those of protocol 2, which every version of the page and of Python reads (Python's pickletools
 * describe them).
 */
#include <stdlib.h>
#include <string.h>

#include "base/checked.h"
#include "base/error.h"
#include "report/report.h"

enum {
    LAYERS_MOST = 64, /* more boxes than that at one byte share the last layer */
    LEGEND_MOST = 16  /* names that the legend of the page has room for */
};

/* ---- pickle ------------------------------------------------------------------------ */

enum {
    PROTO = 0x80,
    TUPLE2 = 0x86,
    LONG1 = 0x8A,
    BINUNICODE = 'X',
    BININT = 'J',
    BINPUT = 'q',
    BINGET = 'h',
    EMPTY_DICT = '}',
    EMPTY_LIST = ']',
    APPEND = 'a',
    SETITEM = 's',
    STOP = '.'
};

/* Words that come again and again are written once and then by their number. */
typedef enum word {
    ACTION,
    ACTIVE_SIZE,
    ADDR,
    ADDRESS,
    ALLOC,
    ALLOCATED_SIZE,
    BLOCKS,
    WORD_BYTE,
    CATEGORY,
    DEVICE,
    DEVICES,
    FILENAME,
    FRAMES,
    FREE_COMPLETED,
    FREE_REQUESTED,
    INACTIVE,
    WORD_LANE,
    WORD_LANES,
    WORD_LINE,
    WORD_NAME,
    REQUESTED_SIZE,
    SEGMENT_ALLOC,
    SEGMENT_POOL_ID,
    SEGMENT_TYPE,
    WORD_SIZE,
    WORD_STATE,
    STREAM,
    TARGET,
    TIME,
    TIME_US,
    TITLE,
    TOTAL_SIZE,
    USER_METADATA,
    WORD_COUNT
} word;

static const char *const pickle_words[WORD_COUNT] = {[ACTION] = "action",
                                                     [ACTIVE_SIZE] = "active_size",
                                                     [ADDR] = "addr",
                                                     [ADDRESS] = "address",
                                                     [ALLOC] = "alloc",
                                                     [ALLOCATED_SIZE] = "allocated_size",
                                                     [BLOCKS] = "blocks",
                                                     [WORD_BYTE] = "byte",
                                                     [CATEGORY] = "category",
                                                     [DEVICE] = "device",
                                                     [DEVICES] = "devices",
                                                     [FILENAME] = "filename",
                                                     [FRAMES] = "frames",
                                                     [FREE_COMPLETED] = "free_completed",
                                                     [FREE_REQUESTED] = "free_requested",
                                                     [INACTIVE] = "inactive",
                                                     [WORD_LANE] = "lane",
                                                     [WORD_LANES] = "lanes",
                                                     [WORD_LINE] = "line",
                                                     [WORD_NAME] = "name",
                                                     [REQUESTED_SIZE] = "requested_size",
                                                     [SEGMENT_ALLOC] = "segment_alloc",
                                                     [SEGMENT_POOL_ID] = "segment_pool_id",
                                                     [SEGMENT_TYPE] = "segment_type",
                                                     [WORD_SIZE] = "size",
                                                     [WORD_STATE] = "state",
                                                     [STREAM] = "stream",
                                                     [TARGET] = "target",
                                                     [TIME] = "time",
                                                     [TIME_US] = "time_us",
                                                     [TITLE] = "title",
                                                     [TOTAL_SIZE] = "total_size",
                                                     [USER_METADATA] = "user_metadata"};

typedef struct pickle {
    spad__out out;
    bool known[WORD_COUNT];
} pickle;

static void put_byte(pickle *p, int byte) {
    const char c = (char)byte;
    spad__out_bytes(&p->out, &c, 1);
}

static void put_little(pickle *p, uint64_t value, int bytes) {
    for (int i = 0; i < bytes; i++) put_byte(p, (int)(value >> (8 * i) & 0xFF));
}

static void put_int(pickle *p, int64_t value) {
    if (value >= INT32_MIN && value <= INT32_MAX) {
        put_byte(p, BININT);
        put_little(p, (uint64_t)value, 4);
    } else {
        put_byte(p, LONG1);
        put_byte(p, 8);
        put_little(p, (uint64_t)value, 8);
    }
}

/* Bytes of the text once what is not UTF-8 has become the replacement character. */
static size_t cleaned_length(const char *text, size_t length) {
    size_t mended = 0;
    for (size_t size; length > 0; text += size, length -= size) {
        size = spad__utf8_length(text, length);
        mended += size > 0 ? size : 3;
        if (size == 0) size = 1;
    }
    return mended;
}

static void put_text(pickle *p, const char *text, size_t length) {
    put_byte(p, BINUNICODE);
    put_little(p, cleaned_length(text, length) & 0xFFFFFFFFu, 4);
    for (size_t size; length > 0; text += size, length -= size) {
        size = spad__utf8_length(text, length);
        if (size > 0)
            spad__out_bytes(&p->out, text, size);
        else
            spad__out_string(&p->out, "\xEF\xBF\xBD");
        if (size == 0) size = 1;
    }
}

static void put_string(pickle *p, const char *text) {
    put_text(p, text, strlen(text));
}

static void pickle_word(pickle *p, word number) {
    if (!p->known[number]) put_string(p, pickle_words[number]);
    put_byte(p, p->known[number] ? BINGET : BINPUT);
    put_byte(p, (int)number);
    p->known[number] = true;
}

static void put_item_int(pickle *p, word key, int64_t value) {
    pickle_word(p, key);
    put_int(p, value);
    put_byte(p, SETITEM);
}

static void put_item_word(pickle *p, word key, word value) {
    pickle_word(p, key);
    pickle_word(p, value);
    put_byte(p, SETITEM);
}

static void put_item_string(pickle *p, word key, const char *value) {
    pickle_word(p, key);
    put_string(p, value);
    put_byte(p, SETITEM);
}

/* ---- where the page sees a box ----------------------------------------------------- */

/* A box of the snapshot. */
typedef struct snapshot_place {
    int64_t layer;
    int64_t lane;
    int64_t byte;
    int64_t begin;
    size_t box;
} snapshot_place;

/* A space as a device of the page. */
typedef struct device {
    const spad__picture *picture;
    const spad__view *view;
    int64_t number;
    int64_t pitch;          /* bytes from lane to lane */
    snapshot_place *places; /* by layer, lane, byte, begin, box */
    size_t count;
} device;

static int compare_places(const void *left, const void *right) {
    const snapshot_place *a = left;
    const snapshot_place *b = right;
    if (a->layer != b->layer) return a->layer < b->layer ? -1 : 1;
    if (a->lane != b->lane) return a->lane < b->lane ? -1 : 1;
    if (a->byte != b->byte) return a->byte < b->byte ? -1 : 1;
    if (a->begin != b->begin) return a->begin < b->begin ? -1 : 1;
    return (a->box > b->box) - (a->box < b->box);
}

static const spad_report_box *placed_box(const device *d, size_t number) {
    return &d->picture->report->boxes.items[d->places[number].box];
}

/* The first layer in which nothing lives at the first byte of the box. */
static void find_layers(device *d) {
    int64_t ends[LAYERS_MOST];
    int64_t used = 0;
    for (size_t i = 0; i < d->count; i++) {
        snapshot_place *here = &d->places[i];
        if (i > 0 && (here->lane != here[-1].lane || here->byte != here[-1].byte)) used = 0;
        int64_t layer = 0;
        while (layer < used && ends[layer] > here->begin && layer < LAYERS_MOST - 1) layer++;
        ends[layer] = placed_box(d, i)->open ? INT64_MAX : placed_box(d, i)->end;
        used = spad__max(used, layer + 1);
        here->layer = layer;
    }
}

static void find_places(device *d) {
    const spad__picture *p = d->picture;
    for (size_t i = 0; i < d->view->facts.boxes; i++) {
        const size_t number = p->order[d->view->first + i];
        const spad_report_box *box = &p->report->boxes.items[number];
        if (!spad__is_drawn(box) || box->rect.bytes == 0) continue;
        d->places[d->count++] =
            (snapshot_place){0, box->rect.lane, box->rect.byte, box->begin, number};
    }
    if (d->count == 0) return;
    qsort(d->places, d->count, sizeof *d->places, compare_places);
    find_layers(d);
    qsort(d->places, d->count, sizeof *d->places, compare_places);
}

/* Address of the segment in which the box is; 0 where it does not fit. */
static int64_t segment_address(const device *d, size_t number) {
    int64_t address;
    if (!spad__mul(d->places[number].layer,
                   d->picture->report->target->spaces[d->view->space].lanes, &address) ||
        !spad__add(address, d->places[number].lane, &address) ||
        !spad__mul(address, d->pitch, &address) || address > INT64_MAX - d->pitch) {
        return 0;
    }
    return address;
}

static int64_t address_of(const device *d, size_t number) {
    int64_t byte; /* of memories with addresses at both ends of 64 bits, half is enough */
    if (!spad__sub(d->places[number].byte, d->view->facts.low, &byte)) return 0;
    return segment_address(d, number) + byte;
}

/* One after the last place of the segment that starts with this one. */
static size_t segment_end(const device *d, size_t first) {
    size_t end = first + 1;
    while (end < d->count && d->places[end].layer == d->places[first].layer &&
           d->places[end].lane == d->places[first].lane) {
        end++;
    }
    return end;
}

/* ---- events ------------------------------------------------------------------------ */

static void put_frame(pickle *p, const spad_report *report, const char *name, int64_t line) {
    pickle_word(p, FRAMES);
    put_byte(p, EMPTY_LIST);
    put_byte(p, EMPTY_DICT);
    put_item_string(p, WORD_NAME, name);
    put_item_string(p, FILENAME, report->file != NULL ? report->file : report->title);
    put_item_int(p, WORD_LINE, line);
    put_byte(p, APPEND);
    put_byte(p, SETITEM);
}

static void put_snapshot_event(pickle *p, word action, int64_t address, int64_t size,
                               int64_t time) {
    put_byte(p, EMPTY_DICT);
    put_item_word(p, ACTION, action);
    put_item_int(p, ADDR, address);
    put_item_int(p, WORD_SIZE, size);
    put_item_int(p, STREAM, 0);
    put_item_int(p, TIME_US, time);
}

/* The place on the chip, which one dimension cannot describe. */
static void put_rectangle(pickle *p, const spad_rect *rect) {
    pickle_word(p, USER_METADATA);
    put_byte(p, EMPTY_DICT);
    put_item_int(p, WORD_LANE, rect->lane);
    put_item_int(p, WORD_LANES, rect->lanes);
    put_item_int(p, WORD_BYTE, rect->byte);
    put_byte(p, SETITEM);
}

static void put_allocation(pickle *p, const device *d, size_t number, bool legend) {
    const spad_report_box *box = placed_box(d, number);
    const char *name = spad__box_label(box);
    put_snapshot_event(p, ALLOC, address_of(d, number), box->rect.bytes, box->begin);
    put_frame(p, d->picture->report, name, box->line);
    put_rectangle(p, &box->rect);
    if (legend) {
        pickle_word(p, CATEGORY);
        put_text(p, name, spad__stem_length(name));
        put_byte(p, SETITEM);
    }
    put_byte(p, APPEND);
}

/* The page makes one event of the two. */
static void put_release(pickle *p, const device *d, size_t number) {
    const spad_report_box *box = placed_box(d, number);
    put_snapshot_event(p, FREE_REQUESTED, address_of(d, number), box->rect.bytes, box->end);
    put_frame(p, d->picture->report, spad__box_label(box), box->line);
    put_byte(p, APPEND);
    put_snapshot_event(p, FREE_COMPLETED, address_of(d, number), box->rect.bytes, box->end);
    put_byte(p, APPEND);
}

static spad_status put_trace(pickle *p, const device *d, bool legend, spad_error *error) {
    const spad_host *host = &d->picture->host;
    spad__moment *edges = spad__new_array(host, d->count, 2 * sizeof *edges);
    if (edges == NULL && d->count > 0) return spad__fail_host_memory(error);
    size_t count = 0;
    for (size_t i = 0; i < d->count; i++) {
        edges[count++] = (spad__moment){d->places[i].begin, i, true};
        if (!placed_box(d, i)->open)
            edges[count++] = (spad__moment){placed_box(d, i)->end, i, false};
    }
    spad__sort_moments(edges, count);
    for (size_t i = 0; i < d->count; i = segment_end(d, i)) {
        put_snapshot_event(p, SEGMENT_ALLOC, segment_address(d, i), d->pitch, edges[0].time);
        put_frame(p, d->picture->report, d->picture->report->target->spaces[d->view->space].name,
                  0);
        put_byte(p, APPEND);
    }
    for (size_t i = 0; i < count; i++) {
        if (edges[i].begins)
            put_allocation(p, d, edges[i].buffer, legend);
        else
            put_release(p, d, edges[i].buffer);
    }
    spad__free(host, edges, 2 * d->count * sizeof *edges);
    return SPAD_OK;
}

/* ---- segments ---------------------------------------------------------------------- */

static void put_hole(pickle *p, int64_t address, int64_t size) {
    put_byte(p, EMPTY_DICT);
    put_item_int(p, ADDRESS, address);
    put_item_int(p, WORD_SIZE, size);
    put_item_int(p, REQUESTED_SIZE, 0);
    put_item_word(p, WORD_STATE, INACTIVE);
    pickle_word(p, FRAMES);
    put_byte(p, EMPTY_LIST);
    put_byte(p, SETITEM);
    put_byte(p, APPEND);
}

static void put_block(pickle *p, const device *d, size_t number) {
    const spad_report_box *box = placed_box(d, number);
    put_byte(p, EMPTY_DICT);
    put_item_int(p, ADDRESS, address_of(d, number));
    put_item_int(p, WORD_SIZE, box->rect.bytes);
    put_item_int(p, REQUESTED_SIZE, box->rect.bytes - box->padding);
    put_item_string(p, WORD_STATE, "active_allocated");
    put_frame(p, d->picture->report, spad__box_label(box), box->line);
    put_rectangle(p, &box->rect);
    put_byte(p, APPEND);
}

/* Blocks stand without holes between them; what is on top of another one is left out. Returns
 * the bytes in use. */
static int64_t put_blocks(pickle *p, const device *d, size_t first, size_t end) {
    const int64_t start = segment_address(d, first);
    int64_t at = start;
    int64_t used = 0;
    for (size_t i = first; i < end; i++) {
        if (!placed_box(d, i)->open || address_of(d, i) < at) continue;
        if (address_of(d, i) > at) put_hole(p, at, address_of(d, i) - at);
        put_block(p, d, i);
        at = address_of(d, i) + placed_box(d, i)->rect.bytes;
        used += placed_box(d, i)->rect.bytes;
    }
    if (at < start + d->pitch) put_hole(p, at, start + d->pitch - at);
    return used;
}

static void put_segment(pickle *p, const device *d, size_t first) {
    const char *name = d->picture->report->target->spaces[d->view->space].name;
    put_byte(p, EMPTY_DICT);
    put_item_int(p, DEVICE, d->number);
    put_item_int(p, ADDRESS, segment_address(d, first));
    put_item_int(p, TOTAL_SIZE, d->pitch);
    put_item_int(p, STREAM, 0);
    put_item_string(p, SEGMENT_TYPE, name);
    pickle_word(p, SEGMENT_POOL_ID);
    put_int(p, 1);
    put_int(p, d->number);
    put_byte(p, TUPLE2);
    put_byte(p, SETITEM);
    put_frame(p, d->picture->report, name, 0);
    pickle_word(p, BLOCKS);
    put_byte(p, EMPTY_LIST);
    const int64_t used = put_blocks(p, d, first, segment_end(d, first));
    put_byte(p, SETITEM);
    put_item_int(p, ALLOCATED_SIZE, used);
    put_item_int(p, ACTIVE_SIZE, used);
    put_byte(p, APPEND);
}

/* ---- the whole --------------------------------------------------------------------- */

/* Are there few enough tensors for a legend? */
static bool has_legend(const spad_report *report) {
    const char *names[LEGEND_MOST];
    size_t count = 0;
    for (size_t i = 0; i < report->boxes.count; i++) {
        const char *name = spad__box_label(&report->boxes.items[i]);
        const size_t length = spad__stem_length(name);
        size_t k = 0;
        while (k < count &&
               (spad__stem_length(names[k]) != length || memcmp(names[k], name, length) != 0)) {
            k++;
        }
        if (k < count) continue;
        if (count == LEGEND_MOST) return false;
        names[count++] = name;
    }
    return true;
}

static void put_settings(pickle *p, const spad__picture *picture) {
    put_string(p, "allocator_settings");
    put_byte(p, EMPTY_DICT);
    put_item_string(p, TITLE, picture->report->title);
    put_item_string(p, TARGET, picture->report->target->name);
    put_item_string(p, TIME, picture->report->time_unit);
    pickle_word(p, DEVICES);
    put_byte(p, EMPTY_LIST);
    for (size_t i = 0; i < picture->view_count; i++) {
        put_string(p, picture->report->target->spaces[picture->views[i].space].name);
        put_byte(p, APPEND);
    }
    put_byte(p, SETITEM);
    put_byte(p, SETITEM);
}

static device device_of(const spad__picture *p, size_t view, snapshot_place *places) {
    const spad_report_space *facts = &p->views[view].facts;
    const int64_t size = p->report->target->spaces[p->views[view].space].bytes;
    int64_t pitch = size != SPAD_UNBOUNDED ? spad__max(size, facts->top) : facts->top;
    if (!spad__sub(pitch, facts->low, &pitch)) pitch = INT64_MAX;
    device d = {.picture = p,
                .view = &p->views[view],
                .number = (int64_t)view,
                .pitch = pitch,
                .places = places + p->views[view].first};
    find_places(&d);
    return d;
}

static spad_status put_snapshot(pickle *p, const spad__picture *picture, snapshot_place *places,
                                spad_error *error) {
    const bool legend = has_legend(picture->report);
    spad_status status = SPAD_OK;
    put_byte(p, PROTO);
    put_byte(p, 4);
    put_byte(p, EMPTY_DICT);
    put_string(p, "segments");
    put_byte(p, EMPTY_LIST);
    for (size_t i = 0; i < picture->view_count; i++) {
        const device d = device_of(picture, i, places);
        for (size_t k = 0; k < d.count; k = segment_end(&d, k)) put_segment(p, &d, k);
    }
    put_byte(p, SETITEM);
    put_string(p, "device_traces");
    put_byte(p, EMPTY_LIST);
    for (size_t i = 0; i < picture->view_count && status == SPAD_OK; i++) {
        const device d = device_of(picture, i, places);
        put_byte(p, EMPTY_LIST);
        status = put_trace(p, &d, legend, error);
        put_byte(p, APPEND);
    }
    put_byte(p, SETITEM);
    put_settings(p, picture);
    put_byte(p, STOP);
    return status;
}

spad_status spad_report_write_snapshot(const spad_report *report, const spad_sink *sink,
                                       spad_error *error) {
    spad__picture picture;
    spad_status status = spad__picture_make(&picture, report, error);
    if (status != SPAD_OK) return status;
    pickle p = {0};
    spad__out_start(&p.out, sink);
    spad__out_limit(&p.out, &picture.limit);
    snapshot_place *places = spad__new_array(&picture.host, picture.count, sizeof *places);
    if (places != NULL || picture.count == 0)
        status = put_snapshot(&p, &picture, places, error);
    else
        status = spad__fail_host_memory(error);
    spad__free(&picture.host, places, picture.count * sizeof *places);
    spad__picture_free(&picture);
    return status == SPAD_OK ? spad__out_finish(&p.out, error) : status;
}
