// host/lua/libraries/engine_image.h: the engines in the executable, one for each minor version of
// LibTorch that it was built for (engine_minors() of host/machine/libraries/libtorch.h).
#pragma once

#include <string_view>

namespace rtrain::lua {

// The bytes of a file in the executable; begin == end if this build does not have it.
struct ImageBytes {
  const unsigned char* begin;
  const unsigned char* end;
};

struct EngineImage {
  const char* minor;   // of LibTorch: "2.11"
  ImageBytes library;  // librtrain_engine.so
  ImageBytes cuda;     // librtrain_cuda.so
};

// Returns the engine for a minor version of LibTorch, or null.
const EngineImage* find_engine(std::string_view minor);

// Returns the engine for the LibTorch that find_libtorch() finds, or null. Searches once.
const EngineImage* engine_in_use();

}  // namespace rtrain::lua
