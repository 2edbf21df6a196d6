// tests/unit/compile/host_kernels.h: CUDA kernels as a library of the host, by
// tests/fake_nvidia/cuda_shim.h.
#pragma once

#include <dlfcn.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <string>
#include <vector>

#include "host/compile/kernel_text.h"
#include "tests/unit/temp_folder.h"

namespace rtrain::compile {

class HostKernels {
 public:
  explicit HostKernels(const std::vector<std::string>& texts,
                       const std::vector<std::string>& names) {
    const std::string source = folder_ / "kernels.cpp";
    const std::string library = folder_ / "kernels.so";
    std::ofstream file(source);
    file << "#include \"" RTRAIN_CUDA_SHIM "\"\n" << kernel_prelude();
    for (const std::string& text : texts) file << text;
    for (const std::string& name : names) {
      file << "extern \"C\" void host_" << name
           << "(unsigned blocks, unsigned threads, void** parameters) {\n"
           << "  cuda_shim::bind(&" << name << ", blocks, threads, parameters)();\n}\n";
    }
    file.close();
    const std::string command = RTRAIN_CXX
                                " -std=c++20 -O0 -w -ffp-contract=off -shared -fPIC -o " +
                                library + " " + source;
    if (std::system(command.c_str()) != 0) return;
    library_ = dlopen(library.c_str(), RTLD_NOW);
  }
  ~HostKernels() {
    if (library_ != nullptr) dlclose(library_);
  }

  bool is_compiled() const { return library_ != nullptr; }
  void launch(const std::string& name, int64_t blocks, int threads,
              std::vector<void*> parameters) const {
    using Launch = void(unsigned, unsigned, void**);
    auto* run = reinterpret_cast<Launch*>(dlsym(library_, ("host_" + name).c_str()));
    ASSERT_NE(run, nullptr);
    run(static_cast<unsigned>(blocks), static_cast<unsigned>(threads), parameters.data());
  }

 private:
  TempFolder folder_;
  void* library_ = nullptr;
};

}  // namespace rtrain::compile
