/* SPDX-License-Identifier: Apache-2.0
 *
 * Operation sequences on a registry. Every byte string is a sequence; after it
 * the layouts that can be built must hold what they promise: slices inside
 * their regions, aligned, apart from each other unless one is inside the other.
 */
#include "fuzz.h"
#include "spad/experimental/registry_parts.h"
#include "spad/registry.h"

enum { COMPONENTS = 4 };

static const char *const names[] = {"a", "b",          "c", "k_shared", "k_persistent",
                                    "",  "a_location", "kk"};
static const spad_dtype types[] = {SPAD_DTYPE_NONE, SPAD_FLOAT16, SPAD_FLOAT32, SPAD_FLOAT64,
                                   SPAD_INT32,      SPAD_INT64,   SPAD_BOOL,    SPAD_DTYPE_COUNT};

static const char *take_name(fuzz_input *in) {
    return names[fuzz_next(in) % 8];
}

/* Mostly small, sometimes at the edge of 64 bits, sometimes negative. */
static int64_t take_size(fuzz_input *in) {
    const uint8_t byte = fuzz_next(in);
    if (byte < 240) return byte;
    return byte < 250 ? INT64_MAX >> (byte - 240) : -(int64_t)byte;
}

static spad_registry_buffer take_buffer(fuzz_input *in) {
    spad_registry_buffer buffer = {.name = take_name(in), .size = take_size(in)};
    const uint8_t kind = fuzz_next(in);
    buffer.location = (spad_registry_location)(kind % 4 == 3 ? 9 : kind % 2);
    buffer.persistent = (kind & 4) != 0;
    if (kind & 8) buffer.aliases = take_name(in);
    buffer.precision = types[kind >> 5];
    if (kind & 16) {
        buffer.t_begin = fuzz_next(in);
        buffer.t_end = fuzz_next(in);
    }
    return buffer;
}

static void operate(spad_registry *registry, spad_component *components, fuzz_input *in) {
    const uint8_t what = fuzz_next(in);
    spad_component *c = &components[what % COMPONENTS];
    switch (what / COMPONENTS % 10) {
    case 0:
    case 1:
    case 2: {
        const spad_registry_buffer buffer = take_buffer(in);
        spad_registry_register(registry, *c, &buffer, NULL);
        break;
    }
    case 3: {
        const unsigned fields = fuzz_next(in);
        const spad_registry_buffer buffer = take_buffer(in);
        spad_registry_update_buffer(NULL, registry, *c, fields, &buffer, NULL);
        break;
    }
    case 4: {
        const spad_registry_setting setting = {fuzz_next(in) % 2 ? "a_location" : "b_location",
                                               fuzz_next(in) % 2 ? "shared" : "local"};
        bool known;
        spad_registry_update(&known, registry, *c, &setting, 1, NULL);
        break;
    }
    case 5: {
        const uint8_t child = fuzz_next(in);
        spad_registry_register_child(NULL, registry, *c, components[child % COMPONENTS],
                                     child & 128 ? NULL : "k", NULL);
        break;
    }
    case 6: spad_registry_clear_own(registry, *c); break;
    case 7: spad_registry_clear_parent(registry, *c); break;
    case 8: {
        int64_t total;
        spad_registry_get_declared_local(&total, registry, *c,
                                         (spad_registry_unit)(fuzz_next(in) % 2), NULL);
        break;
    }
    default:
        spad_registry_remove(registry, *c);
        if (spad_registry_add(c, registry, "again", types[fuzz_next(in) % 6], NULL) != SPAD_OK)
            abort();
        break;
    }
}

static bool is_inside(const spad_registry_slice *slices, size_t i, size_t k,
                      spad_registry *registry, spad_component c) {
    for (size_t steps = 0; slices[i].inside != NULL && steps < 1000; steps++) {
        if (spad_registry_find_buffer(&i, registry, c, slices[i].inside, NULL) != SPAD_OK) abort();
        if (i == k) return true;
    }
    return false;
}

static void check_layout(spad_registry *registry, spad_component c, spad_registry_unit unit) {
    const spad_registry_slice *slices;
    size_t count;
    if (spad_registry_get_layout(&slices, &count, registry, c, unit, NULL) != SPAD_OK) return;
    REQUIRE(count == spad_registry_buffer_count(registry, c));
    for (size_t i = 0; i < count; i++) {
        const spad_registry_slice *s = &slices[i];
        int64_t total;
        int64_t align;
        REQUIRE(spad_registry_get_size(&total, registry, c, s->region, unit, NULL) == SPAD_OK);
        REQUIRE(spad_registry_get_alignment(&align, registry, c, s->region, unit, NULL) == SPAD_OK);
        REQUIRE(s->offset >= 0 && s->length >= 0 && s->length <= total - s->offset);
        REQUIRE(s->consumed >= 0 && s->consumed <= s->length);
        const spad_registry_buffer *buffer = spad_registry_get_buffer(registry, c, i);
        if (unit == SPAD_REGISTRY_UNIT_BYTE && s->length > 0) {
            const int64_t item = spad_dtype_bytes(buffer->precision);
            REQUIRE(align >= item || spad_registry_child_count(registry, c) > 0);
            REQUIRE(s->offset % item == 0 || spad_registry_child_count(registry, c) > 0);
        }
        for (size_t k = 0; k < i; k++) {
            const spad_registry_slice *t = &slices[k];
            const bool apart = s->region != t->region || s->length == 0 || t->length == 0 ||
                               s->offset + s->length <= t->offset ||
                               t->offset + t->length <= s->offset;
            REQUIRE(apart || is_inside(slices, i, k, registry, c) ||
                    is_inside(slices, k, i, registry, c));
        }
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    fuzz_input in = {data, size < 512 ? size : 512};
    spad_registry *registry;
    spad_component components[COMPONENTS];
    if (spad_registry_create(&registry, NULL, NULL) != SPAD_OK) return 0;
    for (int i = 0; i < COMPONENTS; i++) {
        if (spad_registry_add(&components[i], registry, "c", SPAD_FLOAT32, NULL) != SPAD_OK) {
            abort();
        }
    }
    while (in.size > 0) {
        operate(registry, components, &in);
        check_layout(registry, components[0], SPAD_REGISTRY_UNIT_ELEMENT);
    }
    for (int i = 0; i < COMPONENTS; i++) {
        check_layout(registry, components[i], SPAD_REGISTRY_UNIT_ELEMENT);
        check_layout(registry, components[i], SPAD_REGISTRY_UNIT_BYTE);
    }
    spad_registry_destroy(registry);
    return 0;
}
