/* SPDX-License-Identifier: Apache-2.0
 *
 * The simulator on every kind of synchronisation, and the deadlocks that it names. */
#include "sim/sim_report.h"
#include "sim_fixture.h"

/* A barrier starts anew when it is complete: what was contributed beyond its count is gone. */
static void barriers_start_anew(void **state) {
    (void)state;
    run r = start(AGENTS "barrier b count 2\nagent p { arrive b by 3\n sync b }\n"
                         "agent q { simt op cost 5 ns }\n");
    assert_non_null(spad_sim_get_stuck(r.sim));
    stop(&r);
}

/* Order and queue of a unit are per agent: what one agent waits for there holds up no other, and
 * `drain all` waits for what the agent has issued itself. */
static void queues_are_per_agent(void **state) {
    (void)state;
    static const char *const texts[] = {AGENTS "unit u on copy fifo\ncounter c\n"
                                               "agent p { wait c >= 1 on u\n u first cost 5 ns }\n"
                                               "agent q { u second signals c cost 5 ns }\n",
                                        AGENTS
                                        "unit u on copy fifo\ncounter c\n"
                                        "agent p { wait c >= 1 on u\n u first cost 5 ns }\n"
                                        "agent q { u second cost 5 ns\n drain all\n signal c }\n"};
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        run r = start(texts[i]);
        assert_null(spad_sim_get_stuck(r.sim));
        assert_row(&r, 0, "second", 0, 5);
        assert_row(&r, 1, "first", 5, 10);
        stop(&r);
    }
}

/* Queues are long, but not a reason to be stuck: more is issued before what the unit waits for. */
static void full_queues_are_no_deadlock(void **state) {
    (void)state;
    run r = start(AGENTS "unit u on copy fifo\ncounter c\nagent p {\n wait c >= 1 on u\n"
                         " for i in 0..5000 { u op cost 1 ns }\n signal c }\nagent q { }\n");
    assert_null(spad_sim_get_stuck(r.sim));
    assert_int_equal(spad_sim_get_totals(r.sim).operations, 5000);
    stop(&r);
}

static void barriers_release_all(void **state) {
    (void)state;
    run r =
        start(AGENTS "barrier all count 3\n"
                     "agent a { simt one cost 10 ns\nsync all\nsimt two cost 5 ns }\n"
                     "agent b { tensor three cost 30 ns\nsync all by 1\ntensor four cost 5 ns }\n"
                     "agent c { copy five cost 20 ns\narrive all\ncopy six cost 1 ns }\n"
                     "simt seven cost 1 ns\n");
    assert_row(&r, 3, "six", 20, 21);
    assert_row(&r, 4, "two", 30, 35);
    assert_row(&r, 5, "four", 30, 35);
    assert_row(&r, 6, "seven", 35, 36);
    const spad__sim_row two = spad__sim_get_row(r.sim, 4);
    assert_int_equal(two.kind, SPAD__WAIT_SYNC);
    assert_int_equal(two.object, 0);
    assert_int_equal(two.wait, 20000);
    assert_int_equal(two.cause, 1); /* three */
    assert_int_equal(two.agent, 1);
    stop(&r);
}

static void counters_count(void **state) {
    (void)state;
    run r = start(AGENTS "counter c = 1\ncounter d\n"
                         "agent a { simt one cost 10 ns signals c by 2\nsimt two cost 10 ns\n"
                         "          signal d }\n"
                         "agent b { take c\ntensor three cost 3 ns\ntake c by 2\n"
                         "          tensor four cost 3 ns\nwait d >= 1\ntensor five cost 3 ns }\n");
    assert_row(&r, 1, "three", 0, 3);
    assert_row(&r, 3, "four", 10, 13);
    assert_row(&r, 4, "five", 20, 23);
    stop(&r);
}

/* The ring of docs/kernel.md, of several depths: full and empty. */
static void mbarriers_have_phases(void **state) {
    (void)state;
    assert_int_equal(makespan_of(RING("1")), 1200000);
    assert_int_equal(makespan_of(RING("2")), 700000);
    assert_int_equal(makespan_of(RING("4")), 700000);
}

static void groups_bound_what_is_pending(void **state) {
    (void)state;
    run r = start(AGENTS "unit cp on copy free\ngroup g\n"
                         "for i in 0..3 { cp load cost 10 ns in g\ncommit g }\n"
                         "wait g pending 1\nsimt one cost 1 ns\nwait g pending 0\n"
                         "simt two cost 1 ns\ncommit g\nwait g pending 0\nsimt three cost 1 ns\n");
    assert_row(&r, 2, "one", 20, 21);
    assert_row(&r, 3, "load", 20, 30);
    assert_row(&r, 4, "two", 30, 31);
    assert_row(&r, 5, "three", 31, 32);
    assert_int_equal(spad__sim_get_row(r.sim, 4).cause, 3);
    stop(&r);
}

static void units_queue_their_waits(void **state) {
    (void)state;
    run r = start("kernel k on 910b\nunit mte2 fifo\nunit vector fifo\ncounter f\n"
                  "mte2 load cost 10 ns\nsignal f on mte2\nmte2 more cost 10 ns\n"
                  "take f on vector\nvector add cost 5 ns\nvector mul cost 5 ns\n"
                  "drain vector\ndrain all\nscalar last cost 1 ns\n");
    assert_row(&r, 0, "load", 0, 10);
    assert_row(&r, 1, "more", 10, 20);
    assert_row(&r, 2, "add", 10, 15);
    assert_row(&r, 3, "mul", 15, 20);
    assert_row(&r, 4, "last", 20, 21);
    const spad__sim_row add = spad__sim_get_row(r.sim, 2);
    assert_int_equal(add.kind, SPAD__WAIT_SYNC);
    assert_int_equal(add.cause, 0);
    stop(&r);
}

/* Two agents want the same engine: the one that is ready first has it, then the other. */
static void engines_are_shared_in_turn(void **state) {
    (void)state;
    run r = start(AGENTS "agent a { copy x cost 5 ns\ntensor one cost 10 ns }\n"
                         "agent b { simt y cost 4 ns\ntensor two cost 10 ns }\n");
    assert_row(&r, 2, "two", 4, 14);
    assert_row(&r, 3, "one", 14, 24);
    const spad__sim_row one = spad__sim_get_row(r.sim, 3);
    assert_int_equal(one.queued, 9000);
    assert_int_equal(one.blocker, 2);
    assert_int_equal(one.wait, 0);
    stop(&r);
}

/* What is too much for a phase is lost: no sum can be too large. */
static void too_many_contributions_are_lost(void **state) {
    (void)state;
    static const char *const texts[] = {
        "kernel k on trn2\nparam M = 9223372036854775807\nbarrier b count M\n"
        "agent p { arrive b by M - 1; arrive b by M }\nagent q { sync b by M }\n",
        "kernel k on trn2\nmbarrier m count 1\nparam M = 9223372036854775807\ninit m\n"
        "unit u on dma serial\nagent p { arrive m by M; u op arrives m by M }\n"
        "agent q { wait m parity 1 }\n",
    };
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        run r = start(texts[i]);
        assert_null(spad_sim_get_stuck(r.sim));
        stop(&r);
    }
}

/* Bytes that were delivered before: the phase is complete when they are expected. */
static void an_expectation_can_complete_a_phase(void **state) {
    (void)state;
    run r = start(
        AGENTS "unit u on copy free\nmbarrier m count 1\ninit m\nu op delivers m by 8 cost 1 ns\n"
               "drain all\narrive m\nexpect m by 8\nwait m parity 0\nsimt op cost 1 ns\n");
    assert_null(spad_sim_get_stuck(r.sim));
    assert_int_equal(spad_sim_get_totals(r.sim).makespan, 2000);
    stop(&r);
}

static void deadlocks_are_named(void **state) {
    (void)state;
    static const struct {
        const char *text;
        const char *message;
    } cases[] = {
        {AGENTS "barrier all[2] count 2\nagent a { simt op cost 7 ns\nsync all[1] }\nagent b { }\n",
         "deadlock at 7 ns: 'a' waits for barrier 'all[1]', where 1 of 2 have arrived (line 4)"},
        {AGENTS "counter c = 1\ntake c by 2\n",
         "deadlock at 0 ns: 'main' waits for counter 'c' to be 2, which is 1 (line 3)"},
        {AGENTS "mbarrier m count 2\ninit m\narrive m expect 64\nwait m parity 0\n",
         "deadlock at 0 ns: 'main' waits for parity 0 of mbarrier 'm', where 1 arrivals and 64 "
         "bytes are missing (line 5)"},
        {AGENTS "mbarrier m count 1\narrive m\nwait m parity 0\n",
         "deadlock at 0 ns: 'main' waits for parity 0 of mbarrier 'm', which is not initialised "
         "(line 4)"},
        {"kernel k on 910b\nunit vector fifo\ncounter c\ntake c on vector\nvector op\n",
         "deadlock at 0 ns: 'vector' waits for counter 'c' to be 1, which is 0 (line 4)"},
        {"kernel k on 910b\nunit vector fifo\ncounter c\ntake c on vector\ndrain all\n",
         "deadlock at 0 ns: 'main' waits for a drain (line 5)"},
        {AGENTS "unit cp on copy free\nunit q on copy fifo\ngroup g\ncounter c\n"
                "take c on cp\ncp load in g\ncommit g\nwait g pending 0\n",
         "deadlock at 0 ns: 'main' waits for group 'g' (line 9)"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        run r = start(cases[i].text);
        assert_non_null(spad_sim_get_stuck(r.sim));
        assert_string_equal(spad_sim_get_stuck(r.sim), cases[i].message);
        stop(&r);
    }
    spad_kernel *kernel = test_parse(cases[1].text);
    spad_tune *tune;
    spad_error error;
    assert_int_equal(spad_tune_create(&tune, kernel, NULL, &error), SPAD_ERR_ARGUMENT);
    assert_string_equal(error.message, "kernel 'k' is deadlocked; `spad sim` shows where");
    spad_kernel_destroy(kernel);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(barriers_start_anew),
        cmocka_unit_test(queues_are_per_agent),
        cmocka_unit_test(full_queues_are_no_deadlock),
        cmocka_unit_test(barriers_release_all),
        cmocka_unit_test(counters_count),
        cmocka_unit_test(mbarriers_have_phases),
        cmocka_unit_test(groups_bound_what_is_pending),
        cmocka_unit_test(units_queue_their_waits),
        cmocka_unit_test(engines_are_shared_in_turn),
        cmocka_unit_test(too_many_contributions_are_lost),
        cmocka_unit_test(an_expectation_can_complete_a_phase),
        cmocka_unit_test(deadlocks_are_named),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
