/* SPDX-License-Identifier: Apache-2.0
 *
 * A driver that cannot be used: test_absent DEVICE REASON opens the device, which must be refused
 * for that reason, and finds the back end among the absent ones of the list. */
#include <stdio.h>
#include <string.h>

#include "device/device.h"
#include "spad/device/device.h"

typedef struct search {
    const char *reason;
    bool found;
} search;

static void note(void *context, const char *backend, const spad_error *why) {
    search *s = context;
    (void)backend;
    s->found |= strcmp(why->message, s->reason) == 0;
}

int main(int argc, char **argv) {
    spad_error error = {0};
    spad_device *device;
    if (argc != 3) return 2;
    const spad_status status = spad_device_open(&device, argv[1], NULL, &error);
    search s = {.reason = argv[2]};
    spad__device_list(NULL, 0, NULL, note, &s);
    if (status == SPAD_ERR_NO_DEVICE && strcmp(error.message, argv[2]) == 0 && s.found) return 0;
    fprintf(stderr, "status %d, %s, %s\n", (int)status, error.message,
            s.found ? "listed" : "not listed");
    return 1;
}
