/* SPDX-License-Identifier: Apache-2.0
 *
 * Numbers of bytes as people write them.
 */
#include <string.h>

#include "base/checked.h"
#include "spad/source.h"

/* The value of a digit; 16: not a digit. */
static int64_t hex_value(char c) {
    if (c >= '0' && c <= '9') return c - '0';
    if (c >= 'a' && c <= 'f') return c - 'a' + 10;
    if (c >= 'A' && c <= 'F') return c - 'A' + 10;
    return 16;
}

/* The unit that is the whole rest of a text; 0: not a unit. */
static int64_t unit_bytes(const char *text, size_t length) {
    static const struct {
        const char *name;
        int64_t bytes;
    } units[] = {{"", 1},
                 {"B", 1},
                 {"KiB", INT64_C(1) << 10},
                 {"MiB", INT64_C(1) << 20},
                 {"GiB", INT64_C(1) << 30},
                 {"TiB", INT64_C(1) << 40}};
    for (size_t i = 0; i < sizeof units / sizeof units[0]; i++) {
        if (strlen(units[i].name) == length && memcmp(text, units[i].name, length) == 0)
            return units[i].bytes;
    }
    return 0;
}

/* Is there a comma at `i` that divides groups of three digits, as our own output has them?
 * `grouped`: another one did before. */
static bool divides_groups(const char *text, size_t length, size_t i, bool grouped) {
    if (text[i] != ',' || i == 0 || (i > 3 && !grouped)) return false;
    for (size_t k = i + 1; k < i + 4; k++) {
        if (k >= length || hex_value(text[k]) > 9) return false;
    }
    return i + 4 == length || hex_value(text[i + 4]) > 9;
}

bool spad_bytes_parse(int64_t *out, const char *text, size_t length) {
    const bool hex = length > 2 && text[0] == '0' && (text[1] == 'x' || text[1] == 'X');
    const int64_t base = hex ? 16 : 10;
    const size_t first = hex ? 2 : 0;
    int64_t value = 0;
    size_t i = first;
    bool grouped = false;
    for (; i < length; i++) {
        if (!hex && divides_groups(text, length, i, grouped)) {
            grouped = true;
            continue;
        }
        if (hex_value(text[i]) >= base) break;
        if (!spad__mul(value, base, &value) || !spad__add(value, hex_value(text[i]), &value))
            return false;
    }
    if (i == first) return false;
    if (!hex && i + 1 < length && text[i] == ' ') i++;
    const int64_t unit = hex && i < length ? 0 : unit_bytes(text + i, length - i);
    if (unit == 0 || !spad__mul(value, unit, &value)) return false;
    *out = value;
    return true;
}
