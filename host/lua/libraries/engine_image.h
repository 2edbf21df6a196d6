// host/lua/libraries/engine_image.h: the engines in the executable, one for each minor version of
// LibTorch that it was built for (engine_minors() of host/machine/libraries/libtorch.h).
#pragma once

#include <string_view>

namespace rtrain::lua {

// Of a file in the executable; begin == end where this build has none.
struct ImageBytes {
  const unsigned char* begin;
  const unsigned char* end;
};

struct EngineImage {
  const char* minor;   // of LibTorch: "2.11"
  ImageBytes library;  // librtrain_engine.so
  ImageBytes cuda;     // librtrain_cuda.so
};

// Null without one.
const EngineImage* find_engine(std::string_view minor);

// The engine for the LibTorch that find_libtorch() finds, looked for once; null without one.
const EngineImage* engine_in_use();

}  // namespace rtrain::lua
