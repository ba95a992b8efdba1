/* SPDX-License-Identifier: Apache-2.0
 *
 * Element types, sizes, constants, codes and names: functions about plain numbers. And
 * Tmem: tensor memory, followed column by column.
 */
#include "common.h"

/* ---- element types and sizes ------------------------------------------------------- */

static PyObject *dtype_name(PyObject *module, PyObject *object) {
    (void)module;
    spad_dtype dtype;
    return py_dtype(&dtype, object) ? py_string(spad_dtype_name(dtype)) : NULL;
}

static PyObject *dtype_bytes(PyObject *module, PyObject *object) {
    (void)module;
    spad_dtype dtype;
    return py_dtype(&dtype, object) ? PyLong_FromLongLong(spad_dtype_bytes(dtype)) : NULL;
}

static PyObject *dtype_bits(PyObject *module, PyObject *object) {
    (void)module;
    spad_dtype dtype;
    return py_dtype(&dtype, object) ? PyLong_FromLong(spad_dtype_bits(dtype)) : NULL;
}

static bool read_array(spad_shape *shape, int64_t dims[SPAD_RANK_MAX], spad_dtype *dtype,
                       PyObject *args, const char *format) {
    PyObject *extents, *type;
    return PyArg_ParseTuple(args, format, &extents, &type) && py_shape(shape, dims, extents) &&
           py_dtype(dtype, type);
}

static PyObject *shape_bytes(PyObject *module, PyObject *args) {
    (void)module;
    int64_t dims[SPAD_RANK_MAX], bytes;
    spad_shape shape;
    spad_dtype dtype;
    spad_error error;
    if (!read_array(&shape, dims, &dtype, args, "OO:shape_bytes")) return NULL;
    if (spad_shape_bytes(&bytes, shape, dtype, &error) != SPAD_OK) return py_raise(&error);
    return PyLong_FromLongLong(bytes);
}

static PyObject *tile_bytes(PyObject *module, PyObject *args) {
    (void)module;
    int64_t dims[SPAD_RANK_MAX], lanes, bytes;
    spad_shape shape;
    spad_dtype dtype;
    spad_error error;
    if (!read_array(&shape, dims, &dtype, args, "OO:tile_bytes")) return NULL;
    if (spad_tile_bytes(&lanes, &bytes, shape, dtype, &error) != SPAD_OK) return py_raise(&error);
    return Py_BuildValue("(LL)", (long long)lanes, (long long)bytes);
}

static PyObject *is_aligned(PyObject *module, PyObject *args) {
    (void)module;
    long long address, align;
    if (!PyArg_ParseTuple(args, "LL:is_aligned", &address, &align)) return NULL;
    return PyBool_FromLong(spad_is_aligned(address, align));
}

static PyObject *rects_overlap(PyObject *module, PyObject *args) {
    (void)module;
    long long a[4], b[4];
    if (!PyArg_ParseTuple(args, "(LLLL)(LLLL):rects_overlap", &a[0], &a[1], &a[2], &a[3], &b[0],
                          &b[1], &b[2], &b[3]))
        return NULL;
    const spad_rect one = {a[0], a[1], a[2], a[3]}, other = {b[0], b[1], b[2], b[3]};
    return PyBool_FromLong(spad_rect_overlaps(one, other));
}

/* ---- constants --------------------------------------------------------------------- */

static PyObject *value_pair(const spad_value *value) {
    return Py_BuildValue("(sK)", spad_dtype_name(value->dtype), (unsigned long long)value->bits);
}

/* The upper half of uint64, which the library's signed numbers do not reach. */
static bool upper_half(spad_value *out, PyObject *object) {
    PyObject *number = PyNumber_Index(object);
    if (number == NULL) return false;
    *out = (spad_value){SPAD_UINT64, PyLong_AsUnsignedLongLong(number)};
    Py_DECREF(number);
    const bool done = !PyErr_Occurred() && out->bits > INT64_MAX;
    PyErr_Clear();
    return done;
}

bool py_value(spad_value *out, PyObject *object, spad_dtype dtype) {
    spad_error error;
    spad_status status;
    if (dtype == SPAD_UINT64 && PyIndex_Check(object) && upper_half(out, object)) return true;
    if (PyErr_Occurred()) return false;
    if (PyFloat_Check(object) || !PyIndex_Check(object)) {
        const double number = PyFloat_AsDouble(object);
        if (number == -1 && PyErr_Occurred()) return false;
        status = spad_value_from_real(out, dtype, number, &error);
    } else {
        int64_t number;
        if (!py_int(&number, object)) return false;
        status = spad_value_from_int(out, dtype, number, &error);
    }
    return status == SPAD_OK || py_raise(&error) != NULL;
}

static PyObject *value(PyObject *module, PyObject *args) {
    (void)module;
    PyObject *type, *number;
    spad_dtype dtype;
    spad_value v;
    if (!PyArg_ParseTuple(args, "OO:value", &type, &number) || !py_dtype(&dtype, type) ||
        !py_value(&v, number, dtype))
        return NULL;
    return value_pair(&v);
}

static PyObject *reduce_identity(PyObject *module, PyObject *args) {
    (void)module;
    const char *name;
    PyObject *type;
    spad_dtype dtype;
    spad_reduce op;
    spad_value v;
    spad_error error;
    if (!PyArg_ParseTuple(args, "sO:reduce_identity", &name, &type) || !py_dtype(&dtype, type))
        return NULL;
    if (spad_reduce_parse(&op, name, &error) != SPAD_OK ||
        spad_reduce_identity(&v, op, dtype, &error) != SPAD_OK)
        return py_raise(&error);
    return value_pair(&v);
}

static PyObject *reduce_names(PyObject *module, PyObject *unused) {
    (void)module;
    (void)unused;
    PyObject *list = PyList_New(0);
    for (int i = 0; list != NULL && i < SPAD_REDUCE_COUNT; i++)
        if (!py_append(list, py_string(spad_reduce_name((spad_reduce)i)))) Py_CLEAR(list);
    return list;
}

/* ---- codes and names --------------------------------------------------------------- */

static PyObject *codes(PyObject *module, PyObject *unused) {
    (void)module;
    (void)unused;
    PyObject *dict = PyDict_New();
    bool fine = dict != NULL;
#define STATUS(name, number, code, sentence) \
    fine = fine && py_put(dict, code, py_string(spad_status_sentence(SPAD_ERR_##name)));
    SPAD_STATUS_LIST(STATUS)
#undef STATUS
#define FINDING(name, number, severity, code, sentence) \
    fine = fine && py_put(dict, code, py_string(spad_finding_sentence(SPAD_FINDING_##name)));
    SPAD_FINDING_LIST(FINDING)
#undef FINDING
    if (!fine) Py_CLEAR(dict);
    return dict;
}

static PyObject *time_text(PyObject *module, PyObject *picoseconds) {
    (void)module;
    int64_t time;
    char field[SPAD_TIME_TEXT];
    return py_int(&time, picoseconds) ? py_string(spad_time_text(time, field)) : NULL;
}

static PyObject *close_names(PyObject *module, PyObject *args) {
    (void)module;
    const char *word;
    PyObject *given;
    if (!PyArg_ParseTuple(args, "sO:close_names", &word, &given)) return NULL;
    const char **names;
    size_t count;
    PyObject *keep;
    char field[SPAD_MESSAGE_MAX];
    if (!py_names(&names, &count, &keep, given)) return NULL;
    spad_close_names(field, sizeof field, word, names, count);
    PyMem_Free((void *)names);
    Py_DECREF(keep);
    return py_string(field);
}

/* ---- tensor memory ----------------------------------------------------------------- */

typedef struct py_tmem {
    PyObject_HEAD spad_tmem tmem;
    PyObject *target;
} py_tmem;

static PyObject *tmem_new(PyTypeObject *type, PyObject *args, PyObject *keywords) {
    static char *names[] = {"target", NULL};
    PyObject *given;
    spad_error error;
    if (!PyArg_ParseTupleAndKeywords(args, keywords, "O:Tmem", names, &given)) return NULL;
    py_target *target = py_target_of(given);
    if (target == NULL) return NULL;
    py_tmem *self = py_new(type);
    if (self == NULL) {
        Py_DECREF((PyObject *)target);
        return NULL;
    }
    self->target = (PyObject *)target;
    if (spad_tmem_init(&self->tmem, target->target, &error) == SPAD_OK) return (PyObject *)self;
    Py_DECREF((PyObject *)self);
    return py_raise(&error);
}

PY_TRAVERSE(tmem_traverse, py_tmem, self->target)

static void tmem_dealloc(PyObject *self) {
    PyObject_GC_UnTrack(self);
    Py_XDECREF(((py_tmem *)self)->target);
    py_free(self);
}

static spad_tmem *tmem_in(PyObject *self) {
    return &((py_tmem *)self)->tmem;
}

static PyObject *tmem_alloc(PyObject *self, PyObject *args, PyObject *keywords) {
    static char *names[] = {"columns", "warp", NULL};
    long long columns, warp = 0;
    int64_t column;
    spad_error error;
    if (!PyArg_ParseTupleAndKeywords(args, keywords, "L|L:alloc", names, &columns, &warp))
        return NULL;
    if (spad_tmem_alloc(&column, tmem_in(self), columns, warp, &error) != SPAD_OK)
        return py_raise(&error);
    return PyLong_FromLongLong(column);
}

static PyObject *tmem_free(PyObject *self, PyObject *args, PyObject *keywords) {
    static char *names[] = {"column", "columns", "warp", NULL};
    long long column, columns, warp = 0;
    spad_error error;
    if (!PyArg_ParseTupleAndKeywords(args, keywords, "LL|L:free", names, &column, &columns, &warp))
        return NULL;
    return py_done(spad_tmem_free(tmem_in(self), column, columns, warp, &error), &error);
}

static PyObject *tmem_relinquish(PyObject *self, PyObject *unused) {
    (void)unused;
    spad_tmem_relinquish(tmem_in(self));
    Py_RETURN_NONE;
}

static PyObject *tmem_finish(PyObject *self, PyObject *unused) {
    (void)unused;
    spad_error error;
    return py_done(spad_tmem_finish(tmem_in(self), &error), &error);
}

static PyMethodDef tmem_methods[] = {
    {"alloc", PY_FUNC(tmem_alloc), METH_VARARGS | METH_KEYWORDS,
     "alloc($self, columns, warp=0)\n--\n\ntcgen05.alloc: the first column."},
    {"free", PY_FUNC(tmem_free), METH_VARARGS | METH_KEYWORDS,
     "free($self, column, columns, warp=0)\n--\n\ntcgen05.dealloc."},
    {"relinquish", tmem_relinquish, METH_NOARGS,
     "relinquish($self, /)\n--\n\nThe block allocates no more."},
    {"finish", tmem_finish, METH_NOARGS,
     "finish($self, /)\n--\n\nThe block ends: StateError if columns are still held."},
    {NULL, NULL, 0, NULL}};

PY_TYPE_OPEN(tmem, "Tmem",
             "Tmem(target)\n--\n\nThe tensor memory of one thread block: what the hardware would "
             "refuse is an exception (docs/block.md).",
             {Py_tp_new, PY_SLOT(tmem_new)}, {Py_tp_methods, tmem_methods});

/* A tensor is (name, lanes, columns, begin, end) or also (..., freed_by_hand). */
static bool read_tensor(spad_tmem_tensor *out, PyObject *row) {
    long long n[4];
    int freed = 0;
    if (!PyTuple_Check(row)) {
        PyErr_SetString(PyExc_TypeError, "a tensor is (name, lanes, columns, begin, end)");
        return false;
    }
    if (!PyArg_ParseTuple(row, "zLLLL|p", &out->name, &n[0], &n[1], &n[2], &n[3], &freed))
        return false;
    out->lanes = n[0];
    out->columns = n[1];
    out->begin = n[2];
    out->end = n[3];
    out->freed_by_hand = freed != 0;
    return true;
}

static PyObject *pack(const spad_tmem_tensor *tensors, size_t count, spad_tmem_packing how) {
    spad_tmem_totals totals;
    spad_tmem_place *places = PyMem_Calloc(count + 1, sizeof *places);
    int64_t *columns = PyMem_Calloc(count + 1, sizeof *columns);
    spad_error error;
    PyObject *list = NULL;
    if (places == NULL || columns == NULL)
        PyErr_NoMemory();
    else if (spad_tmem_pack(&totals, places, columns, tensors, count, how, NULL, &error) != SPAD_OK)
        py_raise(&error);
    else
        list = PyList_New(0);
    for (size_t i = 0; list != NULL && i < count; i++)
        if (!py_append(list, Py_BuildValue("{s:n,s:L,s:L}", "alloc", (Py_ssize_t)places[i].alloc,
                                           "column", (long long)places[i].column, "lane",
                                           (long long)places[i].lane)))
            Py_CLEAR(list);
    PyObject *out =
        list == NULL ? NULL : Py_BuildValue("(NN)", list, py_tuple_of(columns, totals.allocs));
    PyMem_Free(places);
    PyMem_Free(columns);
    return out;
}

static PyObject *tmem_pack(PyObject *module, PyObject *args) {
    (void)module;
    PyObject *given;
    int tilelang = 0;
    if (!PyArg_ParseTuple(args, "O|p:tmem_pack", &given, &tilelang)) return NULL;
    PyObject *rows = PySequence_Tuple(given);
    if (rows == NULL) return NULL;
    const size_t count = (size_t)PyTuple_Size(rows);
    spad_tmem_tensor *tensors = PyMem_Calloc(count + 1, sizeof *tensors);
    bool fine = tensors != NULL || PyErr_NoMemory() != NULL;
    for (size_t i = 0; fine && i < count; i++)
        fine = read_tensor(&tensors[i], PyTuple_GetItem(rows, (Py_ssize_t)i));
    PyObject *out =
        fine ? pack(tensors, count, tilelang ? SPAD_TMEM_TILELANG : SPAD_TMEM_BEST) : NULL;
    PyMem_Free(tensors);
    Py_DECREF(rows);
    return out;
}

static PyObject *tmem_alignment(PyObject *module, PyObject *columns) {
    (void)module;
    int64_t n;
    return py_int(&n, columns) ? PyLong_FromLongLong(spad_tmem_alignment(n)) : NULL;
}

/* ----  ------------------------------------------------------------------------------ */

static PyMethodDef functions[] = {
    {"dtype_name", dtype_name, METH_O,
     "dtype_name($module, dtype, /)\n--\n\nThe canonical name of an element type in any spelling."},
    {"dtype_bytes", dtype_bytes, METH_O,
     "dtype_bytes($module, dtype, /)\n--\n\nBytes of one element."},
    {"dtype_bits", dtype_bits, METH_O, "dtype_bits($module, dtype, /)\n--\n\nBits of one element."},
    {"shape_bytes", shape_bytes, METH_VARARGS,
     "shape_bytes($module, shape, dtype, /)\n--\n\nBytes of a dense array; 4-bit types pack two to "
     "a byte."},
    {"tile_bytes", tile_bytes, METH_VARARGS,
     "tile_bytes($module, shape, dtype, /)\n--\n\nThe same for a tile whose first extent runs "
     "across lanes."},
    {"is_aligned", is_aligned, METH_VARARGS,
     "is_aligned($module, address, align, /)\n--\n\nIs the address a multiple of the alignment?"},
    {"rects_overlap", rects_overlap, METH_VARARGS,
     "rects_overlap($module, a, b, /)\n--\n\nDo two (lane, lanes, byte, bytes) share bytes?"},
    {"value", value, METH_VARARGS,
     "value($module, dtype, number, /)\n--\n\nA constant as the bits that a chip stores."},
    {"reduce_identity", reduce_identity, METH_VARARGS,
     "reduce_identity($module, op, dtype, /)\n--\n\nThe value that changes nothing."},
    {"reduce_names", reduce_names, METH_NOARGS,
     "reduce_names($module, /)\n--\n\nThe operators that reduce."},
    {"codes", codes, METH_NOARGS,
     "codes($module, /)\n--\n\nEvery code of errors and findings, and a sentence about it."},
    {"time_text", time_text, METH_O,
     "time_text($module, picoseconds, /)\n--\n\n\"12.345 us\" and the like."},
    {"close_names", close_names, METH_VARARGS,
     "close_names($module, word, names, /)\n--\n\n\"; did you mean 'a' or 'b'?\", or \"\"."},
    {"tmem_pack", tmem_pack, METH_VARARGS,
     "tmem_pack($module, tensors, tilelang=False, /)\n--\n\nPacks (name, lanes, columns, begin, "
     "end) into as few columns as possible:\nplaces {alloc, column, lane} and the columns of every "
     "allocation."},
    {"tmem_alignment", tmem_alignment, METH_O,
     "tmem_alignment($module, columns, /)\n--\n\nOf what multiple its first column is."},
    {NULL, NULL, 0, NULL}};

int py_add_values(PyObject *module) {
    if (py_add_type(module, &py.tmem, &tmem_spec) != 0) return -1;
    return PyModule_AddFunctions(module, functions);
}
