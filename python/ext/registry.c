/* SPDX-License-Identifier: Apache-2.0
 *
 * Registry and Component: buffers by name, packed by the rules of CuBIE, with children
 * (docs/registry.md). A Component keeps its Registry; Allocator is a copy of what a
 * kernel needs to find a buffer.
 */
#include "common.h"
#include "spad/experimental/registry_parts.h"

typedef struct py_registry {
    PyObject_HEAD spad_registry *registry;
} py_registry;

typedef struct py_allocator {
    PyObject_HEAD spad_registry_allocator allocator;
    PyObject *inside; /* name of the buffer whose storage it shares, or None */
} py_allocator;

/* NULL with an exception set for anything but a Component. */
static spad_registry *registry_of(PyObject *component) {
    if (PyObject_TypeCheck(component, py.component))
        return ((py_registry *)((py_component *)component)->registry)->registry;
    PyErr_SetString(PyExc_TypeError, "a Component is needed");
    return NULL;
}

static spad_registry *home(PyObject *self) {
    return ((py_registry *)((py_component *)self)->registry)->registry;
}

static spad_component number(PyObject *self) {
    return ((py_component *)self)->number;
}

static PyObject *component_wrap(PyObject *registry, spad_component component) {
    py_component *self = py_new(py.component);
    if (self == NULL) return NULL;
    self->registry = py_keep(registry);
    self->number = component;
    return (PyObject *)self;
}

/* ---- registries -------------------------------------------------------------------- */

static PyObject *registry_new(PyTypeObject *type, PyObject *args, PyObject *keywords) {
    static char *names[] = {NULL};
    spad_error error;
    if (!PyArg_ParseTupleAndKeywords(args, keywords, ":Registry", names)) return NULL;
    py_registry *self = py_new(type);
    if (self == NULL) return NULL;
    if (spad_registry_create(&self->registry, NULL, &error) == SPAD_OK) return (PyObject *)self;
    Py_DECREF((PyObject *)self);
    return py_raise(&error);
}

PY_TRAVERSE(registry_traverse, py_registry, NULL)

static void registry_dealloc(PyObject *self) {
    PyObject_GC_UnTrack(self);
    spad_registry_destroy(((py_registry *)self)->registry);
    py_free(self);
}

static spad_registry *registry_in(PyObject *self) {
    return ((py_registry *)self)->registry;
}

static PyObject *registry_add(PyObject *self, PyObject *const *args, Py_ssize_t count,
                              PyObject *keywords) {
    static const char *const names[] = {"name", "precision", NULL};
    PyObject *given[2];
    const char *name = NULL;
    spad_dtype precision = SPAD_FLOAT32;
    spad_component component;
    spad_error error;
    if (!py_take(given, "add", names, 1, args, count, keywords) ||
        !py_utf8(&name, NULL, given[0]) ||
        (given[1] != NULL && given[1] != Py_None && !py_dtype(&precision, given[1])))
        return NULL;
    if (spad_registry_add(&component, registry_in(self), name, precision, &error) != SPAD_OK)
        return py_raise(&error);
    return component_wrap(self, component);
}

static PyObject *registry_components(PyObject *self, void *unused) {
    (void)unused;
    const spad_registry *registry = registry_in(self);
    PyObject *list = PyList_New(0);
    for (spad_component at = spad_registry_next(registry, SPAD_NO_COMPONENT);
         list != NULL && at != SPAD_NO_COMPONENT; at = spad_registry_next(registry, at))
        if (!py_append(list, component_wrap(self, at))) Py_CLEAR(list);
    return list;
}

PY_GETTER(registry_groups, PyLong_FromSize_t(spad_registry_group_count(registry_in(self))))

static PyObject *registry_reset(PyObject *self, PyObject *unused) {
    (void)unused;
    spad_registry_reset(registry_in(self));
    Py_RETURN_NONE;
}

static PyMethodDef registry_methods[] = {
    {"add", PY_FUNC(registry_add), PY_FAST,
     "add($self, name, precision='float32')\n--\n\nA component without buffers."},
    {"reset", registry_reset, METH_NOARGS,
     "reset($self, /)\n--\n\nDrops the buffers of every component."},
    {NULL, NULL, 0, NULL}};

static PyGetSetDef registry_fields[] = {
    {.name = "components", .get = registry_components, .doc = "Its components."},
    {.name = "group_count",
     .get = registry_groups,
     .doc = "Components that have registered something."},
    {.name = NULL}};

PY_TYPE_OPEN(registry, "Registry",
             "Registry()\n--\n\nThe buffers of components, laid out by name (docs/registry.md).",
             {Py_tp_new, PY_SLOT(registry_new)}, {Py_tp_methods, registry_methods},
             {Py_tp_getset, registry_fields});

/* ---- buffers ----------------------------------------------------------------------- */

static bool given_text(const char **out, PyObject *object) {
    *out = NULL;
    return object == NULL || object == Py_None || py_utf8(out, NULL, object);
}

/* Which end of a lifetime is given. */
enum { GIVEN_BEGIN = 1 << 8, GIVEN_END = 1 << 9 };

enum { NAME, SIZE, LOCATION, PERSISTENT, ALIASES, PRECISION, BEGIN, END, FIELDS };

/* Fills a buffer from what was given; *fields: which of its fields that are. */
static bool read_buffer(spad_registry_buffer *out, unsigned *fields, const char *function,
                        PyObject *const *args, Py_ssize_t count, PyObject *keywords,
                        size_t needed) {
    static const char *const names[] = {"name",      "size",  "location", "persistent", "aliases",
                                        "precision", "begin", "end",      NULL};
    static const unsigned bits[FIELDS] = {[SIZE] = SPAD_REGISTRY_BUFFER_SIZE,
                                          [LOCATION] = SPAD_REGISTRY_BUFFER_LOCATION,
                                          [PERSISTENT] = SPAD_REGISTRY_BUFFER_PERSISTENT,
                                          [ALIASES] = SPAD_REGISTRY_BUFFER_ALIASES,
                                          [PRECISION] = SPAD_REGISTRY_BUFFER_PRECISION,
                                          [BEGIN] = GIVEN_BEGIN,
                                          [END] = GIVEN_END};
    PyObject *given[FIELDS];
    const char *location;
    spad_error error;
    if (!py_take(given, function, names, needed, args, count, keywords)) return false;
    *fields = 0;
    for (int i = SIZE; i < FIELDS; i++)
        if (given[i] != NULL) *fields |= bits[i];
    if (!py_utf8(&out->name, NULL, given[NAME]) || !py_int_or(&out->size, given[SIZE], 0) ||
        !given_text(&location, given[LOCATION]) ||
        !py_flag(&out->persistent, given[PERSISTENT], false) ||
        !given_text(&out->aliases, given[ALIASES]) || !py_int_or(&out->t_begin, given[BEGIN], 0) ||
        !py_int_or(&out->t_end, given[END], 0))
        return false;
    if (given[PRECISION] != NULL && given[PRECISION] != Py_None &&
        !py_dtype(&out->precision, given[PRECISION]))
        return false;
    if (location != NULL &&
        spad_registry_location_parse(&out->location, location, &error) != SPAD_OK)
        return py_raise(&error) != NULL;
    return true;
}

static PyObject *component_register(PyObject *self, PyObject *const *args, Py_ssize_t count,
                                    PyObject *keywords) {
    spad_registry_buffer buffer = {0};
    unsigned fields;
    spad_error error;
    if (!read_buffer(&buffer, &fields, "register", args, count, keywords, 2)) return NULL;
    return py_done(spad_registry_register(home(self), number(self), &buffer, &error), &error);
}

/* An update of one end leaves the other as it is. */
static void keep_lifetime(spad_registry_buffer *values, unsigned *fields, PyObject *self) {
    size_t index;
    const unsigned given = *fields & (GIVEN_BEGIN | GIVEN_END);
    *fields &= ~given;
    if (given == 0) return;
    *fields |= SPAD_REGISTRY_BUFFER_LIFETIME;
    if (spad_registry_find_buffer(&index, home(self), number(self), values->name, NULL) != SPAD_OK)
        return;
    const spad_registry_buffer *now = spad_registry_get_buffer(home(self), number(self), index);
    if ((given & GIVEN_BEGIN) == 0) values->t_begin = now->t_begin;
    if ((given & GIVEN_END) == 0) values->t_end = now->t_end;
}

static PyObject *component_update(PyObject *self, PyObject *const *args, Py_ssize_t count,
                                  PyObject *keywords) {
    spad_registry_buffer buffer = {0};
    unsigned fields;
    spad_registry_change update;
    spad_error error;
    if (!read_buffer(&buffer, &fields, "update", args, count, keywords, 1)) return NULL;
    keep_lifetime(&buffer, &fields, self);
    if (spad_registry_update_buffer(&update, home(self), number(self), fields, &buffer, &error) !=
        SPAD_OK)
        return py_raise(&error);
    return Py_BuildValue("(OO)", update.recognised ? Py_True : Py_False,
                         update.changed ? Py_True : Py_False);
}

static bool apply_settings(bool *recognised, PyObject *self, PyObject *dict, size_t count) {
    spad_registry_setting *settings = PyMem_Calloc(count + 1, sizeof *settings);
    if (settings == NULL) return PyErr_NoMemory() != NULL;
    PyObject *key, *value;
    size_t i = 0;
    bool fine = true;
    for (Py_ssize_t at = 0; fine && PyDict_Next(dict, &at, &key, &value); i++) {
        settings[i].key = py_chars(key);
        fine = settings[i].key != NULL && py_utf8(&settings[i].value, NULL, value);
    }
    spad_error error;
    if (fine && spad_registry_update(recognised, home(self), number(self), settings, count,
                                     &error) != SPAD_OK)
        fine = py_raise(&error) != NULL;
    PyMem_Free(settings);
    return fine;
}

static PyObject *component_settings(PyObject *self, PyObject *dict) {
    if (!PyDict_Check(dict)) {
        PyErr_SetString(PyExc_TypeError, "settings are a dict such as {'state_location': 'local'}");
        return NULL;
    }
    const size_t count = (size_t)PyDict_Size(dict);
    bool *recognised = PyMem_Calloc(count + 1, sizeof *recognised);
    if (recognised == NULL) return PyErr_NoMemory();
    PyObject *list = apply_settings(recognised, self, dict, count) ? PyList_New(0) : NULL;
    PyObject *key, *value;
    size_t i = 0;
    for (Py_ssize_t at = 0; list != NULL && PyDict_Next(dict, &at, &key, &value); i++)
        if (recognised[i] && PyList_Append(list, key) != 0) Py_CLEAR(list);
    PyMem_Free(recognised);
    return list;
}

static PyObject *buffer_row(const spad_registry_buffer *b) {
    return Py_BuildValue(
        "{s:s,s:L,s:s,s:O,s:N,s:N,s:L,s:L}", "name", b->name, "size", (long long)b->size,
        "location", spad_registry_location_name(b->location), "persistent",
        b->persistent ? Py_True : Py_False, "aliases", py_string(b->aliases), "precision",
        py_string(b->precision == SPAD_DTYPE_NONE ? NULL : spad_dtype_name(b->precision)), "begin",
        (long long)b->t_begin, "end", (long long)b->t_end);
}

static PyObject *component_buffers(PyObject *self, void *unused) {
    (void)unused;
    const spad_registry *registry = home(self);
    PyObject *list = PyList_New(0);
    for (size_t i = 0; list != NULL && i < spad_registry_buffer_count(registry, number(self)); i++)
        if (!py_append(list, buffer_row(spad_registry_get_buffer(registry, number(self), i))))
            Py_CLEAR(list);
    return list;
}

static PyObject *component_find(PyObject *self, PyObject *name) {
    const char *text = py_chars(name);
    size_t index;
    spad_error error;
    if (text == NULL) return NULL;
    if (spad_registry_find_buffer(&index, home(self), number(self), text, &error) != SPAD_OK)
        return py_raise(&error);
    return buffer_row(spad_registry_get_buffer(home(self), number(self), index));
}

/* ---- children ---------------------------------------------------------------------- */

static bool read_child(PyObject **child, const char **name, const char *function, PyObject *self,
                       PyObject *const *args, Py_ssize_t count, PyObject *keywords) {
    static const char *const names[] = {"child", "name", NULL};
    PyObject *given[2];
    if (!py_take(given, function, names, 1, args, count, keywords) || !given_text(name, given[1]))
        return false;
    *child = given[0];
    const spad_registry *other = registry_of(given[0]);
    if (other != NULL && other != home(self))
        PyErr_SetString(py.errors[PY_ARGUMENT_ERROR], "the components are of different registries");
    return other == home(self);
}

static PyObject *component_add_child(PyObject *self, PyObject *const *args, Py_ssize_t count,
                                     PyObject *keywords) {
    PyObject *child;
    const char *name;
    spad_registry_child_buffers made;
    spad_error error;
    if (!read_child(&child, &name, "add_child", self, args, count, keywords)) return NULL;
    if (spad_registry_register_child(&made, home(self), number(self), number(child), name,
                                     &error) != SPAD_OK)
        return py_raise(&error);
    return Py_BuildValue("(ss)", made.shared, made.persistent);
}

static PyObject *component_children(PyObject *self, void *unused) {
    (void)unused;
    PyObject *dict = PyDict_New();
    for (size_t i = 0; dict != NULL && i < spad_registry_child_count(home(self), number(self));
         i++) {
        spad_registry_child child;
        spad_error error;
        if (spad_registry_get_child(&child, home(self), number(self), i, &error) != SPAD_OK) {
            Py_DECREF(dict);
            return py_raise(&error);
        }
        if (!py_put(dict, child.name,
                    component_wrap(((py_component *)self)->registry, child.component)))
            Py_CLEAR(dict);
    }
    return dict;
}

/* ---- layouts ----------------------------------------------------------------------- */

static PyObject *slice_row(const spad_registry_slice *s) {
    return Py_BuildValue("{s:s,s:L,s:L,s:L,s:N}", "region", spad_registry_region_name(s->region),
                         "offset", (long long)s->offset, "length", (long long)s->length, "consumed",
                         (long long)s->consumed, "inside", py_string(s->inside));
}

static bool read_unit(spad_registry_unit *out, PyObject *bytes) {
    bool flag;
    if (!py_flag(&flag, bytes, false)) return false;
    *out = flag ? SPAD_REGISTRY_UNIT_BYTE : SPAD_REGISTRY_UNIT_ELEMENT;
    return true;
}

static PyObject *component_layout(PyObject *self, PyObject *const *args, Py_ssize_t count,
                                  PyObject *keywords) {
    static const char *const names[] = {"bytes", NULL};
    PyObject *given[1];
    spad_registry_unit unit;
    const spad_registry_slice *slices;
    size_t n;
    spad_error error;
    if (!py_take(given, "layout", names, 0, args, count, keywords) || !read_unit(&unit, given[0]))
        return NULL;
    if (spad_registry_get_layout(&slices, &n, home(self), number(self), unit, &error) != SPAD_OK)
        return py_raise(&error);
    PyObject *dict = PyDict_New();
    for (size_t i = 0; dict != NULL && i < n; i++)
        if (!py_put(dict, spad_registry_get_buffer(home(self), number(self), i)->name,
                    slice_row(&slices[i])))
            Py_CLEAR(dict);
    return dict;
}

static PyObject *component_slice(PyObject *self, PyObject *const *args, Py_ssize_t count,
                                 PyObject *keywords) {
    static const char *const names[] = {"name", "bytes", NULL};
    PyObject *given[2];
    const char *name = NULL;
    spad_registry_unit unit;
    spad_registry_slice slice;
    spad_error error;
    if (!py_take(given, "slice", names, 1, args, count, keywords) ||
        !py_utf8(&name, NULL, given[0]) || !read_unit(&unit, given[1]))
        return NULL;
    if (spad_registry_get_slice(&slice, home(self), number(self), name, unit, &error) != SPAD_OK)
        return py_raise(&error);
    return slice_row(&slice);
}

typedef spad_status (*region_call)(int64_t *out, spad_registry *registry, spad_component component,
                                   spad_registry_region region, spad_registry_unit unit,
                                   spad_error *error);

static PyObject *get_region(PyObject *self, const char *function, region_call call,
                            PyObject *const *args, Py_ssize_t count, PyObject *keywords) {
    static const char *const names[] = {"region", "bytes", NULL};
    PyObject *given[2];
    const char *name = NULL;
    spad_registry_unit unit;
    int64_t answer;
    spad_error error;
    if (!py_take(given, function, names, 1, args, count, keywords) ||
        !py_utf8(&name, NULL, given[0]) || !read_unit(&unit, given[1]))
        return NULL;
    int region = 0;
    while (region < SPAD_REGISTRY_REGION_COUNT &&
           strcmp(name, spad_registry_region_name((spad_registry_region)region)) != 0)
        region++;
    if (region == SPAD_REGISTRY_REGION_COUNT) {
        PyErr_Format(py.errors[PY_ARGUMENT_ERROR],
                     "'%s' is not a region; there are shared, persistent and local", name);
        return NULL;
    }
    if (call(&answer, home(self), number(self), (spad_registry_region)region, unit, &error) !=
        SPAD_OK)
        return py_raise(&error);
    return PyLong_FromLongLong(answer);
}

static PyObject *component_size(PyObject *self, PyObject *const *args, Py_ssize_t count,
                                PyObject *keywords) {
    return get_region(self, "size", spad_registry_get_size, args, count, keywords);
}

static PyObject *component_alignment(PyObject *self, PyObject *const *args, Py_ssize_t count,
                                     PyObject *keywords) {
    return get_region(self, "alignment", spad_registry_get_alignment, args, count, keywords);
}

static PyObject *component_declared_local(PyObject *self, PyObject *const *args, Py_ssize_t count,
                                          PyObject *keywords) {
    static const char *const names[] = {"bytes", NULL};
    PyObject *given[1];
    spad_registry_unit unit;
    int64_t answer;
    spad_error error;
    if (!py_take(given, "declared_local", names, 0, args, count, keywords) ||
        !read_unit(&unit, given[0]))
        return NULL;
    if (spad_registry_get_declared_local(&answer, home(self), number(self), unit, &error) !=
        SPAD_OK)
        return py_raise(&error);
    return PyLong_FromLongLong(answer);
}

static PyObject *component_is_laid_out(PyObject *self, PyObject *const *args, Py_ssize_t count,
                                       PyObject *keywords) {
    static const char *const names[] = {"bytes", NULL};
    PyObject *given[1];
    spad_registry_unit unit;
    if (!py_take(given, "is_laid_out", names, 0, args, count, keywords) ||
        !read_unit(&unit, given[0]))
        return NULL;
    return PyBool_FromLong(spad_registry_is_laid_out(home(self), number(self), unit));
}

static PyObject *component_set_automatic(PyObject *self, PyObject *flag) {
    const int automatic = PyObject_IsTrue(flag);
    spad_error error;
    if (automatic < 0) return NULL;
    return py_done(spad_registry_set_automatic(home(self), number(self), automatic != 0, &error),
                   &error);
}

static PyObject *component_clear(PyObject *self, PyObject *const *args, Py_ssize_t count,
                                 PyObject *keywords) {
    static const char *const names[] = {"descendants", NULL};
    PyObject *given[1];
    bool all;
    if (!py_take(given, "clear", names, 0, args, count, keywords) ||
        !py_flag(&all, given[0], false))
        return NULL;
    (all ? spad_registry_clear_parent : spad_registry_clear_own)(home(self), number(self));
    Py_RETURN_NONE;
}

static PyObject *component_clear_layout(PyObject *self, PyObject *unused) {
    (void)unused;
    spad_registry_clear_layout(home(self), number(self));
    Py_RETURN_NONE;
}

static PyObject *component_remove(PyObject *self, PyObject *unused) {
    (void)unused;
    spad_registry_remove(home(self), number(self));
    Py_RETURN_NONE;
}

/* ---- allocators -------------------------------------------------------------------- */

static PyObject *allocator_wrap(const spad_registry_allocator *allocator) {
    py_allocator *self = py_new(py.allocator);
    if (self == NULL) return NULL;
    self->allocator = *allocator;
    self->inside = py_string(allocator->slice.inside);
    self->allocator.slice.inside = NULL;
    if (self->inside == NULL) Py_CLEAR(self);
    return (PyObject *)self;
}

static PyObject *component_allocator(PyObject *self, PyObject *const *args, Py_ssize_t count,
                                     PyObject *keywords) {
    static const char *const names[] = {"name", "bytes", "zero", NULL};
    PyObject *given[3];
    const char *name = NULL;
    spad_registry_unit unit;
    bool zero;
    spad_registry_allocator allocator;
    spad_error error;
    if (!py_take(given, "allocator", names, 1, args, count, keywords) ||
        !py_utf8(&name, NULL, given[0]) || !read_unit(&unit, given[1]) ||
        !py_flag(&zero, given[2], false))
        return NULL;
    if (spad_registry_get_allocator(&allocator, home(self), number(self), name, unit, zero,
                                    &error) != SPAD_OK)
        return py_raise(&error);
    return allocator_wrap(&allocator);
}

static PyObject *two_allocators(const spad_registry_allocator *shared,
                                const spad_registry_allocator *persistent) {
    PyObject *first = allocator_wrap(shared);
    return first == NULL ? NULL : Py_BuildValue("(NN)", first, allocator_wrap(persistent));
}

static PyObject *component_child_allocators(PyObject *self, PyObject *const *args, Py_ssize_t count,
                                            PyObject *keywords) {
    PyObject *child;
    const char *name;
    spad_registry_allocator shared, persistent;
    spad_error error;
    if (!read_child(&child, &name, "child_allocators", self, args, count, keywords)) return NULL;
    if (spad_registry_get_child_allocators(&shared, &persistent, home(self), number(self),
                                           number(child), name, SPAD_REGISTRY_UNIT_ELEMENT,
                                           &error) != SPAD_OK)
        return py_raise(&error);
    return two_allocators(&shared, &persistent);
}

static PyObject *component_toplevel_allocators(PyObject *self, PyObject *unused) {
    (void)unused;
    spad_registry_allocator shared, persistent;
    spad_error error;
    if (spad_registry_get_toplevel_allocators(&shared, &persistent, home(self), number(self),
                                              SPAD_REGISTRY_UNIT_ELEMENT, &error) != SPAD_OK)
        return py_raise(&error);
    return two_allocators(&shared, &persistent);
}

PY_TRAVERSE(allocator_traverse, py_allocator, self->inside)

static void allocator_dealloc(PyObject *self) {
    PyObject_GC_UnTrack(self);
    Py_XDECREF(((py_allocator *)self)->inside);
    py_free(self);
}

static PyObject *allocator_slice(PyObject *self, PyObject *args, PyObject *keywords) {
    static char *names[] = {"thread", "shared", "shared_stride", "persistent", NULL};
    long long thread = 0, shared = 0, stride = 0, persistent = 0;
    spad_registry_slice slice;
    spad_error error;
    if (!PyArg_ParseTupleAndKeywords(args, keywords, "|LLLL:slice", names, &thread, &shared,
                                     &stride, &persistent))
        return NULL;
    const spad_registry_base base = {shared, stride, persistent};
    if (spad_registry_allocator_slice(&slice, &((py_allocator *)self)->allocator, &base, thread,
                                      &error) != SPAD_OK)
        return py_raise(&error);
    return Py_BuildValue("(LL)", (long long)slice.offset, (long long)slice.length);
}

static PyObject *allocator_field(PyObject *object, void *which) {
    const py_allocator *self = (py_allocator *)object;
    const spad_registry_allocator *a = &self->allocator;
    switch (*(const char *)which) {
    case 'r': return py_string(spad_registry_region_name(a->slice.region));
    case 'o': return PyLong_FromLongLong(a->slice.offset);
    case 'l': return PyLong_FromLongLong(a->slice.length);
    case 'p': return py_string(spad_dtype_name(a->precision));
    case 'z': return PyLong_FromLongLong(a->zeroed);
    default: return py_keep(self->inside);
    }
}

static PyObject *allocator_repr(PyObject *self) {
    const spad_registry_allocator *a = &((py_allocator *)self)->allocator;
    return PyUnicode_FromFormat(
        "<spad.Allocator: %s [%lld, %lld) of %s>", spad_registry_region_name(a->slice.region),
        (long long)a->slice.offset, (long long)(a->slice.offset + a->slice.length),
        spad_dtype_name(a->precision));
}

static PyMethodDef allocator_methods[] = {
    {"slice", PY_FUNC(allocator_slice), METH_VARARGS | METH_KEYWORDS,
     "slice($self, thread=0, shared=0, shared_stride=0, persistent=0)\n--\n\nWhere a thread finds "
     "the buffer, if the regions begin there."},
    {NULL, NULL, 0, NULL}};

static PyGetSetDef allocator_fields[] = {
    {.name = "region",
     .get = allocator_field,
     .doc = "shared, persistent or local.",
     .closure = "r"},
    {.name = "offset", .get = allocator_field, .doc = "In its region.", .closure = "o"},
    {.name = "length", .get = allocator_field, .doc = "Elements, or bytes.", .closure = "l"},
    {.name = "precision", .get = allocator_field, .doc = "Its element type.", .closure = "p"},
    {.name = "zeroed",
     .get = allocator_field,
     .doc = "Elements to set to zero first.",
     .closure = "z"},
    {.name = "inside",
     .get = allocator_field,
     .doc = "The buffer whose storage it shares, or None.",
     .closure = "i"},
    {.name = NULL}};

PY_TYPE_MADE(allocator, "Allocator", "What a kernel needs to find a buffer.",
             {Py_tp_repr, PY_SLOT(allocator_repr)}, {Py_tp_methods, allocator_methods},
             {Py_tp_getset, allocator_fields});

/* ---- components -------------------------------------------------------------------- */

static PyObject *component_trace(PyObject *self, PyObject *args) {
    PyObject *chip, *dict;
    size_t spaces[SPAD_REGISTRY_REGION_COUNT];
    spad_error error;
    if (!PyArg_ParseTuple(args, "OO!:trace", &chip, &PyDict_Type, &dict)) return NULL;
    PyObject *trace = PyObject_CallFunctionObjArgs((PyObject *)py.trace, chip, NULL);
    if (trace == NULL) return NULL;
    const spad_target *target = spad_trace_get_target(((py_trace *)trace)->trace);
    for (int i = 0; i < SPAD_REGISTRY_REGION_COUNT; i++) {
        PyObject *name =
            PyDict_GetItemString(dict, spad_registry_region_name((spad_registry_region)i));
        spaces[i] = SPAD_NO_SPACE;
        if (name != NULL && !py_space(&spaces[i], target, name)) Py_CLEAR(trace);
        if (trace == NULL) return NULL;
    }
    if (spad_registry_write_trace(home(self), number(self), ((py_trace *)trace)->trace, spaces,
                                  NULL, &error) == SPAD_OK)
        return trace;
    Py_DECREF(trace);
    return py_raise(&error);
}

PY_TRAVERSE(component_traverse, py_component, self->registry)

static void component_dealloc(PyObject *self) {
    PyObject_GC_UnTrack(self);
    Py_XDECREF(((py_component *)self)->registry);
    py_free(self);
}

static PyObject *component_field(PyObject *self, void *which) {
    switch (*(const char *)which) {
    case 'n': return py_string(spad_registry_get_component_name(home(self), number(self)));
    case 'p': {
        const spad_dtype dtype = spad_registry_get_component_precision(home(self), number(self));
        return py_string(dtype == SPAD_DTYPE_NONE ? NULL : spad_dtype_name(dtype));
    }
    case 'g': return PyBool_FromLong(spad_registry_has_group(home(self), number(self)));
    case 'v':
        return PyLong_FromUnsignedLongLong(spad_registry_get_revision(home(self), number(self)));
    default: return py_keep(((py_component *)self)->registry);
    }
}

/* Two objects are the same component if registry and number are: each request makes an object. */
static PyObject *component_compare(PyObject *self, PyObject *other, int op) {
    if (!PyObject_TypeCheck(other, py.component) || (op != Py_EQ && op != Py_NE))
        Py_RETURN_NOTIMPLEMENTED;
    const bool same = home(self) == home(other) && number(self) == number(other);
    return PyBool_FromLong(same == (op == Py_EQ));
}

static Py_hash_t component_hash(PyObject *self) {
    return (Py_hash_t)(number(self) >> 1);
}

static PyObject *component_repr(PyObject *self) {
    const char *name = spad_registry_get_component_name(home(self), number(self));
    return PyUnicode_FromFormat("<spad.Component %s of %zu buffers>", name == NULL ? "?" : name,
                                spad_registry_buffer_count(home(self), number(self)));
}

static PyMethodDef component_methods[] = {
    {"register", PY_FUNC(component_register), PY_FAST,
     "register($self, name, size, location='shared', persistent=False, aliases=None, "
     "precision=None, begin=0, end=0)\n--\n\nA buffer; one of the same name is replaced."},
    {"update", PY_FUNC(component_update), PY_FAST,
     "update($self, name, size=..., location=..., persistent=..., aliases=..., precision=..., "
     "begin=..., end=...)\n--\n\nSets the fields that are given."},
    {"settings", component_settings, METH_O,
     "settings($self, settings, /)\n--\n\nApplies {'x_location': 'local'}; the keys it knows."},
    {"find", component_find, METH_O, "find($self, name, /)\n--\n\nThe buffer of that name."},
    {"add_child", PY_FUNC(component_add_child), PY_FAST,
     "add_child($self, child, name=None)\n--\n\nIts totals as two buffers: their names."},
    {"layout", PY_FUNC(component_layout), PY_FAST,
     "layout($self, bytes=False)\n--\n\nWhere each buffer is, in elements or bytes."},
    {"slice", PY_FUNC(component_slice), PY_FAST,
     "slice($self, name, bytes=False)\n--\n\nThe place of a buffer as a dict."},
    {"size", PY_FUNC(component_size), PY_FAST,
     "size($self, region, bytes=False)\n--\n\nOf shared, persistent or local memory."},
    {"alignment", PY_FUNC(component_alignment), PY_FAST,
     "alignment($self, region, bytes=False)\n--\n\nThe alignment that a region needs."},
    {"declared_local", PY_FUNC(component_declared_local), PY_FAST,
     "declared_local($self, bytes=False)\n--\n\nWith all descendants; StateError: a circle."},
    {"is_laid_out", PY_FUNC(component_is_laid_out), PY_FAST,
     "is_laid_out($self, bytes=False)\n--\n\nIs the layout computed?"},
    {"set_automatic", component_set_automatic, METH_O,
     "set_automatic($self, flag, /)\n--\n\nLifetimes decide who shares bytes."},
    {"clear", PY_FUNC(component_clear), PY_FAST,
     "clear($self, descendants=False)\n--\n\nDrops the buffers."},
    {"clear_layout", component_clear_layout, METH_NOARGS,
     "clear_layout($self, /)\n--\n\nDrops the layouts only."},
    {"remove", component_remove, METH_NOARGS,
     "remove($self, /)\n--\n\nTakes the component out of its registry."},
    {"allocator", PY_FUNC(component_allocator), PY_FAST,
     "allocator($self, name, bytes=False, zero=False)\n--\n\nFinds a buffer at run time."},
    {"child_allocators", PY_FUNC(component_child_allocators), PY_FAST,
     "child_allocators($self, child, name=None)\n--\n\nadd_child, as two Allocators."},
    {"toplevel_allocators", component_toplevel_allocators, METH_NOARGS,
     "toplevel_allocators($self, /)\n--\n\nThe shared and persistent memory of a kernel."},
    {"trace", component_trace, METH_VARARGS,
     "trace($self, target, spaces, /)\n--\n\nThe layout in bytes; {'shared': name of a space}."},
    {NULL, NULL, 0, NULL}};

static PyGetSetDef component_fields[] = {
    {.name = "name", .get = component_field, .doc = "Its name; None: removed.", .closure = "n"},
    {.name = "precision",
     .get = component_field,
     .doc = "Its element type; None: removed.",
     .closure = "p"},
    {.name = "has_group",
     .get = component_field,
     .doc = "Has it registered anything?",
     .closure = "g"},
    {.name = "revision",
     .get = component_field,
     .doc = "How often its layouts were dropped.",
     .closure = "v"},
    {.name = "registry", .get = component_field, .doc = "Where it belongs.", .closure = "r"},
    {.name = "buffers", .get = component_buffers, .doc = "Its buffers, a dict each."},
    {.name = "children", .get = component_children, .doc = "Components that it contains, by name."},
    {.name = NULL}};

PY_TYPE_MADE(component, "Component", "A component of a Registry; see Registry.add.",
             {Py_tp_repr, PY_SLOT(component_repr)}, {Py_tp_richcompare, PY_SLOT(component_compare)},
             {Py_tp_hash, PY_SLOT(component_hash)}, {Py_tp_methods, component_methods},
             {Py_tp_getset, component_fields});

int py_add_registry(PyObject *module) {
    if (py_add_type(module, &py.registry, &registry_spec) != 0 ||
        py_add_type(module, &py.component, &component_spec) != 0)
        return -1;
    return py_add_type(module, &py.allocator, &allocator_spec);
}
