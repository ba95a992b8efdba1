/* SPDX-License-Identifier: Apache-2.0
 *
 * Folding: a straight kernel, as a trace records it, with its loops found again.
 *
 * A loop that makes a tensor in every round left many equal tensors. Those of one declaration
 * (the same source, space, type and shape) become one family, a tensor with a tile for each, if
 * their addresses have a form in the language: none, evenly spaced, or a ring. Otherwise each
 * address has a family of its own. Then repeated statements become loops (fold_loops.c).
 *
 * The folded kernel has the same operations in the same order, on the same bytes: tile t of a
 * family is where its member t was. O(statements) for the families.
 */
#include "kernel/fold/fold.h"
#include "spad/experimental/kernel_rows.h"

#include <string.h>

#include "base/checked.h"
#include "kernel/fold/fold_agents.h"
#include "kernel/text/writer.h"

/* ---- families ---------------------------------------------------------------------- */

static int64_t fold_source_of(const spad_kernel *k, const spad_kernel_tensor *t) {
    return k->statements.items[t->statement].source;
}

/* May it become a tile among others? Inputs and outputs are what the caller knows by name. */
static bool can_join(const spad_kernel_tensor *t) {
    const bool placed = t->mode == SPAD_MODE_AUTO || t->mode == SPAD_MODE_AT;
    return placed && t->flags == 0 && t->bank.value == 0;
}

/* The length of a name without the number at its end: "row" of "row_12" and "row12". */
static size_t stem_of(const char *name) {
    size_t length = strlen(name);
    while (length > 1 && name[length - 1] >= '0' && name[length - 1] <= '9') length--;
    while (length > 1 && name[length - 1] == '_') length--;
    return length;
}

static bool is_named_alike(const spad_kernel_tensor *a, const spad_kernel_tensor *b) {
    const size_t length = stem_of(a->name);
    return length == stem_of(b->name) && memcmp(a->name, b->name, length) == 0;
}

/* Apart from the address; `of` is -1 for both, or the family that they are in. */
static bool is_equal_tensor(const spad__folder *f, const spad_kernel_tensor *a,
                            const spad_kernel_tensor *b) {
    const spad_kernel_tensor *all = f->kernel->tensors.items;
    return fold_source_of(f->kernel, a) == fold_source_of(f->kernel, b) && a->space == b->space &&
           f->shows[a - all] == f->shows[b - all] && a->dtype == b->dtype && a->mode == b->mode &&
           a->lane.value == b->lane.value && a->align.value == b->align.value &&
           spad__amounts_equal(a->dims, b->dims) && is_named_alike(a, b);
}

static uint64_t hash_tensor(const spad__folder *f, const spad_kernel_tensor *t, int64_t extra) {
    uint64_t hash = spad__hash_add((uint64_t)extra, fold_source_of(f->kernel, t));
    hash = spad__hash_add(hash, (int64_t)t->space);
    hash = spad__hash_add(hash, (int64_t)t->dtype);
    hash = spad__hash_add(hash, t->lane.value);
    for (size_t i = 0; i < t->dims.count; i++) hash = spad__hash_add(hash, t->dims.items[i].value);
    return hash;
}

/* Where a family begins in the order of the table: families are few, but members many. */
typedef struct fold_grouping {
    spad__folder *f;
    spad__index index;
    bool by_address;
} fold_grouping;

static int64_t find_family(fold_grouping *g, int64_t tensor, int64_t of, int64_t ordinal) {
    spad__folder *f = g->f;
    const spad_kernel_tensor *t = &f->kernel->tensors.items[tensor];
    const bool exact = g->by_address || of >= 0;
    const uint64_t hash = hash_tensor(f, t, exact ? t->byte.value * 4 + of * 2 + 1 : 0);
    spad__probe probe = spad__index_probe(&g->index, hash);
    for (size_t i; (i = spad__probe_next(&probe)) != SPAD__NO_ITEM;) {
        const spad__family *family = &f->families.items[i];
        const spad_kernel_tensor *first = &f->kernel->tensors.items[family->first];
        if (family->of == of && family->ordinal == ordinal && is_equal_tensor(f, first, t) &&
            (!exact || first->byte.value == t->byte.value)) {
            return (int64_t)i;
        }
    }
    if (!spad__array_reserve(&f->host, &f->families, 1) ||
        !spad__index_reserve(&g->index, &f->host, 1)) {
        return -1;
    }
    spad__index_add(&g->index, hash, f->families.count);
    f->families.items[f->families.count] = (spad__family){
        .first = tensor, .of = of, .ordinal = ordinal, .byte = t->byte.value, .made = -1};
    return (int64_t)f->families.count++;
}

static bool fold_join(fold_grouping *g, int64_t tensor) {
    spad__folder *f = g->f;
    const int64_t family = find_family(g, tensor, -1, 0);
    if (family < 0) return false;
    f->family[tensor] = family;
    f->member[tensor] = f->families.items[family].count++;
    return true;
}

/* An alias with a name that the caller knows, or of another alias: what it is in stays as it is. */
static void keep_homes(const spad__folder *f, bool *kept) {
    const spad_kernel *k = f->kernel;
    for (size_t i = 0; i < k->tensors.count; i++) {
        const spad_kernel_tensor *t = &k->tensors.items[i];
        if (t->mode != SPAD_MODE_ALIAS) continue;
        if (t->flags != 0 || t->alias_of != t->home) kept[t->home] = true;
    }
}

/* ---- their addresses --------------------------------------------------------------- */

/* How many from the first on are `stride` apart. */
static size_t even_run(const int64_t *bytes, size_t count, int64_t stride) {
    size_t run = 1;
    while (run < count && bytes[run] - bytes[run - 1] == stride) run++;
    return run;
}

/* Addresses in rows of `width`, each as evenly spaced as the first: keeps the first of each row. */
static bool fold_take_rows(int64_t *bytes, size_t *count, size_t width, int64_t stride) {
    if (*count % width != 0) return false;
    for (size_t i = 0; i < *count; i++) {
        if (bytes[i] - bytes[i - i % width] != (int64_t)(i % width) * stride) return false;
    }
    *count /= width;
    for (size_t i = 0; i < *count; i++) bytes[i] = bytes[i * width];
    return true;
}

/* Rows of rows of addresses, the innermost first. Rows that all begin at the same place are a ring
 * of the rows inside. False: there is no such form. `bytes` is changed. */
static bool fold_find_dims(spad__family *family, int64_t *bytes, size_t count) {
    spad__family_dim dims[SPAD__FAMILY_RANK];
    size_t rank = 0;
    while (count > 1) {
        const int64_t stride = bytes[1] - bytes[0];
        const size_t width = even_run(bytes, count, stride);
        const int64_t wide = (int64_t)width;
        if (stride < 0 || !fold_take_rows(bytes, &count, width, stride)) return false;
        if (stride == 0 && rank > 0) {
            dims[rank - 1].count *= wide;
        } else if (rank == SPAD__FAMILY_RANK) {
            return false;
        } else {
            dims[rank++] = (spad__family_dim){wide, stride, stride == 0 ? 1 : wide};
        }
    }
    family->rank = rank;
    for (size_t i = 0; i < rank; i++) family->dims[i] = dims[rank - 1 - i];
    return true;
}

static void give_one_dim(spad__family *family) {
    family->rank = 1;
    family->dims[0] = (spad__family_dim){family->count, 0, 1};
}

/* Members of all families in their order, one family after the other. */
static int64_t *fold_list_addresses(const spad__folder *f, size_t *firsts) {
    int64_t *bytes = spad__new_array(&f->host, f->kernel->tensors.count + 1, sizeof *bytes);
    size_t all = 0;
    for (size_t i = 0; i < f->families.count; i++) {
        firsts[i] = all;
        all += (size_t)f->families.items[i].count;
    }
    for (size_t i = 0; bytes != NULL && i < f->kernel->tensors.count; i++) {
        if (f->family[i] < 0) continue;
        bytes[firsts[f->family[i]] + (size_t)f->member[i]] = f->kernel->tensors.items[i].byte.value;
    }
    return bytes;
}

/* Families without a form fall apart; *again: there are some. */
static bool fold_find_forms(spad__folder *f, bool *split, bool *again) {
    const size_t count = f->families.count;
    size_t *firsts = spad__new_array(&f->host, count + 1, sizeof *firsts);
    int64_t *bytes = firsts != NULL ? fold_list_addresses(f, firsts) : NULL;
    for (size_t i = 0; bytes != NULL && i < count; i++) {
        spad__family *family = &f->families.items[i];
        give_one_dim(family);
        if (f->kernel->tensors.items[family->first].mode != SPAD_MODE_AT) continue;
        split[i] = !fold_find_dims(family, bytes + firsts[i], (size_t)family->count);
        *again = *again || split[i];
    }
    const bool fine = bytes != NULL;
    spad__free(&f->host, bytes, (f->kernel->tensors.count + 1) * sizeof *bytes);
    spad__free(&f->host, firsts, (count + 1) * sizeof *firsts);
    return fine;
}

/* Gives the members of families without a form to families of one address. */
static bool fold_split_families(spad__folder *f) {
    const size_t count = f->families.count;
    bool *split = spad__new_array(&f->host, count + 1, sizeof *split);
    bool again = false;
    bool fine = split != NULL && fold_find_forms(f, split, &again);
    fold_grouping g = {.f = f, .by_address = true};
    for (size_t i = 0; fine && again && i < f->kernel->tensors.count; i++) {
        if (f->family[i] >= 0 && split[f->family[i]]) fine = fold_join(&g, (int64_t)i);
    }
    for (size_t i = count; fine && i < f->families.count; i++) give_one_dim(&f->families.items[i]);
    spad__index_free(&g.index, &f->host);
    spad__free(&f->host, split, (count + 1) * sizeof *split);
    return fine;
}

/* Has an alias that was seen before this place in this family? */
static bool fold_is_taken(const spad__folder *f, const spad__index *taken, uint64_t hash,
                          int64_t family, int64_t member) {
    spad__probe probe = spad__index_probe(taken, hash);
    for (size_t i; (i = spad__probe_next(&probe)) != SPAD__NO_ITEM;) {
        if (f->family[i] == family && f->member[i] == member) return true;
    }
    return false;
}

/* Two equal aliases of one tensor are two names for the check, so they are not one. */
static bool fold_join_alias(fold_grouping *g, spad__index *taken, int64_t tensor) {
    spad__folder *f = g->f;
    const int64_t home = f->kernel->tensors.items[tensor].home;
    const int64_t of = f->family[home];
    const int64_t member = f->member[home];
    for (int64_t ordinal = 0;; ordinal++) {
        const int64_t family = find_family(g, tensor, of, ordinal);
        if (family < 0 || !spad__index_reserve(taken, &f->host, 1)) return false;
        const uint64_t hash = spad__hash_add(spad__hash_add(0, family), member);
        if (fold_is_taken(f, taken, hash, family, member)) continue;
        spad__index_add(taken, hash, (size_t)tensor);
        f->family[tensor] = family;
        f->member[tensor] = member;
        spad__family *aliases = &f->families.items[family];
        const spad__family *homes = &f->families.items[of];
        aliases->count = homes->count;
        aliases->rank = homes->rank;
        memcpy(aliases->dims, homes->dims, sizeof aliases->dims);
        return true;
    }
}

/* Aliases of members are tiles in the tiles of the family. */
static bool fold_join_aliases(spad__folder *f) {
    const spad_kernel *k = f->kernel;
    fold_grouping g = {.f = f};
    spad__index taken = {0};
    bool fine = true;
    for (size_t i = 0; i < k->tensors.count && fine; i++) {
        const spad_kernel_tensor *t = &k->tensors.items[i];
        if (t->mode != SPAD_MODE_ALIAS || f->family[t->home] < 0) continue;
        fine = fold_join_alias(&g, &taken, (int64_t)i);
    }
    spad__index_free(&taken, &f->host);
    spad__index_free(&g.index, &f->host);
    return fine;
}

/* False: no memory. */
static bool fold_families(spad__folder *f) {
    const size_t count = f->kernel->tensors.count;
    bool *kept = spad__new_array(&f->host, count + 1, sizeof *kept);
    fold_grouping g = {.f = f};
    bool fine = kept != NULL;
    if (fine) keep_homes(f, kept);
    for (size_t i = 0; i < count; i++) f->family[i] = -1;
    for (size_t i = 0; i < count && fine; i++) {
        const bool joins = !kept[i] && !f->alone[i];
        if (joins && can_join(&f->kernel->tensors.items[i])) fine = fold_join(&g, (int64_t)i);
    }
    spad__index_free(&g.index, &f->host);
    spad__free(&f->host, kept, (count + 1) * sizeof *kept);
    return fine && fold_split_families(f) && fold_join_aliases(f);
}

/* ---- the call ---------------------------------------------------------------------- */

/* Statements of a trace: declarations and operations, one after another. */
static bool fold_is_straight(const spad_kernel *k) {
    if (k->params.count + k->regions.count + k->units.count + k->syncs.count + k->loops.count +
            k->cursors.count + k->unknowns.count >
        0) {
        return false;
    }
    for (size_t i = 0; i < k->statements.count; i++) {
        const spad_statement *s = &k->statements.items[i];
        const bool known = s->kind == SPAD_STATEMENT_TENSOR || s->kind == SPAD_STATEMENT_OPERATION;
        if (!known || s->completion_count > 0 || s->flags != 0) return false;
        if (s->latency_kind != SPAD_COST_TARGET) return false; /* traces have neither */
        for (size_t w = 0; w < SPAD_WORKS; w++) {
            if (s->work[w].value != 0 || s->work[w].expr != 0) return false;
        }
    }
    for (size_t i = 0; i < k->tensors.count; i++) {
        const spad_kernel_tensor *t = &k->tensors.items[i];
        const bool known =
            t->mode == SPAD_MODE_AUTO || t->mode == SPAD_MODE_AT || t->mode == SPAD_MODE_ALIAS;
        if (!known || t->like != 0) return false;
        if (t->blocks.count > 0) return false; /* tiles are what families make */
    }
    return true;
}

static bool start_folder(spad__folder *f) {
    const size_t count = f->kernel->tensors.count + 1;
    f->family = spad__arena_array(&f->arena, count, sizeof *f->family);
    f->member = spad__arena_array(&f->arena, count, sizeof *f->member);
    f->singles = spad__arena_array(&f->arena, count, sizeof *f->singles);
    f->shows = spad__arena_array(&f->arena, count, sizeof *f->shows);
    f->alone = spad__arena_array(&f->arena, count, sizeof *f->alone);
    if (f->family == NULL || f->member == NULL || f->singles == NULL || f->shows == NULL ||
        f->alone == NULL) {
        return false;
    }
    const spad_kernel *k = f->kernel;
    for (size_t i = 0; i < k->accesses.count; i++) f->shows[k->accesses.items[i].tensor] = true;
    for (size_t i = 0; i < k->accesses.count; i++) {
        const spad_kernel_access *access = &k->accesses.items[i];
        if ((access->kind & SPAD_ACCESS_WRITE) != 0) f->shows[access->tensor] = false;
    }
    return true;
}

/* A folded kernel was never read from a text: its rows are where its text has them, so that
 * findings can show it. */
static spad_status fold_name_file(spad_kernel *made, const char *file, spad_error *error) {
    made->file = spad__arena_copy(&made->arena, file, strlen(file));
    if (made->file == NULL) return spad__fail_host_memory(error);
    return spad__locate_in_text(made, error);
}

static spad_status fold_straight(spad_kernel **out, spad__folder *f, spad_error *error) {
    const spad_kernel *k = f->kernel;
    const spad_kernel_options options = {.host = &f->host};
    spad__kernel_builder *builder;
    spad_kernel *made = NULL;
    spad_status status =
        spad__kernel_builder_create(&builder, k->name, k->about, k->target, &options, error);
    if (status != SPAD_OK) return status;
    if (k->assumption[0] != '\0')
        status = spad__kernel_builder_assume(builder, k->assumption, error);
    if (status == SPAD_OK && k->undecided[0] != '\0')
        status = spad__kernel_builder_undecided(builder, k->undecided, error);
    if (status == SPAD_OK && k->uncounted[0] != '\0')
        status = spad__kernel_builder_uncounted(builder, k->uncounted, error);
    if (status == SPAD_OK && k->compiler[0] != '\0')
        status = spad__kernel_builder_compiler(builder, k->compiler, error);
    if (status == SPAD_OK) status = spad__fold_build(f, builder, error);
    if (status == SPAD_OK) status = spad__kernel_builder_finish(&made, builder, error);
    spad__kernel_builder_destroy(builder);
    if (status == SPAD_OK) status = fold_name_file(made, k->file, error);
    if (status == SPAD_OK) {
        *out = made;
    } else {
        spad_kernel_destroy(made);
    }
    return status;
}

/* Families and loops. False: no memory. */
static bool fold_find(spad__folder *f) {
    f->families.count = f->shapes.count = f->newest.count = f->nodes.count = 0;
    f->operations.count = 0;
    spad__index_free(&f->shape_index, &f->host);
    f->shape_index = (spad__index){0};
    return fold_families(f) && spad__fold_loops(f) && spad__fold_short_loops(f);
}

static bool fold_has_loops(const spad__folder *f) {
    for (size_t i = 0; i < f->nodes.count; i++) {
        if (f->shapes.items[f->nodes.items[i].shape].child_count > 0) return true;
    }
    return false;
}

/* *out: the folded kernel, or NULL if it needs more than the straight one. */
static spad_status fold_try(spad_kernel **out, spad__folder *f, const spad_layout *straight,
                            spad_error *error) {
    spad_kernel *made = NULL;
    spad_layout *layout = NULL;
    bool overloads = false;
    spad_status status = fold_straight(&made, f, error);
    if (status == SPAD_OK && straight != NULL) {
        status = spad__fold_overloads(&overloads, straight, made, &f->host, error);
    }
    if (status == SPAD_OK && straight != NULL && !overloads) {
        status = spad__fold_measure(&layout, made, &f->host, error);
    }
    if (status == SPAD_OK && !overloads && !spad__fold_loses(straight, layout)) {
        *out = made;
        made = NULL;
    }
    spad_layout_destroy(layout);
    spad_kernel_destroy(made);
    return status;
}

/* With all families, or else with those of tensors that have addresses. */
static spad_status fold_find_best(spad_kernel **out, spad__folder *f, spad_error *error) {
    spad_layout *straight = NULL;
    spad_status status = spad__fold_measure(&straight, f->kernel, &f->host, error);
    if (status == SPAD_OK) status = fold_try(out, f, straight, error);
    if (status == SPAD_OK && *out == NULL && spad__fold_retreat(f)) {
        if (!fold_find(f)) {
            status = spad__fail_host_memory(error);
        } else if (fold_has_loops(f)) {
            status = fold_try(out, f, straight, error);
        }
    }
    spad_layout_destroy(straight);
    return status;
}

spad_status spad_kernel_fold(spad_kernel **out, const spad_kernel *kernel, const spad_host *host,
                             spad_error *error) {
    *out = NULL;
    if (kernel->agents.count > 1) {
        const spad__fold_request request = {.kernels = {kernel}, .count = 1};
        spad__fold_result result;
        const spad_status made = spad__fold_agents(&result, &request, host, error);
        *out = result.kernel;
        return made;
    }
    if (!fold_is_straight(kernel)) return SPAD_OK;
    spad__folder f = {.host = spad__host_or_default(host), .kernel = kernel};
    f.arena.host = f.host;
    spad_status status = SPAD_OK;
    if (!start_folder(&f) || !fold_find(&f)) {
        status = spad__fail_host_memory(error);
    } else if (fold_has_loops(&f)) {
        status = fold_find_best(out, &f, error);
    }
    spad__folder_free(&f);
    return status;
}
