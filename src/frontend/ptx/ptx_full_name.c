/* SPDX-License-Identifier: Apache-2.0
 *
 * Reads the name of a mangled C++ function with its template arguments, by recursive descent. What
 * can be referred to again (substitutions) is kept as text, in the order in which it is complete.
 *
 * Reference: Itanium C++ ABI, sections 5.1.2 (names), 5.1.5 (types), 5.1.6 (template arguments) and
 * 5.1.10 (compression).
 */
#include "frontend/ptx/ptx_plain_name.h"

#include <string.h>

#include "base/text.h"

enum { FULL_NAME_TEXT = 256, FULL_NAME_REFERENCES = 32, FULL_NAME_DEEPEST = 24 };

typedef struct full_name {
    const char *at; /* NULL: the form is not read */
    char references[FULL_NAME_REFERENCES][FULL_NAME_TEXT];
    int count;
    int depth;
} full_name;

static void refuse_name(full_name *n) {
    n->at = NULL;
}

static bool take_letter(full_name *n, char letter) {
    if (n->at == NULL || *n->at != letter) return false;
    n->at++;
    return true;
}

static void append_text(full_name *n, char *out, const char *text, size_t length) {
    const size_t used = strlen(out);
    if (used + length >= FULL_NAME_TEXT) {
        refuse_name(n);
        return;
    }
    memcpy(out + used, text, length);
    out[used + length] = '\0';
}

static void append_word(full_name *n, char *out, const char *text) {
    append_text(n, out, text, strlen(text));
}

static void keep_reference(full_name *n, const char *text) {
    if (n->at == NULL) return;
    if (n->count == FULL_NAME_REFERENCES) {
        refuse_name(n);
        return;
    }
    memcpy(n->references[n->count++], text, strlen(text) + 1);
}

/* "4gemm" */
static void take_full_part(full_name *n, char *out) {
    static const char unnamed[] = "_GLOBAL__N_";
    size_t length = 0;
    if (n->at == NULL) return;
    (void)take_letter(n, 'L'); /* of internal linkage */
    for (; *n->at >= '0' && *n->at <= '9' && length < 1000; n->at++)
        length = length * 10 + (size_t)(*n->at - '0');
    if (length == 0 || memchr(n->at, '\0', length) != NULL) {
        refuse_name(n);
        return;
    }
    const char *name = n->at;
    n->at += length;
    if (length >= sizeof unnamed - 1 && memcmp(name, unnamed, sizeof unnamed - 1) == 0) {
        append_word(n, out, "(anonymous namespace)");
    } else {
        append_text(n, out, name, length);
    }
}

/* "S_", "S1_", behind the S. */
static void take_reference(full_name *n, char *out) {
    int number = 0;
    if (n->at == NULL) return;
    if (*n->at != '_') {
        for (; *n->at != '_' && number < FULL_NAME_REFERENCES; n->at++) {
            const bool decimal = *n->at >= '0' && *n->at <= '9';
            if (!decimal && (*n->at < 'A' || *n->at > 'Z')) break;
            number = number * 36 + (decimal ? *n->at - '0' : *n->at - 'A' + 10);
        }
        number++;
    }
    if (!take_letter(n, '_') || number >= n->count) {
        refuse_name(n);
        return;
    }
    append_word(n, out, n->references[number]);
}

static void take_type(full_name *n, char *out);

/* "Li4E", "Lb1E", "LN2ns4KindE1E", behind the L. */
static void take_literal(full_name *n, char *out) {
    char type[FULL_NAME_TEXT] = "";
    const bool plain = n->at != NULL && strchr("ijlmxyhcst", *n->at) != NULL;
    const bool truth = n->at != NULL && *n->at == 'b';
    take_type(n, type);
    if (n->at == NULL) return;
    if (truth) {
        append_word(n, out, take_letter(n, '1') ? "true" : "false");
        (void)take_letter(n, '0');
    } else {
        if (!plain) {
            append_word(n, out, "(");
            append_word(n, out, type);
            append_word(n, out, ")");
        }
        if (take_letter(n, 'n')) append_word(n, out, "-");
        while (n->at != NULL && *n->at >= '0' && *n->at <= '9') append_text(n, out, n->at++, 1);
    }
    if (!take_letter(n, 'E')) refuse_name(n);
}

/* Arguments up to the E that ends them; packs count as their elements. */
static void take_full_arguments_up(full_name *n, char *out, bool *first) {
    while (n->at != NULL && !take_letter(n, 'E')) {
        if (take_letter(n, 'J')) {
            take_full_arguments_up(n, out, first);
            continue;
        }
        if (!*first) append_word(n, out, ", ");
        *first = false;
        if (take_letter(n, 'L')) {
            take_literal(n, out);
        } else {
            take_type(n, out);
        }
    }
}

/* "IiLi4EE" behind a name; false: none is there. */
static bool take_full_arguments(full_name *n, char *out) {
    bool first = true;
    if (!take_letter(n, 'I')) return false;
    append_word(n, out, "<");
    take_full_arguments_up(n, out, &first);
    append_word(n, out, ">");
    return true;
}

/* The parts of "N2ns4gemmIfEE" behind the N. `whole`: the last part is no reference of its own. */
static void take_nested(full_name *n, char *out, bool whole) {
    while (n->at != NULL && !take_letter(n, 'E')) {
        const bool substituted = *n->at == 'S';
        if (out[0] != '\0') append_word(n, out, "::");
        if (substituted && n->at[1] == 't') {
            n->at += 2;
            append_word(n, out, "std");
            continue;
        }
        if (take_letter(n, 'S')) {
            take_reference(n, out);
        } else {
            take_full_part(n, out);
        }
        const bool more = n->at != NULL && *n->at != 'E';
        if (!substituted && (more || whole)) keep_reference(n, out);
        if (take_full_arguments(n, out) && (whole || (n->at != NULL && *n->at != 'E')))
            keep_reference(n, out);
    }
}

static const char *name_of_builtin(char letter) {
    static const char letters[] = "vbcahstijlmxyfdw";
    static const char *const names[] = {"void",
                                        "bool",
                                        "char",
                                        "signed char",
                                        "unsigned char",
                                        "short",
                                        "unsigned short",
                                        "int",
                                        "unsigned int",
                                        "long",
                                        "unsigned long",
                                        "long long",
                                        "unsigned long long",
                                        "float",
                                        "double",
                                        "wchar_t"};
    const char *found = letter != '\0' ? strchr(letters, letter) : NULL;
    return found != NULL ? names[found - letters] : NULL;
}

static const char *name_of_modifier(char letter) {
    switch (letter) {
    case 'P': return " *";
    case 'R': return " &";
    case 'O': return " &&";
    case 'K': return " const";
    case 'V': return " volatile";
    default: return NULL;
    }
}

/* A class, or what was named before, with its arguments. */
static void take_class(full_name *n, char *own) {
    if (take_letter(n, 'N')) {
        take_nested(n, own, true);
        return;
    }
    if (*n->at == 'S' && n->at[1] == 't') {
        n->at += 2;
        append_word(n, own, "std::");
        take_full_part(n, own);
        keep_reference(n, own);
    } else if (take_letter(n, 'S')) {
        take_reference(n, own);
    } else {
        take_full_part(n, own);
        keep_reference(n, own);
    }
    if (take_full_arguments(n, own)) keep_reference(n, own);
}

static void take_type(full_name *n, char *out) {
    char own[FULL_NAME_TEXT] = "";
    if (n->at == NULL || ++n->depth > FULL_NAME_DEEPEST) {
        refuse_name(n);
        return;
    }
    const char *modifier = name_of_modifier(*n->at), *builtin = name_of_builtin(*n->at);
    if (modifier != NULL) {
        n->at++;
        take_type(n, own);
        append_word(n, own, modifier);
        keep_reference(n, own);
    } else if (builtin != NULL) {
        n->at++;
        append_word(n, own, builtin);
    } else {
        take_class(n, own);
    }
    n->depth--;
    append_word(n, out, own);
}

bool spad__ptx_full_name(char *field, size_t size, const char *mangled) {
    char out[FULL_NAME_TEXT] = "";
    full_name n = {.at = mangled};
    field[0] = '\0';
    if (strncmp(mangled, "_Z", 2) != 0) return false;
    n.at += 2;
    if (take_letter(&n, 'N')) {
        take_nested(&n, out, false);
    } else {
        take_full_part(&n, out);
        keep_reference(&n, out);
        (void)take_full_arguments(&n, out);
    }
    if (n.at == NULL || strlen(out) >= size) return false;
    memcpy(field, out, strlen(out) + 1);
    return true;
}
