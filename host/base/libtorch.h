// host/base/libtorch.h: finding the LibTorch that the engine will run on. Looks at files only;
// loads nothing.
//
// Order: $RTRAIN_LIBTORCH, the folder recorded at build time, lib/ beside the executable, then
// Python environments
// ($VIRTUAL_ENV, $CONDA_PREFIX, the user's and the system's site-packages).
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace rtrain {

struct LibTorch {
  std::string lib;      // folder that holds libtorch_cpu.so
  std::string version;  // "2.11.0+cu130"
  std::string cuda;     // "13.0", empty for a CPU build
  std::string
      source;  // why we looked there: "RTRAIN_LIBTORCH", "build", "executable", "VIRTUAL_ENV", …
};

// A place that was looked at, and what was there: "no libtorch_cpu.so", "version 2.9.1, need 2.11".
struct LibTorchPlace {
  std::string path;
  std::string source;
  std::string finding;
};

struct LibTorchSearch {
  std::optional<LibTorch> found;
  std::vector<LibTorchPlace> places;  // all that were looked at, in order
};

LibTorchSearch find_libtorch();

// The refusal: every place and what was there, and what to do.
std::string libtorch_refusal(const LibTorchSearch& search);

}  // namespace rtrain
