/* SPDX-License-Identifier: Apache-2.0
 *
 * The qualified name of a C++ function from its mangled one, without template arguments and
 * parameters: "_ZN2ns4gemmIfEEvPT_" is ns::gemm.
 */
#ifndef SPAD_FRONTEND_PTX_PLAIN_NAME_H
#define SPAD_FRONTEND_PTX_PLAIN_NAME_H

#include <stdbool.h>
#include <stddef.h>

/* False: not a mangled name, of a form that is not read (operators, constructors, lambdas, local
 * classes), or too long for the field. Then the mangled name is the one to show. O(length). */
bool spad__ptx_plain_name(char *field, size_t size, const char *mangled);

/* The same with template arguments: "gemm<float, 4>". False: a part is not read, such as an array,
 * a function or an expression, or it is too long. O(length). */
bool spad__ptx_full_name(char *field, size_t size, const char *mangled);

/* The part after the last "::". */
const char *spad__ptx_last_part(const char *plain_name);

#endif
