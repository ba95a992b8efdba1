/* SPDX-License-Identifier: Apache-2.0
 *
 * stack_queries: the rest of spad/stack.h: the open scopes of a manager, its mode and its
 * invariants.
 */
#ifndef SPAD_STACK_QUERIES_H
#define SPAD_STACK_QUERIES_H

#ifndef SPAD_EXPERIMENTAL
#error "spad/experimental/stack_queries.h may change in any version: define SPAD_EXPERIMENTAL"
#endif

#include "spad/stack.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Number of open scopes. */
SPAD_API size_t spad_stack_scope_count(const spad_stack *stack);

/** An open scope. */
typedef struct spad_stack_scope {
    const char *name;   /**< NULL: unnamed; borrowed until the scope closes */
    int64_t start;      /**< address at which it began */
    int64_t interleave; /**< number of sections */
    int64_t section;    /**< the current one */
    int64_t high_water; /**< bytes held at the highest so far, inner scopes included */
} spad_stack_scope;

/** Scope number `depth`, 0 is the outermost. SPAD_ERR_ARGUMENT: not open. For an inner
 *  scope that is still open its bytes count. O(depth). */
SPAD_API spad_status spad_stack_get_scope(spad_stack_scope *out, const spad_stack *stack,
                                          size_t depth, spad_error *error);

/** Is the manager in automatic mode? */
SPAD_API bool spad_stack_is_automatic(const spad_stack *stack);

/** Checks the invariants of the manager that need no search, for tests and doubts:
 *  SPAD_OK or SPAD_ERR_INTERNAL with the first that does not hold. O(live). */
SPAD_API spad_status spad_stack_check(const spad_stack *stack, spad_error *error);

#ifdef __cplusplus
}
#endif
#endif
