# SPDX-License-Identifier: Apache-2.0
# cmake -DFROM=FOLDER -DTO=FOLDER -P copy_package.cmake: makes the Python files of TO those of FROM. Others there,
# such as the compiled module and the command, stay.
file(GLOB_RECURSE present RELATIVE ${TO} ${TO}/*.py ${TO}/*.pyi ${TO}/*.html)
foreach(file IN LISTS present)
    if(NOT EXISTS ${FROM}/${file})
        file(REMOVE ${TO}/${file})
    endif()
endforeach()
file(COPY ${FROM}/ DESTINATION ${TO} FILES_MATCHING
     PATTERN *.py PATTERN *.pyi PATTERN *.html PATTERN py.typed PATTERN __pycache__ EXCLUDE)
