/* SPDX-License-Identifier: Apache-2.0
 *
 * The lifetime check against a slow model: one record per byte of every lane, compared byte
 * by byte. Random kernels with tiles that overlap, rings, aliases, parts, lives and frees, and
 * parallel loops whose iterations depend on each other; the walk (which has a model of its own)
 * says what is touched, the model says what is wrong.
 */
#include "base/error.h"
#include "kernel/kernel.h"
#include "support/places.h"
#include "support/support.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/random.h"
#include "kernel/walk/walk.h"
#include "spad/check.h"

enum {
    KERNELS = 4000,
    TENSORS_MAX = 8,
    TILES_MAX = 8,
    LANES = 128,
    BYTES = 128,
    AREAS = 1 + TENSORS_MAX * TILES_MAX, /* the space, and a slot of every tensor */
    WRITES_MAX = 4096,
    FOUND_MAX = 512,
    LOOPS_MAX = 16,
    ROWS_MAX = 512,
    TOUCHES_MAX = 8192,
    TEXT_MAX = 8192
};

/* ---- random kernels ---------------------------------------------------------------- */

typedef struct maker {
    spad__random random;
    char text[TEXT_MAX];
    size_t used;
    int tensors;
    int64_t blocks[TENSORS_MAX];
    int64_t dims[TENSORS_MAX][3]; /* lanes, rows, bytes; lanes 0: a space without */
    bool is_alias[TENSORS_MAX];
    int loops;
    int operations;
} maker;

static int64_t pick(maker *m, int64_t low, int64_t high) {
    return spad__random_in(&m->random, low, high);
}

SPAD_PRINTF(2, 3) static void put(maker *m, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    const int count = vsnprintf(m->text + m->used, TEXT_MAX - m->used, format, arguments);
    va_end(arguments);
    assert_true(count >= 0 && m->used + (size_t)count < TEXT_MAX);
    m->used += (size_t)count;
}

static void make_tensor(maker *m, bool lanes, int indent) {
    const int t = m->tensors++;
    const int64_t blocks = m->blocks[t] = pick(m, 1, 4);
    int64_t *dims = m->dims[t];
    int other = -1;
    dims[0] = lanes ? pick(m, 1, 4) : 0;
    dims[1] = pick(m, 1, 3);
    dims[2] = pick(m, 1, 4);
    const int64_t mode = pick(m, 0, 6);
    if (mode >= 5 && t > 0) other = indent == 0 ? (int)pick(m, 0, t - 1) : t - 1;
    if (other >= 0) { /* tile by tile in another one: the same shape fits */
        m->is_alias[t] = true;
        m->blocks[t] = m->blocks[other];
        memcpy(dims, m->dims[other], sizeof m->dims[other]);
    }
    put(m, "%*stensor t%d : %s u8 [%lld] (", indent, "", t, lanes ? "sbuf" : "shared",
        (long long)m->blocks[t]);
    if (lanes) put(m, "%lld, ", (long long)dims[0]);
    put(m, "%lld, %lld)", (long long)dims[1], (long long)dims[2]);
    if (other >= 0) {
        put(m, " alias of t%d", other);
    } else if (mode == 0) {
        put(m, " ring %lld", (long long)pick(m, 1, blocks));
    } else if (mode == 1) {
        put(m, " mod base %lld free %lld", (long long)pick(m, 0, 20), (long long)pick(m, 1, 4));
    } else if (mode < 4) {
        put(m, " at %lld step %lld", (long long)pick(m, 0, 20), (long long)pick(m, 1, 12));
    }
    if (indent == 0 && (other < 0 || pick(m, 0, 2) == 0)) {
        static const char *const flags[] = {" input", " output", " persistent", "", "", "", ""};
        put(m, "%s", flags[pick(m, 0, 6)]);
    }
    put(m, "\n");
}

/* An index that never leaves: an affine function modulo the extent. */
static void put_index(maker *m, int64_t extent) {
    put(m, "(%lld", (long long)pick(m, 0, 3));
    for (int l = 0; l < m->loops; l++) put(m, " + %lld * i%d", (long long)pick(m, 0, 2), l);
    put(m, ") %% %lld", (long long)extent);
}

static void put_part(maker *m, int t) {
    const int first = m->dims[t][0] > 0 ? 0 : 1;
    put(m, "(");
    const int cut = (int)pick(m, first, 2); /* dims outside of it are whole: evenly spaced */
    for (int d = first; d < 3; d++) {
        const int64_t extent = m->dims[t][d];
        if (d > first) put(m, ", ");
        if (d == cut || (d == 0 && pick(m, 0, 1) == 0)) {
            const int64_t from = pick(m, 0, extent - 1);
            put(m, "%lld..%lld", (long long)from, (long long)pick(m, from + 1, extent));
        } else {
            put(m, "..");
        }
    }
    put(m, ")");
}

static void put_access(maker *m, const char *word, bool more) {
    const int t = (int)pick(m, 0, m->tensors - 1);
    put(m, "%s t%d[", more ? "," : word, t);
    put_index(m, m->blocks[t]);
    put(m, "]");
    if (pick(m, 0, 2) == 0) put_part(m, t);
}

static void put_operation(maker *m, bool lanes, int indent) {
    put(m, "%*s%s o%d", indent, "", lanes ? "dma" : "simt", m->operations++);
    const int64_t kind = pick(m, 0, 5);
    if (kind != 1) {
        put_access(m, " reads", false);
        if (pick(m, 0, 2) == 0) put_access(m, " reads", true);
    }
    if (kind != 2) {
        put_access(m, " writes", false);
        if (pick(m, 0, 2) == 0) put_access(m, " writes", true);
    }
    if (kind == 3) put_access(m, " updates", false);
    put(m, "\n");
}

static void put_free(maker *m, int indent) {
    const int t = (int)pick(m, 0, m->tensors - 1);
    if (m->is_alias[t]) return; /* its storage is another one's */
    put(m, "%*s%s t%d[", indent, "", pick(m, 0, 2) == 0 ? "alloc" : "free", t);
    put_index(m, m->blocks[t]);
    put(m, "]\n");
}

static void make_kernel(maker *m, uint64_t seed) {
    memset(m, 0, sizeof *m);
    m->random.state = seed;
    const bool lanes = pick(m, 0, 1) == 0;
    const bool frees = pick(m, 0, 5) == 0;
    put(m, "kernel r on %s\n", lanes ? "trn2" : "sm_80");
    const int64_t tensors = pick(m, 1, 4);
    for (int64_t i = 0; i < tensors; i++) make_tensor(m, lanes, 0);
    const int64_t pieces = pick(m, 1, 3);
    for (int64_t p = 0; p < pieces; p++) {
        const int outer = m->tensors;
        const int64_t depth = pick(m, 0, 2);
        for (int64_t d = 0; d < depth; d++) {
            put(m, "%*sfor i%d in 0..%lld %s{\n", (int)d * 2, "", m->loops++,
                (long long)pick(m, 0, 4), pick(m, 0, 2) == 0 ? "parallel " : "");
        }
        const int indent = (int)depth * 2;
        while (depth > 0 && m->tensors < outer + 2 && pick(m, 0, 2) == 0) {
            make_tensor(m, lanes, indent);
        }
        const int64_t count = pick(m, 1, 4);
        for (int64_t i = 0; i < count; i++) {
            if (frees && pick(m, 0, 3) == 0) put_free(m, indent);
            put_operation(m, lanes, indent);
        }
        for (int64_t d = depth; d-- > 0;) put(m, "%*s}\n", (int)d * 2, "");
        m->loops = 0;
        /* what was declared in a loop cannot be named after it, but keeps its number */
        for (int t = outer; t < m->tensors; t++) m->blocks[t] = 0;
        if (m->tensors > outer) { /* names are used once: stop here */
            m->tensors = outer;
            break;
        }
    }
}

/* ---- the model --------------------------------------------------------------------- */

typedef struct model_write {
    int64_t tensor;
    int64_t tile;
    int64_t life;
    int64_t home_tile;
    int64_t home_life;
    int64_t statement;
    int64_t birth; /* of the tile: how often it was allocated before */
    bool given;    /* before the start */
    bool read;
    size_t row;                /* of the access in the text */
    int64_t values[LOOPS_MAX]; /* of all loops */
} model_write;

typedef struct model_found {
    int code;
    int64_t statement;
    int64_t other;
} model_found;

/* An access in an iteration of a parallel loop. */
typedef struct model_touch {
    int64_t loop;
    int64_t run; /* of the loop */
    int64_t iteration;
    int64_t statement;
    spad_walk_access access;
} model_touch;

typedef struct model {
    const spad_kernel *kernel;
    model_touch *touches;
    size_t touch_count;
    int64_t loop_runs[LOOPS_MAX];
    int64_t loop_values[LOOPS_MAX];
    bool loop_open[LOOPS_MAX];
    int (*last)[LANES][BYTES]; /* per area; 0: no one */
    model_write writes[WRITES_MAX];
    bool carries[ROWS_MAX]; /* per access of the text: a later iteration read what it wrote */
    int write_count;
    bool is_written[TENSORS_MAX]; /* somewhere in the text, or before the start */
    bool family_written[TENSORS_MAX];
    bool family_read[TENSORS_MAX];
    bool family_given[TENSORS_MAX];
    bool has_alloc[TENSORS_MAX];
    bool has_tiles[TENSORS_MAX]; /* alloc or free */
    bool dead[TENSORS_MAX][TILES_MAX];
    int64_t births[TENSORS_MAX][TILES_MAX];
    bool wrong[TENSORS_MAX];
    int64_t lives[TENSORS_MAX];
    bool output_written[TENSORS_MAX][TILES_MAX];
    spad_walk_access outputs[TENSORS_MAX][TILES_MAX];
    bool output_bytes[TENSORS_MAX][TILES_MAX][LANES][BYTES]; /* written, from the tile's start */
    model_found found[FOUND_MAX];
    int found_count;
} model;

static const spad_kernel_tensor *tensor_of(const model *m, int64_t number) {
    return spad_kernel_get_tensor(m->kernel, (size_t)number);
}

static void add_found(model *m, int code, int64_t statement, int64_t other) {
    for (int i = 0; i < m->found_count; i++) {
        const model_found *f = &m->found[i];
        if (f->code == code && f->statement == statement && f->other == other) return;
    }
    assert_true(m->found_count < FOUND_MAX);
    m->found[m->found_count++] = (model_found){code, statement, other};
}

static void read_text(model *m) {
    for (size_t i = 0; i < spad__kernel_access_count(m->kernel); i++) {
        const spad_kernel_access *access = spad_kernel_get_access(m->kernel, i);
        const int64_t home = tensor_of(m, access->tensor)->home;
        if ((access->kind & SPAD_ACCESS_WRITE) != 0) {
            m->is_written[access->tensor] = m->family_written[home] = true;
        }
        if ((access->kind & SPAD_ACCESS_READ) != 0) m->family_read[home] = true;
    }
    for (size_t i = 0; i < spad_kernel_tensor_count(m->kernel); i++) {
        const spad_kernel_tensor *tensor = tensor_of(m, (int64_t)i);
        if ((tensor->flags & SPAD_TENSOR_INPUT) == 0) continue;
        m->is_written[i] = m->family_given[tensor->home] = true;
    }
    for (size_t i = 0; i < spad_kernel_statement_count(m->kernel); i++) {
        const spad_statement *s = spad_kernel_get_statement(m->kernel, i);
        if (s->kind == SPAD_STATEMENT_ALLOC) m->has_alloc[s->item] = true;
        if (s->kind == SPAD_STATEMENT_ALLOC || s->kind == SPAD_STATEMENT_FREE) {
            m->has_tiles[s->item] = true;
        }
    }
}

static int *byte_of(model *m, const spad_walk_access *access, int64_t lane, int64_t byte) {
    const int64_t area = access->placed ? 0 : 1 + access->home * TILES_MAX + access->slot;
    assert_true(area < AREAS && lane >= 0 && lane < LANES && byte >= 0 && byte < BYTES);
    return &m->last[area][lane][byte];
}

static int64_t home_tile(const spad_kernel_tensor *tensor, int64_t tile) {
    return tensor->home_tile >= 0 && tensor->mode == SPAD_MODE_ALIAS ? tensor->home_tile : tile;
}

static int64_t life_of(const model *m, int64_t tensor) {
    return m->lives[tensor] > 0 ? m->lives[tensor] - 1 : 0;
}

/* What is wrong with a byte; 0: nothing. */
static int judge(const model *m, const spad_walk_access *access, int number, bool gaps) {
    const spad_kernel_tensor *tensor = tensor_of(m, access->tensor);
    const bool family = tensor->home != access->tensor || m->family_written[access->home];
    const bool view = !m->is_written[access->tensor] && family;
    const bool empty = !m->family_written[access->home] && !m->family_given[access->home] &&
                       tensor_of(m, access->home)->mode == SPAD_MODE_AUTO;
    if (number != 0 && empty) return SPAD_FINDING_UNINITIALISED_READ;
    if (number == 0) {
        const bool fine = gaps || (tensor->flags & SPAD_TENSOR_INPUT) != 0 ||
                          (view && m->family_given[access->home]);
        return fine ? 0 : SPAD_FINDING_UNINITIALISED_READ;
    }
    const model_write *write = &m->writes[number];
    const bool kin = tensor_of(m, write->tensor)->home == access->home;
    const bool gone =
        !write->given && write->birth != m->births[access->home][home_tile(tensor, access->tile)];
    if (view && kin && !gone && write->home_tile == home_tile(tensor, access->tile) &&
        write->home_life == life_of(m, access->home)) {
        return 0;
    }
    if (write->tensor == access->tensor) {
        const bool same = write->tile == access->tile && write->life == access->life;
        if (same) return gone ? SPAD_FINDING_STALE_READ : 0;
        if (write->life < access->life) return SPAD_FINDING_STALE_READ;
        return write->tile < access->tile ? SPAD_FINDING_STALE_READ
                                          : SPAD_FINDING_LIFETIME_CONFLICT;
    }
    return kin ? SPAD_FINDING_ALIAS_CLASH : SPAD_FINDING_LIFETIME_CONFLICT;
}

static bool is_in_loop(const model *m, int64_t statement, int64_t loop) {
    int64_t at = spad_kernel_get_statement(m->kernel, (size_t)statement)->loop;
    while (at >= 0 && at != loop) at = spad_kernel_get_loop(m->kernel, (size_t)at)->outer;
    return at >= 0;
}

/* A value that an earlier iteration of a loop wrote is read. */
static void note_carried(model *m, int number, int64_t statement) {
    const model_write *write = &m->writes[number];
    if (number == 0 || write->given) return;
    for (int64_t l = 0; l < (int64_t)spad_kernel_loop_count(m->kernel); l++) {
        const bool both = is_in_loop(m, statement, l) && is_in_loop(m, write->statement, l);
        if (both && write->values[l] < m->loop_values[l]) m->carries[write->row] = true;
    }
}

/* The next iteration would read it, but there is none. */
static bool is_last_value(const model *m, const model_write *write) {
    if (!m->carries[write->row] || tensor_of(m, write->tensor)->tiles > 1) return false;
    for (int64_t l = 0; l < (int64_t)spad_kernel_loop_count(m->kernel); l++) {
        const spad_kernel_loop *loop = spad_kernel_get_loop(m->kernel, (size_t)l);
        if (is_in_loop(m, write->statement, l) && write->values[l] == loop->end.value - 1)
            return true;
    }
    return false;
}

static void read_bytes(model *m, const spad_walk_access *access, int64_t statement, bool gaps) {
    for (int64_t run = 0; run < access->runs; run++) {
        for (int64_t l = 0; l < access->rect.lanes; l++) {
            for (int64_t b = 0; b < access->rect.bytes; b++) {
                const int number = *byte_of(m, access, access->rect.lane + l,
                                            access->rect.byte + run * access->stride + b);
                m->writes[number].read = true;
                if (!gaps) note_carried(m, number, statement);
                const int code = judge(m, access, number, gaps);
                if (code == 0) continue;
                m->wrong[access->tensor] = m->wrong[access->home] = true;
                const bool unwritten = code == SPAD_FINDING_UNINITIALISED_READ;
                add_found(m, code, statement, unwritten ? -1 : m->writes[number].statement);
            }
        }
    }
}

/* An output has what is written under its own name; if nothing is, what any name writes to that
 * tile. Names of one storage have the same shape here. */
static bool is_for_output(const model *m, const spad_walk_access *access, int64_t t) {
    const bool view = !m->is_written[t] && tensor_of(m, t)->home == access->home;
    if ((tensor_of(m, t)->flags & SPAD_TENSOR_OUTPUT) == 0) return false;
    return t == access->tensor || view;
}

static void write_bytes(model *m, const spad_walk_access *access, int64_t statement) {
    assert_true(m->write_count + 1 < WRITES_MAX);
    const int number = ++m->write_count;
    m->writes[number] = (model_write){
        .tensor = access->tensor,
        .tile = access->tile,
        .life = access->life,
        .home_tile = home_tile(tensor_of(m, access->tensor), access->tile),
        .home_life = life_of(m, access->home),
        .birth = m->births[access->home][home_tile(tensor_of(m, access->tensor), access->tile)],
        .statement = statement,
        .row = access->row};
    memcpy(m->writes[number].values, m->loop_values, sizeof m->loop_values);
    for (int64_t run = 0; run < access->runs; run++) {
        for (int64_t l = 0; l < access->rect.lanes; l++) {
            for (int64_t b = 0; b < access->rect.bytes; b++) {
                *byte_of(m, access, access->rect.lane + l,
                         access->rect.byte + run * access->stride + b) = number;
            }
        }
    }
    for (int64_t t = 0; t < (int64_t)spad_kernel_tensor_count(m->kernel); t++) {
        if (!is_for_output(m, access, t)) continue;
        spad_walk_access *output = &m->outputs[t][access->tile];
        m->output_written[t][access->tile] = true;
        *output = *access;
        output->tensor = t;
        output->rect = output->tile_rect;
        output->runs = 1;
    }
}

static void fill_outputs(model *m, const spad_walk_access *access) {
    for (int64_t t = 0; t < (int64_t)spad_kernel_tensor_count(m->kernel); t++) {
        if (!is_for_output(m, access, t)) continue;
        for (int64_t run = 0; run < access->runs; run++) {
            for (int64_t l = 0; l < access->rect.lanes; l++) {
                for (int64_t b = 0; b < access->rect.bytes; b++) {
                    const spad_rect *whole = &access->tile_rect;
                    m->output_bytes[t][access->tile][access->rect.lane - whole->lane + l]
                                   [access->rect.byte + run * access->stride - whole->byte + b] =
                        true;
                }
            }
        }
    }
}

static bool lacks_bytes(const model *m, int64_t t) {
    const spad_kernel_tensor *tensor = tensor_of(m, t);
    for (int64_t tile = 0; tile < tensor->tiles; tile++) {
        for (int64_t l = 0; l < tensor->tile_lanes; l++) {
            for (int64_t b = 0; b < tensor->tile_bytes; b++) {
                if (!m->output_bytes[t][tile][l][b]) return true;
            }
        }
    }
    return false;
}

static bool is_dead(const model *m, const spad_walk_access *access) {
    return m->dead[access->home][home_tile(tensor_of(m, access->tensor), access->tile)];
}

static void run_operation(model *m, const spad_walk_event *event) {
    for (size_t i = 0; i < event->access_count; i++) {
        const spad_walk_access *access = &event->accesses[i];
        if (is_dead(m, access)) {
            m->wrong[access->tensor] = m->wrong[access->home] = true;
            add_found(m, SPAD_FINDING_USE_AFTER_FREE, event->statement,
                      (int64_t)tensor_of(m, access->home)->statement);
        } else if ((access->kind & SPAD_ACCESS_READ) != 0) {
            read_bytes(m, access, event->statement, false);
        }
    }
    for (size_t i = 0; i < event->access_count; i++) {
        const spad_walk_access *access = &event->accesses[i];
        if ((access->kind & SPAD_ACCESS_WRITE) == 0) continue;
        write_bytes(m, access, event->statement);
        fill_outputs(m, access);
    }
}

/* Inputs are in memory at the start, one tile after another in the order of the text. */
static void write_inputs(model *m, const spad_walk *walk) {
    for (int64_t t = 0; t < (int64_t)spad_kernel_tensor_count(m->kernel); t++) {
        const spad_kernel_tensor *tensor = tensor_of(m, t);
        if ((tensor->flags & SPAD_TENSOR_INPUT) == 0) continue;
        for (int64_t tile = 0; tile < tensor->tiles; tile++) {
            spad_walk_access access;
            spad__walk_tile_access(walk, t, tile, &access);
            write_bytes(m, &access, (int64_t)tensor->statement);
            m->writes[m->write_count].read = m->writes[m->write_count].given = true;
        }
    }
}

/* ---- parallel loops ---------------------------------------------------------------- */

static void touch_in_loops(model *m, const spad_walk_event *event) {
    for (int64_t l = 0; l < (int64_t)spad_kernel_loop_count(m->kernel); l++) {
        if (!m->loop_open[l] || !spad_kernel_get_loop(m->kernel, (size_t)l)->parallel) continue;
        for (size_t i = 0; i < event->access_count; i++) {
            assert_true(m->touch_count < TOUCHES_MAX);
            m->touches[m->touch_count++] = (model_touch){l, m->loop_runs[l], m->loop_values[l],
                                                         event->statement, event->accesses[i]};
        }
    }
}

/* Do they have a byte of a tile in common? */
static bool meet(const spad_walk_access *a, const spad_walk_access *b) {
    if (a->tensor != b->tensor || a->tile != b->tile || a->life != b->life) return false;
    if (a->rect.lane >= b->rect.lane + b->rect.lanes) return false;
    if (b->rect.lane >= a->rect.lane + a->rect.lanes) return false;
    for (int64_t x = 0; x < a->runs; x++) {
        for (int64_t y = 0; y < b->runs; y++) {
            const int64_t first = a->rect.byte + x * a->stride;
            const int64_t second = b->rect.byte + y * b->stride;
            if (first < second + b->rect.bytes && second < first + a->rect.bytes) return true;
        }
    }
    return false;
}

/* Two iterations that both read, or both add, do not mind each other. */
static bool depend(const model_touch *a, const model_touch *b) {
    const unsigned kinds[2] = {a->access.kind, b->access.kind};
    if (a->loop != b->loop || a->run != b->run || a->iteration == b->iteration) return false;
    if (kinds[0] == kinds[1] && kinds[0] != SPAD_ACCESS_WRITE) return false;
    return meet(&a->access, &b->access);
}

/* Is there a dependence that the statement of this line has a part in? Any: line 0. */
static bool has_dependence(const model *m, int line) {
    for (size_t i = 0; i < m->touch_count; i++) {
        const model_touch *a = &m->touches[i];
        const spad_statement *s = spad_kernel_get_statement(m->kernel, (size_t)a->statement);
        if (line != 0 && s->location.line != line) continue;
        for (size_t j = 0; j < m->touch_count; j++) {
            if (depend(a, &m->touches[j])) return true;
        }
    }
    return false;
}

static int compare_dependences(const model *m, const spad_check *check) {
    bool any = false;
    int faults = 0;
    for (size_t i = 0; i < spad_check_finding_count(check); i++) {
        const spad_finding *got = spad_check_get_finding(check, i);
        if (got->code != SPAD_FINDING_PARALLEL_DEPENDENCE) continue;
        any = true;
        if (has_dependence(m, got->line)) continue;
        print_error("no dependence: %d: %s\n", got->line, got->message);
        faults++;
    }
    if (any || !has_dependence(m, 0)) return faults;
    print_error("a dependence between iterations is not found\n");
    return faults + 1;
}

static void run_event(model *m, const spad_walk_event *event) {
    const bool frees = event->kind == SPAD_WALK_FREE;
    switch (event->kind) {
    case SPAD_WALK_OPERATION:
        run_operation(m, event);
        touch_in_loops(m, event);
        break;
    case SPAD_WALK_LOOP_BEGIN:
        m->loop_open[event->loop] = true;
        m->loop_runs[event->loop]++;
        break;
    case SPAD_WALK_ITERATION: m->loop_values[event->loop] = event->value; break;
    case SPAD_WALK_LOOP_END: m->loop_open[event->loop] = false; break;
    case SPAD_WALK_TENSOR:
        m->lives[event->tensor]++;
        for (int t = 0; t < TILES_MAX; t++) m->dead[event->tensor][t] = m->has_alloc[event->tensor];
        break;
    case SPAD_WALK_ALLOC:
    case SPAD_WALK_FREE:
        if (m->dead[event->tensor][event->tile] == frees) {
            add_found(m, frees ? SPAD_FINDING_DOUBLE_FREE : SPAD_FINDING_ALLOCATION_ORDER,
                      event->statement, -1);
        }
        m->dead[event->tensor][event->tile] = frees;
        m->births[event->tensor][event->tile] += !frees;
        break;
    default: break;
    }
}

static void end_kernel(model *m) {
    for (int64_t t = 0; t < (int64_t)spad_kernel_tensor_count(m->kernel); t++) {
        for (int64_t tile = 0; tile < tensor_of(m, t)->tiles; tile++) {
            if (!m->output_written[t][tile]) continue;
            const int64_t statement = (int64_t)tensor_of(m, t)->statement;
            if (is_dead(m, &m->outputs[t][tile])) {
                add_found(m, SPAD_FINDING_USE_AFTER_FREE, statement,
                          (int64_t)tensor_of(m, tensor_of(m, t)->home)->statement);
            } else {
                read_bytes(m, &m->outputs[t][tile], statement, true);
            }
        }
    }
    for (int64_t t = 0; t < (int64_t)spad_kernel_tensor_count(m->kernel); t++) {
        const spad_kernel_tensor *tensor = tensor_of(m, t);
        if ((tensor->flags & SPAD_TENSOR_OUTPUT) == 0 || m->family_given[tensor->home]) continue;
        if (!lacks_bytes(m, t)) continue;
        add_found(m, SPAD_FINDING_UNWRITTEN_OUTPUT, (int64_t)tensor->statement, -1);
    }
    for (int number = 1; number <= m->write_count; number++) {
        const model_write *write = &m->writes[number];
        const spad_kernel_tensor *tensor = tensor_of(m, write->tensor);
        if (write->read || (tensor->flags & SPAD_TENSOR_OUTPUT) != 0) continue;
        if (is_last_value(m, write)) continue;
        if (!m->family_read[tensor->home] || m->wrong[write->tensor] || m->wrong[tensor->home])
            continue;
        add_found(m, SPAD_FINDING_DEAD_WRITE, write->statement, (int64_t)tensor->statement);
    }
}

/* ---- a planner --------------------------------------------------------------------- */

/* Puts slots here and there, often over each other. *context: a seed. */
static bool place_slot(void *context, int64_t tensor, int64_t slot, spad_rect *rect) {
    spad__random random = {*(const uint64_t *)context * 64 + (uint64_t)(tensor * TILES_MAX + slot)};
    if (spad__random_in(&random, 0, 4) == 0) return false;
    rect->lane = rect->lanes > 1 ? 32 * spad__random_in(&random, 0, 1) : 0;
    rect->byte = spad__random_in(&random, 0, 40);
    return true;
}

/* ---- comparing --------------------------------------------------------------------- */

static bool is_compared(spad_finding_code code) {
    return (code >= SPAD_FINDING_LIFETIME_CONFLICT && code <= SPAD_FINDING_DEAD_WRITE) ||
           code == SPAD_FINDING_UNWRITTEN_OUTPUT || code == SPAD_FINDING_DOUBLE_FREE ||
           code == SPAD_FINDING_ALLOCATION_ORDER;
}

/* The statements of a finding are known by their places; each is on a line of its own. */
static bool matches(const model *m, const model_found *want, const spad_finding *got) {
    const spad_statement *s = spad_kernel_get_statement(m->kernel, (size_t)want->statement);
    if ((int)got->code != want->code || got->line != s->location.line) return false;
    if (want->code == SPAD_FINDING_DEAD_WRITE) {
        return strcmp(got->subject,
                      tensor_of(m, spad_kernel_get_statement(m->kernel, (size_t)want->other)->item)
                          ->name) == 0;
    }
    if (want->other < 0) return true;
    const spad_statement *other = spad_kernel_get_statement(m->kernel, (size_t)want->other);
    return got->note_count > 0 && got->notes[0].line == other->location.line;
}

static int compare(const model *m, const spad_check *check) {
    int compared = 0;
    int faults = 0;
    for (size_t i = 0; i < spad_check_finding_count(check); i++) {
        const spad_finding *got = spad_check_get_finding(check, i);
        if (!is_compared(got->code)) continue;
        bool wanted = false;
        for (int f = 0; f < m->found_count; f++) wanted |= matches(m, &m->found[f], got);
        if (!wanted) print_error("not in the model: %d: %s\n", got->line, got->message);
        faults += !wanted;
        compared++;
    }
    for (int f = 0; f < m->found_count; f++) {
        bool there = false;
        for (size_t i = 0; i < spad_check_finding_count(check); i++) {
            there |= matches(m, &m->found[f], spad_check_get_finding(check, i));
        }
        if (!there) {
            print_error("only in the model: %s at statement %lld, other %lld\n",
                        spad_finding_name((spad_finding_code)m->found[f].code),
                        (long long)m->found[f].statement, (long long)m->found[f].other);
        }
        faults += !there;
    }
    if (compared != m->found_count) faults++;
    return faults;
}

static int check_text(const char *text, uint64_t seed, bool *clean) {
    spad_kernel *kernel;
    spad_walk *walk;
    spad_check *check;
    spad_error error;
    const spad_walk_event *event;
    const bool planned = seed % 2 == 0;
    if (spad_kernel_parse(&kernel, text, strlen(text), "r.spad", NULL, NULL, &error) != SPAD_OK) {
        print_error("%d: %s\n", error.line, error.message);
        return 1;
    }
    spad_layout *layout = planned ? test_layout_with(kernel, place_slot, &seed) : NULL;
    const spad_walk_options walk_options = {.layout = layout};
    const spad_check_options options = {.finding_limit = FOUND_MAX, .layout = layout};
    model *m = calloc(1, sizeof *m);
    assert_non_null(m);
    m->last = calloc(AREAS, sizeof *m->last);
    m->touches = calloc(TOUCHES_MAX, sizeof *m->touches);
    assert_true(m->last != NULL && m->touches != NULL);
    m->kernel = kernel;
    read_text(m);
    assert_ok(spad_walk_create(&walk, kernel, &walk_options, &error), &error);
    write_inputs(m, walk);
    do {
        assert_ok(spad_walk_next(&event, walk, &error), &error);
        run_event(m, event);
    } while (event->kind != SPAD_WALK_END);
    end_kernel(m);
    assert_ok(spad_check_create(&check, kernel, &options, &error), &error);
    const int faults = compare(m, check) + compare_dependences(m, check);
    *clean = m->found_count == 0;
    spad_check_destroy(check);
    spad_walk_destroy(walk);
    spad_layout_destroy(layout);
    spad_kernel_destroy(kernel);
    free(m->last);
    free(m->touches);
    free(m);
    return faults;
}

static void findings_are_those_of_the_model(void **state) {
    (void)state;
    int clean = 0;
    for (uint64_t seed = 1; seed <= KERNELS; seed++) {
        static maker m;
        bool none;
        make_kernel(&m, seed);
        const int faults = check_text(m.text, seed, &none);
        if (faults > 0) print_error("seed %llu:\n%s\n", (unsigned long long)seed, m.text);
        assert_int_equal(faults, 0);
        clean += none;
    }
    /* both answers are tested */
    assert_true(clean > KERNELS / 50);
    assert_true(clean < KERNELS / 2);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(findings_are_those_of_the_model)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
