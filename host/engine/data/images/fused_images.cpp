#include "host/engine/data/images/fused_images.h"

#include <ATen/Parallel.h>

#include <algorithm>
#include <cstring>

#include "host/base/error.h"
#include "host/base/text/text.h"
#include "host/engine/tensor/empty_tensor.h"
#include "host/engine/tensor/tensor.h"

namespace rtrain::engine {
namespace {

constexpr int64_t kLevels = 257;
constexpr int64_t kOutside = 256;
constexpr int64_t kFarthest = int64_t{1} << 31;
constexpr int64_t kAhead = 2;  // samples to prefetch ahead
constexpr int64_t kFetchedBytes = 4096;
constexpr int64_t kCacheLine = 64;
constexpr int64_t kPixelsOfThread = 1 << 16;

[[noreturn]] void refuse(std::string_view what) {
  throw Error(Code::kArgument, cat("gather_images: ", what));
}

// Maps row or column i of the result to row or column start + i · step of the image.
struct Axis {
  int64_t start;
  int64_t step;

  int64_t at(int64_t i) const { return start + i * step; }
};

struct Span {
  int64_t from;
  int64_t to;
};

// The range of result indices within 0 … wanted - 1 that lie inside an image of this size.
Span inside(Axis axis, int64_t size, int64_t wanted) {
  const int64_t from = axis.step > 0 ? -axis.start : axis.start - size + 1;
  const int64_t to = axis.step > 0 ? size - axis.start : axis.start + 1;
  const int64_t first = std::clamp<int64_t>(from, 0, wanted);
  return {first, std::clamp<int64_t>(to, first, wanted)};
}

class Gather {
 public:
  Gather(const at::Tensor& images, const at::Tensor& indices, const ImagePlan& plan)
      : images_(images), indices_(indices.contiguous()), levels_(plan.levels.contiguous()) {
    check_images();
    check_plan(plan);
    out_ = empty_tensor({indices_.size(0), channels_, plan.height, plan.width}, levels_.options());
    if (plan.places.defined()) places_ = plan.places.contiguous();
  }

  at::Tensor run() {
    switch (levels_.element_size()) {
      case 1:
        fill<uint8_t>();
        break;
      case 2:
        fill<uint16_t>();
        break;
      case 4:
        fill<uint32_t>();
        break;
      case 8:
        fill<uint64_t>();
        break;
      default:
        refuse(cat("cannot give ", describe(levels_)));
    }
    return out_;
  }

 private:
  void check_images() {
    const int64_t dims = images_.dim();
    if (images_.scalar_type() != at::kByte || (dims != 3 && dims != 4) || !images_.is_cpu()) {
      refuse(cat("expected images uint8 (n, h, w) or (n, h, w, c), got ", describe(images_)));
    }
    if (indices_.scalar_type() != at::kLong || indices_.dim() != 1 || !indices_.is_cpu()) {
      refuse(cat("expected indices int64 (batch), got ", describe(indices_)));
    }
    channels_ = dims == 4 ? images_.size(3) : 1;
    channel_stride_ = dims == 4 ? images_.stride(3) : 0;
  }

  void check_plan(const ImagePlan& plan) const {
    if (levels_.dim() != 2 || levels_.size(0) != channels_ || levels_.size(1) != kLevels ||
        !levels_.is_cpu()) {
      refuse(cat("expected levels (", channels_, ", 257), got ", describe(levels_)));
    }
    if (plan.height <= 0 || plan.width <= 0 || plan.height > kFarthest || plan.width > kFarthest) {
      refuse(cat("cannot give images of ", plan.height, " x ", plan.width));
    }
    if (plan.places.defined()) return check_places(plan.places);
    if (plan.height > images_.size(1) || plan.width > images_.size(2)) {
      refuse("without places the result cannot be larger than the images");
    }
  }

  void check_places(const at::Tensor& places) const {
    if (places.scalar_type() != at::kLong || places.dim() != 2 || places.size(1) != 4 ||
        places.size(0) != indices_.size(0) || !places.is_cpu()) {
      refuse(cat("expected places int64 (", indices_.size(0), ", 4), got ", describe(places)));
    }
  }

  Axis axis(int64_t sample, int64_t column) const {
    if (!places_.defined()) return {0, 1};
    const int64_t* place = places_.const_data_ptr<int64_t>() + 4 * sample + column;
    const Axis axis{place[0], place[1]};
    if (axis.start < -kFarthest || axis.start > kFarthest) {
      refuse(cat("place ", axis.start, " of sample ", sample, " is too far away"));
    }
    if (axis.step != 1 && axis.step != -1) {
      refuse(cat("step ", axis.step, " of sample ", sample, " is neither 1 nor -1"));
    }
    return axis;
  }

  const uint8_t* image(int64_t sample) const {
    const int64_t index = indices_.const_data_ptr<int64_t>()[sample];
    if (index < 0 || index >= images_.size(0)) {
      refuse(cat("index ", index, " is out of range for ", images_.size(0), " images"));
    }
    return images_.const_data_ptr<uint8_t>() + index * images_.stride(0);
  }

  // Prefetches a sample: in a shuffled epoch samples lie anywhere in memory, and waiting for them
  // takes longer than the work.
  void fetch(int64_t sample) const {
    if (sample >= indices_.size(0)) return;
    const uint8_t* pixels = image(sample);
    const int64_t bytes = std::min(images_.size(1) * images_.stride(1), kFetchedBytes);
    for (int64_t i = 0; i < bytes; i += kCacheLine) __builtin_prefetch(pixels + i);
  }

  template <typename T>
  void fill() {
    const int64_t pixels = std::max<int64_t>(channels_ * out_.size(2) * out_.size(3), 1);
    at::parallel_for(0, indices_.size(0), std::max<int64_t>(kPixelsOfThread / pixels, 1),
                     [&](int64_t from, int64_t to) { fill_samples<T>(from, to); });
  }

  template <typename T>
  void fill_samples(int64_t from, int64_t to) {
    const int64_t plane = out_.size(2) * out_.size(3);
    T* out = static_cast<T*>(out_.mutable_data_ptr()) + from * channels_ * plane;
    for (int64_t i = from; i < to; ++i) {
      const uint8_t* pixels = image(i);
      fetch(i + kAhead);
      const Axis rows = axis(i, 0);
      const Axis columns = axis(i, 2);
      const Span x = inside(columns, images_.size(2), out_.size(3));
      for (int64_t channel = 0; channel < channels_; ++channel, out += plane) {
        const T* levels = static_cast<const T*>(levels_.const_data_ptr()) + channel * kLevels;
        fill_plane(pixels + channel * channel_stride_, levels, rows, columns, x, out);
      }
    }
  }

  // Whether the rows of result and image are contiguous alike, so that several rows copy as one.
  bool is_run(Axis rows, Axis columns, Span x) const {
    const int64_t width = out_.size(3);
    return columns.step * images_.stride(2) == 1 && rows.step == 1 && x.from == 0 &&
           x.to == width && images_.stride(1) == width;
  }

  template <typename T>
  void fill_plane(const uint8_t* pixels, const T* levels, Axis rows, Axis columns, Span x,
                  T* out) const {
    const int64_t height = out_.size(2);
    const int64_t width = out_.size(3);
    const Span y = inside(rows, images_.size(1), height);
    const int64_t joined = is_run(rows, columns, x) ? std::max<int64_t>(y.to - y.from, 1) : 1;
    std::fill_n(out, y.from * width, levels[kOutside]);
    for (int64_t row = y.from; row < y.to; row += joined) {
      const uint8_t* source = pixels + rows.at(row) * images_.stride(1);
      T* target = out + row * width;
      std::fill_n(target, x.from, levels[kOutside]);
      if (x.from < x.to) {
        look_up(source + columns.at(x.from) * images_.stride(2), columns.step * images_.stride(2),
                levels, target + x.from, (x.to - x.from) * joined);
      }
      std::fill_n(target + x.to, width - x.to, levels[kOutside]);
    }
    std::fill_n(out + y.to * width, (height - y.to) * width, levels[kOutside]);
  }

  // Loads eight pixels at once, because loads limit the speed of this loop.
  template <typename T>
  static void look_up_run(const uint8_t* __restrict source, const T* __restrict levels,
                          T* __restrict out, int64_t count) {
    int64_t i = 0;
    for (; i + 8 <= count; i += 8) {
      uint64_t bytes;
      std::memcpy(&bytes, source + i, sizeof bytes);
      for (int k = 0; k < 8; ++k) out[i + k] = levels[bytes >> 8 * k & 0xFF];
    }
    for (; i < count; ++i) out[i] = levels[source[i]];
  }

  template <typename T>
  static void look_up(const uint8_t* __restrict source, int64_t step, const T* __restrict levels,
                      T* __restrict out, int64_t count) {
    if (step == 1) return look_up_run(source, levels, out, count);
    int64_t i = 0;
    for (; i + 4 <= count; i += 4, source += 4 * step) {
      const T a = levels[source[0]];
      const T b = levels[source[step]];
      const T c = levels[source[2 * step]];
      const T d = levels[source[3 * step]];
      out[i] = a;
      out[i + 1] = b;
      out[i + 2] = c;
      out[i + 3] = d;
    }
    for (; i < count; ++i, source += step) out[i] = levels[*source];
  }

  const at::Tensor& images_;
  at::Tensor indices_;
  at::Tensor levels_;
  at::Tensor places_;
  at::Tensor out_;
  int64_t channels_ = 1;
  int64_t channel_stride_ = 0;
};

}  // namespace

at::Tensor gather_images(const at::Tensor& images, const at::Tensor& indices,
                         const ImagePlan& plan) {
  return Gather(images, indices, plan).run();
}

}  // namespace rtrain::engine
