# SPDX-License-Identifier: Apache-2.0
# spad_options: the compile and link flags of everything built in this tree.
# Consumers of the installed package see none of them.
add_library(spad_options INTERFACE)

target_compile_options(spad_options INTERFACE
    -Wall -Wextra -Wpedantic -Wconversion -Wsign-conversion -Wshadow -Wcast-qual
    -Wundef -Wvla -Wdouble-promotion -Wformat=2 -Wimplicit-fallthrough
    $<$<COMPILE_LANGUAGE:C>:-Wstrict-prototypes> $<$<COMPILE_LANGUAGE:C>:-Wmissing-prototypes>
    $<$<BOOL:${SPAD_WERROR}>:-Werror>)

if(SPAD_SANITIZE)
    target_compile_options(spad_options INTERFACE
        -fsanitize=${SPAD_SANITIZE} -fno-sanitize-recover=all -fno-omit-frame-pointer)
    target_link_options(spad_options INTERFACE -fsanitize=${SPAD_SANITIZE})
endif()

target_compile_definitions(spad_options INTERFACE SPAD_EXPERIMENTAL)

# Assertions (src/base/assert.h) abort, which the library never does in the hands of users: they are
# in Debug builds and those that leave NDEBUG out on purpose, not in one without a build type.
# Coverage leaves them out as well, since the other side of an assertion is never taken.
target_compile_definitions(spad_options INTERFACE
    $<$<OR:$<STREQUAL:$<CONFIG>,>,$<BOOL:${SPAD_COVERAGE}>>:NDEBUG>
    $<$<BOOL:${SPAD_EXPENSIVE_ASSERTS}>:SPAD_EXPENSIVE_ASSERTS>)

if(SPAD_COVERAGE)
    # Threads count too, and two programs may add to one file.
    target_compile_options(spad_options INTERFACE --coverage -fprofile-update=atomic)
    target_link_options(spad_options INTERFACE --coverage)
endif()

# Hardening of release builds, after the OpenSSF compiler guide.
target_compile_options(spad_options INTERFACE
    $<$<CONFIG:Release>:-fstack-protector-strong>
    $<$<CONFIG:Release>:-U_FORTIFY_SOURCE> $<$<CONFIG:Release>:-D_FORTIFY_SOURCE=2>)
target_link_options(spad_options INTERFACE $<$<CONFIG:Release>:LINKER:-z,relro,-z,now>)
