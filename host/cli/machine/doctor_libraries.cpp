#include "host/base/text/text.h"
#include "host/cli/machine/doctor_check.h"
#include "host/lua/libraries/cuda_loader.h"
#include "host/machine/libraries/arrow_library.h"
#include "host/machine/libraries/cuda_driver.h"
#include "host/machine/libraries/libtorch.h"
#include "host/machine/libraries/nvml.h"
#include "host/machine/libraries/tree_library.h"

namespace rtrain::cli {
namespace {

constexpr double kLoadTimeoutS = 60;

std::string milliseconds(double seconds) { return cat(static_cast<int>(seconds * 1000), " ms"); }

// Returns the places searched and the result, such as "RTRAIN_LIBTORCH: no libtorch_cpu.so".
std::string looked_at(const std::vector<machine::LibraryPlace>& places) {
  if (places.empty()) return "none found";
  const machine::LibraryPlace& first = places.front();
  const std::string others = places.size() > 1 ? cat(" (and ", places.size() - 1, " more)") : "";
  return cat("none found: ", first.path, " (", first.source, "): ", first.finding, others);
}

// Completes the check with the result of a process that loads and uses the library.
Check loaded(Check check, const OwnOutput& output, const std::string& mend) {
  if (!output.has_ended) {
    check.finding += cat("; it does not load within ", static_cast<int>(kLoadTimeoutS), " s");
  } else if (output.exit_code != 0) {
    check.finding += cat("; a process that loads it ends with code ", output.exit_code, ": ",
                         last_words(output.text));
  } else {
    check.finding += cat("; loaded and used in ", milliseconds(output.seconds));
    return check;
  }
  check.status = CheckStatus::kFailure;
  check.mend = mend;
  return check;
}

Check check_libtorch() {
  const machine::LibTorchSearch search = machine::find_libtorch();
  const std::string install =
      cat(machine::libtorch_install_command(),
          ", or set RTRAIN_LIBTORCH to the folder that holds lib/libtorch_cpu.so; rtrain env lists "
          "all places");
  if (!search.found) {
    return {"LibTorch", CheckStatus::kFailure, looked_at(search.places), install};
  }
  const OwnOutput output = run_own(
      "local torch = require 'torch' assert(torch.ones(2, 3):sum():item() == 6)", kLoadTimeoutS);
  return loaded({"LibTorch", CheckStatus::kOk,
                 cat(search.found->version, ", with the engine for ", search.found->minor,
                     search.found->is_tested ? "  " : ", tested with another release of it  ",
                     search.found->lib, "  (", search.found->source, ")")},
                output, install);
}

Check check_arrow() {
  const machine::ArrowLibrarySearch search = machine::find_arrow_library();
  const std::string install =
      "Parquet, CSV, JSON and object stores need it: pip install pyarrow==26.0.1, or set "
      "RTRAIN_ARROW to the folder that holds libarrow.so.2600";
  if (!search.found) {
    return {"Arrow", CheckStatus::kWarning, looked_at(search.places), install};
  }
  return loaded(
      {"Arrow", CheckStatus::kOk,
       cat(search.found->version, "  ", search.found->lib, "  (", search.found->source, ")")},
      run_own("require 'base._arrow'", kLoadTimeoutS), install);
}

// A missing library is not a failure: only models of trees need it.
Check check_tree_library(const machine::TreeLibraryKind& kind) {
  const machine::TreeLibrarySearch search = machine::find_tree_library(kind);
  const std::string install = machine::tree_library_mend(kind);
  if (!search.found) {
    return {kind.title, CheckStatus::kOk,
            cat("not installed; train.", kind.title, "Trainer needs it: ", install)};
  }
  return loaded(
      {kind.title, CheckStatus::kOk,
       cat(search.found->version, "  ", search.found->file, "  (", search.found->source, ")")},
      run_own(cat("require '", kind.name, "'.version()"), kLoadTimeoutS), install);
}

Check check_cuda() {
  const machine::CudaSupport& support = lua::cuda_support();
  if (support.devices == 0) {
    const bool has_gpu = !machine::find_gpus().gpus.empty();
    return {
        "CUDA", has_gpu ? CheckStatus::kWarning : CheckStatus::kOk,
        cat("not available, tensors live on the CPU: ", support.reason),
        has_gpu ? "the machine has GPUs: mend what stands above, and look at `rtrain env`" : ""};
  }
  const OwnOutput output = run_own(
      "local torch = require 'torch' for i = 0, torch.cuda.device_count() - 1 do "
      "assert(torch.ones(2, {device = 'cuda:' .. i}):cpu():sum():item() == 2) end",
      kLoadTimeoutS);
  return loaded({"CUDA", CheckStatus::kOk,
                 cat(support.devices, support.devices == 1 ? " device" : " devices", ", driver ",
                     machine::find_gpus().driver)},
                output, "look at nvidia-smi; CUDA_VISIBLE_DEVICES leaves a device out");
}

Check check_nccl() {
  const OwnOutput output = run_own(
      "assert(require 'torch'.distributed.is_nccl_available(), 'this LibTorch has no NCCL')",
      kLoadTimeoutS);
  return loaded({"NCCL", CheckStatus::kOk, "groups of ranks on GPUs"}, output,
                cat("a LibTorch with CUDA has it: ", machine::libtorch_install_command()));
}

}  // namespace

std::string_view status_name(CheckStatus status) {
  switch (status) {
    case CheckStatus::kOk:
      return "ok";
    case CheckStatus::kWarning:
      return "warning";
    case CheckStatus::kFailure:
      break;
  }
  return "failure";
}

std::vector<Check> check_libraries() {
  std::vector<Check> checks = {check_libtorch(), check_arrow()};
  for (const machine::TreeLibraryKind& kind : machine::tree_library_kinds()) {
    checks.push_back(check_tree_library(kind));
  }
  checks.push_back(check_cuda());
  if (lua::cuda_support().devices > 0) checks.push_back(check_nccl());
  return checks;
}

}  // namespace rtrain::cli
