# Puts files into the executable with .incbin.

# Sets ${out} to LICENSE, NOTICE and the licence of each Debian package that NOTICE names.
function(rtrain_notices out)
  set(notices ${PROJECT_SOURCE_DIR}/LICENSE ${PROJECT_SOURCE_DIR}/NOTICE)
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/NOTICE)
  file(STRINGS ${PROJECT_SOURCE_DIR}/NOTICE rows REGEX "^  .* debian:")
  foreach(row ${rows})
    string(REGEX REPLACE ".* debian:" "" package "${row}")
    set(text /usr/share/doc/${package}/copyright)
    if(NOT EXISTS ${text})
      message(FATAL_ERROR "The licence of ${package} is not there (${text}): run scripts/setup")
    endif()
    list(APPEND notices ${text})
  endforeach()
  set(${out} ${notices} PARENT_SCOPE)
endfunction()

# Writes ${out} (assembler) with every modules/*.lua, the guides modules/rtrain/guide/*.md, the scripts of `rtrain init` as
# templates/*.lua, the Python package as python/*, the pages of `rtrain dash` as web/*, Debian's argparse as
# base/_argparse.lua, licences as notices/*, and the table rtrain_embedded_files that host/lua/embed.cpp reads.
function(rtrain_embed_modules target)
  find_file(ARGPARSE_LUA argparse.lua PATHS /usr/share/lua/5.1 NO_DEFAULT_PATH REQUIRED)
  file(GLOB_RECURSE modules CONFIGURE_DEPENDS
       ${PROJECT_SOURCE_DIR}/modules/*.lua ${PROJECT_SOURCE_DIR}/modules/rtrain/guide/*.md)
  list(SORT modules)
  file(GLOB templates CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/examples/templates/*.lua)
  list(SORT templates)
  list(APPEND modules ${templates})
  file(GLOB_RECURSE python CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/python/*.py)
  list(SORT python)
  list(APPEND modules ${python})
  file(GLOB pages CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/web/*)
  list(SORT pages)
  list(APPEND modules ${pages})
  list(APPEND modules ${ARGPARSE_LUA})
  rtrain_notices(notices)
  list(APPEND modules ${notices})
  set(data "")
  set(table "")
  set(index 0)
  foreach(path ${modules})
    file(RELATIVE_PATH name ${PROJECT_SOURCE_DIR}/modules ${path})
    if(path STREQUAL ARGPARSE_LUA)
      set(name base/_argparse.lua)
    elseif(path IN_LIST templates)
      get_filename_component(name ${path} NAME)
      set(name templates/${name})
    elseif(path IN_LIST python)
      file(RELATIVE_PATH name ${PROJECT_SOURCE_DIR} ${path})
    elseif(path IN_LIST pages)
      get_filename_component(name ${path} NAME)
      set(name web/${name})
    elseif(path MATCHES "/doc/([^/]+)/copyright$")
      set(name notices/${CMAKE_MATCH_1})
    elseif(path IN_LIST notices)
      get_filename_component(name ${path} NAME)
      set(name notices/${name})
    endif()
    string(APPEND data ".Lname${index}: .asciz \"${name}\"\n.Lfile${index}: .incbin \"${path}\"\n.Lend${index}: .byte 0\n")
    string(APPEND table ".quad .Lname${index}, .Lfile${index}, .Lend${index}\n")
    math(EXPR index "${index} + 1")
  endforeach()
  set(out ${CMAKE_CURRENT_BINARY_DIR}/modules.S)
  file(CONFIGURE OUTPUT ${out} CONTENT "    .section .rodata\n@data@
    .section .data.rel.ro, \"aw\"\n    .balign 8
    .globl rtrain_embedded_files\n    .hidden rtrain_embedded_files\nrtrain_embedded_files:\n@table@
    .globl rtrain_embedded_count\n    .hidden rtrain_embedded_count\nrtrain_embedded_count: .quad @index@
    .section .note.GNU-stack, \"\", @progbits\n" @ONLY)
  set_source_files_properties(${out} PROPERTIES OBJECT_DEPENDS "${modules}")
  target_sources(${target} PRIVATE ${out})
endfunction()

# Defines the symbols <symbol>_begin and <symbol>_end around the bytes of a built library; around nothing where this build
# has no such library.
function(rtrain_embed_library target library symbol)
  set(out ${CMAKE_CURRENT_BINARY_DIR}/${symbol}.S)
  if(NOT TARGET ${library})
    file(GENERATE OUTPUT ${out} CONTENT "    .section .rodata
    .globl ${symbol}_begin\n    .hidden ${symbol}_begin\n${symbol}_begin:
    .globl ${symbol}_end\n    .hidden ${symbol}_end\n${symbol}_end:\n    .byte 0
    .section .note.GNU-stack, \"\", @progbits\n")
    set_source_files_properties(${out} PROPERTIES GENERATED TRUE)
    target_sources(${target} PRIVATE ${out})
    return()
  endif()
  # OBJECT_DEPENDS takes no generator expression: the library is built in this very folder.
  set(image ${CMAKE_CURRENT_BINARY_DIR}/${CMAKE_SHARED_LIBRARY_PREFIX}${library}${CMAKE_SHARED_LIBRARY_SUFFIX})
  file(GENERATE OUTPUT ${out} CONTENT "    .section .rodata\n    .balign 64
    .globl ${symbol}_begin\n    .hidden ${symbol}_begin\n${symbol}_begin:\n    .incbin \"${image}\"
    .globl ${symbol}_end\n    .hidden ${symbol}_end\n${symbol}_end:\n    .byte 0
    .section .note.GNU-stack, \"\", @progbits\n")
  set_source_files_properties(${out} PROPERTIES GENERATED TRUE OBJECT_DEPENDS ${image})
  target_sources(${target} PRIVATE ${out})
  add_dependencies(${target} ${library})
endfunction()
