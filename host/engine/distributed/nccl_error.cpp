#include "host/engine/distributed/nccl_error.h"

#include <string_view>

#include "host/base/text/text.h"

namespace rtrain::engine {
namespace {

constexpr const char* kLongerWait = "a longer wait is set with torch_config = {timeout_s = …}";

std::string place(const NcclFailure& failure) {
  std::string out = failure.collective ? failure.collective->text : "a collective";
  out += cat(" on rank ", failure.rank, " of ", failure.world_size);
  if (!failure.collective) return out;
  const GivenCollective& given = *failure.collective;
  if (given.number == 0) return out + cat(" (NCCL's number ", given.sequence, ")");
  return out + cat(" (collective ", given.number, ", NCCL's number ", given.sequence, ")");
}

std::string who_is_late(const NcclFailure& failure) {
  if (failure.world_size == 1) return "the device does not go on";
  if (!failure.absent) return "other ranks have not come, or the devices do not go on";
  if (!failure.absent->empty()) return *failure.absent;
  return "every rank has called it, and the devices do not go on";
}

std::string seconds(double s) { return cat(static_cast<int64_t>(s), " s"); }

Error failed(const NcclFailure& failure) {
  const bool is_remote = failure.detail.find("emote process") != std::string::npos ||
                         failure.detail.find("ncclRemoteError") != std::string::npos;
  return Error(is_remote ? Code::kPeerLost : Code::kUser,
               cat(place(failure), " failed over NCCL after ", seconds(failure.waited_s), ": ",
                   failure.detail.empty() ? "NCCL does not say why" : failure.detail));
}

}  // namespace

Error nccl_error(const NcclFailure& failure) {
  switch (failure.kind) {
    case NcclFailure::Kind::kStart:
      return Error(Code::kTimeout, cat("init_process_group on rank ", failure.rank, " of ",
                                       failure.world_size, " waited ", seconds(failure.waited_s),
                                       " for NCCL to connect the devices; ", kLongerWait));
    case NcclFailure::Kind::kTimeout:
      return Error(Code::kTimeout,
                   cat(place(failure), " waited ", seconds(failure.waited_s),
                       " on the device: ", who_is_late(failure), "; ", kLongerWait));
    case NcclFailure::Kind::kError:
      return failed(failure);
    case NcclFailure::Kind::kAbort:
      break;
  }
  return Error(Code::kTimeout,
               cat(place(failure), ": LibTorch's watchdog of NCCL stands still: ", failure.detail));
}

}  // namespace rtrain::engine
