/* SPDX-License-Identifier: Apache-2.0
 * The least a user of the installed library does. */
#include <spad/spad.h>

int main(void) {
    const spad_target *target;
    spad_error error;
    if (spad_target_find(&target, "trn2", &error) != SPAD_OK) return 1;
    printf("spad %s knows %s\n", spad_version(), target->name);
    return 0;
}
