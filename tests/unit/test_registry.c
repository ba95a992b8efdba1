/* SPDX-License-Identifier: Apache-2.0
 *
 * The component registry: names, components, registering, the cache, updates, the trace, and
 * failing host memory. */
#include "spad/experimental/registry_parts.h"
#include "spad/experimental/trace_queries.h"
#include "unit/registry_fixture.h"

#include "base/names.h"

/* ---- names and enums --------------------------------------------------------------- */

static void enums_have_names(void **state) {
    fixture *f = *state;
    assert_string_equal(spad_registry_location_name(SPAD_REGISTRY_LOCATION_SHARED), "shared");
    assert_string_equal(spad_registry_location_name(SPAD_REGISTRY_LOCATION_LOCAL), "local");
    assert_string_equal(spad_registry_location_name((spad_registry_location)7), "?");
    assert_string_equal(spad_registry_region_name(SPAD_REGISTRY_REGION_PERSISTENT), "persistent");
    assert_string_equal(spad_registry_region_name((spad_registry_region)7), "?");
    spad_registry_location location;
    assert_ok(spad_registry_location_parse(&location, "local", &f->error), &f->error);
    assert_int_equal(location, SPAD_REGISTRY_LOCATION_LOCAL);
    assert_ok(spad_registry_location_parse(&location, "shared", &f->error), &f->error);
    assert_int_equal(location, SPAD_REGISTRY_LOCATION_SHARED);
    fails(f, spad_registry_location_parse(&location, "global", &f->error), SPAD_ERR_ARGUMENT,
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

/* ---- components -------------------------------------------------------------------- */

static void components_are_known_until_removed(void **state) {
    fixture *f = *state;
    assert_string_equal(spad_registry_get_component_name(f->registry, f->a), "alpha");
    assert_int_equal(spad_registry_get_component_precision(f->registry, f->b), SPAD_FLOAT64);
    assert_false(spad_registry_has_group(f->registry, f->a));
    add(f, f->a, "x", 1, SH, NULL);
    assert_true(spad_registry_has_group(f->registry, f->a));
    assert_int_equal(spad_registry_group_count(f->registry), 1);
    spad_registry_remove(f->registry, f->a);
    spad_registry_remove(f->registry, f->a); /* again: nothing */
    assert_null(spad_registry_get_component_name(f->registry, f->a));
    assert_int_equal(spad_registry_get_component_precision(f->registry, f->a), SPAD_DTYPE_NONE);
    assert_false(spad_registry_has_group(f->registry, f->a));
    assert_int_equal(spad_registry_group_count(f->registry), 0);
    assert_int_equal(spad_registry_get_revision(f->registry, f->a), 0);
    spad_component c;
    assert_ok(spad_registry_add(&c, f->registry, "gamma", SPAD_DTYPE_NONE, &f->error), &f->error);
    assert_int_not_equal(c, f->a); /* the slot is used again, the number is not */
    assert_int_equal(spad_registry_get_component_precision(f->registry, c), SPAD_FLOAT32);
    fails(f, try_add(f, f->a, "x", 1, SH, NULL), SPAD_ERR_STALE,
          "component 1 was removed from the registry, or does not belong to it");
    fails(f, try_add(f, SPAD_NO_COMPONENT, "x", 1, SH, NULL), SPAD_ERR_STALE,
          "component 0 was removed from the registry, or does not belong to it");
    fails(f, try_add(f, 77, "x", 1, SH, NULL), SPAD_ERR_STALE,
          "component 77 was removed from the registry, or does not belong to it");
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
    const spad_registry_slice *slices;
    spad_registry_slice slice;
    spad_registry_allocator x;
    spad_registry_allocator y;
    const spad_registry_buffer values = {.name = "x"};
    const spad_registry_setting setting = {"x_location", "shared"};
    bool known;
    spad_registry *r = f->registry;
    const spad_registry_unit e = SPAD_REGISTRY_UNIT_ELEMENT;
    assert_int_equal(spad_registry_get_size(&size, r, f->a, SPAD_REGISTRY_REGION_LOCAL, e, NULL),
                     SPAD_ERR_STALE);
    assert_int_equal(
        spad_registry_get_alignment(&size, r, f->a, SPAD_REGISTRY_REGION_LOCAL, e, NULL),
        SPAD_ERR_STALE);
    assert_int_equal(spad_registry_get_layout(&slices, &count, r, f->a, e, NULL), SPAD_ERR_STALE);
    assert_int_equal(spad_registry_get_slice(&slice, r, f->a, "x", e, NULL), SPAD_ERR_STALE);
    assert_int_equal(spad_registry_get_declared_local(&size, r, f->a, e, NULL), SPAD_ERR_STALE);
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
    assert_null(spad_registry_get_buffer(r, f->a, 0));
    assert_int_equal(spad_registry_child_count(r, f->a), 0);
    assert_false(spad_registry_is_laid_out(r, f->a, e));
}

/* ---- registering ------------------------------------------------------------------- */

static void a_registered_buffer_has_all_its_fields(void **state) {
    fixture *f = *state;
    char name[] = "buf"; /* copied */
    add(f, f->a, name, 10, SH, NULL);
    name[0] = 'x';
    spad_registry_buffer typed = buffer_of("typed", 5, PE, "buf");
    typed.precision = SPAD_INT32;
    typed.t_begin = 3;
    typed.t_end = 9;
    assert_ok(spad_registry_register(f->registry, f->a, &typed, &f->error), &f->error);
    assert_int_equal(spad_registry_buffer_count(f->registry, f->a), 2);
    const spad_registry_buffer *first = spad_registry_get_buffer(f->registry, f->a, 0);
    assert_string_equal(first->name, "buf");
    assert_int_equal(first->size, 10);
    assert_int_equal(first->location, SPAD_REGISTRY_LOCATION_SHARED);
    assert_false(first->persistent);
    assert_null(first->aliases);
    assert_int_equal(first->precision, SPAD_FLOAT32); /* of the component */
    const spad_registry_buffer *second = spad_registry_get_buffer(f->registry, f->a, 1);
    assert_string_equal(second->aliases, "buf");
    assert_true(second->persistent);
    assert_int_equal(second->precision, SPAD_INT32);
    assert_int_equal(second->t_begin, 3);
    assert_int_equal(second->t_end, 9);
    assert_null(spad_registry_get_buffer(f->registry, f->a, 2));
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
    spad_registry_buffer bad = buffer_of("x", 1, SH, NULL);
    bad.location = (spad_registry_location)5;
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
    assert_int_equal(spad_registry_get_revision(f->registry, f->a), 0);
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
    assert_false(spad_registry_is_laid_out(f->registry, f->a, SPAD_REGISTRY_UNIT_ELEMENT));
    assert_string_equal(spad_registry_get_buffer(f->registry, f->a, 0)->name, "x");
    SHARED("x", 0, 5);
    SHARED("y", 5, 20);
}

/* ---- the cache --------------------------------------------------------------------- */

static void layouts_are_built_when_asked_for_and_kept(void **state) {
    fixture *f = *state;
    spad_registry *r = f->registry;
    add(f, f->a, "x", 3, LO, NULL);
    add_living(f, f->a, "y", 3, NULL, 0, 1); /* checking these takes memory: */
    add_living(f, f->a, "z", 3, "y", 1, 2);  /* a layout built again would show */
    assert_false(spad_registry_is_laid_out(r, f->a, SPAD_REGISTRY_UNIT_ELEMENT));
    sizes(f, f->a, SPAD_REGISTRY_UNIT_ELEMENT, 3, 0, 3);
    assert_true(spad_registry_is_laid_out(r, f->a, SPAD_REGISTRY_UNIT_ELEMENT));
    assert_false(spad_registry_is_laid_out(r, f->a, SPAD_REGISTRY_UNIT_BYTE));
    sizes(f, f->a, SPAD_REGISTRY_UNIT_BYTE, 12, 0, 12);
    const uint64_t revision = spad_registry_get_revision(r, f->a);
    const spad_registry_slice *before;
    const spad_registry_slice *after;
    size_t count;
    const long calls = f->host.calls;
    assert_ok(spad_registry_get_layout(&before, &count, r, f->a, SPAD_REGISTRY_UNIT_ELEMENT, NULL),
              &f->error);

    spad_registry_buffer values = {
        .name = "x", .size = 3, .location = SPAD_REGISTRY_LOCATION_LOCAL};
    spad_registry_change update;
    assert_ok(spad_registry_update_buffer(&update, r, f->a,
                                          SPAD_REGISTRY_BUFFER_SIZE | SPAD_REGISTRY_BUFFER_LOCATION,
                                          &values, &f->error),
              &f->error);
    assert_true(update.recognised);
    assert_false(update.changed);
    const spad_registry_setting same = {"x_location", "local"};
    bool known = false;
    assert_ok(spad_registry_update(&known, r, f->a, &same, 1, &f->error), &f->error);
    assert_true(known);
    assert_true(spad_registry_is_laid_out(r, f->a, SPAD_REGISTRY_UNIT_ELEMENT));
    assert_int_equal(spad_registry_get_revision(r, f->a), revision);
    assert_ok(spad_registry_get_layout(&after, &count, r, f->a, SPAD_REGISTRY_UNIT_ELEMENT, NULL),
              &f->error);
    assert_ptr_equal(before, after);
    assert_int_equal(f->host.calls, calls);

    spad_registry_clear_layout(r, f->a);
    assert_false(spad_registry_is_laid_out(r, f->a, SPAD_REGISTRY_UNIT_ELEMENT));
    assert_false(spad_registry_is_laid_out(r, f->a, SPAD_REGISTRY_UNIT_BYTE));
    assert_int_equal(spad_registry_get_revision(r, f->a), revision + 1);
    spad_registry_clear_layout(r, f->b); /* has none */
}

/* ---- updates ----------------------------------------------------------------------- */

static void an_update_sets_only_its_fields(void **state) {
    fixture *f = *state;
    spad_registry_change got =
        update(f, SPAD_REGISTRY_BUFFER_SIZE, (spad_registry_buffer){.name = "x", .size = 1});
    assert_false(got.recognised || got.changed); /* no group */
    add(f, f->a, "x", 10, LO, NULL);
    sizes(f, f->a, SPAD_REGISTRY_UNIT_ELEMENT, 0, 0, 10);
    got = update(f, SPAD_REGISTRY_BUFFER_SIZE, (spad_registry_buffer){.name = "other", .size = -1});
    assert_false(got.recognised || got.changed);
    got = update(f, SPAD_REGISTRY_BUFFER_SIZE, (spad_registry_buffer){.name = NULL, .size = 1});
    assert_false(got.recognised || got.changed);
    assert_true(spad_registry_is_laid_out(f->registry, f->a, SPAD_REGISTRY_UNIT_ELEMENT));
    got = update(f, SPAD_REGISTRY_BUFFER_SIZE, (spad_registry_buffer){.name = "x", .size = 20});
    assert_true(got.recognised && got.changed);
    assert_false(spad_registry_is_laid_out(f->registry, f->a, SPAD_REGISTRY_UNIT_ELEMENT));
    const spad_registry_buffer *x = spad_registry_get_buffer(f->registry, f->a, 0);
    assert_int_equal(x->size, 20);
    assert_int_equal(x->location, SPAD_REGISTRY_LOCATION_LOCAL);
    update(f, SPAD_REGISTRY_BUFFER_PERSISTENT,
           (spad_registry_buffer){.name = "x", .persistent = true});
    update(f, SPAD_REGISTRY_BUFFER_PRECISION,
           (spad_registry_buffer){.name = "x", .precision = SPAD_INT64});
    update(f, SPAD_REGISTRY_BUFFER_LIFETIME,
           (spad_registry_buffer){.name = "x", .t_begin = 1, .t_end = 2});
    x = spad_registry_get_buffer(f->registry, f->a, 0);
    assert_true(x->persistent);
    assert_int_equal(x->precision, SPAD_INT64);
    assert_int_equal(x->t_end, 2);
    update(f, SPAD_REGISTRY_BUFFER_PRECISION, (spad_registry_buffer){.name = "x"});
    assert_int_equal(spad_registry_get_buffer(f->registry, f->a, 0)->precision, SPAD_FLOAT32);
}

static void a_bad_update_keeps_the_old_buffer(void **state) {
    fixture *f = *state;
    add(f, f->a, "x", 10, LO, NULL);
    sizes(f, f->a, SPAD_REGISTRY_UNIT_ELEMENT, 0, 0, 10);
    const spad_registry_buffer bad = {.name = "x",
                                      .size = -3,
                                      .location = (spad_registry_location)3,
                                      .precision = SPAD_BOOL,
                                      .t_begin = 1};
    spad_registry_change out = {true, true};
    fails(f,
          spad_registry_update_buffer(&out, f->registry, f->a, SPAD_REGISTRY_BUFFER_SIZE, &bad,
                                      &f->error),
          SPAD_ERR_ARGUMENT, "size -3 of buffer 'x' is negative; give 0 or more elements");
    assert_false(out.recognised || out.changed);
    fails(f,
          spad_registry_update_buffer(NULL, f->registry, f->a, SPAD_REGISTRY_BUFFER_LOCATION, &bad,
                                      &f->error),
          SPAD_ERR_ARGUMENT, "Invalid location 3 for buffer 'x'; use shared or local");
    fails(f,
          spad_registry_update_buffer(NULL, f->registry, f->a, SPAD_REGISTRY_BUFFER_PRECISION, &bad,
                                      &f->error),
          SPAD_ERR_DTYPE,
          "precision bool of buffer 'x' is not one of float16, float32, float64, int32, int64");
    fails(f,
          spad_registry_update_buffer(NULL, f->registry, f->a, SPAD_REGISTRY_BUFFER_LIFETIME, &bad,
                                      &f->error),
          SPAD_ERR_ARGUMENT, "lifetime of buffer 'x' ends at 0, before it begins at 1");
    fails(f, spad_registry_update_buffer(NULL, f->registry, f->a, 65, &bad, &f->error),
          SPAD_ERR_ARGUMENT, "an update has no field number 0x40");
    assert_int_equal(spad_registry_get_buffer(f->registry, f->a, 0)->size, 10);
    assert_true(spad_registry_is_laid_out(f->registry, f->a, SPAD_REGISTRY_UNIT_ELEMENT));
}

static void an_update_takes_any_alias_and_the_layout_tells(void **state) {
    fixture *f = *state;
    add(f, f->a, "x", 10, SH, NULL);
    add(f, f->a, "y", 4, LO, NULL);
    assert_true(
        update(f, SPAD_REGISTRY_BUFFER_ALIASES, (spad_registry_buffer){.name = "y", .aliases = "z"})
            .changed);
    assert_false(
        update(f, SPAD_REGISTRY_BUFFER_ALIASES, (spad_registry_buffer){.name = "y", .aliases = "z"})
            .changed);
    assert_string_equal(spad_registry_get_buffer(f->registry, f->a, 1)->aliases, "z");
    int64_t size = 5;
    for (int again = 0; again < 2; again++) { /* it does not go away by asking twice */
        fails(f,
              spad_registry_get_size(&size, f->registry, f->a, SPAD_REGISTRY_REGION_SHARED,
                                     SPAD_REGISTRY_UNIT_ELEMENT, &f->error),
              SPAD_ERR_UNKNOWN,
              "alias target 'z' of buffer 'y' is not registered; register it, or update the alias");
        assert_int_equal(size, 0);
    }
    assert_string_equal(f->error.other, "z");
    add(f, f->a, "z", 5, SH, NULL); /* later is early enough */
    SHARED("y", 10, 4);
    update(f, SPAD_REGISTRY_BUFFER_ALIASES, (spad_registry_buffer){.name = "y", .aliases = "y"});
    LOCAL("y", 0, 4); /* an alias of itself gets its own space */
    update(f, SPAD_REGISTRY_BUFFER_ALIASES, (spad_registry_buffer){.name = "x", .aliases = "x"});
    SHARED("z", 0, 5);
    SHARED("x", 5, 10);
    update(f, SPAD_REGISTRY_BUFFER_ALIASES, (spad_registry_buffer){.name = "y"});
    assert_null(spad_registry_get_buffer(f->registry, f->a, 1)->aliases);
}

static void settings_move_buffers(void **state) {
    fixture *f = *state;
    bool known[5] = {true, true, true, true, true};
    const spad_registry_setting settings[5] = {{"x_location", "shared"},
                                               {"y_location", "shared"},
                                               {"none_location", "local"},
                                               {"x_size", "nonsense"},
                                               {"_location", "local"}};
    assert_ok(spad_registry_update(known, f->registry, f->a, settings, 5, &f->error), &f->error);
    for (int i = 0; i < 5; i++) assert_false(known[i]); /* no group */
    const spad_registry_setting bad = {"none_location", "global"};
    assert_ok(spad_registry_update(known, f->registry, f->a, &bad, 1, &f->error), &f->error);
    add(f, f->a, "x", 10, LO, NULL);
    add(f, f->a, "y", 10, LO, NULL);
    sizes(f, f->a, SPAD_REGISTRY_UNIT_ELEMENT, 0, 0, 20);
    assert_ok(spad_registry_update(known, f->registry, f->a, settings, 5, &f->error), &f->error);
    assert_true(known[0] && known[1]);
    assert_false(known[2] || known[3] || known[4]);
    assert_false(spad_registry_is_laid_out(f->registry, f->a, SPAD_REGISTRY_UNIT_ELEMENT));
    sizes(f, f->a, SPAD_REGISTRY_UNIT_ELEMENT, 20, 0, 0);
    const spad_registry_setting half[2] = {{"x_location", "local"}, {"none_location", "global"}};
    fails(f, spad_registry_update(known, f->registry, f->a, half, 2, &f->error), SPAD_ERR_ARGUMENT,
          "Invalid location 'global' for buffer 'none'; use 'shared' or 'local'");
    assert_false(known[0]);
    sizes(f, f->a, SPAD_REGISTRY_UNIT_ELEMENT, 20, 0, 0); /* not even the good half */
    assert_ok(spad_registry_update(NULL, f->registry, f->a, half, 1, &f->error), &f->error);
    sizes(f, f->a, SPAD_REGISTRY_UNIT_ELEMENT, 10, 0, 10);
    assert_ok(spad_registry_update(NULL, f->registry, f->a, NULL, 0, &f->error), &f->error);
}

/* ---- trace ------------------------------------------------------------------------- */

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
    const size_t drawn[SPAD_REGISTRY_REGION_COUNT] = {1, SPAD_NO_SPACE, 2};
    const int64_t base[SPAD_REGISTRY_REGION_COUNT] = {256, 0, 8};
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
        const spad_tensor *tensor = spad_trace_get_tensor(trace, i);
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
    const spad_scope *scope = spad_trace_get_scope(trace, 0);
    assert_string_equal(scope->name, "alpha");
    assert_int_equal(scope->start, 256);
    assert_int_equal(scope->high_water, 60);
    assert_int_equal(scope->t_end, 11);
    spad_space_stats stats;
    assert_ok(spad_trace_get_stats(&stats, trace, 1, &f->error), &f->error);
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
    const size_t none[SPAD_REGISTRY_REGION_COUNT] = {SPAD_NO_SPACE, SPAD_NO_SPACE, SPAD_NO_SPACE};
    assert_ok(spad_registry_write_trace(f->registry, f->a, trace, none, NULL, &f->error),
              &f->error);
    assert_int_equal(spad_trace_event_count(trace), 0);
    const size_t local[SPAD_REGISTRY_REGION_COUNT] = {SPAD_NO_SPACE, 2, 2};
    const int64_t base[SPAD_REGISTRY_REGION_COUNT] = {-1, 64, 128}; /* not drawn: not examined */
    assert_ok(spad_registry_write_trace(f->registry, f->a, trace, local, base, &f->error),
              &f->error);
    assert_int_equal(spad_trace_tensor_count(trace), 2);
    assert_int_equal(spad_trace_get_tensor(trace, 0)->rect.byte, 64);
    assert_int_equal(spad_trace_get_scope(trace, 0)->space, 2);
    assert_int_equal(spad_trace_get_scope(trace, 0)->start, 64);
    assert_int_equal(spad_trace_get_scope(trace, 0)->high_water, 28);
    const int64_t below[SPAD_REGISTRY_REGION_COUNT] = {0, 64, -4};
    fails(f, spad_registry_write_trace(f->registry, f->a, trace, local, below, &f->error),
          SPAD_ERR_ARGUMENT, "local memory cannot begin at byte -4");
    spad_trace_destroy(trace);
}

static void a_trace_needs_spaces_of_one_lane(void **state) {
    fixture *f = *state;
    spad_trace *trace;
    assert_ok(spad_trace_create(&trace, &target, &f->host.host, &f->error), &f->error);
    add(f, f->a, "x", 3, SH, NULL);
    const size_t wide[SPAD_REGISTRY_REGION_COUNT] = {0, SPAD_NO_SPACE, SPAD_NO_SPACE};
    fails(f, spad_registry_write_trace(f->registry, f->a, trace, wide, NULL, &f->error),
          SPAD_ERR_SPACE,
          "shared memory cannot be drawn in space wide of 128 lanes; give one with a single lane");
    const size_t none[SPAD_REGISTRY_REGION_COUNT] = {SPAD_NO_SPACE, 7, SPAD_NO_SPACE};
    fails(f, spad_registry_write_trace(f->registry, f->a, trace, none, NULL, &f->error),
          SPAD_ERR_ARGUMENT, "target toy has no space number 7");
    const size_t good[SPAD_REGISTRY_REGION_COUNT] = {1, 2, 2};
    const int64_t base[SPAD_REGISTRY_REGION_COUNT] = {INT64_MAX - 3, 0, 0};
    fails(f, spad_registry_write_trace(f->registry, f->a, trace, good, base, &f->error),
          SPAD_ERR_OVERFLOW,
          "shared memory from byte 9223372036854775804 on ends beyond what 64 bits hold");
    spad_registry_remove(f->registry, f->b);
    assert_int_equal(spad_registry_write_trace(f->registry, f->b, trace, good, NULL, NULL),
                     SPAD_ERR_STALE);
    assert_int_equal(spad_trace_event_count(trace), 0);
    spad_trace_destroy(trace);
}

/* ---- host memory ------------------------------------------------------------------- */

static spad_status use_everything(const spad_host *host, void *context) {
    (void)context;
    spad_registry *registry = NULL;
    spad_trace *trace = NULL;
    spad_component a;
    spad_component b;
    int64_t size;
    const size_t drawn[SPAD_REGISTRY_REGION_COUNT] = {1, 2, 2};
    spad_status status = spad_registry_create(&registry, host, NULL);
    if (status == SPAD_OK) status = spad_trace_create(&trace, &target, host, NULL);
    if (status == SPAD_OK) status = spad_registry_add(&a, registry, "a", SPAD_FLOAT32, NULL);
    if (status == SPAD_OK) status = spad_registry_add(&b, registry, "b", SPAD_FLOAT32, NULL);
    for (int i = 0; i < 40 && status == SPAD_OK; i++) {
        char name[8] = {(char)('a' + i % 26), (char)('a' + i / 26)};
        const size_t count = spad_registry_buffer_count(registry, b);
        const spad_registry_buffer buffer = {.name = name,
                                             .size = 100 - i,
                                             .aliases = i > 0 ? "aa" : NULL,
                                             .t_begin = i,
                                             .t_end = i + 1};
        status = spad_registry_register(registry, b, &buffer, NULL);
        /* a failed call changes nothing */
        assert_int_equal(spad_registry_buffer_count(registry, b), count + (status == SPAD_OK));
        assert_int_equal(spad_registry_has_group(registry, b), i > 0 || status == SPAD_OK);
        assert_int_equal(spad_registry_get_revision(registry, b), i + (status == SPAD_OK));
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
        const spad_registry_buffer values = {.name = "a_shared", .aliases = "later"};
        status = spad_registry_update_buffer(NULL, registry, a, SPAD_REGISTRY_BUFFER_ALIASES,
                                             &values, NULL);
        if (status != SPAD_OK) {
            assert_null(spad_registry_get_buffer(registry, a, 0)->aliases);
        }
    }
    if (status == SPAD_OK) {
        status = spad_registry_get_size(&size, registry, b, SPAD_REGISTRY_REGION_SHARED,
                                        SPAD_REGISTRY_UNIT_BYTE, NULL);
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
        TEST(layouts_are_built_when_asked_for_and_kept),
        TEST(an_update_sets_only_its_fields),
        TEST(a_bad_update_keeps_the_old_buffer),
        TEST(an_update_takes_any_alias_and_the_layout_tells),
        TEST(settings_move_buffers),
        TEST(a_registry_writes_a_trace),
        TEST(a_trace_shows_the_regions_that_are_asked_for),
        TEST(a_trace_needs_spaces_of_one_lane),
        TEST(every_failing_allocation_is_survived),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
