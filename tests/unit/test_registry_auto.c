/* SPDX-License-Identifier: Apache-2.0
 *
 * The automatic mode of a registry, in which the planner chooses who shares bytes. */
#include "spad/experimental/registry_parts.h"
#include "support/support.h"

#include <stdio.h>

#include "base/random.h"
#include "spad/registry.h"

/* Random lifetimes: no two share bytes while live, the size is at least the
 * largest load and at most the packed size, and one without sharing is packed. */
static void the_planner_chooses_who_shares(void **state) {
    (void)state;
    for (uint64_t seed = 0; seed < 300; seed++) {
        spad__random random = {seed};
        spad_registry *registry;
        spad_component component;
        spad_error error;
        assert_ok(spad_registry_create(&registry, NULL, &error), &error);
        assert_ok(spad_registry_add(&component, registry, "c", SPAD_FLOAT32, &error), &error);
        spad_registry_buffer buffers[12];
        char names[12][24];
        const size_t count = (size_t)spad__random_in(&random, 0, 12);
        int64_t packed = 0;
        for (size_t i = 0; i < count; i++) {
            snprintf(names[i], sizeof names[i], "b%zu", i);
            const int64_t begin = spad__random_in(&random, 0, 9);
            buffers[i] = (spad_registry_buffer){
                .name = names[i],
                .size = spad__random_in(&random, 0, 9),
                .persistent = spad__random_below(&random, 6) == 0,
                .aliases = i > 0 ? "b0" : NULL,
                .precision = spad__random_below(&random, 2) == 0 ? SPAD_FLOAT64 : SPAD_INT32};
            if (spad__random_below(&random, 5) > 0) {
                buffers[i].t_begin = begin;
                buffers[i].t_end = spad__random_in(&random, begin + 1, 10);
            }
            packed += buffers[i].size * 8;
            assert_ok(spad_registry_register(registry, component, &buffers[i], &error), &error);
        }
        assert_ok(spad_registry_set_automatic(registry, component, true, &error), &error);
        int64_t size;
        assert_ok(spad_registry_get_size(&size, registry, component, SPAD_REGISTRY_REGION_SHARED,
                                         SPAD_REGISTRY_UNIT_BYTE, &error),
                  &error);
        assert_true(size <= packed);
        for (int64_t time = 0; time < 10; time++) {
            int64_t load = 0;
            for (size_t a = 0; a < count; a++) {
                spad_registry_slice x;
                assert_ok(spad_registry_get_slice(&x, registry, component, names[a],
                                                  SPAD_REGISTRY_UNIT_BYTE, &error),
                          &error);
                const bool always = buffers[a].t_begin == buffers[a].t_end || buffers[a].persistent;
                if (!always && (time < buffers[a].t_begin || time >= buffers[a].t_end)) continue;
                load += x.length;
                assert_int_equal(x.offset % spad_dtype_bytes(buffers[a].precision), 0);
                for (size_t b = 0; b < a; b++) {
                    spad_registry_slice y;
                    assert_ok(spad_registry_get_slice(&y, registry, component, names[b],
                                                      SPAD_REGISTRY_UNIT_BYTE, &error),
                              &error);
                    const bool other = buffers[b].t_begin == buffers[b].t_end ||
                                       buffers[b].persistent ||
                                       (time >= buffers[b].t_begin && time < buffers[b].t_end);
                    if (!other || x.length == 0 || y.length == 0) continue;
                    assert_true(x.offset + x.length <= y.offset || y.offset + y.length <= x.offset);
                }
            }
            assert_true(load <= size);
        }
        /* and back: the declared aliases count again (their lifetimes may clash) */
        assert_ok(spad_registry_set_automatic(registry, component, false, &error), &error);
        assert_false(spad_registry_is_laid_out(registry, component, SPAD_REGISTRY_UNIT_BYTE));
        spad_registry_destroy(registry);
    }
    spad_registry *registry;
    spad_error error;
    assert_ok(spad_registry_create(&registry, NULL, &error), &error);
    assert_int_equal(spad_registry_set_automatic(registry, 77, true, &error), SPAD_ERR_STALE);
    spad_registry_destroy(registry);
}

static spad_status plan_with(const spad_host *host, void *context) {
    (void)context;
    spad_registry *registry;
    spad_component component;
    spad_error error;
    spad_status status = spad_registry_create(&registry, host, &error);
    if (status != SPAD_OK) return status;
    status = spad_registry_add(&component, registry, "c", SPAD_FLOAT32, &error);
    static const spad_registry_buffer buffers[] = {
        {.name = "a", .size = 3, .t_begin = 0, .t_end = 2},
        {.name = "b", .size = 4, .t_begin = 1, .t_end = 3},
        {.name = "c", .size = 3, .t_begin = 2, .t_end = 4}};
    for (int i = 0; i < 3 && status == SPAD_OK; i++) {
        status = spad_registry_register(registry, component, &buffers[i], &error);
    }
    if (status == SPAD_OK) status = spad_registry_set_automatic(registry, component, true, &error);
    int64_t size = 0;
    if (status == SPAD_OK) {
        status = spad_registry_get_size(&size, registry, component, SPAD_REGISTRY_REGION_SHARED,
                                        SPAD_REGISTRY_UNIT_ELEMENT, &error);
    }
    if (status == SPAD_OK) assert_int_equal(size, 7);
    spad_registry_destroy(registry);
    return status;
}

static void planning_survives_failing_allocations(void **state) {
    (void)state;
    test_fail_each_allocation(plan_with, NULL);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_planner_chooses_who_shares),
        cmocka_unit_test(planning_survives_failing_allocations),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
