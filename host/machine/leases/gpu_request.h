// host/machine/leases/gpu_request.h: how many GPUs a run asks for, and which its workers get of
// those that are free. Pure.
//
// A worker has one device or several to itself, or a part of one. Parts are counted in thousandths
// of a device.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "host/base/error.h"

namespace rtrain::machine {

// All of one device.
inline constexpr int kWholeGpu = 1000;

// The free part of each device that the run may use.
using FreeGpus = std::vector<int>;
// For each worker the devices it uses, by number; several workers may share one.
using GpuPlaces = std::vector<std::vector<int>>;

class GpuRequest {
 public:
  // gpus_per_worker: a part of one below 1, a whole number from 1 on, 0 for none. Throws
  // Error(kConfig) for others.
  GpuRequest(int min_workers, int max_workers, double gpus_per_worker);

  bool is_none() const { return share_ == 0; }
  // Thousandths of each of its devices that a worker takes.
  int share() const { return share_ < kWholeGpu ? share_ : kWholeGpu; }
  // Thousandths that the smallest group takes.
  int least() const { return min_workers_ * share_; }
  // As many workers as fit, at most the largest number.
  int workers(const FreeGpus& free) const;
  // Parts of a device fill it before another one is begun; nothing: that many do not fit.
  std::optional<GpuPlaces> place(const FreeGpus& free, int workers) const;
  // The error of a request for more than these devices, with the devices that there are.
  std::optional<Error> impossible(const std::vector<std::string>& names,
                                  std::string_view why_none) const;

 private:
  std::optional<std::vector<int>> take(FreeGpus& free) const;
  std::string wanted() const;

  int min_workers_;
  int max_workers_;
  int share_;  // of one worker, over all its devices
};

// "1 GPU", "0.5 GPU", "2 GPUs" of that many thousandths.
std::string gpus_text(int share);

// Whether a device of this name is of that type: "H100", "a100-40G", "RTX-4090" for
// "NVIDIA H100 80GB HBM3", "NVIDIA A100-SXM4-40GB", "NVIDIA GeForce RTX 4090".
bool is_accelerator(std::string_view name, std::string_view type);

}  // namespace rtrain::machine
