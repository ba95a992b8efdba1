/* SPDX-License-Identifier: Apache-2.0
 *
 * PTX: any bytes give a module or faults with a message. In a module every number leads to
 * something that is there.
 */
#include "frontend/ptx/text/ptx_module.h"
#include "fuzz.h"

enum { LENGTH_MAX = 1 << 16 };

/* Sums up bytes, so that a sanitizer sees those that are not there. */
static unsigned touch(const void *bytes, int64_t count) {
    const uint8_t *at = bytes;
    unsigned sum = 0;
    for (int64_t i = 0; i < count; i++) sum += at[i];
    return sum;
}

static void require_range(int32_t first, int32_t count, size_t most) {
    REQUIRE(first >= 0 && count >= 0 && (size_t)first <= most &&
            (size_t)count <= most - (size_t)first);
}

static void check_variables(const spad__ptx_module *m, const spad__ptx_variable *v, size_t count) {
    for (size_t i = 0; i < count; i++) {
        REQUIRE(v[i].name != NULL && v[i].align > 0 && v[i].bytes >= 0);
        REQUIRE(v[i].space > SPAD__PTX_NO_SPACE && v[i].space < SPAD__PTX_SPACES);
        if (v[i].initial != NULL) touch(v[i].initial, v[i].bytes);
        require_range(v[i].first_relocation, v[i].relocation_count, m->relocations.count);
    }
}

static void check_operands(const spad__ptx_module *m, const spad__ptx_function *f, int32_t first,
                           int32_t count, int depth) {
    require_range(first, count, m->operands.count);
    REQUIRE(depth < 2); /* vectors do not nest */
    for (int32_t i = first; i < first + count; i++) {
        const spad__ptx_operand *o = &m->operands.items[i];
        REQUIRE(o->kind <= SPAD__PTX_VECTOR);
        REQUIRE(o->reg >= -1 && o->reg < f->register_count);
        REQUIRE(o->also >= -1 && o->also < f->register_count);
        REQUIRE((o->kind == SPAD__PTX_REGISTER) <= (o->reg >= 0));
        if (o->variable >= SPAD__PTX_LOCAL) {
            REQUIRE(o->variable - SPAD__PTX_LOCAL < f->variable_count);
        } else if (o->variable >= 0) {
            REQUIRE((size_t)o->variable < m->variables.count);
        }
        switch (o->kind) {
        case SPAD__PTX_LABEL: REQUIRE(o->value >= 0 && o->value <= f->instruction_count); break;
        case SPAD__PTX_TABLE: REQUIRE(o->value >= -1 && o->value < f->table_count); break;
        case SPAD__PTX_FUNCTION:
            REQUIRE(o->value >= 0 && (size_t)o->value < m->functions.count);
            break;
        case SPAD__PTX_VECTOR:
        case SPAD__PTX_ADDRESS: check_operands(m, f, o->first, o->count, depth + 1); break;
        default: break;
        }
    }
}

static void check_tables(const spad__ptx_module *m, const spad__ptx_function *f) {
    for (int32_t i = 0; i < f->table_count; i++) {
        const spad__ptx_branch_table t = m->tables.items[f->first_table + i];
        require_range(t.first, t.count, m->targets.count);
        for (int32_t k = 0; k < t.count; k++) REQUIRE(m->targets.items[t.first + k] >= 0);
    }
}

static void check_function(const spad__ptx_module *m, const spad__ptx_function *f, size_t length) {
    REQUIRE(f->name != NULL);
    require_range(f->first_instruction, f->instruction_count, m->instructions.count);
    require_range(f->first_register, f->register_count, m->registers.count);
    require_range(f->first_variable, f->variable_count, m->locals.count);
    require_range(f->first_table, f->table_count, m->tables.count);
    REQUIRE(f->result_count <= f->parameter_count && f->parameter_count <= f->variable_count);
    check_tables(m, f);
    for (int32_t i = 0; i < f->instruction_count; i++) {
        const spad__ptx_instruction *in = &m->instructions.items[f->first_instruction + i];
        REQUIRE(in->op >= SPAD__PTX_OP_UNKNOWN && in->op < SPAD__PTX_OP_COUNT);
        REQUIRE(in->guard >= -1 && in->guard < f->register_count);
        REQUIRE(in->location >= -1 && in->location < (int32_t)m->locations.count);
        REQUIRE(in->name.start < length && in->name.length <= length - in->name.start);
        REQUIRE(in->line >= 1 && in->type_count <= SPAD__PTX_TYPES);
        check_operands(m, f, in->first, in->count, 0);
    }
}

static void check_module(const spad__ptx_module *m, size_t length) {
    REQUIRE(m->target != NULL && (m->address_bytes == 4 || m->address_bytes == 8));
    for (size_t i = 0; i < m->functions.count; i++) {
        check_function(m, &m->functions.items[i], length);
    }
    check_variables(m, m->variables.items, m->variables.count);
    check_variables(m, m->locals.items, m->locals.count);
    for (size_t i = 0; i < m->locations.count; i++) {
        const spad__ptx_location *l = &m->locations.items[i];
        REQUIRE(l->inlined_at >= -1 && l->inlined_at < (int32_t)i);
        REQUIRE(l->file == -1 || m->files.items[l->file] != NULL);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    const spad__source source = {"fuzz.ptx", (const char *)data, size};
    spad__ptx_module module;
    spad_error error;
    if (size > LENGTH_MAX) return 0;
    spad__ptx_detect(source.text, size);
    const spad_status status = spad__ptx_parse(&module, NULL, &source, NULL, &error);
    if (status == SPAD_OK) {
        check_module(&module, size);
    } else {
        REQUIRE(status == SPAD_ERR_SYNTAX && error.message[0] != '\0' && error.line > 0);
    }
    spad__ptx_module_free(&module);
    return 0;
}
