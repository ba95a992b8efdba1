/* SPDX-License-Identifier: Apache-2.0
 *
 * Cost of a buffer in the registry: registering it, laying it out in elements
 * and in bytes, and finding it by name; 100 buffers in a component, a fifth of
 * them aliases. Beside it the least that can be called a layout: a loop that
 * adds up the same sizes and keeps the offsets. Three sizes, so that a cost that
 * is not linear shows.
 */
#include <stdio.h>
#include <stdlib.h>

#include "bench.h"
#include "spad/spad.h"

enum { PER_COMPONENT = 100, RUNS = 5 };

typedef struct work {
    size_t components;
    spad_registry *registry;
    spad_component *ids;
    int64_t *sizes;
    int64_t *offsets;
    int64_t kept; /* so that no loop is left out */
} work;

static char names[PER_COMPONENT][16];

static size_t buffers_of(const work *w) {
    return w->components * PER_COMPONENT;
}

/* ---- the plain loop ---------------------------------------------------------------- */

static void run_plain(void *context) {
    work *w = context;
    for (size_t c = 0; c < w->components; c++) {
        int64_t next = 0;
        for (size_t i = c * PER_COMPONENT; i < (c + 1) * PER_COMPONENT; i++) {
            w->offsets[i] = next;
            next += w->sizes[i];
        }
        w->kept += next;
    }
}

/* ---- the registry ------------------------------------------------------------------ */

static void run_register(void *context) {
    work *w = context;
    spad_registry_reset(w->registry);
    for (size_t c = 0; c < w->components; c++) {
        for (size_t i = 0; i < PER_COMPONENT; i++) {
            const spad_registry_buffer buffer = {
                .name = names[i],
                .size = w->sizes[c * PER_COMPONENT + i],
                .location =
                    i % 3 == 2 ? SPAD_REGISTRY_LOCATION_LOCAL : SPAD_REGISTRY_LOCATION_SHARED,
                .aliases = i % 5 == 4 ? names[i - 4] : NULL,
            };
            if (spad_registry_register(w->registry, w->ids[c], &buffer, NULL) != SPAD_OK) abort();
        }
    }
}

static void lay_out(work *w, spad_registry_unit unit) {
    for (size_t c = 0; c < w->components; c++) {
        int64_t size;
        spad_registry_clear_layout(w->registry, w->ids[c]);
        if (spad_registry_get_size(&size, w->registry, w->ids[c], SPAD_REGISTRY_REGION_SHARED, unit,
                                   NULL) != SPAD_OK) {
            abort();
        }
        w->kept += size;
    }
}

static void run_elements(void *context) {
    lay_out(context, SPAD_REGISTRY_UNIT_ELEMENT);
}

static void run_bytes(void *context) {
    lay_out(context, SPAD_REGISTRY_UNIT_BYTE);
}

static void run_find(void *context) {
    work *w = context;
    for (size_t c = 0; c < w->components; c++) {
        for (size_t i = 0; i < PER_COMPONENT; i++) {
            spad_registry_slice slice;
            if (spad_registry_get_slice(&slice, w->registry, w->ids[c], names[i],
                                        SPAD_REGISTRY_UNIT_BYTE, NULL) != SPAD_OK) {
                abort();
            }
            w->kept += slice.offset;
        }
    }
}

/* ---- one size ---------------------------------------------------------------------- */

static void report(const work *w, const char *what, void (*body)(void *), double plain_ns) {
    const double ns = bench_best(RUNS, (int64_t)buffers_of(w), body, (void *)(uintptr_t)w);
    printf("  %-24s %8.2f ns   %7.1f million buffers a second   %6.1fx\n", what, ns, 1e3 / ns,
           ns / plain_ns);
}

static void measure(size_t components) {
    work w = {.components = components};
    const size_t count = buffers_of(&w);
    w.ids = calloc(components, sizeof *w.ids);
    w.sizes = calloc(count, sizeof *w.sizes);
    w.offsets = calloc(count, sizeof *w.offsets);
    if (w.ids == NULL || w.sizes == NULL || w.offsets == NULL ||
        spad_registry_create(&w.registry, NULL, NULL) != SPAD_OK) {
        abort();
    }
    for (size_t c = 0; c < components; c++) {
        if (spad_registry_add(&w.ids[c], w.registry, "c", SPAD_FLOAT32, NULL) != SPAD_OK) abort();
    }
    for (size_t i = 0; i < count; i++) w.sizes[i] = (int64_t)(i * 7919 % 61);
    printf("%zu buffers in %zu components (best of %d runs)\n", count, components, RUNS);
    const double plain_ns = bench_best(RUNS, (int64_t)count, run_plain, &w);
    printf("  %-24s %8.2f ns   %7.1f million buffers a second\n", "plain packing loop", plain_ns,
           1e3 / plain_ns);
    report(&w, "register", run_register, plain_ns);
    report(&w, "layout in elements", run_elements, plain_ns);
    report(&w, "layout in bytes", run_bytes, plain_ns);
    report(&w, "slice by name", run_find, plain_ns);
    spad_registry_destroy(w.registry);
    free(w.ids);
    free(w.sizes);
    free(w.offsets);
}

int main(void) {
    for (int i = 0; i < PER_COMPONENT; i++) snprintf(names[i], sizeof names[i], "buffer_%d", i);
    measure(100);
    measure(1000);
    measure(10000);
    return 0;
}
