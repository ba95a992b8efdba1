/* SPDX-License-Identifier: Apache-2.0
 *
 * Lanes of a warp have program counters of their own since Volta: a value goes from one lane to
 * another only over something that both run, such as __syncwarp.
 *
 * Lanes that run both accesses together are no exception: the compiler moves and merges these, as
 * it knows of no other lane.
 *
 * Each word of shared memory remembers its last write by a lane, and the lanes of one warp that
 * have read it since. Each lane remembers when it last ran an instruction that may order lanes: any
 * that synchronises, works across lanes or is a fence counts, whatever its mask is. So what is
 * reported has nothing between the two accesses that could order them.
 *
 * One lane that arrives at an mbarrier, or releases a flag, says nothing about the others: what
 * they did is released up to where they last may have met. So a word that another warp, or a copy,
 * touches after a release that does not reach the last access of a lane to it is reported. Where
 * nothing at all was released, the check of the warps finds the race.
 *
 * Left out: two writes, accesses of less than a word, strong accesses, asynchronous ones of the
 * same warp, lanes of one instruction, and lanes whose guard is not known.
 *
 * Cost: O(words) for each access.
 *
 * Reference: PTX ISA 9.0, sections 8.9.4 (bar.warp.sync orders memory) and 9.7.13.2
 * (bar.warp.sync).
 */
#include "frontend/ptx/run/ptx_warp_races.h"

#include "base/checked.h"
#include "frontend/ptx/run/ptx_async.h"

enum { SHARED_WORD_BYTES = 4 };

typedef struct spad__ptx_shared_word {
    int64_t written; /* step; 0: never */
    int64_t read;    /* of the newest of `readers` */
    uint32_t readers;
    int32_t written_by; /* instructions */
    int32_t read_by;
    int16_t writing_warp;
    int16_t reading_warp;
    uint8_t writer;      /* lane */
    bool written_by_all; /* by the whole warp at once */
    bool read_by_all;
} spad__ptx_shared_word;

void spad__ptx_words_free(const spad__ptx_machine *m, spad__ptx_cta *cta) {
    const size_t words = (size_t)(spad__ptx_all_shared(cta) / SHARED_WORD_BYTES) + 1;
    spad__free(m->host, cta->words, words * sizeof *cta->words);
    cta->words = NULL;
}

void spad__ptx_meet_lanes(const spad__ptx_machine *m, spad__ptx_warp *w, uint32_t lanes) {
    for (; lanes != 0; lanes &= lanes - 1) w->met[spad__ptx_first_lane(lanes)] = m->result->steps;
}

bool spad__ptx_may_release(const spad__ptx_instruction *i) {
    switch (i->op) {
    case SPAD__PTX_OP_BAR_ARRIVE:
    case SPAD__PTX_OP_BAR_CTA_ARRIVE:
    case SPAD__PTX_OP_BAR_CTA_RED:
    case SPAD__PTX_OP_BAR_CTA_SYNC:
    case SPAD__PTX_OP_BAR_RED:
    case SPAD__PTX_OP_BAR_SYNC:
    case SPAD__PTX_OP_BARRIER_ARRIVE:
    case SPAD__PTX_OP_BARRIER_CLUSTER_ARRIVE:
    case SPAD__PTX_OP_BARRIER_CTA_ARRIVE:
    case SPAD__PTX_OP_BARRIER_CTA_RED:
    case SPAD__PTX_OP_BARRIER_CTA_SYNC:
    case SPAD__PTX_OP_BARRIER_RED:
    case SPAD__PTX_OP_BARRIER_SYNC:
    case SPAD__PTX_OP_MBARRIER_ARRIVE:
    case SPAD__PTX_OP_MBARRIER_ARRIVE_DROP:
    case SPAD__PTX_OP_CP_ASYNC_MBARRIER_ARRIVE:
    case SPAD__PTX_OP_TCGEN05_COMMIT:
    case SPAD__PTX_OP_ATOM:
    case SPAD__PTX_OP_RED:
    case SPAD__PTX_OP_EXIT:
    case SPAD__PTX_OP_RET: return true;
    case SPAD__PTX_OP_ST:
        return spad__ptx_has(i, SPAD__PTX_WORD_VOLATILE) ||
               spad__ptx_has(i, SPAD__PTX_WORD_RELAXED) || spad__ptx_has(i, SPAD__PTX_WORD_RELEASE);
    default: return false;
    }
}

void spad__ptx_release_lanes(const spad__ptx_machine *m, spad__ptx_warp *w, uint32_t lanes) {
    for (int lane = 0; lane < SPAD__PTX_LANES; lane++) {
        const int64_t to = (lanes >> lane & 1) != 0 ? m->result->steps : w->met[lane];
        if (to > w->released[lane]) w->released[lane] = to;
    }
    w->released_last = m->result->steps;
    w->releaser = m->at;
}

/* Has nothing that both lanes ran come after a step? */
static bool lanes_are_apart(const spad__ptx_warp *w, int lane, int other, int64_t step) {
    return lane != other && (w->met[lane] <= step || w->met[other] <= step);
}

/* The line of the program, or of the PTX where it has none. */
static int line_of_instruction(const spad__ptx_machine *m, int32_t instruction) {
    const spad__ptx_instruction *i = &m->module->instructions.items[instruction];
    return i->location >= 0 ? (int)m->module->locations.items[i->location].line : (int)i->line;
}

/* Which lanes they are stands in brackets: copies of a line then say the same. */
static void remark_lanes(spad__ptx_machine *m, const spad__ptx_warp *w, int lane, int other,
                         int32_t instruction, const char *what) {
    spad__ptx_remark_at(m, w, SPAD__PTX_LANES_RACE, lane, 0, SHARED_WORD_BYTES,
                        "one %s another one in line %d (lanes %d and %d)", what,
                        line_of_instruction(m, instruction), lane, other);
}

/* Another warp, or a copy, touches a word after the access of a lane of warp `number`: was that
 * released? The remark is at the release: there the __syncwarp is missing. */
static void compare_released(spad__ptx_machine *m, int32_t cta, int number, int lane, int64_t step,
                             int32_t instruction, bool all, const char *what) {
    const spad__ptx_warp *w = &m->warps.items[m->ctas[cta].first_warp + number];
    if (w->released_last <= step || w->released[lane] > step) return;
    const int32_t at = m->at;
    const int then = line_of_instruction(m, at);
    m->at = w->releaser;
    spad__ptx_remark_at(m, w, all ? SPAD__PTX_RELEASE_IN_STEP : SPAD__PTX_LANES_RELEASE, lane, 0,
                        SHARED_WORD_BYTES, "one %s in line %d, and line %d relies on it (lane %d)",
                        what, line_of_instruction(m, instruction), then, lane);
    m->at = at;
}

static void compare_with_writer(spad__ptx_machine *m, int32_t cta,
                                const spad__ptx_shared_word *word) {
    if (word->written > 0)
        compare_released(m, cta, word->writing_warp, word->writer, word->written, word->written_by,
                         word->written_by_all, "writes a word");
}

static void compare_with_readers(spad__ptx_machine *m, int32_t cta,
                                 const spad__ptx_shared_word *word) {
    for (uint32_t rest = word->readers; rest != 0; rest &= rest - 1)
        compare_released(m, cta, word->reading_warp, spad__ptx_first_lane(rest), word->read,
                         word->read_by, word->read_by_all, "reads a word");
}

static void compare_read(spad__ptx_machine *m, spad__ptx_warp *w, spad__ptx_shared_word *word,
                         int lane, bool all) {
    const int64_t now = m->result->steps;
    const bool others = word->writing_warp == w->number && word->written > 0 && word->written < now;
    if (others && lanes_are_apart(w, lane, word->writer, word->written)) {
        remark_lanes(m, w, lane, word->writer, word->written_by, "reads the word written by");
    }
    if (word->writing_warp != w->number) compare_with_writer(m, w->cta, word);
    if (word->reading_warp != w->number || w->met[lane] > word->read) word->readers = 0;
    word->readers |= UINT32_C(1) << lane;
    word->reading_warp = (int16_t)w->number;
    word->read = now;
    word->read_by = m->at;
    word->read_by_all = all;
}

static void compare_write(spad__ptx_machine *m, spad__ptx_warp *w, spad__ptx_shared_word *word,
                          int lane, bool all) {
    const int64_t now = m->result->steps;
    if (word->reading_warp == w->number && word->read < now) {
        for (uint32_t rest = word->readers; rest != 0; rest &= rest - 1) {
            const int other = spad__ptx_first_lane(rest);
            if (!lanes_are_apart(w, lane, other, word->read)) continue;
            remark_lanes(m, w, lane, other, word->read_by, "overwrites the word read by");
            break;
        }
    }
    if (word->reading_warp != w->number) compare_with_readers(m, w->cta, word);
    word->readers = 0;
    word->written = now;
    word->written_by = m->at;
    word->writing_warp = (int16_t)w->number;
    word->writer = (uint8_t)lane;
    word->written_by_all = all;
}

void spad__ptx_compare_lanes(const spad__ptx_touch *t, spad__ptx_machine *m, spad__ptx_warp *w) {
    spad__ptx_cta *cta = &m->ctas[w->cta];
    const bool all = (t->lanes & ~m->maybe) == spad__ptx_live(w);
    if ((t->kind & SPAD__PTX_ATOMIC) != 0 || t->bytes < SHARED_WORD_BYTES) return;
    if (cta->words == NULL) {
        const size_t words = (size_t)(spad__ptx_all_shared(cta) / SHARED_WORD_BYTES) + 1;
        cta->words = spad__new_array(m->host, words, sizeof *cta->words);
        if (cta->words == NULL) {
            (void)spad__ptx_no_memory(m);
            return;
        }
    }
    for (uint32_t rest = t->shared & ~m->maybe; rest != 0; rest &= rest - 1) {
        const int lane = spad__ptx_first_lane(rest);
        const spad__ptx_place *place = &t->places[lane];
        if (place->cta != w->cta || place->offset + t->bytes > spad__ptx_all_shared(cta)) continue;
        for (int64_t n = 0; n < t->bytes / SHARED_WORD_BYTES; n++) {
            spad__ptx_shared_word *word = &cta->words[place->offset / SHARED_WORD_BYTES + n];
            if ((t->kind & SPAD__PTX_WRITE) != 0) {
                compare_write(m, w, word, lane, all);
            } else {
                compare_read(m, w, word, lane, all);
            }
        }
    }
}

static void compare_copied_run(spad__ptx_machine *m, int32_t cta, const spad__ptx_bytes *run,
                               bool writes) {
    spad__ptx_shared_word *words = m->ctas[cta].words;
    const int64_t end = spad__min(run->end, spad__ptx_all_shared(&m->ctas[cta]));
    for (int64_t at = run->begin / SHARED_WORD_BYTES; at * SHARED_WORD_BYTES < end; at++) {
        spad__ptx_shared_word *word = &words[at];
        const int own = m->event.cta == cta ? m->event.warp : -1;
        if (!writes && word->writing_warp != own) compare_with_writer(m, cta, word);
        if (!writes) continue;
        if (word->reading_warp != own) compare_with_readers(m, cta, word);
        *word = (spad__ptx_shared_word){0};
    }
}

void spad__ptx_compare_copy(spad__ptx_machine *m) {
    for (int32_t n = 0; n < m->event.access_count; n++) {
        const spad__ptx_event_access *a = &m->accesses.items[n];
        const bool may = (a->kind & SPAD__PTX_MAY) != 0;
        if (a->tensor_memory || may || m->ctas[a->cta].words == NULL) continue;
        for (int32_t r = 0; r < a->run_count; r++)
            compare_copied_run(m, a->cta, &m->runs.items[a->first_run + r],
                               (a->kind & SPAD__PTX_WRITE) != 0);
    }
}
