/* SPDX-License-Identifier: Apache-2.0 */
#include "check/check.h"

spad_status spad__check_advice(spad__run *run, spad_error *error) {
    (void)run;
    (void)error;
    return SPAD_OK;
}
