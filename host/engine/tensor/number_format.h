// host/engine/tensor/number_format.h: formats the numbers of a tensor with one width and notation,
// as PyTorch prints them.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <vector>

namespace rtrain::engine {

// The settings of torch.set_printoptions.
struct PrintOptions {
  int precision = 4;        // digits after the decimal point
  double threshold = 1000;  // more elements than this are summarised
  int64_t edgeitems = 3;    // shown at each end of a summarised dimension
  int64_t linewidth = 80;
  std::optional<bool> scientific;  // nullopt: chosen by the values
};

// The elements of a tensor on the CPU, in order.
class ElementTexts {
 public:
  ElementTexts(const at::Tensor& shown, const PrintOptions& options);

  // The width of an element when lines are filled. A complex number may be shorter.
  size_t width() const { return width_; }
  const std::string& take() { return texts_[next_++]; }

 private:
  void format_complex(const at::Tensor& flat, const PrintOptions& options);
  void format_integers(const at::Tensor& flat);

  std::vector<std::string> texts_;
  size_t width_ = 1;
  size_t next_ = 0;
};

}  // namespace rtrain::engine
