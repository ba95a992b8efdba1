/* SPDX-License-Identifier: Apache-2.0
 *
 * The tables of a kernel as lists of dicts: what Kernel.loops, statements and so on give.
 * Expressions are text, numbers of rows are names.
 */
#include "common.h"

/* ---- expressions ------------------------------------------------------------------- */

static PyObject *apply(spad_expr_op op, PyObject *left, PyObject *right) {
    static const char *const signs[] = {[SPAD_EXPR_ADD] = "+",
                                        [SPAD_EXPR_SUB] = "-",
                                        [SPAD_EXPR_MUL] = "*",
                                        [SPAD_EXPR_DIV] = "/",
                                        [SPAD_EXPR_MOD] = "%"};
    if (op == SPAD_EXPR_SMALLER || op == SPAD_EXPR_LARGER)
        return PyUnicode_FromFormat("%s(%U, %U)", op == SPAD_EXPR_SMALLER ? "min" : "max", left,
                                    right);
    return op == SPAD_EXPR_NEGATE ? PyUnicode_FromFormat("-%U", left)
                                  : PyUnicode_FromFormat("(%U %s %U)", left, signs[op], right);
}

static PyObject *leaf(const spad_kernel *kernel, const spad_expr_node *node) {
    if (node->op == SPAD_EXPR_PARAM)
        return py_string(spad_kernel_get_param(kernel, (size_t)node->value)->name);
    if (node->op == SPAD_EXPR_VARIABLE)
        return py_string(spad_kernel_get_loop(kernel, (size_t)node->value)->name);
    if (node->op == SPAD_EXPR_STAGE)
        return py_string(spad_kernel_get_cursor(kernel, (size_t)node->value)->stage);
    if (node->op == SPAD_EXPR_PHASE)
        return py_string(spad_kernel_get_cursor(kernel, (size_t)node->value)->phase);
    return PyUnicode_FromFormat("%lld", (long long)node->value);
}

/* Nodes in postfix order as the language writes them. */
static PyObject *written(const spad_kernel *kernel, const spad_expr_node *nodes, size_t count) {
    PyObject *stack[SPAD_EXPR_MAX] = {NULL};
    size_t depth = 0;
    bool fine = true;
    for (size_t i = 0; fine && i < count; i++) {
        const spad_expr_node *node = &nodes[i];
        PyObject *made, *right = NULL;
        if (node->op < SPAD_EXPR_ADD) {
            made = leaf(kernel, node);
        } else if (node->op == SPAD_EXPR_UNKNOWN) {
            const spad_kernel_unknown *u = spad_kernel_get_unknown(kernel, (size_t)node->value);
            PyObject *element = stack[--depth];
            made = u->dims.count > 0 ? PyUnicode_FromFormat("%s[%U]", u->name, element)
                                     : py_string(u->name);
            Py_DECREF(element);
        } else {
            if (node->op != SPAD_EXPR_NEGATE) right = stack[--depth];
            PyObject *left = stack[--depth];
            made = apply(node->op, left, right);
            Py_DECREF(left);
            Py_XDECREF(right);
        }
        fine = made != NULL;
        if (fine) stack[depth++] = made;
    }
    PyObject *out = fine ? stack[--depth] : NULL;
    while (depth > 0) Py_DECREF(stack[--depth]);
    if (out != NULL && PyUnicode_ReadChar(out, 0) == '(') { /* outermost parentheses say nothing */
        PyObject *inner = PyUnicode_Substring(out, 1, PyUnicode_GetLength(out) - 1);
        Py_DECREF(out);
        out = inner;
    }
    return out;
}

/* An expression; None for none. */
static PyObject *expression(const spad_kernel *kernel, spad_expr expr) {
    const spad_expr_info info = spad_kernel_get_expr(kernel, expr);
    if (info.written_count == 0) Py_RETURN_NONE;
    return written(kernel, info.written, info.written_count);
}

/* What an index counts: k of "k % 3", the stage of a ring; else the index. */
static PyObject *counted(const spad_kernel *kernel, spad_expr expr) {
    const spad_expr_info info = spad_kernel_get_expr(kernel, expr);
    const size_t last = info.written_count - 1;
    const bool is_ring = info.written_count > 2 && info.written[last].op == SPAD_EXPR_MOD &&
                         info.written[last - 1].op == SPAD_EXPR_NUMBER;
    return is_ring ? written(kernel, info.written, last - 1) : expression(kernel, expr);
}

typedef PyObject *as_text(const spad_kernel *kernel, spad_expr expr);

static PyObject *texts(const spad_kernel *kernel, const spad_expr *list, size_t count,
                       as_text *text_of) {
    PyObject *tuple = PyTuple_New((Py_ssize_t)count);
    for (size_t i = 0; tuple != NULL && i < count; i++) {
        PyObject *text = text_of(kernel, list[i]);
        if (text == NULL || PyTuple_SetItem(tuple, (Py_ssize_t)i, text) != 0) Py_CLEAR(tuple);
    }
    return tuple;
}

static PyObject *expressions(const spad_kernel *kernel, const spad_expr *list, size_t count) {
    return texts(kernel, list, count, expression);
}

static PyObject *amounts(const spad_amounts *a) {
    PyObject *tuple = PyTuple_New((Py_ssize_t)a->count);
    for (size_t i = 0; tuple != NULL && i < a->count; i++) {
        PyObject *number = PyLong_FromLongLong(a->items[i].value);
        if (number == NULL || PyTuple_SetItem(tuple, (Py_ssize_t)i, number) != 0) Py_CLEAR(tuple);
    }
    return tuple;
}

/* ---- names of rows ----------------------------------------------------------------- */

static const char *space_name(const spad_kernel *kernel, size_t space) {
    return spad_kernel_get_target(kernel)->spaces[space].name;
}

PyObject *py_tensor_name(const spad_kernel *kernel, int64_t tensor) {
    return py_string(tensor < 0 ? NULL : spad_kernel_get_tensor(kernel, (size_t)tensor)->name);
}
PyObject *py_loop_name(const spad_kernel *kernel, int64_t loop) {
    return py_string(loop < 0 ? NULL : spad_kernel_get_loop(kernel, (size_t)loop)->name);
}
PyObject *py_sync_name(const spad_kernel *kernel, int64_t object) {
    return py_string(object < 0 ? NULL : spad_kernel_get_sync(kernel, (size_t)object)->name);
}
PyObject *py_agent_name(const spad_kernel *kernel, int64_t agent) {
    return py_string(agent < 0 ? NULL : spad_kernel_get_agent(kernel, (size_t)agent)->name);
}
static PyObject *unit_name(const spad_kernel *kernel, int64_t unit) {
    return py_string(unit < 0 ? NULL : spad_kernel_get_unit(kernel, (size_t)unit)->name);
}
PyObject *py_engine_name(const spad_kernel *kernel, int64_t engine) {
    return py_string(engine < 0 ? NULL : spad_kernel_get_target(kernel)->engines[engine].name);
}

const char *py_access_word(unsigned kind) {
    static const char *const words[] = {
        [SPAD_ACCESS_READ] = "read",
        [SPAD_ACCESS_WRITE] = "write",
        [SPAD_ACCESS_UPDATE] = "update",
        [SPAD_ACCESS_ADD] = "add",
        [SPAD_ACCESS_READ | SPAD_ACCESS_MAY] = "may read",
        [SPAD_ACCESS_WRITE | SPAD_ACCESS_MAY] = "may write",
        [SPAD_ACCESS_UPDATE | SPAD_ACCESS_MAY] = "may update",
        [SPAD_ACCESS_ADD | SPAD_ACCESS_MAY] = "may add",
        [SPAD_ACCESS_WRITE | SPAD_ACCESS_AGREED] = "agreed write",
    };
    return words[kind];
}

const char *py_completion_word(spad_completion_kind kind) {
    return kind == SPAD_COMPLETION_DELIVER  ? "deliver"
           : kind == SPAD_COMPLETION_ARRIVE ? "arrive"
                                            : "signal";
}

/* ---- rows -------------------------------------------------------------------------- */

static PyObject *tensor_row(const spad_kernel *kernel, size_t i) {
    const spad_kernel_tensor *t = spad_kernel_get_tensor(kernel, i);
    return Py_BuildValue(
        "{s:s,s:s,s:s,s:N,s:N,s:s,s:N,s:L,s:L,s:L,s:L,s:L,s:N,s:O,s:O,s:i}", "name", t->name,
        "space", space_name(kernel, t->space), "dtype", spad_dtype_name(t->dtype), "blocks",
        amounts(&t->blocks), "shape", amounts(&t->dims), "mode", spad_mode_name(t->mode), "ring",
        amounts(&t->ring), "tiles", (long long)t->tiles, "slots", (long long)t->slots, "lanes",
        (long long)t->tile_lanes, "bytes", (long long)t->tile_bytes, "align",
        (long long)t->align.value, "home", py_tensor_name(kernel, t->home), "input",
        (t->flags & SPAD_TENSOR_INPUT) != 0 ? Py_True : Py_False, "output",
        (t->flags & SPAD_TENSOR_OUTPUT) != 0 ? Py_True : Py_False, "line", (int)t->location.line);
}

static PyObject *region_row(const spad_kernel *kernel, size_t i) {
    static const char *const behaviours[] = {"exact", "library_2026_04", "library_later"};
    const spad_kernel_region *r = spad_kernel_get_region(kernel, i);
    return Py_BuildValue("{s:s,s:L,s:L,s:s,s:i}", "space", space_name(kernel, r->space), "lower",
                         (long long)r->lower.value, "upper", (long long)r->upper.value, "behaviour",
                         behaviours[r->behaviour], "line", (int)r->location.line);
}

static PyObject *unit_row(const spad_kernel *kernel, size_t i) {
    static const char *const orders[] = {"free", "fifo", "serial", "same"};
    const spad_kernel_unit *u = spad_kernel_get_unit(kernel, i);
    const spad_target *target = spad_kernel_get_target(kernel);
    return Py_BuildValue("{s:s,s:N,s:s,s:O,s:z,s:i}", "name", u->name, "engine",
                         py_engine_name(kernel, (int64_t)u->engine), "order", orders[u->order],
                         "proxy", u->proxy ? Py_True : Py_False, "fence",
                         u->fence >= 0 ? target->fences[u->fence].name : NULL, "line",
                         (int)u->location.line);
}

static PyObject *sync_row(const spad_kernel *kernel, size_t i) {
    static const char *const kinds[] = {"barrier", "counter", "mbarrier", "group"};
    const spad_kernel_sync *s = spad_kernel_get_sync(kernel, i);
    PyObject *byte = s->placed ? PyLong_FromLongLong(s->byte.value) : Py_NewRef(Py_None);
    return Py_BuildValue("{s:s,s:s,s:N,s:L,s:L,s:N,s:i}", "name", s->name, "kind", kinds[s->kind],
                         "dims", amounts(&s->dims), "count", (long long)s->count.value, "elements",
                         (long long)s->elements, "byte", byte, "line", (int)s->location.line);
}

static PyObject *agent_row(const spad_kernel *kernel, size_t i) {
    const spad_kernel_agent *a = spad_kernel_get_agent(kernel, i);
    return Py_BuildValue("{s:s,s:L,s:L,s:n,s:i}", "name", a->name, "threads",
                         (long long)a->threads.value, "registers", (long long)a->registers.value,
                         "statement", (Py_ssize_t)a->statement, "line", (int)a->location.line);
}

static PyObject *loop_row(const spad_kernel *kernel, size_t i) {
    const spad_kernel_loop *l = spad_kernel_get_loop(kernel, i);
    return Py_BuildValue("{s:s,s:L,s:L,s:N,s:N,s:L,s:O,s:N,s:n,s:i}", "name", l->name, "begin",
                         (long long)l->begin.value, "end", (long long)l->end.value, "from",
                         expression(kernel, l->from), "to", expression(kernel, l->to), "step",
                         (long long)l->step.value, "parallel", l->parallel ? Py_True : Py_False,
                         "outer", py_loop_name(kernel, l->outer), "statement",
                         (Py_ssize_t)l->statement, "line", (int)l->location.line);
}

static PyObject *unknown_row(const spad_kernel *kernel, size_t i) {
    const spad_kernel_unknown *u = spad_kernel_get_unknown(kernel, i);
    return Py_BuildValue("{s:s,s:L,s:L,s:L,s:i}", "name", u->name, "elements",
                         (long long)u->elements, "least", (long long)u->least.value, "end",
                         (long long)u->end.value, "line", (int)u->location.line);
}

static PyObject *cursor_row(const spad_kernel *kernel, size_t i) {
    const spad_kernel_cursor *c = spad_kernel_get_cursor(kernel, i);
    return Py_BuildValue("{s:s,s:N,s:L,s:N,s:O,s:n,s:i}", "stage", c->stage, "phase",
                         py_string(c->phase), "count", (long long)c->count.value, "agent",
                         py_agent_name(kernel, c->agent), "even", c->even ? Py_True : Py_False,
                         "statement", (Py_ssize_t)c->statement, "line", (int)c->location.line);
}

static PyObject *source_row(const spad_kernel *kernel, size_t i) {
    const spad_kernel_source *s = spad_kernel_get_source(kernel, i);
    return Py_BuildValue("{s:N,s:i,s:N,s:N}", "file", py_string(s->file), "line", (int)s->line,
                         "code", py_string(s->code), "caller", py_fact(s->caller, -1));
}

static PyObject *ranges(const spad_kernel *kernel, const spad_kernel_access *a) {
    PyObject *list = PyList_New(0);
    for (size_t i = 0; list != NULL && i < a->range_count; i++)
        if (!py_append(list, Py_BuildValue("(NNN)", expression(kernel, a->ranges[i].from),
                                           expression(kernel, a->ranges[i].to),
                                           expression(kernel, a->ranges[i].step))))
            Py_CLEAR(list);
    return list;
}

static PyObject *accesses(const spad_kernel *kernel, const spad_statement *s) {
    PyObject *list = PyList_New(0);
    for (size_t i = 0; list != NULL && i < s->access_count; i++) {
        const spad_kernel_access *a = spad_kernel_get_access(kernel, s->first_access + i);
        if (!py_append(list,
                       Py_BuildValue("{s:s,s:N,s:N,s:N,s:N,s:N,s:z,s:i,s:i,s:i}", "kind",
                                     py_access_word(a->kind), "tensor",
                                     py_tensor_name(kernel, a->tensor), "index",
                                     expressions(kernel, a->index, a->index_count), "counts",
                                     texts(kernel, a->index, a->index_count, counted), "ranges",
                                     ranges(kernel, a), "moves", expression(kernel, a->moves),
                                     "spread", a->spread, "line", (int)a->location.line, "column",
                                     (int)a->location.column, "width", (int)a->location.width)))
            Py_CLEAR(list);
    }
    return list;
}

static PyObject *completions(const spad_kernel *kernel, const spad_statement *s) {
    PyObject *list = PyList_New(0);
    for (size_t i = 0; list != NULL && i < s->completion_count; i++) {
        const spad_kernel_completion *c =
            spad_kernel_get_completion(kernel, s->first_completion + i);
        if (!py_append(list, Py_BuildValue("{s:s,s:N,s:N,s:N}", "kind", py_completion_word(c->kind),
                                           "object", py_sync_name(kernel, c->object), "index",
                                           expressions(kernel, c->index, c->index_count), "amount",
                                           expression(kernel, c->amount))))
            Py_CLEAR(list);
    }
    return list;
}

/* The thing that a statement is about, by name. */
static PyObject *item(const spad_kernel *kernel, const spad_statement *s) {
    switch (s->kind) {
    case SPAD_STATEMENT_TENSOR:
    case SPAD_STATEMENT_ALLOC:
    case SPAD_STATEMENT_FREE: return py_tensor_name(kernel, s->item);
    case SPAD_STATEMENT_FOR: return py_loop_name(kernel, s->item);
    case SPAD_STATEMENT_AGENT: return py_agent_name(kernel, s->item);
    case SPAD_STATEMENT_CURSOR:
    case SPAD_STATEMENT_ADVANCE:
        return py_string(spad_kernel_get_cursor(kernel, (size_t)s->item)->stage);
    case SPAD_STATEMENT_BREAK:
    case SPAD_STATEMENT_IF:
    case SPAD_STATEMENT_ELSE:
    case SPAD_STATEMENT_SCOPE:
    case SPAD_STATEMENT_SECTION:
    case SPAD_STATEMENT_OPERATION: return py_string(s->name);
    default: return py_sync_name(kernel, s->item);
    }
}

static PyObject *statement_row(const spad_kernel *kernel, size_t i) {
    const spad_statement *s = spad_kernel_get_statement(kernel, i);
    PyObject *row = Py_BuildValue(
        "{s:s,s:N,s:i,s:n,s:N,s:N,s:N,s:N,s:N,s:N,s:N,s:N}", "kind",
        spad_statement_kind_name(s->kind), "item", item(kernel, s), "line", (int)s->location.line,
        "end", (Py_ssize_t)s->end, "parent", py_fact(s->parent, -1), "agent",
        py_agent_name(kernel, s->agent), "loop", py_loop_name(kernel, s->loop), "index",
        expressions(kernel, s->index, s->index_count), "amount", expression(kernel, s->amount),
        "engine", py_engine_name(kernel, s->engine), "unit", unit_name(kernel, s->unit), "source",
        py_fact(s->source, -1));
    if (row == NULL || s->kind != SPAD_STATEMENT_OPERATION) return row;
    if (py_put(row, "accesses", accesses(kernel, s)) &&
        py_put(row, "completions", completions(kernel, s)) &&
        py_put(row, "group", py_sync_name(kernel, s->group)) &&
        py_put(row, "cost", expression(kernel, s->cost)))
        return row;
    Py_DECREF(row);
    return NULL;
}

/* ---- tables ------------------------------------------------------------------------ */

typedef struct table {
    const char *name;
    size_t (*count)(const spad_kernel *kernel);
    PyObject *(*row)(const spad_kernel *kernel, size_t number);
} table;

static const table tables[] = {
    {"tensors", spad_kernel_tensor_count, tensor_row},
    {"regions", spad_kernel_region_count, region_row},
    {"units", spad_kernel_unit_count, unit_row},
    {"syncs", spad_kernel_sync_count, sync_row},
    {"agents", spad_kernel_agent_count, agent_row},
    {"loops", spad_kernel_loop_count, loop_row},
    {"cursors", spad_kernel_cursor_count, cursor_row},
    {"unknowns", spad_kernel_unknown_count, unknown_row},
    {"sources", spad_kernel_source_count, source_row},
    {"statements", spad_kernel_statement_count, statement_row},
};

PyObject *py_kernel_table(PyObject *self, void *name) {
    const spad_kernel *kernel = ((py_kernel *)self)->kernel;
    const table *t = tables;
    while (strcmp(t->name, name) != 0) t++;
    PyObject *list = PyList_New(0);
    for (size_t i = 0; list != NULL && i < t->count(kernel); i++)
        if (!py_append(list, t->row(kernel, i))) Py_CLEAR(list);
    return list;
}
