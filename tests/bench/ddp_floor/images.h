// tests/bench/ddp_floor/images.h: Fashion-MNIST in memory, in the order in which a DataLoader with
// a DistributedSampler gives it to a rank.
#pragma once

#include <ATen/core/Tensor.h>

#include <string>
#include <utility>

namespace rtrain::floor {

class Images {
 public:
  // Reads the training images below `folder`; throws std::runtime_error where they are not there.
  Images(const std::string& folder, int64_t batch, uint64_t seed, int rank, int ranks);

  // Normalised images and labels, from epoch to epoch without an end.
  std::pair<at::Tensor, at::Tensor> next();

 private:
  void begin_epoch();

  at::Tensor images_, labels_;
  int64_t batch_;
  uint64_t seed_;
  int rank_, ranks_;
  uint64_t epoch_ = 0;  // that begins next
  at::Tensor order_;    // of this rank; undefined before the first epoch
  int64_t taken_ = 0;
};

}  // namespace rtrain::floor
