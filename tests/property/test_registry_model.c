/* SPDX-License-Identifier: Apache-2.0
 * The registry against a plain restatement of its rules: fixed arrays, linear
 * searches, recursion, nothing cached. Random sequences of operations, every
 * answer compared. */
#include "spad/experimental/registry_parts.h"
#include "support/support.h"

#include <stdio.h>
#include <string.h>

#include "base/random.h"
#include "spad/registry.h"

enum {
    SEQUENCES = TEST_RUNS(100000),
    OPERATIONS = 14,
    COMPONENTS = 4,
    MAX_BUFFERS = 24,
    MAX_CHILDREN = 4
};

/* ---- the model --------------------------------------------------------------------- */

typedef struct m_buffer {
    char name[24];
    char alias[24]; /* "": none */
    int64_t size;
    bool shared;
    bool persistent;
    spad_dtype type;
    int64_t begin;
    int64_t end;
    bool of_child;
    int64_t child_bytes; /* -1: size x type */
    int64_t child_align;
    bool child_keeps; /* there are persistent bytes in it */
} m_buffer;

typedef struct m_component {
    spad_component id;
    spad_dtype type;
    bool exists; /* has a group */
    int count;
    m_buffer buffers[MAX_BUFFERS];
    int child_count;
    char child_name[MAX_CHILDREN][8];
    spad_component child[MAX_CHILDREN]; /* may have been removed since */
    bool valid[SPAD_REGISTRY_UNIT_COUNT];
} m_component;

typedef struct m_place {
    bool placed;
    spad_registry_region region;
    int64_t start;
    int64_t length;
    int64_t taken;
    int inside; /* -1: none */
} m_place;

typedef struct m_layout {
    spad_status status;
    m_place places[MAX_BUFFERS];
    int64_t total[SPAD_REGISTRY_REGION_COUNT];
    int64_t align[SPAD_REGISTRY_REGION_COUNT];
} m_layout;

typedef struct world {
    m_component components[COMPONENTS];
    spad_registry *registry;
    spad__random random;
} world;

static int find(const m_component *c, const char *name) {
    for (int i = 0; i < c->count; i++) {
        if (strcmp(c->buffers[i].name, name) == 0) return i;
    }
    return -1;
}

static int64_t type_bytes(spad_dtype type) {
    if (type == SPAD_FLOAT16) return 2;
    return type == SPAD_FLOAT64 || type == SPAD_INT64 ? 8 : 4;
}

static int64_t length_of(const m_buffer *b, spad_registry_unit unit) {
    if (unit == SPAD_REGISTRY_UNIT_ELEMENT) return b->size;
    return b->child_bytes >= 0 ? b->child_bytes : b->size * type_bytes(b->type);
}

static int64_t align_of(const m_buffer *b, spad_registry_unit unit) {
    if (unit == SPAD_REGISTRY_UNIT_ELEMENT) return 1;
    return b->child_bytes >= 0 ? b->child_align : type_bytes(b->type);
}

static int64_t round_up(int64_t value, int64_t align) {
    while (value % align != 0) value++;
    return value;
}

static void put_own(m_layout *out, const m_buffer *b, int i, spad_registry_unit unit) {
    m_place *p = &out->places[i];
    p->placed = true;
    p->inside = -1;
    p->length = length_of(b, unit);
    p->region = b->shared       ? SPAD_REGISTRY_REGION_SHARED
                : b->persistent ? SPAD_REGISTRY_REGION_PERSISTENT
                                : SPAD_REGISTRY_REGION_LOCAL;
    if (p->region == SPAD_REGISTRY_REGION_LOCAL) {
        const int64_t least = unit == SPAD_REGISTRY_UNIT_ELEMENT ? 1 : type_bytes(b->type);
        if (p->length < least) p->length = least;
    }
    p->start = out->total[p->region];
    if (p->length > 0) p->start = round_up(p->start, align_of(b, unit));
    out->total[p->region] = p->start + p->length;
}

static bool share_time_and_space(const m_component *c, const m_layout *l, int i, int k) {
    const m_buffer *x = &c->buffers[i];
    const m_buffer *y = &c->buffers[k];
    const m_place *p = &l->places[i];
    const m_place *q = &l->places[k];
    if (p->region != SPAD_REGISTRY_REGION_SHARED || q->region != SPAD_REGISTRY_REGION_SHARED)
        return false;
    bool space = false;
    for (int64_t at = p->start; at < p->start + p->length; at++) {
        space |= at >= q->start && at < q->start + q->length;
    }
    bool time = false;
    for (int64_t at = x->begin; at < x->end; at++) time |= at >= y->begin && at < y->end;
    return space && time;
}

static m_layout lay_out(const m_component *c, spad_registry_unit unit) {
    m_layout out = {.status = SPAD_OK, .align = {1, 1, 1}};
    for (int i = 0; i < c->count; i++) {
        if (c->buffers[i].alias[0] == '\0') put_own(&out, &c->buffers[i], i, unit);
    }
    for (int i = 0; i < c->count; i++) {
        const m_buffer *b = &c->buffers[i];
        if (b->alias[0] == '\0') continue;
        const int k = find(c, b->alias);
        if (k < 0) {
            out.status = SPAD_ERR_UNKNOWN;
            return out;
        }
        m_place *host = &out.places[k];
        const int64_t length = length_of(b, unit);
        int64_t start = host->start + host->taken;
        if (length > 0) start = round_up(start, align_of(b, unit));
        const bool kept = b->persistent || b->child_keeps || c->buffers[k].persistent ||
                          c->buffers[k].child_keeps;
        if (!kept && host->placed && host->region == SPAD_REGISTRY_REGION_SHARED &&
            start + length <= host->start + host->length) {
            out.places[i] = (m_place){.placed = true,
                                      .region = SPAD_REGISTRY_REGION_SHARED,
                                      .start = start,
                                      .length = length,
                                      .inside = k};
            host->taken = start + length - host->start;
        } else {
            put_own(&out, b, i, unit);
        }
    }
    for (int i = 0; i < c->count; i++) {
        const m_place *p = &out.places[i];
        const int64_t align = align_of(&c->buffers[i], unit);
        if (p->length > 0 && align > out.align[p->region]) out.align[p->region] = align;
        for (int k = 0; k < i; k++) {
            if (share_time_and_space(c, &out, i, k)) out.status = SPAD_ERR_OVERLAP;
        }
    }
    return out;
}

static m_component *by_id(world *w, spad_component id) {
    for (int i = 0; i < COMPONENTS; i++) {
        if (w->components[i].id == id) return &w->components[i];
    }
    return NULL;
}

/* Local total along every path; false: a component below itself, or a layout that fails. */
static spad_status sum_local(world *w, m_component *c, spad_registry_unit unit, int depth,
                             int64_t *sum) {
    if (depth > COMPONENTS) return SPAD_ERR_CYCLE;
    if (!c->exists) return SPAD_OK;
    const m_layout l = lay_out(c, unit);
    if (l.status != SPAD_OK) return l.status;
    *sum += l.total[SPAD_REGISTRY_REGION_LOCAL];
    for (int i = 0; i < c->child_count; i++) {
        m_component *child = by_id(w, c->child[i]);
        if (child == NULL) continue;
        const spad_status status = sum_local(w, child, unit, depth + 1, sum);
        if (status != SPAD_OK) return status;
    }
    return SPAD_OK;
}

static void changed(m_component *c) {
    c->valid[0] = c->valid[1] = false;
}

static void drop(m_component *c) {
    c->exists = false;
    c->count = c->child_count = 0;
    changed(c);
}

static void drop_tree(world *w, m_component *c) {
    if (!c->exists) return;
    spad_component children[MAX_CHILDREN];
    const int count = c->child_count;
    memcpy(children, c->child, sizeof children);
    drop(c);
    for (int i = 0; i < count; i++) {
        m_component *child = by_id(w, children[i]);
        if (child != NULL) drop_tree(w, child);
    }
}

/* ---- random material --------------------------------------------------------------- */

static const char *const names[] = {
    "a", "b", "c", "d", "e", "k_shared", "k_persistent", "state", "child_1_shared"};
enum { NAMES = 9 };
static const spad_dtype types[] = {SPAD_FLOAT16, SPAD_FLOAT32, SPAD_FLOAT64, SPAD_INT32,
                                   SPAD_INT64};

static int64_t pick(world *w, int64_t low, int64_t high) {
    return spad__random_in(&w->random, low, high);
}

static const char *pick_name(world *w) {
    return names[pick(w, 0, pick(w, 0, 3) == 0 ? NAMES - 1 : 4)];
}

static spad_registry_buffer pick_buffer(world *w) {
    spad_registry_buffer b = {
        .name = pick_name(w),
        .size = pick(w, 0, 12),
        .location =
            pick(w, 0, 2) == 0 ? SPAD_REGISTRY_LOCATION_LOCAL : SPAD_REGISTRY_LOCATION_SHARED,
        .persistent = pick(w, 0, 2) == 0,
        .aliases = pick(w, 0, 1) == 0 ? pick_name(w) : NULL,
        .precision = pick(w, 0, 2) == 0 ? SPAD_DTYPE_NONE : types[pick(w, 0, 4)],
    };
    if (pick(w, 0, 3) == 0) {
        b.t_begin = pick(w, 0, 6);
        b.t_end = b.t_begin + pick(w, 0, 3);
    }
    return b;
}

static void set_text(char field[24], const char *text) {
    snprintf(field, 24, "%s", text != NULL ? text : "");
}

static m_buffer *slot_for(m_component *c, const char *name) {
    int i = find(c, name);
    if (i < 0) {
        i = c->count++;
        assert_true(c->count <= MAX_BUFFERS);
        memset(&c->buffers[i], 0, sizeof c->buffers[i]);
        set_text(c->buffers[i].name, name);
    }
    c->exists = true;
    changed(c);
    return &c->buffers[i];
}

/* ---- operations, on both ----------------------------------------------------------- */

static void op_register(world *w, m_component *c) {
    const spad_registry_buffer b = pick_buffer(w);
    spad_status expected = SPAD_OK;
    if (b.aliases != NULL && strcmp(b.aliases, b.name) == 0) {
        expected = SPAD_ERR_NAME;
    } else if (b.aliases != NULL && find(c, b.aliases) < 0) {
        expected = SPAD_ERR_UNKNOWN;
    }
    assert_int_equal(spad_registry_register(w->registry, c->id, &b, NULL), expected);
    if (expected != SPAD_OK) return;
    m_buffer *m = slot_for(c, b.name);
    set_text(m->alias, b.aliases);
    m->size = b.size;
    m->shared = b.location == SPAD_REGISTRY_LOCATION_SHARED;
    m->persistent = b.persistent;
    m->type = b.precision != SPAD_DTYPE_NONE ? b.precision : c->type;
    m->begin = b.t_begin;
    m->end = b.t_end;
    m->child_bytes = -1;
    m->child_keeps = false;
}

static void op_update_buffer(world *w, m_component *c) {
    const spad_registry_buffer b = pick_buffer(w);
    const unsigned fields = (unsigned)pick(w, 0, 63);
    spad_registry_change got;
    assert_int_equal(spad_registry_update_buffer(&got, w->registry, c->id, fields, &b, NULL),
                     SPAD_OK);
    const int i = find(c, b.name);
    assert_int_equal(got.recognised, i >= 0);
    if (i < 0) return;
    const m_buffer before = c->buffers[i];
    m_buffer *m = &c->buffers[i];
    if (fields & SPAD_REGISTRY_BUFFER_SIZE) m->size = b.size;
    if (m->size != before.size) m->child_bytes = -1;
    if (fields & SPAD_REGISTRY_BUFFER_LOCATION)
        m->shared = b.location == SPAD_REGISTRY_LOCATION_SHARED;
    if (fields & SPAD_REGISTRY_BUFFER_PERSISTENT) m->persistent = b.persistent;
    if (fields & SPAD_REGISTRY_BUFFER_ALIASES) set_text(m->alias, b.aliases);
    if (fields & SPAD_REGISTRY_BUFFER_PRECISION) {
        m->type = b.precision != SPAD_DTYPE_NONE ? b.precision : c->type;
    }
    if (fields & SPAD_REGISTRY_BUFFER_LIFETIME) {
        m->begin = b.t_begin;
        m->end = b.t_end;
    }
    const bool differs = m->size != before.size || m->shared != before.shared ||
                         m->persistent != before.persistent || m->type != before.type ||
                         m->begin != before.begin || m->end != before.end ||
                         strcmp(m->alias, before.alias) != 0;
    assert_int_equal(got.changed, differs);
    if (differs) changed(c);
}

static void op_update(world *w, m_component *c) {
    char keys[3][40];
    spad_registry_setting settings[3];
    bool known[3];
    bool bad = false;
    for (int i = 0; i < 3; i++) {
        snprintf(keys[i], sizeof keys[i], "%s%s", pick_name(w),
                 pick(w, 0, 4) == 0 ? "_loc" : "_location");
        const int64_t value = pick(w, 0, 20);
        settings[i] = (spad_registry_setting){keys[i], value == 0   ? "Shared"
                                                       : value < 10 ? "shared"
                                                                    : "local"};
        bad |= value == 0 && strstr(keys[i], "_location") != NULL;
    }
    const spad_status status = spad_registry_update(known, w->registry, c->id, settings, 3, NULL);
    assert_int_equal(status, bad && c->exists ? SPAD_ERR_ARGUMENT : SPAD_OK);
    for (int i = 0; i < 3; i++) {
        char *ending = strstr(keys[i], "_location");
        if (ending != NULL) *ending = '\0';
        const int k = ending != NULL && status == SPAD_OK ? find(c, keys[i]) : -1;
        assert_int_equal(known[i], k >= 0);
        if (k < 0) continue;
        const bool shared = strcmp(settings[i].value, "shared") == 0;
        if (c->buffers[k].shared != shared) changed(c);
        c->buffers[k].shared = shared;
    }
}

static void op_child(world *w, m_component *c) {
    m_component *child = &w->components[pick(w, 0, COMPONENTS - 1)];
    const char *base = pick(w, 0, 1) == 0 ? "k" : "state";
    spad_status expected = SPAD_OK;
    m_layout l[SPAD_REGISTRY_UNIT_COUNT];
    for (int unit = 0; unit < SPAD_REGISTRY_UNIT_COUNT; unit++) {
        l[unit] = lay_out(child, (spad_registry_unit)unit);
        if (expected == SPAD_OK) {
            expected = l[unit].status;
            child->valid[unit] = child->exists && expected == SPAD_OK;
        }
    }
    assert_int_equal(spad_registry_register_child(NULL, w->registry, c->id, child->id, base, NULL),
                     expected);
    if (expected != SPAD_OK) return;
    bool keeps = false; /* read before the child changes, which may be the parent itself */
    for (int i = 0; i < child->count; i++) {
        const m_place *p = &l[SPAD_REGISTRY_UNIT_ELEMENT].places[i];
        keeps |= p->region == SPAD_REGISTRY_REGION_SHARED && p->length > 0 &&
                 (child->buffers[i].persistent || child->buffers[i].child_keeps);
    }
    for (int i = 0; i < 2; i++) {
        char name[24];
        snprintf(name, sizeof name, "%s%s", base, i == 0 ? "_shared" : "_persistent");
        const spad_registry_region region =
            i == 0 ? SPAD_REGISTRY_REGION_SHARED : SPAD_REGISTRY_REGION_PERSISTENT;
        m_buffer *m = slot_for(c, name);
        m->alias[0] = '\0';
        m->size = l[SPAD_REGISTRY_UNIT_ELEMENT].total[region];
        m->shared = i == 0;
        m->persistent = i == 1;
        m->type = c->type;
        m->of_child = true;
        m->child_bytes = l[SPAD_REGISTRY_UNIT_BYTE].total[region];
        m->child_align = l[SPAD_REGISTRY_UNIT_BYTE].align[region];
        m->child_keeps = i == 0 && keeps;
    }
    int i = 0;
    while (i < c->child_count && strcmp(c->child_name[i], base) != 0) i++;
    if (i == c->child_count) snprintf(c->child_name[c->child_count++], 8, "%s", base);
    c->child[i] = child->id;
}

static void new_component(world *w, m_component *c) {
    memset(c, 0, sizeof *c);
    c->type = types[pick(w, 0, 2)];
    assert_int_equal(spad_registry_add(&c->id, w->registry, "c", c->type, NULL), SPAD_OK);
}

static void op_clear(world *w, m_component *c) {
    switch (pick(w, 0, 9)) {
    case 0:
        spad_registry_reset(w->registry);
        for (int i = 0; i < COMPONENTS; i++) drop(&w->components[i]);
        break;
    case 1:
        spad_registry_remove(w->registry, c->id);
        new_component(w, c);
        break;
    case 2:
    case 3:
        spad_registry_clear_own(w->registry, c->id);
        drop(c);
        break;
    case 4:
    case 5:
        spad_registry_clear_parent(w->registry, c->id);
        drop_tree(w, c);
        break;
    default:
        spad_registry_clear_layout(w->registry, c->id);
        changed(c);
        break;
    }
}

/* ---- comparison -------------------------------------------------------------------- */

static void compare_slices(const m_component *c, const m_layout *l,
                           const spad_registry_slice *slices) {
    for (int i = 0; i < c->count; i++) {
        const m_place *p = &l->places[i];
        assert_int_equal(slices[i].region, p->region);
        assert_int_equal(slices[i].length, p->length);
        assert_int_equal(slices[i].offset, p->start);
        assert_int_equal(slices[i].consumed, p->taken);
        if (p->inside >= 0) {
            assert_string_equal(slices[i].inside, c->buffers[p->inside].name);
        } else {
            assert_null(slices[i].inside);
        }
    }
}

static void compare_layout(world *w, m_component *c, spad_registry_unit unit) {
    const m_layout l = lay_out(c, unit);
    const spad_registry_slice *slices;
    size_t count;
    spad_error error;
    assert_int_equal(spad_registry_is_laid_out(w->registry, c->id, unit), c->valid[unit]);
    const spad_status status =
        spad_registry_get_layout(&slices, &count, w->registry, c->id, unit, &error);
    assert_int_equal(status, l.status);
    if (status == SPAD_ERR_OVERLAP) { /* it names a pair that does overlap */
        assert_true(share_time_and_space(c, &l, find(c, error.subject), find(c, error.other)));
    }
    if (status != SPAD_OK) return;
    c->valid[unit] = c->exists;
    assert_int_equal(count, c->count);
    compare_slices(c, &l, slices);
    for (int region = 0; region < SPAD_REGISTRY_REGION_COUNT; region++) {
        int64_t got;
        const spad_registry_region r = (spad_registry_region)region;
        assert_int_equal(spad_registry_get_size(&got, w->registry, c->id, r, unit, NULL), SPAD_OK);
        assert_int_equal(got, l.total[region]);
        assert_int_equal(spad_registry_get_alignment(&got, w->registry, c->id, r, unit, NULL),
                         SPAD_OK);
        assert_int_equal(got, l.align[region]);
    }
}

static void compare_declared(world *w, m_component *c, spad_registry_unit unit) {
    int64_t expected = 0;
    int64_t got;
    const m_layout own = lay_out(c, unit);
    spad_status wanted = own.status;
    if (wanted == SPAD_OK) wanted = sum_local(w, c, unit, 0, &expected);
    const spad_status status =
        spad_registry_get_declared_local(&got, w->registry, c->id, unit, NULL);
    /* with several faults below, which one is met first does not matter */
    assert_int_equal(status == SPAD_OK, wanted == SPAD_OK);
    if (status == SPAD_OK)
        assert_int_equal(got, expected + own.total[SPAD_REGISTRY_REGION_PERSISTENT]);
    for (int i = 0; i < COMPONENTS; i++) { /* the walk may have built layouts */
        m_component *other = &w->components[i];
        other->valid[unit] = spad_registry_is_laid_out(w->registry, other->id, unit);
        assert_true(!other->valid[unit] || lay_out(other, unit).status == SPAD_OK);
    }
}

static void compare_counts(world *w, const m_component *c) {
    assert_int_equal(spad_registry_has_group(w->registry, c->id), c->exists);
    assert_int_equal(spad_registry_buffer_count(w->registry, c->id), c->count);
    assert_int_equal(spad_registry_child_count(w->registry, c->id), c->child_count);
}

static void operate(world *w) {
    m_component *c = &w->components[pick(w, 0, COMPONENTS - 1)];
    const int64_t kind = pick(w, 0, 19);
    if (kind < 10) {
        op_register(w, c);
    } else if (kind < 13) {
        op_update_buffer(w, c);
    } else if (kind < 15) {
        op_update(w, c);
    } else if (kind < 18) {
        op_child(w, c);
    } else {
        op_clear(w, c);
    }
    const spad_registry_unit unit = (spad_registry_unit)pick(w, 0, 1);
    if (pick(w, 0, 1) == 0) c = &w->components[pick(w, 0, COMPONENTS - 1)];
    compare_counts(w, c);
    if (pick(w, 0, 2) != 0) compare_layout(w, c, unit);
    if (pick(w, 0, 3) == 0) compare_declared(w, c, unit);
}

static void random_sequences_agree_with_the_model(void **state) {
    (void)state;
    static world w;
    for (int sequence = 0; sequence < SEQUENCES; sequence++) {
        memset(&w, 0, sizeof w);
        w.random.state = (uint64_t)sequence;
        assert_int_equal(spad_registry_create(&w.registry, NULL, NULL), SPAD_OK);
        for (int i = 0; i < COMPONENTS; i++) new_component(&w, &w.components[i]);
        for (int i = 0; i < OPERATIONS; i++) operate(&w);
        for (int i = 0; i < COMPONENTS; i++) {
            compare_layout(&w, &w.components[i], SPAD_REGISTRY_UNIT_ELEMENT);
            compare_layout(&w, &w.components[i], SPAD_REGISTRY_UNIT_BYTE);
        }
        spad_registry_destroy(w.registry);
    }
}

/* ---- lifetimes at a larger scale --------------------------------------------------- */

/* Chains of aliases inside one target: the sweep against all pairs. */
static void the_lifetime_sweep_agrees_with_all_pairs(void **state) {
    (void)state;
    static world w;
    int clean = 0;
    for (int sequence = 0; sequence < 20000; sequence++) {
        memset(&w, 0, sizeof w);
        w.random.state = (uint64_t)sequence;
        m_component *c = &w.components[0];
        assert_int_equal(spad_registry_create(&w.registry, NULL, NULL), SPAD_OK);
        new_component(&w, c);
        const int count = (int)pick(&w, 2, 20);
        for (int i = 0; i < count; i++) {
            char name[24];
            snprintf(name, sizeof name, "n%d", i);
            m_buffer *m = slot_for(c, name);
            if (i > 0) snprintf(m->alias, sizeof m->alias, "n%d", (int)pick(&w, 0, i - 1));
            m->size = i == 0 ? 60 : pick(&w, 1, 60 / i);
            m->shared = true;
            m->type = SPAD_FLOAT32;
            m->child_bytes = -1;
            m->begin = pick(&w, 0, 40);
            m->end = m->begin + pick(&w, 0, 4);
            const spad_registry_buffer b = {.name = m->name,
                                            .size = m->size,
                                            .aliases = i > 0 ? m->alias : NULL,
                                            .precision = SPAD_FLOAT32,
                                            .t_begin = m->begin,
                                            .t_end = m->end};
            assert_int_equal(spad_registry_register(w.registry, c->id, &b, NULL), SPAD_OK);
        }
        clean += lay_out(c, SPAD_REGISTRY_UNIT_ELEMENT).status == SPAD_OK;
        compare_layout(&w, c, SPAD_REGISTRY_UNIT_ELEMENT);
        spad_registry_destroy(w.registry);
    }
    assert_in_range(clean, 2000, 18000); /* both answers come up often */
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_sequences_agree_with_the_model),
        cmocka_unit_test(the_lifetime_sweep_agrees_with_all_pairs),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
