/* SPDX-License-Identifier: Apache-2.0
 *
 * check_pickle(): do the numbers in a pickle fit its length? CPython's unpickler believes them: it
 * makes room for a bytearray, and for all slots of its memo up to the one that is stored, before it
 * looks at the bytes that follow, so nine bytes can take gigabytes. This goes over the operations
 * once, in O(bytes), and keeps nothing. It stops where the unpickler does: at the end, and at what
 * is no operation.
 */
#include "common.h"

typedef struct pickle_scan {
    const unsigned char *start, *at, *end;
    const char *fault; /* what is wrong with the operation at `at`; NULL: nothing */
} pickle_scan;

static uint64_t little_endian(const unsigned char *at, size_t width) {
    uint64_t value = 0;
    for (size_t i = width; i-- > 0;) value = value << 8 | at[i];
    return value;
}

static bool wrong_pickle(pickle_scan *s, const char *fault) {
    s->fault = fault;
    return false;
}

/* Goes over an operation and an argument of `length` bytes. */
static bool pass(pickle_scan *s, uint64_t length) {
    if (length >= (uint64_t)(s->end - s->at))
        return wrong_pickle(s, "an operation is longer than the rest of the file");
    s->at += 1 + length;
    return true;
}

/* One with the number of the bytes that follow. */
static bool pass_counted(pickle_scan *s, size_t width) {
    const uint64_t left = (uint64_t)(s->end - s->at);
    if (left <= width) return pass(s, width);
    const uint64_t length = little_endian(s->at + 1, width);
    return pass(s, length > left ? length : width + length);
}

/* One that stores what was made last. Each slot of the memo has an operation before it. */
static bool has_slot(pickle_scan *s, uint64_t slot) {
    return slot <= (uint64_t)(s->at - s->start) ||
           wrong_pickle(s, "an object is stored in a slot beyond all objects");
}

static bool pass_put(pickle_scan *s, size_t width) {
    if ((size_t)(s->end - s->at) <= width) return pass(s, width);
    return has_slot(s, little_endian(s->at + 1, width)) && pass(s, width);
}

/* One with an argument up to the end of its line; `lines` of them. */
static bool pass_lines(pickle_scan *s, int lines) {
    const unsigned char *at = s->at;
    for (int i = 0; i < lines; i++) {
        at = memchr(at + 1, '\n', (size_t)(s->end - at - 1));
        if (at == NULL) return wrong_pickle(s, "a line does not end");
    }
    return pass(s, (uint64_t)(at - s->at));
}

/* As pass_put(), for a slot in decimal digits. */
static bool pass_put_line(pickle_scan *s) {
    uint64_t slot = 0;
    const unsigned char *at = s->at + 1;
    while (at < s->end && *at >= '0' && *at <= '9' && slot <= UINT32_MAX)
        slot = 10 * slot + (uint64_t)(*at++ - '0');
    if (at == s->end || *at != '\n')
        return wrong_pickle(s, "an object is stored in a slot that is no number");
    return has_slot(s, slot) && pass(s, (uint64_t)(at - s->at));
}

/* What follows an operation. */
typedef enum argument {
    ENDS,    /* it is the last one, or one that the unpickler refuses */
    NOTHING, /* 1, 2, 4 or 8 bytes: */
    ONE,
    TWO,
    FOUR,
    EIGHT,
    COUNTED_1, /* a count of bytes in 1, 4 or 8 bytes, and these: */
    COUNTED_4,
    COUNTED_8,
    LINE,
    TWO_LINES,
    SLOT_1, /* a slot of the memo in 1 or 4 bytes or as a line: */
    SLOT_4,
    SLOT_LINE
} argument;

static const unsigned char arguments[256] = {
    ['('] = NOTHING,    ['0'] = NOTHING,    ['1'] = NOTHING,    ['2'] = NOTHING,
    ['N'] = NOTHING,    ['Q'] = NOTHING,    ['R'] = NOTHING,    ['a'] = NOTHING,
    ['b'] = NOTHING,    ['d'] = NOTHING,    ['}'] = NOTHING,    ['e'] = NOTHING,
    ['l'] = NOTHING,    [']'] = NOTHING,    ['o'] = NOTHING,    ['s'] = NOTHING,
    ['u'] = NOTHING,    ['t'] = NOTHING,    [')'] = NOTHING,    [0x81] = NOTHING,
    [0x85] = NOTHING,   [0x86] = NOTHING,   [0x87] = NOTHING,   [0x88] = NOTHING,
    [0x89] = NOTHING,   [0x8f] = NOTHING,   [0x90] = NOTHING,   [0x91] = NOTHING,
    [0x92] = NOTHING,   [0x93] = NOTHING,   [0x94] = NOTHING,   [0x97] = NOTHING,
    [0x98] = NOTHING,   ['K'] = ONE,        ['h'] = ONE,        [0x80] = ONE,
    [0x82] = ONE,       ['M'] = TWO,        [0x83] = TWO,       ['J'] = FOUR,
    ['j'] = FOUR,       [0x84] = FOUR,      ['G'] = EIGHT,      [0x95] = EIGHT,
    ['U'] = COUNTED_1,  ['C'] = COUNTED_1,  [0x8a] = COUNTED_1, [0x8c] = COUNTED_1,
    ['T'] = COUNTED_4,  ['B'] = COUNTED_4,  ['X'] = COUNTED_4,  [0x8b] = COUNTED_4,
    [0x8d] = COUNTED_8, [0x8e] = COUNTED_8, [0x96] = COUNTED_8, ['F'] = LINE,
    ['I'] = LINE,       ['L'] = LINE,       ['P'] = LINE,       ['S'] = LINE,
    ['V'] = LINE,       ['g'] = LINE,       ['c'] = TWO_LINES,  ['i'] = TWO_LINES,
    ['q'] = SLOT_1,     ['r'] = SLOT_4,     ['p'] = SLOT_LINE,
};

/* False: the pickle ends here, or s->fault. */
static bool pass_operation(pickle_scan *s) {
    switch ((argument)arguments[*s->at]) {
    case ENDS: return false;
    case NOTHING: return pass(s, 0);
    case ONE: return pass(s, 1);
    case TWO: return pass(s, 2);
    case FOUR: return pass(s, 4);
    case EIGHT: return pass(s, 8);
    case COUNTED_1: return pass_counted(s, 1);
    case COUNTED_4: return pass_counted(s, 4);
    case COUNTED_8: return pass_counted(s, 8);
    case LINE: return pass_lines(s, 1);
    case TWO_LINES: return pass_lines(s, 2);
    case SLOT_1: return pass_put(s, 1);
    case SLOT_4: return pass_put(s, 4);
    case SLOT_LINE: return pass_put_line(s);
    }
    return false;
}

static PyObject *check_pickle(PyObject *module, PyObject *content) {
    Py_buffer view;
    (void)module;
    if (PyObject_GetBuffer(content, &view, PyBUF_SIMPLE) != 0) return NULL;
    pickle_scan s = {.start = view.buf, .at = view.buf};
    s.end = s.start + view.len;
    PyThreadState *const outside = PyEval_SaveThread();
    while (s.at < s.end && pass_operation(&s)) continue;
    PyEval_RestoreThread(outside);
    PyBuffer_Release(&view);
    if (s.fault == NULL) Py_RETURN_NONE;
    spad_error error = {.code = SPAD_ERR_SYNTAX};
    snprintf(error.message, sizeof error.message, "%s: byte %lld", s.fault,
             (long long)(s.at - s.start));
    return py_raise(&error);
}

static PyMethodDef functions[] = {{"check_pickle", check_pickle, METH_O,
                                   "check_pickle($module, content, /)\n--\n\nRaises a TextError if "
                                   "a pickle has numbers that do not "
                                   "fit its length, for which the\nunpickler would make room."},
                                  {NULL, NULL, 0, NULL}};

int py_add_pickle(PyObject *module) {
    return PyModule_AddFunctions(module, functions);
}
