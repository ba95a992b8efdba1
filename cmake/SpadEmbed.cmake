# SPDX-License-Identifier: Apache-2.0
# Turns text files into C arrays. Run as a script:
#     cmake -DOUT=page.c -DHEADER=report/page.h -DPREFIX=spad__page "-DFILES=a.html;b.js;c.js" -P SpadEmbed.cmake
# gives `const char spad__page_html[]` and `const size_t spad__page_html_size`, and the same for js;
# files of one ending are joined in their order.
set(kinds "")
foreach(file IN LISTS FILES)
    cmake_path(GET file EXTENSION LAST_ONLY extension)
    string(SUBSTRING "${extension}" 1 -1 kind)
    file(READ "${file}" hex HEX)
    list(APPEND kinds ${kind})
    string(APPEND hex_${kind} "${hex}")
endforeach()
list(REMOVE_DUPLICATES kinds)
set(text "/* Made by cmake/SpadEmbed.cmake; do not edit. */\n#include \"${HEADER}\"\n")
foreach(kind IN LISTS kinds)
    set(hex "${hex_${kind}}")
    string(LENGTH "${hex}" digits)
    math(EXPR size "${digits} / 2")
    string(REGEX REPLACE "(................................)" "\\1\n" hex "${hex}")
    string(REGEX REPLACE "([0-9a-f][0-9a-f])" "'\\\\x\\1'," hex "${hex}")
    string(APPEND text "\nconst size_t ${PREFIX}_${kind}_size = ${size};\n"
                       "const char ${PREFIX}_${kind}[] = {\n${hex}};\n")
endforeach()
file(WRITE "${OUT}" "${text}")
