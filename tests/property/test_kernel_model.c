/* SPDX-License-Identifier: Apache-2.0
 *
 * Random kernels, walked by the library and run by a slow literal interpreter that
 * follows the manual: a recursive tree, long arithmetic, tiles found by counting. The
 * kernel is written as text by the model and read by the library; what the library
 * writes of it reads back to the same text and the same walk, and the same kernel with another
 * value of its parameter is run as the model runs it with that value.
 */
#include "base/error.h"
#include "support/support.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/random.h"
#include "spad/experimental/kernel_rows.h"
#include "spad/experimental/walk.h"

enum {
    UNKNOWNS = 3,
    ELEMENTS = 3,
    KERNELS = 4000,
    TENSORS = 6,
    LOOPS = 3,
    NODES = 24,
    LINES_MAX = 4000,
    TEXT_MAX = 16384
};

/* ---- the model's kernel ------------------------------------------------------------ */

typedef struct model_expr {
    char op; /* 'n' number, 'v' variable, 'p' parameter, 's' and 'h' stage and phase
                of a cursor, 'u' unknown value, 'm' min, 'M' max, or the sign */
    int64_t value;
    struct model_expr *left;
    struct model_expr *right;
} model_expr;

typedef struct model_tensor {
    int mode; /* 0 auto, 1 ring, 2 ring per dim, 3 mod, 4 at, 5 alias inside, 6 alias tile by tile
               */
    int rank;
    int64_t blocks[2];
    int64_t dims[3]; /* lanes, then two free dims of bytes */
    int64_t ring[2];
    int64_t base;
    int64_t step;
    int other;
    int64_t other_tile;
} model_tensor;

typedef struct model_node {
    char kind; /* 'f' for, 'i' if, 'o' operation, 's' signal, 'c' cursor, 'a' advance, 'b' break,
                  'w' wait for the next phase */
    int loop;
    int64_t begin;
    int64_t end;
    bool plain; /* begin..end; else from..to step */
    model_expr *from_expr;
    model_expr *to_expr;
    int64_t step; /* also of an advance */
    bool scaled;
    int cursor;
    int64_t stages;
    model_expr *left[3];
    model_expr *right[3];
    int relation[3];
    bool alternative[3]; /* "or" before it */
    int comparisons;
    int tensor;
    model_expr *index[2];
    bool part;
    model_expr *from;
    int64_t width;
    struct model_node *body[4];
    int body_count;
    struct model_node *rest[4]; /* else */
    int rest_count;
} model_node;

typedef struct model {
    spad__random random;
    model_tensor tensors[TENSORS];
    model_node *top[4];
    int top_count;
    int loops;
    int nodes;
    int cursors;
    int open_cursors[NODES];
    int open_cursor_count;
    bool in_bounds; /* of a loop: no cursors */
    int64_t stages[NODES];
    bool plain[NODES]; /* per loop */
    char text[TEXT_MAX];
    char *at;
    /* the run */
    int64_t param;
    int64_t unknowns[UNKNOWNS];
    int64_t values[NODES];
    int64_t advances[NODES];
    int64_t waited[ELEMENTS + 1];
    char *lines[LINES_MAX];
    int line_count;
    bool broken; /* a break is on its way to its loop */
    bool failed; /* an index left its tensor */
    void *owned[NODES * 80];
    int owned_count;
} model;

static int64_t pick(model *m, int64_t low, int64_t high) {
    return spad__random_in(&m->random, low, high);
}

static void *own(model *m, size_t size) {
    void *block = calloc(1, size);
    assert_non_null(block);
    assert_true(m->owned_count < (int)(sizeof m->owned / sizeof m->owned[0]));
    m->owned[m->owned_count++] = block;
    return block;
}

/* ---- making ------------------------------------------------------------------------ */

static model_expr *make_leaf(model *m, const int *open, int open_count) {
    model_expr *e = own(m, sizeof *e);
    if (pick(m, 0, 7) == 0) {
        e->op = 'p';
        return e;
    }
    if (m->open_cursor_count > 0 && !m->in_bounds && pick(m, 0, 2) == 0) {
        e->op = pick(m, 0, 1) == 0 ? 's' : 'h';
        e->value = m->open_cursors[pick(m, 0, m->open_cursor_count - 1)];
        return e;
    }
    if (pick(m, 0, 9) == 0 && m->nodes < NODES - 8) {
        e->op = 'u';
        e->left = own(m, sizeof *e);
        e->left->op = '%';
        e->left->left = make_leaf(m, open, open_count);
        e->left->right = own(m, sizeof *e);
        e->left->right->op = 'n';
        e->left->right->value = pick(m, 1, UNKNOWNS);
        return e;
    }
    const bool variable = open_count > 0 && pick(m, 0, 2) > 0;
    e->op = variable ? 'v' : 'n';
    e->value = variable ? open[pick(m, 0, open_count - 1)] : pick(m, 0, 5);
    return e;
}

static model_expr *make_expr(model *m, const int *open, int open_count, int depth) {
    if (depth == 0 || pick(m, 0, 2) == 0) return make_leaf(m, open, open_count);
    model_expr *e = own(m, sizeof *e);
    e->op = "+-*/%_mM"[pick(m, 0, 7)]; /* '_': minus in front */
    e->left = make_expr(m, open, open_count, depth - 1);
    if (e->op == '+' || e->op == '-' || e->op == 'm' || e->op == 'M') {
        e->right = make_expr(m, open, open_count, depth - 1);
    } else if (e->op != '_') {
        e->right = own(m, sizeof *e);
        e->right->op = 'n';
        e->right->value = e->op == '*' ? pick(m, -2, 3) : pick(m, 1, 4);
        if (e->op == '*' && pick(m, 0, 2) == 0) { /* a product of constants */
            model_expr *factor = e->right;
            e->right = own(m, sizeof *e);
            e->right->op = '*';
            e->right->left = factor;
            e->right->right = own(m, sizeof *e);
            e->right->right->op = 'p';
        }
    }
    return e;
}

static void make_tensor(model *m, int number) {
    model_tensor *t = &m->tensors[number];
    memset(t, 0, sizeof *t);
    t->mode = (int)pick(m, 0, number == 0 ? 4 : 6);
    t->rank = (int)pick(m, 0, 2);
    for (int i = 0; i < t->rank; i++) t->blocks[i] = pick(m, 1, 5);
    t->dims[0] = pick(m, 1, 32);
    t->dims[1] = pick(m, 1, 4);
    t->dims[2] = pick(m, 1, 6);
    t->base = pick(m, 0, 40);
    t->step = pick(m, 1, 30);
    for (int i = 0; i < 2; i++) t->ring[i] = pick(m, 1, 4);
    if (t->rank == 0 && (t->mode == 1 || t->mode == 2)) t->mode = 0;
    if (t->mode >= 5) { /* inside a tile, or tile by tile, of an earlier one that is no alias */
        t->other = (int)pick(m, 0, number - 1);
        const model_tensor *other = &m->tensors[t->other];
        if (other->mode >= 5) {
            t->mode = 0;
            return;
        }
        t->dims[0] = pick(m, 1, other->dims[0]);
        t->dims[1] = 1;
        t->dims[2] = 1;
        if (t->mode == 6) {
            t->rank = other->rank;
            memcpy(t->blocks, other->blocks, sizeof t->blocks);
        }
        const int64_t room = other->dims[1] * other->dims[2];
        t->ring[0] = pick(m, 1, room);
        t->base = t->mode == 5 ? room - t->ring[0] : pick(m, 0, room - 1);
        t->other_tile = 0;
        for (int i = 0; i < other->rank; i++) {
            t->other_tile = t->other_tile * other->blocks[i] + pick(m, 0, other->blocks[i] - 1);
        }
        if (t->mode == 6 && other->rank == 0) t->mode = 5;
        if (t->mode == 5 && t->rank == 0) t->ring[0] = 1;
    }
}

static model_node *make_node(model *m, const int *open, int open_count, int depth) {
    model_node *n = own(m, sizeof *n);
    m->nodes++;
    const int64_t kind = depth == 0 || m->nodes > NODES - 6 ? pick(m, 0, 1) : pick(m, 0, 5);
    if (kind <= 1 && pick(m, 0, 5) == 0) {
        n->kind = 'w';
        n->cursor = (int)pick(m, 0, 1); /* which object */
        n->index[0] = own(m, sizeof *n->index[0]);
        n->index[0]->op = '%';
        n->index[0]->left = make_expr(m, open, open_count, pick(m, 0, 1) == 0 ? 0 : 2);
        n->index[0]->right = own(m, sizeof *n->index[0]);
        n->index[0]->right->op = 'n';
        n->index[0]->right->value = ELEMENTS;
        return n;
    }
    if (kind <= 1 && open_count > 0 && pick(m, 0, 9) == 0) {
        n->kind = 'b';
        return n;
    }
    if (kind <= 1 && pick(m, 0, 3) == 0) {
        if (m->open_cursor_count == 0 || pick(m, 0, 3) == 0) {
            n->kind = 'c';
            n->cursor = m->cursors++;
            n->stages = m->stages[n->cursor] = pick(m, 1, 4);
            m->open_cursors[m->open_cursor_count++] = n->cursor;
        } else {
            n->kind = 'a';
            n->cursor = m->open_cursors[pick(m, 0, m->open_cursor_count - 1)];
            n->step = pick(m, 0, 3) == 0 ? pick(m, 0, 3) : 1;
        }
        return n;
    }
    if (kind <= 1) {
        n->kind = pick(m, 0, 5) == 0 ? 's' : 'o';
        n->tensor = (int)pick(m, 0, TENSORS - 1);
        const model_tensor *t = &m->tensors[n->tensor];
        for (int i = 0; i < 2; i++) {
            /* a rest keeps most indices inside, so that walks get somewhere */
            model_expr *rest = own(m, sizeof *rest);
            rest->op = '%';
            rest->left = make_expr(m, open, open_count, 2);
            rest->right = own(m, sizeof *rest);
            rest->right->op = 'n';
            rest->right->value = t->rank > i ? t->blocks[i] : 2;
            if (pick(m, 0, 15) == 0) rest->right->value++;
            n->index[i] = rest;
        }
        n->part = pick(m, 0, 1) == 1;
        n->width = pick(m, 1, t->dims[2]);
        n->from = own(m, sizeof *n->from);
        n->from->op = '%';
        n->from->left = make_expr(m, open, open_count, 1);
        n->from->right = own(m, sizeof *n->from);
        n->from->right->op = 'n';
        n->from->right->value = t->dims[2] - n->width + 1;
        return n;
    }
    int inner[LOOPS + 1];
    for (int i = 0; i < open_count; i++) inner[i] = open[i];
    int inner_count = open_count;
    const int cursors = m->open_cursor_count;
    if (kind <= 3 && open_count < LOOPS) {
        n->kind = 'f';
        n->loop = m->loops++;
        n->begin = pick(m, -2, 2);
        n->end = n->begin + pick(m, 0, 4);
        n->plain = m->plain[n->loop] = pick(m, 0, 1) == 0;
        m->in_bounds = true;
        n->from_expr = make_expr(m, open, open_count, (int)pick(m, 0, 1));
        n->to_expr = make_expr(m, open, open_count, (int)pick(m, 0, 2));
        m->in_bounds = false;
        n->step = pick(m, 0, 2) == 0 ? 1 : pick(m, 0, 1) == 0 ? -1 : pick(m, 1, 3);
        if (pick(m, 0, 3) == 0) n->step = -n->step;
        n->scaled = n->step != 1 && pick(m, 0, 2) == 0; /* the step has the parameter in it */
        inner[inner_count++] = n->loop;
    } else {
        n->kind = 'i';
        n->comparisons = (int)pick(m, 1, 3);
        for (int i = 0; i < n->comparisons; i++) {
            n->left[i] = make_expr(m, open, open_count, 2);
            n->right[i] = make_expr(m, open, open_count, 1);
            n->relation[i] = (int)pick(m, 0, 5);
            n->alternative[i] = i > 0 && pick(m, 0, 1) == 1;
        }
        n->rest_count = (int)pick(m, 0, 2);
    }
    n->body_count = (int)pick(m, 0, 3);
    for (int i = 0; i < n->body_count; i++) {
        n->body[i] = make_node(m, inner, inner_count, depth - 1);
    }
    m->open_cursor_count = cursors;
    for (int i = 0; i < n->rest_count; i++) {
        n->rest[i] = make_node(m, inner, inner_count, depth - 1);
    }
    m->open_cursor_count = cursors;
    return n;
}

/* ---- writing ----------------------------------------------------------------------- */

SPAD_PRINTF(2, 3) static void put(model *m, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    m->at += vsnprintf(m->at, (size_t)(m->text + TEXT_MAX - m->at), format, arguments);
    va_end(arguments);
    assert_true(m->at < m->text + TEXT_MAX - 1);
}

static void put_expr(model *m, const model_expr *e) {
    if (e->op == 'n') {
        put(m, "%lld", (long long)e->value);
    } else if (e->op == 'v') {
        put(m, "i%lld", (long long)e->value);
    } else if (e->op == 'p') {
        put(m, "P");
    } else if (e->op == 'u') {
        put(m, "u[");
        put_expr(m, e->left);
        put(m, "]");
    } else if (e->op == 's' || e->op == 'h') {
        put(m, "%c%lld", e->op, (long long)e->value);
    } else if (e->op == '_') {
        put(m, "-(");
        put_expr(m, e->left);
        put(m, ")");
    } else if (e->op == 'm' || e->op == 'M') {
        put(m, e->op == 'm' ? "min(" : "max(");
        put_expr(m, e->left);
        put(m, ", ");
        put_expr(m, e->right);
        put(m, ")");
    } else {
        put(m, "(");
        put_expr(m, e->left);
        put(m, " %c ", e->op);
        put_expr(m, e->right);
        put(m, ")");
    }
}

static void put_tensor(model *m, int number) {
    const model_tensor *t = &m->tensors[number];
    put(m, "tensor t%d : sbuf u8 ", number);
    if (t->rank == 1) put(m, "[%lld] ", (long long)t->blocks[0]);
    if (t->rank == 2) put(m, "[%lld, %lld] ", (long long)t->blocks[0], (long long)t->blocks[1]);
    put(m, "(%lld, %lld, %lld)", (long long)t->dims[0], (long long)t->dims[1],
        (long long)t->dims[2]);
    if (t->mode == 1) put(m, " ring %lld", (long long)t->ring[0]);
    if (t->mode == 2 && t->rank == 1) put(m, " ring [%lld]", (long long)t->ring[0]);
    if (t->mode == 2 && t->rank == 2) {
        put(m, " ring [%lld, %lld]", (long long)t->ring[0], (long long)t->ring[1]);
    }
    if (t->mode == 3) {
        put(m, " mod base %lld", (long long)t->base);
        if (t->rank == 1) put(m, " free %lld", (long long)t->ring[0]);
        if (t->rank == 2) {
            put(m, " free [%lld, %lld]", (long long)t->ring[0], (long long)t->ring[1]);
        }
    }
    if (t->mode == 4) put(m, " at %lld step %lld", (long long)t->base, (long long)t->step);
    if (t->mode == 5) {
        const model_tensor *other = &m->tensors[t->other];
        put(m, " alias of t%d", t->other);
        if (other->rank == 1) put(m, "[%lld]", (long long)t->other_tile);
        if (other->rank == 2) {
            put(m, "[%lld, %lld]", (long long)(t->other_tile / other->blocks[1]),
                (long long)(t->other_tile % other->blocks[1]));
        }
        put(m, " + %lld", (long long)t->base);
        if (t->rank > 0) put(m, " ring %lld", (long long)t->ring[0]);
    }
    if (t->mode == 6) put(m, " alias of t%d + %lld", t->other, (long long)t->base);
    put(m, "\n");
}

static void put_node(model *m, const model_node *n) {
    static const char *const relations[] = {"==", "!=", "<", "<=", ">", ">="};
    const model_tensor *t = &m->tensors[n->tensor];
    if (n->kind == 'w' && n->cursor == 0) {
        put(m, "wait mb[");
        put_expr(m, n->index[0]);
        put(m, "] next\n");
    } else if (n->kind == 'w') {
        put(m, "wait one next\n");
    } else if (n->kind == 'b') {
        put(m, "break\n");
    } else if (n->kind == 'c') {
        put(m, "cursor s%d, h%d mod %lld\n", n->cursor, n->cursor, (long long)n->stages);
    } else if (n->kind == 'a') {
        put(m, "advance s%d", n->cursor);
        if (n->step != 1) put(m, " by %lld", (long long)n->step);
        put(m, "\n");
    } else if (n->kind == 's') {
        put(m, "signal c[");
        put_expr(m, n->index[0]);
        put(m, " %% 7]\n");
    } else if (n->kind == 'o') {
        put(m, "dma op writes t%d", n->tensor);
        for (int i = 0; i < t->rank; i++) {
            put(m, i == 0 ? "[" : ", ");
            put_expr(m, n->index[i]);
        }
        if (t->rank > 0) put(m, "]");
        if (n->part) {
            put(m, "(.., .., ");
            put_expr(m, n->from);
            put(m, "..");
            put_expr(m, n->from);
            put(m, " + %lld)", (long long)n->width);
        }
        put(m, "\n");
    } else {
        if (n->kind == 'f' && !n->plain) {
            put(m, "for i%d in ", n->loop);
            put_expr(m, n->from_expr);
            put(m, "..");
            put_expr(m, n->to_expr);
            if (n->step != 1) put(m, " step %s%lld", n->scaled ? "P * " : "", (long long)n->step);
            put(m, " {\n");
        } else if (n->kind == 'f') {
            put(m, "for i%d in %lld..%lld {\n", n->loop, (long long)n->begin, (long long)n->end);
        } else {
            for (int i = 0; i < n->comparisons; i++) {
                put(m, i == 0 ? "if " : n->alternative[i] ? " or " : " and ");
                put_expr(m, n->left[i]);
                put(m, " %s ", relations[n->relation[i]]);
                put_expr(m, n->right[i]);
            }
            put(m, " {\n");
        }
        for (int i = 0; i < n->body_count; i++) put_node(m, n->body[i]);
        if (n->rest_count > 0) put(m, "} else {\n");
        for (int i = 0; i < n->rest_count; i++) put_node(m, n->rest[i]);
        put(m, "}\n");
    }
}

/* ---- running ----------------------------------------------------------------------- */

static int64_t value(const model *m, const model_expr *e) {
    if (e->op == 'n') return e->value;
    if (e->op == 'v') return m->values[e->value];
    if (e->op == 'p') return m->param;
    if (e->op == 's') return m->advances[e->value] % m->stages[e->value];
    if (e->op == 'h') return m->advances[e->value] / m->stages[e->value] % 2;
    const int64_t a = value(m, e->left);
    if (e->op == 'u') return m->unknowns[a];
    if (e->op == '_') return -a;
    const int64_t b = value(m, e->right);
    if (e->op == '+') return a + b;
    if (e->op == '-') return a - b;
    if (e->op == 'm') return a < b ? a : b;
    if (e->op == 'M') return a > b ? a : b;
    if (e->op == '*') return a * b;
    int64_t quotient = 0; /* by counting: the largest q with q * b <= a */
    while (quotient * b > a) quotient--;
    while ((quotient + 1) * b <= a) quotient++;
    return e->op == '/' ? quotient : a - quotient * b;
}

SPAD_PRINTF(2, 3) static void say(model *m, const char *format, ...) {
    va_list arguments;
    char line[256];
    va_start(arguments, format);
    vsnprintf(line, sizeof line, format, arguments);
    va_end(arguments);
    if (m->line_count == LINES_MAX) return;
    m->lines[m->line_count] = malloc(strlen(line) + 1);
    assert_non_null(m->lines[m->line_count]);
    strcpy(m->lines[m->line_count++], line);
}

/* Slot, and address or -1, of a tile of a tensor that is no alias. */
static void locate(const model_tensor *t, const int64_t *index, int64_t tile, int64_t *slot,
                   int64_t *byte) {
    const int64_t bytes = t->dims[1] * t->dims[2];
    *slot = tile;
    *byte = -1;
    int64_t linear = 0;
    for (int i = 0; i < t->rank; i++) linear = linear * t->ring[i] + index[i] % t->ring[i];
    if (t->mode == 1) *slot = tile % t->ring[0];
    if (t->mode == 2) *slot = linear;
    if (t->mode == 3) *byte = t->base + linear * bytes;
    if (t->mode == 4) *byte = t->base + tile * t->step;
}

static void run_operation(model *m, const model_node *n) {
    const model_tensor *t = &m->tensors[n->tensor];
    int64_t index[2] = {0};
    int64_t tile = 0;
    for (int i = 0; i < t->rank; i++) {
        index[i] = value(m, n->index[i]);
        if (index[i] < 0 || index[i] >= t->blocks[i]) m->failed = true;
        tile = tile * t->blocks[i] + index[i];
    }
    if (m->failed) return;
    int home = n->tensor;
    int64_t offset = 0;
    int64_t slot;
    int64_t byte;
    if (t->mode >= 5) {
        const model_tensor *other = &m->tensors[t->other];
        int64_t home_tile = tile;
        home = t->other;
        offset = t->base;
        if (t->mode == 5) {
            offset += t->rank > 0 ? tile % t->ring[0] : 0;
            home_tile = t->other_tile;
        }
        int64_t home_index[2] = {home_tile, 0};
        if (other->rank == 2) {
            home_index[0] = home_tile / other->blocks[1];
            home_index[1] = home_tile % other->blocks[1];
        }
        locate(other, home_index, home_tile, &slot, &byte);
    } else {
        locate(t, index, tile, &slot, &byte);
    }
    int64_t bytes = t->dims[1] * t->dims[2];
    int64_t runs = 1;
    if (n->part) {
        offset += value(m, n->from);
        bytes = n->width == t->dims[2] ? bytes : n->width;
        runs = n->width == t->dims[2] ? 1 : t->dims[1];
    }
    say(m, "op t%d tile %lld home %d slot %lld placed %d lanes %lld byte %lld+%lld runs %lld",
        n->tensor, (long long)tile, home, (long long)slot, byte >= 0, (long long)t->dims[0],
        (long long)((byte >= 0 ? byte : 0) + offset), (long long)bytes, (long long)runs);
}

static void run_nodes(model *m, model_node *const *nodes, int count);

static bool compare(int64_t a, int relation, int64_t b) {
    const bool results[] = {a == b, a != b, a<b, a <= b, a> b, a >= b};
    return results[relation];
}

/* "a and b or c": and binds more tightly. */
static bool condition_holds(const model *m, const model_node *n) {
    bool any = false;
    bool all = true;
    for (int i = 0; i < n->comparisons; i++) {
        if (n->alternative[i]) {
            any = any || all;
            all = true;
        }
        all = compare(value(m, n->left[i]), n->relation[i], value(m, n->right[i])) && all;
    }
    return any || all;
}

/* The bounds count as they are before the first round. */
static void run_range(model *m, const model_node *n) {
    const int64_t from = value(m, n->from_expr);
    const int64_t to = value(m, n->to_expr);
    const int64_t step = n->scaled ? m->param * n->step : n->step;
    for (int64_t i = step > 0 ? from : to - 1; i >= from && i < to && !m->failed; i += step) {
        m->values[n->loop] = i;
        run_nodes(m, n->body, n->body_count);
        if (m->line_count == LINES_MAX || m->broken) break;
    }
    m->broken = false;
}

static void run_node(model *m, const model_node *n) {
    if (n->kind == 'o') {
        run_operation(m, n);
    } else if (n->kind == 'w') {
        const int64_t element = n->cursor == 0 ? value(m, n->index[0]) : ELEMENTS;
        const int64_t before = m->waited[element]++;
        say(m, "wait %d %lld parity %d", n->cursor, (long long)(element % ELEMENTS),
            (int)(before % 2));
    } else if (n->kind == 'b') {
        m->broken = true;
    } else if (n->kind == 'c') {
        m->advances[n->cursor] = 0;
    } else if (n->kind == 'a') {
        m->advances[n->cursor] += n->step;
    } else if (n->kind == 's') {
        const int64_t element = value(m, n->index[0]) % 7;
        say(m, "signal %lld", (long long)element);
    } else if (n->kind == 'i') {
        const bool yes = condition_holds(m, n);
        run_nodes(m, yes ? n->body : n->rest, yes ? n->body_count : n->rest_count);
    } else if (!n->plain) {
        run_range(m, n);
    } else if (n->begin < n->end && n->body_count > 0) {
        say(m, "loop %d", n->loop);
        for (int64_t i = n->begin; i < n->end && !m->failed; i++) {
            m->values[n->loop] = i;
            say(m, "iteration %d %lld", n->loop, (long long)i);
            run_nodes(m, n->body, n->body_count);
            if (m->broken) break;
        }
        m->broken = false;
        if (!m->failed) say(m, "done %d", n->loop);
    }
}

static void run_nodes(model *m, model_node *const *nodes, int count) {
    for (int i = 0; i < count && !m->failed && !m->broken; i++) run_node(m, nodes[i]);
}

/* ---- comparing --------------------------------------------------------------------- */

static void describe(const model *m, char *line, size_t size, const spad_kernel *k,
                     const spad_walk_event *e) {
    line[0] = '\0';
    const spad_kernel_loop *loop = e->loop >= 0 ? spad_kernel_get_loop(k, (size_t)e->loop) : NULL;
    if (loop != NULL && !m->plain[atoi(loop->name + 1)]) return; /* it may count rounds */
    if (e->kind == SPAD_WALK_LOOP_BEGIN) snprintf(line, size, "loop %s", loop->name + 1);
    if (e->kind == SPAD_WALK_LOOP_END) snprintf(line, size, "done %s", loop->name + 1);
    if (e->kind == SPAD_WALK_ITERATION) {
        snprintf(line, size, "iteration %s %lld", loop->name + 1, (long long)e->value);
    }
    if (e->kind == SPAD_WALK_SYNC) {
        const bool waits =
            spad_kernel_get_statement(k, (size_t)e->statement)->kind == SPAD_STATEMENT_WAIT_PARITY;
        if (!waits) snprintf(line, size, "signal %lld", (long long)e->element);
        if (waits) {
            snprintf(line, size, "wait %lld %lld parity %lld", (long long)e->object - 1,
                     (long long)e->element, (long long)e->amount);
        }
    }
    if (e->kind == SPAD_WALK_OPERATION) {
        const spad_walk_access *a = &e->accesses[0];
        snprintf(line, size,
                 "op t%lld tile %lld home %lld slot %lld placed %d lanes %lld byte %lld+%lld runs "
                 "%lld",
                 (long long)a->tensor, (long long)a->tile, (long long)a->home, (long long)a->slot,
                 a->placed, (long long)a->rect.lanes, (long long)a->rect.byte,
                 (long long)a->rect.bytes, (long long)a->runs);
    }
}

static void compare_walk(const model *m, const spad_kernel *k) {
    spad_walk *walk;
    spad_error error;
    assert_ok(spad_walk_create(&walk, k, NULL, &error), &error);
    int next = 0;
    for (;;) {
        const spad_walk_event *event;
        char line[256];
        const spad_status status = spad_walk_next(&event, walk, &error);
        if (status != SPAD_OK) {
            assert_int_equal(status, SPAD_ERR_BOUNDS);
            assert_true(m->failed);
            assert_int_equal(next, m->line_count);
            break;
        }
        if (event->kind == SPAD_WALK_TENSOR) continue;
        if (event->kind == SPAD_WALK_END) {
            assert_false(m->failed);
            assert_int_equal(next, m->line_count);
            break;
        }
        describe(m, line, sizeof line, k, event);
        if (line[0] == '\0') continue;
        assert_true(next < m->line_count);
        if (strcmp(line, m->lines[next]) != 0) print_error("%s", m->text);
        assert_string_equal(line, m->lines[next]);
        next++;
    }
    spad_walk_destroy(walk);
}

static void free_model(model *m) {
    for (int i = 0; i < m->owned_count; i++) free(m->owned[i]);
    for (int i = 0; i < m->line_count; i++) free(m->lines[i]);
}

/* A kernel whose index is outside for certain is refused; the model must agree. Other refusals
 * are about bounds and lengths. */
static void check_refusal(const model *m, const spad_error *error) {
    if (strstr(error->message, " runs from ") != NULL) return;
    if (strstr(error->message, "the expression is too long") != NULL) return;
    const bool outside = strncmp(error->message, "index ", 6) == 0;
    if (!outside) print_error("%s\n%s", error->message, m->text);
    assert_true(outside);
    assert_true(m->failed);
}

static void forget_run(model *m) {
    for (int i = 0; i < m->line_count; i++) free(m->lines[i]);
    m->line_count = 0;
    m->failed = false;
    memset(m->waited, 0, sizeof m->waited);
}

/* The same kernel with another value of the parameter. */
static bool compare_reshaped(model *m, const spad_kernel *k) {
    const int64_t other = m->param % 4 + 1;
    const spad_define define = {"P", other};
    const spad_kernel_options options = {.defines = &define, .define_count = 1};
    spad_kernel *reshaped;
    if (spad_kernel_reshape(&reshaped, k, &options, NULL) != SPAD_OK) return false;
    forget_run(m);
    m->param = other;
    run_nodes(m, m->top, m->top_count);
    const bool whole = m->line_count < LINES_MAX;
    if (whole) compare_walk(m, reshaped);
    spad_kernel_destroy(reshaped);
    return whole;
}

static void walks_agree_with_the_model(void **state) {
    (void)state;
    static model m;
    int walked = 0;
    int reshaped = 0;
    int failed = 0;
    for (uint64_t seed = 1; seed <= KERNELS; seed++) {
        memset(&m, 0, sizeof m);
        m.random.state = seed;
        m.at = m.text;
        m.param = pick(&m, 1, 4);
        put(&m, "kernel k on trn2\nparam P = %lld\n", (long long)m.param);
        put(&m, "%scounter c[7]\n", seed % 3 == 0 ? "threads 32 * P registers 8 + P\n" : "");
        put(&m, "mbarrier mb[%d] count 1\nmbarrier one count 1\n", ELEMENTS);
        put(&m, "unknown u[%d] in -1..4 = [", UNKNOWNS);
        for (int i = 0; i < UNKNOWNS; i++) {
            m.unknowns[i] = pick(&m, -1, 3);
            put(&m, "%s%lld", i > 0 ? ", " : "", (long long)m.unknowns[i]);
        }
        put(&m, "]\n");
        for (int i = 0; i < TENSORS; i++) make_tensor(&m, i);
        for (int i = 0; i < TENSORS; i++) put_tensor(&m, i);
        m.top_count = (int)pick(&m, 1, 4);
        for (int i = 0; i < m.top_count; i++) m.top[i] = make_node(&m, NULL, 0, 4);
        for (int i = 0; i < m.top_count; i++) put_node(&m, m.top[i]);
        run_nodes(&m, m.top, m.top_count);
        failed += m.failed;
        if (m.line_count < LINES_MAX) {
            spad_kernel *k;
            spad_error error;
            const spad_status status =
                spad_kernel_parse(&k, m.text, strlen(m.text), "k", NULL, NULL, &error);
            if (status != SPAD_OK) {
                check_refusal(&m, &error);
            } else {
                test_text first;
                test_text second;
                test_text_init(&first);
                test_text_init(&second);
                compare_walk(&m, k);
                assert_int_equal(spad_kernel_write_text(k, &first.sink, NULL), SPAD_OK);
                spad_kernel *again;
                assert_ok(spad_kernel_parse(&again, first.bytes, first.count, "again", NULL, NULL,
                                            &error),
                          &error);
                assert_int_equal(spad_kernel_write_text(again, &second.sink, NULL), SPAD_OK);
                assert_string_equal(first.bytes, second.bytes);
                compare_walk(&m, again);
                spad_kernel_destroy(again);
                reshaped += compare_reshaped(&m, k);
                test_text_free(&first);
                test_text_free(&second);
                walked++;
            }
            spad_kernel_destroy(k);
        }
        free_model(&m);
    }
    /* the sample must be worth something */
    assert_true(walked > KERNELS / 2);
    assert_true(reshaped > KERNELS / 3);
    assert_true(failed > KERNELS / 100);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(walks_agree_with_the_model),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
