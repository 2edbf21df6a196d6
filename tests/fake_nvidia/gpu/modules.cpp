// Kernels that a process loads itself: their image is CUDA C++ (../nvrtc.cpp), which a compiler of
// the host makes a library of, by ../cuda_shim.h. Each launch is a line of the file
// FAKE_CUDA_LAUNCHES: the kernel, its blocks and their threads.
#include <cuda_runtime_api.h>
#include <dlfcn.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <regex>
#include <string>

#include "stream.h"

namespace fake_gpu {
namespace {

using Bind = void(unsigned blocks, unsigned threads, void** parameters, Work* out);

struct Function {
  std::string name;
  Bind* bind = nullptr;
};

struct Module {
  std::map<std::string, Function> functions;
};

std::string with_launches(const std::string& text, std::vector<std::string>& names) {
  std::string out = "#include \"" RTRAIN_CUDA_SHIM "\"\n" + text;
  const std::regex head("__global__ void __launch_bounds__\\(\\d+\\) (\\w+)\\(");
  for (std::sregex_iterator at(text.begin(), text.end(), head), end; at != end; ++at) {
    names.push_back((*at)[1]);
    out += "extern \"C\" void bind_" + names.back() +
           "(unsigned blocks, unsigned threads, void** parameters, std::function<void()>* out) {\n"
           "  *out = cuda_shim::bind(&" +
           names.back() + ", blocks, threads, parameters);\n}\n";
  }
  return out;
}

// The library stays loaded.
bool compile(const std::string& text, Module& module) {
  std::string folder = (std::filesystem::temp_directory_path() / "fake-gpu-XXXXXX").string();
  if (mkdtemp(folder.data()) == nullptr) return false;
  std::vector<std::string> names;
  std::ofstream(folder + "/kernel.cpp") << with_launches(text, names);
  const std::string command = "env -u LD_PRELOAD " RTRAIN_CXX
                              " -std=c++20 -O1 -w -ffp-contract=off -shared -fPIC -o " +
                              folder + "/kernel.so " + folder + "/kernel.cpp";
  void* library = nullptr;
  if (std::system(command.c_str()) == 0)
    library = dlopen((folder + "/kernel.so").c_str(), RTLD_NOW);
  std::filesystem::remove_all(folder);
  for (const std::string& name : names) {
    auto* bind = library == nullptr ? nullptr : dlsym(library, ("bind_" + name).c_str());
    if (bind == nullptr) return false;
    module.functions[name] = {name, reinterpret_cast<Bind*>(bind)};
  }
  return !names.empty();
}

void note(const Function& function, unsigned blocks, unsigned threads) {
  const char* path = std::getenv("FAKE_CUDA_LAUNCHES");
  if (path == nullptr) return;
  std::ofstream(path, std::ios::app) << function.name << " " << blocks << " " << threads << "\n";
}

}  // namespace
}  // namespace fake_gpu

using fake_gpu::Function;
using fake_gpu::Module;

extern "C" {

int fake_gpu_load(void** module, const void* image) {
  auto made = std::make_unique<Module>();
  if (!fake_gpu::compile(static_cast<const char*>(image), *made))
    return cudaErrorInvalidKernelImage;
  *module = made.release();
  return cudaSuccess;
}

int fake_gpu_function(void** function, void* module, const char* name) {
  auto& functions = static_cast<Module*>(module)->functions;
  const auto found = functions.find(name);
  if (found == functions.end()) return cudaErrorSymbolNotFound;
  *function = &found->second;
  return cudaSuccess;
}

int fake_gpu_launch(void* function, unsigned blocks, unsigned threads, void* stream,
                    void** parameters) {
  const auto& its = *static_cast<Function*>(function);
  fake_gpu::Work work;
  its.bind(blocks, threads, parameters, &work);
  fake_gpu::note(its, blocks, threads);
  fake_gpu::stream_of(static_cast<cudaStream_t>(stream)).give(std::move(work));
  return cudaSuccess;
}
}
