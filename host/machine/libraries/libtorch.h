// host/machine/libraries/libtorch.h: finds the LibTorch for the engine, in the places of
// library_search.h ($RTRAIN_LIBTORCH). Only looks at files; loads nothing.
//
// An engine fits one minor version of LibTorch. The executable may have engines for several: it
// uses the first LibTorch for which it has an engine. Any release of such a minor version is
// accepted, another build of it only with RTRAIN_LIBTORCH_ANY=1.
#pragma once

#include <string>
#include <vector>

#include "host/machine/libraries/library_search.h"

namespace rtrain::machine {

struct LibTorch {
  std::string lib;         // folder that holds libtorch_cpu.so
  std::string version;     // "2.11.0+cu130"
  std::string minor;       // "2.11": decides which engine is used
  std::string cuda;        // "13.0", empty for a CPU build
  std::string commit;      // of PyTorch
  bool is_tested = false;  // rtrain's tests ran with that commit
  std::string source;      // LibraryPlace::source
};

using LibTorchSearch = LibrarySearch<LibTorch>;

LibTorchSearch find_libtorch();

// Returns "2.11.0+cu130, commit 70d99e9", the same on all nodes of a run; "" without a LibTorch.
std::string libtorch_build();

// The minor versions that this executable has an engine for, oldest first.
const std::vector<std::string>& engine_minors();

// The same for a sentence: "2.11, 2.12 or 2.15".
std::string engine_minors_text();

// Returns the command that installs a suitable LibTorch: "pip install torch~=2.15.0".
std::string libtorch_install_command();

// Returns the message for a search without success: every place with its finding, and the remedy.
std::string libtorch_refusal(const LibTorchSearch& search);

}  // namespace rtrain::machine
