#include "host/store/runs/environment.h"

#include <gnu/libc-version.h>
#include <sqlite3.h>
#include <sys/utsname.h>
#include <unistd.h>
#include <uv.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <map>
#include <string_view>

#include "host/base/error.h"
#include "host/base/secrets.h"
#include "host/base/text/text.h"
#include "host/lua/compiled_hooks.h"
#include "host/lua/libraries/cuda_loader.h"
#include "host/lua/lua.h"
#include "host/machine/libraries/arrow_library.h"
#include "host/machine/libraries/libtorch.h"
#include "host/machine/libraries/nccl_settings.h"
#include "host/machine/libraries/nvml.h"
#include "host/machine/libraries/tree_library.h"
#include "host/machine/machine.h"
#include "host/store/runs/storage_folder.h"

namespace rtrain::store {
namespace {

List describe_places(const std::vector<machine::LibraryPlace>& places) {
  List out;
  for (const machine::LibraryPlace& place : places) {
    out.push_back(Map{{"path", place.path}, {"source", place.source}, {"finding", place.finding}});
  }
  return out;
}

Value text_or_nil(const std::string& text) { return text.empty() ? Value() : Value(text); }

Value describe_libtorch() {
  const machine::LibTorchSearch search = machine::find_libtorch();
  const machine::LibTorch found = search.found.value_or(machine::LibTorch{});
  return Map{{"found", search.found.has_value()},
             {"version", text_or_nil(found.version)},
             {"tested", search.found ? Value(found.is_tested) : Value()},
             {"engine", text_or_nil(found.minor)},
             {"engines", List(machine::engine_minors().begin(), machine::engine_minors().end())},
             {"cuda", text_or_nil(found.cuda)},
             {"path", text_or_nil(found.lib)},
             {"source", text_or_nil(found.source)},
             {"places", describe_places(search.places)}};
}

Value describe_arrow() {
  const machine::ArrowLibrarySearch search = machine::find_arrow_library();
  const machine::ArrowLibrary found = search.found.value_or(machine::ArrowLibrary{});
  return Map{{"found", search.found.has_value()},
             {"version", text_or_nil(found.version)},
             {"path", text_or_nil(found.lib)},
             {"source", text_or_nil(found.source)},
             {"places", describe_places(search.places)}};
}

Value describe_tree_libraries() {
  List out;
  for (const machine::TreeLibraryKind& kind : machine::tree_library_kinds()) {
    const machine::TreeLibrarySearch search = machine::find_tree_library(kind);
    const machine::TreeLibrary found = search.found.value_or(machine::TreeLibrary{});
    out.push_back(Map{{"name", kind.title},
                      {"found", search.found.has_value()},
                      {"version", text_or_nil(found.version)},
                      {"path", text_or_nil(found.file)},
                      {"source", text_or_nil(found.source)},
                      {"mend", machine::tree_library_mend(kind)},
                      {"places", describe_places(search.places)}});
  }
  return Value(std::move(out));
}

// "PYTORCH_ALLOC_CONF=expandable_segments:True"; nil if LibTorch's defaults apply. LibTorch reads
// the first of its two variables that is set.
Value allocator_settings() {
  for (const char* name : {"PYTORCH_ALLOC_CONF", "PYTORCH_CUDA_ALLOC_CONF"}) {
    if (const char* value = std::getenv(name)) return cat(name, "=", value);
  }
  return {};
}

Value describe_cuda() {
  const machine::CudaSupport& support = lua::cuda_support();
  return Map{{"available", support.devices > 0},
             {"devices", support.devices},
             {"reason", text_or_nil(support.reason)},
             {"allocator", allocator_settings()}};
}

// The NCCL that a process using GPUs will load.
Value describe_nccl() {
  List out;
  for (const machine::NcclSetting& setting : machine::nccl_settings()) {
    out.push_back(Map{{"name", setting.name},
                      {"value", setting.value},
                      {"set_by", setting.set_by},
                      {"why", text_or_nil(setting.why)}});
  }
  return Value(std::move(out));
}

Value describe_platform() {
  utsname system{};
  ::uname(&system);
  return Map{{"system", system.sysname},
             {"kernel", system.release},
             {"machine", system.machine},
             {"glibc", gnu_get_libc_version()}};
}

void add_storage(Map& out) {
  try {
    out.set("storage", storage_folder());
    out.set("storage_reason", {});
  } catch (const Error& e) {
    out.set("storage", {});
    out.set("storage_reason", e.message());
  }
}

}  // namespace

std::string kernel_release() {
  utsname system{};
  ::uname(&system);
  return system.release;
}

Value recorded_variables() {
  constexpr std::array<std::string_view, 10> kPrefixes = {"OMP_",    "MKL_",   "KMP_",     "CUDA_",
                                                          "NCCL_",   "GLOO_",  "PYTORCH_", "TORCH_",
                                                          "NVIDIA_", "RTRAIN_"};
  constexpr std::array<std::string_view, 8> kLeftOut = {
      "RTRAIN_STORAGE", "RTRAIN_RUNTIME_DIR", "RTRAIN_DATA",        "RTRAIN_RENDEZVOUS",
      "RTRAIN_JOB_ID",  "RTRAIN_TASK",        "RTRAIN_MASTER_ADDR", "RTRAIN_MASTER_PORT"};
  std::map<std::string, std::string> found;
  for (char** each = environ; *each != nullptr; ++each) {
    const std::string_view entry = *each;
    const std::string_view name = entry.substr(0, entry.find('='));
    const auto begins = [&](std::string_view prefix) { return name.starts_with(prefix); };
    if (std::none_of(kPrefixes.begin(), kPrefixes.end(), begins)) continue;
    if (std::find(kLeftOut.begin(), kLeftOut.end(), name) != kLeftOut.end()) continue;
    const bool is_secret = is_secret_name(name) || name.starts_with("RTRAIN_SECRET");
    found[std::string(name)] =
        is_secret ? kMasked : entry.substr(std::min(name.size() + 1, entry.size()));
  }
  Map out;
  for (auto& [name, value] : found) out.set(name, value);
  return Value(std::move(out));
}

std::string rtrain_version() { return RTRAIN_VERSION; }

Value describe_environment() {
  const machine::GpuSearch search = machine::find_gpus();
  List gpus;
  for (const machine::Gpu& gpu : search.gpus) {
    gpus.push_back(Map{{"index", gpu.index},
                       {"uuid", gpu.uuid},
                       {"name", gpu.name},
                       {"memory_bytes", gpu.memory_bytes}});
  }
  Map out{{"version", rtrain_version()},
          {"platform", describe_platform()},
          {"luajit", LUAJIT_VERSION},
          {"luajit_hooks_in_compiled_code", lua::hooks_reach_compiled_code()},
          {"libuv", uv_version_string()},
          {"sqlite", sqlite3_libversion()},
          {"libtorch", describe_libtorch()},
          {"arrow", describe_arrow()},
          {"trees", describe_tree_libraries()},
          {"cuda", describe_cuda()},
          {"nccl", describe_nccl()},
          {"hostname", machine::hostname()},
          {"cores", machine::available_cores()},
          {"memory_bytes", machine::memory_bytes()},
          {"available_memory_bytes", machine::available_memory_bytes()},
          {"gpus", std::move(gpus)},
          {"gpu_driver", search.driver.empty() ? Value() : Value(search.driver)},
          {"gpu_reason", search.reason.empty() ? Value() : Value(search.reason)},
          {"network",
           "during a run Gloo, and NCCL with GPUs, listen on loopback; their connections are not "
           "authenticated"}};
  add_storage(out);
  return out;
}

}  // namespace rtrain::store
