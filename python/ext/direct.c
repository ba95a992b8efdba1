/* SPDX-License-Identifier: Apache-2.0
 *
 * Direct: tensors that a kernel places itself, and the rings of the modular allocator.
 */
#include "common.h"

typedef struct py_direct {
    PyObject_HEAD spad_direct *direct;
    PyObject *target;
    PyObject *trace; /* or NULL */
    py_guard guard;  /* of a declaration, which calls a function that places tiles */
} py_direct;

static spad_direct *direct_in(PyObject *self) {
    return ((py_direct *)self)->direct;
}

static PyObject *direct_new(PyTypeObject *type, PyObject *args, PyObject *keywords) {
    static char *names[] = {"target", "force_auto", "trace", NULL};
    PyObject *target, *trace = Py_None;
    int force = 0;
    if (!PyArg_ParseTupleAndKeywords(args, keywords, "O|pO:Direct", names, &target, &force, &trace))
        return NULL;
    if (trace != Py_None && !PyObject_TypeCheck(trace, py.trace)) {
        PyErr_SetString(PyExc_TypeError, "trace is a Trace or None");
        return NULL;
    }
    py_direct *self = py_new(type);
    if (self == NULL) return NULL;
    spad_direct_options options = {.force_auto = force != 0};
    if (trace != Py_None) {
        Py_INCREF(trace);
        self->trace = trace;
        options.trace = ((py_trace *)trace)->trace;
    }
    self->target = (PyObject *)py_target_of(target);
    spad_error error;
    if (self->target != NULL &&
        spad_direct_create(&self->direct, ((py_target *)self->target)->target, &options, &error) !=
            SPAD_OK)
        py_raise(&error);
    if (self->direct == NULL) Py_CLEAR(self);
    return (PyObject *)self;
}

PY_TRAVERSE(direct_traverse, py_direct, self->target, self->trace)

static void direct_dealloc(PyObject *object) {
    PyObject_GC_UnTrack(object);
    py_direct *self = (py_direct *)object;
    spad_direct_destroy(self->direct);
    Py_XDECREF(self->trace);
    Py_XDECREF(self->target);
    py_free(object);
}

/* ---- declarations ------------------------------------------------------------------ */

typedef struct callback {
    PyObject *function;
    size_t rank; /* of the block index */
} callback;

/* The answer is (lane, byte), or (bank, lane, byte). */
static bool read_spot(spad_direct_spot *out, PyObject *answer) {
    PyObject *tuple = PySequence_Tuple(answer);
    if (tuple == NULL) return false;
    int64_t n[3] = {0};
    const Py_ssize_t count = PyTuple_Size(tuple);
    bool fine = count == 2 || count == 3;
    if (!fine)
        PyErr_SetString(PyExc_TypeError,
                        "a place is (start_partition, byte_addr) or (bank, start_partition, "
                        "byte_addr)");
    for (Py_ssize_t i = 0; fine && i < count; i++)
        fine = py_int(&n[3 - count + i], PyTuple_GetItem(tuple, i));
    Py_DECREF(tuple);
    *out = (spad_direct_spot){n[0], n[1], n[2]};
    return fine;
}

static spad_status place_tile(spad_direct_spot *out, const int64_t *index, int64_t lanes,
                              int64_t bytes, void *context, spad_error *error) {
    const callback *c = context;
    (void)error;
    PyObject *tuple = py_tuple_of(index, c->rank);
    PyObject *answer = tuple == NULL ? NULL
                                     : PyObject_CallFunction(c->function, "OLL", tuple,
                                                             (long long)lanes, (long long)bytes);
    Py_XDECREF(tuple);
    if (answer == NULL) return SPAD_ERR_ARGUMENT;
    const bool fine = read_spot(out, answer);
    Py_DECREF(answer);
    return fine ? SPAD_OK : SPAD_ERR_ARGUMENT;
}

static bool read_counts(spad_shape *out, int64_t dims[SPAD_RANK_MAX], PyObject *object) {
    *out = (spad_shape){0, dims};
    return object == Py_None || py_shape(out, dims, object);
}

static PyObject *direct_declare(PyObject *self, PyObject *args, PyObject *keywords) {
    static char *names[] = {"space",      "tile", "dtype",  "block",       "name",
                            "mode",       "func", "base",   "bank_tiles",  "par_tiles",
                            "free_tiles", "ring", "output", "implicit_of", NULL};
    PyObject *tile, *dtype, *block = Py_None, *function = Py_None, *base = Py_None,
                            *banks = Py_None, *lanes = Py_None, *free_tiles = Py_None,
                            *ring = Py_None;
    const char *mode = "auto";
    int output = 0;
    spad_direct_tensor t = {0};
    if (!PyArg_ParseTupleAndKeywords(args, keywords, "sOO|OzsOOOOOOpz:declare", names, &t.space,
                                     &tile, &dtype, &block, &t.name, &mode, &function, &base,
                                     &banks, &lanes, &free_tiles, &ring, &output, &t.implicit_of))
        return NULL;
    int64_t dims[6][SPAD_RANK_MAX];
    if (!read_counts(&t.block, dims[0], block) || !py_shape(&t.tile, dims[1], tile) ||
        !py_dtype(&t.dtype, dtype) || !read_counts(&t.rings.bank_tiles, dims[2], banks) ||
        !read_counts(&t.rings.lane_tiles, dims[3], lanes) ||
        !read_counts(&t.rings.free_tiles, dims[4], free_tiles) ||
        !read_counts(&t.ring, dims[5], ring))
        return NULL;
    callback call = {function, t.block.rank};
    spad_direct_spot spot = {0};
    if (base != Py_None && !read_spot(&spot, base)) return NULL;
    t.output = output != 0;
    if (strcmp(mode, "func") == 0) {
        t.mode = SPAD_MODE_FUNC;
        t.func = place_tile;
        t.context = &call;
    } else if (strcmp(mode, "mod") == 0) {
        t.mode = SPAD_MODE_MOD;
        t.rings.base = spot;
    } else if (strcmp(mode, "at") == 0) {
        t.mode = SPAD_MODE_AT;
        t.spots = &spot;
        t.spot_count = 1;
    }
    size_t number;
    spad_error error;
    py_guard *guard = &((py_direct *)self)->guard;
    if (!py_change_begin(guard)) return NULL;
    const spad_status status = spad_direct_declare(&number, direct_in(self), &t, &error);
    py_change_end(guard);
    if (PyErr_Occurred()) return NULL; /* the function's own */
    return status == SPAD_OK ? PyLong_FromSize_t(number) : py_raise(&error);
}

static bool read_tensor(spad_direct_info *out, size_t *tensor, PyObject *self, PyObject *object) {
    int64_t n;
    spad_error error;
    if (!py_int(&n, object)) return false;
    *tensor = n < 0 ? SIZE_MAX : (size_t)n;
    return spad_direct_get(out, direct_in(self), *tensor, &error) == SPAD_OK ||
           py_raise(&error) != NULL;
}

/* A row of the placement table. */
static PyObject *tile_row(PyObject *self, size_t tensor, const spad_direct_info *info,
                          const spad_direct_tile *t) {
    int64_t index[SPAD_RANK_MAX];
    spad_error error;
    if (spad_direct_tile_index(index, direct_in(self), tensor, t->tile, &error) != SPAD_OK)
        return py_raise(&error);
    return Py_BuildValue("{s:L,s:N,s:L,s:N,s:L,s:L,s:N,s:L}", "tile", (long long)t->tile, "index",
                         py_tuple_of(index, info->block.rank), "physical", (long long)t->physical,
                         "next", py_fact(t->next, -1), "bank", (long long)t->spot.bank, "lane",
                         (long long)t->spot.lane, "byte", py_fact(t->spot.byte, SPAD_NO_BYTE),
                         "bytes", (long long)info->bytes);
}

typedef spad_status (*tile_call)(spad_direct_tile *out, const spad_direct *direct, size_t tensor,
                                 int64_t number, spad_error *error);

static PyObject *all_tiles(PyObject *self, PyObject *object, bool physical) {
    const tile_call call = physical ? spad_direct_get_physical : spad_direct_get_tile;
    size_t tensor;
    spad_direct_info info;
    spad_error error;
    if (!read_tensor(&info, &tensor, self, object)) return NULL;
    PyObject *list = PyList_New(0);
    for (int64_t i = 0; list != NULL && i < (physical ? info.physical : info.tiles); i++) {
        spad_direct_tile t;
        if (call(&t, direct_in(self), tensor, i, &error) != SPAD_OK) {
            Py_DECREF(list);
            return py_raise(&error);
        }
        if (!py_append(list, tile_row(self, tensor, &info, &t))) Py_CLEAR(list);
    }
    return list;
}

static PyObject *direct_tiles(PyObject *self, PyObject *tensor) {
    return all_tiles(self, tensor, false);
}

static PyObject *direct_physical(PyObject *self, PyObject *tensor) {
    return all_tiles(self, tensor, true);
}

static PyObject *direct_find(PyObject *self, PyObject *name) {
    const char *text = py_chars(name);
    size_t tensor;
    spad_error error;
    if (text == NULL) return NULL;
    if (spad_direct_find(&tensor, direct_in(self), text, &error) != SPAD_OK)
        return py_raise(&error);
    return PyLong_FromSize_t(tensor);
}

static PyObject *direct_info(PyObject *self, PyObject *object) {
    size_t tensor;
    spad_direct_info i;
    if (!read_tensor(&i, &tensor, self, object)) return NULL;
    const spad_target *target = ((py_target *)((py_direct *)self)->target)->target;
    return Py_BuildValue("{s:N,s:s,s:s,s:N,s:N,s:s,s:O,s:L,s:L,s:L,s:L}", "name", py_string(i.name),
                         "space", target->spaces[i.space].name, "dtype", spad_dtype_name(i.dtype),
                         "block", py_tuple_of(i.block.dims, i.block.rank), "tile",
                         py_tuple_of(i.tile.dims, i.tile.rank), "mode", spad_mode_name(i.mode),
                         "output", i.output ? Py_True : Py_False, "lanes", (long long)i.lanes,
                         "bytes", (long long)i.bytes, "tiles", (long long)i.tiles, "physical",
                         (long long)i.physical);
}

static PyObject *direct_tile_number(PyObject *self, PyObject *args) {
    PyObject *object, *given;
    size_t tensor;
    spad_direct_info info;
    spad_shape index;
    int64_t dims[SPAD_RANK_MAX], tile;
    spad_error error;
    if (!PyArg_ParseTuple(args, "OO:tile_number", &object, &given) ||
        !read_tensor(&info, &tensor, self, object) || !py_shape(&index, dims, given))
        return NULL;
    if (index.rank != info.block.rank) {
        PyErr_Format(py.errors[PY_ARGUMENT_ERROR],
                     "a block index of this tensor has %zu numbers, not %zu", info.block.rank,
                     index.rank);
        return NULL;
    }
    if (spad_direct_tile_number(&tile, direct_in(self), tensor, dims, &error) != SPAD_OK)
        return py_raise(&error);
    return PyLong_FromLongLong(tile);
}

static PyObject *direct_overlaps(PyObject *self, PyObject *unused) {
    (void)unused;
    size_t count;
    spad_error error;
    if (spad_direct_list_overlaps(&count, NULL, 0, direct_in(self), &error) != SPAD_OK)
        return py_raise(&error);
    spad_direct_overlap *rows = PyMem_Calloc(count + 1, sizeof *rows);
    if (rows == NULL) return PyErr_NoMemory();
    PyObject *list = NULL;
    if (spad_direct_list_overlaps(&count, rows, count, direct_in(self), &error) == SPAD_OK)
        list = PyList_New(0);
    else
        py_raise(&error);
    for (size_t i = 0; list != NULL && i < count; i++) {
        const spad_direct_overlap *o = &rows[i];
        if (!py_append(list, Py_BuildValue("{s:n,s:L,s:n,s:L,s:L,s:L}", "tensor_a",
                                           (Py_ssize_t)o->tensor_a, "tile_a", (long long)o->tile_a,
                                           "tensor_b", (Py_ssize_t)o->tensor_b, "tile_b",
                                           (long long)o->tile_b, "byte", (long long)o->shared.byte,
                                           "bytes", (long long)o->shared.bytes)))
            Py_CLEAR(list);
    }
    PyMem_Free(rows);
    return list;
}

static PyObject *direct_findings(PyObject *self, PyObject *unused) {
    (void)unused;
    const size_t count = spad_direct_list_findings(NULL, 0, direct_in(self));
    spad_finding *rows = PyMem_Calloc(count + 1, sizeof *rows);
    if (rows == NULL) return PyErr_NoMemory();
    spad_direct_list_findings(rows, count, direct_in(self));
    PyObject *list = PyList_New(0);
    for (size_t i = 0; list != NULL && i < count; i++) {
        if (!py_append(list, py_finding(&rows[i]))) Py_CLEAR(list);
    }
    PyMem_Free(rows);
    return list;
}

static PyObject *direct_close(PyObject *self, PyObject *unused) {
    (void)unused;
    py_guard *guard = &((py_direct *)self)->guard;
    if (!py_change_begin(guard)) return NULL;
    spad_direct_close(direct_in(self));
    py_change_end(guard);
    Py_RETURN_NONE;
}

static Py_ssize_t direct_length(PyObject *self) {
    return (Py_ssize_t)spad_direct_count(direct_in(self));
}

static PyMethodDef direct_methods[] = {
    {"declare", PY_FUNC(direct_declare), METH_VARARGS | METH_KEYWORDS,
     "declare($self, space, tile, dtype, block=None, name=None, mode='auto', func=None, base=None, "
     "bank_tiles=None, par_tiles=None, free_tiles=None, ring=None, output=False, "
     "implicit_of=None)\n--\n\nDeclares a tensor; mode is auto, at, mod or func."},
    {"info", direct_info, METH_O, "info($self, number, /)\n--\n\nWhat is known of a tensor."},
    {"find", direct_find, METH_O, "find($self, name, /)\n--\n\nThe number of a tensor."},
    {"tiles", direct_tiles, METH_O,
     "tiles($self, number, /)\n--\n\nThe place of every logical tile."},
    {"physical", direct_physical, METH_O,
     "physical($self, number, /)\n--\n\nThe places themselves, each with the first tile in it; "
     "next is the next one."},
    {"tile_number", direct_tile_number, METH_VARARGS,
     "tile_number($self, number, index, /)\n--\n\nThe logical tile at a block index."},
    {"overlaps", direct_overlaps, METH_NOARGS,
     "overlaps($self, /)\n--\n\nPhysical tiles that share bytes."},
    {"findings", direct_findings, METH_NOARGS,
     "findings($self, /)\n--\n\nWhat is wrong with the kernel as a whole."},
    {"close", direct_close, METH_NOARGS, "close($self, /)\n--\n\nEnds the kernel."},
    {NULL, NULL, 0, NULL}};

PY_TYPE_OPEN(direct, "Direct",
             "Direct(target, force_auto=False, trace=None)\n--\n\nTensors with places of their "
             "author (docs/direct.md).",
             {Py_tp_new, PY_SLOT(direct_new)}, {Py_tp_methods, direct_methods},
             {Py_sq_length, PY_SLOT(direct_length)});

/* ---- the modular allocator --------------------------------------------------------- */

static PyObject *modular(PyObject *module, PyObject *args) {
    (void)module;
    long long cursor, align_to;
    PyObject *shape, *dtype, *block, *free_tiles;
    if (!PyArg_ParseTuple(args, "LOOOOL:modular", &cursor, &shape, &dtype, &block, &free_tiles,
                          &align_to))
        return NULL;
    spad_modular state = {cursor};
    spad_modular_request request = {.align_to = align_to};
    spad_modular_tensor t;
    int64_t dims[3][SPAD_RANK_MAX];
    spad_error error;
    if (!py_shape(&request.shape, dims[0], shape) || !py_dtype(&request.dtype, dtype) ||
        !read_counts(&request.block, dims[1], block) ||
        !read_counts(&request.free_tiles, dims[2], free_tiles))
        return NULL;
    if (spad_modular_alloc(&t, &state, &request, &error) != SPAD_OK) return py_raise(&error);
    return Py_BuildValue("(LLL)", (long long)state.cursor, (long long)t.base,
                         (long long)t.tile_bytes);
}

static PyMethodDef functions[] = {
    {"modular", modular, METH_VARARGS,
     "modular($module, cursor, shape, dtype, block, free_tiles, align_to, /)\n--\n\nThe next "
     "modulo ring at a cursor: (cursor, base, tile_bytes)."},
    {NULL, NULL, 0, NULL}};

int py_add_direct(PyObject *module) {
    if (py_add_type(module, &py.direct, &direct_spec) != 0) return -1;
    return PyModule_AddFunctions(module, functions);
}
