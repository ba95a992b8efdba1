/* SPDX-License-Identifier: Apache-2.0
 *
 * The order check: every finding with its message and its notes. */
#include "order_fixture.h"

#include <stdio.h>
#include <string.h>

static void test_race_messages(void **unused) {
    (void)unused;
    assert_finds(
        RING "agent p { for k in 0..2 { tma load reads a writes x[2 * k] in g; commit g; "
             "wait g pending 0; if k == 0 { arrive b } } }\n"
             "agent q { sync b; simt use reads x[0] }\n",
        SPAD_FINDING_RACE,
        "load of iteration k = 1 (p) may write 'x[2]' over 'x[0]' while use (q) still reads "
        "it: bytes [0, 64) of x slot 0",
        "use (q) reads 'x[0]' here",
        "nothing orders them: let p wait for something before it, and let q arrive or "
        "signal there after it");
    assert_finds(RING "tma load reads a writes x[0] in g\ncommit g\nwait g pending 1\n"
                      "simt use reads x[0](0..32)\nwait g pending 0\n",
                 SPAD_FINDING_RACE,
                 "use may read 'x[0]' before load has written it: bytes [0, 32) of x slot 0",
                 "load writes 'x[0]' here",
                 "this wait leaves 1 pending: with `wait g pending 0` here the kernel is right");
    assert_finds(RING "tma load reads a writes x[0] in g\ncommit g\n"
                      "simt use reads x[0](0..32)\nwait g pending 0\n",
                 SPAD_FINDING_RACE,
                 "use may read 'x[0]' before load has written it: bytes [0, 32) of x slot 0",
                 "load writes 'x[0]' here",
                 "nothing orders them: the second must come after a `wait g pending` that covers "
                 "it");
    assert_finds(RING "tma load reads a writes x[0]\ntma load reads a writes x[2]\ndrain all\n",
                 SPAD_FINDING_RACE,
                 "load may write 'x[2]' over 'x[0]' while load still writes it: bytes [0, 64) of x "
                 "slot 0",
                 "load writes 'x[0]' here",
                 "nothing orders them: arrive or signal on tma after the first, and wait for that "
                 "before the second"); /* no NVIDIA chip drains a unit */
    assert_finds("kernel k on 910b\nunit mte2 fifo\ntensor a : gm u8 (64) input\n"
                 "tensor x : ub u8 [4] (64) ring 2\n"
                 "mte2 load reads a writes x[0]\nmte2 load reads a writes x[2]\ndrain all\n",
                 SPAD_FINDING_RACE,
                 "load may write 'x[2]' over 'x[0]' while load still writes it: bytes [0, 64) of x "
                 "slot 0",
                 "load writes 'x[0]' here", "nothing orders them: `drain mte2` between them would");
    assert_finds(RING "tma load reads a writes x[0] signals c\nsimt use reads x[0]\n"
                      "wait c >= 1\n",
                 SPAD_FINDING_RACE,
                 "use may read 'x[0]' before load has written it: bytes [0, 64) of x slot 0", NULL,
                 "nothing orders them: the second must come after a wait for what it delivers, "
                 "arrives at or signals");
    assert_finds(RING "tma load reads a writes x[0]\nsimt use reads x[0]\ndrain all\n",
                 SPAD_FINDING_RACE,
                 "use may read 'x[0]' before load has written it: bytes [0, 64) of x slot 0", NULL,
                 "nothing orders them: arrive or signal on tma after the first, and wait for that "
                 "before the second");
    /* a ring that is one slot short: where it is declared, and how many it takes */
    spad_check *check = check_text(
        "kernel k on sm_90\nparam N = 8\nunit tma on copy free proxy\n"
        "mbarrier full[3] count 1\nmbarrier empty[3] count 1\n"
        "tensor a : global u8 [N] (64) input\ntensor x : shared u8 [N] (64) ring 2\n"
        "tensor o : global u8 [N] (64) output\n"
        "for s in 0..3 { init full[s]; init empty[s] }\nfence\n"
        "agent p { for k in 0..N { wait empty[k % 3] parity (k / 3 + 1) % 2\n"
        "arrive full[k % 3] expect 64; tma load reads a[k] writes x[k] delivers full[k % 3] } }\n"
        "agent q { for k in 0..N { wait full[k % 3] parity k / 3 % 2\n"
        "simt use reads x[k] writes o[k]; arrive empty[k % 3] } }\n");
    const spad_finding *f = spad_check_get_finding(check, 0);
    assert_int_equal(f->code, SPAD_FINDING_RACE);
    assert_int_equal(f->note_count, 4);
    assert_string_equal(f->notes[2].message,
                        "x has 2 slots for 8 tiles: 'x[2]' and 'x[0]' are in the same place");
    assert_string_equal(f->notes[3].message, "with 3 slots here the kernel is right");
    assert_int_equal(f->notes[3].line, 7);
    spad_check_destroy(check);
    assert_finds(
        RING "agent p { simt fill writes x[0]; signal c relaxed }\n"
             "agent q { wait c >= 1; simt use reads x[0] }\n",
        SPAD_FINDING_RACE,
        "use (q) may read 'x[0]' before fill (p) has written it: bytes [0, 64) of x slot 0",
        "fill (p) writes 'x[0]' here",
        "they run one after the other, but a relaxed statement is all that orders them, "
        "and it orders no memory");
}

/* The sentence follows the tiles, whichever access is first in the run of the check. */
static void test_race_stories(void **unused) {
    (void)unused;
    /* too early: the read comes first in the run */
    assert_finds(
        RING "agent p { simt use reads x[0] }\nagent q { simt fill writes x[0] }\n",
        SPAD_FINDING_RACE,
        "use (p) may read 'x[0]' before fill (q) has written it: bytes [0, 64) of x slot 0",
        "fill (q) writes 'x[0]' here",
        "nothing orders them: let p wait for something before it, and let q arrive or "
        "signal there after it");
    /* overwriting: the write comes first in the run */
    assert_finds(
        RING "agent p { simt one writes x[0]; signal c; simt two writes x[2] }\n"
             "agent q { wait c >= 1; simt use reads x[0] }\n",
        SPAD_FINDING_RACE,
        "two (p) may write 'x[2]' over 'x[0]' while use (q) still reads it: bytes [0, 64) of "
        "x slot 0",
        "use (q) reads 'x[0]' here",
        "nothing orders them: let p wait for something before it, and let q arrive or "
        "signal there after it");
    /* a tile that is written again: a later iteration comes too early, not the read too late */
    assert_finds(RING "agent p { for k in 0..2 { simt fill writes x[0]; signal c } }\n"
                      "agent q { for k in 0..2 { wait c >= k + 1; simt use reads x[0] } }\n",
                 SPAD_FINDING_RACE,
                 "fill of iteration k = 1 (p) may write 'x[0]' while use of iteration k = 0 (q) "
                 "still reads it: bytes [0, 64) of x slot 0",
                 "use of iteration k = 0 (q) reads 'x[0]' here", NULL);
    /* two writes of one tile, and of two */
    assert_finds(
        RING "agent p { simt one writes x[0] }\nagent q { simt two writes x[0] }\n",
        SPAD_FINDING_RACE,
        "two (q) may write 'x[0]' while one (p) still writes it: bytes [0, 64) of x slot 0",
        "one (p) writes 'x[0]' here", NULL);
    assert_finds(
        RING "agent p { simt one writes x[1] }\nagent q { simt two writes x[3] }\n",
        SPAD_FINDING_RACE,
        "two (q) may write 'x[3]' over 'x[1]' while one (p) still writes it: bytes [0, 64) "
        "of x slot 1",
        NULL, NULL);
    /* an accumulator is read as well */
    assert_finds(
        RING "agent p { simt clear writes x[0] }\nagent q { simt add updates x[0] }\n",
        SPAD_FINDING_RACE,
        "add (q) may read 'x[0]' before clear (p) has written it: bytes [0, 64) of x slot 0", NULL,
        NULL);
    /* other names: a view of the tile, and a tensor of its own in its bytes */
    assert_finds(RING "tensor v : shared u8 [4] (32) alias of x\n"
                      "agent p { simt fill writes x[0] }\nagent q { simt use reads v[0] }\n",
                 SPAD_FINDING_RACE,
                 "use (q) may read 'v[0]' before fill (p) has written 'x[0]', which has the same "
                 "bytes: bytes [0, 32) of x slot 0",
                 "fill (p) writes 'x[0]' here", NULL);
    assert_finds(
        RING "tensor y : shared u8 [4] (32) alias of x\nsimt fill writes x[0]\n"
             "agent p { simt use reads x[0] }\nagent q { simt other writes y[0] }\n",
        SPAD_FINDING_RACE,
        "other (q) may write 'y[0]' over 'x[0]' while use (p) still reads it: bytes [0, 32) "
        "of x slot 0",
        "use (p) reads 'x[0]' here", NULL);
    /* lives */
    assert_finds(RING "agent p { alloc x[0] }\nagent q { simt fill writes x[0] }\nfree x[0]\n",
                 SPAD_FINDING_FREE_IN_USE,
                 "fill (q) may use 'x[0]' before alloc x (p): bytes [0, 64) of x slot 0",
                 "alloc x (p) makes alive 'x[0]' here", NULL);
    assert_finds(RING "alloc x[0]\nagent p { free x[0] }\nagent q { simt fill writes x[0] }\n",
                 SPAD_FINDING_FREE_IN_USE,
                 "free x (p) may come while fill (q) still uses 'x[0]': bytes [0, 64) of x slot 0",
                 "fill (q) uses 'x[0]' here", NULL);
}

/* What is missing at a wait that never ends. */
static void test_waits_without_end(void **unused) {
    (void)unused;
    static const char head[] = "kernel k on sm_90\nunit tma on copy free proxy\n"
                               "mbarrier m count 1\ntensor a : global u8 (64) input\n"
                               "tensor x : shared u8 (64)\ninit m\nfence\n%s"
                               "wait m parity 0\nsimt use reads x\n";
    char text[1024];
    snprintf(text, sizeof text, head, "arrive m expect 32\ntma load reads a writes x delivers m\n");
    assert_finds(text, SPAD_FINDING_DEADLOCK,
                 "wait m never ends: phase 0 of m needs 32 bytes and gets 64", NULL, NULL);
    snprintf(text, sizeof text, head, "expect m by 96\ntma load reads a writes x delivers m\n");
    assert_finds(
        text, SPAD_FINDING_DEADLOCK,
        "wait m never ends: m is in phase 0, which lacks 1 of 1 arrivals and 32 bytes; let "
        "the main program arrive at m on tma after load",
        "the main program waits for it here", NULL);
    /* the count of what is not initialised says nothing */
    spad_check *check = check_text("kernel k on sm_90\nmbarrier m count 1\narrive m\n"
                                   "wait m parity 0\n");
    assert_non_null(find(check, SPAD_FINDING_MBARRIER_LIFE));
    assert_null(find(check, SPAD_FINDING_MIXED_PHASES));
    spad_check_destroy(check);
    /* two laps too many: it is not the arrivals that lack */
    assert_finds("kernel k on sm_90\nmbarrier m count 1\nbarrier b count 2\ninit m\n"
                 "agent p { arrive m; arrive m; sync b }\n"
                 "agent q { sync b; wait m parity 0; wait m parity 1 }\n",
                 SPAD_FINDING_LAPPED_WAIT,
                 "wait m (q) comes when phase 1 of m is complete, and then waits for the one after "
                 "it; let an arrival of that phase wait for it",
                 NULL, NULL);
    assert_finds("kernel k on sm_90\nunit tma on copy free proxy\nmbarrier m count 1\n"
                 "tensor a : global u8 (64) input\ntensor x : shared u8 [2] (64)\ninit m\nfence\n"
                 "arrive m\ntma load reads a writes x[0] delivers m\nexpect m by 64\n"
                 "arrive m\ntma load reads a writes x[1] delivers m\nexpect m by 64\n",
                 SPAD_FINDING_MIXED_PHASES,
                 "load may come before phase 1 of m is complete, and would count for it; let it "
                 "wait for that first, or check the count",
                 NULL, NULL);
}

/* A ring with the parities of its two waits. */
static spad_check *check_parities(const char *empty, const char *full) {
    char text[2048];
    snprintf(
        text, sizeof text,
        "kernel k on sm_90\nparam S = 3\nparam N = 9\nunit tma on copy free proxy\n"
        "mbarrier full[S] count 1\nmbarrier empty[S] count 1\n"
        "tensor a : global u8 [N] (64) input\ntensor x : shared u8 [N] (64) ring S\n"
        "tensor o : global u8 [N] (64) output\n"
        "for s in 0..S { init full[s]; init empty[s] }\nfence\n"
        "agent p { for k in 0..N {\n"
        "wait empty[k %% S] parity %s\n"
        "arrive full[k %% S] expect 64; tma load reads a[k] writes x[k] delivers full[k %% S]\n"
        "} }\n"
        "agent q { for k in 0..N {\n"
        "wait full[k %% S] parity %s\n"
        "simt use reads x[k] writes o[k]; arrive empty[k %% S]\n"
        "} }\n",
        empty, full);
    return check_text(text);
}

/* A finding of that code has a note with that text at that line. */
static void assert_hint(const char *empty, const char *full, spad_finding_code code, int line,
                        const char *hint) {
    spad_check *check = check_parities(empty, full);
    bool found = false;
    for (size_t i = 0; i < spad_check_finding_count(check); i++) {
        const spad_finding *f = spad_check_get_finding(check, i);
        for (size_t n = 0; n < f->note_count; n++) {
            found = found || (f->code == code && f->notes[n].line == line &&
                              strcmp(f->notes[n].message, hint) == 0);
        }
    }
    if (!found) print_findings(check);
    assert_true(found);
    spad_check_destroy(check);
}

static void test_parity_hints(void **unused) {
    (void)unused;
    static const char passes[] = "(k / S + 1) % 2";
    static const char waits[] = "k / S % 2";
    static const char full_hint[] = "with parity k / S % 2 here the kernel is right";
    static const char empty_hint[] =
        "with parity (k / S + 1) % 2 here the kernel is right; it passes immediately in the first "
        "round";
    spad_check *check = check_parities(passes, waits);
    assert_int_equal(spad_check_get_counts(check).errors, 0);
    spad_check_destroy(check);
    assert_hint(passes, passes, SPAD_FINDING_STALE_PARITY, 17, full_hint);
    assert_hint(waits, waits, SPAD_FINDING_DEADLOCK, 13, empty_hint);
    assert_hint(passes, "0", SPAD_FINDING_LAPPED_WAIT, 17, full_hint);
    assert_hint("1", waits, SPAD_FINDING_DEADLOCK, 13, empty_hint);
    assert_hint(passes, "k % 2", SPAD_FINDING_DEADLOCK, 17, full_hint);
    /* both: the order of the two is the other way round, so that nothing has been loaded */
    assert_hint(waits, passes, SPAD_FINDING_UNINITIALISED_READ, 17,
                "with parity k / S % 2 here and the parity of the note before the kernel is right");
    assert_hint(
        waits, passes, SPAD_FINDING_UNINITIALISED_READ, 13,
        "with parity (k / S + 1) % 2 here and the parity of the next note the kernel is right; it "
        "passes immediately in the first "
        "round");
    /* outside of loops, and in two */
    assert_finds(
        "kernel k on sm_90\nmbarrier m count 1\ntensor x : shared u8 (64)\ninit m\n"
        "agent p { simt fill writes x; arrive m }\n"
        "agent q { wait m parity 1; simt use reads x }\n",
        SPAD_FINDING_STALE_PARITY,
        "wait m (q) passes immediately if it comes before phase 0 of m is complete, and waits "
        "for phase 1 if it comes later: with parity 1 it does not wait for phase 0",
        "with parity 0 here the kernel is right", NULL);
    assert_finds(
        "kernel k on sm_90\nmbarrier m count 1\nbarrier b count 2\n"
        "tensor x : shared u8 (64)\ninit m\n"
        "agent p { for t in 0..2 { for k in 0..3 { simt fill writes x; arrive m; sync b } "
        "} }\n"
        "agent q { for t in 0..2 { for k in 0..3 { wait m parity k % 2; simt use reads x; "
        "sync b } } }\n",
        SPAD_FINDING_LAPPED_WAIT,
        "wait m of iteration t = 1, k = 0 (q) may come when phase 3 of m is complete, and "
        "then waits for the one after it; let an arrival of that phase wait for it",
        "with parity n % 2 here (n: waits on the same element before it) the kernel is right",
        NULL);
    /* two of them, in a kernel that has an n: no name twice, and no comma too many */
    check = check_text(
        "kernel k on sm_90\nparam N = 4\nmbarrier full count 1\nmbarrier empty count 1\n"
        "tensor x : shared u8 (64)\ninit full\ninit empty\n"
        "agent p { for t in 0..2 { for n in 0..N { wait empty parity n % 2; simt fill writes x; "
        "arrive full } } }\n"
        "agent q { for t in 0..2 { for n in 0..N { wait full parity (n + 1) % 2; simt use reads x; "
        "arrive empty } } }\n");
    const spad_finding *f = spad_check_get_finding(check, 0);
    assert_true(f->note_count >= 2);
    assert_string_equal(f->notes[f->note_count - 2].message,
                        "with parity (w + 1) % 2 here (w: waits on the same element before it) and "
                        "the parity of the next note the kernel is right; it passes immediately in "
                        "the first round");
    assert_string_equal(f->notes[f->note_count - 1].message,
                        "with parity w % 2 here (w: waits on the same element before it) and the "
                        "parity of the note before the kernel is right");
    spad_check_destroy(check);
}

/* A wait in a queue holds up what comes after it, and does not end what runs before it. */
static void test_waits_in_queues(void **unused) {
    (void)unused;
    static const char head[] = "kernel k on 910b\nunit mte2 %s\nunit vector %s\ncounter c\n"
                               "tensor g : gm f16 (64) input\ntensor x : ub f16 (64)\n"
                               "tensor y : ub f16 (64)\ntensor z : ub f16 (64)\n"
                               "mte2 load reads g writes y\nsignal c on mte2\n"
                               "vector fill writes x\ntake c on vector\n%s"
                               "vector add reads x, y writes z\ndrain all\n";
    char text[1024];
    snprintf(text, sizeof text, head, "fifo", "fifo", "");
    assert_finds(text, SPAD_FINDING_RACE,
                 "add may read 'x' before fill has written it: bytes [0, 128) of x",
                 "fill writes 'x' here", "nothing orders them: `drain vector` between them would");
    snprintf(text, sizeof text, head, "fifo", "fifo", "drain vector\n");
    assert_clean(text);
    snprintf(text, sizeof text, head, "fifo", "serial", "");
    assert_clean(text);
    /* what is signalled after the wait comes after it, and after what runs before it */
    assert_clean("kernel k on 910b\nunit mte2 fifo\nunit vector fifo\nunit mte3 fifo\n"
                 "counter c\ncounter d\ntensor g : gm f16 (64) input\ntensor x : ub f16 (64)\n"
                 "tensor y : ub f16 (64)\ntensor o : gm f16 [2] (64) output\n"
                 "mte2 load reads g writes y\nsignal c on mte2\n"
                 "vector fill writes x\ntake c on vector\nsignal d on vector\n"
                 "take d on mte3\nmte3 store reads x writes o[0]\nmte3 store reads y writes o[1]\n"
                 "drain all\n");
}

static void test_other_messages(void **unused) {
    (void)unused;
    assert_finds(RING "alloc x\ntma load reads a writes x[0] in g\ncommit g\nfree x\n"
                      "wait g pending 0\n",
                 SPAD_FINDING_FREE_IN_USE,
                 "free x may come while load still uses 'x[0]': bytes [0, 64) of x slot 0",
                 "load uses 'x[0]' here", NULL);
    assert_finds(RING "agent p { wait c >= 2 }\nagent q { signal c }\n", SPAD_FINDING_DEADLOCK,
                 "wait c (p) never ends: c has 1, and 2 is needed", NULL, NULL);
    assert_finds(RING "agent p { sync b }\nagent q { signal c }\n", SPAD_FINDING_DEADLOCK,
                 "sync b (p) never ends: b has 1 of 2 contributions", NULL, NULL);
    assert_finds(RING "init m\narrive m expect 64\nwait m parity 0\n", SPAD_FINDING_DEADLOCK,
                 "wait m never ends: phase 0 of m needs 64 bytes and gets 0", NULL, NULL);
    assert_finds(RING "arrive m\n", SPAD_FINDING_MBARRIER_LIFE,
                 "arrive m finds m not initialised; put its init before it, and order the two",
                 NULL, NULL);
    assert_finds(RING "init m\ninit m\n", SPAD_FINDING_MBARRIER_LIFE,
                 "init m finds m in use; invalidate it before it is initialised again", NULL, NULL);
    assert_finds(RING "init m\narrive m drop\n", SPAD_FINDING_MBARRIER_LIFE,
                 "arrive m leaves no arrivals for m", NULL, NULL);
    assert_finds(RING "init m\nagent p { arrive m }\nagent q { invalidate m }\n",
                 SPAD_FINDING_MBARRIER_LIFE, "arrive m (p) may come when m is already invalidated",
                 "invalidate m (q)", NULL);
    assert_finds(RING "agent p { arrive b; arrive b }\n", SPAD_FINDING_BARRIER_COUNT,
                 "arrive b (p) arrives at b a second time before it is complete", NULL, NULL);
    assert_finds(RING "agent p { sync b by 3 }\n", SPAD_FINDING_BARRIER_COUNT,
                 "sync b (p) contributes more to b than its count of 2", NULL, NULL);
    assert_finds(RING "init m\narrive m by 2 expect 4\n", SPAD_FINDING_MIXED_PHASES,
                 "m has 2 arrivals a lap, count 1; with count 2 the kernel is right",
                 "2 by arrive m", "arrive m contributes more to m than its count of 1");
    assert_finds(RING "init m count 3\narrive m by 4\n", SPAD_FINDING_MIXED_PHASES,
                 "m has 4 arrivals a lap, count 3; with count 4 the kernel is right",
                 "4 by arrive m", "arrive m contributes more to m than its count of 3");
    assert_finds(RING "agent p { arrive b }\n", SPAD_FINDING_LEFTOVER,
                 "b ends with 1 of 2 contributions to a round that is never completed", NULL, NULL);
    /* reused from tile to tile: the last arrival is for one that does not come */
    spad_check *check =
        check_text("kernel k on sm_90\nbarrier left count 2\nbarrier right count 2\n"
                   "mbarrier m count 1\ntensor x : shared u8 (64)\ninit m\n"
                   "agent p { for t in 0..3 { if t > 0 { sync left } simt fill writes x; "
                   "arrive right } }\n"
                   "agent q { for t in 0..3 { sync right; simt use reads x; arrive left } "
                   "arrive m; wait m parity 0 }\n");
    assert_null(find(check, SPAD_FINDING_LEFTOVER));
    spad_check_destroy(check);
    /* the first turn is given in front of a loop, which this shape does not run; an arrival without
     * such a loop is still one too many */
#define TURNS(trips, more)                                                             \
    "kernel k on sm_90\nbarrier turn count 2\nmbarrier m count 2\nbarrier b count 2\n" \
    "tensor x : shared u8 (64)\ninit m\nagent p { arrive turn; arrive m; " more        \
    " for n in 0.." trips " { simt w writes x; arrive m } }\n"                         \
    "agent q { for n in 0.." trips " { if n % 2 == 0 { sync turn } } }\n"
    static const char *const turns[] = {TURNS("0", ""), TURNS("1", ""), TURNS("0", "arrive b;")};
    for (size_t i = 0; i < 3; i++) {
        check = check_text(turns[i]);
        assert_int_equal(find(check, SPAD_FINDING_LEFTOVER) != NULL, i == 2);
        spad_check_destroy(check);
    }
#undef TURNS
    assert_finds(RING "init m\nexpect m by 8\n", SPAD_FINDING_LEFTOVER,
                 "m ends with a phase that lacks 1 of 1 arrivals and 8 bytes", NULL, NULL);
    assert_finds(
        RING "signal c by 2\ntake c\n", SPAD_FINDING_LEFTOVER,
        "c ends at 1 and started at 0; every signal needs a take, or the next kernel finds "
        "what is left",
        NULL, NULL);
    static const char *const announced[] = {
        "kernel k on sm_90\nunit tma on copy free proxy\nmbarrier full count 1\n"
        "tensor a : global f32 (64) input\ntensor x : shared f32 (64) output\ninit full\nfence\n"
        "arrive full expect 256\ntma load reads a writes x delivers full\n",
        "kernel k on 910b\nunit mte2 fifo\ncounter c\ntensor a : gm f32 (64) input\n"
        "tensor x : ub f32 (64) output\nmte2 load reads a writes x\nsignal c on mte2\n",
        "kernel k on 910b\nunit mte2 fifo\ntensor a : gm f32 (64) input\n"
        "tensor x : ub f32 (64) output\nmte2 load reads a writes x\ndrain mte2\n"};
    for (size_t i = 0; i < sizeof announced / sizeof announced[0]; i++) {
        assert_finds(announced[i], SPAD_FINDING_UNFINISHED,
                     i == 0 ? "nothing waits until load is done with x; the block may end before "
                              "it, and its memory goes to another block: wait for it"
                            : "nothing waits until load is done with x; the kernel may end before "
                              "it",
                     NULL, NULL);
    }
    assert_clean("kernel k on 910b\nunit mte2 fifo\ncounter c\ntensor a : gm f32 (64) input\n"
                 "tensor x : ub f32 (64) output\nmte2 load reads a writes x\nsignal c on mte2\n"
                 "wait c >= 1\n");
    /* a copy of the threads into their own block, which nobody reads, does no harm */
    assert_finds(RING "tma load reads a writes x[0] in g\n", SPAD_FINDING_UNFINISHED,
                 "load writes x, and nothing waits for it or reads that: leave it out", NULL, NULL);
}

/* A phase that completes too early: the copy may still run at the end, and it is a race as well.
 * The first of them says what to change, and the other one is not lost. */
static void test_races_stay_beside_ends(void **unused) {
    (void)unused;
    spad_check *check =
        check_text("kernel k on sm_90\nunit tma on copy free\nmbarrier full count 1\n"
                   "tensor a : global u8 (64) input\ntensor o : global u8 (64) output\n"
                   "tensor x : shared u8 (64)\ninit full\narrive full\n"
                   "tma load reads a writes x delivers full\nwait full parity 0\n"
                   "simt use reads x writes o\n");
    bool race = false;
    for (size_t i = 0; i < spad_check_finding_count(check); i++) {
        race |= spad_check_get_finding(check, i)->code == SPAD_FINDING_RACE;
    }
    assert_true(race);
    const spad_finding *first = spad_check_get_finding(check, 0);
    assert_int_equal(first->code, SPAD_FINDING_UNFINISHED);
    assert_true(first->note_count > 0);
    const spad_note *last = &first->notes[first->note_count - 1];
    assert_string_equal(last->message, "with 64 bytes expected here the kernel is right");
    assert_int_equal(last->line, 8);
    spad_check_destroy(check);
}

/* Whether the block waits is decided for all executions: an operation that only another one on its
 * unit follows is not waited for, nor is one whose signal another signal can stand for. */
static void test_what_waits_for_the_end(void **unused) {
    (void)unused;
    static const struct {
        const char *rest;
        bool waits;
    } ends[] = {
        {"up one reads x writes o\nup two reads o writes p\n", false},
        {"up one reads x writes o\nup two reads o writes p\ndrain up\n", false},
        {"up one reads x writes o\nup two reads o writes p\ndrain all\n", true},
        {"up one reads x writes o signals c\nsignal c\nwait c >= 1\n", false},
        {"up one reads x writes o signals c\nsignal c\nwait c >= 2\n", true},
        {"up one reads x writes o in g\ncommit g\nwait g pending 1 reads\n", false},
        {"up one reads x writes o in g\ncommit g\nwait g pending 0 reads\n", true},
    };
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) {
        char text[600];
        snprintf(text, sizeof text,
                 "kernel k on sm_90\nunit up on copy fifo\ncounter c\ngroup g\n"
                 "tensor x : shared f32 (64) input\ntensor o : global f32 (64)\n"
                 "tensor p : global f32 (64) output\nsimt first reads x\n%s",
                 ends[i].rest);
        spad_kernel *kernel = test_parse(text);
        spad_check *check;
        spad_error error;
        bool found = false;
        assert_ok(spad_check_create(&check, kernel, NULL, &error), &error);
        for (size_t f = 0; f < spad_check_finding_count(check); f++) {
            found |= spad_check_get_finding(check, f)->code == SPAD_FINDING_UNFINISHED;
        }
        if (found == ends[i].waits) print_error("%s", text);
        assert_int_equal(found, !ends[i].waits);
        spad_check_destroy(check);
        spad_kernel_destroy(kernel);
    }
}

/* Bytes that are not expected: they keep a phase open forever, or find it complete. */
static void test_bytes_that_nobody_expects(void **unused) {
    (void)unused;
    static const char *const mixed[] = {
        /* all of it too much; the wait passes or never ends */
        BYTES "agent p { simt op reads x delivers m by 4 }\n"
              "agent q { arrive m; wait m parity 1 }\n",
        /* a part of it: the last four; the last twelve */
        BYTES "agent p { simt op reads x delivers m by 8; simt op reads x delivers m by 4 }\n"
              "agent q { arrive m expect 8 }\n",
        BYTES "agent p { simt op reads x delivers m by 8; simt op reads x delivers m by 4 }\n"
              "agent q { arrive m expect 4 }\n"
              "agent r { simt op reads x delivers m by 4 }\n",
        /* of an earlier life */
        BYTES "agent p { simt op reads x delivers m by 4 }\nagent q { arrive m }\n"
              "invalidate m\ninit m\narrive m\nwait m parity 0\n",
        /* the arrival and the bytes of one operation: they come one after the other */
        BYTES "agent p { simt op reads x delivers m by 4 }\n"
              "agent q { simt op reads x arrives m delivers m by 4 }\n",
        /* many */
        BYTES "agent p { for i in 0..20 { simt op reads x delivers m by 4 } }\n"
              "agent q { arrive m expect 40 }\n",
    };
    for (size_t i = 0; i < sizeof mixed / sizeof mixed[0]; i++) {
        spad_check *check = check_text(mixed[i]);
        if (find(check, SPAD_FINDING_MIXED_PHASES) == NULL) print_error("%s", mixed[i]);
        assert_non_null(find(check, SPAD_FINDING_MIXED_PHASES));
        spad_check_destroy(check);
    }
    assert_finds(mixed[0], SPAD_FINDING_MIXED_PHASES,
                 "op (p) may come before phase 0 of m is complete or after it: 4 bytes more are "
                 "delivered than expected; expect them, or check the amounts",
                 NULL, NULL);
    /* never complete, in whatever order */
    static const char *const open[] = {
        BYTES "simt op reads x delivers m by 4\narrive m\nwait m parity 1\n",
        BYTES "agent p { simt op reads x delivers m by 8 }\nagent q { arrive m expect 4 }\n",
        BYTES "agent p { simt op reads x delivers m by 4; simt op reads x delivers m by 8 }\n"
              "agent q { arrive m expect 8 }\n",
        BYTES "agent p { simt op reads x delivers m by 4; arrive m }\n"
              "agent q { simt op reads x delivers m by 2 }\n",
        "kernel k on sm_90\nmbarrier m count 2\ntensor x : shared u8 (64) input\ninit m\n"
        "agent p { simt op reads x arrives m delivers m by 4 }\n"
        "agent q { simt op reads x arrives m delivers m by 4 }\n",
    };
    for (size_t i = 0; i < sizeof open / sizeof open[0]; i++) {
        spad_check *check = check_text(open[i]);
        if (find(check, SPAD_FINDING_MIXED_PHASES) != NULL) print_error("%s", open[i]);
        assert_null(find(check, SPAD_FINDING_MIXED_PHASES));
        assert_non_null(find(check, SPAD_FINDING_LEFTOVER));
        spad_check_destroy(check);
    }
    /* bytes may come before they are expected */
    assert_clean(BYTES "agent p { simt op reads x delivers m by 4 }\n"
                       "agent q { expect m by 4; arrive m; wait m parity 0 }\n");
}

/* Bytes may be expected when all have arrived, as long as others are missing. */
static void test_late_expectations(void **unused) {
    (void)unused;
    /* the other bytes are delivered later */
    assert_clean(BYTES
                 "agent p { arrive m expect 8; expect m by 4; simt op reads x delivers m by 8;"
                 " simt op reads x delivers m by 4; wait m parity 0 }\n");
    /* by an agent that comes later */
    assert_clean(BYTES "counter c\nagent p { arrive m expect 8; expect m by 4; signal c }\n"
                       "agent q { wait c >= 1; simt op reads x delivers m by 8 }\n"
                       "agent r { simt op reads x delivers m by 4 }\n");
    static const char *const late[] = {
        /* the others may be there already */
        BYTES "unit u on simt free\n"
              "agent p { arrive m expect 8; u op reads x delivers m by 8; expect m by 4;"
              " simt op reads x delivers m by 4 }\n",
        BYTES "agent p { arrive m expect 8; expect m by 4; simt op reads x delivers m by 4 }\n"
              "agent q { simt op reads x delivers m by 8 }\n",
        /* too many are */
        BYTES "simt op reads x delivers m by 8\narrive m expect 4\nexpect m by 8\n",
        /* one of many */
        BYTES "agent p { arrive m expect 8; for i in 0..20 { expect m by 4 };"
              " for i in 0..20 { simt op reads x delivers m by 4 } }\n"
              "agent q { simt op reads x delivers m by 8 }\n",
    };
    for (size_t i = 0; i < sizeof late / sizeof late[0]; i++) {
        spad_check *check = check_text(late[i]);
        const bool found = find(check, SPAD_FINDING_LATE_EXPECT) != NULL ||
                           find(check, SPAD_FINDING_MIXED_PHASES) != NULL;
        if (!found) print_error("%s", late[i]);
        assert_true(found);
        spad_check_destroy(check);
    }
    /* a life that ends before all have arrived */
    spad_check *check = check_text("kernel k on sm_90\nmbarrier m count 2\n"
                                   "tensor x : shared u8 (64) input\ninit m\n"
                                   "agent p { arrive m }\nagent q { expect m by 4 }\n"
                                   "invalidate m\n");
    assert_null(find(check, SPAD_FINDING_LATE_EXPECT));
    spad_check_destroy(check);
}

/* A generic read before an async write is a warning: many kernels do without the fence. */
static void test_fence_of_a_read_is_a_warning(void **unused) {
    (void)unused;
    static const char text[] =
        "kernel k on sm_90\nunit tma on copy free proxy\ngroup g\n"
        "tensor a : global u8 (64) input\ntensor x : shared u8 (64) input\n"
        "simt use reads x\ntma load reads a writes x in g\ncommit g\nwait g pending 0\n";
    spad_check *check = check_text(text);
    const spad_finding *finding = find(check, SPAD_FINDING_MISSING_FENCE);
    assert_non_null(finding);
    assert_int_equal(finding->severity, SPAD_SEVERITY_WARNING);
    assert_string_equal(
        finding->message,
        "load accesses bytes [0, 64) of x through the async proxy after use accessed them "
        "through the generic proxy, with no fence in between");
    spad_check_destroy(check);
}

/* Two statements with two conflicts: the worse one is reported, wherever it is found. */
static void test_the_worse_conflict_is_told(void **unused) {
    (void)unused;
    static const char *const texts[] = {
        /* the read shares lower bytes, the write higher ones; and the reverse */
        "kernel k on sm_90\nunit up on simt free proxy\n"
        "tensor y : shared u8 (8) at 71 input\ntensor z : shared u8 (8) at 69 input\n"
        "simt op reads z writes y\nagent a { up op writes z }\n",
        "kernel k on sm_90\nunit up on simt free proxy\n"
        "tensor y : shared u8 (8) at 67 input\ntensor z : shared u8 (8) at 69 input\n"
        "simt op reads z writes y\nagent a { up op writes z }\n",
        /* an earlier iteration reads, a later one writes */
        "kernel k on sm_90\nunit up on simt free proxy\n"
        "tensor z : shared u8 [2] (8) input\ntensor y : shared u8 [2] (8) input\n"
        "barrier b count 2\n"
        "agent p { for i in 0..2 { simt op reads z[i] writes y[i]; sync b; sync b } }\n"
        "agent q { for i in 0..2 { sync b; up op reads y[1] writes z[0]; drain all; sync b } }\n",
    };
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        spad_check *check = check_text(texts[i]);
        const spad_finding *finding = find(check, SPAD_FINDING_MISSING_FENCE);
        if (finding == NULL) print_error("%s", texts[i]);
        assert_non_null(finding);
        assert_int_equal(finding->severity, SPAD_SEVERITY_ERROR);
        spad_check_destroy(check);
    }
    /* a race in the second iteration */
    spad_check *check =
        check_text("kernel k on sm_90\nunit up on simt free proxy\nbarrier b count 2\n"
                   "tensor z : shared u8 [2] (8) input\n"
                   "agent p { for i in 0..2 { simt op reads z[i]; if i == 0 { sync b } } }\n"
                   "agent q { sync b; for i in 0..2 { up op writes z[i] } }\n");
    assert_non_null(find(check, SPAD_FINDING_RACE));
    spad_check_destroy(check);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_race_messages),
        cmocka_unit_test(test_race_stories),
        cmocka_unit_test(test_waits_without_end),
        cmocka_unit_test(test_parity_hints),
        cmocka_unit_test(test_waits_in_queues),
        cmocka_unit_test(test_other_messages),
        cmocka_unit_test(test_races_stay_beside_ends),
        cmocka_unit_test(test_what_waits_for_the_end),
        cmocka_unit_test(test_bytes_that_nobody_expects),
        cmocka_unit_test(test_late_expectations),
        cmocka_unit_test(test_fence_of_a_read_is_a_warning),
        cmocka_unit_test(test_the_worse_conflict_is_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
