/* SPDX-License-Identifier: Apache-2.0
 *
 * Work whose results are never used; see dead_work.c.
 */
#ifndef SPAD_CHECK_DEAD_WORK_H
#define SPAD_CHECK_DEAD_WORK_H

#include "finding/findings.h"

/* Adds a finding for each statement. SPAD_ERR_HOST_MEMORY. */
spad_status spad__check_wasted(spad__run *run, spad_error *error);

/* How long an execution of a statement takes, in words; NULL: not known. */
typedef const char *spad__statement_time(void *context, int64_t statement);

/* Adds that to the findings about work that nothing uses. */
void spad__wasted_add_times(spad_check *check, spad__statement_time *time_of, void *context);

#endif
