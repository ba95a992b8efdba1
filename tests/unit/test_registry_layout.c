/* SPDX-License-Identifier: Apache-2.0
 *
 * The layout of the component registry: every rule of CuBIE's in elements, and what goes beyond
 * them: bytes, alignment and lifetimes. */
#include "spad/experimental/registry_parts.h"
#include "unit/registry_fixture.h"

/* ---- the layout, in elements ------------------------------------------------------- */

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
    sizes(f, f->a, SPAD_REGISTRY_UNIT_ELEMENT, 30, 40, 8);
    sizes(f, f->b, SPAD_REGISTRY_UNIT_ELEMENT, 0, 0, 0);
}

static void shared_and_persistent_is_shared(void **state) {
    fixture *f = *state;
    spad_registry_buffer both = buffer_of("x", 4, SH, NULL);
    both.persistent = true;
    assert_ok(spad_registry_register(f->registry, f->a, &both, &f->error), &f->error);
    SHARED("x", 0, 4);
    sizes(f, f->a, SPAD_REGISTRY_UNIT_ELEMENT, 4, 0, 0);
}

static void a_shared_buffer_of_no_size_is_an_empty_slice(void **state) {
    fixture *f = *state;
    add(f, f->a, "x", 3, SH, NULL);
    add(f, f->a, "none", 0, SH, NULL);
    add(f, f->a, "child", 0, LO, "none");
    SHARED("none", 3, 0);
    SHARED("child", 3, 0); /* nothing fits into nothing */
    sizes(f, f->a, SPAD_REGISTRY_UNIT_ELEMENT, 3, 0, 0);
}

static void an_alias_goes_inside_a_shared_target(void **state) {
    fixture *f = *state;
    add(f, f->a, "parent", 100, SH, NULL);
    add(f, f->a, "child", 30, SH, "parent");
    SHARED("parent", 0, 100);
    SHARED("child", 0, 30);
    sizes(f, f->a, SPAD_REGISTRY_UNIT_ELEMENT, 100, 0, 0);
    spad_registry_slice slice;
    assert_ok(spad_registry_get_slice(&slice, f->registry, f->a, "child",
                                      SPAD_REGISTRY_UNIT_ELEMENT, NULL),
              &f->error);
    assert_string_equal(slice.inside, "parent");
    assert_int_equal(slice.consumed, 0);
    assert_ok(spad_registry_get_slice(&slice, f->registry, f->a, "parent",
                                      SPAD_REGISTRY_UNIT_ELEMENT, NULL),
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
    sizes(f, f->a, SPAD_REGISTRY_UNIT_ELEMENT, 140, 0, 0);
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
    sizes(f, f->a, SPAD_REGISTRY_UNIT_ELEMENT, 130, 60, 70);
}

static void a_local_alias_of_a_shared_target_becomes_shared(void **state) {
    fixture *f = *state;
    add(f, f->a, "parent", 100, SH, NULL);
    add(f, f->a, "child", 30, LO, "parent");
    SHARED("child", 0, 30);
    sizes(f, f->a, SPAD_REGISTRY_UNIT_ELEMENT, 100, 0, 0);
}

static void add_kept(fixture *f, const char *name, int64_t size, const char *aliases) {
    spad_registry_buffer buffer = buffer_of(name, size, SH, aliases);
    buffer.persistent = true;
    assert_ok(spad_registry_register(f->registry, f->a, &buffer, &f->error), &f->error);
}

/* Only buffers that are not persistent share storage, whichever of the two is the alias. */
static void an_alias_never_overlaps_persistent_storage(void **state) {
    fixture *f = *state;
    add_kept(f, "kept", 10, NULL);
    add(f, f->a, "parent", 100, SH, NULL);
    add(f, f->a, "over", 5, SH, "kept");
    add(f, f->a, "local over", 6, LO, "kept");
    add_kept(f, "inside", 7, "parent");
    add(f, f->a, "kept local", 8, PE, "parent");
    add(f, f->a, "plain", 9, SH, "parent");
    SHARED("kept", 0, 10);
    SHARED("parent", 10, 100);
    SHARED("over", 110, 5);
    LOCAL("local over", 0, 6);
    SHARED("inside", 115, 7);
    PERSISTENT("kept local", 0, 8);
    SHARED("plain", 10, 9);
    sizes(f, f->a, SPAD_REGISTRY_UNIT_ELEMENT, 122, 8, 6);
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
    sizes(f, f->a, SPAD_REGISTRY_UNIT_ELEMENT, 5, 20, 20);
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
    sizes(f, f->a, SPAD_REGISTRY_UNIT_ELEMENT, 100, 0, 40);
}

static void aliases_are_placed_in_the_order_of_registration(void **state) {
    fixture *f = *state;
    add(f, f->a, "a", 10, SH, NULL);
    add(f, f->a, "b", 10, SH, "a");
    add(f, f->a, "a", 10, SH, "b"); /* now each aliases the other; a comes first */
    SHARED("a", 0, 10);             /* b has no place yet */
    SHARED("b", 0, 10);
    sizes(f, f->a, SPAD_REGISTRY_UNIT_ELEMENT, 10, 0, 0);
}

static void types_do_not_change_the_layout_in_elements(void **state) {
    fixture *f = *state;
    add_typed(f, f->a, "x", 3, SH, NULL, SPAD_INT32);
    add_typed(f, f->a, "y", 3, SH, NULL, SPAD_FLOAT64);
    SHARED("y", 3, 3);
}

static void the_whole_layout_comes_at_once(void **state) {
    fixture *f = *state;
    const spad_registry_slice *slices;
    size_t count;
    assert_ok(spad_registry_get_layout(&slices, &count, f->registry, f->a,
                                       SPAD_REGISTRY_UNIT_ELEMENT, NULL),
              &f->error);
    assert_null(slices);
    assert_int_equal(count, 0);
    add(f, f->a, "x", 3, SH, NULL);
    add(f, f->a, "y", 3, PE, NULL);
    assert_ok(spad_registry_get_layout(&slices, &count, f->registry, f->a,
                                       SPAD_REGISTRY_UNIT_ELEMENT, NULL),
              &f->error);
    assert_int_equal(count, 2);
    assert_int_equal(slices[0].region, SPAD_REGISTRY_REGION_SHARED);
    assert_int_equal(slices[1].region, SPAD_REGISTRY_REGION_PERSISTENT);
    int64_t size;
    fails(f,
          spad_registry_get_layout(&slices, &count, f->registry, f->a, (spad_registry_unit)9,
                                   &f->error),
          SPAD_ERR_ARGUMENT, "a layout has no unit number 9");
    fails(f,
          spad_registry_get_size(&size, f->registry, f->a, (spad_registry_region)9,
                                 SPAD_REGISTRY_UNIT_BYTE, &f->error),
          SPAD_ERR_ARGUMENT, "a layout has no region number 9");
    fails(f,
          spad_registry_get_alignment(&size, f->registry, f->a, (spad_registry_region)-1,
                                      SPAD_REGISTRY_UNIT_BYTE, &f->error),
          SPAD_ERR_ARGUMENT, "a layout has no region number -1");
}

/* ---- the layout, in bytes ---------------------------------------------------------- */

#define BYTES(name, region, offset, length) \
    expect(f, f->a, SPAD_REGISTRY_UNIT_BYTE, name, SPAD_REGISTRY_REGION_##region, offset, length)

static int64_t alignment(fixture *f, spad_component c, spad_registry_region region) {
    int64_t out;
    assert_ok(spad_registry_get_alignment(&out, f->registry, c, region, SPAD_REGISTRY_UNIT_BYTE,
                                          &f->error),
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
    sizes(f, f->a, SPAD_REGISTRY_UNIT_BYTE, 28, 4, 16);
    assert_int_equal(alignment(f, f->a, SPAD_REGISTRY_REGION_SHARED), 8);
    assert_int_equal(alignment(f, f->a, SPAD_REGISTRY_REGION_PERSISTENT), 4);
    assert_int_equal(alignment(f, f->b, SPAD_REGISTRY_REGION_SHARED), 1);
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
    assert_int_equal(alignment(f, f->a, SPAD_REGISTRY_REGION_SHARED), 8);
    /* a size set by hand is one in elements of the parent */
    update(f, SPAD_REGISTRY_BUFFER_SIZE, (spad_registry_buffer){.name = "k_shared", .size = 5});
    BYTES("k_shared", SHARED, 4, 20);
    /* and moved to local memory it is an array of at least an element */
    assert_ok(spad_registry_register_child(NULL, f->registry, f->a, f->b, "k", NULL), &f->error);
    update(f, SPAD_REGISTRY_BUFFER_LOCATION,
           (spad_registry_buffer){.name = "k_shared", .location = SPAD_REGISTRY_LOCATION_LOCAL});
    BYTES("k_shared", LOCAL, 0, 28);
}

static void sizes_beyond_64_bits_are_errors(void **state) {
    fixture *f = *state;
    int64_t size;
    add(f, f->a, "x", INT64_MAX, SH, NULL);
    SHARED("x", 0, INT64_MAX);
    fails(f,
          spad_registry_get_size(&size, f->registry, f->a, SPAD_REGISTRY_REGION_SHARED,
                                 SPAD_REGISTRY_UNIT_BYTE, &f->error),
          SPAD_ERR_OVERFLOW,
          "buffer 'x' of 9223372036854775807 elements ends beyond what 64 bits hold, in bytes");
    add(f, f->a, "y", 1, SH, NULL);
    fails(f,
          spad_registry_get_size(&size, f->registry, f->a, SPAD_REGISTRY_REGION_SHARED,
                                 SPAD_REGISTRY_UNIT_ELEMENT, &f->error),
          SPAD_ERR_OVERFLOW, "buffer 'y' of 1 elements ends beyond what 64 bits hold, in elements");
    spad_component none;
    fails(f, spad_registry_add(&none, f->registry, NULL, SPAD_FLOAT32, &f->error), SPAD_ERR_NAME,
          "a component needs a name");
    add(f, f->a, "x", INT64_MAX, LO, NULL);
    add(f, f->a, "p", 1, PE, NULL);
    fails(f,
          spad_registry_get_declared_local(&size, f->registry, f->a, SPAD_REGISTRY_UNIT_ELEMENT,
                                           &f->error),
          SPAD_ERR_OVERFLOW,
          "the local and persistent memory of 'alpha' is more than 64 bits hold");
}

/* ---- lifetimes --------------------------------------------------------------------- */

static spad_status lay_out(fixture *f, spad_registry_unit unit) {
    int64_t size;
    return spad_registry_get_size(&size, f->registry, f->a, SPAD_REGISTRY_REGION_SHARED, unit,
                                  &f->error);
}

static void an_alias_live_with_its_target_is_an_error(void **state) {
    fixture *f = *state;
    add_living(f, f->a, "stage", 10, NULL, 0, 5);
    add_living(f, f->a, "out", 4, "stage", 5, 9); /* half-open: no step in common */
    assert_ok(lay_out(f, SPAD_REGISTRY_UNIT_ELEMENT), &f->error);
    add_living(f, f->a, "out", 4, "stage", 4, 9);
    fails(f, lay_out(f, SPAD_REGISTRY_UNIT_ELEMENT), SPAD_ERR_OVERLAP,
          "buffers 'stage' and 'out' of component 'alpha' share elements [0, 4) and are both live "
          "in steps [4, 5); drop the alias, or end one of them earlier");
    assert_string_equal(f->error.subject, "stage");
    assert_string_equal(f->error.other, "out");
    fails(f, lay_out(f, SPAD_REGISTRY_UNIT_BYTE), SPAD_ERR_OVERLAP,
          "buffers 'stage' and 'out' of component 'alpha' share bytes [0, 16) and are both live "
          "in steps [4, 5); drop the alias, or end one of them earlier");
    assert_false(spad_registry_is_laid_out(f->registry, f->a, SPAD_REGISTRY_UNIT_ELEMENT));
    add(f, f->a, "out", 4, SH, "stage"); /* without a lifetime it is unknown */
    assert_ok(lay_out(f, SPAD_REGISTRY_UNIT_ELEMENT), &f->error);
    add_living(f, f->a, "out", 11, "stage", 4, 9); /* does not fit inside, so shares nothing */
    assert_ok(lay_out(f, SPAD_REGISTRY_UNIT_ELEMENT), &f->error);
}

static void lifetimes_are_checked_through_aliases_of_aliases(void **state) {
    fixture *f = *state;
    add_living(f, f->a, "p", 10, NULL, 0, 5);
    add(f, f->a, "c", 6, SH, "p");               /* no lifetime */
    add_living(f, f->a, "gc1", 3, "c", 6, 8);    /* [0, 3) */
    add_living(f, f->a, "gc2", 3, "c", 6, 8);    /* [3, 6): beside its sibling */
    add_living(f, f->a, "empty", 0, "c", 0, 90); /* shares nothing */
    assert_ok(lay_out(f, SPAD_REGISTRY_UNIT_ELEMENT), &f->error);
    add_living(f, f->a, "gc2", 3, "c", 1, 2);
    fails(f, lay_out(f, SPAD_REGISTRY_UNIT_ELEMENT), SPAD_ERR_OVERLAP,
          "buffers 'p' and 'gc2' of component 'alpha' share elements [3, 6) and are both live in "
          "steps [1, 2); drop the alias, or end one of them earlier");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(buffers_are_packed_by_region),
        TEST(shared_and_persistent_is_shared),
        TEST(a_shared_buffer_of_no_size_is_an_empty_slice),
        TEST(an_alias_goes_inside_a_shared_target),
        TEST(aliases_take_a_target_one_after_the_other),
        TEST(an_alias_that_does_not_fit_falls_back_to_its_own_kind),
        TEST(a_local_alias_of_a_shared_target_becomes_shared),
        TEST(an_alias_never_overlaps_persistent_storage),
        TEST(aliasing_local_memory_never_shares),
        TEST(an_alias_of_an_alias_works),
        TEST(aliases_are_placed_in_the_order_of_registration),
        TEST(types_do_not_change_the_layout_in_elements),
        TEST(the_whole_layout_comes_at_once),
        TEST(mixed_types_are_aligned_in_bytes),
        TEST(an_alias_must_fit_in_bytes),
        TEST(a_child_keeps_its_bytes_and_alignment),
        TEST(sizes_beyond_64_bits_are_errors),
        TEST(an_alias_live_with_its_target_is_an_error),
        TEST(lifetimes_are_checked_through_aliases_of_aliases),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
