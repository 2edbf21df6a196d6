# A build for packages (RTRAIN_PACKAGE): needs at most the glibc RTRAIN_GLIBC, includes libstdc++, has no path of the
# machine that built it.
option(RTRAIN_PACKAGE "Build what packaging/build packs" OFF)
set(RTRAIN_GLIBC "2.28" CACHE STRING "The oldest glibc that a package runs on: that of LibTorch's wheels")
if(NOT RTRAIN_PACKAGE)
  function(rtrain_package_target target)
  endfunction()
  return()
endif()

# File names in messages are relative to the root of their source.
foreach(place "${PROJECT_SOURCE_DIR}/=" "${TORCH_ROOT}/=torch/" "${ARROW_ROOT}/=pyarrow/" "${CUDA_INCLUDE}/=cuda/include/")
  add_compile_options(-ffile-prefix-map=${place})
endforeach()

set(older ${PROJECT_BINARY_DIR}/glibc-${RTRAIN_GLIBC})
set(glibc ${PROJECT_SOURCE_DIR}/packaging/glibc)
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${glibc}/make_stubs ${glibc}/make_libstdcxx ${glibc}/newer.c
             ${glibc}/older_libstdcxx.cpp)
execute_process(COMMAND ${glibc}/make_stubs ${RTRAIN_GLIBC} ${older} COMMAND_ERROR_IS_FATAL ANY)
execute_process(COMMAND ${glibc}/make_libstdcxx ${older} COMMAND_ERROR_IS_FATAL ANY)

add_library(rtrain_newer OBJECT ${glibc}/newer.c)
target_compile_options(rtrain_newer PRIVATE -Wall -Wextra -Werror -fno-builtin)

# Links an executable or a library of rtrain against the older glibc.
function(rtrain_package_target target)
  target_sources(${target} PRIVATE $<TARGET_OBJECTS:rtrain_newer>)
  # LuaJIT's assembler code contains the path of its build folder, for debuggers.
  target_link_options(${target} PRIVATE -Wl,--strip-debug)
  # Without no-as-needed libpthread.so.0 is left out, whose functions seem to be libc's.
  # libgcc_s.so.1 of this machine needs a newer glibc; at run time the one of the target machine is used.
  target_link_options(${target} PRIVATE -L${older} -Wl,--no-as-needed -Wl,--allow-shlib-undefined)
  get_target_property(type ${target} TYPE)
  if(type STREQUAL "EXECUTABLE")
    target_sources(${target} PRIVATE ${glibc}/start.S)
    target_link_options(${target} PRIVATE -Wl,-e,rtrain_start)
    set_target_properties(${target} PROPERTIES BUILD_RPATH "$ORIGIN/../lib/rtrain:$ORIGIN/lib/rtrain")
  endif()
endfunction()
