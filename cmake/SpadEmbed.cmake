# SPDX-License-Identifier: Apache-2.0
# Turns text files into C arrays. Run as a script:
#     cmake -DOUT=page.c -DHEADER=report/page.h -DPREFIX=spad__page "-DFILES=a.html;b.js;c.js" -P SpadEmbed.cmake
# gives `const char spad__page_html[]` and `const size_t spad__page_html_size`, and the same for js;
# files of one ending are joined in their order, scripts without what only readers of the source need: they have no
# text over several lines. `spad__page_js_hash` is the digest of a line end and
# the text, as a content security policy wants it for an element that begins with a new line.

# The bytes of hexadecimal digits in base 64 (RFC 4648).
function(base64 out hex)
    set(digits ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/)
    set(text "")
    string(LENGTH "${hex}" length)
    set(at 0)
    while(at LESS length)
        string(SUBSTRING "${hex}" ${at} 6 group) # three bytes give four digits
        string(LENGTH "${group}" given)
        math(EXPR bits "0x${group} << (4 * (6 - ${given}))")
        math(EXPR kept "${given} / 2 + 1")
        foreach(shift 18 12 6 0)
            math(EXPR index "(${bits} >> ${shift}) & 63")
            string(SUBSTRING ${digits} ${index} 1 digit)
            if(kept EQUAL 0)
                set(digit "=")
            else()
                math(EXPR kept "${kept} - 1")
            endif()
            string(APPEND text "${digit}")
        endforeach()
        math(EXPR at "${at} + 6")
    endwhile()
    set(${out} "${text}" PARENT_SCOPE)
endfunction()

set(kinds "")
foreach(file IN LISTS FILES)
    cmake_path(GET file EXTENSION LAST_ONLY extension)
    string(SUBSTRING "${extension}" 1 -1 kind)
    file(READ "${file}" content)
    if(kind STREQUAL js) # every page carries it: without indents, lines of comment and empty lines
        string(REGEX REPLACE "\n[ \t]+" "\n" content "\n${content}")
        string(REGEX REPLACE "\n//[^\n]*" "" content "${content}")
        string(REGEX REPLACE "\n\n+" "\n" content "${content}")
        string(REGEX REPLACE "^\n" "" content "${content}")
    endif()
    string(HEX "${content}" hex)
    list(APPEND kinds ${kind})
    string(APPEND hex_${kind} "${hex}")
    string(APPEND content_${kind} "${content}")
endforeach()
list(REMOVE_DUPLICATES kinds)
set(text "/* Made by cmake/SpadEmbed.cmake; do not edit. */\n#include \"${HEADER}\"\n")
foreach(kind IN LISTS kinds)
    set(hex "${hex_${kind}}")
    string(LENGTH "${hex}" digits)
    math(EXPR size "${digits} / 2")
    string(REGEX REPLACE "(................................)" "\\1\n" hex "${hex}")
    string(REGEX REPLACE "([0-9a-f][0-9a-f])" "'\\\\x\\1'," hex "${hex}")
    if(NOT kind STREQUAL html)
        string(SHA256 digest "\n${content_${kind}}")
        base64(hash "${digest}")
        string(APPEND text "\nconst char ${PREFIX}_${kind}_hash[] = \"sha256-${hash}\";\n")
    endif()
    string(APPEND text "\nconst size_t ${PREFIX}_${kind}_size = ${size};\n"
                       "const char ${PREFIX}_${kind}[] = {\n${hex}};\n")
endforeach()
file(WRITE "${OUT}" "${text}")
