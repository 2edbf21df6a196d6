// tests/bench/ddp_floor/images.h: Fashion-MNIST in memory, in the order in which a DataLoader with
// a DistributedSampler gives it to a rank.
#pragma once

#include <ATen/core/Tensor.h>

#include <string>
#include <utility>

namespace rtrain::floor {

class Images {
 public:
  // Reads the training images below `folder`; throws std::runtime_error if they are missing.
  Images(const std::string& folder, int64_t batch, uint64_t seed, int rank, int ranks);

  // Returns normalised images and labels, epoch after epoch without end.
  std::pair<at::Tensor, at::Tensor> next();

 private:
  void begin_epoch();

  at::Tensor images_, labels_;
  int64_t batch_;
  uint64_t seed_;
  int rank_, ranks_;
  uint64_t epoch_ = 0;  // the next epoch
  at::Tensor order_;    // of this rank; undefined before the first epoch
  int64_t taken_ = 0;
};

}  // namespace rtrain::floor
