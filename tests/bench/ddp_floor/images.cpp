#include "tests/bench/ddp_floor/images.h"

#include <ATen/CPUGeneratorImpl.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/index_select.h>
#include <ATen/ops/randperm.h>
#include <zlib.h>

#include <memory>
#include <stdexcept>
#include <vector>

namespace rtrain::floor {
namespace {

constexpr double kMean = 0.2860, kDeviation = 0.3530;

struct CloseGz {
  void operator()(gzFile file) const { gzclose(file); }
};

// Reads an IDX file of bytes.
at::Tensor read_idx(const std::string& path) {
  const std::unique_ptr<gzFile_s, CloseGz> file(gzopen(path.c_str(), "rb"));
  const auto read = [&](void* out, size_t bytes) {
    const auto wanted = static_cast<unsigned>(bytes);
    if (file == nullptr || gzread(file.get(), out, wanted) != static_cast<int>(wanted)) {
      throw std::runtime_error("cannot read " + path);
    }
  };
  unsigned char head[4];
  read(head, sizeof(head));
  std::vector<int64_t> sizes;
  for (int i = 0; i < head[3]; ++i) {
    unsigned char size[4];
    read(size, sizeof(size));
    sizes.push_back(size[0] << 24 | size[1] << 16 | size[2] << 8 | size[3]);
  }
  at::Tensor out = at::empty(sizes, at::kByte);
  read(out.mutable_data_ptr(), out.nbytes());
  return out;
}

}  // namespace

Images::Images(const std::string& folder, int64_t batch, uint64_t seed, int rank, int ranks)
    : batch_(batch), seed_(seed), rank_(rank), ranks_(ranks) {
  images_ = read_idx(folder + "/train-images-idx3-ubyte.gz");
  images_ = images_.unsqueeze(1).to(at::kFloat).div_(255).sub_(kMean).div_(kDeviation);
  labels_ = read_idx(folder + "/train-labels-idx1-ubyte.gz").to(at::kLong);
}

void Images::begin_epoch() {
  at::empty({}, at::kLong).random_();  // the loader draws its seed from the default generator
  auto generator = at::make_generator<at::CPUGeneratorImpl>(seed_ + epoch_++);
  const at::Tensor order = at::randperm(images_.size(0), generator, at::kLong);
  order_ = order.slice(0, rank_, order.size(0), ranks_);  // 60,000 images: no padding is necessary
  taken_ = 0;
}

std::pair<at::Tensor, at::Tensor> Images::next() {
  if (!order_.defined() || taken_ == order_.size(0)) begin_epoch();
  const int64_t count = std::min(batch_, order_.size(0) - taken_);
  const at::Tensor indices = order_.narrow(0, taken_, count);
  taken_ += count;
  return {images_.index_select(0, indices), labels_.index_select(0, indices)};
}

}  // namespace rtrain::floor
