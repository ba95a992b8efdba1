/* SPDX-License-Identifier: Apache-2.0
 *
 * Memory of the executor. The edges of all accesses in an area (a space, or a slot that has no
 * place in one) cut it into cells; cells that the same accesses cover are one atom. The
 * contents of an atom are then one number: who wrote it last.
 */
#include <string.h>

#include "kernel/kernel.h"
#include "support/executor_model.h"

typedef struct piece {
    int64_t area;
    int64_t lane[2];
    int64_t byte[2];
    int access;
} piece;

typedef LIST(piece) piece_list;
typedef LIST(int64_t) cut_list;

/* One area cut into lanes x bytes cells. */
typedef struct grid {
    cut_list lanes;
    cut_list bytes;
    uint64_t *marks; /* of cells: a hash of who covers it; 0: no one */
    int *atoms;
    size_t cells;
} grid;

static int64_t area_of(const executor *e, const access *whole) {
    const spad_walk_access *a = &whole->walk;
    if (whole->held) return (int64_t)whole->space;
    const spad_kernel_tensor *home = spad_kernel_get_tensor(e->kernel, (size_t)a->home);
    if (a->placed) return (int64_t)home->space;
    return 1000 + a->home * 1000000 + a->slot;
}

static void list_pieces(const executor *e, piece_list *pieces) {
    for (size_t i = 0; i < e->accesses.count; i++) {
        const spad_walk_access *a = &e->accesses.items[i].walk;
        for (int64_t run = 0; run < a->runs; run++) {
            const int64_t byte = a->rect.byte + run * a->stride;
            PUSH(pieces, (piece){.area = area_of(e, &e->accesses.items[i]),
                                 .lane = {a->rect.lane, a->rect.lane + a->rect.lanes},
                                 .byte = {byte, byte + a->rect.bytes},
                                 .access = (int)i});
        }
    }
}

static int compare_pieces(const void *left, const void *right) {
    const piece *a = left;
    const piece *b = right;
    if (a->area != b->area) return a->area < b->area ? -1 : 1;
    return (a->access > b->access) - (a->access < b->access);
}

static int compare_cuts(const void *left, const void *right) {
    const int64_t a = *(const int64_t *)left;
    const int64_t b = *(const int64_t *)right;
    return (a > b) - (a < b);
}

static void sort_cuts(cut_list *cuts) {
    qsort(cuts->items, cuts->count, sizeof cuts->items[0], compare_cuts);
    size_t kept = 0;
    for (size_t i = 0; i < cuts->count; i++) {
        if (kept > 0 && cuts->items[kept - 1] == cuts->items[i]) continue;
        cuts->items[kept++] = cuts->items[i];
    }
    cuts->count = kept;
}

static size_t cut_at(const cut_list *cuts, int64_t value) {
    const int64_t *found =
        bsearch(&value, cuts->items, cuts->count, sizeof cuts->items[0], compare_cuts);
    assert_non_null(found);
    return (size_t)(found - cuts->items);
}

/* Calls for every cell of a piece: marks it, or gives its atom to the access. */
static void mark_piece(grid *g, const piece *p) {
    for (size_t i = cut_at(&g->lanes, p->lane[0]); i < cut_at(&g->lanes, p->lane[1]); i++) {
        for (size_t j = cut_at(&g->bytes, p->byte[0]); j < cut_at(&g->bytes, p->byte[1]); j++) {
            uint64_t *mark = &g->marks[i * g->bytes.count + j];
            *mark = (*mark ^ (uint64_t)(p->access + 1)) * UINT64_C(0x9E3779B97F4A7C15);
            *mark ^= *mark >> 29;
        }
    }
}

/* The atom of a cell: that of another cell with the same mark, or a new one. */
static void number_atoms(executor *e, grid *g) {
    LIST(uint64_t) marks = {0};
    for (size_t cell = 0; cell < g->cells; cell++) {
        g->atoms[cell] = -1;
        if (g->marks[cell] == 0) continue;
        size_t at = 0;
        while (at < marks.count && marks.items[at] != g->marks[cell]) at++;
        if (at == marks.count) PUSH(&marks, g->marks[cell]);
        g->atoms[cell] = (int)(e->atom_count + at);
    }
    e->atom_count += marks.count;
    free(marks.items);
}

static void add_atom(executor *e, access *a, int atom) {
    for (size_t i = 0; i < a->atom_count; i++) {
        if (e->atoms.items[a->first_atom + i] == atom) return;
    }
    PUSH(&e->atoms, atom);
    a->atom_count++;
}

static void give_atoms(executor *e, const grid *g, const piece *p) {
    access *a = &e->accesses.items[p->access];
    if (a->atom_count == 0) a->first_atom = e->atoms.count;
    for (size_t i = cut_at(&g->lanes, p->lane[0]); i < cut_at(&g->lanes, p->lane[1]); i++) {
        for (size_t j = cut_at(&g->bytes, p->byte[0]); j < cut_at(&g->bytes, p->byte[1]); j++) {
            add_atom(e, a, g->atoms[i * g->bytes.count + j]);
        }
    }
}

static void cut_area(executor *e, const piece *pieces, size_t count) {
    grid g = {0};
    for (size_t i = 0; i < count; i++) {
        for (int end = 0; end < 2; end++) {
            PUSH(&g.lanes, pieces[i].lane[end]);
            PUSH(&g.bytes, pieces[i].byte[end]);
        }
    }
    sort_cuts(&g.lanes);
    sort_cuts(&g.bytes);
    g.cells = g.lanes.count * g.bytes.count;
    if (g.cells > CELLS_MAX) {
        e->too_large = true;
    } else {
        g.marks = calloc(g.cells, sizeof *g.marks);
        g.atoms = calloc(g.cells, sizeof *g.atoms);
        assert_true(g.marks != NULL && g.atoms != NULL);
        for (size_t i = 0; i < count; i++) mark_piece(&g, &pieces[i]);
        number_atoms(e, &g);
        for (size_t i = 0; i < count; i++) give_atoms(e, &g, &pieces[i]);
    }
    free(g.marks);
    free(g.atoms);
    free(g.lanes.items);
    free(g.bytes.items);
}

void executor_cut(executor *e) {
    piece_list pieces = {0};
    list_pieces(e, &pieces);
    if (pieces.count > 0) {
        qsort(pieces.items, pieces.count, sizeof pieces.items[0], compare_pieces);
    }
    for (size_t from = 0, to; from < pieces.count && !e->too_large; from = to) {
        to = from;
        while (to < pieces.count && pieces.items[to].area == pieces.items[from].area) to++;
        cut_area(e, &pieces.items[from], to - from);
    }
    free(pieces.items);
}

/* ---- conflicts --------------------------------------------------------------------- */

bool executor_share_atom(const executor *e, const access *a, const access *b) {
    for (size_t i = 0; i < a->atom_count; i++) {
        for (size_t j = 0; j < b->atom_count; j++) {
            if (e->atoms.items[a->first_atom + i] == e->atoms.items[b->first_atom + j]) return true;
        }
    }
    return false;
}

/* Registers and tensor memory have orders of their own; proxy fences are about the rest. */
bool executor_has_proxies(const executor *e, size_t number) {
    const char *space = spad_kernel_get_target(e->kernel)->spaces[number].name;
    return strcmp(space, "registers") != 0 && strncmp(space, "tmem", 4) != 0;
}

/* The other threads of an agent access memory that they share with its elected thread and with
 * other agents. What both parts of an agent do is not compared: which of them accesses which bytes
 * is not known. */
static bool may_meet(const executor *e, const op *p, const op *q, const access *a) {
    if (!p->others && !q->others) return true;
    const spad_kernel_tensor *t = spad_kernel_get_tensor(e->kernel, (size_t)a->walk.tensor);
    if (spad_kernel_get_target(e->kernel)->spaces[t->space].thread_bytes > 0) return false;
    if (p->agent != q->agent) return true;
    return p->one || q->one || (p->others && q->others);
}

static conflict compare_ops(const executor *e, const op *p, const op *q) {
    conflict c = {0};
    for (size_t i = 0; i < p->access_count; i++) {
        const access *a = &e->accesses.items[p->first_access + i];
        for (size_t j = 0; j < q->access_count; j++) {
            const access *b = &e->accesses.items[q->first_access + j];
            if (((a->walk.kind | b->walk.kind) & SPAD_ACCESS_WRITE) == 0) continue;
            if (!may_meet(e, p, q, a) || !executor_share_atom(e, a, b)) continue;
            /* sums do not depend on the order of what is added, in one proxy */
            if (a->walk.kind == SPAD_ACCESS_ADD && b->walk.kind == SPAD_ACCESS_ADD &&
                p->proxy == q->proxy) {
                continue;
            }
            const bool a_reads = (a->walk.kind & SPAD_ACCESS_READ) != 0;
            const bool b_reads = (b->walk.kind & SPAD_ACCESS_READ) != 0;
            const bool a_writes = (a->walk.kind & SPAD_ACCESS_WRITE) != 0;
            const bool b_writes = (b->walk.kind & SPAD_ACCESS_WRITE) != 0;
            c.read_write = c.read_write || (a_reads && b_writes);
            c.write_read = c.write_read || (a_writes && b_reads);
            c.write_write = c.write_write || (a_writes && b_writes);
            const size_t space = spad_kernel_get_tensor(e->kernel, (size_t)a->walk.tensor)->space;
            if (a_writes) c.written |= UINT64_C(1) << space;
            if (!a_writes) c.read |= UINT64_C(1) << space;
        }
    }
    return c;
}

void executor_find_conflicts(executor *e) {
    for (size_t p = 0; p < e->ops.count; p++) {
        e->first_conflict[p] = e->conflicts.count;
        for (size_t q = 0; q < e->ops.count; q++) {
            if (p == q) continue;
            conflict c = compare_ops(e, &e->ops.items[p], &e->ops.items[q]);
            c.other = (int)q;
            if (c.read_write || c.write_read || c.write_write) PUSH(&e->conflicts, c);
        }
    }
    e->first_conflict[e->ops.count] = e->conflicts.count;
}

/* ---- contents ---------------------------------------------------------------------- */

/* A tensor that is never written under its own name is a view of its storage. */
bool executor_is_view(const executor *e, int64_t tensor) {
    const spad_kernel_tensor *t = spad_kernel_get_tensor(e->kernel, (size_t)tensor);
    if ((t->flags & SPAD_TENSOR_INPUT) != 0) return false;
    for (size_t i = 0; i < spad__kernel_access_count(e->kernel); i++) {
        const spad_kernel_access *a = spad_kernel_get_access(e->kernel, i);
        if (a->tensor == tensor && (a->kind & SPAD_ACCESS_WRITE) != 0) return false;
    }
    return true;
}

static int64_t home_tile(const executor *e, const access *a) {
    const spad_kernel_tensor *t = spad_kernel_get_tensor(e->kernel, (size_t)a->walk.tensor);
    return t->home != a->walk.tensor && t->home_tile >= 0 ? t->home_tile : a->walk.tile;
}

bool executor_is_given(const executor *e, const access *reader) {
    for (size_t i = 0; i < spad_kernel_tensor_count(e->kernel); i++) {
        const spad_kernel_tensor *t = spad_kernel_get_tensor(e->kernel, i);
        if ((t->flags & SPAD_TENSOR_INPUT) == 0) continue;
        if ((int64_t)i == reader->walk.tensor) return true;
        if (t->home == reader->walk.home && executor_is_view(e, reader->walk.tensor)) return true;
    }
    return false;
}

bool executor_is_same(const executor *e, const access *reader, const access *writer) {
    if (executor_is_view(e, reader->walk.tensor)) {
        return reader->walk.home == writer->walk.home && reader->home_life == writer->home_life &&
               home_tile(e, reader) == home_tile(e, writer);
    }
    return reader->walk.tensor == writer->walk.tensor && reader->walk.tile == writer->walk.tile &&
           reader->walk.life == writer->walk.life;
}

/* ---- outputs ----------------------------------------------------------------------- */

/* One tile of an output, byte by byte. */
static bool is_tile_written(const executor *e, int64_t tensor, int64_t tile) {
    unsigned char *bytes = NULL;
    spad_rect whole = {0};
    for (size_t i = e->given; i < e->accesses.count; i++) {
        const spad_walk_access *a = &e->accesses.items[i].walk;
        if (a->tensor != tensor || a->tile != tile || (a->kind & SPAD_ACCESS_WRITE) == 0) continue;
        if (e->ops.items[e->accesses.items[i].op].life != SPAD_WALK_OPERATION) continue;
        whole = a->tile_rect;
        if (bytes == NULL) bytes = calloc((size_t)(whole.lanes * whole.bytes), 1);
        assert_non_null(bytes);
        for (int64_t run = 0; run < a->runs; run++) {
            for (int64_t lane = 0; lane < a->rect.lanes; lane++) {
                const int64_t at = (a->rect.lane - whole.lane + lane) * whole.bytes + a->rect.byte +
                                   run * a->stride - whole.byte;
                memset(bytes + at, 1, (size_t)a->rect.bytes);
            }
        }
    }
    const bool all = bytes != NULL && memchr(bytes, 0, (size_t)(whole.lanes * whole.bytes)) == NULL;
    free(bytes);
    return all;
}

/* Is any name of the storage of a tensor used, written, or filled before the start? */
static bool any_name(const executor *e, int64_t home, unsigned kinds, unsigned flags) {
    for (size_t i = 0; i < spad__kernel_access_count(e->kernel); i++) {
        const spad_kernel_access *a = spad_kernel_get_access(e->kernel, i);
        if (spad_kernel_get_tensor(e->kernel, (size_t)a->tensor)->home != home) continue;
        if ((a->kind & kinds) != 0) return true;
    }
    for (size_t i = 0; i < spad_kernel_tensor_count(e->kernel); i++) {
        const spad_kernel_tensor *t = spad_kernel_get_tensor(e->kernel, i);
        if (t->home == home && (t->flags & flags) != 0) return true;
    }
    return false;
}

void executor_look_at_outputs(executor *e) {
    for (size_t i = 0; i < spad_kernel_tensor_count(e->kernel); i++) {
        const spad_kernel_tensor *t = spad_kernel_get_tensor(e->kernel, i);
        if ((t->flags & SPAD_TENSOR_OUTPUT) == 0) continue;
        if (any_name(e, t->home, 0, SPAD_TENSOR_INPUT)) continue;
        if (executor_is_view(e, (int64_t)i) && any_name(e, t->home, SPAD_ACCESS_WRITE, 0)) {
            e->result.views = true;
            continue;
        }
        for (int64_t tile = 0; tile < t->tiles && !e->result.unwritten; tile++) {
            e->result.unwritten = !is_tile_written(e, (int64_t)i, tile);
        }
    }
}
