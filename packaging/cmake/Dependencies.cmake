# The libraries that rtrain uses. Static ones are linked into the executable; LibTorch is only compiled against and
# found again at run time.

function(rtrain_static name header library)
  find_path(${name}_INCLUDE ${header} PATH_SUFFIXES luajit-2.1 REQUIRED)
  find_library(${name}_ARCHIVE NAMES ${library} REQUIRED)
  add_library(dep::${name} STATIC IMPORTED GLOBAL)
  set_target_properties(dep::${name} PROPERTIES IMPORTED_LOCATION ${${name}_ARCHIVE})
endfunction()

# The same for an archive that Debian compiles for executables alone: its one reference to another library's data,
# stderr, cannot go into a shared library. host/engine/data/images/no_stderr.cpp defines what takes its place.
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
rtrain_static(zstd zstd.h libzstd.a)
rtrain_static(lzma lzma.h liblzma.a)
rtrain_static(tinfo term.h libtinfo.a)
rtrain_static(bsd bsd/vis.h libbsd.a)
rtrain_static(edit histedit.h libedit.a)
set_target_properties(dep::edit PROPERTIES INTERFACE_LINK_LIBRARIES "dep::tinfo;dep::bsd")
rtrain_static(utf8proc utf8proc.h libutf8proc.a)
rtrain_static(pcre2 pcre2.h libpcre2-8.a)
rtrain_static(crypto openssl/evp.h libcrypto.a)
rtrain_static(ssl openssl/ssl.h libssl.a)
set_target_properties(dep::ssl PROPERTIES INTERFACE_LINK_LIBRARIES dep::crypto)
rtrain_static_for_engine(jpeg jpeglib.h libjpeg.a)
rtrain_static_for_engine(png png.h libpng16.a)
rtrain_static(jemalloc jemalloc/jemalloc.h libjemalloc_pic.a)
find_package(Threads REQUIRED)
find_package(GTest REQUIRED)

# The folder with torch/ (and nvidia/) as unpacked from the wheels: scripts/setup creates it.
set(RTRAIN_LIBTORCH "$ENV{RTRAIN_LIBTORCH}" CACHE PATH "Folder that holds torch/lib/libtorch_cpu.so")
find_path(TORCH_ROOT lib/libtorch_cpu.so HINTS ${RTRAIN_LIBTORCH}/torch ${RTRAIN_LIBTORCH}
          NO_DEFAULT_PATH)
if(NOT TORCH_ROOT)
  message(FATAL_ERROR "LibTorch not found in RTRAIN_LIBTORCH='${RTRAIN_LIBTORCH}': run scripts/setup")
endif()

# "2.11": an engine fits one minor version. RTRAIN_ENGINES: engines of other builds that this executable also contains.
file(STRINGS ${TORCH_ROOT}/version.py torch_version REGEX "^__version__ = ")
string(REGEX MATCH "[0-9]+\\.[0-9]+" RTRAIN_TORCH_MINOR "${torch_version}")
set(RTRAIN_ENGINES "" CACHE STRING "More engines, MINOR=FOLDER with librtrain_engine.so and librtrain_cuda.so; a list")
set(engine_minors ${RTRAIN_TORCH_MINOR})
foreach(engine ${RTRAIN_ENGINES})
  string(REGEX REPLACE "=.*" "" minor ${engine})
  list(APPEND engine_minors ${minor})
endforeach()
list(SORT engine_minors COMPARE NATURAL)
list(JOIN engine_minors " " RTRAIN_ENGINE_MINORS)

add_library(torch_headers INTERFACE)
target_include_directories(torch_headers SYSTEM INTERFACE
  ${TORCH_ROOT}/include ${TORCH_ROOT}/include/torch/csrc/api/include
  ${PROJECT_SOURCE_DIR}/host/engine/distributed/gloo_stub)
# The wheels are built with NDEBUG: without it some classes in the headers have more members than in the library.
target_compile_definitions(torch_headers INTERFACE
  USE_DISTRIBUTED USE_C10D_GLOO USE_RPC USE_TENSORPIPE _GLIBCXX_USE_CXX11_ABI=1
  $<$<NOT:$<CONFIG:Release,RelWithDebInfo>>:NDEBUG>)

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

# Headers of the CUDA 13 toolkit for host/cuda/: its own folder, or files of NVIDIA's wheels next to LibTorch. Its
# libraries are not linked: LibTorch's CUDA library brings them when it is loaded. Of several toolkits that of the release
# which LibTorch was built with ("13.0") is taken, where there is one.
file(STRINGS ${TORCH_ROOT}/version.py torch_cuda REGEX "^cuda: .*= '")
string(REGEX REPLACE ".*'([0-9.]+)'.*" "\\1" torch_cuda "${torch_cuda}")
set(wheels ${TORCH_ROOT}/../nvidia/cu13/include)
set(toolkits $ENV{CUDA_HOME}/include /usr/local/cuda/include /usr/local/cuda-${torch_cuda}/include ${wheels})
# The version number in its header, 13000; 0 without a header.
function(rtrain_cuda_version include out)
  set(version 0)
  if(EXISTS ${include}/cuda.h)
    file(STRINGS ${include}/cuda.h version REGEX "^#define CUDA_VERSION [0-9]+")
    string(REGEX REPLACE "[^0-9]" "" version "${version}")
  endif()
  set(${out} ${version} PARENT_SCOPE)
endfunction()
foreach(toolkit ${toolkits})
  rtrain_cuda_version(${toolkit} version)
  math(EXPR major "${version} / 1000")
  math(EXPR minor "${version} % 1000 / 10")
  if("${major}.${minor}" STREQUAL torch_cuda)
    list(PREPEND toolkits ${toolkit})
    break()
  endif()
endforeach()
find_path(CUDA_INCLUDE cuda_runtime_api.h HINTS ${toolkits} NO_DEFAULT_PATH)
rtrain_cuda_version("${CUDA_INCLUDE}" cuda_version)
# LibTorch's classes contain structs of NCCL: uses the header of its own NCCL release, if a wheel contains it.
find_path(NCCL_INCLUDE nccl.h HINTS ${TORCH_ROOT}/../nvidia/nccl/include ${CUDA_INCLUDE} NO_DEFAULT_PATH)
if(NOT NCCL_INCLUDE AND cuda_version GREATER_EQUAL 13000)
  set(RTRAIN_CUDA OFF)
  message(NOTICE "CUDA is left out: no nccl.h in the toolkit (${CUDA_INCLUDE}) or next to LibTorch")
elseif(cuda_version GREATER_EQUAL 13000 AND cuda_version LESS 14000)
  set(RTRAIN_CUDA ON)
  add_library(cuda_headers INTERFACE)
  # A toolkit may also contain an nccl.h.
  target_include_directories(cuda_headers SYSTEM INTERFACE ${NCCL_INCLUDE} ${CUDA_INCLUDE})
  target_compile_definitions(cuda_headers INTERFACE USE_C10D_NCCL)
else()
  set(RTRAIN_CUDA OFF)
  message(NOTICE "CUDA is left out: no CUDA 13 toolkit (CUDA_HOME, /usr/local/cuda)")
endif()
