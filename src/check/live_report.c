/* SPDX-License-Identifier: Apache-2.0
 *
 * Findings of the lifetime check: each has the read, its iteration, the bytes, and
 * the write that was there instead, with its place. A finding that was made before is
 * counted without words, so a fault in every iteration costs little.
 */
#include <stdio.h>
#include <string.h>

#include "base/checked.h"
#include "check/live_ranges.h"
#include "kernel/place.h"

/* ---- pieces of sentences ----------------------------------------------------------- */

enum { TILE_MAX = SPAD__TILE_TEXT_MAX, ITERATION_MAX = 72, BYTES_MAX = 384 };

static void append(char *field, size_t size, const char *text) {
    const size_t used = strlen(field);
    spad__copy_cut(field + used, size - used, text);
}

void spad__tile_text(const spad_kernel *k, int64_t number, int64_t tile, char *field, size_t size) {
    const spad_kernel_tensor *tensor = &k->tensors.items[number];
    int64_t index[SPAD_RANK_MAX];
    char piece[32];
    snprintf(field, size, "'%s", tensor->name);
    spad__tile_index(tensor, tile, index);
    for (size_t i = 0; i < tensor->blocks.count; i++) {
        snprintf(piece, sizeof piece, "%s%lld", i == 0 ? "[" : ", ", (long long)index[i]);
        append(field, size, piece);
    }
    append(field, size, tensor->blocks.count > 0 ? "]'" : "'");
}

/* " (i = 3, j = 0)"; values: innermost first. Nothing outside of loops. */
static void iteration_text(const spad_kernel *k, int64_t statement, const int64_t *values,
                           char *field, size_t size) {
    int64_t loops[SPAD__LOOPS_DEEP];
    size_t depth = 0;
    int64_t loop = k->statements.items[statement].loop;
    for (; loop >= 0; loop = k->loops.items[loop].outer) loops[depth++] = loop;
    int64_t outermost_first[SPAD__LOOPS_DEEP];
    for (size_t d = 0; d < depth; d++) outermost_first[depth - 1 - d] = values[d];
    field[0] = '\0';
    for (size_t d = depth; d-- > 0;) {
        char piece[96];
        snprintf(piece, sizeof piece, "%s%s = %lld", d + 1 == depth ? " (" : ", ",
                 k->loops.items[loops[d]].name,
                 (long long)spad__loop_value(k, loops[d], outermost_first));
        append(field, size, piece);
    }
    if (depth > 0) append(field, size, ")");
}

/* The iteration of the event. */
static void now_text(const spad__liveness *live, char *field, size_t size) {
    int64_t values[SPAD__LOOPS_DEEP];
    size_t depth = 0;
    int64_t loop = live->kernel->statements.items[live->statement].loop;
    for (; loop >= 0; loop = live->kernel->loops.items[loop].outer) {
        values[depth++] = live->loop_values[loop];
    }
    iteration_text(live->kernel, live->statement, values, field, size);
}

/* "bytes [0, 512) of lanes [0, 32) of sbuf", or of the slot. */
static void bytes_text(const spad__liveness *live, const spad_walk_access *access, spad_rect part,
                       char *field, size_t size) {
    const spad_space *space =
        &live->kernel->target->spaces[live->kernel->tensors.items[access->tensor].space];
    char lanes[160] = "";
    if (space->lanes > 1) {
        snprintf(lanes, sizeof lanes, " of lanes [%s, %s)", spad__grouped(part.lane).text,
                 spad__grouped(part.lane + part.lanes).text);
    }
    snprintf(field, size, "bytes [%s, %s)%s of %s", spad__grouped(part.byte).text,
             spad__grouped(part.byte + part.bytes).text, lanes,
             access->placed ? space->name : "its slot");
}

static const char *name_of(const spad__liveness *live, int64_t statement) {
    const spad_statement *s = &live->kernel->statements.items[statement];
    if (s->kind == SPAD_STATEMENT_TENSOR) return "the caller of the kernel"; /* its output */
    return s->name != NULL ? s->name : spad_statement_kind_name(s->kind);
}

/* ---- reads ------------------------------------------------------------------------- */

/* The scope that holds a tensor's declaration; -1: none. */
static int64_t scope_of(const spad_kernel *k, int64_t tensor) {
    int64_t s = (int64_t)k->tensors.items[tensor].statement;
    while (s >= 0 && k->statements.items[s].kind != SPAD_STATEMENT_SCOPE) {
        s = k->statements.items[s].parent;
    }
    return s;
}

/* Two stack tensors of one scope with sections. */
static bool share_sections(const spad_kernel *k, int64_t a, int64_t b) {
    const int64_t scope = scope_of(k, a);
    return k->tensors.items[a].mode == SPAD_MODE_STACK &&
           k->tensors.items[b].mode == SPAD_MODE_STACK && scope >= 0 && scope == scope_of(k, b) &&
           spad_kernel_get_expr(k, k->statements.items[scope].amount).most > 1;
}

static spad_finding_code classify(const spad__liveness *live, const spad_walk_access *access,
                                  const spad__write *write) {
    const spad_kernel *k = live->kernel;
    if (write->tensor == access->tensor) {
        const bool same = write->tile == access->tile; /* then it was allocated again */
        const bool older = write->life < access->life ||
                           (write->life == access->life && (same || write->tile < access->tile));
        return older ? SPAD_FINDING_STALE_READ : SPAD_FINDING_LIFETIME_CONFLICT;
    }
    if (k->tensors.items[write->tensor].home == access->home) return SPAD_FINDING_ALIAS_CLASH;
    if (share_sections(k, access->tensor, write->tensor)) return SPAD_FINDING_SECTION_OVERLAP;
    return SPAD_FINDING_LIFETIME_CONFLICT;
}

/* Suggests a change. */
static const char *remedy(spad_finding_code code, const spad_walk_access *access,
                          const spad__write *write) {
    switch (code) {
    case SPAD_FINDING_STALE_READ:
        if (write->life == access->life && write->tile == access->tile) {
            return "`alloc` makes a new tile: write it first";
        }
        return write->life < access->life
                   ? "a declaration in a loop makes a new tensor each time: write it first, or "
                     "declare it outside"
                   : "write it before it is read";
    case SPAD_FINDING_ALIAS_CLASH:
        return "read it before the other name is written, or give it bytes of its own";
    case SPAD_FINDING_SECTION_OVERLAP: return "make the sections equal, largest tensor first";
    default:
        return write->tensor == access->tensor ? "read it earlier, or give it more slots"
                                               : "place them apart, or read it earlier";
    }
}

static const char *reads_word(const spad_walk_access *access) {
    return (access->kind & SPAD_ACCESS_MAY) != 0 ? "may read" : "reads";
}

/* Is it what the tile itself was given, since it was allocated, by an access that may have written
 * elsewhere? */
static bool is_left_open(const spad__liveness *live, const spad_walk_access *access,
                         const spad__write *write) {
    const bool own = live->tensors[access->tensor].view
                         ? live->kernel->tensors.items[write->tensor].home == access->home
                         : write->tensor == access->tensor && write->tile == access->tile;
    return write->may && own && write->life == access->life &&
           write->birth == spad__liveness_birth(live, access);
}

/* Was a tile perhaps not overwritten, because only the device knows which bytes the write touched?
 * If the write is older than the tile, what was there before it is older, too. */
static bool is_perhaps_kept(const spad__liveness *live, const spad_walk_access *access,
                            const spad__write *write) {
    if (write == NULL || !write->may) return false;
    const bool older =
        write->life < access->life || (write->life == access->life && write->tile == access->tile &&
                                       write->birth != spad__liveness_birth(live, access));
    return write->tensor != access->tensor || !older;
}

/* Bytes that are written for certain by nothing. */
static void describe_possible(spad_finding *finding, const spad__liveness *live,
                              const spad_walk_access *access, spad_rect part,
                              const spad__write *write) {
    const spad_kernel *k = live->kernel;
    char tile[TILE_MAX], other[TILE_MAX], now[ITERATION_MAX], bytes[BYTES_MAX];
    spad__tile_text(k, access->tensor, access->tile, tile, sizeof tile);
    spad__tile_text(k, write->tensor, write->tile, other, sizeof other);
    now_text(live, now, sizeof now);
    bytes_text(live, access, part, bytes, sizeof bytes);
    spad__finding_init(finding, SPAD_FINDING_UNINITIALISED_READ,
                       "%s %s %s%s, but it is not certain that %s, which may write %s, has written "
                       "%s; write all of it first, or declare it as input",
                       name_of(live, live->statement), reads_word(access), tile, now,
                       name_of(live, write->statement), other, bytes);
    finding->severity = SPAD_SEVERITY_WARNING; /* the device may have written all of it */
    spad__finding_add_note(finding, "%s may write %s here", name_of(live, write->statement), other);
    spad__finding_set_names(finding, k->tensors.items[access->tensor].name,
                            k->tensors.items[write->tensor].name);
}

/* A read where an input is that was there before the start. */
static void describe_input(spad_finding *finding, const spad__liveness *live,
                           const spad_walk_access *access, spad_rect part,
                           const spad__write *write) {
    const spad_kernel *k = live->kernel;
    const spad_kernel_tensor *tensor = &k->tensors.items[access->tensor];
    char tile[TILE_MAX], other[TILE_MAX], now[ITERATION_MAX], bytes[BYTES_MAX];
    spad__tile_text(k, access->tensor, access->tile, tile, sizeof tile);
    spad__tile_text(k, write->tensor, write->tile, other, sizeof other);
    now_text(live, now, sizeof now);
    bytes_text(live, access, part, bytes, sizeof bytes);
    const bool input = (tensor->flags & SPAD_TENSOR_INPUT) != 0;
    spad__finding_init(finding, classify(live, access, write),
                       "%s %s %s%s, but %s hold %s, an input that was put there before the start%s",
                       name_of(live, live->statement), reads_word(access), tile, now, bytes, other,
                       input ? ", over this one; give inputs bytes of their own"
                             : "; write it before it is read");
    spad__point_note(spad__finding_add_note(finding, "%s is declared here", other),
                     k->tensors.items[write->tensor].location);
    spad__finding_set_names(finding, tensor->name, k->tensors.items[write->tensor].name);
}

static void describe_conflict(spad_finding *finding, const spad__liveness *live,
                              const spad_walk_access *access, spad_rect part, spad__writer writer) {
    const spad__write *write = &live->writes[writer];
    const spad_kernel *k = live->kernel;
    const spad_finding_code code = classify(live, access, write);
    char tile[TILE_MAX], other[TILE_MAX], now[ITERATION_MAX], then[ITERATION_MAX], bytes[BYTES_MAX];
    spad__tile_text(k, access->tensor, access->tile, tile, sizeof tile);
    spad__tile_text(k, write->tensor, write->tile, other, sizeof other);
    now_text(live, now, sizeof now);
    iteration_text(k, write->statement, live->values + (size_t)writer * live->depth, then,
                   sizeof then);
    bytes_text(live, access, part, bytes, sizeof bytes);
    const bool same = write->tensor == access->tensor && write->tile == access->tile;
    const char *may = write->may ? "may " : "";
    spad__finding_init(finding, code, "%s %s %s%s, but %s %s%s %s, written by %s%s; %s",
                       name_of(live, live->statement), reads_word(access), tile, now, bytes, may,
                       code == SPAD_FINDING_STALE_READ ? "still hold" : "hold",
                       same ? "an earlier life of it" : other, name_of(live, write->statement),
                       then, remedy(code, access, write));
    spad__finding_add_note(finding, "%s %swrite%s %s here%s", name_of(live, write->statement), may,
                           write->may ? "" : "s", other, then);
    spad__finding_set_names(finding, k->tensors.items[access->tensor].name,
                            k->tensors.items[write->tensor].name);
}

void spad__note_ring(spad_finding *finding, const spad_kernel *k, int64_t tensor, int64_t tile,
                     int64_t other) {
    const spad_kernel_tensor *t = &k->tensors.items[tensor];
    const bool counted = t->slots > 0 && t->slots < t->tiles;
    if (tile == other || (!counted && t->ring.count == 0 && t->mode != SPAD_MODE_MOD)) return;
    if (finding->note_count == SPAD_NOTES_MAX) return;
    char one[TILE_MAX], two[TILE_MAX], size[160] = "is a ring";
    if (counted) {
        snprintf(size, sizeof size, "has %s slot%s for %s tiles", spad__grouped(t->slots).text,
                 t->slots == 1 ? "" : "s", spad__grouped(t->tiles).text);
    }
    spad__tile_text(k, tensor, tile, one, sizeof one);
    spad__tile_text(k, tensor, other, two, sizeof two);
    spad_note *note = spad__finding_add_note(finding, "%s %s: %s and %s are in the same place",
                                             t->name, size, one, two);
    spad__point_note(note, t->location);
}

static void describe_nothing(spad_finding *finding, const spad__liveness *live,
                             const spad_walk_access *access, spad_rect part) {
    char tile[TILE_MAX], now[ITERATION_MAX], bytes[BYTES_MAX];
    spad__tile_text(live->kernel, access->tensor, access->tile, tile, sizeof tile);
    now_text(live, now, sizeof now);
    bytes_text(live, access, part, bytes, sizeof bytes);
    const bool never = live->tensors[access->tensor].empty && access->placed;
    spad__finding_init(finding, SPAD_FINDING_UNINITIALISED_READ,
                       "%s %s %s%s, but nothing %s %s; write it first, or declare it as input",
                       name_of(live, live->statement), reads_word(access), tile, now,
                       never ? "writes" : "has written", never ? "it anywhere" : bytes);
    spad__point_note(spad__finding_add_note(finding, "declared here"),
                     live->kernel->tensors.items[access->tensor].location);
    spad__finding_set_names(finding, live->kernel->tensors.items[access->tensor].name, NULL);
}

/* The finding is about one access of the statement, not about all of it. */
static void point_at(spad_finding *finding, const spad_kernel *k, const spad_walk_access *access) {
    const spad_location location = access->row < k->accesses.count
                                       ? k->accesses.items[access->row].location
                                       : k->tensors.items[access->tensor].location;
    spad__point_finding(finding, location);
    finding->number = access->tensor;
}

spad_status spad__report_read(spad__liveness *live, const spad_walk_access *access, spad_rect part,
                              spad__writer writer, bool elsewhere, spad_error *error) {
    const spad__write *write = writer == 0 ? NULL : &live->writes[writer];
    const bool open = write != NULL && is_left_open(live, access, write);
    const spad_finding_code code =
        write == NULL || open ? SPAD_FINDING_UNINITIALISED_READ : classify(live, access, write);
    const int64_t other = writer == 0 ? -1 : write->statement;
    if (open) live->run->gap = "bytes are read that are written only if the data says so";
    live->tensors[access->tensor].wrong = live->tensors[access->home].wrong = true;
    const bool unresolved = !open && (elsewhere || is_perhaps_kept(live, access, write));
    const spad_severity severity = open || unresolved ? SPAD_SEVERITY_WARNING : SPAD_SEVERITY_ERROR;
    if (spad__count_finding(live->run, code, severity, live->statement, other)) return SPAD_OK;
    spad_finding finding;
    if (writer == 0) {
        describe_nothing(&finding, live, access, part);
    } else if (open) {
        describe_possible(&finding, live, access, part, write);
    } else if (live->kernel->statements.items[write->statement].kind == SPAD_STATEMENT_TENSOR) {
        describe_input(&finding, live, access, part, write);
    } else {
        describe_conflict(&finding, live, access, part, writer);
    }
    if (unresolved) spad__leave_open(live->run, &finding);
    point_at(&finding, live->kernel, access);
    return spad__add_finding(live->run, &finding, live->statement, other, error);
}

/* ---- dead tensors ------------------------------------------------------------------ */

static spad_finding_code why_dead(const spad__liveness *live, const spad_walk_access *access) {
    const spad_kernel *k = live->kernel;
    if (access->live || k->tensors.items[access->home].mode != SPAD_MODE_STACK) {
        return SPAD_FINDING_USE_AFTER_FREE;
    }
    const int64_t scope = scope_of(k, access->home);
    const bool open =
        live->statement > scope && live->statement < (int64_t)k->statements.items[scope].end;
    return open ? SPAD_FINDING_SECTION_OVER : SPAD_FINDING_USE_AFTER_SCOPE;
}

spad_status spad__report_dead(spad__liveness *live, const spad_walk_access *access,
                              spad_error *error) {
    const spad_kernel *k = live->kernel;
    const spad_finding_code code = why_dead(live, access);
    const int64_t home_statement = (int64_t)k->tensors.items[access->home].statement;
    live->tensors[access->tensor].wrong = live->tensors[access->home].wrong = true;
    if (spad__count_finding(live->run, code, SPAD_SEVERITY_ERROR, live->statement,
                            home_statement)) {
        return SPAD_OK;
    }
    const char *verb = (access->kind & SPAD_ACCESS_READ) != 0 ? reads_word(access) : "writes";
    const bool never = live->tensors[access->home].allocated;
    char tile[TILE_MAX], now[ITERATION_MAX];
    spad__tile_text(k, access->tensor, access->tile, tile, sizeof tile);
    now_text(live, now, sizeof now);
    spad_finding finding;
    if (code == SPAD_FINDING_USE_AFTER_FREE) {
        spad__finding_init(&finding, code, "%s %s %s%s, which is not allocated%s; free it later%s",
                           name_of(live, live->statement), verb, tile, now,
                           never ? " now" : " any more", never ? ", or allocate it first" : "");
    } else {
        const char *scope = k->statements.items[scope_of(k, access->home)].name;
        spad__finding_init(&finding, code, "%s %s %s%s, but scope '%s' %s; %s",
                           name_of(live, live->statement), verb, tile, now, scope,
                           code == SPAD_FINDING_SECTION_OVER ? "has returned to its section"
                                                             : "has closed",
                           code == SPAD_FINDING_SECTION_OVER
                               ? "give the scope more sections, or use it earlier"
                               : "move it into the scope, or declare the tensor outside");
    }
    spad__finding_add_note(&finding, "'%s' is declared here", k->tensors.items[access->home].name);
    spad__finding_set_names(&finding, k->tensors.items[access->tensor].name, NULL);
    point_at(&finding, k, access);
    return spad__add_finding(live->run, &finding, live->statement, home_statement, error);
}

spad_status spad__report_again(spad__liveness *live, const spad_walk_event *event,
                               spad_error *error) {
    const spad_kernel *k = live->kernel;
    const bool frees = event->kind == SPAD_WALK_FREE;
    const char *name = k->tensors.items[event->tensor].name;
    char tile[TILE_MAX], now[ITERATION_MAX];
    spad__tile_text(k, event->tensor, spad__max(event->tile, 0), tile, sizeof tile);
    if (event->tile < 0) snprintf(tile, sizeof tile, "'%s'", name);
    now_text(live, now, sizeof now);
    spad_finding finding;
    if (frees) {
        spad__finding_init(&finding, SPAD_FINDING_DOUBLE_FREE,
                           "%s is freed%s, but is not allocated; free it once", tile, now);
    } else {
        spad__finding_init(&finding, SPAD_FINDING_ALLOCATION_ORDER,
                           "%s is allocated%s, but is allocated already; free it in between", tile,
                           now);
    }
    spad__finding_set_names(&finding, name, NULL);
    finding.number = event->tensor;
    return spad__add_finding(live->run, &finding, live->statement, -1, error);
}

/* ---- left over at the end ---------------------------------------------------------- */

static bool any_tile_alive(const spad__liveness *live, int64_t tensor) {
    const uint8_t *dead = live->tensors[tensor].dead;
    const size_t tiles = (size_t)live->kernel->tensors.items[tensor].tiles;
    return dead != NULL && live->tensors[tensor].allocated && memchr(dead, 0, tiles) != NULL;
}

spad_status spad__report_leaks(spad__liveness *live, int64_t tensor, spad_error *error) {
    const spad_kernel_tensor *row = &live->kernel->tensors.items[tensor];
    const spad__liveness_tensor *state = &live->tensors[tensor];
    if (state->declarations == 0 || (!state->heap && !any_tile_alive(live, tensor))) return SPAD_OK;
    const int64_t statement = (int64_t)row->statement;
    if (spad__count_finding(live->run, SPAD_FINDING_LEAK, SPAD_SEVERITY_WARNING, statement, -1)) {
        return SPAD_OK;
    }
    spad_finding finding;
    spad__finding_init(&finding, SPAD_FINDING_LEAK,
                       "'%s' is still allocated when %s; free it before", row->name,
                       live->statement == statement ? "it is declared again" : "the kernel ends");
    spad__finding_set_names(&finding, row->name, NULL);
    finding.number = tensor;
    return spad__add_finding(live->run, &finding, statement, -1, error);
}

/* Outputs have a reader, and that a tensor is never read is reported once. */
static bool wants_reader(const spad__liveness *live, int64_t tensor) {
    return (live->kernel->tensors.items[tensor].flags & SPAD_TENSOR_OUTPUT) == 0 &&
           live->tensors[tensor].read;
}

/* The last value of a variable, which the iteration after the last would read if a loop carries it
 * on. Tiles that are written one after another are no variable: one that is never read is one too
 * many. */
static bool is_last_value(const spad__liveness *live, spad__writer writer) {
    const spad__write *write = &live->writes[writer];
    const spad_kernel *k = live->kernel;
    if (k->tensors.items[write->tensor].tiles > 1) return false;
    const int64_t *then = live->values + (size_t)writer * live->depth;
    int64_t loop = k->statements.items[write->statement].loop;
    for (; loop >= 0; loop = k->loops.items[loop].outer) {
        if (*then++ == k->loops.items[loop].end.value - 1) return true;
    }
    return false;
}

/* Nothing is gained where it is left out: zeros that come with a copy, and take no time. */
static bool takes_no_time(const spad_kernel *k, int64_t statement) {
    const spad_statement *s = &k->statements.items[statement];
    if (s->cost_kind == SPAD_COST_TARGET) return false;
    const spad_expr_info cost = spad_kernel_get_expr(k, s->cost);
    return cost.node_count == 1 && cost.nodes[0].op == SPAD_EXPR_NUMBER && cost.least == 0;
}

spad_status spad__report_unread(spad__liveness *live, spad__writer writer, spad_error *error) {
    const spad_kernel *k = live->kernel;
    const spad__write *write = &live->writes[writer];
    if (takes_no_time(k, write->statement)) return SPAD_OK;
    if ((spad_kernel_get_access(k, (size_t)write->row)->kind & SPAD_ACCESS_AGREED) != 0)
        return SPAD_OK; /* others store the same value: which one is read does not matter */
    const bool last = is_last_value(live, writer);
    size_t *slot = &live->unread_of[2 * write->row + last];
    if (!wants_reader(live, write->tensor)) return SPAD_OK;
    if (*slot > 0) {
        live->unread.items[*slot - 1].finding.count++;
        return SPAD_OK;
    }
    if (!spad__array_reserve(&live->host, &live->unread, 1)) return spad__fail_host_memory(error);
    spad__unread *unread = &live->unread.items[live->unread.count++];
    *unread = (spad__unread){
        .statement = write->statement, .tensor = write->tensor, .row = write->row, .last = last};
    *slot = live->unread.count;
    char tile[TILE_MAX], then[ITERATION_MAX];
    spad__tile_text(k, write->tensor, write->tile, tile, sizeof tile);
    iteration_text(k, write->statement, live->values + (size_t)writer * live->depth, then,
                   sizeof then);
    spad__finding_init(
        &unread->finding, SPAD_FINDING_DEAD_WRITE,
        "%s writes %s%s, and nothing reads it; leave the write out, or declare the tensor "
        "as output",
        name_of(live, write->statement), tile, then);
    spad__finding_set_names(&unread->finding, k->tensors.items[write->tensor].name, NULL);
    unread->finding.number = write->tensor;
    unread->finding.count = 1;
    return SPAD_OK;
}

/* ---- the end ----------------------------------------------------------------------- */

/* An access has one finding: the first of its two, with both counts. Is it to be reported? */
static bool join_unread(spad__liveness *live, size_t number) {
    spad__unread *unread = &live->unread.items[number];
    const bool carried = live->carries[unread->row];
    const size_t other = live->unread_of[2 * unread->row + !unread->last];
    if (unread->last && carried) return false;
    if (other == 0 || (!unread->last && carried)) return true;
    unread->finding.count += live->unread.items[other - 1].finding.count;
    return number < other - 1;
}

static spad_status report_unread(spad__liveness *live, spad_error *error) {
    spad_status status = SPAD_OK;
    for (spad__writer w = 1; w < live->write_count && status == SPAD_OK; w++) {
        if (live->writers.rows[w].pieces > 0 && !live->writes[w].read) {
            status = spad__report_unread(live, w, error);
        }
    }
    for (size_t i = 0; i < live->unread.count && status == SPAD_OK; i++) {
        spad__unread *unread = &live->unread.items[i];
        const spad_kernel_tensor *row = &live->kernel->tensors.items[unread->tensor];
        if (live->tensors[unread->tensor].wrong || live->tensors[row->home].wrong) continue;
        if (!join_unread(live, i)) continue;
        status = spad__add_finding(live->run, &unread->finding, unread->statement,
                                   (int64_t)row->statement, error);
    }
    return status;
}

/* Where the slots of a ring are counted, if their number is all that is known. */
static void note_declared(spad_finding *finding, const spad_kernel_tensor *tensor) {
    const bool ring =
        tensor->slots < tensor->tiles || tensor->ring.count > 0 || tensor->mode == SPAD_MODE_MOD;
    if (!ring || finding->note_count == SPAD_NOTES_MAX) return;
    for (size_t i = 0; i < finding->note_count; i++) {
        if (finding->notes[i].line == tensor->location.line) return; /* a note is there already */
    }
    spad__point_note(
        spad__finding_add_note(finding, "the slots of %s are counted here", tensor->name),
        tensor->location);
}

/* How deep would the rings have to be that are too shallow? */
static void note_depths(spad__liveness *live) {
    spad_check *check = live->run->check;
    for (size_t i = 0; i < check->found.count; i++) {
        spad_finding *finding = &check->found.items[i].finding;
        if (finding->code != SPAD_FINDING_LIFETIME_CONFLICT ||
            strcmp(finding->subject, finding->other) != 0) {
            continue;
        }
        const spad__liveness_tensor *state = &live->tensors[finding->number];
        if (state->ring == 0 || state->jumps || state->needed <= state->ring) {
            note_declared(finding, &live->kernel->tensors.items[finding->number]);
            continue;
        }
        spad_note *note = spad__finding_add_note(
            finding, "'%s' has %lld slot%s and needs %lld: so many of its tiles are alive at once",
            finding->subject, (long long)state->ring, state->ring == 1 ? "" : "s",
            (long long)state->needed);
        spad__point_note(note, live->kernel->tensors.items[finding->number].location);
    }
}

spad_status spad__liveness_finish(spad__liveness *live, spad_error *error) {
    spad_status status = SPAD_OK;
    live->statement = -1;
    for (size_t i = 0; i < live->kernel->tensors.count && status == SPAD_OK; i++) {
        const bool kept = (live->kernel->tensors.items[i].flags & SPAD_TENSOR_OUTPUT) != 0;
        if (!kept) status = spad__report_leaks(live, (int64_t)i, error);
    }
    if (status == SPAD_OK) status = report_unread(live, error);
    if (status == SPAD_OK) note_depths(live);
    return status;
}

/* ---- a walk that cannot continue --------------------------------------------------- */

static spad_finding_code code_of(const spad_error *failure) {
    switch (failure->code) {
    case SPAD_ERR_BOUNDS:
    case SPAD_ERR_SHAPE: return SPAD_FINDING_INDEX_OUTSIDE;
    case SPAD_ERR_NO_FIT: return SPAD_FINDING_DOES_NOT_FIT;
    case SPAD_ERR_NOT_LIVE: return SPAD_FINDING_ALLOCATION_ORDER;
    default: return SPAD_FINDING_CANNOT_RUN;
    }
}

spad_status spad__report_failure(spad__run *run, int64_t statement, bool twice,
                                 const spad_error *failure, spad_error *error) {
    if (failure->code == SPAD_ERR_HOST_MEMORY) {
        if (error != NULL) *error = *failure;
        return SPAD_ERR_HOST_MEMORY;
    }
    spad_finding finding;
    if (twice) {
        spad__finding_init(&finding, SPAD_FINDING_DOUBLE_FREE,
                           "'%s' is freed, but is not allocated; free it once", failure->subject);
    } else {
        spad__finding_init(&finding, code_of(failure), "%s", failure->message);
    }
    spad__finding_set_names(&finding, failure->subject, failure->other);
    finding.line = failure->line;
    finding.column = failure->column;
    return spad__add_finding(run, &finding, statement, -1, error);
}
