/* SPDX-License-Identifier: Apache-2.0
 *
 * The component registry as a tree: children, their totals, and the slices that allocators give
 * them. */
#include "spad/experimental/registry_parts.h"
#include "unit/registry_fixture.h"

/* ---- children ---------------------------------------------------------------------- */

static void register_child(fixture *f, spad_component parent, spad_component child,
                           const char *name) {
    assert_ok(spad_registry_register_child(NULL, f->registry, parent, child, name, &f->error),
              &f->error);
}

static void totals_that_hold_persistent_storage_share_nothing(void **state) {
    fixture *f = *state;
    add(f, f->b, "s", 8, SH, NULL);
    register_child(f, f->a, f->b, "solver");
    add(f, f->a, "over", 4, SH, "solver_shared");
    SHARED("over", 0, 4); /* nothing in the child is persistent yet */
    spad_registry_buffer kept = buffer_of("kept", 2, SH, NULL);
    kept.persistent = true;
    assert_ok(spad_registry_register(f->registry, f->b, &kept, &f->error), &f->error);
    register_child(f, f->a, f->b, "solver");
    SHARED("over", 10, 4);
    register_child(f, f->b, f->a, "up"); /* and a parent hands the fact on */
    spad_registry_slice slice;
    add(f, f->b, "again", 4, SH, "up_shared");
    assert_ok(spad_registry_get_slice(&slice, f->registry, f->b, "again",
                                      SPAD_REGISTRY_UNIT_ELEMENT, NULL),
              &f->error);
    assert_null(slice.inside);
}

static void a_child_is_registered_with_its_totals_of_now(void **state) {
    fixture *f = *state;
    spad_registry_child_buffers names;
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
    sizes(f, f->a, SPAD_REGISTRY_UNIT_ELEMENT, 6, 3,
          0); /* plain local of children does not roll up */
    const spad_registry_buffer *totals = spad_registry_get_buffer(f->registry, f->a, 0);
    assert_int_equal(totals->precision, SPAD_FLOAT32); /* of the parent */
    add(f, f->b, "s2", 6, SH, NULL);
    assert_ok(spad_registry_register_child(NULL, f->registry, f->a, f->b, "solver", &f->error),
              &f->error);
    SHARED("solver_shared", 0, 10);
    assert_int_equal(spad_registry_child_count(f->registry, f->a), 1);
    spad_registry_child child;
    assert_ok(spad_registry_get_child(&child, f->registry, f->a, 0, &f->error), &f->error);
    assert_string_equal(child.name, "solver");
    assert_int_equal(child.component, f->b);
    fails(f, spad_registry_get_child(&child, f->registry, f->a, 1, &f->error), SPAD_ERR_ARGUMENT,
          "the component has no child number 1 of 1");
    assert_ok(spad_registry_register_child(&names, f->registry, f->a, f->b, NULL, &f->error),
              &f->error);
    assert_string_equal(names.shared, "child_2_shared");
    spad_registry_remove(f->registry, f->b);
    sizes(f, f->a, SPAD_REGISTRY_UNIT_ELEMENT, 22, 6, 0); /* the parent keeps what it has */
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
    const spad_registry_buffer values = {.name = "x", .aliases = "gone"};
    assert_ok(spad_registry_update_buffer(NULL, f->registry, f->b, SPAD_REGISTRY_BUFFER_ALIASES,
                                          &values, &f->error),
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
    /* a cycle ends */
    assert_ok(spad_registry_register_child(NULL, f->registry, c, f->a, "a", NULL), &f->error);
    spad_registry_clear_parent(f->registry, f->a);
    assert_int_equal(spad_registry_group_count(f->registry), 0);
    add(f, f->a, "x", 2, SH, NULL);
    add(f, f->b, "x", 2, SH, NULL);
    spad_registry_reset(f->registry);
    assert_int_equal(spad_registry_group_count(f->registry), 0);
    assert_string_equal(spad_registry_get_component_name(f->registry, f->a), "alpha");
}

static int64_t declared(fixture *f, spad_component c, spad_registry_unit unit) {
    int64_t out;
    assert_ok(spad_registry_get_declared_local(&out, f->registry, c, unit, &f->error), &f->error);
    return out;
}

static void declared_local_counts_descendants(void **state) {
    fixture *f = *state;
    spad_component c;
    assert_int_equal(declared(f, f->a, SPAD_REGISTRY_UNIT_ELEMENT), 0);
    assert_ok(spad_registry_add(&c, f->registry, "gamma", SPAD_FLOAT32, &f->error), &f->error);
    add(f, c, "l", 5, LO, NULL);
    add(f, c, "p", 2, PE, NULL);
    assert_ok(spad_registry_register_child(NULL, f->registry, f->b, c, "c", NULL), &f->error);
    add(f, f->b, "l", 0, LO, NULL);
    assert_ok(spad_registry_register_child(NULL, f->registry, f->a, f->b, "b", NULL), &f->error);
    add(f, f->a, "l", 3, LO, NULL);
    assert_int_equal(declared(f, f->a, SPAD_REGISTRY_UNIT_ELEMENT), 3 + 1 + 5 + 2);
    assert_int_equal(declared(f, f->a, SPAD_REGISTRY_UNIT_BYTE), 12 + 8 + 20 + 8);
    /* one that is recorded twice counts twice */
    assert_ok(spad_registry_register_child(NULL, f->registry, f->a, c, "c", NULL), &f->error);
    assert_int_equal(declared(f, f->a, SPAD_REGISTRY_UNIT_ELEMENT), 3 + 1 + 5 + 5 + 4);
    spad_registry_clear_own(f->registry, f->b);
    assert_int_equal(declared(f, f->a, SPAD_REGISTRY_UNIT_ELEMENT), 3 + 5 + 4);
    spad_registry_remove(f->registry, c);
    assert_int_equal(declared(f, f->a, SPAD_REGISTRY_UNIT_ELEMENT), 3 + 4);
}

static void a_circle_of_children_is_an_error(void **state) {
    fixture *f = *state;
    int64_t out = 7;
    assert_ok(spad_registry_register_child(NULL, f->registry, f->a, f->b, "b", NULL), &f->error);
    assert_ok(spad_registry_register_child(NULL, f->registry, f->b, f->a, "a", NULL), &f->error);
    fails(f,
          spad_registry_get_declared_local(&out, f->registry, f->a, SPAD_REGISTRY_UNIT_ELEMENT,
                                           &f->error),
          SPAD_ERR_CYCLE,
          "component 'alpha' is recorded as a child of 'beta', which it contains itself; clear one "
          "of them and register it again");
    assert_string_equal(f->error.subject, "alpha");
    assert_string_equal(f->error.other, "beta");
    assert_int_equal(out, 0);
    spad_registry_clear_own(f->registry, f->b);
    assert_int_equal(declared(f, f->a, SPAD_REGISTRY_UNIT_ELEMENT), 0);
    assert_ok(spad_registry_register_child(NULL, f->registry, f->b, f->b, "b", NULL), &f->error);
    assert_int_equal(spad_registry_get_declared_local(&out, f->registry, f->b,
                                                      SPAD_REGISTRY_UNIT_ELEMENT, &f->error),
                     SPAD_ERR_CYCLE);
}

/* As in CuBIE: a parent takes over what the child has at that moment. */
static void sizes_in_a_circle_are_those_registered(void **state) {
    fixture *f = *state;
    int64_t size;
    add(f, f->a, "p", 3, SH, NULL);
    add(f, f->b, "q", 4, SH, NULL);
    assert_ok(spad_registry_register_child(NULL, f->registry, f->a, f->b, "x", NULL), &f->error);
    assert_ok(spad_registry_register_child(NULL, f->registry, f->b, f->a, "y", NULL), &f->error);
    const spad_component parents[] = {f->a, f->b};
    const int64_t sizes[] = {3 + 4, 4 + 7};
    for (int i = 0; i < 2; i++) {
        assert_ok(spad_registry_get_size(&size, f->registry, parents[i],
                                         SPAD_REGISTRY_REGION_SHARED, SPAD_REGISTRY_UNIT_ELEMENT,
                                         &f->error),
                  &f->error);
        assert_int_equal(size, sizes[i]);
        assert_int_equal(spad_registry_get_declared_local(&size, f->registry, parents[i],
                                                          SPAD_REGISTRY_UNIT_ELEMENT, &f->error),
                         SPAD_ERR_CYCLE);
    }
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
    assert_int_equal(declared(f, below, SPAD_REGISTRY_UNIT_ELEMENT), DEPTH + 1);
    /* two edges at each of 62 levels: 2^62 paths, walked once each */
    spad_component top = f->b;
    for (int i = 0; i < 62; i++) {
        spad_component c;
        assert_ok(spad_registry_add(&c, f->registry, "d", SPAD_FLOAT32, &f->error), &f->error);
        assert_ok(spad_registry_register_child(NULL, f->registry, c, top, "k", NULL), &f->error);
        assert_ok(spad_registry_register_child(NULL, f->registry, c, top, "m", NULL), &f->error);
        top = c;
    }
    assert_int_equal(declared(f, top, SPAD_REGISTRY_UNIT_ELEMENT), INT64_C(1) << 62);
    spad_component over;
    assert_ok(spad_registry_add(&over, f->registry, "over", SPAD_FLOAT32, &f->error), &f->error);
    assert_ok(spad_registry_register_child(NULL, f->registry, over, top, "k", NULL), &f->error);
    assert_ok(spad_registry_register_child(NULL, f->registry, over, top, "m", NULL), &f->error);
    int64_t out;
    fails(f,
          spad_registry_get_declared_local(&out, f->registry, over, SPAD_REGISTRY_UNIT_ELEMENT,
                                           &f->error),
          SPAD_ERR_OVERFLOW,
          "the local memory of 'over' and its children is more than 64 bits hold");
    spad_registry_clear_parent(f->registry, below);
    assert_false(spad_registry_has_group(f->registry, f->b));
}

/* ---- allocators -------------------------------------------------------------------- */

static void an_allocator_gives_the_slice_of_a_thread(void **state) {
    fixture *f = *state;
    spad_registry_allocator x;
    fails(f,
          spad_registry_get_allocator(&x, f->registry, f->a, "state", SPAD_REGISTRY_UNIT_ELEMENT,
                                      false, &f->error),
          SPAD_ERR_UNKNOWN, "component 'alpha' has no registered buffers; register 'state' first");
    add(f, f->a, "state", 3, SH, NULL);
    add(f, f->a, "k", 6, SH, NULL);
    add(f, f->a, "dt", 1, PE, NULL);
    add(f, f->a, "tmp", 0, LO, NULL);
    fails(f,
          spad_registry_get_allocator(&x, f->registry, f->a, "stat", SPAD_REGISTRY_UNIT_ELEMENT,
                                      false, &f->error),
          SPAD_ERR_UNKNOWN,
          "buffer 'stat' is not registered with component 'alpha'; did you mean 'state'?");
    const spad_registry_base base = {.shared = 100, .shared_stride = 9, .persistent = 40};
    spad_registry_slice slice;
    spad_registry *r = f->registry;
    assert_ok(spad_registry_get_allocator(&x, r, f->a, "k", SPAD_REGISTRY_UNIT_ELEMENT, true, NULL),
              &f->error);
    assert_int_equal(x.precision, SPAD_FLOAT32);
    assert_int_equal(x.zeroed, 6);
    assert_ok(spad_registry_allocator_slice(&slice, &x, &base, 0, &f->error), &f->error);
    assert_int_equal(slice.offset, 103);
    assert_ok(spad_registry_allocator_slice(&slice, &x, &base, 5, &f->error), &f->error);
    assert_int_equal(slice.offset, 103 + 45);
    assert_int_equal(slice.length, 6);
    assert_ok(
        spad_registry_get_allocator(&x, r, f->a, "dt", SPAD_REGISTRY_UNIT_ELEMENT, false, NULL),
        &f->error);
    assert_int_equal(x.zeroed, 0);
    assert_ok(spad_registry_allocator_slice(&slice, &x, &base, 5, &f->error), &f->error);
    assert_int_equal(slice.region, SPAD_REGISTRY_REGION_PERSISTENT);
    assert_int_equal(slice.offset, 40);
    assert_ok(
        spad_registry_get_allocator(&x, r, f->a, "tmp", SPAD_REGISTRY_UNIT_ELEMENT, true, NULL),
        &f->error);
    assert_int_equal(x.zeroed, 0); /* `size` elements: none */
    assert_ok(spad_registry_allocator_slice(&slice, &x, &base, 5, &f->error), &f->error);
    assert_int_equal(slice.region, SPAD_REGISTRY_REGION_LOCAL);
    assert_int_equal(slice.offset, 0);
    assert_int_equal(slice.length, 1);
    assert_ok(spad_registry_get_allocator(&x, r, f->a, "k", SPAD_REGISTRY_UNIT_BYTE, false, NULL),
              &f->error);
    assert_int_equal(x.slice.offset, 12);
    assert_int_equal(x.slice.length, 24);
    fails(f, spad_registry_allocator_slice(&slice, &x, &base, -1, &f->error), SPAD_ERR_ARGUMENT,
          "thread -1 is negative");
    fails(f, spad_registry_allocator_slice(&slice, &x, &base, INT64_MAX, &f->error),
          SPAD_ERR_OVERFLOW,
          "the slice of thread 9223372036854775807 begins or ends beyond what 64 bits hold");
}

static void a_child_works_on_the_slices_of_its_parent(void **state) {
    fixture *f = *state;
    add(f, f->b, "delta", 3, SH, NULL);
    add(f, f->b, "residual", 3, SH, NULL);
    add(f, f->b, "theta", 1, PE, NULL);
    add(f, f->a, "state", 5, SH, NULL);
    add(f, f->a, "dt", 2, PE, NULL);
    spad_registry_allocator shared;
    spad_registry_allocator persistent;
    spad_registry_allocator residual;
    const spad_registry_unit e = SPAD_REGISTRY_UNIT_ELEMENT;
    assert_ok(spad_registry_get_child_allocators(&shared, &persistent, f->registry, f->a, f->b,
                                                 "solver", e, &f->error),
              &f->error);
    const spad_registry_base base = {.shared = 0, .shared_stride = 11, .persistent = 0};
    spad_registry_slice s;
    spad_registry_slice p;
    assert_ok(spad_registry_allocator_slice(&s, &shared, &base, 2, &f->error), &f->error);
    assert_ok(spad_registry_allocator_slice(&p, &persistent, &base, 2, &f->error), &f->error);
    assert_int_equal(s.offset, 27);
    assert_int_equal(s.length, 6);
    assert_int_equal(p.offset, 2);
    const spad_registry_base child_base = {.shared = s.offset, .persistent = p.offset};
    assert_ok(spad_registry_get_allocator(&residual, f->registry, f->b, "residual", e, false, NULL),
              &f->error);
    assert_ok(spad_registry_allocator_slice(&s, &residual, &child_base, 0, &f->error), &f->error);
    assert_int_equal(s.offset, 30);
}

static void the_top_level_starts_with_all_memory(void **state) {
    fixture *f = *state;
    spad_registry_allocator shared;
    spad_registry_allocator persistent;
    assert_ok(spad_registry_get_toplevel_allocators(&shared, &persistent, f->registry, f->b,
                                                    SPAD_REGISTRY_UNIT_ELEMENT, &f->error),
              &f->error);
    assert_int_equal(shared.slice.region, SPAD_REGISTRY_REGION_SHARED);
    assert_int_equal(shared.slice.length, 0);
    assert_int_equal(shared.precision, SPAD_FLOAT32);
    assert_int_equal(persistent.slice.region, SPAD_REGISTRY_REGION_LOCAL);
    assert_int_equal(persistent.slice.length, 1);
    assert_int_equal(persistent.precision, SPAD_FLOAT64);
    add(f, f->b, "p", 12, PE, NULL);
    assert_ok(spad_registry_get_toplevel_allocators(&shared, &persistent, f->registry, f->b,
                                                    SPAD_REGISTRY_UNIT_BYTE, &f->error),
              &f->error);
    assert_int_equal(persistent.slice.length, 96);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(a_child_is_registered_with_its_totals_of_now),
        TEST(totals_that_hold_persistent_storage_share_nothing),
        TEST(a_name_again_replaces_the_recorded_child),
        TEST(errors_of_a_child_reach_its_parent),
        TEST(clearing_cascades_or_not),
        TEST(declared_local_counts_descendants),
        TEST(a_circle_of_children_is_an_error),
        TEST(sizes_in_a_circle_are_those_registered),
        TEST(deep_and_wide_trees_need_no_stack),
        TEST(an_allocator_gives_the_slice_of_a_thread),
        TEST(a_child_works_on_the_slices_of_its_parent),
        TEST(the_top_level_starts_with_all_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
