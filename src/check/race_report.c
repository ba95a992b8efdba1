/* SPDX-License-Identifier: Apache-2.0
 *
 * The messages about two accesses that clash.
 *
 * The story follows the tiles. Who reads a tile and may meet a write of the same tile reads
 * too early; a write of another tile to those bytes comes too early itself, while the tile is
 * still read. Which of the two came first in the run does not matter for that. So the one that
 * comes too early is the subject of the sentence, and the note says what it must wait for.
 */
#include <stdio.h>
#include <string.h>

#include "base/checked.h"
#include "check/hints.h"
#include "check/live_ranges.h"
#include "check/order_pass.h"
#include "kernel/kernel.h"

/* ---- tiles ------------------------------------------------------------------------- */

/* Is it written under another name only? */
static bool is_view(const spad_kernel *kernel, int64_t tensor) {
    const spad_kernel_tensor *t = spad_kernel_get_tensor(kernel, (size_t)tensor);
    if ((t->flags & SPAD_TENSOR_INPUT) != 0) return false;
    for (size_t i = 0; i < spad__kernel_access_count(kernel); i++) {
        const spad_kernel_access *access = spad_kernel_get_access(kernel, i);
        if (access->tensor == tensor && (access->kind & SPAD_ACCESS_WRITE) != 0) return false;
    }
    return true;
}

static int64_t home_tile_of_access(const spad_kernel *kernel, const spad_walk_access *access) {
    const spad_kernel_tensor *t = spad_kernel_get_tensor(kernel, (size_t)access->tensor);
    return t->mode == SPAD_MODE_ALIAS && t->home_tile >= 0 ? t->home_tile : access->tile;
}

bool spad__same_tile(const spad_kernel *kernel, const spad_walk_access *a,
                     const spad_walk_access *b) {
    if (a->tensor == b->tensor) return a->tile == b->tile && a->life == b->life;
    if (a->home != b->home || home_tile_of_access(kernel, a) != home_tile_of_access(kernel, b))
        return false;
    return is_view(kernel, a->tensor) || is_view(kernel, b->tensor);
}

/* ---- words ------------------------------------------------------------------------- */

static const spad__event *event_of_touch(const spad__clash *c, spad__race_touch touch) {
    return &c->order->events.items.items[touch.event];
}

static const spad_walk_access *access_of(const spad__clash *c, spad__race_touch touch) {
    return &c->order->events.accesses.items[touch.access];
}

static bool reads(const spad__clash *c, spad__race_touch touch) {
    return (access_of(c, touch)->kind & SPAD_ACCESS_READ) != 0;
}

static bool touch_writes(const spad__clash *c, spad__race_touch touch) {
    return (access_of(c, touch)->kind & SPAD_ACCESS_WRITE) != 0;
}

static bool is_life_event(const spad__event *event) {
    return event->kind == SPAD_WALK_ALLOC || event->kind == SPAD_WALK_FREE;
}

/* "bytes [0, 16,384) of sa slot 0", or of a space: the range that covers what two accesses share.
 */
static void describe_bytes(const spad__clash *c, char *field, size_t size) {
    const spad_kernel *kernel = c->order->events.kernel;
    const spad_walk_access *a = access_of(c, c->first);
    const spad_walk_access *b = access_of(c, c->second);
    const spad_kernel_tensor *tensor = spad_kernel_get_tensor(kernel, (size_t)b->tensor);
    const spad_kernel_tensor *home = spad_kernel_get_tensor(kernel, (size_t)b->home);
    const int64_t end_a = a->rect.byte + (a->runs - 1) * a->stride + a->rect.bytes;
    const int64_t end_b = b->rect.byte + (b->runs - 1) * b->stride + b->rect.bytes;
    const spad__figure from = spad__grouped(spad__max(a->rect.byte, b->rect.byte));
    const spad__figure end = spad__grouped(spad__min(end_a, end_b));
    if (b->placed) {
        snprintf(field, size, "bytes [%s, %s) of %s", from.text, end.text,
                 spad_kernel_get_target(kernel)->spaces[tensor->space].name);
    } else if (home->slots > 1) {
        snprintf(field, size, "bytes [%s, %s) of %s slot %lld", from.text, end.text, home->name,
                 (long long)b->slot);
    } else {
        snprintf(field, size, "bytes [%s, %s) of %s", from.text, end.text, home->name);
    }
}

/* One side of a clash in words. */
typedef struct words {
    char event[SPAD__PHRASE_MAX];
    char tile[SPAD__TILE_TEXT_MAX];
} words;

static words words_of_touch(const spad__clash *c, spad__race_touch touch) {
    words w;
    const spad_walk_access *access = access_of(c, touch);
    spad__event_phrase(&c->order->events, event_of_touch(c, touch), w.event);
    spad__tile_text(c->order->events.kernel, access->tensor, access->tile, w.tile, sizeof w.tile);
    return w;
}

/* ---- missing order ----------------------------------------------------------------- */

/* Does an agent bring something to an object? */
static bool contributes_to(const spad__order *o, int32_t agent, int32_t object) {
    for (int32_t i = o->first_action[object]; i < o->first_action[object + 1]; i++) {
        const spad__action *a = &o->graph.actions.items[o->actions[i]];
        const int32_t event = o->graph.points.items[a->point].event;
        const bool brings = a->kind == SPAD__ACTION_ENTER || a->kind == SPAD__ACTION_SIGNAL ||
                            a->kind == SPAD__ACTION_ARRIVE || a->kind == SPAD__ACTION_DELIVER;
        if (brings && o->events.items.items[event].agent == agent) return true;
    }
    return false;
}

/* An object that the agent of y waits for shortly before y, and the agent of x signals; -1. */
static int32_t find_handover(const spad__order *o, const spad__event *x, const spad__event *y,
                             int32_t limit) {
    int tries = 16;
    for (size_t i = o->graph.actions.count; i-- > 0 && tries > 0;) {
        const spad__action *a = &o->graph.actions.items[i];
        const int32_t event = o->graph.points.items[a->point].event;
        const bool waits = a->kind == SPAD__ACTION_LEAVE || a->kind == SPAD__ACTION_WAIT ||
                           a->kind == SPAD__ACTION_TAKE || a->kind == SPAD__ACTION_PARITY;
        if (!waits || a->point >= limit || o->events.items.items[event].agent != y->agent) continue;
        if (contributes_to(o, x->agent, a->object)) return a->object;
        tries--;
    }
    return -1;
}

static const char *agent_name(const spad__order *o, const spad__event *event) {
    if (event->agent == 0) return "the main program";
    return spad_kernel_get_agent(o->events.kernel, (size_t)event->agent)->name;
}

static const char *unit_name(const spad__order *o, const spad__event *event) {
    return spad_kernel_get_unit(o->events.kernel, (size_t)event->unit)->name;
}

/* Where a wait for the end of an operation must stand. */
static void describe_end(const spad__order *o, const spad__event *event, char *field, size_t size) {
    if (event->unit < 0 || event->kind != SPAD_WALK_OPERATION) {
        snprintf(field, size, "after it");
    } else if (event->object >= 0) {
        char group[SPAD__PHRASE_MAX];
        char wait[SPAD__HINT_MAX];
        spad__object_phrase(&o->events, event->object, group);
        spad__hint_group_wait(wait, o->events.kernel, event->unit, group, -1);
        snprintf(field, size, "after a %.*s that covers it", SPAD__HINT_MAX / 2, wait);
    } else if (event->completion_count > 0) {
        snprintf(field, size, "after a wait for what it delivers, arrives at or signals");
    } else {
        snprintf(field, size, "on unit %.60s after it", unit_name(o, event));
    }
}

/* Is there an instruction that waits until a unit has finished all it was given? Only Ascend has
 * one for each pipe; on NVIDIA chips a group or an mbarrier says when an operation is done. */
static bool has_drain(const spad__order *o) {
    return strcmp(spad_kernel_get_target(o->events.kernel)->family, "nvidia") != 0;
}

static void note_same_agent(const spad__order *o, spad_finding *finding, const spad__event *a,
                            const spad__event *b) {
    const bool waited = a->object >= 0 || a->completion_count > 0;
    if (a->unit >= 0 && a->unit == b->unit && has_drain(o)) {
        spad__finding_add_note(finding, "nothing orders them: `drain %s` between them would",
                               unit_name(o, a));
    } else if (a->unit >= 0 && b->unit >= 0 && !waited && has_drain(o)) {
        spad__finding_add_note(
            finding,
            "nothing orders them: signal a counter on %s after the first, and take it "
            "on %s before the second",
            unit_name(o, a), unit_name(o, b));
    } else if (a->unit >= 0 && !waited) {
        spad__finding_add_note(
            finding,
            "nothing orders them: arrive or signal on %s after the first, and wait "
            "for that before the second",
            unit_name(o, a));
    } else {
        char end[SPAD__PHRASE_MAX];
        describe_end(o, a, end, sizeof end);
        spad__finding_add_note(finding, "nothing orders them: the second must come %s", end);
    }
}

/* Threads of one block meet, where they have no object for it: in the words of the language. */
static void note_meeting(spad_finding *finding, const spad_kernel *kernel) {
    if (spad__kernel_get_cluster(kernel) > 1 && !spad__is_up_to_compiler(kernel)) {
        spad__finding_add_note(finding, "nothing orders them: a barrier of the cluster between "
                                        "them (`cluster.sync()`), or an mbarrier, would");
        return;
    }
    switch (spad__speech_of(kernel)) {
    case SPAD__SPEECH_TRITON:
        spad__finding_add_note(finding, "nothing orders them: %s", spad__hint_lowering);
        break;
    case SPAD__SPEECH_TILELANG:
        spad__finding_add_note(finding, "nothing orders them: `T.sync_threads()` between them, or "
                                        "an mbarrier, would");
        break;
    case SPAD__SPEECH_SPAD:
    case SPAD__SPEECH_CUDA:
        spad__finding_add_note(finding, "nothing orders them: `__syncthreads()` between them, or "
                                        "an mbarrier, would");
    }
}

/* Names what `late` must wait for: the end of `early`. */
static void note_missing(const spad__clash *c, spad_finding *finding, spad__race_touch early,
                         spad__race_touch late) {
    const spad__order *o = c->order;
    const spad__event *a = event_of_touch(c, early);
    const spad__event *b = event_of_touch(c, late);
    if (spad__is_up_to_compiler(o->events.kernel)) {
        note_meeting(finding, o->events.kernel);
        return;
    }
    if (a->agent == b->agent) {
        note_same_agent(o, finding, a, b);
        return;
    }
    char end[SPAD__PHRASE_MAX];
    describe_end(o, a, end, sizeof end);
    const int32_t object = find_handover(o, a, b, o->graph.step[late.event]);
    const bool barrier = object >= 0 && o->events.objects.items[object].kind == SPAD_SYNC_BARRIER;
    if ((object < 0 || barrier) && spad__speech_of(o->events.kernel) != SPAD__SPEECH_SPAD) {
        note_meeting(finding, o->events.kernel);
        return;
    }
    if (object >= 0) {
        char name[SPAD__PHRASE_MAX];
        spad__object_phrase(&o->events, object, name);
        spad__finding_add_note(finding,
                               "nothing orders them: %s waits for %s before it, so let %s arrive "
                               "or signal there only %s",
                               agent_name(o, b), name, agent_name(o, a), end);
    } else {
        spad__finding_add_note(finding,
                               "nothing orders them: let %s wait for something before it, and let "
                               "%s arrive or signal there %s",
                               agent_name(o, b), agent_name(o, a), end);
    }
    if (spad__speech_of(o->events.kernel) == SPAD__SPEECH_SPAD &&
        access_of(c, early)->kind == SPAD_ACCESS_UPDATE &&
        access_of(c, late)->kind == SPAD_ACCESS_UPDATE) {
        spad__finding_add_note(finding,
                               "or, where both add atomically, write `adds` for `updates`");
    }
}

/* ---- findings ---------------------------------------------------------------------- */

spad_status spad__find_clash(const spad__clash *c, spad_finding *finding, int32_t late,
                             int32_t early, spad_error *error) {
    const spad__race_touch touches[] = {c->first, c->second};
    bool open = false;
    for (int i = 0; i < 2; i++) {
        if (!spad__clash_may_touch(c, touches[i])) continue;
        const words w = words_of_touch(c, touches[i]);
        spad__finding_add_note(finding, "only the device knows which bytes of %s %s touches",
                               w.tile, w.event);
        open = true;
    }
    if (open) spad__leave_open(c->order->run, finding);
    return spad__order_find(c->order, finding, late, early, error);
}

/* Adds a finding about `late`, which must come after `early`. verb: of `early`. */
static spad_status add_clash(const spad__clash *c, spad_finding *finding, spad__race_touch early,
                             spad__race_touch late, const char *verb, spad_error *error) {
    const spad_kernel *kernel = c->order->events.kernel;
    const words w = words_of_touch(c, early);
    const spad_walk_access *access = access_of(c, late);
    const spad_walk_access *other = access_of(c, early);
    spad__finding_set_names(finding, spad_kernel_get_tensor(kernel, (size_t)access->tensor)->name,
                            spad_kernel_get_tensor(kernel, (size_t)other->tensor)->name);
    spad__finding_add_note(finding, "%s %s %s here", w.event, verb, w.tile);
    if (c->executed) {
        spad__finding_add_note(finding,
                               "they run one after the other, but a relaxed statement is all "
                               "that orders them, and it orders no memory");
    } else {
        note_missing(c, finding, early, late);
    }
    if (access->tensor == other->tensor) {
        spad__note_ring(finding, kernel, access->tensor, access->tile, other->tile);
    }
    const int32_t events[] = {early.event, late.event};
    const spad_status status = spad__add_witness(c->order, finding, events, 2, error);
    if (status != SPAD_OK) return status;
    return spad__find_clash(c, finding, late.event, early.event, error);
}

static const char *verb_of(const spad__clash *c, spad__race_touch touch) {
    if (!touch_writes(c, touch)) return "reads";
    return reads(c, touch) ? "updates" : "writes";
}

/* One access reads a tile, another writes it. */
static spad_status report_too_early(const spad__clash *c, spad__race_touch reader,
                                    spad__race_touch writer, spad_error *error) {
    const words r = words_of_touch(c, reader);
    const words w = words_of_touch(c, writer);
    const bool same = access_of(c, reader)->tensor == access_of(c, writer)->tensor;
    char bytes[SPAD__PHRASE_MAX];
    spad_finding finding;
    describe_bytes(c, bytes, sizeof bytes);
    spad__finding_init(&finding, SPAD_FINDING_RACE, "%s may read %s before %s has written %s%s: %s",
                       r.event, r.tile, w.event, same ? "it" : w.tile,
                       same ? "" : ", which has the same bytes", bytes);
    return add_clash(c, &finding, writer, reader, verb_of(c, writer), error);
}

/* One access writes over what another still reads or writes. */
static spad_status report_overwrites(const spad__clash *c, spad__race_touch victim,
                                     spad__race_touch writer, spad_error *error) {
    const words v = words_of_touch(c, victim);
    const words w = words_of_touch(c, writer);
    const spad_kernel *kernel = c->order->events.kernel;
    const bool same = spad__same_tile(kernel, access_of(c, victim), access_of(c, writer));
    char bytes[SPAD__PHRASE_MAX];
    spad_finding finding;
    describe_bytes(c, bytes, sizeof bytes);
    spad__finding_init(&finding, SPAD_FINDING_RACE, "%s may write %s%s%s while %s still %s it: %s",
                       w.event, w.tile, same ? "" : " over ", same ? "" : v.tile, v.event,
                       verb_of(c, victim), bytes);
    return add_clash(c, &finding, victim, writer, verb_of(c, victim), error);
}

/* `alloc` or `free`, and an access that uses the bytes, or another one of them. */
static spad_status report_life(const spad__clash *c, spad_error *error) {
    const words x = words_of_touch(c, c->first);
    const words y = words_of_touch(c, c->second);
    const bool both =
        is_life_event(event_of_touch(c, c->first)) && is_life_event(event_of_touch(c, c->second));
    const bool frees = event_of_touch(c, c->first)->kind == SPAD_WALK_FREE;
    char bytes[SPAD__PHRASE_MAX];
    spad_finding finding;
    describe_bytes(c, bytes, sizeof bytes);
    if (both) {
        spad__finding_init(&finding, SPAD_FINDING_FREE_IN_USE, "%s may come before %s: %s", y.event,
                           x.event, bytes);
    } else if (is_life_event(event_of_touch(c, c->second))) {
        spad__finding_init(&finding, SPAD_FINDING_FREE_IN_USE,
                           "%s may come while %s still uses %s: %s", y.event, x.event, x.tile,
                           bytes);
    } else if (!frees) {
        spad__finding_init(&finding, SPAD_FINDING_FREE_IN_USE, "%s may use %s before %s: %s",
                           y.event, y.tile, x.event, bytes);
    } else {
        spad__finding_init(&finding, SPAD_FINDING_FREE_IN_USE,
                           "%s may come while %s still uses %s: %s", x.event, y.event, y.tile,
                           bytes);
        return add_clash(c, &finding, c->second, c->first, "uses", error);
    }
    return add_clash(c, &finding, c->first, c->second,
                     both                                         ? "is about"
                     : is_life_event(event_of_touch(c, c->first)) ? "makes alive"
                                                                  : "uses",
                     error);
}

/* Is `a` of a later iteration than `b`? A tile that is written again and again has a new meaning in
 * each iteration. */
static bool is_later(const spad__clash *c, spad__race_touch a, spad__race_touch b) {
    const spad__events *events = &c->order->events;
    int64_t loops[SPAD__LOOPS_DEEP];
    const size_t depths[] = {
        spad__loops_around(events->kernel, event_of_touch(c, a)->statement, loops),
        spad__loops_around(events->kernel, event_of_touch(c, b)->statement, loops)};
    const size_t depth = depths[0] < depths[1] ? depths[0] : depths[1];
    for (size_t i = 0; i < depth; i++) {
        const int64_t left = events->values.items[event_of_touch(c, a)->first_value + i];
        const int64_t right = events->values.items[event_of_touch(c, b)->first_value + i];
        if (left != right) return left > right;
    }
    return false;
}

spad_status spad__report_race(const spad__clash *c, spad_error *error) {
    const spad__race_touch x = c->first;
    const spad__race_touch y = c->second;
    if (is_life_event(event_of_touch(c, x)) || is_life_event(event_of_touch(c, y)))
        return report_life(c, error);
    const spad_kernel *kernel = c->order->events.kernel;
    const bool same = spad__same_tile(kernel, access_of(c, x), access_of(c, y));
    if (!touch_writes(c, x)) {
        return same && !c->fed ? report_too_early(c, x, y, error)
                               : report_overwrites(c, x, y, error);
    }
    if (reads(c, y) && same && !is_later(c, x, y)) return report_too_early(c, y, x, error);
    if (reads(c, y) && same) return report_overwrites(c, y, x, error);
    return touch_writes(c, y) ? report_overwrites(c, x, y, error)
                              : report_overwrites(c, y, x, error);
}

/* The proxy fence for one memory, where the kernel has such fences; NULL: one for all. */
static const char *narrow_fence(const spad_kernel *kernel, size_t space) {
    const spad_target *target = spad_kernel_get_target(kernel);
    bool used = false;
    for (size_t i = 0; i < spad_kernel_statement_count(kernel) && !used; i++) {
        const int64_t fence = spad_kernel_get_statement(kernel, i)->fence;
        used = fence >= 0 && target->fences[fence].kind == SPAD_FENCE_PROXY;
    }
    for (size_t i = 0; i < target->fence_count && used; i++) {
        const spad_fence_rule *rule = &target->fences[i];
        if (rule->kind == SPAD_FENCE_PROXY && (rule->spaces >> space & 1) != 0) return rule->name;
    }
    return NULL;
}

/* Adds a finding about both touches, with the name of the tensor. */
static spad_status add_pair(const spad__clash *c, spad_finding *finding, spad_error *error) {
    const int64_t tensor = access_of(c, c->second)->tensor;
    const spad_kernel *kernel = c->order->events.kernel;
    spad__finding_set_names(finding, spad_kernel_get_tensor(kernel, (size_t)tensor)->name, NULL);
    return spad__find_clash(c, finding, c->second.event, c->first.event, error);
}

spad_status spad__report_fence(const spad__clash *c, spad_error *error) {
    const words x = words_of_touch(c, c->first);
    const words y = words_of_touch(c, c->second);
    const spad_kernel *kernel = c->order->events.kernel;
    const int64_t tensor = access_of(c, c->second)->tensor;
    char bytes[SPAD__PHRASE_MAX];
    spad_finding finding;
    const char *narrow =
        narrow_fence(kernel, spad_kernel_get_tensor(kernel, (size_t)tensor)->space);
    const bool own = spad__speech_of(kernel) == SPAD__SPEECH_SPAD;
    char fence[SPAD__PHRASE_MAX + SPAD__HINT_MAX];
    char words_of_fence[SPAD__HINT_MAX];
    spad__hint_fence(words_of_fence, kernel, own ? NULL : narrow, 0);
    if (own && narrow != NULL) {
        snprintf(fence, sizeof fence, "`fence` or `fence %.40s`", narrow);
    } else {
        snprintf(fence, sizeof fence, "%s", words_of_fence);
    }
    describe_bytes(c, bytes, sizeof bytes);
    spad__finding_init(
        &finding, SPAD_FINDING_MISSING_FENCE,
        "%s accesses %s through the async proxy after %s accessed them through the generic "
        "proxy, with no %s in between",
        y.event, bytes, x.event, own && narrow != NULL ? fence : "fence");
    /* the ISA asks for a fence here too, but many kernels rely on the wait alone */
    if (!touch_writes(c, c->first)) finding.severity = SPAD_SEVERITY_WARNING;
    if (spad__is_up_to_compiler(kernel)) {
        spad__finding_add_note(&finding, "%s", spad__hint_lowering);
    } else {
        spad__finding_add_note(&finding, "add %s after %s, before what the other one waits for",
                               fence, x.event);
    }
    return add_pair(c, &finding, error);
}

spad_status spad__report_writer_fence(const spad__clash *c, spad_error *error) {
    const words x = words_of_touch(c, c->first);
    const words y = words_of_touch(c, c->second);
    char bytes[SPAD__PHRASE_MAX];
    spad_finding finding;
    describe_bytes(c, bytes, sizeof bytes);
    spad__finding_init(&finding, SPAD_FINDING_WRITER_FENCE,
                       "%s accesses %s through the async proxy after %s wrote them; another agent "
                       "fences them, %s does not",
                       y.event, bytes, x.event, agent_name(c->order, event_of_touch(c, c->first)));
    spad__finding_add_note(&finding, "move the fence here, before what the other one waits for");
    return add_pair(c, &finding, error);
}

spad_status spad__report_same_value(const spad__clash *c, spad_error *error) {
    const words x = words_of_touch(c, c->first);
    const words y = words_of_touch(c, c->second);
    char bytes[SPAD__PHRASE_MAX];
    spad_finding finding;
    describe_bytes(c, bytes, sizeof bytes);
    spad__finding_init(&finding, SPAD_FINDING_SAME_VALUE,
                       "%s and %s write %s in either order; both write the same value", x.event,
                       y.event, bytes);
    spad__finding_add_note(&finding, "let one of them write, or order the two");
    return add_pair(c, &finding, error);
}

spad_status spad__report_fence_of(const spad__clash *c, int64_t fence, unsigned when,
                                  spad_error *error) {
    const words x = words_of_touch(c, c->first);
    const words y = words_of_touch(c, c->second);
    const spad_kernel *kernel = c->order->events.kernel;
    const char *rule = spad_kernel_get_target(kernel)->fences[fence].name;
    const bool after = when == SPAD_FENCE_AFTER;
    const spad__event *whose = event_of_touch(c, when == SPAD_FENCE_BEFORE ? c->first : c->second);
    char bytes[SPAD__PHRASE_MAX];
    spad_finding finding;
    describe_bytes(c, bytes, sizeof bytes);
    char fence_words[SPAD__HINT_MAX];
    spad__hint_fence(fence_words, kernel, rule, when);
    spad__finding_init(&finding, SPAD_FINDING_MISSING_FENCE,
                       "%s accesses %s after %s, and no %s of %s comes between", y.event, bytes,
                       x.event, fence_words, agent_name(c->order, whose));
    if (spad__is_up_to_compiler(kernel)) {
        spad__finding_add_note(&finding, "%s", spad__hint_lowering);
    } else if (when == SPAD_FENCE_BEFORE) {
        spad__finding_add_note(&finding,
                               "add %s after %s, before the arrival that the other one waits for",
                               fence_words, x.event);
    } else {
        spad__finding_add_note(&finding, "add %s before %s%s", fence_words, y.event,
                               after ? ", after its wait" : "");
    }
    return add_pair(c, &finding, error);
}
