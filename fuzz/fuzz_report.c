/* SPDX-License-Identifier: Apache-2.0
 *
 * Any boxes, bars and findings with any names through every writer of reports and
 * emitters, and what comes out read back: JSON must parse (also the data in the page, which
 * must hold no '<'), SVG must be balanced XML without control characters, text must be 80
 * columns of printable characters, and nothing of a name may leave the comments and strings
 * of an emitted header.
 *
 * Input: records of an operation byte, numbers, and a name up to a NUL. Operations from 128 on have
 * more numbers.
 */
#include "fuzz.h"
#include "spad/spad.h"

static const spad_space spaces[] = {
    {.name = "pad<&>",
     .about = "\"a\"",
     .lanes = 128,
     .bytes = 4096,
     .reserved = 64,
     .alignment = 1,
     .granule = 1,
     .bank_bytes = 512},
    {.name = "pad*/",
     .about = "",
     .lanes = 1,
     .bytes = SPAD_UNBOUNDED,
     .alignment = 1,
     .granule = 1},
};
static const spad_target target = {
    .name = "toy</title>", .about = "<b>", .space_count = 2, .spaces = spaces};

static int64_t next_number(fuzz_input *in) {
    static const int64_t edges[] = {0, 1, 127, 4096, INT64_MAX, INT64_MIN, INT64_MAX - 8, -1};
    const int first = fuzz_next(in);
    if (first >= 248) return edges[first - 248];
    return first < 200 ? first : first * 256 + fuzz_next(in);
}

/* A name of the input, in a buffer of the caller. */
static const char *next_name(fuzz_input *in, char *field, size_t size) {
    size_t used = 0;
    while (in->size > 0 && *in->data != 0 && used + 1 < size) field[used++] = (char)fuzz_next(in);
    if (in->size > 0) fuzz_next(in);
    field[used] = '\0';
    return field;
}

/* ---- readers ----------------------------------------------------------------------- */

typedef struct reader {
    const char *at;
    const char *end;
} reader;

static void skip_blanks(reader *r) {
    while (r->at < r->end && strchr(" \n\r\t", *r->at) != NULL) r->at++;
}

static void read_string(reader *r) {
    REQUIRE(r->at < r->end && *r->at++ == '"');
    for (;; r->at++) {
        REQUIRE(r->at < r->end && (unsigned char)*r->at >= 0x20);
        if (*r->at == '"') break;
        if (*r->at != '\\') continue;
        r->at++;
        REQUIRE(r->at < r->end && strchr("\"\\/bfnrtu", *r->at) != NULL);
        if (*r->at != 'u') continue;
        for (int i = 0; i < 4; i++) {
            r->at++;
            REQUIRE(r->at < r->end && strchr("0123456789abcdefABCDEF", *r->at) != NULL);
        }
    }
    r->at++;
}

static void read_word(reader *r, const char *word) {
    const size_t length = strlen(word);
    REQUIRE((size_t)(r->end - r->at) >= length && memcmp(r->at, word, length) == 0);
    r->at += length;
}

static void read_number(reader *r) {
    if (*r->at == '-') r->at++;
    const char *start = r->at;
    while (r->at < r->end && *r->at >= '0' && *r->at <= '9') r->at++;
    REQUIRE(r->at > start && (*start != '0' || r->at == start + 1));
    if (r->at >= r->end || *r->at != '.') return;
    start = ++r->at;
    while (r->at < r->end && *r->at >= '0' && *r->at <= '9') r->at++;
    REQUIRE(r->at > start);
}

static void read_value(reader *r, int depth);

static void read_items(reader *r, char close, int depth) {
    r->at++;
    skip_blanks(r);
    if (r->at < r->end && *r->at == close) {
        r->at++;
        return;
    }
    for (;;) {
        skip_blanks(r);
        if (close == '}') {
            read_string(r);
            skip_blanks(r);
            read_word(r, ":");
        }
        read_value(r, depth + 1);
        skip_blanks(r);
        REQUIRE(r->at < r->end && (*r->at == ',' || *r->at == close));
        if (*r->at++ == close) return;
    }
}

static void read_value(reader *r, int depth) {
    REQUIRE(depth < 32);
    skip_blanks(r);
    REQUIRE(r->at < r->end);
    switch (*r->at) {
    case '{': read_items(r, '}', depth); break;
    case '[': read_items(r, ']', depth); break;
    case '"': read_string(r); break;
    case 't': read_word(r, "true"); break;
    case 'f': read_word(r, "false"); break;
    case 'n': read_word(r, "null"); break;
    default: read_number(r);
    }
}

static void check_json(const char *text, size_t length) {
    reader r = {text, text + length};
    read_value(&r, 0);
    skip_blanks(&r);
    REQUIRE(r.at == r.end);
}

/* Tags are balanced, attributes quoted, and no character is one that XML forbids. */
static void check_xml(const char *text, size_t length) {
    int depth = 0;
    for (size_t i = 0; i < length; i++) {
        const unsigned char c = (unsigned char)text[i];
        REQUIRE(c >= 0x20 || c == '\n');
        REQUIRE(c != '>');
        if (c == '&') REQUIRE(i + 1 < length && text[i + 1] == '#');
        if (c != '<') continue;
        const bool closes = text[i + 1] == '/';
        bool quoted = false;
        for (i++; i < length && (quoted || text[i] != '>'); i++) {
            if (text[i] == '"') quoted = !quoted;
            REQUIRE(text[i] != '<');
        }
        REQUIRE(i < length);
        depth += closes ? -1 : text[i - 1] == '/' ? 0 : 1;
        REQUIRE(depth >= 0);
    }
    REQUIRE(depth == 0);
}

static void check_page(fuzz_text *text) {
    static const char open[] = "<script type=\"application/json\" id=\"data\">";
    fuzz_append(text, "", 1);
    char *start = strstr(text->bytes, open);
    REQUIRE(start != NULL && strlen(text->bytes) + 1 == text->count);
    start += sizeof open - 1;
    char *end = strstr(start, "</script>");
    REQUIRE(end != NULL);
    REQUIRE(memchr(start, '<', (size_t)(end - start)) == NULL);
    check_json(start, (size_t)(end - start));
}

static void check_text(const char *text, size_t length) {
    size_t column = 0;
    for (size_t i = 0; i < length; i++) {
        const unsigned char c = (unsigned char)text[i];
        REQUIRE(c >= 0x20 || c == '\n');
        REQUIRE(c != 0x7F);
        column = c == '\n' ? 0 : column + ((c & 0xC0) != 0x80);
        REQUIRE(column <= 80);
    }
}

/* Outside of comments and strings a header has only these characters. */
static void check_header(const char *text, size_t length) {
    static const char allowed[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_ "
                                  "\n#(){}<>!=|%*+-;:&,?.";
    for (size_t i = 0; i < length; i++) {
        if (text[i] == '/' && i + 1 < length && text[i + 1] == '*') {
            for (i += 2; i + 1 < length && !(text[i] == '*' && text[i + 1] == '/'); i++) {
                REQUIRE((unsigned char)text[i] >= 0x20 || text[i] == '\n');
            }
            REQUIRE(i + 1 < length);
            i++;
        } else if (text[i] == '"') {
            for (i++; i < length && text[i] != '"'; i++)
                REQUIRE(text[i] != '\n' && text[i] != '\\');
            REQUIRE(i < length);
        } else {
            REQUIRE(text[i] != '\0' && strchr(allowed, text[i]) != NULL);
        }
    }
}

/* ---- filling ----------------------------------------------------------------------- */

/* `more`: also with what was lost to rounding, an alignment, and any padding, slots and family. */
static void add_box(spad_report *report, spad_emit *table, fuzz_input *in, bool more) {
    char name[4096];
    const int64_t dims[] = {next_number(in), next_number(in)};
    const int flags = fuzz_next(in);
    spad_report_box box = {
        .space = (size_t)(flags & 1),
        .rect = {next_number(in), next_number(in), next_number(in), next_number(in)},
        .begin = next_number(in),
        .end = next_number(in),
        .mode = (spad_mode)(flags % SPAD_MODE_COUNT),
        .dtype = (spad_dtype)(flags % SPAD_DTYPE_COUNT),
        .open = (flags & 2) != 0,
        .slots = flags & 4 ? 2 : 0,
        .slot = flags & 8 ? 1 : 0,
        .family = flags & 16 ? 1 : SPAD_NO_FAMILY,
        .padding = flags & 32 ? 1 : 0,
        .line = flags & 64};
    if (more) {
        box.rounding = next_number(in);
        box.alignment = next_number(in);
        box.padding = next_number(in);
        box.slot = next_number(in);
        box.slots = next_number(in);
        box.family = next_number(in);
        box.line = (int32_t)next_number(in);
    }
    box.shape = (spad_shape){flags & 128 ? 2 : 0, dims};
    box.name = next_name(in, name, sizeof name);
    if (spad_report_add_box(report, &box, NULL) != SPAD_OK) return;
    const spad_emit_place places[] = {{box.rect.lane, box.rect.byte},
                                      {box.rect.lane, box.rect.byte}};
    const spad_emit_buffer buffer = {.name = box.name,
                                     .space = box.space,
                                     .lanes = box.rect.lanes,
                                     .bytes = box.rect.bytes,
                                     .alignment = 1 + (flags & 7),
                                     .count = 1 + (size_t)(flags & 1),
                                     .places = places,
                                     .shape = box.shape,
                                     .dtype = box.dtype};
    spad_emit_add(table, &buffer, NULL);
}

/* `more`: also with the bytes that it reads and writes, and a line. */
static void add_bar(spad_report *report, fuzz_input *in, bool more) {
    char row[64];
    char name[256];
    char wait[256];
    const int64_t begin = next_number(in);
    spad_report_bar bar = {.row = next_name(in, row, sizeof row),
                           .name = next_name(in, name, sizeof name),
                           .begin = begin,
                           .end = next_number(in),
                           .ready = fuzz_next(in) & 1 ? begin : next_number(in),
                           .wait = next_name(in, wait, sizeof wait),
                           .critical = (begin & 1) != 0};
    if (more) {
        bar.reads = next_number(in);
        bar.writes = next_number(in);
        bar.line = (int32_t)next_number(in);
    }
    spad_report_add_bar(report, &bar, NULL);
}

static void add_finding(spad_report *report, fuzz_input *in) {
    spad_finding finding = {.severity = (spad_severity)(fuzz_next(in) % 3),
                            .line = fuzz_next(in),
                            .time = next_number(in),
                            .note_count = 1};
    next_name(in, finding.message, sizeof finding.message);
    next_name(in, finding.subject, sizeof finding.subject);
    next_name(in, finding.notes[0].message, sizeof finding.notes[0].message);
    spad_report_add_finding(report, &finding, NULL);
}

/* A few buffers, most of which do not fit, with the changes and the sets that help. The boxes of
 * the plan itself are drawn where it fits, too. */
static void add_plan(spad_report *report, fuzz_input *in) {
    char name[64];
    spad_plan *plan;
    spad_plan_result *result;
    spad_plan_reason *reason = NULL;
    REQUIRE(spad_plan_create(&plan, NULL, NULL) == SPAD_OK);
    REQUIRE(spad_plan_set_capacity(plan, 16 + fuzz_next(in), NULL) == SPAD_OK);
    for (int left = 1 + fuzz_next(in) % 5; left > 0; left--) {
        const int flags = fuzz_next(in);
        const int64_t begin = flags % 4;
        const spad_plan_buffer buffer = {.name = next_name(in, name, sizeof name),
                                         .lower = begin,
                                         .upper = begin + 1 + flags / 64,
                                         .size = fuzz_next(in),
                                         .alignment = INT64_C(1) << flags / 4 % 4};
        spad_plan_add(NULL, plan, &buffer, NULL); /* a name may be there already */
    }
    REQUIRE(spad_plan_solve(&result, plan, NULL, NULL) == SPAD_OK);
    if (spad_report_add_plan(report, plan, result, 1, NULL) == SPAD_OK) {
        if (result->verdict == SPAD_PLAN_INFEASIBLE || result->verdict == SPAD_PLAN_UNKNOWN)
            REQUIRE(spad_plan_explain(&reason, plan, result, 0, NULL, NULL) == SPAD_OK);
        /* a report has only so many notes */
        const spad_status status = spad_report_add_reason(report, plan, result, reason, NULL);
        REQUIRE(status == SPAD_OK || status == SPAD_ERR_ARGUMENT || status == SPAD_ERR_OVERFLOW);
    }
    spad_plan_reason_destroy(reason);
    spad_plan_result_destroy(result);
    spad_plan_destroy(plan);
}

static void fill(spad_report *report, spad_emit *table, fuzz_input *in) {
    for (int i = 0; i < 64 && in->size > 0; i++) {
        char text[512];
        const int record = fuzz_next(in);
        switch (record % 8) {
        case 0: add_bar(report, in, record >= 128); break;
        case 1: add_finding(report, in); break;
        case 2: spad_report_add_note(report, next_name(in, text, sizeof text), NULL); break;
        case 3:
            next_name(in, text, sizeof text);
            spad_report_set_source(report, text, text, strlen(text), NULL);
            break;
        default:
            if (record % 8 == 4 && record >= 192)
                add_plan(report, in);
            else
                add_box(report, table, in, record >= 128);
        }
    }
}

/* ---- writing ----------------------------------------------------------------------- */

static fuzz_text write_report(const spad_report *report, spad_format format) {
    fuzz_text text = {0};
    const spad_sink sink = {fuzz_append, &text};
    REQUIRE(spad_report_write(report, format, &sink, NULL) == SPAD_OK);
    return text;
}

static void check_reports(const spad_report *report) {
    fuzz_text text = write_report(report, SPAD_FORMAT_JSON);
    check_json(text.bytes, text.count);
    free(text.bytes);
    text = write_report(report, SPAD_FORMAT_TRACE);
    check_json(text.bytes, text.count);
    free(text.bytes);
    text = write_report(report, SPAD_FORMAT_SVG);
    check_xml(text.bytes, text.count);
    free(text.bytes);
    text = write_report(report, SPAD_FORMAT_LIGHT);
    check_xml(text.bytes, text.count);
    free(text.bytes);
    text = write_report(report, SPAD_FORMAT_HTML);
    check_page(&text);
    free(text.bytes);
    text = write_report(report, SPAD_FORMAT_TEXT);
    check_text(text.bytes, text.count);
    free(text.bytes);
}

static void check_diff(const spad_report *a, const spad_report *b) {
    spad_report_diff *diff;
    fuzz_text text = {0};
    const spad_sink sink = {fuzz_append, &text};
    REQUIRE(spad_report_diff_create(&diff, a, b, NULL, NULL) == SPAD_OK);
    REQUIRE(spad_report_diff_write(diff, SPAD_FORMAT_JSON, &sink, NULL) == SPAD_OK);
    check_json(text.bytes, text.count);
    free(text.bytes);
    text = (fuzz_text){0};
    REQUIRE(spad_report_diff_write(diff, SPAD_FORMAT_HTML, &sink, NULL) == SPAD_OK);
    check_page(&text);
    free(text.bytes);
    text = (fuzz_text){0};
    REQUIRE(spad_report_diff_write(diff, SPAD_FORMAT_TEXT, &sink, NULL) == SPAD_OK);
    free(text.bytes);
    spad_report_diff_destroy(diff);
}

static void check_tables(const spad_emit *table) {
    for (int lang = 0; lang < SPAD_EMIT_LANGS; lang++) {
        fuzz_text text = {0};
        const spad_sink sink = {fuzz_append, &text};
        const spad_status status = spad_emit_write(table, (spad_emit_lang)lang, &sink, NULL);
        if (lang == SPAD_EMIT_TILELANG && status == SPAD_ERR_ARGUMENT)
            continue; /* no such memory */
        REQUIRE(status == SPAD_OK);
        if (lang == SPAD_EMIT_JSON) check_json(text.bytes, text.count);
        if (lang == SPAD_EMIT_C || lang == SPAD_EMIT_CUDA) check_header(text.bytes, text.count);
        free(text.bytes);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    fuzz_input in = {data, size};
    char title[512];
    spad_report *report;
    spad_report *empty;
    spad_emit *table;
    next_name(&in, title, sizeof title);
    const spad_report_options options = {.title = title,
                                         .time_unit = title[0] == 'n' ? "ns" : NULL};
    REQUIRE(spad_report_create(&report, &target, &options, NULL) == SPAD_OK);
    REQUIRE(spad_report_create(&empty, &target, NULL, NULL) == SPAD_OK);
    REQUIRE(spad_emit_create(&table, &target, title, NULL, NULL) == SPAD_OK);
    fill(report, table, &in);
    check_reports(report);
    check_diff(report, empty);
    check_tables(table);
    spad_emit_destroy(table);
    spad_report_destroy(empty);
    spad_report_destroy(report);
    return 0;
}
