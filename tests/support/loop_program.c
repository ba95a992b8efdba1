/* SPDX-License-Identifier: Apache-2.0 */
#include "support/loop_program.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/support.h"

const char *const loop_params[LOOP_PARAMS] = {"T", "N", "M"};

/* ---- text ------------------------------------------------------------------------------ */

typedef struct printer {
    const loop_program *p;
    char *text;
    size_t size, used;
} printer;

SPAD_PRINTF(2, 3) static void say(printer *out, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    out->used += (size_t)vsnprintf(out->text + out->used, out->size - out->used, format, arguments);
    va_end(arguments);
    assert_true(out->used < out->size);
}

static void say_expression(printer *out, int number) {
    static const char *const words[] = {"",    "",    "",    "",    "",     "",    " + ",
                                        " - ", " * ", " / ", " % ", "min(", "max("};
    const loop_node *n = &out->p->nodes[number];
    switch (n->op) {
    case OP_NUMBER: say(out, "%lld", (long long)n->value); return;
    case OP_PARAM: say(out, "%s", loop_params[n->value]); return;
    case OP_VARIABLE: say(out, "v%lld", (long long)n->value); return;
    case OP_STAGE: say(out, "q"); return;
    case OP_PHASE: say(out, "h"); return;
    case OP_UNKNOWN: say(out, "r"); return;
    case OP_MIN:
    case OP_MAX:
        say(out, "%s", words[n->op]);
        say_expression(out, n->left);
        say(out, ", ");
        break;
    default:
        say(out, "(");
        say_expression(out, n->left);
        say(out, "%s", words[n->op]);
    }
    say_expression(out, n->right);
    say(out, ")");
}

static void say_condition(printer *out, const loop_statement *s) {
    static const char *const words[] = {"<", "<=", ">", ">=", "==", "!="};
    for (int i = 0; i < s->comparison_count; i++) {
        const loop_comparison *c = &s->comparisons[i];
        if (i > 0) say(out, c->alternative ? " or " : " and ");
        say_expression(out, c->left);
        say(out, " %s ", words[c->relation]);
        say_expression(out, c->right);
    }
}

static void say_list(printer *out, const int *expressions, int count) {
    say(out, count > 0 ? "[" : "");
    for (int d = 0; d < count; d++) {
        if (d > 0) say(out, ", ");
        say_expression(out, expressions[d]);
    }
    say(out, count > 0 ? "]" : "");
}

static void say_access(printer *out, const loop_statement *s) {
    static const char *const parts[] = {"", "(0..32)", "(32..64)", "(0..64 by 2)", "(1..64 by 2)"};
    say(out, "%s x%d",
        s->async               ? "tma st reads s writes"
        : s->kind == DO_READ   ? "simt ld reads"
        : s->kind == DO_WRITE  ? "simt st writes"
        : s->kind == DO_UPDATE ? "simt up updates"
                               : "simt ad adds",
        s->tensor);
    say_list(out, s->index, out->p->tensors[s->tensor].dims);
    if (s->part.kind == LOOP_ONE) {
        say(out, "(");
        say_expression(out, s->part.at);
        say(out, "..");
        say_expression(out, s->part.at);
        say(out, " + 1)");
    } else {
        say(out, "%s", parts[s->part.kind]);
    }
    say(out, s->async ? " in g\n" : "\n");
}

static void say_statement(printer *out, const loop_statement *s) {
    switch (s->kind) {
    case DO_FOR:
        say(out, "for v%d in ", s->variable);
        say_expression(out, s->begin);
        say(out, "..");
        say_expression(out, s->end);
        if (s->step != 1) say(out, " step %d", s->step);
        say(out, " {\n");
        break;
    case DO_IF:
        say(out, "if ");
        say_condition(out, s);
        say(out, " {\n");
        break;
    case DO_BREAK: say(out, "break\n"); break;
    case DO_END: say(out, "}\n"); break;
    case DO_WRITE:
    case DO_READ:
    case DO_UPDATE:
    case DO_ADD: say_access(out, s); break;
    case DO_ADVANCE: say(out, "advance q\n"); break;
    case DO_COMMIT: say(out, "commit g\n"); break;
    case DO_PENDING:
        say(out, "wait g pending %lld\n", (long long)out->p->nodes[s->amount].value);
        break;
    case DO_SYNC: say(out, "sync both\n"); break;
    case DO_SIGNAL: say(out, "signal c%d\n", s->object); break;
    case DO_TAKE: say(out, "take c%d\n", s->object); break;
    case DO_REACH:
        say(out, "wait c%d >= ", s->object);
        say_expression(out, s->amount);
        say(out, "\n");
        break;
    }
}

static void say_tensor(printer *out, int number) {
    const loop_tensor *t = &out->p->tensors[number];
    say(out, "tensor x%d : %s u8 ", number, t->place == OFF_CHIP ? "global" : "shared");
    say_list(out, t->extent, t->dims);
    say(out, t->place == ALIAS ? " (32) alias of x%d + %d" : " (64)", number - 1, t->byte);
    if (t->place == IN_RING) say(out, " ring %d", t->ring[0]);
    if (t->place == IN_RINGS) {
        say(out, " ring [%d", t->ring[0]);
        for (int d = 1; d < t->dims; d++) say(out, ", %d", t->ring[d]);
        say(out, "]");
    }
    if (t->place == AT_BYTE) say(out, " at %d ring %d", t->byte, t->ring[0]);
    say(out, "\n");
}

static void say_agent(printer *out, int agent) {
    const loop_program *p = out->p;
    if (!p->main) say(out, "agent a%d {\n", agent);
    if (p->cursors[agent] > 0) say(out, "cursor q, h mod %d\n", p->cursors[agent]);
    for (int s = p->first[agent]; s < p->first[agent + 1]; s++)
        say_statement(out, &p->statements[s]);
    if (!p->main) say(out, "}\n");
}

void loop_program_print(const loop_program *p, char *text, size_t size) {
    printer out = {p, text, size, 0};
    say(&out, "kernel loops on sm_90\n");
    for (int i = 0; i < p->params; i++) {
        say(&out, "param %s = %lld%s\n", loop_params[i], (long long)p->given[i],
            i == 0 && p->any ? " any" : "");
    }
    if (p->unknown > 0) say(&out, "unknown r in 0..%d\n", p->unknown);
    if (p->async) say(&out, "unit tma on copy free\ngroup g\ntensor s : shared u8 (64) input\n");
    if (p->barrier_count > 0) say(&out, "barrier both count %d\n", p->barrier_count);
    for (int i = 0; i < p->counters; i++) {
        say(&out, "counter c%d = %lld\n", i, (long long)p->counter_start[i]);
    }
    for (int i = 0; i < p->tensor_count; i++) say_tensor(&out, i);
    for (int a = 0; a < p->agents; a++) say_agent(&out, a);
}

/* ---- evaluation ------------------------------------------------------------------------ */

enum { EVENTS = 6000 };

typedef struct event {
    loop_kind kind;
    bool async;
    int object;
    int64_t amount;
    int64_t content;   /* what it writes or reads: the tensor and the tile */
    int64_t word[2];   /* of 64 bytes */
    uint64_t bytes[2]; /* of each */
    int bundle;        /* of an async write: how many commits before it */
} event;

/* Words of places that are not shared: each tensor has a part of this size. */
static const int64_t own_words = INT64_C(1) << 40;

typedef struct machine {
    const loop_program *p;
    const int64_t *params;
    int64_t variables[LOOP_VARIABLES];
    int64_t extent[LOOP_TENSORS][LOOP_DIMS];
    int64_t stages, unknown; /* how far the cursor has gone; r */
    event *events[LOOP_AGENTS];
    int count[LOOP_AGENTS];
    int commits;
    int agent;
    bool outside, too_long;
} machine;

static int64_t floor_quotient(int64_t a, int64_t b) {
    return a / b - (a % b != 0 && (a < 0) != (b < 0));
}

static int64_t value_of(const machine *m, int number) {
    const loop_node *n = &m->p->nodes[number];
    if (n->op == OP_NUMBER) return n->value;
    if (n->op == OP_PARAM) return m->params[n->value];
    if (n->op == OP_VARIABLE) return m->variables[n->value];
    if (n->op == OP_STAGE) return m->stages % m->p->cursors[m->agent];
    if (n->op == OP_PHASE) return m->stages / m->p->cursors[m->agent] % 2;
    if (n->op == OP_UNKNOWN) return m->unknown;
    const int64_t a = value_of(m, n->left);
    const int64_t b = value_of(m, n->right);
    switch (n->op) {
    case OP_ADD: return a + b;
    case OP_SUB: return a - b;
    case OP_MUL: return a * b;
    case OP_DIV: return floor_quotient(a, b);
    case OP_MOD: return a - b * floor_quotient(a, b);
    case OP_MIN: return a < b ? a : b;
    default: return a > b ? a : b;
    }
}

static bool compares(int64_t left, loop_relation relation, int64_t right) {
    switch (relation) {
    case IS_LESS: return left < right;
    case IS_MOST: return left <= right;
    case IS_MORE: return left > right;
    case IS_LEAST: return left >= right;
    case IS_EQUAL: return left == right;
    default: return left != right;
    }
}

static bool holds(const machine *m, const loop_statement *s) {
    bool some = false;
    bool all = true;
    for (int i = 0; i < s->comparison_count; i++) {
        const loop_comparison *c = &s->comparisons[i];
        if (i > 0 && c->alternative) {
            some = some || all;
            all = true;
        }
        all = all && compares(value_of(m, c->left), c->relation, value_of(m, c->right));
    }
    return some || all;
}

static uint64_t bytes_of(machine *m, loop_part part) {
    switch (part.kind) {
    case LOOP_LOW: return 0xffffffffU;
    case LOOP_HIGH: return ~(uint64_t)0xffffffffU;
    case LOOP_EVEN: return 0x5555555555555555U;
    case LOOP_ODD: return 0xaaaaaaaaaaaaaaaaU;
    case LOOP_ONE: {
        const int64_t at = value_of(m, part.at);
        if (at < 0 || at > 63) m->outside = true;
        return (uint64_t)1 << (at & 63);
    }
    default: return ~(uint64_t)0;
    }
}

/* The byte of a tile. An alias has the extents of its tensor. */
static int64_t byte_of(const loop_program *p, int number, const int64_t *index, int64_t tile) {
    const loop_tensor *t = &p->tensors[number];
    if (t->place == ALIAS) return byte_of(p, number - 1, index, tile) + t->byte;
    int64_t slot = t->place == IN_RING || t->place == AT_BYTE ? tile % t->ring[0] : tile;
    if (t->place == IN_RINGS) {
        slot = 0;
        for (int d = 0; d < t->dims; d++) slot = slot * t->ring[d] + index[d] % t->ring[d];
    }
    return t->place == AT_BYTE ? t->byte + slot * 64 : (own_words * (number + 1) + slot) * 64;
}

static bool is_access(loop_kind kind) {
    return kind == DO_WRITE || kind == DO_READ || kind == DO_UPDATE || kind == DO_ADD;
}

static void find_bytes(machine *m, const loop_statement *s, event *e) {
    const loop_tensor *t = &m->p->tensors[s->tensor];
    int64_t index[LOOP_DIMS];
    int64_t tile = 0;
    for (int d = 0; d < t->dims; d++) {
        const int64_t extent = m->extent[s->tensor][d];
        index[d] = value_of(m, s->index[d]);
        if (index[d] < 0 || index[d] >= extent) m->outside = true;
        tile = tile * extent + index[d];
    }
    if (m->outside) return;
    const int64_t byte = byte_of(m->p, s->tensor, index, tile);
    const uint64_t bytes = t->place == ALIAS ? 0xffffffffU : bytes_of(m, s->part);
    const int64_t shift = byte % 64;
    e->content = own_words * (s->tensor + 1) + tile;
    e->word[0] = byte / 64;
    e->word[1] = e->word[0] + 1;
    e->bytes[0] = bytes << shift;
    e->bytes[1] = shift > 0 ? bytes >> (64 - shift) : 0;
}

static void add_event(machine *m, int agent, const loop_statement *s) {
    if (m->count[agent] == EVENTS) {
        m->too_long = true;
        return;
    }
    event e = {.kind = s->kind, .async = s->async, .object = s->object, .bundle = m->commits};
    if (s->kind == DO_PENDING || s->kind == DO_REACH) e.amount = value_of(m, s->amount);
    if (s->kind == DO_COMMIT) m->commits++;
    if (s->kind == DO_ADVANCE) m->stages++;
    if (is_access(s->kind)) find_bytes(m, s, &e);
    m->events[agent][m->count[agent]++] = e;
}

static int end_of(const loop_program *p, int statement) {
    int depth = 0;
    for (int s = statement;; s++) {
        const loop_kind kind = p->statements[s].kind;
        if (kind == DO_FOR || kind == DO_IF) depth++;
        if (kind == DO_END && --depth == 0) return s;
    }
}

/* True: a break ends the loop around. */
static bool run_body(machine *m, int agent, int from, int to);

static void run_loop(machine *m, int agent, int at, int end) {
    const loop_statement *s = &m->p->statements[at];
    const int64_t begin = value_of(m, s->begin);
    const int64_t last = value_of(m, s->end);
    const int64_t step = s->step;
    for (int64_t v = step > 0 ? begin : last - 1; v >= begin && v < last && !m->too_long;
         v += step) {
        m->variables[s->variable] = v;
        if (run_body(m, agent, at + 1, end)) return;
    }
}

static bool run_body(machine *m, int agent, int from, int to) {
    for (int at = from; at < to && !m->too_long; at++) {
        const loop_statement *s = &m->p->statements[at];
        if (s->kind == DO_BREAK) return true;
        if (s->kind != DO_FOR && s->kind != DO_IF) {
            add_event(m, agent, s);
            continue;
        }
        const int end = end_of(m->p, at);
        if (s->kind == DO_FOR) run_loop(m, agent, at, end);
        if (s->kind == DO_IF && holds(m, s) && run_body(m, agent, at + 1, end)) return true;
        at = end;
    }
    return false;
}

/* ---- order ------------------------------------------------------------------------------ */

/* An event of an agent; agent below 0: none. */
typedef struct place {
    int agent, event;
} event_place;

typedef struct state {
    int at[LOOP_AGENTS];
    int commits[LOOP_AGENTS];
    bool waits[LOOP_AGENTS]; /* at the barrier */
    int64_t counters[LOOP_COUNTERS];
    int arrived;
} state;

/* One event of an agent, unless it is held back or must wait. */
static bool step_agent(const machine *m, state *s, int agent, event_place held) {
    if (s->at[agent] == m->count[agent] || s->waits[agent]) return false;
    const event *e = &m->events[agent][s->at[agent]];
    const bool is_held = held.agent == agent && held.event == s->at[agent];
    switch (e->kind) {
    case DO_WRITE:
    case DO_READ:
    case DO_UPDATE:
    case DO_ADD:
        if (is_held && !e->async) return false;
        break;
    case DO_ADVANCE: break;
    case DO_COMMIT: s->commits[agent]++; break;
    case DO_PENDING:
        if (held.agent == agent && held.event < s->at[agent] &&
            m->events[agent][held.event].bundle < s->commits[agent] - e->amount) {
            return false;
        }
        break;
    case DO_SYNC:
        s->waits[agent] = true;
        if (++s->arrived < m->p->barrier_count) break;
        s->arrived = 0;
        for (int a = 0; a < LOOP_AGENTS; a++) s->waits[a] = false;
        break;
    case DO_SIGNAL: s->counters[e->object]++; break;
    case DO_TAKE:
        if (s->counters[e->object] == 0) return false;
        s->counters[e->object]--;
        break;
    default: /* DO_REACH */
        if (s->counters[e->object] < e->amount) return false;
    }
    s->at[agent]++;
    return true;
}

static void run_all_but(const machine *m, event_place held, state *s) {
    *s = (state){.arrived = 0};
    memcpy(s->counters, m->p->counter_start, sizeof s->counters);
    for (bool moved = true; moved;) {
        moved = false;
        for (int a = 0; a < m->p->agents; a++) {
            while (step_agent(m, s, a, held)) moved = true;
        }
    }
}

static bool has_happened(const state *s, event_place of) {
    return s->at[of.agent] > of.event;
}

static bool is_race(const machine *m, event_place one, event_place two) {
    const event *first = &m->events[one.agent][one.event];
    const event *second = &m->events[two.agent][two.event];
    const bool commute = first->kind == DO_READ || first->kind == DO_ADD;
    if (commute && first->kind == second->kind) return false;
    if (one.agent == two.agent && !first->async) return false;
    state s;
    run_all_but(m, one, &s);
    if (!has_happened(&s, two)) return false;
    run_all_but(m, two, &s);
    return has_happened(&s, one);
}

typedef struct used_word {
    int64_t word;
    uint64_t bytes;
    event_place at;
} used_word;

static int compare_used_words(const void *left, const void *right) {
    const used_word *a = left;
    const used_word *b = right;
    if (a->word != b->word) return a->word < b->word ? -1 : 1;
    if (a->at.agent != b->at.agent) return a->at.agent < b->at.agent ? -1 : 1;
    return a->at.event < b->at.event ? -1 : a->at.event > b->at.event;
}

static size_t list_words(const machine *m, used_word *all) {
    size_t count = 0;
    for (int a = 0; a < m->p->agents; a++) {
        for (int e = 0; e < m->count[a]; e++) {
            const event *x = &m->events[a][e];
            for (int w = 0; w < 2; w++) {
                if (x->bytes[w] != 0) all[count++] = (used_word){x->word[w], x->bytes[w], {a, e}};
            }
        }
    }
    qsort(all, count, sizeof *all, compare_used_words);
    return count;
}

/* Pairs that are asked about, at most. */
enum { PAIRS = 4000 };

static bool has_race(machine *m) {
    used_word *all = malloc(sizeof *all * 2 * EVENTS * LOOP_AGENTS);
    assert_non_null(all);
    const size_t count = list_words(m, all);
    bool found = false;
    int asked = 0;
    for (size_t i = 0; i < count && !found; i++) {
        for (size_t j = i + 1; j < count && all[j].word == all[i].word && !found; j++) {
            if ((all[i].bytes & all[j].bytes) == 0) continue;
            if (asked++ < PAIRS) found = is_race(m, all[i].at, all[j].at);
        }
    }
    m->too_long = asked > PAIRS && !found;
    free(all);
    return found;
}

/* ---- contents ---------------------------------------------------------------------------- */

typedef struct stored_word {
    int64_t word;
    int64_t content[64];
} stored_word;

static int compare_stored_words(const void *left, const void *right) {
    const stored_word *a = left;
    const stored_word *b = right;
    return a->word < b->word ? -1 : a->word > b->word;
}

/* All words that are accessed, with nothing in them. */
static stored_word *new_memory(const machine *m, size_t *size) {
    used_word *all = malloc(sizeof *all * 2 * EVENTS * LOOP_AGENTS);
    assert_non_null(all);
    const size_t count = list_words(m, all);
    stored_word *memory = calloc(count + 1, sizeof *memory);
    assert_non_null(memory);
    *size = 0;
    for (size_t i = 0; i < count; i++) {
        if (i == 0 || all[i].word != all[i - 1].word) memory[(*size)++].word = all[i].word;
    }
    free(all);
    return memory;
}

static bool access_word(stored_word *memory, size_t size, const event *e, int which) {
    const stored_word key = {.word = e->word[which]};
    bool right = true;
    if (e->bytes[which] == 0) return true;
    stored_word *w = bsearch(&key, memory, size, sizeof key, compare_stored_words);
    assert_non_null(w);
    for (int b = 0; b < 64; b++) {
        if ((e->bytes[which] >> b & 1) == 0) continue;
        right = right && w->content[b] == e->content;
        if (e->kind != DO_READ) w->content[b] = e->content;
    }
    return right || e->kind == DO_WRITE;
}

/* In one order that is possible. */
static bool has_stale_read(const machine *m) {
    size_t size;
    stored_word *memory = new_memory(m, &size);
    state s = {.arrived = 0};
    bool right = true;
    memcpy(s.counters, m->p->counter_start, sizeof s.counters);
    for (bool moved = true; moved;) {
        moved = false;
        for (int a = 0; a < m->p->agents; a++) {
            while (step_agent(m, &s, a, (event_place){-1, 0})) {
                const event *e = &m->events[a][s.at[a] - 1];
                moved = true;
                if (!is_access(e->kind)) continue;
                right = access_word(memory, size, e, 0) && right;
                right = access_word(memory, size, e, 1) && right;
            }
        }
    }
    free(memory);
    return !right;
}

/* ---- all --------------------------------------------------------------------------------- */

static bool is_stuck(const machine *m) {
    state s;
    run_all_but(m, (event_place){-1, 0}, &s);
    for (int a = 0; a < m->p->agents; a++) {
        if (s.at[a] < m->count[a] || s.waits[a]) return true;
    }
    return false;
}

static bool has_reads(const loop_program *p) {
    for (int i = 0; i < p->statement_count; i++) {
        if (is_access(p->statements[i].kind) && p->statements[i].kind != DO_WRITE) return true;
    }
    return false;
}

static loop_answer run_machine(machine *m) {
    const loop_program *p = m->p;
    for (int a = 0; a < p->agents; a++) {
        m->commits = m->count[a] = 0;
        m->stages = 0;
        m->agent = a;
        run_body(m, a, p->first[a], p->first[a + 1]);
    }
    if (m->outside) return LOOPS_OUTSIDE;
    if (m->too_long) return LOOPS_TOO_LONG;
    if (is_stuck(m)) return LOOPS_STUCK;
    if (!p->main && has_race(m)) return LOOPS_RACE;
    if (m->too_long) return LOOPS_TOO_LONG;
    return has_reads(p) && has_stale_read(m) ? LOOPS_STALE : LOOPS_RIGHT;
}

loop_answer loop_program_run(const loop_program *p, const int64_t *values) {
    machine *m = calloc(1, sizeof *m);
    assert_non_null(m);
    *m = (machine){.p = p, .params = values};
    for (int t = 0; t < p->tensor_count; t++) {
        for (int d = 0; d < p->tensors[t].dims; d++) {
            m->extent[t][d] = value_of(m, p->tensors[t].extent[d]);
            m->outside = m->outside || m->extent[t][d] < 1;
        }
    }
    for (int a = 0; a < p->agents; a++) {
        m->events[a] = malloc(sizeof *m->events[a] * EVENTS);
        assert_non_null(m->events[a]);
    }
    loop_answer answer = LOOPS_RIGHT;
    for (int64_t r = 0; r < (p->unknown > 0 ? p->unknown : 1) && answer == LOOPS_RIGHT; r++) {
        m->unknown = r;
        answer = run_machine(m);
    }
    for (int a = 0; a < p->agents; a++) free(m->events[a]);
    free(m);
    return answer;
}
