/* SPDX-License-Identifier: Apache-2.0
 *
 * The list of devices: as an array, as a table and as JSON.
 */
#include <string.h>

#include "base/checked.h"
#include "base/memory.h"
#include "base/text.h"
#include "device/backend.h"
#include "device/device.h"

static spad_status list_backend(size_t *count, spad_device_info *out, size_t capacity,
                                const spad_backend *backend, const spad_host *host,
                                spad_error *error) {
    void *driver;
    int found = 0;
    spad_status status = backend->load(&driver, host, error);
    if (status != SPAD_OK) return status;
    status = backend->count(&found, driver, error);
    if (status == SPAD_OK && found == 0)
        status = spad__fail(error, SPAD_ERR_NO_DEVICE, "%s has no device", backend->name);
    for (int i = 0; i < found && status == SPAD_OK; i++) {
        spad_device_info info = {0};
        status = backend->describe(&info, driver, i, error);
        if (status != SPAD_OK) break;
        spad__device_set_name(&info, backend, i);
        if (*count < capacity) out[*count] = info;
        ++*count;
    }
    backend->unload(driver);
    return status;
}

size_t spad__device_list(spad_device_info *out, size_t capacity, const spad_host *host,
                         spad_device_absent absent, void *context) {
    const spad_host h = spad__host_or_default(host);
    const spad_backend *backend;
    size_t count = 0;
    for (size_t i = 0; (backend = spad__backend_get(i)) != NULL; i++) {
        spad_error error;
        if (list_backend(&count, out, capacity, backend, &h, &error) != SPAD_OK && absent != NULL)
            absent(context, backend->name, &error);
    }
    return count;
}

/* ---- as text ----------------------------------------------------------------------- */

enum { LISTED_MAX = 80, ABSENT_MAX = 8 };

typedef struct listing {
    size_t count;
    size_t absent_count;
    spad_device_info devices[LISTED_MAX];
    const char *absent[ABSENT_MAX];
    char reasons[ABSENT_MAX][SPAD_MESSAGE_MAX];
} listing;

static void note_absent(void *context, const char *backend, const spad_error *why) {
    listing *l = context;
    if (l->absent_count == ABSENT_MAX) return;
    l->absent[l->absent_count] = backend;
    memcpy(l->reasons[l->absent_count], why->message, sizeof why->message);
    l->absent_count++;
}

static void pad(spad__out *out, const char *text, size_t width) {
    spad__out_string(out, text);
    spad__out_repeat(out, " ", (int64_t)(width - strlen(text)) + 2);
}

static void write_table(spad__out *out, const listing *l) {
    size_t name_width = strlen("name");
    size_t about_width = strlen("about");
    for (size_t i = 0; i < l->count; i++) {
        const size_t name = strlen(l->devices[i].name);
        const size_t about = strlen(l->devices[i].about);
        if (name > name_width) name_width = name;
        if (about > about_width) about_width = about;
    }
    pad(out, "name", name_width);
    pad(out, "about", about_width);
    spad__out_string(out, "   memory  driver\n");
    for (size_t i = 0; i < l->count; i++) {
        const spad_device_info *d = &l->devices[i];
        pad(out, d->name, name_width);
        pad(out, d->about, about_width);
        if (d->total_bytes > 0) {
            spad__out_format(out, "%5lld MiB  ", (long long)(d->total_bytes >> 20));
        } else {
            spad__out_string(out, "        -  ");
        }
        spad__out_string(out, d->driver);
        spad__out_string(out, "\n");
    }
    for (size_t i = 0; i < l->absent_count; i++) {
        spad__out_format(out, "no %s: ", l->absent[i]);
        spad__out_string(out, l->reasons[i]);
        spad__out_string(out, "\n");
    }
}

static void write_json(spad__out *out, const listing *l) {
    spad__json json;
    spad__json_start(&json, out);
    spad__json_open(&json, '{');
    spad__json_key(&json, "devices");
    spad__json_open(&json, '[');
    for (size_t i = 0; i < l->count; i++) {
        const spad_device_info *d = &l->devices[i];
        spad__json_open(&json, '{');
        spad__json_key_string(&json, "name", d->name);
        spad__json_key_string(&json, "about", d->about);
        spad__json_key_string(&json, "driver", d->driver);
        spad__json_key(&json, "bytes");
        if (d->total_bytes > 0) {
            spad__json_int(&json, d->total_bytes);
        } else {
            spad__json_string(&json, NULL);
        }
        spad__json_key_int(&json, "alignment", d->alignment);
        spad__json_key_bool(&json, "host_reads", d->host_reads);
        spad__json_close(&json, '}');
    }
    spad__json_close(&json, ']');
    spad__json_key(&json, "absent");
    spad__json_open(&json, '[');
    for (size_t i = 0; i < l->absent_count; i++) {
        spad__json_open(&json, '{');
        spad__json_key_string(&json, "backend", l->absent[i]);
        spad__json_key_string(&json, "reason", l->reasons[i]);
        spad__json_close(&json, '}');
    }
    spad__json_close(&json, ']');
    spad__json_close(&json, '}');
    spad__json_end(&json);
}

static spad_status write_list(const spad_sink *sink, const spad_host *host,
                              void (*write)(spad__out *, const listing *), spad_error *error) {
    const spad_host h = spad__host_or_default(host);
    listing *l = spad__new(&h, sizeof *l);
    if (l == NULL) return spad__fail_host_memory(error);
    l->count = spad__device_list(l->devices, LISTED_MAX, &h, note_absent, l);
    if (l->count > LISTED_MAX) l->count = LISTED_MAX;
    spad__out out;
    spad__out_start_text(&out, sink);
    write(&out, l);
    spad__free(&h, l, sizeof *l);
    return spad__out_finish(&out, error);
}

spad_status spad_device_write_list(const spad_sink *sink, const spad_host *host,
                                   spad_error *error) {
    return write_list(sink, host, write_table, error);
}

spad_status spad_device_write_list_json(const spad_sink *sink, const spad_host *host,
                                        spad_error *error) {
    return write_list(sink, host, write_json, error);
}
