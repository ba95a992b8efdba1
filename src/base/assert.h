/* SPDX-License-Identifier: Apache-2.0
 *
 * Assertions: what the library believes about itself. They are never about input, which is
 * checked and reported as an error; one that fails is a defect of the library.
 *
 *   spad__assert(condition)         a few instructions; in builds without NDEBUG
 *   spad__assert_valid(condition)   a walk over a whole structure, usually spad__<noun>_is_valid();
 *                                   in builds with SPAD_EXPENSIVE_ASSERTS and without NDEBUG
 *
 * A walk is paid for by the work since the last one, or done while the structure is small
 * (SPAD__FEW): to have large ones walked, call the function, as the property tests do.
 *
 * A condition has no side effects. One that is off is compiled and never evaluated, so that it
 * keeps compiling and what only it uses is not reported as unused.
 */
#ifndef SPAD_BASE_ASSERT_H
#define SPAD_BASE_ASSERT_H

#include <assert.h>
#include <stdbool.h>

enum { SPAD__FEW = 64 };

#define spad__assert_off(condition) ((void)(false && (condition)))

#if defined(NDEBUG)
#define spad__assert(condition) spad__assert_off(condition)
#else
#define spad__assert(condition) assert(condition)
#endif

/* After the declaration of an array that a loop fills from the start, before anything reads it: the
 * static analyzer (preset analyze) does not follow such loops. Other builds do not fill it twice.
 */
#if defined(SPAD_ANALYZE)
#define SPAD__FILLED_BY_LOOP = {0}
#else
#define SPAD__FILLED_BY_LOOP
#endif

#if defined(SPAD_EXPENSIVE_ASSERTS) && !defined(NDEBUG)
#define spad__assert_valid(condition) assert(condition)
#else
#define spad__assert_valid(condition) spad__assert_off(condition)
#endif

#endif
