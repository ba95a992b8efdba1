/* SPDX-License-Identifier: Apache-2.0
 *
 * Reads the name of a mangled C++ function. Names are copied; template arguments are skipped by
 * their brackets, where every letter that could be something else than a bracket ends the attempt.
 *
 * Reference: Itanium C++ ABI, section 5.1 (external names).
 */
#include "frontend/ptx/ptx_plain_name.h"

#include <string.h>

#include "base/text.h"

enum { MOST_NESTING = 64 };

static bool is_decimal(char c) {
    return c >= '0' && c <= '9';
}

/* "4gemm": the name and its length; returns what follows, NULL: no such name. */
static const char *take_source_name(const char *at, const char **name, size_t *length) {
    size_t count = 0;
    if (!is_decimal(*at)) return NULL;
    for (; is_decimal(*at) && count < 100000; at++) count = count * 10 + (size_t)(*at - '0');
    if (count == 0 || memchr(at, '\0', count) != NULL) return NULL;
    *name = at;
    *length = count;
    return at + count;
}

/* ---- template arguments ------------------------------------------------------------ */

/* "S_", "S1_", "St", "Sa"; "T_", "T0_". */
static const char *skip_reference(const char *at) {
    const bool substitution = *at++ == 'S';
    if (substitution && *at != '\0' && strchr("tabsiod", *at) != NULL) return at + 1;
    while (is_decimal(*at) || (*at >= 'A' && *at <= 'Z')) at++;
    return *at == '_' ? at + 1 : NULL;
}

/* "Dp", "Dn", "Dh", "DF16_", "DF16b"; decltype is not read. */
static const char *skip_two_letters(const char *at) {
    at++;
    if (*at == 'F') {
        for (at++; is_decimal(*at); at++) {
        }
        return *at == '_' || *at == 'b' ? at + 1 : NULL;
    }
    return *at != '\0' && strchr("pnhisuacdefk", *at) != NULL ? at + 1 : NULL;
}

static const char *skip_brackets(const char *at, int nesting);

/* "Li4E", "LN2ns4KindE1E": a value of a template argument. */
static const char *skip_literal(const char *at, int nesting) {
    const char *name;
    size_t length;
    at++;
    if (*at == 'N') {
        at = skip_brackets(at, nesting + 1);
    } else if (is_decimal(*at)) {
        at = take_source_name(at, &name, &length);
    } else if (*at == 'S') {
        at = skip_reference(at);
    } else if (*at == 'D') {
        at = skip_two_letters(at);
    } else {
        at = *at >= 'a' && *at <= 'z' ? at + 1 : NULL;
    }
    if (at == NULL) return NULL;
    if (*at == 'n') at++;
    while (is_decimal(*at) || (*at >= 'a' && *at <= 'f')) at++;
    return *at == 'E' ? at + 1 : NULL;
}

/* "A4_": the head of an array type. */
static const char *skip_array_head(const char *at) {
    for (at++; is_decimal(*at); at++) {
    }
    return *at == '_' ? at + 1 : NULL;
}

/* The part of a type that one letter begins, brackets excepted. */
static const char *skip_type_part(const char *at, int nesting) {
    const char *name;
    size_t length;
    if (is_decimal(*at)) return take_source_name(at, &name, &length);
    switch (*at) {
    case 'S':
    case 'T': return skip_reference(at);
    case 'L': return skip_literal(at, nesting);
    case 'D': return skip_two_letters(at);
    case 'A': return skip_array_head(at);
    case 'P':
    case 'R':
    case 'O':
    case 'K':
    case 'V':
    case 'M': return at + 1;
    default: return *at >= 'a' && *at <= 'z' ? at + 1 : NULL;
    }
}

/* From an opening letter to behind its 'E'. NULL: a part is not known, as of expressions. */
static const char *skip_brackets(const char *at, int nesting) {
    int depth = 0;
    if (nesting > MOST_NESTING) return NULL;
    do {
        if (*at == 'I' || *at == 'N' || *at == 'J' || *at == 'F') {
            depth++;
            at++;
        } else if (*at == 'E') {
            depth--;
            at++;
        } else {
            at = skip_type_part(at, nesting);
        }
    } while (at != NULL && depth > 0);
    return at;
}

/* ---- names ------------------------------------------------------------------------- */

/* A namespace without a name has one that the compiler made up. */
static size_t append_part(char *field, size_t size, size_t used, const char *name, size_t length) {
    static const char unnamed[] = "_GLOBAL__N_";
    const bool made_up =
        length >= sizeof unnamed - 1 && memcmp(name, unnamed, sizeof unnamed - 1) == 0;
    if (used > 0) used = spad__append(field, size, used, "::");
    if (made_up) return spad__append(field, size, used, "(anonymous namespace)");
    return spad__append(field, size, used, "%.*s", (int)length, name);
}

/* One part of a name with its template arguments; NULL: not of a form that is read. */
static const char *take_part(const char *at, char *field, size_t size, size_t *used) {
    const char *name;
    size_t length;
    if (at[0] == 'S' && at[1] == 't') {
        *used = append_part(field, size, *used, "std", 3);
        return at + 2;
    }
    if (*at == 'L' && is_decimal(at[1])) at++; /* of internal linkage */
    at = take_source_name(at, &name, &length);
    if (at == NULL || length >= size) return NULL;
    *used = append_part(field, size, *used, name, length);
    return *at == 'I' ? skip_brackets(at, 0) : at;
}

bool spad__ptx_plain_name(char *field, size_t size, const char *mangled) {
    size_t used = 0;
    field[0] = '\0';
    if (strncmp(mangled, "_Z", 2) != 0) return false;
    const char *at = mangled + 2;
    const bool nested = *at == 'N';
    bool whole;
    if (nested) at++;
    do {
        const bool prefix = at[0] == 'S' && at[1] == 't';
        at = take_part(at, field, size, &used);
        whole = at != NULL && (nested ? *at == 'E' : !prefix);
    } while (at != NULL && !whole);
    return whole && used + 1 < size;
}

const char *spad__ptx_last_part(const char *plain_name) {
    const char *last = plain_name;
    for (const char *at = plain_name; (at = strstr(at, "::")) != NULL; last = at) at += 2;
    return last;
}
