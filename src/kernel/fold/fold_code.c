/* SPDX-License-Identifier: Apache-2.0
 *
 * Appends to the code and the numbers of the statement that is being read. Both lists belong to the
 * folder; this file frees them as well.
 */
#include <string.h>

#include "kernel/fold/fold.h"

void spad__fold_put_code(spad__folder *f, int64_t value) {
    if (!spad__array_reserve(&f->host, &f->code, 1)) {
        f->out_of_memory = true;
        return;
    }
    f->code.items[f->code.count++] = value;
}

void spad__fold_put_number(spad__folder *f, int64_t value) {
    if (!spad__array_reserve(&f->host, &f->numbers, 1)) {
        f->out_of_memory = true;
        return;
    }
    f->numbers.items[f->numbers.count++] = value;
}

void spad__fold_put_text(spad__folder *f, const char *text) {
    const size_t length = strlen(text);
    for (size_t i = 0; i < length; i += 8) {
        int64_t packed = 0;
        memcpy(&packed, text + i, length - i < 8 ? length - i : 8);
        spad__fold_put_code(f, packed);
    }
    spad__fold_put_code(f, (int64_t)length);
}

void spad__folder_free(spad__folder *f) {
    spad__array_free(&f->host, &f->families);
    spad__array_free(&f->host, &f->shapes);
    spad__index_free(&f->shape_index, &f->host);
    spad__array_free(&f->host, &f->newest);
    spad__array_free(&f->host, &f->nodes);
    spad__array_free(&f->host, &f->operations);
    spad__array_free(&f->host, &f->known);
    spad__array_free(&f->host, &f->known_by_last);
    spad__array_free(&f->host, &f->powers);
    spad__array_free(&f->host, &f->code);
    spad__array_free(&f->host, &f->numbers);
    spad__array_free(&f->host, &f->room);
    spad__array_free(&f->host, &f->cursors);
    spad__array_free(&f->host, &f->rings);
    spad__arena_free(&f->arena);
}
