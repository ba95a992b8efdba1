/* SPDX-License-Identifier: Apache-2.0
 *
 * Calls with a fault: a host whose N-th request for memory fails, a sink that fails at byte N, and
 * what has to hold for every call that meets one:
 *
 *   - it returns SPAD_ERR_HOST_MEMORY or SPAD_ERR_IO, and without a fault neither of them; or it
 *     fails for the reason for which it fails without a fault, perhaps with fewer facts;
 *   - on failure the error has its code and a message, on success it is left alone;
 *   - an output is NULL then, and all memory that was taken for it is given back;
 *   - nothing else has changed: the call made again gives what it gives without a fault.
 *
 * TRY and TRY_OUT make a call under these rules and repeat one that met the fault, so that a whole
 * run with a fault must end in the same bytes as one without.
 */
#ifndef SPAD_FUZZ_FAULTS_H
#define SPAD_FUZZ_FAULTS_H

#include <stdbool.h>

#include "fuzz.h"
#include "spad/host.h"
#include "spad/status.h"

typedef enum fuzz_fault {
    FUZZ_NO_FAULT,
    FUZZ_ONE_REQUEST,   /* the N-th request for memory */
    FUZZ_REQUESTS_FROM, /* that one and all after it in the same call */
    FUZZ_WRITE,         /* the write with the N-th byte */
    FUZZ_FAULTS
} fuzz_fault;

/* Zeroed, then fuzz_run_init. */
typedef struct fuzz_run {
    spad_host host; /* pass &run->host */
    spad_sink sink; /* pass &run->sink */
    fuzz_text text; /* what the sink received */
    spad_error error;
    spad_status status; /* of the last call */
    fuzz_fault fault;
    uint64_t at;        /* N, from 1 */
    uint64_t requests;  /* for memory, so far */
    uint64_t written;   /* bytes that the sink was offered, so far */
    bool met;           /* the fault, in this call */
    spad_status reason; /* that a call with the fault failed for, which is not the fault's */
    int64_t blocks;     /* live */
    /* of the call that is running */
    const char *what;
    size_t text_before;
    int64_t blocks_before;
} fuzz_run;

enum { FUZZ_UNTOUCHED = 0x5A, FUZZ_HEAD = 16 };

/* Blocks carry their size in front, and move with every change of it. */
static inline void *fuzz_resize(void *context, void *block, size_t old_size, size_t new_size) {
    fuzz_run *run = context;
    char *const old = block != NULL ? (char *)block - FUZZ_HEAD : NULL;
    char *made = NULL;
    if (old != NULL) REQUIRE(memcmp(old, &old_size, sizeof old_size) == 0);
    if (new_size > 0) {
        run->requests++;
        const bool first = run->requests == run->at;
        const bool later = run->requests > run->at && run->fault == FUZZ_REQUESTS_FROM;
        if ((first && run->fault == FUZZ_ONE_REQUEST) ||
            (first && run->fault == FUZZ_REQUESTS_FROM) || later) {
            run->met = true;
            return NULL;
        }
        made = malloc(FUZZ_HEAD + new_size);
        REQUIRE(made != NULL);
        memcpy(made, &new_size, sizeof new_size);
        if (old != NULL) {
            memcpy(made + FUZZ_HEAD, block, old_size < new_size ? old_size : new_size);
        }
    }
    run->blocks += (made != NULL) - (old != NULL);
    free(old);
    return made != NULL ? made + FUZZ_HEAD : NULL;
}

static inline int fuzz_write(void *context, const char *bytes, size_t count) {
    fuzz_run *run = context;
    REQUIRE(!run->met || run->fault != FUZZ_WRITE); /* no write after one that failed */
    run->written += count;
    if (run->fault == FUZZ_WRITE && run->written >= run->at) {
        run->met = true;
        return -1;
    }
    return fuzz_append(&run->text, bytes, count);
}

static inline void fuzz_run_init(fuzz_run *run, fuzz_fault fault, uint64_t at) {
    *run = (fuzz_run){.fault = fault, .at = at};
    run->host = (spad_host){fuzz_resize, run};
    run->sink = (spad_sink){fuzz_write, run};
}

/* A rule that the call which is running has to keep. */
#define RULE(run, condition)                                                                    \
    do {                                                                                        \
        if (!(condition)) fprintf(stderr, "after %s: %s\n", (run)->what, (run)->error.message); \
        REQUIRE(condition);                                                                     \
    } while (0)

static inline void fuzz_begin_call(fuzz_run *run, const char *what) {
    run->what = what;
    memset(&run->error, FUZZ_UNTOUCHED, sizeof run->error);
    run->text_before = run->text.count;
    run->blocks_before = run->blocks;
}

static inline bool fuzz_error_untouched(const spad_error *error) {
    const unsigned char *bytes = (const unsigned char *)error;
    for (size_t i = 0; i < sizeof *error; i++) {
        if (bytes[i] != FUZZ_UNTOUCHED) return false;
    }
    return true;
}

/* True: the call met the fault, which is over now, and has to be made again. */
static inline bool fuzz_end_call(fuzz_run *run) {
    const spad_status wanted = run->fault == FUZZ_WRITE ? SPAD_ERR_IO : SPAD_ERR_HOST_MEMORY;
    RULE(run, run->status != SPAD_ERR_INTERNAL);
    if (run->status == SPAD_OK) {
        RULE(run, fuzz_error_untouched(&run->error));
    } else {
        RULE(run, run->error.code == run->status && run->error.message[0] != '\0');
        RULE(run, memchr(run->error.message, '\n', strlen(run->error.message)) == NULL);
    }
    if (!run->met) {
        RULE(run, run->reason == SPAD_OK || run->status == run->reason);
        run->reason = SPAD_OK;
        RULE(run, run->status != SPAD_ERR_HOST_MEMORY && run->status != SPAD_ERR_IO);
        return false;
    }
    /* a call that fails anyway may keep its own reason, with facts missing */
    RULE(run, run->status != SPAD_OK);
    if (run->status != wanted) run->reason = run->status;
    run->met = false;
    run->fault = FUZZ_NO_FAULT;
    run->text.count = run->text_before;
    return true;
}

/* Makes a call that returns a status; its error argument is &(run)->error. */
#define TRY(run, call)                      \
    do {                                    \
        bool try_again;                     \
        do {                                \
            fuzz_begin_call(run, #call);    \
            (run)->status = (call);         \
            try_again = fuzz_end_call(run); \
        } while (try_again);                \
    } while (0)

/* The same for a call that makes an object, `out`. */
#define TRY_OUT(run, out, call)                                                             \
    do {                                                                                    \
        bool try_again;                                                                     \
        do {                                                                                \
            fuzz_begin_call(run, #call);                                                    \
            memset(&(out), FUZZ_UNTOUCHED, sizeof(out));                                    \
            (run)->status = (call);                                                         \
            RULE(run, ((run)->status == SPAD_OK) == ((out) != NULL));                       \
            if ((run)->status != SPAD_OK) RULE(run, (run)->blocks == (run)->blocks_before); \
            try_again = fuzz_end_call(run);                                                 \
        } while (try_again);                                                                \
    } while (0)

/* The same for a call that has to succeed. */
#define MUST(run, call)                    \
    do {                                   \
        TRY(run, call);                    \
        REQUIRE((run)->status == SPAD_OK); \
    } while (0)
#define MUST_OUT(run, out, call)           \
    do {                                   \
        TRY_OUT(run, out, call);           \
        REQUIRE((run)->status == SPAD_OK); \
    } while (0)

#endif
