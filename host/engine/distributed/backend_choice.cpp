#include "host/engine/distributed/backend_choice.h"

#include <map>

#include "host/base/error.h"
#include "host/base/text.h"

namespace rtrain {
namespace {

constexpr const char* kWayOut = "leave the backend out, or set it to 'gloo'";

}  // namespace

BackendChoice choose_backend(std::string_view wanted, const std::vector<std::string>& devices) {
  if (wanted == "gloo") return {};
  const bool must = wanted == "nccl";
  std::map<std::string, size_t> owners;
  for (size_t rank = 0; rank < devices.size(); ++rank) {
    if (devices[rank].empty()) {
      if (!must) return {};
      throw Error(Code::kConfig,
                  cat("backend 'nccl': rank ", rank, " has no CUDA device: ", kWayOut));
    }
    const auto [owner, is_new] = owners.emplace(devices[rank], rank);
    if (is_new) continue;
    const std::string shared = cat("ranks ", owner->second, " and ", rank, " share one device");
    if (!must) return {.uses_nccl = false, .reason = shared + ", which NCCL refuses"};
    throw Error(Code::kConfig, cat("backend 'nccl': ", shared, ", which NCCL refuses: ", kWayOut));
  }
  return {.uses_nccl = true, .reason = ""};
}

}  // namespace rtrain
