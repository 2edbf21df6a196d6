# The libraries rtrain is made from. Static ones are linked into the executable; LibTorch is only compiled against and
# found again at run time.

function(rtrain_static name header library)
  find_path(${name}_INCLUDE ${header} PATH_SUFFIXES luajit-2.1 REQUIRED)
  find_library(${name}_ARCHIVE NAMES ${library} REQUIRED)
  add_library(dep::${name} STATIC IMPORTED GLOBAL)
  set_target_properties(dep::${name} PROPERTIES IMPORTED_LOCATION ${${name}_ARCHIVE})
endfunction()

# The same for an archive that Debian compiles for executables alone: its one reference to another library's data,
# stderr, cannot go into a shared library. host/engine/data/no_stderr.cpp defines what takes its place.
function(rtrain_static_for_engine name header library)
  rtrain_static(${name} ${header} ${library})
  set(copy ${PROJECT_BINARY_DIR}/${library})
  if(${${name}_ARCHIVE} IS_NEWER_THAN ${copy})
    execute_process(COMMAND ${CMAKE_OBJCOPY} --redefine-sym stderr=rtrain_no_stderr ${${name}_ARCHIVE} ${copy}
                    COMMAND_ERROR_IS_FATAL ANY)
  endif()
  set_target_properties(dep::${name} PROPERTIES IMPORTED_LOCATION ${copy})
endfunction()

rtrain_static(luajit lua.hpp libluajit-5.1.a)
# The archive that scripts/setup builds from the same source, whose compiled loops look for hooks. The headers stay Debian's.
set(RTRAIN_LUAJIT "" CACHE PATH "Folder that holds libluajit-5.1.a with hooks in compiled code; empty: Debian's")
if(EXISTS ${RTRAIN_LUAJIT}/libluajit-5.1.a)
  set_target_properties(dep::luajit PROPERTIES IMPORTED_LOCATION ${RTRAIN_LUAJIT}/libluajit-5.1.a)
  set(RTRAIN_LUAJIT_CHECKHOOK ON)
else()
  set(RTRAIN_LUAJIT_CHECKHOOK OFF)
  message(NOTICE "LuaJIT is Debian's: a compiled loop shows no Lua stack (scripts/setup builds one that does)")
endif()
rtrain_static(uv uv.h libuv_a.a)
rtrain_static(sqlite sqlite3.h libsqlite3.a)
rtrain_static(z zlib.h libz.a)
rtrain_static(deflate libdeflate.h libdeflate.a)
rtrain_static(tinfo term.h libtinfo.a)
rtrain_static(bsd bsd/vis.h libbsd.a)
rtrain_static(edit histedit.h libedit.a)
set_target_properties(dep::edit PROPERTIES INTERFACE_LINK_LIBRARIES "dep::tinfo;dep::bsd")
rtrain_static(crypto openssl/evp.h libcrypto.a)
rtrain_static(ssl openssl/ssl.h libssl.a)
set_target_properties(dep::ssl PROPERTIES INTERFACE_LINK_LIBRARIES dep::crypto)
rtrain_static_for_engine(jpeg jpeglib.h libjpeg.a)
rtrain_static_for_engine(png png.h libpng16.a)
rtrain_static(jemalloc jemalloc/jemalloc.h libjemalloc_pic.a)
find_package(Threads REQUIRED)
find_package(GTest REQUIRED)

# The folder that holds torch/ (and nvidia/) as the wheels unpack: scripts/setup makes it.
set(RTRAIN_LIBTORCH "$ENV{RTRAIN_LIBTORCH}" CACHE PATH "Folder that holds torch/lib/libtorch_cpu.so")
find_path(TORCH_ROOT lib/libtorch_cpu.so HINTS ${RTRAIN_LIBTORCH}/torch ${RTRAIN_LIBTORCH}
          NO_DEFAULT_PATH)
if(NOT TORCH_ROOT)
  message(FATAL_ERROR "LibTorch not found in RTRAIN_LIBTORCH='${RTRAIN_LIBTORCH}': run scripts/setup")
endif()

add_library(torch_headers INTERFACE)
target_include_directories(torch_headers SYSTEM INTERFACE
  ${TORCH_ROOT}/include ${TORCH_ROOT}/include/torch/csrc/api/include
  ${PROJECT_SOURCE_DIR}/host/engine/distributed/gloo_stub)
target_compile_definitions(torch_headers INTERFACE
  USE_DISTRIBUTED USE_C10D_GLOO USE_RPC USE_TENSORPIPE _GLIBCXX_USE_CXX11_ABI=1)

foreach(lib torch_cpu c10)
  add_library(torch::${lib} SHARED IMPORTED GLOBAL)
  set_target_properties(torch::${lib} PROPERTIES IMPORTED_LOCATION ${TORCH_ROOT}/lib/lib${lib}.so)
endforeach()

# The folder that holds pyarrow/ as its wheel unpacks: scripts/setup makes it. Only host/arrow/ is compiled against it.
set(RTRAIN_ARROW "$ENV{RTRAIN_ARROW}" CACHE PATH "Folder that holds pyarrow/libarrow.so.2600")
find_path(ARROW_ROOT libarrow.so.2600 HINTS ${RTRAIN_ARROW}/pyarrow ${RTRAIN_ARROW} NO_DEFAULT_PATH)
if(NOT ARROW_ROOT)
  message(FATAL_ERROR "Arrow not found in RTRAIN_ARROW='${RTRAIN_ARROW}': run scripts/setup")
endif()
foreach(lib arrow parquet)
  add_library(arrow::${lib} SHARED IMPORTED GLOBAL)
  set_target_properties(arrow::${lib} PROPERTIES IMPORTED_LOCATION ${ARROW_ROOT}/lib${lib}.so.2600)
  target_include_directories(arrow::${lib} SYSTEM INTERFACE ${ARROW_ROOT}/include)
endforeach()

# Headers of the CUDA 13 toolkit for host/cuda/: its own folder, or what the wheels of NVIDIA brought beside LibTorch. Its
# libraries are not linked: LibTorch's CUDA library brings them when it is loaded.
find_path(CUDA_INCLUDE cuda_runtime_api.h
          HINTS $ENV{CUDA_HOME}/include /usr/local/cuda/include /usr/local/cuda-13.0/include
                ${TORCH_ROOT}/../nvidia/cu13/include NO_DEFAULT_PATH)
set(cuda_version 0)
if(CUDA_INCLUDE AND EXISTS ${CUDA_INCLUDE}/cuda.h)
  file(STRINGS ${CUDA_INCLUDE}/cuda.h cuda_version REGEX "^#define CUDA_VERSION [0-9]+")
  string(REGEX REPLACE "[^0-9]" "" cuda_version "${cuda_version}")
endif()
# LibTorch's classes hold structs of NCCL: its own release's header, where a wheel has brought it.
find_path(NCCL_INCLUDE nccl.h HINTS ${TORCH_ROOT}/../nvidia/nccl/include ${CUDA_INCLUDE} NO_DEFAULT_PATH)
if(NOT NCCL_INCLUDE AND cuda_version GREATER_EQUAL 13000)
  set(RTRAIN_CUDA OFF)
  message(NOTICE "CUDA is left out: no nccl.h in the toolkit (${CUDA_INCLUDE}) or beside LibTorch")
elseif(cuda_version GREATER_EQUAL 13000 AND cuda_version LESS 14000)
  set(RTRAIN_CUDA ON)
  add_library(cuda_headers INTERFACE)
  target_include_directories(cuda_headers SYSTEM INTERFACE ${CUDA_INCLUDE} ${NCCL_INCLUDE})
  target_compile_definitions(cuda_headers INTERFACE USE_C10D_NCCL)
else()
  set(RTRAIN_CUDA OFF)
  message(NOTICE "CUDA is left out: no CUDA 13 toolkit (CUDA_HOME, /usr/local/cuda)")
endif()
