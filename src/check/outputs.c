/* SPDX-License-Identifier: Apache-2.0
 *
 * Tracks which parts of outputs are written: a mark per tile, and a map of bytes (last_writers.h)
 * for each tile that is written in parts. A write counts for the tile that it names; if an output
 * is never written under its own name, it shows what other names of its storage write to
 * that tile. What is written over later is another matter: see lifetimes.c. Tensors that
 * are also input, or are in the bytes of one, have something in them before the start.
 * O(1) for a whole tile.
 *
 * A large trip count is not run. A smaller one represents it if nothing can change any
 * more when the count grows: see `is_settled`.
 */
#include "check/outputs.h"

#include <stdio.h>

#include "base/checked.h"
#include "check/last_writers.h"
#include "check/live_ranges.h"
#include "kernel/walk/walk.h"

/* Tiles of an output that are distinguished. */
enum { TILES_MAX = 1 << 24 };

/* Marks of a tile; numbers above 0 are maps + 1. */
enum { NOTHING = 0, WHOLE = -1 };

typedef struct output {
    bool is_checked;
    bool view;
    int32_t first_view; /* of a home: an output that shows what other names of it write; -1: none */
    int32_t next_view;  /* of such an output: the next one of its home; -1: none */
    int32_t *marks;     /* per tile */
} output;

struct spad__outputs {
    spad_host host;
    const spad_kernel *kernel;
    output *items; /* per tensor */
    SPAD_ARRAY(spad__bytemap) maps;
    spad__writer_row rows[2]; /* not written, written */
    spad__writers writers;
};

/* ---- which of them ----------------------------------------------------------------- */

/* Accesses in the text to a tensor, or to any name of a storage. */
typedef struct output_use {
    bool used;
    bool written;
    bool given;
} output_use;

static output_use output_use_of(const spad_kernel *k, int64_t tensor, bool any_name) {
    output_use u = {false, false, false};
    const int64_t home = k->tensors.items[tensor].home;
    for (size_t i = 0; i < k->accesses.count; i++) {
        const spad_kernel_access *access = &k->accesses.items[i];
        if (any_name ? k->tensors.items[access->tensor].home != home : access->tensor != tensor) {
            continue;
        }
        u.used = true;
        u.written = u.written || (access->kind & SPAD_ACCESS_WRITE) != 0;
    }
    for (size_t i = 0; i < k->tensors.count; i++) {
        const spad_kernel_tensor *t = &k->tensors.items[i];
        const bool same = any_name ? t->home == home : (int64_t)i == tensor;
        u.given = u.given || (same && (t->flags & SPAD_TENSOR_INPUT) != 0);
    }
    return u;
}

/* Outputs of the whole kernel that are used and were not filled before. */
static output classify_output(const spad_kernel *k, int64_t tensor) {
    const spad_kernel_tensor *t = &k->tensors.items[tensor];
    const spad_mode mode = k->tensors.items[t->home].mode;
    output none = {.is_checked = false};
    if ((t->flags & SPAD_TENSOR_OUTPUT) == 0 || t->tiles > TILES_MAX) return none;
    if (k->statements.items[t->statement].loop >= 0) return none;
    if (mode == SPAD_MODE_STACK || mode == SPAD_MODE_HEAP) return none;
    const output_use own = output_use_of(k, tensor, false);
    const output_use all = output_use_of(k, tensor, true);
    if (!all.used || all.given) return none;
    return (output){.is_checked = true, .view = !own.written && all.written};
}

/* Views by their homes, in the order of the text. */
static void list_views(spad__outputs *o) {
    const size_t count = o->kernel->tensors.count;
    for (size_t i = 0; i < count; i++) o->items[i].first_view = o->items[i].next_view = -1;
    for (size_t i = count; i-- > 0;) {
        output *home = &o->items[o->kernel->tensors.items[i].home];
        if (!o->items[i].view) continue;
        o->items[i].next_view = home->first_view;
        home->first_view = (int32_t)i;
    }
}

spad_status spad__outputs_create(spad__outputs **out, const spad_kernel *kernel,
                                 const spad_host *host, spad_error *error) {
    *out = NULL;
    bool any = false;
    for (size_t i = 0; i < kernel->tensors.count; i++) {
        any = any || classify_output(kernel, (int64_t)i).is_checked;
    }
    if (!any) return SPAD_OK;
    spad__outputs *o = spad__new(host, sizeof *o);
    if (o == NULL) return spad__fail_host_memory(error);
    o->host = *host;
    o->kernel = kernel;
    o->writers.rows = o->rows;
    o->items = spad__new_array(host, kernel->tensors.count, sizeof *o->items);
    bool done = o->items != NULL;
    for (size_t i = 0; done && i < kernel->tensors.count; i++) {
        o->items[i] = classify_output(kernel, (int64_t)i);
        if (!o->items[i].is_checked) continue;
        const size_t tiles = (size_t)kernel->tensors.items[i].tiles;
        o->items[i].marks = spad__new_array(host, tiles + 1, sizeof(int32_t));
        done = o->items[i].marks != NULL;
    }
    if (!done) {
        spad__outputs_destroy(o);
        return spad__fail_host_memory(error);
    }
    list_views(o);
    *out = o;
    return SPAD_OK;
}

void spad__outputs_destroy(spad__outputs *o) {
    if (o == NULL) return;
    const spad_host host = o->host;
    const size_t count = o->kernel->tensors.count;
    for (size_t i = 0; o->items != NULL && i < count; i++) {
        const size_t tiles = (size_t)o->kernel->tensors.items[i].tiles;
        spad__free(&host, o->items[i].marks, (tiles + 1) * sizeof(int32_t));
    }
    for (size_t i = 0; i < o->maps.count; i++) spad__bytemap_free(&o->maps.items[i], &host);
    spad__array_free(&host, &o->maps);
    spad__free(&host, o->items, count * sizeof *o->items);
    spad__free(&host, o, sizeof *o);
}

/* ---- writes ------------------------------------------------------------------------ */

/* The map of a tile; NULL: no memory. */
static spad__bytemap *output_map(spad__outputs *o, int32_t *mark, spad_rect rect) {
    if (*mark > 0) return &o->maps.items[*mark - 1];
    if (o->maps.count >= INT32_MAX - 1 || !spad__array_reserve(&o->host, &o->maps, 1)) return NULL;
    spad__bytemap *map = &o->maps.items[o->maps.count];
    *map = (spad__bytemap){0};
    if (!spad__bytemap_init(map, &o->host, rect.lane, rect.lane + rect.lanes, rect.byte,
                            rect.byte + rect.bytes)) {
        return NULL;
    }
    *mark = (int32_t)++o->maps.count;
    return map;
}

static spad_rect overlap(spad_rect a, spad_rect b) {
    const int64_t lane = spad__max(a.lane, b.lane);
    const int64_t byte = spad__max(a.byte, b.byte);
    return (spad_rect){.lane = lane,
                       .byte = byte,
                       .lanes = spad__min(a.lane + a.lanes, b.lane + b.lanes) - lane,
                       .bytes = spad__min(a.byte + a.bytes, b.byte + b.bytes) - byte};
}

static bool covers_rect(spad_rect a, spad_rect b) {
    return a.lane <= b.lane && a.lane + a.lanes >= b.lane + b.lanes && a.byte <= b.byte &&
           a.byte + a.bytes >= b.byte + b.bytes;
}

/* Effect of a write on a tile. */
static bool mark_tile(spad__outputs *o, int32_t *mark, spad_rect tile,
                      const spad_walk_access *access) {
    if (*mark == WHOLE) return true;
    if (covers_rect(access->rect, tile)) {
        *mark = WHOLE;
        return true;
    }
    for (int64_t run = 0; run < access->runs; run++) {
        spad_rect piece = access->rect;
        piece.byte += run * access->stride;
        piece = overlap(piece, tile);
        if (piece.lanes <= 0 || piece.bytes <= 0) continue;
        spad__bytemap *map = output_map(o, mark, tile);
        spad__spot hint = {0, 0};
        if (map == NULL ||
            !spad__bytemap_write(map, &o->host, &o->writers, piece, 1, 0, 1, &hint)) {
            return false;
        }
    }
    return true;
}

static int64_t tile_of_home(const spad_kernel_tensor *tensor, int64_t tile) {
    return tensor->mode == SPAD_MODE_ALIAS && tensor->home_tile >= 0 ? tensor->home_tile : tile;
}

/* The tiles of a view that are in the tile of the home that is written. */
static bool mark_view(spad__outputs *o, int64_t view, const spad_walk *walk,
                      const spad_walk_access *access) {
    const spad_kernel_tensor *row = &o->kernel->tensors.items[view];
    const int64_t written = tile_of_home(&o->kernel->tensors.items[access->tensor], access->tile);
    const bool one = row->mode != SPAD_MODE_ALIAS || row->home_tile < 0;
    const int64_t first = one ? written : 0;
    const int64_t end = one ? spad__min(written + 1, row->tiles) : row->tiles;
    for (int64_t tile = first; tile < end; tile++) {
        if (tile_of_home(row, tile) != written) continue;
        spad_walk_access whole;
        spad__walk_tile_access(walk, view, tile, &whole);
        if (!mark_tile(o, &o->items[view].marks[tile], whole.tile_rect, access)) return false;
    }
    return true;
}

static bool mark_write(spad__outputs *o, const spad_walk *walk, const spad_walk_access *access) {
    output *own = &o->items[access->tensor];
    if (own->is_checked && !mark_tile(o, &own->marks[access->tile], access->tile_rect, access)) {
        return false;
    }
    for (int32_t i = o->items[access->home].first_view; i >= 0; i = o->items[i].next_view) {
        if (!mark_view(o, i, walk, access)) return false;
    }
    return true;
}

spad_status spad__outputs_operation(spad__outputs *o, const spad_walk *walk,
                                    const spad_walk_event *event, spad_error *error) {
    for (size_t i = 0; i < event->access_count; i++) {
        const spad_walk_access *access = &event->accesses[i];
        if ((access->kind & SPAD_ACCESS_WRITE) == 0) continue;
        if (!mark_write(o, walk, access)) return spad__fail_host_memory(error);
    }
    return SPAD_OK;
}

/* ---- missing parts ----------------------------------------------------------------- */

/* The first bytes of a tile that were never written; false: there are none. Counted from its start.
 */
static bool find_gap(const spad__bytemap *map, spad_rect *gap) {
    spad__bytemap view = *map; /* looking changes nothing */
    const int64_t lane = map->bands.items[0].lane;
    const int64_t byte = map->bands.items[0].chunks.items[0].pieces.items[0].byte;
    const spad_rect all = {
        .lane = lane, .byte = byte, .lanes = map->lane_end - lane, .bytes = map->byte_end - byte};
    spad__spot hint = {0, 0};
    spad__byte_cursor look = spad__bytemap_read(&view, all, 1, 0, &hint);
    spad__writer writer;
    while (spad__bytemap_next(&look, gap, &writer)) {
        if (writer != 0) continue;
        gap->lane -= lane;
        gap->byte -= byte;
        return true;
    }
    return false;
}

/* Tiles that lack something, and the first of them. */
typedef struct lack {
    int64_t tiles;
    int64_t first;
    bool part; /* the first is written in parts: `gap` is missing */
    spad_rect gap;
} lack;

static lack lack_of(const spad__outputs *o, size_t tensor, spad__run *run) {
    enum { TILES_A_LOOK = 1 << 16 }; /* at the clock */
    lack l = {.tiles = 0};
    for (int64_t tile = 0; tile < o->kernel->tensors.items[tensor].tiles; tile++) {
        if (tile % TILES_A_LOOK == TILES_A_LOOK - 1 && spad__is_late(run)) {
            run->gap = spad__time_is_up;
            break;
        }
        const int32_t mark = o->items[tensor].marks[tile];
        spad_rect gap = {0};
        if (mark == WHOLE || (mark > 0 && !find_gap(&o->maps.items[mark - 1], &gap))) continue;
        if (l.tiles++ > 0) continue;
        l.first = tile;
        l.part = mark > 0;
        l.gap = gap;
    }
    return l;
}

/* "'out[3]'", or "bytes [0, 64) of lanes [32, 64) of 'out[3]'" */
static void describe_first(const spad_kernel *k, int64_t tensor, const lack *l, char *field,
                           size_t size) {
    char tile[SPAD__TILE_TEXT_MAX];
    char lanes[96] = "";
    spad__tile_text(k, tensor, l->first, tile, sizeof tile);
    if (!l->part) {
        snprintf(field, size, "%s", tile);
        return;
    }
    if (k->target->spaces[k->tensors.items[tensor].space].lanes > 1) {
        snprintf(lanes, sizeof lanes, " of lanes [%lld, %lld)", (long long)l->gap.lane,
                 (long long)(l->gap.lane + l->gap.lanes));
    }
    snprintf(field, size, "bytes [%s, %s)%s of %s", spad__grouped(l->gap.byte).text,
             spad__grouped(l->gap.byte + l->gap.bytes).text, lanes, tile);
}

static spad_status report_lack(const spad_kernel *k, int64_t tensor, const lack *l, spad__run *run,
                               spad_error *error) {
    const spad_kernel_tensor *row = &k->tensors.items[tensor];
    char first[SPAD__TILE_TEXT_MAX + 288];
    char more[192] = "";
    spad_finding finding;
    describe_first(k, tensor, l, first, sizeof first);
    if (l->tiles > 1) {
        snprintf(more, sizeof more, ", and %s more of its %s tiles are incomplete",
                 spad__grouped(l->tiles - 1).text, spad__grouped(row->tiles).text);
    }
    spad__finding_init(
        &finding, SPAD_FINDING_UNWRITTEN_OUTPUT,
        "'%s' is an output, and nothing writes %s%s%s; write all of it, or declare less", row->name,
        first, more, run->shape);
    return spad__add_about(run, &finding, tensor, error);
}

spad_status spad__outputs_report(const spad__outputs *o, spad__run *run, spad_error *error) {
    spad_status status = SPAD_OK;
    for (size_t i = 0; i < o->kernel->tensors.count && status == SPAD_OK; i++) {
        if (!o->items[i].is_checked) continue;
        const lack l = lack_of(o, i, run);
        if (l.tiles > 0) status = report_lack(o->kernel, (int64_t)i, &l, run, error);
    }
    return status;
}

/* ---- larger trip counts ------------------------------------------------------------ */

/* One output while one trip count grows by its step: by how many tiles it grows along one of its
 * dimensions, how far writes in growing loops move with a period, and where other writes are. */
typedef struct drift {
    size_t dim;
    int64_t size; /* tiles along that dimension */
    int64_t grows;
    int64_t shift; /* 0: no write moves */
    int64_t early; /* tiles up to here belong to the beginning */
    int64_t late;  /* and from here on to the end */
    int64_t top;   /* the last tile of all but writes that count from the end */
    int64_t tail;  /* and the first of those */
} drift;

typedef struct settle_case {
    const spad_kernel *kernel;
    const spad__induction *induction;
    const spad__window *windows;
    int64_t tensor;
} settle_case;

/* By how much an expression of a statement moves with the parameter, and with its growing loop. */
static bool shifts_of(const settle_case *s, size_t statement, spad_expr expr, int64_t *with_param,
                      int64_t *with_loop) {
    const int64_t loop = s->induction->inside[statement];
    *with_loop = 0;
    return spad__induction_shift(s->induction, s->kernel, expr, true, -1, with_param) &&
           (loop < 0 ||
            spad__induction_shift(s->induction, s->kernel, expr, false, loop, with_loop));
}

/* The dimension along which the output grows or is written further on; false: several. Parts of
 * tiles stay where they are: a parameter that moves the range of an access does not count as a trip
 * count. */
static bool find_dim(const settle_case *s, drift *d) {
    const spad_kernel *k = s->kernel;
    const spad_kernel_tensor *t = &k->tensors.items[s->tensor];
    bool along[SPAD_RANK_MAX] = {false};
    int64_t grows[SPAD_RANK_MAX] = {0};
    for (size_t i = 0; i < t->blocks.count; i++) {
        const spad_expr size = t->blocks.items[i].expr;
        if (!spad__induction_shift(s->induction, k, size, true, -1, &grows[i])) return false;
        along[i] = grows[i] != 0;
    }
    for (size_t n = 0; n < k->statements.count; n++) {
        const spad_statement *st = &k->statements.items[n];
        for (size_t a = st->first_access; a < st->first_access + st->access_count; a++) {
            const spad_kernel_access *access = &k->accesses.items[a];
            if (access->tensor != s->tensor || (access->kind & SPAD_ACCESS_WRITE) == 0) continue;
            int64_t param;
            int64_t loop;
            for (size_t i = 0; i < access->index_count; i++) {
                if (!shifts_of(s, n, access->index[i], &param, &loop)) return false;
                along[i] = along[i] || param != 0 || loop != 0;
            }
        }
    }
    size_t found = 0;
    for (size_t i = 0; i < t->blocks.count; i++) {
        if (along[i]) d->dim = i;
        found += along[i];
    }
    d->grows = grows[d->dim];
    d->size = t->blocks.count > 0 ? t->blocks.items[d->dim].value : 0;
    return found <= 1;
}

/* A write that is at the same tiles whatever the trip count is. */
static void add_fixed(drift *d, int64_t most) {
    d->early = spad__max(d->early, most);
    d->top = spad__max(d->top, most);
}

/* A write in a growing loop. From iteration `steady` on and in front of `fixed` it can be repeated.
 * A tile is of the beginning if iterations before that can reach it, and of the end if those after
 * it can. */
static bool add_inside(const settle_case *s, drift *d, int64_t loop, spad_expr_info index,
                       int64_t shift) {
    const spad_kernel_loop *row = &s->kernel->loops.items[loop];
    const int64_t period = s->induction->extra[loop];
    const int64_t iterations = row->end.value - row->begin.value;
    const int64_t steady = s->windows[loop].steady;
    const int64_t fixed = spad__min(s->windows[loop].fixed, iterations);
    if (shift < 0 || fixed - steady < period) return false;
    if (shift == 0) {
        add_fixed(d, index.most);
        return true;
    }
    if (d->shift != 0 && d->shift != shift) return false;
    d->shift = shift;
    /* iteration i writes between least + shift x (i / period) and reach + shift x (i / period) */
    int64_t last, reach, begins, ends;
    if (!spad__mul(shift, (iterations - 1) / period, &last) ||
        !spad__sub(index.most, last, &reach) || !spad__add(reach, shift, &reach) ||
        !spad__mul(shift, steady / period, &begins) || !spad__add(begins, reach, &begins) ||
        !spad__mul(shift, fixed / period, &ends) || !spad__add(ends, index.least, &ends)) {
        return false;
    }
    d->early = spad__max(d->early, begins);
    d->late = spad__min(d->late, ends);
    d->top = spad__max(d->top, index.most);
    return true;
}

static bool add_outside(drift *d, spad_expr_info index, int64_t shift) {
    if (shift == 0) {
        add_fixed(d, index.most);
        return true;
    }
    d->late = spad__min(d->late, index.least);
    d->tail = spad__min(d->tail, index.least);
    return shift == d->grows;
}

static bool add_writes(const settle_case *s, drift *d) {
    const spad_kernel *k = s->kernel;
    for (size_t n = 0; n < k->statements.count; n++) {
        const spad_statement *st = &k->statements.items[n];
        for (size_t a = st->first_access; a < st->first_access + st->access_count; a++) {
            const spad_kernel_access *access = &k->accesses.items[a];
            if (access->tensor != s->tensor || (access->kind & SPAD_ACCESS_WRITE) == 0) continue;
            const spad_expr expr = access->index_count > 0 ? access->index[d->dim] : 0;
            const spad_expr_info index = spad_kernel_get_expr(k, expr); /* zero where none exists */
            const int64_t loop = s->induction->inside[n];
            int64_t param;
            int64_t shift;
            if (!shifts_of(s, n, expr, &param, &shift)) return false;
            if (loop >= 0 ? param != 0 || !add_inside(s, d, loop, index, shift)
                          : !add_outside(d, index, param)) {
                return false;
            }
        }
    }
    return true;
}

/* With one more step the same iterations and one period more are run. Tiles in front of `late`
 * are written if they are written now: what reaches them has not changed. Tiles after
 * `early` + shift are written if those that are one shift before them are now. With early + shift <
 * late that is every tile, and it stays so when the count grows. If the output grows faster than
 * writes move on, a tile between `top` and `tail` is missing now and later. */
static bool is_settled(const settle_case *s) {
    drift d = {.early = -1, .late = INT64_MAX, .top = -1, .tail = INT64_MAX};
    if (!find_dim(s, &d) || !add_writes(s, &d)) return false;
    if (d.grows > d.shift) return d.top + 1 < spad__min(d.tail, d.size);
    if (d.grows == 0 && d.shift == 0) return true;
    return d.grows == d.shift && d.early < d.late && d.late - d.early > d.shift;
}

/* Does the value of an expression change with this trip count, in any loop? */
static bool is_moved(const spad_kernel *kernel, const spad__induction *g, spad_expr expr) {
    int64_t shift;
    if (!spad__induction_shift(g, kernel, expr, true, -1, &shift) || shift != 0) return true;
    for (size_t l = 0; l < kernel->loops.count; l++) {
        if (g->extra[l] == 0) continue;
        if (!spad__induction_shift(g, kernel, expr, false, (int64_t)l, &shift) || shift != 0) {
            return true;
        }
    }
    return false;
}

/* At most one trip count moves it. */
static bool is_apart(const spad_kernel *kernel, const spad__induction *const *growths, size_t count,
                     spad_expr left, spad_expr right) {
    size_t moved = 0;
    for (size_t i = 0; i < count; i++) {
        moved += is_moved(kernel, growths[i], left) || is_moved(kernel, growths[i], right);
    }
    return moved <= 1;
}

/* Several trip counts: each can be examined alone, whatever the others are. */
static bool are_apart(const spad_kernel *k, const spad__induction *const *growths, size_t count) {
    for (size_t l = 0; l < k->loops.count; l++) {
        if (!is_apart(k, growths, count, k->loops.items[l].end.expr, 0)) return false;
    }
    for (size_t n = 0; n < k->statements.count; n++) {
        const spad_statement *s = &k->statements.items[n];
        for (size_t c = 0; c < s->comparison_count; c++) {
            const spad_comparison *both = &s->comparisons[c];
            if (!is_apart(k, growths, count, both->left, both->right)) return false;
        }
    }
    for (size_t a = 0; a < k->accesses.count; a++) {
        const spad_kernel_access *access = &k->accesses.items[a];
        const spad_kernel_tensor *t = &k->tensors.items[access->tensor];
        if ((t->flags & SPAD_TENSOR_OUTPUT) == 0) continue;
        for (size_t i = 0; i < access->index_count; i++) {
            if (!is_apart(k, growths, count, access->index[i], t->blocks.items[i].expr)) {
                return false;
            }
        }
    }
    return true;
}

/* Other names may write it. */
static bool has_other_names(const spad_kernel *k, int64_t tensor) {
    const int64_t home = k->tensors.items[tensor].home;
    for (size_t i = 0; i < k->tensors.count; i++) {
        if ((int64_t)i != tensor && k->tensors.items[i].home == home) return true;
    }
    return false;
}

/* Has an output more tiles than there are writes of it, in all iterations of the loops around them?
 * An access writes one tile at most. */
static bool lacks_writes(const spad_kernel *k, int64_t tensor) {
    int64_t writes = 0;
    for (size_t n = 0; n < k->statements.count; n++) {
        const spad_statement *st = &k->statements.items[n];
        for (size_t a = st->first_access; a < st->first_access + st->access_count; a++) {
            int64_t times = 1;
            const spad_kernel_access *access = &k->accesses.items[a];
            if (access->tensor != tensor || (access->kind & SPAD_ACCESS_WRITE) == 0) continue;
            for (int64_t l = st->loop; l >= 0; l = k->loops.items[l].outer) {
                const spad_kernel_loop *loop = &k->loops.items[l];
                if (!spad__mul(times, loop->end.value - loop->begin.value, &times)) return false;
            }
            if (!spad__add(writes, times, &writes)) return false;
        }
    }
    return writes < k->tensors.items[tensor].tiles;
}

bool spad__outputs_settled(const spad_kernel *kernel, const spad_kernel *given,
                           const spad__induction *const *growths, spad__window *const *windows,
                           size_t count) {
    if (count > 1 && !are_apart(kernel, growths, count)) return false;
    for (size_t i = 0; i < kernel->tensors.count; i++) {
        if (!classify_output(kernel, (int64_t)i).is_checked) continue;
        if (has_other_names(kernel, (int64_t)i)) return false;
        if (lacks_writes(kernel, (int64_t)i) && lacks_writes(given, (int64_t)i)) continue;
        for (size_t g = 0; g < count; g++) {
            const settle_case s = {kernel, growths[g], windows[g], (int64_t)i};
            if (!is_settled(&s)) return false;
        }
    }
    return true;
}
