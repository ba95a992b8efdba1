/* SPDX-License-Identifier: Apache-2.0
 * The component registry: every rule of CuBIE's, and what goes beyond them. */
#include "support/support.h"

#include <string.h>

#include "base/names.h"
#include "spad/registry.h"

/* ---- a registry with one component to play with ----------------------------------------- */

typedef struct fixture {
    test_host host;
    spad_registry *registry;
    spad_component a;
    spad_component b;
    spad_error error;
} fixture;

static int set_up(void **state) {
    static fixture f;
    memset(&f, 0, sizeof f);
    test_host_init(&f.host);
    assert_ok(spad_registry_create(&f.registry, &f.host.host, &f.error), &f.error);
    assert_ok(spad_registry_add(&f.a, f.registry, "alpha", SPAD_FLOAT32, &f.error), &f.error);
    assert_ok(spad_registry_add(&f.b, f.registry, "beta", SPAD_FLOAT64, &f.error), &f.error);
    *state = &f;
    return 0;
}

static int tear_down(void **state) {
    fixture *f = *state;
    spad_registry_destroy(f->registry);
    test_host_assert_clean(&f->host);
    return 0;
}

enum { SH = 's', LO = 'l', PE = 'p' }; /* shared, local, persistent */

static spad_buffer buffer_of(const char *name, int64_t size, int kind, const char *aliases) {
    return (spad_buffer){
        .name = name,
        .size = size,
        .location = kind == SH ? SPAD_LOCATION_SHARED : SPAD_LOCATION_LOCAL,
        .persistent = kind == PE,
        .aliases = aliases,
    };
}

static spad_status try_add(fixture *f, spad_component c, const char *name, int64_t size, int kind,
                           const char *aliases) {
    const spad_buffer buffer = buffer_of(name, size, kind, aliases);
    return spad_registry_register(f->registry, c, &buffer, &f->error);
}

static void add(fixture *f, spad_component c, const char *name, int64_t size, int kind,
                const char *aliases) {
    assert_ok(try_add(f, c, name, size, kind, aliases), &f->error);
}

static void add_typed(fixture *f, spad_component c, const char *name, int64_t size, int kind,
                      const char *aliases, spad_dtype precision) {
    spad_buffer buffer = buffer_of(name, size, kind, aliases);
    buffer.precision = precision;
    assert_ok(spad_registry_register(f->registry, c, &buffer, &f->error), &f->error);
}

static void add_living(fixture *f, spad_component c, const char *name, int64_t size,
                       const char *aliases, int64_t begin, int64_t end) {
    spad_buffer buffer = buffer_of(name, size, SH, aliases);
    buffer.t_begin = begin;
    buffer.t_end = end;
    assert_ok(spad_registry_register(f->registry, c, &buffer, &f->error), &f->error);
}

static void expect(fixture *f, spad_component c, spad_unit unit, const char *name,
                   spad_region region, int64_t offset, int64_t length) {
    spad_slice slice;
    assert_ok(spad_registry_slice(&slice, f->registry, c, name, unit, &f->error), &f->error);
    assert_int_equal(slice.region, region);
    assert_int_equal(slice.offset, offset);
    assert_int_equal(slice.length, length);
}

#define SHARED(name, offset, length) \
    expect(f, f->a, SPAD_UNIT_ELEMENT, name, SPAD_REGION_SHARED, offset, length)
#define PERSISTENT(name, offset, length) \
    expect(f, f->a, SPAD_UNIT_ELEMENT, name, SPAD_REGION_PERSISTENT, offset, length)
#define LOCAL(name, offset, length) \
    expect(f, f->a, SPAD_UNIT_ELEMENT, name, SPAD_REGION_LOCAL, offset, length)

static void sizes(fixture *f, spad_component c, spad_unit unit, int64_t shared, int64_t persistent,
                  int64_t local) {
    const int64_t expected[SPAD_REGION_COUNT] = {shared, persistent, local};
    for (int region = 0; region < SPAD_REGION_COUNT; region++) {
        int64_t size = -1;
        assert_ok(spad_registry_size(&size, f->registry, c, (spad_region)region, unit, &f->error),
                  &f->error);
        assert_int_equal(size, expected[region]);
    }
}

static void fails(fixture *f, spad_status got, spad_status wanted, const char *message) {
    assert_int_equal(got, wanted);
    assert_int_equal(f->error.code, wanted);
    assert_string_equal(f->error.message, message);
}

/* ---- names and enums -------------------------------------------------------------------- */

static void enums_have_names(void **state) {
    fixture *f = *state;
    assert_string_equal(spad_location_name(SPAD_LOCATION_SHARED), "shared");
    assert_string_equal(spad_location_name(SPAD_LOCATION_LOCAL), "local");
    assert_string_equal(spad_location_name((spad_location)7), "?");
    assert_string_equal(spad_region_name(SPAD_REGION_PERSISTENT), "persistent");
    assert_string_equal(spad_region_name((spad_region)7), "?");
    spad_location location;
    assert_ok(spad_location_parse(&location, "local", &f->error), &f->error);
    assert_int_equal(location, SPAD_LOCATION_LOCAL);
    assert_ok(spad_location_parse(&location, "shared", &f->error), &f->error);
    assert_int_equal(location, SPAD_LOCATION_SHARED);
    fails(f, spad_location_parse(&location, "global", &f->error), SPAD_ERR_ARGUMENT,
          "Invalid location 'global'; use 'shared' or 'local'");
}

static void a_name_set_knows_the_order_of_arrival(void **state) {
    fixture *f = *state;
    spad__names set;
    spad__names_init(&set, &f->host.host);
    assert_int_equal(spad__names_index(&set, "", "a"), SPAD__NO_NAME);
    assert_non_null(spad__names_add(&set, "a", "b"));
    assert_non_null(spad__names_add(&set, "", "a"));
    assert_int_equal(spad__names_index(&set, "", "ab"), 0);
    assert_int_equal(spad__names_index(&set, "ab", ""), 0);
    assert_int_equal(spad__names_index(&set, "", "a"), 1);
    assert_int_equal(spad__names_index_of(&set, "abc", 2), 0);
    assert_int_equal(spad__names_index_of(&set, "abc", 1), 1);
    assert_int_equal(spad__names_index_of(&set, "abc", 3), SPAD__NO_NAME);
    assert_int_equal(spad__names_index_of(&set, "abc", 0), SPAD__NO_NAME);
    spad__names_free(&set);
}

/* ---- components ------------------------------------------------------------------------- */

static void components_are_known_until_removed(void **state) {
    fixture *f = *state;
    assert_string_equal(spad_registry_component_name(f->registry, f->a), "alpha");
    assert_int_equal(spad_registry_component_precision(f->registry, f->b), SPAD_FLOAT64);
    assert_false(spad_registry_has_group(f->registry, f->a));
    add(f, f->a, "x", 1, SH, NULL);
    assert_true(spad_registry_has_group(f->registry, f->a));
    assert_int_equal(spad_registry_group_count(f->registry), 1);
    spad_registry_remove(f->registry, f->a);
    spad_registry_remove(f->registry, f->a); /* again: nothing */
    assert_null(spad_registry_component_name(f->registry, f->a));
    assert_int_equal(spad_registry_component_precision(f->registry, f->a), SPAD_DTYPE_NONE);
    assert_false(spad_registry_has_group(f->registry, f->a));
    assert_int_equal(spad_registry_group_count(f->registry), 0);
    assert_int_equal(spad_registry_revision(f->registry, f->a), 0);
    spad_component c;
    assert_ok(spad_registry_add(&c, f->registry, "gamma", SPAD_DTYPE_NONE, &f->error), &f->error);
    assert_int_not_equal(c, f->a); /* the slot is used again, the number is not */
    assert_int_equal(spad_registry_component_precision(f->registry, c), SPAD_FLOAT32);
    fails(f, try_add(f, f->a, "x", 1, SH, NULL), SPAD_ERR_STALE,
          "component 1 was removed from the registry, or is not one of it");
    fails(f, try_add(f, SPAD_NO_COMPONENT, "x", 1, SH, NULL), SPAD_ERR_STALE,
          "component 0 was removed from the registry, or is not one of it");
    fails(f, try_add(f, 77, "x", 1, SH, NULL), SPAD_ERR_STALE,
          "component 77 was removed from the registry, or is not one of it");
    fails(f, spad_registry_add(&c, f->registry, "delta", SPAD_BFLOAT16, &f->error), SPAD_ERR_DTYPE,
          "precision bfloat16 of component 'delta' is not one of float16, float32, float64, int32, "
          "int64");
    assert_int_equal(c, SPAD_NO_COMPONENT);
}

static void components_come_one_after_the_other(void **state) {
    fixture *f = *state;
    spad_registry *r = f->registry;
    assert_int_equal(spad_registry_next(r, SPAD_NO_COMPONENT), f->a);
    assert_int_equal(spad_registry_next(r, f->a), f->b);
    assert_int_equal(spad_registry_next(r, f->b), SPAD_NO_COMPONENT);
    spad_registry_remove(r, f->a);
    assert_int_equal(spad_registry_next(r, SPAD_NO_COMPONENT), f->b);
    spad_registry_remove(r, f->b);
    assert_int_equal(spad_registry_next(r, SPAD_NO_COMPONENT), SPAD_NO_COMPONENT);
}

static void a_component_that_is_gone_is_an_error_or_nothing(void **state) {
    fixture *f = *state;
    spad_registry_remove(f->registry, f->a);
    int64_t size;
    size_t count;
    const spad_slice *slices;
    spad_slice slice;
    spad_allocator x;
    spad_allocator y;
    const spad_buffer values = {.name = "x"};
    const spad_setting setting = {"x_location", "shared"};
    bool known;
    spad_registry *r = f->registry;
    const spad_unit e = SPAD_UNIT_ELEMENT;
    assert_int_equal(spad_registry_size(&size, r, f->a, SPAD_REGION_LOCAL, e, NULL),
                     SPAD_ERR_STALE);
    assert_int_equal(spad_registry_alignment(&size, r, f->a, SPAD_REGION_LOCAL, e, NULL),
                     SPAD_ERR_STALE);
    assert_int_equal(spad_registry_layout(&slices, &count, r, f->a, e, NULL), SPAD_ERR_STALE);
    assert_int_equal(spad_registry_slice(&slice, r, f->a, "x", e, NULL), SPAD_ERR_STALE);
    assert_int_equal(spad_registry_declared_local(&size, r, f->a, e, NULL), SPAD_ERR_STALE);
    assert_int_equal(spad_registry_update_buffer(NULL, r, f->a, 1, &values, NULL), SPAD_ERR_STALE);
    assert_int_equal(spad_registry_update(&known, r, f->a, &setting, 1, NULL), SPAD_ERR_STALE);
    assert_int_equal(spad_registry_register_child(NULL, r, f->a, f->b, "c", NULL), SPAD_ERR_STALE);
    assert_int_equal(spad_registry_register_child(NULL, r, f->b, f->a, "c", NULL), SPAD_ERR_STALE);
    assert_int_equal(spad_registry_get_child_allocators(&x, &y, r, f->a, f->b, "c", e, NULL),
                     SPAD_ERR_STALE);
    assert_int_equal(spad_registry_get_toplevel_allocators(&x, &y, r, f->a, e, NULL),
                     SPAD_ERR_STALE);
    spad_registry_clear_own(r, f->a);
    spad_registry_clear_parent(r, f->a);
    spad_registry_clear_layout(r, f->a);
    assert_int_equal(spad_registry_buffer_count(r, f->a), 0);
    assert_null(spad_registry_buffer_at(r, f->a, 0));
    assert_int_equal(spad_registry_child_count(r, f->a), 0);
    assert_false(spad_registry_is_laid_out(r, f->a, e));
}

/* ---- registering ---------------------------------------------------------------------------- */

static void a_registered_buffer_has_all_its_fields(void **state) {
    fixture *f = *state;
    char name[] = "buf"; /* copied */
    add(f, f->a, name, 10, SH, NULL);
    name[0] = 'x';
    spad_buffer typed = buffer_of("typed", 5, PE, "buf");
    typed.precision = SPAD_INT32;
    typed.t_begin = 3;
    typed.t_end = 9;
    assert_ok(spad_registry_register(f->registry, f->a, &typed, &f->error), &f->error);
    assert_int_equal(spad_registry_buffer_count(f->registry, f->a), 2);
    const spad_buffer *first = spad_registry_buffer_at(f->registry, f->a, 0);
    assert_string_equal(first->name, "buf");
    assert_int_equal(first->size, 10);
    assert_int_equal(first->location, SPAD_LOCATION_SHARED);
    assert_false(first->persistent);
    assert_null(first->aliases);
    assert_int_equal(first->precision, SPAD_FLOAT32); /* of the component */
    const spad_buffer *second = spad_registry_buffer_at(f->registry, f->a, 1);
    assert_string_equal(second->aliases, "buf");
    assert_true(second->persistent);
    assert_int_equal(second->precision, SPAD_INT32);
    assert_int_equal(second->t_begin, 3);
    assert_int_equal(second->t_end, 9);
    assert_null(spad_registry_buffer_at(f->registry, f->a, 2));
    size_t index;
    assert_ok(spad_registry_find_buffer(&index, f->registry, f->a, "typed", &f->error), &f->error);
    assert_int_equal(index, 1);
}

static void bad_buffers_are_refused_and_change_nothing(void **state) {
    fixture *f = *state;
    fails(f, try_add(f, f->a, "", 1, SH, NULL), SPAD_ERR_NAME,
          "the name of a buffer cannot be empty");
    fails(f, try_add(f, f->a, NULL, 1, SH, NULL), SPAD_ERR_NAME,
          "the name of a buffer cannot be empty");
    fails(f, try_add(f, f->a, "x", 1, SH, "x"), SPAD_ERR_NAME, "buffer 'x' cannot alias itself");
    fails(f, try_add(f, f->a, "x", 1, SH, "y"), SPAD_ERR_UNKNOWN,
          "alias target 'y' of buffer 'x' is not registered; register 'y' first");
    assert_string_equal(f->error.subject, "x");
    assert_string_equal(f->error.other, "y");
    fails(f, try_add(f, f->a, "x", -1, SH, NULL), SPAD_ERR_ARGUMENT,
          "size -1 of buffer 'x' is negative; give 0 or more elements");
    spad_buffer bad = buffer_of("x", 1, SH, NULL);
    bad.location = (spad_location)5;
    fails(f, spad_registry_register(f->registry, f->a, &bad, &f->error), SPAD_ERR_ARGUMENT,
          "Invalid location 5 for buffer 'x'; use shared or local");
    bad = buffer_of("x", 1, SH, NULL);
    bad.precision = SPAD_INT8;
    fails(f, spad_registry_register(f->registry, f->a, &bad, &f->error), SPAD_ERR_DTYPE,
          "precision int8 of buffer 'x' is not one of float16, float32, float64, int32, int64");
    bad = buffer_of("x", 1, SH, NULL);
    bad.t_begin = 4;
    bad.t_end = 3;
    fails(f, spad_registry_register(f->registry, f->a, &bad, &f->error), SPAD_ERR_ARGUMENT,
          "lifetime of buffer 'x' ends at 3, before it begins at 4");
    assert_false(spad_registry_has_group(f->registry, f->a));
    assert_int_equal(spad_registry_revision(f->registry, f->a), 0);
    static const spad_dtype good[] = {SPAD_FLOAT16, SPAD_FLOAT32, SPAD_FLOAT64, SPAD_INT32,
                                      SPAD_INT64};
    for (size_t i = 0; i < 5; i++) add_typed(f, f->a, "x", 1, SH, NULL, good[i]);
    assert_int_equal(spad_registry_buffer_count(f->registry, f->a), 1);
}

static void a_name_again_replaces_the_buffer_in_place(void **state) {
    fixture *f = *state;
    add(f, f->a, "x", 10, SH, NULL);
    add(f, f->a, "y", 20, SH, NULL);
    SHARED("y", 10, 20);
    add(f, f->a, "x", 5, SH, NULL);
    assert_false(spad_registry_is_laid_out(f->registry, f->a, SPAD_UNIT_ELEMENT));
    assert_string_equal(spad_registry_buffer_at(f->registry, f->a, 0)->name, "x");
    SHARED("x", 0, 5);
    SHARED("y", 5, 20);
}

/* ---- the layout, in elements ------------------------------------------------------------------
 */

static void buffers_are_packed_by_region(void **state) {
    fixture *f = *state;
    add(f, f->a, "s1", 10, SH, NULL);
    add(f, f->a, "p1", 15, PE, NULL);
    add(f, f->a, "l0", 0, LO, NULL);
    add(f, f->a, "s2", 20, SH, NULL);
    add(f, f->a, "p2", 25, PE, NULL);
    add(f, f->a, "l7", 7, LO, NULL);
    SHARED("s1", 0, 10);
    SHARED("s2", 10, 20);
    PERSISTENT("p1", 0, 15);
    PERSISTENT("p2", 15, 25);
    LOCAL("l0", 0, 1);
    LOCAL("l7", 1, 7);
    sizes(f, f->a, SPAD_UNIT_ELEMENT, 30, 40, 8);
    sizes(f, f->b, SPAD_UNIT_ELEMENT, 0, 0, 0);
}

static void shared_and_persistent_is_shared(void **state) {
    fixture *f = *state;
    spad_buffer both = buffer_of("x", 4, SH, NULL);
    both.persistent = true;
    assert_ok(spad_registry_register(f->registry, f->a, &both, &f->error), &f->error);
    SHARED("x", 0, 4);
    sizes(f, f->a, SPAD_UNIT_ELEMENT, 4, 0, 0);
}

static void a_shared_buffer_of_no_size_is_an_empty_slice(void **state) {
    fixture *f = *state;
    add(f, f->a, "x", 3, SH, NULL);
    add(f, f->a, "none", 0, SH, NULL);
    add(f, f->a, "child", 0, LO, "none");
    SHARED("none", 3, 0);
    SHARED("child", 3, 0); /* nothing fits into nothing */
    sizes(f, f->a, SPAD_UNIT_ELEMENT, 3, 0, 0);
}

static void an_alias_goes_inside_a_shared_target(void **state) {
    fixture *f = *state;
    add(f, f->a, "parent", 100, SH, NULL);
    add(f, f->a, "child", 30, SH, "parent");
    SHARED("parent", 0, 100);
    SHARED("child", 0, 30);
    sizes(f, f->a, SPAD_UNIT_ELEMENT, 100, 0, 0);
    spad_slice slice;
    assert_ok(spad_registry_slice(&slice, f->registry, f->a, "child", SPAD_UNIT_ELEMENT, NULL),
              &f->error);
    assert_string_equal(slice.inside, "parent");
    assert_int_equal(slice.consumed, 0);
    assert_ok(spad_registry_slice(&slice, f->registry, f->a, "parent", SPAD_UNIT_ELEMENT, NULL),
              &f->error);
    assert_null(slice.inside);
    assert_int_equal(slice.consumed, 30);
}

static void aliases_take_a_target_one_after_the_other(void **state) {
    fixture *f = *state;
    add(f, f->a, "parent", 100, SH, NULL);
    add(f, f->a, "c1", 40, SH, "parent");
    add(f, f->a, "c2", 40, SH, "parent");
    add(f, f->a, "c3", 40, SH, "parent"); /* only 20 are left */
    add(f, f->a, "c4", 20, SH, "parent"); /* fits again */
    SHARED("c1", 0, 40);
    SHARED("c2", 40, 40);
    SHARED("c3", 100, 40);
    SHARED("c4", 80, 20);
    sizes(f, f->a, SPAD_UNIT_ELEMENT, 140, 0, 0);
}

static void an_alias_that_does_not_fit_falls_back_to_its_own_kind(void **state) {
    fixture *f = *state;
    add(f, f->a, "parent", 50, SH, NULL);
    add(f, f->a, "shared", 80, SH, "parent");
    add(f, f->a, "persistent", 60, PE, "parent");
    add(f, f->a, "local", 70, LO, "parent");
    SHARED("shared", 50, 80);
    PERSISTENT("persistent", 0, 60);
    LOCAL("local", 0, 70);
    sizes(f, f->a, SPAD_UNIT_ELEMENT, 130, 60, 70);
}

static void a_local_alias_of_a_shared_target_becomes_shared(void **state) {
    fixture *f = *state;
    add(f, f->a, "parent", 100, SH, NULL);
    add(f, f->a, "child", 30, LO, "parent");
    add(f, f->a, "kept", 30, PE, "parent");
    SHARED("child", 0, 30);
    SHARED("kept", 30, 30);
    sizes(f, f->a, SPAD_UNIT_ELEMENT, 100, 0, 0);
}

static void aliasing_local_memory_never_shares(void **state) {
    fixture *f = *state;
    add(f, f->a, "p", 10, PE, NULL);
    add(f, f->a, "pc", 10, PE, "p");
    add(f, f->a, "l", 10, LO, NULL);
    add(f, f->a, "lc", 10, LO, "l");
    add(f, f->a, "sc", 5, SH, "l");
    PERSISTENT("pc", 10, 10);
    LOCAL("lc", 10, 10);
    SHARED("sc", 0, 5);
    sizes(f, f->a, SPAD_UNIT_ELEMENT, 5, 20, 20);
}

static void an_alias_of_an_alias_works(void **state) {
    fixture *f = *state;
    add(f, f->a, "p", 100, SH, NULL);
    add(f, f->a, "c", 60, SH, "p");
    add(f, f->a, "gc", 30, LO, "c");
    add(f, f->a, "gc2", 40, LO, "c");
    SHARED("c", 0, 60);
    SHARED("gc", 0, 30);
    LOCAL("gc2", 0, 40);
    sizes(f, f->a, SPAD_UNIT_ELEMENT, 100, 0, 40);
}

static void aliases_are_placed_in_the_order_of_registration(void **state) {
    fixture *f = *state;
    add(f, f->a, "a", 10, SH, NULL);
    add(f, f->a, "b", 10, SH, "a");
    add(f, f->a, "a", 10, SH, "b"); /* now each aliases the other; a comes first */
    SHARED("a", 0, 10);             /* b has no place yet */
    SHARED("b", 0, 10);
    sizes(f, f->a, SPAD_UNIT_ELEMENT, 10, 0, 0);
}

static void types_do_not_change_the_layout_in_elements(void **state) {
    fixture *f = *state;
    add_typed(f, f->a, "x", 3, SH, NULL, SPAD_INT32);
    add_typed(f, f->a, "y", 3, SH, NULL, SPAD_FLOAT64);
    SHARED("y", 3, 3);
}

static void the_whole_layout_comes_at_once(void **state) {
    fixture *f = *state;
    const spad_slice *slices;
    size_t count;
    assert_ok(spad_registry_layout(&slices, &count, f->registry, f->a, SPAD_UNIT_ELEMENT, NULL),
              &f->error);
    assert_null(slices);
    assert_int_equal(count, 0);
    add(f, f->a, "x", 3, SH, NULL);
    add(f, f->a, "y", 3, PE, NULL);
    assert_ok(spad_registry_layout(&slices, &count, f->registry, f->a, SPAD_UNIT_ELEMENT, NULL),
              &f->error);
    assert_int_equal(count, 2);
    assert_int_equal(slices[0].region, SPAD_REGION_SHARED);
    assert_int_equal(slices[1].region, SPAD_REGION_PERSISTENT);
    int64_t size;
    fails(f, spad_registry_layout(&slices, &count, f->registry, f->a, (spad_unit)9, &f->error),
          SPAD_ERR_ARGUMENT, "a layout has no unit number 9");
    fails(f,
          spad_registry_size(&size, f->registry, f->a, (spad_region)9, SPAD_UNIT_BYTE, &f->error),
          SPAD_ERR_ARGUMENT, "a layout has no region number 9");
    fails(f,
          spad_registry_alignment(&size, f->registry, f->a, (spad_region)-1, SPAD_UNIT_BYTE,
                                  &f->error),
          SPAD_ERR_ARGUMENT, "a layout has no region number -1");
}

/* ---- the cache
 * ----------------------------------------------------------------------------------- */

static void layouts_are_built_when_asked_for_and_kept(void **state) {
    fixture *f = *state;
    spad_registry *r = f->registry;
    add(f, f->a, "x", 3, LO, NULL);
    add_living(f, f->a, "y", 3, NULL, 0, 1); /* checking these takes memory: */
    add_living(f, f->a, "z", 3, "y", 1, 2);  /* a layout built again would show */
    assert_false(spad_registry_is_laid_out(r, f->a, SPAD_UNIT_ELEMENT));
    sizes(f, f->a, SPAD_UNIT_ELEMENT, 3, 0, 3);
    assert_true(spad_registry_is_laid_out(r, f->a, SPAD_UNIT_ELEMENT));
    assert_false(spad_registry_is_laid_out(r, f->a, SPAD_UNIT_BYTE));
    sizes(f, f->a, SPAD_UNIT_BYTE, 12, 0, 12);
    const uint64_t revision = spad_registry_revision(r, f->a);
    const spad_slice *before;
    const spad_slice *after;
    size_t count;
    const long calls = f->host.calls;
    assert_ok(spad_registry_layout(&before, &count, r, f->a, SPAD_UNIT_ELEMENT, NULL), &f->error);

    spad_buffer values = {.name = "x", .size = 3, .location = SPAD_LOCATION_LOCAL};
    spad_update update;
    assert_ok(spad_registry_update_buffer(&update, r, f->a, SPAD_BUFFER_SIZE | SPAD_BUFFER_LOCATION,
                                          &values, &f->error),
              &f->error);
    assert_true(update.recognised);
    assert_false(update.changed);
    const spad_setting same = {"x_location", "local"};
    bool known = false;
    assert_ok(spad_registry_update(&known, r, f->a, &same, 1, &f->error), &f->error);
    assert_true(known);
    assert_true(spad_registry_is_laid_out(r, f->a, SPAD_UNIT_ELEMENT));
    assert_int_equal(spad_registry_revision(r, f->a), revision);
    assert_ok(spad_registry_layout(&after, &count, r, f->a, SPAD_UNIT_ELEMENT, NULL), &f->error);
    assert_ptr_equal(before, after);
    assert_int_equal(f->host.calls, calls);

    spad_registry_clear_layout(r, f->a);
    assert_false(spad_registry_is_laid_out(r, f->a, SPAD_UNIT_ELEMENT));
    assert_false(spad_registry_is_laid_out(r, f->a, SPAD_UNIT_BYTE));
    assert_int_equal(spad_registry_revision(r, f->a), revision + 1);
    spad_registry_clear_layout(r, f->b); /* has none */
}

/* ---- updates
 * --------------------------------------------------------------------------------------- */

static spad_update update(fixture *f, unsigned fields, spad_buffer values) {
    spad_update out;
    assert_ok(spad_registry_update_buffer(&out, f->registry, f->a, fields, &values, &f->error),
              &f->error);
    return out;
}

static void an_update_sets_only_its_fields(void **state) {
    fixture *f = *state;
    spad_update got = update(f, SPAD_BUFFER_SIZE, (spad_buffer){.name = "x", .size = 1});
    assert_false(got.recognised || got.changed); /* no group */
    add(f, f->a, "x", 10, LO, NULL);
    sizes(f, f->a, SPAD_UNIT_ELEMENT, 0, 0, 10);
    got = update(f, SPAD_BUFFER_SIZE, (spad_buffer){.name = "other", .size = -1});
    assert_false(got.recognised || got.changed);
    got = update(f, SPAD_BUFFER_SIZE, (spad_buffer){.name = NULL, .size = 1});
    assert_false(got.recognised || got.changed);
    assert_true(spad_registry_is_laid_out(f->registry, f->a, SPAD_UNIT_ELEMENT));
    got = update(f, SPAD_BUFFER_SIZE, (spad_buffer){.name = "x", .size = 20});
    assert_true(got.recognised && got.changed);
    assert_false(spad_registry_is_laid_out(f->registry, f->a, SPAD_UNIT_ELEMENT));
    const spad_buffer *x = spad_registry_buffer_at(f->registry, f->a, 0);
    assert_int_equal(x->size, 20);
    assert_int_equal(x->location, SPAD_LOCATION_LOCAL);
    update(f, SPAD_BUFFER_PERSISTENT, (spad_buffer){.name = "x", .persistent = true});
    update(f, SPAD_BUFFER_PRECISION, (spad_buffer){.name = "x", .precision = SPAD_INT64});
    update(f, SPAD_BUFFER_LIFETIME, (spad_buffer){.name = "x", .t_begin = 1, .t_end = 2});
    x = spad_registry_buffer_at(f->registry, f->a, 0);
    assert_true(x->persistent);
    assert_int_equal(x->precision, SPAD_INT64);
    assert_int_equal(x->t_end, 2);
    update(f, SPAD_BUFFER_PRECISION, (spad_buffer){.name = "x"});
    assert_int_equal(spad_registry_buffer_at(f->registry, f->a, 0)->precision, SPAD_FLOAT32);
}

static void a_bad_update_keeps_the_old_buffer(void **state) {
    fixture *f = *state;
    add(f, f->a, "x", 10, LO, NULL);
    sizes(f, f->a, SPAD_UNIT_ELEMENT, 0, 0, 10);
    const spad_buffer bad = {.name = "x",
                             .size = -3,
                             .location = (spad_location)3,
                             .precision = SPAD_BOOL,
                             .t_begin = 1};
    spad_update out = {true, true};
    fails(f,
          spad_registry_update_buffer(&out, f->registry, f->a, SPAD_BUFFER_SIZE, &bad, &f->error),
          SPAD_ERR_ARGUMENT, "size -3 of buffer 'x' is negative; give 0 or more elements");
    assert_false(out.recognised || out.changed);
    fails(
        f,
        spad_registry_update_buffer(NULL, f->registry, f->a, SPAD_BUFFER_LOCATION, &bad, &f->error),
        SPAD_ERR_ARGUMENT, "Invalid location 3 for buffer 'x'; use shared or local");
    fails(f,
          spad_registry_update_buffer(NULL, f->registry, f->a, SPAD_BUFFER_PRECISION, &bad,
                                      &f->error),
          SPAD_ERR_DTYPE,
          "precision bool of buffer 'x' is not one of float16, float32, float64, int32, int64");
    fails(
        f,
        spad_registry_update_buffer(NULL, f->registry, f->a, SPAD_BUFFER_LIFETIME, &bad, &f->error),
        SPAD_ERR_ARGUMENT, "lifetime of buffer 'x' ends at 0, before it begins at 1");
    fails(f, spad_registry_update_buffer(NULL, f->registry, f->a, 65, &bad, &f->error),
          SPAD_ERR_ARGUMENT, "an update has no field number 0x40");
    assert_int_equal(spad_registry_buffer_at(f->registry, f->a, 0)->size, 10);
    assert_true(spad_registry_is_laid_out(f->registry, f->a, SPAD_UNIT_ELEMENT));
}

static void an_update_takes_any_alias_and_the_layout_tells(void **state) {
    fixture *f = *state;
    add(f, f->a, "x", 10, SH, NULL);
    add(f, f->a, "y", 4, LO, NULL);
    assert_true(update(f, SPAD_BUFFER_ALIASES, (spad_buffer){.name = "y", .aliases = "z"}).changed);
    assert_false(
        update(f, SPAD_BUFFER_ALIASES, (spad_buffer){.name = "y", .aliases = "z"}).changed);
    assert_string_equal(spad_registry_buffer_at(f->registry, f->a, 1)->aliases, "z");
    int64_t size = 5;
    for (int again = 0; again < 2; again++) { /* it does not go away by asking twice */
        fails(f,
              spad_registry_size(&size, f->registry, f->a, SPAD_REGION_SHARED, SPAD_UNIT_ELEMENT,
                                 &f->error),
              SPAD_ERR_UNKNOWN,
              "alias target 'z' of buffer 'y' is not registered; register it, or update the alias");
        assert_int_equal(size, 0);
    }
    assert_string_equal(f->error.other, "z");
    add(f, f->a, "z", 5, SH, NULL); /* later is early enough */
    SHARED("y", 10, 4);
    update(f, SPAD_BUFFER_ALIASES, (spad_buffer){.name = "y", .aliases = "y"});
    LOCAL("y", 0, 4); /* an alias of itself gets its own space */
    update(f, SPAD_BUFFER_ALIASES, (spad_buffer){.name = "x", .aliases = "x"});
    SHARED("z", 0, 5);
    SHARED("x", 5, 10);
    update(f, SPAD_BUFFER_ALIASES, (spad_buffer){.name = "y"});
    assert_null(spad_registry_buffer_at(f->registry, f->a, 1)->aliases);
}

static void settings_move_buffers(void **state) {
    fixture *f = *state;
    bool known[5] = {true, true, true, true, true};
    const spad_setting settings[5] = {{"x_location", "shared"},
                                      {"y_location", "shared"},
                                      {"none_location", "local"},
                                      {"x_size", "nonsense"},
                                      {"_location", "local"}};
    assert_ok(spad_registry_update(known, f->registry, f->a, settings, 5, &f->error), &f->error);
    for (int i = 0; i < 5; i++) assert_false(known[i]); /* no group */
    const spad_setting bad = {"none_location", "global"};
    assert_ok(spad_registry_update(known, f->registry, f->a, &bad, 1, &f->error), &f->error);
    add(f, f->a, "x", 10, LO, NULL);
    add(f, f->a, "y", 10, LO, NULL);
    sizes(f, f->a, SPAD_UNIT_ELEMENT, 0, 0, 20);
    assert_ok(spad_registry_update(known, f->registry, f->a, settings, 5, &f->error), &f->error);
    assert_true(known[0] && known[1]);
    assert_false(known[2] || known[3] || known[4]);
    assert_false(spad_registry_is_laid_out(f->registry, f->a, SPAD_UNIT_ELEMENT));
    sizes(f, f->a, SPAD_UNIT_ELEMENT, 20, 0, 0);
    const spad_setting half[2] = {{"x_location", "local"}, {"none_location", "global"}};
    fails(f, spad_registry_update(known, f->registry, f->a, half, 2, &f->error), SPAD_ERR_ARGUMENT,
          "Invalid location 'global' for buffer 'none'; use 'shared' or 'local'");
    assert_false(known[0]);
    sizes(f, f->a, SPAD_UNIT_ELEMENT, 20, 0, 0); /* not even the good half */
    assert_ok(spad_registry_update(NULL, f->registry, f->a, half, 1, &f->error), &f->error);
    sizes(f, f->a, SPAD_UNIT_ELEMENT, 10, 0, 10);
    assert_ok(spad_registry_update(NULL, f->registry, f->a, NULL, 0, &f->error), &f->error);
}

/* ---- children
 * --------------------------------------------------------------------------------------- */

static void a_child_is_registered_with_its_totals_of_now(void **state) {
    fixture *f = *state;
    spad_child_buffers names;
    assert_ok(spad_registry_register_child(&names, f->registry, f->a, f->b, "solver", &f->error),
              &f->error);
    assert_string_equal(names.shared, "solver_shared");
    assert_string_equal(names.persistent, "solver_persistent");
    SHARED("solver_shared", 0, 0); /* the child has nothing yet */
    add(f, f->b, "s", 4, SH, NULL);
    add(f, f->b, "p", 3, PE, NULL);
    add(f, f->b, "l", 9, LO, NULL);
    add(f, f->a, "own", 2, SH, NULL);
    SHARED("solver_shared", 0, 0); /* a snapshot */
    assert_ok(spad_registry_register_child(NULL, f->registry, f->a, f->b, "solver", &f->error),
              &f->error);
    SHARED("solver_shared", 0, 4);
    SHARED("own", 4, 2);
    PERSISTENT("solver_persistent", 0, 3);
    sizes(f, f->a, SPAD_UNIT_ELEMENT, 6, 3, 0); /* plain local of children does not roll up */
    const spad_buffer *totals = spad_registry_buffer_at(f->registry, f->a, 0);
    assert_int_equal(totals->precision, SPAD_FLOAT32); /* of the parent */
    add(f, f->b, "s2", 6, SH, NULL);
    assert_ok(spad_registry_register_child(NULL, f->registry, f->a, f->b, "solver", &f->error),
              &f->error);
    SHARED("solver_shared", 0, 10);
    assert_int_equal(spad_registry_child_count(f->registry, f->a), 1);
    spad_child child;
    assert_ok(spad_registry_child_at(&child, f->registry, f->a, 0, &f->error), &f->error);
    assert_string_equal(child.name, "solver");
    assert_int_equal(child.component, f->b);
    fails(f, spad_registry_child_at(&child, f->registry, f->a, 1, &f->error), SPAD_ERR_ARGUMENT,
          "the component has no child number 1 of 1");
    assert_ok(spad_registry_register_child(&names, f->registry, f->a, f->b, NULL, &f->error),
              &f->error);
    assert_string_equal(names.shared, "child_2_shared");
    spad_registry_remove(f->registry, f->b);
    sizes(f, f->a, SPAD_UNIT_ELEMENT, 22, 6, 0); /* the parent keeps what it has */
}

static void a_name_again_replaces_the_recorded_child(void **state) {
    fixture *f = *state;
    spad_component c;
    assert_ok(spad_registry_add(&c, f->registry, "gamma", SPAD_FLOAT32, &f->error), &f->error);
    add(f, f->b, "x", 1, SH, NULL);
    add(f, c, "x", 2, SH, NULL);
    assert_ok(spad_registry_register_child(NULL, f->registry, f->a, f->b, "k", NULL), &f->error);
    assert_ok(spad_registry_register_child(NULL, f->registry, f->a, c, "k", NULL), &f->error);
    SHARED("k_shared", 0, 2);
    spad_registry_clear_parent(f->registry, f->a);
    assert_false(spad_registry_has_group(f->registry, f->a));
    assert_true(spad_registry_has_group(f->registry, f->b));
    assert_false(spad_registry_has_group(f->registry, c));
}

static void errors_of_a_child_reach_its_parent(void **state) {
    fixture *f = *state;
    add(f, f->b, "x", 1, SH, NULL);
    const spad_buffer values = {.name = "x", .aliases = "gone"};
    assert_ok(spad_registry_update_buffer(NULL, f->registry, f->b, SPAD_BUFFER_ALIASES, &values,
                                          &f->error),
              &f->error);
    fails(f, spad_registry_register_child(NULL, f->registry, f->a, f->b, "k", &f->error),
          SPAD_ERR_UNKNOWN,
          "alias target 'gone' of buffer 'x' is not registered; register it, or update the alias");
    assert_false(spad_registry_has_group(f->registry, f->a));
}

static void clearing_cascades_or_not(void **state) {
    fixture *f = *state;
    spad_component c;
    assert_ok(spad_registry_add(&c, f->registry, "gamma", SPAD_FLOAT32, &f->error), &f->error);
    add(f, c, "x", 2, SH, NULL);
    assert_ok(spad_registry_register_child(NULL, f->registry, f->b, c, "c", NULL), &f->error);
    assert_ok(spad_registry_register_child(NULL, f->registry, f->a, f->b, "b", NULL), &f->error);
    spad_registry_clear_own(f->registry, f->a);
    assert_false(spad_registry_has_group(f->registry, f->a));
    assert_true(spad_registry_has_group(f->registry, f->b));
    assert_int_equal(spad_registry_child_count(f->registry, f->a), 0);
    assert_ok(spad_registry_register_child(NULL, f->registry, f->a, f->b, "b", NULL), &f->error);
    /* a circle ends */
    assert_ok(spad_registry_register_child(NULL, f->registry, c, f->a, "a", NULL), &f->error);
    spad_registry_clear_parent(f->registry, f->a);
    assert_int_equal(spad_registry_group_count(f->registry), 0);
    add(f, f->a, "x", 2, SH, NULL);
    add(f, f->b, "x", 2, SH, NULL);
    spad_registry_reset(f->registry);
    assert_int_equal(spad_registry_group_count(f->registry), 0);
    assert_string_equal(spad_registry_component_name(f->registry, f->a), "alpha");
}

static void relocatable_buffers_are_not_totals(void **state) {
    fixture *f = *state;
    const char *names[4];
    assert_int_equal(spad_registry_relocatable(names, 4, f->registry, f->a), 0);
    add(f, f->a, "x", 2, SH, NULL);
    assert_ok(spad_registry_register_child(NULL, f->registry, f->a, f->b, "k", NULL), &f->error);
    add(f, f->a, "y", 3, LO, NULL);
    add(f, f->a, "z", 1, LO, "x");
    assert_int_equal(spad_registry_relocatable(names, 1, f->registry, f->a), 3);
    assert_int_equal(spad_registry_relocatable(names, 4, f->registry, f->a), 3);
    assert_string_equal(names[0], "x");
    assert_string_equal(names[1], "y");
    assert_string_equal(names[2], "z");
    add(f, f->a, "k_shared", 9, SH, NULL); /* still the name of a child's totals */
    assert_int_equal(spad_registry_relocatable(names, 4, f->registry, f->a), 3);
    int64_t total;
    const char *const asked[] = {"x", "y", "z", "unknown", "k_shared"};
    assert_ok(
        spad_registry_nonaliased(&total, f->registry, f->a, asked, 5, SPAD_UNIT_ELEMENT, &f->error),
        &f->error);
    assert_int_equal(total, 14);
    assert_ok(
        spad_registry_nonaliased(&total, f->registry, f->a, asked, 5, SPAD_UNIT_BYTE, &f->error),
        &f->error);
    assert_int_equal(total, 56);
    assert_ok(
        spad_registry_nonaliased(&total, f->registry, f->b, asked, 5, SPAD_UNIT_ELEMENT, &f->error),
        &f->error);
    assert_int_equal(total, 0);
}

static int64_t declared(fixture *f, spad_component c, spad_unit unit) {
    int64_t out;
    assert_ok(spad_registry_declared_local(&out, f->registry, c, unit, &f->error), &f->error);
    return out;
}

static void declared_local_counts_descendants(void **state) {
    fixture *f = *state;
    spad_component c;
    assert_int_equal(declared(f, f->a, SPAD_UNIT_ELEMENT), 0);
    assert_ok(spad_registry_add(&c, f->registry, "gamma", SPAD_FLOAT32, &f->error), &f->error);
    add(f, c, "l", 5, LO, NULL);
    add(f, c, "p", 2, PE, NULL);
    assert_ok(spad_registry_register_child(NULL, f->registry, f->b, c, "c", NULL), &f->error);
    add(f, f->b, "l", 0, LO, NULL);
    assert_ok(spad_registry_register_child(NULL, f->registry, f->a, f->b, "b", NULL), &f->error);
    add(f, f->a, "l", 3, LO, NULL);
    assert_int_equal(declared(f, f->a, SPAD_UNIT_ELEMENT), 3 + 1 + 5 + 2);
    assert_int_equal(declared(f, f->a, SPAD_UNIT_BYTE), 12 + 8 + 20 + 8);
    /* one that is recorded twice counts twice */
    assert_ok(spad_registry_register_child(NULL, f->registry, f->a, c, "c", NULL), &f->error);
    assert_int_equal(declared(f, f->a, SPAD_UNIT_ELEMENT), 3 + 1 + 5 + 5 + 4);
    spad_registry_clear_own(f->registry, f->b);
    assert_int_equal(declared(f, f->a, SPAD_UNIT_ELEMENT), 3 + 5 + 4);
    spad_registry_remove(f->registry, c);
    assert_int_equal(declared(f, f->a, SPAD_UNIT_ELEMENT), 3 + 4);
}

static void a_circle_of_children_is_an_error(void **state) {
    fixture *f = *state;
    int64_t out = 7;
    assert_ok(spad_registry_register_child(NULL, f->registry, f->a, f->b, "b", NULL), &f->error);
    assert_ok(spad_registry_register_child(NULL, f->registry, f->b, f->a, "a", NULL), &f->error);
    fails(f, spad_registry_declared_local(&out, f->registry, f->a, SPAD_UNIT_ELEMENT, &f->error),
          SPAD_ERR_CYCLE,
          "component 'alpha' is recorded as a child of 'beta', which it contains itself; clear one "
          "of them and register it again");
    assert_string_equal(f->error.subject, "alpha");
    assert_string_equal(f->error.other, "beta");
    assert_int_equal(out, 0);
    spad_registry_clear_own(f->registry, f->b);
    assert_int_equal(declared(f, f->a, SPAD_UNIT_ELEMENT), 0);
    assert_ok(spad_registry_register_child(NULL, f->registry, f->b, f->b, "b", NULL), &f->error);
    assert_int_equal(
        spad_registry_declared_local(&out, f->registry, f->b, SPAD_UNIT_ELEMENT, &f->error),
        SPAD_ERR_CYCLE);
}

static void deep_and_wide_trees_need_no_stack(void **state) {
    fixture *f = *state;
    enum { DEPTH = 20000 };
    spad_component below = f->b;
    add(f, below, "l", 1, LO, NULL);
    for (int i = 0; i < DEPTH; i++) {
        spad_component c;
        assert_ok(spad_registry_add(&c, f->registry, "c", SPAD_FLOAT32, &f->error), &f->error);
        add(f, c, "l", 1, LO, NULL);
        assert_ok(spad_registry_register_child(NULL, f->registry, c, below, "k", NULL), &f->error);
        below = c;
    }
    assert_int_equal(declared(f, below, SPAD_UNIT_ELEMENT), DEPTH + 1);
    /* two edges at each of 62 levels: 2^62 paths, walked once each */
    spad_component top = f->b;
    for (int i = 0; i < 62; i++) {
        spad_component c;
        assert_ok(spad_registry_add(&c, f->registry, "d", SPAD_FLOAT32, &f->error), &f->error);
        assert_ok(spad_registry_register_child(NULL, f->registry, c, top, "k", NULL), &f->error);
        assert_ok(spad_registry_register_child(NULL, f->registry, c, top, "m", NULL), &f->error);
        top = c;
    }
    assert_int_equal(declared(f, top, SPAD_UNIT_ELEMENT), INT64_C(1) << 62);
    spad_component over;
    assert_ok(spad_registry_add(&over, f->registry, "over", SPAD_FLOAT32, &f->error), &f->error);
    assert_ok(spad_registry_register_child(NULL, f->registry, over, top, "k", NULL), &f->error);
    assert_ok(spad_registry_register_child(NULL, f->registry, over, top, "m", NULL), &f->error);
    int64_t out;
    fails(f, spad_registry_declared_local(&out, f->registry, over, SPAD_UNIT_ELEMENT, &f->error),
          SPAD_ERR_OVERFLOW,
          "the local memory of 'over' and its children is more than 64 bits hold");
    spad_registry_clear_parent(f->registry, below);
    assert_false(spad_registry_has_group(f->registry, f->b));
}

/* ---- allocators
 * --------------------------------------------------------------------------------------- */

static void an_allocator_gives_the_slice_of_a_thread(void **state) {
    fixture *f = *state;
    spad_allocator x;
    fails(f,
          spad_registry_get_allocator(&x, f->registry, f->a, "state", SPAD_UNIT_ELEMENT, false,
                                      &f->error),
          SPAD_ERR_UNKNOWN, "component 'alpha' has no registered buffers; register 'state' first");
    add(f, f->a, "state", 3, SH, NULL);
    add(f, f->a, "k", 6, SH, NULL);
    add(f, f->a, "dt", 1, PE, NULL);
    add(f, f->a, "tmp", 0, LO, NULL);
    fails(f,
          spad_registry_get_allocator(&x, f->registry, f->a, "stat", SPAD_UNIT_ELEMENT, false,
                                      &f->error),
          SPAD_ERR_UNKNOWN,
          "buffer 'stat' is not registered with component 'alpha'; did you mean 'state'?");
    const spad_base base = {.shared = 100, .shared_stride = 9, .persistent = 40};
    spad_slice slice;
    spad_registry *r = f->registry;
    assert_ok(spad_registry_get_allocator(&x, r, f->a, "k", SPAD_UNIT_ELEMENT, true, NULL),
              &f->error);
    assert_int_equal(x.precision, SPAD_FLOAT32);
    assert_int_equal(x.zeroed, 6);
    assert_ok(spad_allocator_slice(&slice, &x, &base, 0, &f->error), &f->error);
    assert_int_equal(slice.offset, 103);
    assert_ok(spad_allocator_slice(&slice, &x, &base, 5, &f->error), &f->error);
    assert_int_equal(slice.offset, 103 + 45);
    assert_int_equal(slice.length, 6);
    assert_ok(spad_registry_get_allocator(&x, r, f->a, "dt", SPAD_UNIT_ELEMENT, false, NULL),
              &f->error);
    assert_int_equal(x.zeroed, 0);
    assert_ok(spad_allocator_slice(&slice, &x, &base, 5, &f->error), &f->error);
    assert_int_equal(slice.region, SPAD_REGION_PERSISTENT);
    assert_int_equal(slice.offset, 40);
    assert_ok(spad_registry_get_allocator(&x, r, f->a, "tmp", SPAD_UNIT_ELEMENT, true, NULL),
              &f->error);
    assert_int_equal(x.zeroed, 0); /* `size` elements: none */
    assert_ok(spad_allocator_slice(&slice, &x, &base, 5, &f->error), &f->error);
    assert_int_equal(slice.region, SPAD_REGION_LOCAL);
    assert_int_equal(slice.offset, 0);
    assert_int_equal(slice.length, 1);
    assert_ok(spad_registry_get_allocator(&x, r, f->a, "k", SPAD_UNIT_BYTE, false, NULL),
              &f->error);
    assert_int_equal(x.slice.offset, 12);
    assert_int_equal(x.slice.length, 24);
    fails(f, spad_allocator_slice(&slice, &x, &base, -1, &f->error), SPAD_ERR_ARGUMENT,
          "thread -1 is negative");
    fails(f, spad_allocator_slice(&slice, &x, &base, INT64_MAX, &f->error), SPAD_ERR_OVERFLOW,
          "the slice of thread 9223372036854775807 begins or ends beyond what 64 bits hold");
}

static void a_child_works_on_the_slices_of_its_parent(void **state) {
    fixture *f = *state;
    add(f, f->b, "delta", 3, SH, NULL);
    add(f, f->b, "residual", 3, SH, NULL);
    add(f, f->b, "theta", 1, PE, NULL);
    add(f, f->a, "state", 5, SH, NULL);
    add(f, f->a, "dt", 2, PE, NULL);
    spad_allocator shared;
    spad_allocator persistent;
    spad_allocator residual;
    const spad_unit e = SPAD_UNIT_ELEMENT;
    assert_ok(spad_registry_get_child_allocators(&shared, &persistent, f->registry, f->a, f->b,
                                                 "solver", e, &f->error),
              &f->error);
    const spad_base base = {.shared = 0, .shared_stride = 11, .persistent = 0};
    spad_slice s;
    spad_slice p;
    assert_ok(spad_allocator_slice(&s, &shared, &base, 2, &f->error), &f->error);
    assert_ok(spad_allocator_slice(&p, &persistent, &base, 2, &f->error), &f->error);
    assert_int_equal(s.offset, 27);
    assert_int_equal(s.length, 6);
    assert_int_equal(p.offset, 2);
    const spad_base child_base = {.shared = s.offset, .persistent = p.offset};
    assert_ok(spad_registry_get_allocator(&residual, f->registry, f->b, "residual", e, false, NULL),
              &f->error);
    assert_ok(spad_allocator_slice(&s, &residual, &child_base, 0, &f->error), &f->error);
    assert_int_equal(s.offset, 30);
}

static void the_top_level_starts_with_all_memory(void **state) {
    fixture *f = *state;
    spad_allocator shared;
    spad_allocator persistent;
    assert_ok(spad_registry_get_toplevel_allocators(&shared, &persistent, f->registry, f->b,
                                                    SPAD_UNIT_ELEMENT, &f->error),
              &f->error);
    assert_int_equal(shared.slice.region, SPAD_REGION_SHARED);
    assert_int_equal(shared.slice.length, 0);
    assert_int_equal(shared.precision, SPAD_FLOAT32);
    assert_int_equal(persistent.slice.region, SPAD_REGION_LOCAL);
    assert_int_equal(persistent.slice.length, 1);
    assert_int_equal(persistent.precision, SPAD_FLOAT64);
    add(f, f->b, "p", 12, PE, NULL);
    assert_ok(spad_registry_get_toplevel_allocators(&shared, &persistent, f->registry, f->b,
                                                    SPAD_UNIT_BYTE, &f->error),
              &f->error);
    assert_int_equal(persistent.slice.length, 96);
}

/* ---- the layout, in bytes
 * ------------------------------------------------------------------------------- */

#define BYTES(name, region, offset, length) \
    expect(f, f->a, SPAD_UNIT_BYTE, name, SPAD_REGION_##region, offset, length)

static int64_t alignment(fixture *f, spad_component c, spad_region region) {
    int64_t out;
    assert_ok(spad_registry_alignment(&out, f->registry, c, region, SPAD_UNIT_BYTE, &f->error),
              &f->error);
    return out;
}

static void mixed_types_are_aligned_in_bytes(void **state) {
    fixture *f = *state;
    add_typed(f, f->a, "h", 3, SH, NULL, SPAD_FLOAT16);
    add_typed(f, f->a, "d", 2, SH, NULL, SPAD_FLOAT64);
    add_typed(f, f->a, "i", 1, SH, NULL, SPAD_INT32);
    add_typed(f, f->a, "none", 0, SH, NULL, SPAD_FLOAT64); /* needs no alignment */
    add_typed(f, f->a, "l", 0, LO, NULL, SPAD_FLOAT16);
    add_typed(f, f->a, "m", 1, LO, NULL, SPAD_INT64);
    add_typed(f, f->a, "p", 1, PE, NULL, SPAD_INT32);
    BYTES("h", SHARED, 0, 6);
    BYTES("d", SHARED, 8, 16);
    BYTES("i", SHARED, 24, 4);
    BYTES("none", SHARED, 28, 0);
    BYTES("l", LOCAL, 0, 2);
    BYTES("m", LOCAL, 8, 8);
    sizes(f, f->a, SPAD_UNIT_BYTE, 28, 4, 16);
    assert_int_equal(alignment(f, f->a, SPAD_REGION_SHARED), 8);
    assert_int_equal(alignment(f, f->a, SPAD_REGION_PERSISTENT), 4);
    assert_int_equal(alignment(f, f->b, SPAD_REGION_SHARED), 1);
}

static void an_alias_must_fit_in_bytes(void **state) {
    fixture *f = *state;
    add_typed(f, f->a, "p", 10, SH, NULL, SPAD_FLOAT32);
    add_typed(f, f->a, "h", 3, SH, "p", SPAD_FLOAT16);
    add_typed(f, f->a, "d", 4, LO, "p", SPAD_FLOAT64);
    add_typed(f, f->a, "e", 1, SH, "p", SPAD_FLOAT16);
    SHARED("d", 3, 4); /* elements: 3 + 4 + 1 of 10 */
    SHARED("e", 7, 1);
    BYTES("h", SHARED, 0, 6);
    BYTES("d", SHARED, 8, 32); /* aligned, and then full */
    BYTES("e", SHARED, 40, 2);
    add_typed(f, f->a, "d", 5, LO, "p", SPAD_FLOAT64);
    SHARED("d", 3, 5);
    BYTES("d", LOCAL, 0, 40);
    BYTES("e", SHARED, 6, 2);
}

static void a_child_keeps_its_bytes_and_alignment(void **state) {
    fixture *f = *state;
    add(f, f->b, "d", 3, SH, NULL); /* float64, as the component */
    add_typed(f, f->b, "i", 1, SH, NULL, SPAD_INT32);
    add_typed(f, f->a, "h", 1, SH, NULL, SPAD_FLOAT16);
    assert_ok(spad_registry_register_child(NULL, f->registry, f->a, f->b, "k", NULL), &f->error);
    SHARED("k_shared", 1, 4);
    BYTES("k_shared", SHARED, 8, 28);
    assert_int_equal(alignment(f, f->a, SPAD_REGION_SHARED), 8);
    /* a size set by hand is one in elements of the parent */
    update(f, SPAD_BUFFER_SIZE, (spad_buffer){.name = "k_shared", .size = 5});
    BYTES("k_shared", SHARED, 4, 20);
    /* and moved to local memory it is an array of at least an element */
    assert_ok(spad_registry_register_child(NULL, f->registry, f->a, f->b, "k", NULL), &f->error);
    update(f, SPAD_BUFFER_LOCATION,
           (spad_buffer){.name = "k_shared", .location = SPAD_LOCATION_LOCAL});
    BYTES("k_shared", LOCAL, 0, 28);
}

static void sizes_beyond_64_bits_are_errors(void **state) {
    fixture *f = *state;
    int64_t size;
    add(f, f->a, "x", INT64_MAX, SH, NULL);
    SHARED("x", 0, INT64_MAX);
    fails(
        f,
        spad_registry_size(&size, f->registry, f->a, SPAD_REGION_SHARED, SPAD_UNIT_BYTE, &f->error),
        SPAD_ERR_OVERFLOW,
        "buffer 'x' of 9223372036854775807 elements ends beyond what 64 bits hold, in bytes");
    add(f, f->a, "y", 1, SH, NULL);
    fails(f,
          spad_registry_size(&size, f->registry, f->a, SPAD_REGION_SHARED, SPAD_UNIT_ELEMENT,
                             &f->error),
          SPAD_ERR_OVERFLOW, "buffer 'y' of 1 elements ends beyond what 64 bits hold, in elements");
    const char *const names[] = {"x", "y"};
    fails(
        f,
        spad_registry_nonaliased(&size, f->registry, f->a, names, 2, SPAD_UNIT_ELEMENT, &f->error),
        SPAD_ERR_OVERFLOW, "the sizes of the named buffers add up to more than 64 bits hold");
    fails(f, spad_registry_nonaliased(&size, f->registry, f->a, names, 2, (spad_unit)9, &f->error),
          SPAD_ERR_ARGUMENT, "number 9 is no unit");
    spad_component none;
    fails(f, spad_registry_add(&none, f->registry, NULL, SPAD_FLOAT32, &f->error), SPAD_ERR_NAME,
          "a component needs a name");
    add(f, f->a, "x", INT64_MAX, LO, NULL);
    add(f, f->a, "p", 1, PE, NULL);
    fails(f, spad_registry_declared_local(&size, f->registry, f->a, SPAD_UNIT_ELEMENT, &f->error),
          SPAD_ERR_OVERFLOW,
          "the local and persistent memory of 'alpha' is more than 64 bits hold");
}

/* ---- lifetimes
 * ------------------------------------------------------------------------------------------- */

static spad_status lay_out(fixture *f, spad_unit unit) {
    int64_t size;
    return spad_registry_size(&size, f->registry, f->a, SPAD_REGION_SHARED, unit, &f->error);
}

static void an_alias_alive_with_its_target_is_an_error(void **state) {
    fixture *f = *state;
    add_living(f, f->a, "stage", 10, NULL, 0, 5);
    add_living(f, f->a, "out", 4, "stage", 5, 9); /* half-open: no step in common */
    assert_ok(lay_out(f, SPAD_UNIT_ELEMENT), &f->error);
    add_living(f, f->a, "out", 4, "stage", 4, 9);
    fails(f, lay_out(f, SPAD_UNIT_ELEMENT), SPAD_ERR_OVERLAP,
          "buffers 'stage' and 'out' of component 'alpha' share elements [0, 4) and are both alive "
          "in steps [4, 5); drop the alias, or end one of them earlier");
    assert_string_equal(f->error.subject, "stage");
    assert_string_equal(f->error.other, "out");
    fails(f, lay_out(f, SPAD_UNIT_BYTE), SPAD_ERR_OVERLAP,
          "buffers 'stage' and 'out' of component 'alpha' share bytes [0, 16) and are both alive "
          "in steps [4, 5); drop the alias, or end one of them earlier");
    assert_false(spad_registry_is_laid_out(f->registry, f->a, SPAD_UNIT_ELEMENT));
    add(f, f->a, "out", 4, SH, "stage"); /* without a lifetime nobody knows */
    assert_ok(lay_out(f, SPAD_UNIT_ELEMENT), &f->error);
    add_living(f, f->a, "out", 11, "stage", 4, 9); /* does not fit inside, so shares nothing */
    assert_ok(lay_out(f, SPAD_UNIT_ELEMENT), &f->error);
}

static void lifetimes_are_checked_through_aliases_of_aliases(void **state) {
    fixture *f = *state;
    add_living(f, f->a, "p", 10, NULL, 0, 5);
    add(f, f->a, "c", 6, SH, "p");               /* no lifetime */
    add_living(f, f->a, "gc1", 3, "c", 6, 8);    /* [0, 3) */
    add_living(f, f->a, "gc2", 3, "c", 6, 8);    /* [3, 6): beside its sibling */
    add_living(f, f->a, "empty", 0, "c", 0, 90); /* shares nothing */
    assert_ok(lay_out(f, SPAD_UNIT_ELEMENT), &f->error);
    add_living(f, f->a, "gc2", 3, "c", 1, 2);
    fails(f, lay_out(f, SPAD_UNIT_ELEMENT), SPAD_ERR_OVERLAP,
          "buffers 'p' and 'gc2' of component 'alpha' share elements [3, 6) and are both alive in "
          "steps [1, 2); drop the alias, or end one of them earlier");
}

/* ---- trace
 * -------------------------------------------------------------------------------------------------
 */

static const spad_space spaces[] = {
    {.name = "wide", .lanes = 128, .bytes = 1024, .alignment = 1, .granule = 1},
    {.name = "shared", .lanes = 1, .bytes = 49152, .alignment = 1, .granule = 1},
    {.name = "local", .lanes = 1, .bytes = 4096, .alignment = 1, .granule = 1},
};
static const spad_target target = {
    .name = "toy", .family = "test", .space_count = 3, .spaces = spaces};

static void a_registry_writes_a_trace(void **state) {
    fixture *f = *state;
    spad_trace *trace;
    assert_ok(spad_trace_create(&trace, &target, &f->host.host, &f->error), &f->error);
    const size_t drawn[SPAD_REGION_COUNT] = {1, SPAD_NO_SPACE, 2};
    const int64_t base[SPAD_REGION_COUNT] = {256, 0, 8};
    fails(f, spad_registry_write_trace(f->registry, f->a, trace, drawn, NULL, &f->error),
          SPAD_ERR_UNKNOWN, "component 'alpha' has no registered buffers to draw");
    add(f, f->a, "state", 3, SH, NULL);
    add_living(f, f->a, "stage", 10, NULL, 20, 30);
    add_living(f, f->a, "early", 2, NULL, 10, 20);
    add_living(f, f->a, "out", 4, "stage", 30, 40);
    add(f, f->a, "kept", 7, PE, NULL);
    add(f, f->a, "tmp", 2, LO, NULL);
    assert_ok(spad_registry_write_trace(f->registry, f->a, trace, drawn, base, &f->error),
              &f->error);
    static const struct {
        const char *name;
        int64_t byte;
        int64_t bytes;
        int64_t begin;
        int64_t end;
        spad_mode mode;
        size_t space;
    } expected[] = {
        /* event 0 opens the scope; 1 state, 2 tmp, then the steps, then back */
        {"state", 256, 12, 1, 10, SPAD_MODE_AT, 1}, {"tmp", 8, 8, 2, 9, SPAD_MODE_AT, 2},
        {"early", 308, 8, 3, 4, SPAD_MODE_AT, 1},   {"stage", 268, 40, 5, 6, SPAD_MODE_AT, 1},
        {"out", 268, 16, 7, 8, SPAD_MODE_ALIAS, 1},
    };
    assert_int_equal(spad_trace_tensor_count(trace), 5);
    for (size_t i = 0; i < 5; i++) {
        const spad_tensor *tensor = spad_trace_tensor(trace, i);
        assert_string_equal(tensor->name, expected[i].name);
        assert_int_equal(tensor->rect.byte, expected[i].byte);
        assert_int_equal(tensor->rect.bytes, expected[i].bytes);
        assert_int_equal(tensor->rect.lanes, 1);
        assert_int_equal(tensor->t_begin, expected[i].begin);
        assert_int_equal(tensor->t_end, expected[i].end);
        assert_int_equal(tensor->mode, expected[i].mode);
        assert_int_equal(tensor->space, expected[i].space);
        assert_int_equal(tensor->shape.rank, 1);
        assert_int_equal(tensor->dtype, SPAD_FLOAT32);
        assert_int_equal(tensor->scope, 0);
    }
    const spad_scope *scope = spad_trace_scope(trace, 0);
    assert_string_equal(scope->name, "alpha");
    assert_int_equal(scope->start, 256);
    assert_int_equal(scope->high_water, 60);
    assert_int_equal(scope->t_end, 11);
    spad_space_stats stats;
    assert_ok(spad_trace_stats(&stats, trace, 1, &f->error), &f->error);
    assert_int_equal(stats.peak_bytes, 52);
    assert_int_equal(stats.live_bytes, 0);
    spad_trace_destroy(trace);
}

static void a_trace_shows_the_regions_that_are_asked_for(void **state) {
    fixture *f = *state;
    spad_trace *trace;
    assert_ok(spad_trace_create(&trace, &target, &f->host.host, &f->error), &f->error);
    add(f, f->a, "state", 3, SH, NULL);
    add(f, f->a, "kept", 7, PE, NULL);
    add(f, f->a, "tmp", 2, LO, NULL);
    const size_t none[SPAD_REGION_COUNT] = {SPAD_NO_SPACE, SPAD_NO_SPACE, SPAD_NO_SPACE};
    assert_ok(spad_registry_write_trace(f->registry, f->a, trace, none, NULL, &f->error),
              &f->error);
    assert_int_equal(spad_trace_event_count(trace), 0);
    const size_t local[SPAD_REGION_COUNT] = {SPAD_NO_SPACE, 2, 2};
    const int64_t base[SPAD_REGION_COUNT] = {-1, 64, 128}; /* not drawn: not looked at */
    assert_ok(spad_registry_write_trace(f->registry, f->a, trace, local, base, &f->error),
              &f->error);
    assert_int_equal(spad_trace_tensor_count(trace), 2);
    assert_int_equal(spad_trace_tensor(trace, 0)->rect.byte, 64);
    assert_int_equal(spad_trace_scope(trace, 0)->space, 2);
    assert_int_equal(spad_trace_scope(trace, 0)->start, 64);
    assert_int_equal(spad_trace_scope(trace, 0)->high_water, 28);
    const int64_t below[SPAD_REGION_COUNT] = {0, 64, -4};
    fails(f, spad_registry_write_trace(f->registry, f->a, trace, local, below, &f->error),
          SPAD_ERR_ARGUMENT, "local memory cannot begin at byte -4");
    spad_trace_destroy(trace);
}

static void a_trace_needs_spaces_of_one_lane(void **state) {
    fixture *f = *state;
    spad_trace *trace;
    assert_ok(spad_trace_create(&trace, &target, &f->host.host, &f->error), &f->error);
    add(f, f->a, "x", 3, SH, NULL);
    const size_t wide[SPAD_REGION_COUNT] = {0, SPAD_NO_SPACE, SPAD_NO_SPACE};
    fails(f, spad_registry_write_trace(f->registry, f->a, trace, wide, NULL, &f->error),
          SPAD_ERR_SPACE,
          "shared memory cannot be drawn in space wide of 128 lanes; give one with a single lane");
    const size_t none[SPAD_REGION_COUNT] = {SPAD_NO_SPACE, 7, SPAD_NO_SPACE};
    fails(f, spad_registry_write_trace(f->registry, f->a, trace, none, NULL, &f->error),
          SPAD_ERR_ARGUMENT, "target toy has no space number 7");
    const size_t good[SPAD_REGION_COUNT] = {1, 2, 2};
    const int64_t base[SPAD_REGION_COUNT] = {INT64_MAX - 3, 0, 0};
    fails(f, spad_registry_write_trace(f->registry, f->a, trace, good, base, &f->error),
          SPAD_ERR_OVERFLOW,
          "shared memory from byte 9223372036854775804 on ends beyond what 64 bits hold");
    spad_registry_remove(f->registry, f->b);
    assert_int_equal(spad_registry_write_trace(f->registry, f->b, trace, good, NULL, NULL),
                     SPAD_ERR_STALE);
    assert_int_equal(spad_trace_event_count(trace), 0);
    spad_trace_destroy(trace);
}

/* ---- host memory
 * ------------------------------------------------------------------------------------------ */

static spad_status use_everything(const spad_host *host, void *payload) {
    (void)payload;
    spad_registry *registry = NULL;
    spad_trace *trace = NULL;
    spad_component a;
    spad_component b;
    int64_t size;
    const size_t drawn[SPAD_REGION_COUNT] = {1, 2, 2};
    spad_status status = spad_registry_create(&registry, host, NULL);
    if (status == SPAD_OK) status = spad_trace_create(&trace, &target, host, NULL);
    if (status == SPAD_OK) status = spad_registry_add(&a, registry, "a", SPAD_FLOAT32, NULL);
    if (status == SPAD_OK) status = spad_registry_add(&b, registry, "b", SPAD_FLOAT32, NULL);
    for (int i = 0; i < 40 && status == SPAD_OK; i++) {
        char name[8] = {(char)('a' + i % 26), (char)('a' + i / 26)};
        const size_t count = spad_registry_buffer_count(registry, b);
        const spad_buffer buffer = {.name = name,
                                    .size = 100 - i,
                                    .aliases = i > 0 ? "aa" : NULL,
                                    .t_begin = i,
                                    .t_end = i + 1};
        status = spad_registry_register(registry, b, &buffer, NULL);
        /* a failed call changes nothing */
        assert_int_equal(spad_registry_buffer_count(registry, b), count + (status == SPAD_OK));
        assert_int_equal(spad_registry_has_group(registry, b), i > 0 || status == SPAD_OK);
        assert_int_equal(spad_registry_revision(registry, b), i + (status == SPAD_OK));
    }
    for (int i = 0; i < 20 && status == SPAD_OK; i++) {
        char name[16] = {(char)('a' + i)};
        size_t index;
        status = spad_registry_register_child(NULL, registry, a, b, name, NULL);
        const int count = i + (status == SPAD_OK);
        assert_int_equal(spad_registry_buffer_count(registry, a), 2 * count);
        assert_int_equal(spad_registry_child_count(registry, a), count);
        assert_int_equal(spad_registry_has_group(registry, a), count > 0);
        strcat(name, "_shared");
        assert_int_equal(spad_registry_find_buffer(&index, registry, a, name, NULL) == SPAD_OK,
                         status == SPAD_OK);
    }
    if (status == SPAD_OK) {
        const spad_buffer values = {.name = "a_shared", .aliases = "later"};
        status = spad_registry_update_buffer(NULL, registry, a, SPAD_BUFFER_ALIASES, &values, NULL);
        if (status != SPAD_OK) {
            assert_null(spad_registry_buffer_at(registry, a, 0)->aliases);
        }
    }
    if (status == SPAD_OK) {
        status = spad_registry_size(&size, registry, b, SPAD_REGION_SHARED, SPAD_UNIT_BYTE, NULL);
    }
    if (status == SPAD_OK) {
        status = spad_registry_write_trace(registry, b, trace, drawn, NULL, NULL);
        if (status != SPAD_OK) { /* all or nothing */
            assert_int_equal(spad_trace_event_count(trace), 0);
            assert_int_equal(spad_trace_scope_count(trace), 0);
        }
    }
    spad_trace_destroy(trace);
    spad_registry_destroy(registry);
    return status;
}

static void every_failing_allocation_is_survived(void **state) {
    (void)state;
    test_fail_each_allocation(use_everything, NULL);
    spad_registry_destroy(NULL);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(enums_have_names),
        TEST(a_name_set_knows_the_order_of_arrival),
        TEST(components_are_known_until_removed),
        TEST(components_come_one_after_the_other),
        TEST(a_component_that_is_gone_is_an_error_or_nothing),
        TEST(a_registered_buffer_has_all_its_fields),
        TEST(bad_buffers_are_refused_and_change_nothing),
        TEST(a_name_again_replaces_the_buffer_in_place),
        TEST(buffers_are_packed_by_region),
        TEST(shared_and_persistent_is_shared),
        TEST(a_shared_buffer_of_no_size_is_an_empty_slice),
        TEST(an_alias_goes_inside_a_shared_target),
        TEST(aliases_take_a_target_one_after_the_other),
        TEST(an_alias_that_does_not_fit_falls_back_to_its_own_kind),
        TEST(a_local_alias_of_a_shared_target_becomes_shared),
        TEST(aliasing_local_memory_never_shares),
        TEST(an_alias_of_an_alias_works),
        TEST(aliases_are_placed_in_the_order_of_registration),
        TEST(types_do_not_change_the_layout_in_elements),
        TEST(the_whole_layout_comes_at_once),
        TEST(layouts_are_built_when_asked_for_and_kept),
        TEST(an_update_sets_only_its_fields),
        TEST(a_bad_update_keeps_the_old_buffer),
        TEST(an_update_takes_any_alias_and_the_layout_tells),
        TEST(settings_move_buffers),
        TEST(a_child_is_registered_with_its_totals_of_now),
        TEST(a_name_again_replaces_the_recorded_child),
        TEST(errors_of_a_child_reach_its_parent),
        TEST(clearing_cascades_or_not),
        TEST(relocatable_buffers_are_not_totals),
        TEST(declared_local_counts_descendants),
        TEST(a_circle_of_children_is_an_error),
        TEST(deep_and_wide_trees_need_no_stack),
        TEST(an_allocator_gives_the_slice_of_a_thread),
        TEST(a_child_works_on_the_slices_of_its_parent),
        TEST(the_top_level_starts_with_all_memory),
        TEST(mixed_types_are_aligned_in_bytes),
        TEST(an_alias_must_fit_in_bytes),
        TEST(a_child_keeps_its_bytes_and_alignment),
        TEST(sizes_beyond_64_bits_are_errors),
        TEST(an_alias_alive_with_its_target_is_an_error),
        TEST(lifetimes_are_checked_through_aliases_of_aliases),
        TEST(a_registry_writes_a_trace),
        TEST(a_trace_shows_the_regions_that_are_asked_for),
        TEST(a_trace_needs_spaces_of_one_lane),
        TEST(every_failing_allocation_is_survived),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
