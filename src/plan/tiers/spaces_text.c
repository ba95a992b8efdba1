/* SPDX-License-Identifier: Apache-2.0
 *
 * Plans of several memories in words and as JSON.
 */
#include "base/text.h"
#include "plan/problem/problem.h"
#include "plan/tiers/spaces.h"

/* "sram (capacity 100 B)" */
static spad_status write_space_heading(const spad_tier *memory, bool first, const spad_sink *sink,
                                       spad_error *error) {
    spad__out out;
    spad__out_start(&out, sink);
    if (!first) spad__out_string(&out, "\n");
    spad__out_string(&out, "space     ");
    spad__out_one_line(&out, memory->name);
    if (memory->capacity != SPAD_UNBOUNDED)
        spad__out_format(&out, ", %s", spad__exact_size(memory->capacity).text);
    spad__out_string(&out, "\n");
    return spad__out_finish(&out, error);
}

static spad_status write_spaces_text(const spad_spaces *spaces, const spad_spaces_result *result,
                                     const spad_sink *sink, spad_error *error) {
    if (result->tiers != NULL)
        return spad__tiers_write_text(spaces->tiers, result->tiers, sink, error);
    spad_status status = SPAD_OK;
    for (size_t m = 0; m < result->count && status == SPAD_OK; m++) {
        const spad_spaces_part *part = &result->parts[m];
        status = write_space_heading(&spaces->memories[m], m == 0, sink, error);
        if (status == SPAD_OK)
            status = spad_plan_write(part->plan, part->result, part->reason, SPAD_FORMAT_TEXT, sink,
                                     error);
    }
    return status;
}

static void json_space_part(spad__json *json, const spad_spaces *spaces, size_t m,
                            const spad_spaces_part *part) {
    const spad_tier *memory = &spaces->memories[m];
    spad__json_open(json, '{');
    spad__json_key_string(json, "name", memory->name);
    if (memory->capacity != SPAD_UNBOUNDED) spad__json_key_int(json, "capacity", memory->capacity);
    spad__json_key_int(json, "cost", memory->cost);
    if (part->result != NULL) {
        spad__json_key_open(json, "plan", '{');
        spad__plan_json(json, part->plan, part->result, part->reason);
        spad__json_close(json, '}');
    }
    spad__json_close(json, '}');
}

static void json_stays(spad__json *json, const spad_spaces *spaces, const spad_tiers_result *r) {
    if (r->cost != SPAD_UNBOUNDED) spad__json_key_int(json, "cost", r->cost);
    if (r->bound != SPAD_UNBOUNDED) spad__json_key_int(json, "bound", r->bound);
    spad__json_key_int(json, "moved", r->moved);
    spad__json_key_int(json, "nodes", r->nodes);
    spad__json_key_int(json, "nanoseconds", r->nanoseconds);
    spad__json_key_open(json, "stays", '[');
    for (size_t k = 0; k < r->stay_count; k++) {
        const spad_tier_stay *s = &r->stays[k];
        spad__json_open(json, '{');
        spad__json_key_int(json, "row", (int64_t)s->buffer);
        spad__json_key_string(json, "name", spaces->all->buffers.items[s->buffer].name);
        spad__json_key_string(json, "space", spaces->memories[s->memory].name);
        spad__json_key_int(json, "lower", s->lower);
        spad__json_key_int(json, "upper", s->upper);
        spad__json_key_int(json, "offset", s->offset);
        spad__json_close(json, '}');
    }
    spad__json_close(json, ']');
}

static spad_status write_spaces_json(const spad_spaces *spaces, const spad_spaces_result *result,
                                     const spad_sink *sink, spad_error *error) {
    spad__out out;
    spad__json json;
    spad__out_start(&out, sink);
    spad__json_start(&json, &out);
    spad__json_open(&json, '{');
    spad__json_key_string(&json, "verdict", spad_plan_verdict_name(result->verdict));
    if (result->tiers != NULL) json_stays(&json, spaces, result->tiers);
    spad__json_key_open(&json, "spaces", '[');
    for (size_t m = 0; m < result->count; m++) json_space_part(&json, spaces, m, &result->parts[m]);
    spad__json_close(&json, ']');
    spad__json_close(&json, '}');
    spad__json_end(&json);
    return spad__out_finish(&out, error);
}

spad_status spad_spaces_write(const spad_spaces *spaces, const spad_spaces_result *result,
                              spad_format format, const spad_sink *sink, spad_error *error) {
    if (format == SPAD_FORMAT_TEXT) return write_spaces_text(spaces, result, sink, error);
    if (format == SPAD_FORMAT_JSON) return write_spaces_json(spaces, result, sink, error);
    return spad__fail_format(error);
}
