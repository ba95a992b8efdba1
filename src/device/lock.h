/* SPDX-License-Identifier: Apache-2.0
 *
 * A lock for critical sections of a few dozen instructions: it spins a little and
 * then lets others run. No call is made and no other lock is taken while it is held, except by
 * spad_pool_fork_begin, which holds all of a pool's across a fork.
 *
 * As in the C library's own malloc, a process with a single thread pays for no
 * atomic exchange. That is safe because no thread can be started inside a section.
 */
#ifndef SPAD_DEVICE_LOCK_H
#define SPAD_DEVICE_LOCK_H

#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#if defined(__has_include)
#if __has_include(<sys/single_threaded.h>)
#include <sys/single_threaded.h>
#define SPAD__ONE_THREAD() (__libc_single_threaded != 0)
#endif
#endif
#if !defined(SPAD__ONE_THREAD)
#define SPAD__ONE_THREAD() false
#endif

/* In front of functions that stay out of the hot paths which call them: rarely called, or with
 * work of their own that should also be quick. */
#if defined(__GNUC__)
#define SPAD__RARE __attribute__((noinline, cold, unused))
#define SPAD__APART __attribute__((noinline))
#else
#define SPAD__RARE
#define SPAD__APART
#endif

typedef struct spad__spin {
    atomic_bool taken; /* zeroed: free */
} spad__spin;

enum { SPAD__SPINS = 64 };

/* Another thread has it. */
SPAD__RARE static void spad__spin_wait(spad__spin *lock) {
    int tries = 0;
    do {
        while (atomic_load_explicit(&lock->taken, memory_order_relaxed)) {
            if (++tries % SPAD__SPINS == 0) sched_yield();
        }
    } while (atomic_exchange_explicit(&lock->taken, true, memory_order_acquire));
}

/* True: it is taken. */
static inline bool spad__spin_try(spad__spin *lock) {
    return SPAD__ONE_THREAD() ||
           !atomic_exchange_explicit(&lock->taken, true, memory_order_acquire);
}

static inline void spad__spin_lock(spad__spin *lock) {
    if (!spad__spin_try(lock)) spad__spin_wait(lock);
}

static inline void spad__spin_unlock(spad__spin *lock) {
    atomic_store_explicit(&lock->taken, false, memory_order_release);
}

#endif
