# SPDX-License-Identifier: Apache-2.0
# Turns the ```c blocks of manual pages into C functions and a table of them,
# for tests/docs/run_blocks.c. A block under a heading "## SPAD-..." (or one
# level below) whose first line is "/* bad */" must end with that status or
# finding and the message quoted after it ("> ..."); every other block must
# succeed without findings.
FNR == 1 { heading = "" }
/^## / || /^### SPAD-/ { heading = $2 }
/^```c$/ {
    inside = 1
    body = ""
    place = FILENAME ":" FNR
    sub(/.*\//, "", place)
    next
}
/^```$/ && inside {
    inside = 0
    blocks++
    is_bad = (body ~ /^\/\* bad \*\//)
    code[blocks] = is_bad ? heading : "SPAD-OK"
    where[blocks] = place
    printf "static spad_status block_%d(BLOCK_ARGUMENTS) {\nBLOCK_VARIABLES\n%sreturn status;\n}\n", blocks, body
    next
}
inside { body = body $0 "\n"; next }
/^> / && is_bad {
    text = substr($0, 3)
    gsub(/["\\]/, "\\\\&", text)
    message[blocks] = message[blocks] (message[blocks] == "" ? "" : " ") text
}
END {
    printf "static const block blocks[] = {\n"
    for (i = 1; i <= blocks; i++) {
        printf "    {\"%s\", \"%s\", \"%s\", block_%d},\n", where[i], code[i], message[i], i
    }
    printf "};\n"
}
