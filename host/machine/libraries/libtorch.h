// host/machine/libraries/libtorch.h: finding the LibTorch that the engine will run on, in the
// places of library_search.h ($RTRAIN_LIBTORCH). Looks at files only; loads nothing.
//
// An engine fits one minor version of LibTorch. The executable may hold several: the first LibTorch
// that it has one for is taken, and chooses the engine. Any release of such a minor is; another
// build of it only with RTRAIN_LIBTORCH_ANY=1.
#pragma once

#include <string>
#include <vector>

#include "host/machine/libraries/library_search.h"

namespace rtrain::machine {

struct LibTorch {
  std::string lib;         // folder that holds libtorch_cpu.so
  std::string version;     // "2.11.0+cu130"
  std::string minor;       // "2.11": which engine it takes
  std::string cuda;        // "13.0", empty for a CPU build
  std::string commit;      // of PyTorch
  bool is_tested = false;  // rtrain's tests have run with that commit
  std::string source;      // LibraryPlace::source
};

using LibTorchSearch = LibrarySearch<LibTorch>;

LibTorchSearch find_libtorch();

// "2.11.0+cu130, commit 70d99e9": the same for all nodes of a run. Empty where there is none.
std::string libtorch_build();

// The minors that this executable has an engine for, oldest first.
const std::vector<std::string>& engine_minors();

// Those as a sentence has them: "2.11, 2.12 or 2.15".
std::string engine_minors_text();

// The command that brings a LibTorch which is taken: "pip install torch~=2.15.0".
std::string libtorch_install_command();

// The refusal: every place with its finding, and the remedy.
std::string libtorch_refusal(const LibTorchSearch& search);

}  // namespace rtrain::machine
