// host/machine/libtorch.h: finding the LibTorch that the engine will run on, in the places of
// library_search.h ($RTRAIN_LIBTORCH). Looks at files only; loads nothing.
#pragma once

#include <string>

#include "host/machine/library_search.h"

namespace rtrain {

struct LibTorch {
  std::string lib;      // folder that holds libtorch_cpu.so
  std::string version;  // "2.11.0+cu130"
  std::string cuda;     // "13.0", empty for a CPU build
  std::string commit;   // of PyTorch
  std::string source;   // LibraryPlace::source
};

using LibTorchSearch = LibrarySearch<LibTorch>;

LibTorchSearch find_libtorch();

// "2.11.0+cu130, commit 70d99e9": the same for all nodes of a run. Empty where there is none.
std::string libtorch_build();

// The refusal: every place and what was there, and what to do.
std::string libtorch_refusal(const LibTorchSearch& search);

}  // namespace rtrain
