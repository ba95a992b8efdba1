# SPDX-License-Identifier: Apache-2.0
# Runs PROGRAM; fails unless it succeeds and prints exactly the file EXPECTED.
execute_process(COMMAND ${PROGRAM} OUTPUT_VARIABLE printed RESULT_VARIABLE result)
if(NOT result EQUAL 0)
    message(FATAL_ERROR "${PROGRAM} ended with ${result}")
endif()
file(READ ${EXPECTED} expected)
if(NOT printed STREQUAL expected)
    message(FATAL_ERROR "expected ${EXPECTED}:\n${expected}\nprinted:\n${printed}")
endif()
