/* SPDX-License-Identifier: Apache-2.0
 *
 * A registry with two components to play with, for the tests of the registry. */
#ifndef SPAD_TEST_REGISTRY_FIXTURE_H
#define SPAD_TEST_REGISTRY_FIXTURE_H

#include "support/support.h"

#include <string.h>

#include "spad/registry.h"

typedef struct fixture {
    test_host host;
    spad_registry *registry;
    spad_component a;
    spad_component b;
    spad_error error;
} fixture;

static inline int set_up(void **state) {
    static fixture f;
    memset(&f, 0, sizeof f);
    test_host_init(&f.host);
    assert_ok(spad_registry_create(&f.registry, &f.host.host, &f.error), &f.error);
    assert_ok(spad_registry_add(&f.a, f.registry, "alpha", SPAD_FLOAT32, &f.error), &f.error);
    assert_ok(spad_registry_add(&f.b, f.registry, "beta", SPAD_FLOAT64, &f.error), &f.error);
    *state = &f;
    return 0;
}

static inline int tear_down(void **state) {
    fixture *f = *state;
    spad_registry_destroy(f->registry);
    test_host_assert_clean(&f->host);
    return 0;
}

enum { SH = 's', LO = 'l', PE = 'p' }; /* shared, local, persistent */

static inline spad_registry_buffer buffer_of(const char *name, int64_t size, int kind,
                                             const char *aliases) {
    return (spad_registry_buffer){
        .name = name,
        .size = size,
        .location = kind == SH ? SPAD_REGISTRY_LOCATION_SHARED : SPAD_REGISTRY_LOCATION_LOCAL,
        .persistent = kind == PE,
        .aliases = aliases,
    };
}

static inline spad_status try_add(fixture *f, spad_component c, const char *name, int64_t size,
                                  int kind, const char *aliases) {
    const spad_registry_buffer buffer = buffer_of(name, size, kind, aliases);
    return spad_registry_register(f->registry, c, &buffer, &f->error);
}

static inline void add(fixture *f, spad_component c, const char *name, int64_t size, int kind,
                       const char *aliases) {
    assert_ok(try_add(f, c, name, size, kind, aliases), &f->error);
}

static inline void add_typed(fixture *f, spad_component c, const char *name, int64_t size, int kind,
                             const char *aliases, spad_dtype precision) {
    spad_registry_buffer buffer = buffer_of(name, size, kind, aliases);
    buffer.precision = precision;
    assert_ok(spad_registry_register(f->registry, c, &buffer, &f->error), &f->error);
}

static inline void add_living(fixture *f, spad_component c, const char *name, int64_t size,
                              const char *aliases, int64_t begin, int64_t end) {
    spad_registry_buffer buffer = buffer_of(name, size, SH, aliases);
    buffer.t_begin = begin;
    buffer.t_end = end;
    assert_ok(spad_registry_register(f->registry, c, &buffer, &f->error), &f->error);
}

static inline void expect(fixture *f, spad_component c, spad_registry_unit unit, const char *name,
                          spad_registry_region region, int64_t offset, int64_t length) {
    spad_registry_slice slice;
    assert_ok(spad_registry_get_slice(&slice, f->registry, c, name, unit, &f->error), &f->error);
    assert_int_equal(slice.region, region);
    assert_int_equal(slice.offset, offset);
    assert_int_equal(slice.length, length);
}

#define SHARED(name, offset, length) \
    expect(f, f->a, SPAD_REGISTRY_UNIT_ELEMENT, name, SPAD_REGISTRY_REGION_SHARED, offset, length)
#define PERSISTENT(name, offset, length)                                                       \
    expect(f, f->a, SPAD_REGISTRY_UNIT_ELEMENT, name, SPAD_REGISTRY_REGION_PERSISTENT, offset, \
           length)
#define LOCAL(name, offset, length) \
    expect(f, f->a, SPAD_REGISTRY_UNIT_ELEMENT, name, SPAD_REGISTRY_REGION_LOCAL, offset, length)

static inline void sizes(fixture *f, spad_component c, spad_registry_unit unit, int64_t shared,
                         int64_t persistent, int64_t local) {
    const int64_t expected[SPAD_REGISTRY_REGION_COUNT] = {shared, persistent, local};
    for (int region = 0; region < SPAD_REGISTRY_REGION_COUNT; region++) {
        int64_t size = -1;
        assert_ok(spad_registry_get_size(&size, f->registry, c, (spad_registry_region)region, unit,
                                         &f->error),
                  &f->error);
        assert_int_equal(size, expected[region]);
    }
}

static inline void fails(fixture *f, spad_status got, spad_status wanted, const char *message) {
    assert_int_equal(got, wanted);
    assert_int_equal(f->error.code, wanted);
    assert_string_equal(f->error.message, message);
}

static inline spad_registry_change update(fixture *f, unsigned fields,
                                          spad_registry_buffer values) {
    spad_registry_change out;
    assert_ok(spad_registry_update_buffer(&out, f->registry, f->a, fields, &values, &f->error),
              &f->error);
    return out;
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

#endif
