# One static library per folder of host/: rtrain_folder(base) makes rtrain_base from host/base/*.cpp.
#
# The sources of a target are compiled in groups (scripts/source_groups.py), which takes half the time.
option(RTRAIN_GROUPS "Compile sources in groups; off: each by itself, which shows whether it includes what it uses" ON)

# Sets the groups of sources in this directory, if scripts/build has determined them.
macro(rtrain_source_groups)
  if(RTRAIN_GROUPS)
    include(${PROJECT_BINARY_DIR}/source_groups.cmake OPTIONAL)
  endif()
endmacro()

function(rtrain_grouped target)
  if(RTRAIN_GROUPS)
    set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_MODE GROUP)
    # What looks like a header now; and where more is inlined, g++ 12 sees writes past strings that are none.
    target_compile_options(${target} PRIVATE -Wno-subobject-linkage -Wno-array-bounds -Wno-stringop-overflow -Wno-stringop-overread -Wno-restrict)
  endif()
endfunction()

# What computes is compiled with -O3 in a release, tests with -O0: elsewhere more costs time to compile and saves none.
function(rtrain_optimized level)
  foreach(target ${ARGN})
    target_compile_options(${target} PRIVATE $<$<CONFIG:Release>:-O${level}>)
  endforeach()
endfunction()

add_library(rtrain_flags INTERFACE)
target_include_directories(rtrain_flags INTERFACE ${PROJECT_SOURCE_DIR})
target_compile_options(rtrain_flags INTERFACE -Wall -Wextra -Werror -fno-omit-frame-pointer)
if(NOT RTRAIN_FAULT_POINTS)
  target_compile_definitions(rtrain_flags INTERFACE RTRAIN_NO_FAULT_POINTS)
endif()
if(RTRAIN_SANITIZE)
  target_compile_options(rtrain_flags INTERFACE -fsanitize=${RTRAIN_SANITIZE} -fno-sanitize-recover=all)
  target_link_options(rtrain_flags INTERFACE -fsanitize=${RTRAIN_SANITIZE})
  # With the sanitizer's checks g++ 12 no longer sees that a std::variant's parts are read only after they were written.
  target_compile_options(rtrain_flags INTERFACE -Wno-maybe-uninitialized)
  # ThreadSanitizer does not follow fences, and says so: those of the progress page order plain data between processes.
  if(RTRAIN_SANITIZE STREQUAL "thread")
    target_compile_options(rtrain_flags INTERFACE -Wno-tsan -Wno-array-bounds -Wno-stringop-overflow)
  endif()
endif()

function(rtrain_folder name)
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/host/${name}/*.cpp)
  if(NOT sources)
    add_library(rtrain_${name} INTERFACE)
    target_link_libraries(rtrain_${name} INTERFACE ${ARGN})
    return()
  endif()
  add_library(rtrain_${name} STATIC ${sources})
  target_link_libraries(rtrain_${name} PUBLIC rtrain_flags ${ARGN})
  if(name STREQUAL base)
    target_precompile_headers(rtrain_base PRIVATE ${PROJECT_SOURCE_DIR}/host/base/precompiled.h)
  else()
    target_precompile_headers(rtrain_${name} REUSE_FROM rtrain_base)
  endif()
  if(NOT name STREQUAL lua)  # tests link single objects of it
    rtrain_grouped(rtrain_${name})
  endif()
endfunction()
