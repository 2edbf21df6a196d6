// host/machine/leases/gpu_request.h: how many GPUs a run requests, and which of the free ones its
// workers get. Pure.
//
// A worker has one or several devices to itself, or a part of one device. Parts are counted in
// thousandths of a device.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "host/base/error.h"

namespace rtrain::machine {

// A whole device.
inline constexpr int kWholeGpu = 1000;

// The free part of each device that the run may use.
using FreeGpus = std::vector<int>;
// For each worker the numbers of its devices; several workers may share one.
using GpuPlaces = std::vector<std::vector<int>>;

class GpuRequest {
 public:
  // gpus_per_worker below 1 is a part of a device; from 1 on it must be a whole number; 0 means no
  // GPU. Throws Error(kConfig) for other numbers.
  GpuRequest(int min_workers, int max_workers, double gpus_per_worker);

  bool is_none() const { return share_ == 0; }
  // The thousandths that a worker takes of each of its devices.
  int share() const { return share_ < kWholeGpu ? share_ : kWholeGpu; }
  // The thousandths that the smallest group takes.
  int least() const { return min_workers_ * share_; }
  // Returns how many workers fit, at most the largest number of the request.
  int workers(const FreeGpus& free) const;
  // Fills a device with parts before it begins another one. Nothing if that many do not fit.
  std::optional<GpuPlaces> place(const FreeGpus& free, int workers) const;
  // Returns the error if the request exceeds these devices; its message lists them.
  std::optional<Error> impossible(const std::vector<std::string>& names,
                                  std::string_view why_none) const;

 private:
  std::optional<std::vector<int>> take(FreeGpus& free) const;
  std::string wanted() const;

  int min_workers_;
  int max_workers_;
  int share_;  // of one worker, summed over its devices
};

// Formats that many thousandths: "1 GPU", "0.5 GPU", "2 GPUs".
std::string gpus_text(int share);

// Whether a device of this name has that type: "H100", "a100-40G", "RTX-4090" for "NVIDIA H100 80GB
// HBM3", "NVIDIA A100-SXM4-40GB", "NVIDIA GeForce RTX 4090".
bool is_accelerator(std::string_view name, std::string_view type);

}  // namespace rtrain::machine
