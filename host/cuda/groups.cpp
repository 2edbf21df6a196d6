#include "host/cuda/groups.h"

#include <torch/headeronly/version.h>
#include <torch/csrc/distributed/c10d/ProcessGroupNCCL.hpp>

#include <exception>
#include <utility>

#include "host/engine/distributed/watched_backend.h"

namespace rtrain::cuda {
namespace {

// c10d's classes contain NCCL's structs, whose layout changes with each release. LibTorch's NCCL is
// 2.28 for 2.11, 2.29 for 2.12 and 2.13, 2.30 for 2.14 and 2.15.
constexpr int kNcclMinor = TORCH_VERSION_MINOR < 12 ? 28 : TORCH_VERSION_MINOR < 14 ? 29 : 30;
static_assert(NCCL_VERSION_CODE >= NCCL_VERSION(2, kNcclMinor, 0) &&
                  NCCL_VERSION_CODE < NCCL_VERSION(2, kNcclMinor + 1, 0),
              "LibTorch is built with another NCCL: set CUDA_HOME to a toolkit with that nccl.h");

std::string text_of(const std::exception_ptr& error) {
  try {
    std::rethrow_exception(error);
  } catch (const c10::Error& e) {
    return e.what_without_backtrace();
  } catch (const std::exception& e) {
    return e.what();
  }
}

using Base = engine::Watched<c10d::ProcessGroupNCCL>;

class NcclBackend final : public Base {
 public:
  NcclBackend(const c10::intrusive_ptr<c10d::Store>& store, engine::NcclOptions options,
              const c10::intrusive_ptr<c10d::ProcessGroupNCCL::Options>& nccl)
      : Base(std::move(options.notify), store, options.rank, options.world_size, nccl),
        on_given_(std::move(options.on_given)),
        on_abort_(std::move(options.on_abort)) {}

  // LibTorch's watchdog holds the list's lock while it queries the device, and for a minute after
  // an error.
  std::optional<uint64_t> pending() {
    const std::unique_lock lock(workMetaListMutex_, std::try_to_lock);
    if (!lock.owns_lock()) return std::nullopt;
    return workMetaList_.empty() ? 0 : workMetaList_.front().getSequencenumber();
  }

  std::string problem() {
    const std::unique_lock lock(mutex_, std::try_to_lock);
    if (!lock.owns_lock()) return "";
    for (auto& [devices, communicator] : devNCCLCommMap_) {
      const std::exception_ptr error = checkForNCCLErrors(communicator);
      if (error != nullptr) return text_of(error);
    }
    return "";
  }

 protected:
  void on_given(uint64_t number) override { on_given_(number, getSequenceNumberForGroup()); }
  void terminateProcess(const std::string& reason) override { on_abort_(reason); }

 private:
  std::function<void(uint64_t, uint64_t)> on_given_;
  std::function<void(const std::string&)> on_abort_;
};

c10::intrusive_ptr<c10d::Backend> create(const c10::intrusive_ptr<c10d::Store>& store,
                                         engine::NcclOptions options) {
  auto nccl = c10d::ProcessGroupNCCL::Options::create(options.is_high_priority_stream);
  nccl->timeout = options.timeout;
  const at::Device device(at::kCUDA, static_cast<c10::DeviceIndex>(options.device));
  auto out = c10::make_intrusive<NcclBackend>(store, std::move(options), nccl);
  out->setBoundDeviceId(device);
  return out;
}

std::optional<uint64_t> pending(c10d::Backend& backend) {
  return static_cast<NcclBackend&>(backend).pending();
}

std::string problem(c10d::Backend& backend) { return static_cast<NcclBackend&>(backend).problem(); }

std::string trace() { return c10d::dump_nccl_trace_json(true, false); }

std::string version() { return c10d::getNcclVersion(); }

}  // namespace

engine::CudaGroupsApi cuda_groups_api() {
  return {.create = &create,
          .pending = &pending,
          .problem = &problem,
          .trace = &trace,
          .version = &version};
}

}  // namespace rtrain::cuda
