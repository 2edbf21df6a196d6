#include "host/engine/printing.h"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/view_as_real.h>
#include <c10/core/DefaultDtype.h>
#include <torch/csrc/autograd/function.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <vector>

#include "host/base/text.h"
#include "host/engine/dtype.h"

namespace rtrain {
namespace {

constexpr int64_t kThreshold = 1000;  // more elements than this are summarised
constexpr int64_t kEdgeItems = 3;     // shown at each end of a summarised dimension
constexpr size_t kLineWidth = 80;
constexpr int kPrecision = 4;

std::string formatted(const char* format, int precision, double number) {
  char text[400];  // the largest double has 309 digits
  std::snprintf(text, sizeof text, format, precision, number);
  return text;
}

// Chooses one width and notation for all shown numbers of a floating tensor.
class FloatFormat {
 public:
  explicit FloatFormat(const std::vector<double>& values) {
    double smallest = INFINITY;
    double largest = 0;
    for (const double v : values) {
      if (!std::isfinite(v) || v == 0) continue;
      smallest = std::min(smallest, std::abs(v));
      largest = std::max(largest, std::abs(v));
      integral_ = integral_ && v == std::ceil(v);
    }
    if (largest > 0) {
      scientific_ = largest / smallest > 1000 || largest > 1e8 || smallest < 1e-4;
    }
    for (const double v : values) {
      if (largest > 0 && std::isfinite(v) && v != 0) width_ = std::max(width_, plain(v).size());
    }
  }

  std::string format(double v) const {
    const std::string text = plain(v);
    return std::string(width_ > text.size() ? width_ - text.size() : 0, ' ') + text;
  }
  size_t width() const { return width_; }

 private:
  std::string plain(double v) const {
    if (std::isnan(v)) return "nan";
    if (std::isinf(v)) return v > 0 ? "inf" : "-inf";
    if (scientific_) return formatted("%.*e", kPrecision, v);
    if (integral_) return formatted("%.*f", 0, v) + ".";
    return formatted("%.*f", kPrecision, v);
  }

  bool integral_ = true;
  bool scientific_ = false;
  size_t width_ = 1;
};

// The elements that are shown, in order, already as text of equal width.
class Elements {
 public:
  explicit Elements(const at::Tensor& shown) {
    const at::Tensor flat = shown.reshape({-1});
    if (shown.is_complex()) {
      format_complex(flat);
    } else if (shown.is_floating_point()) {
      texts_ = format_floats(flat, width_);
    } else {
      format_integers(flat);
    }
  }

  size_t width() const { return width_; }
  const std::string& take() { return texts_[next_++]; }

 private:
  // nan and inf do not count for the width, so they may stick out.
  static std::vector<std::string> format_floats(const at::Tensor& flat, size_t& width) {
    const at::Tensor numbers = flat.to(at::kDouble).contiguous();
    const double* data = numbers.const_data_ptr<double>();
    const std::vector<double> values(data, data + numbers.numel());
    const FloatFormat format(values);
    width = format.width();
    std::vector<std::string> out;
    for (const double v : values) out.push_back(format.format(v));
    return out;
  }

  void format_complex(const at::Tensor& flat) {
    const at::Tensor parts =
        at::view_as_real(flat.resolve_conj().to(at::kComplexDouble)).contiguous();
    size_t imaginary_width = 0;
    const auto real = format_floats(parts.select(1, 0), width_);
    const auto imaginary = format_floats(parts.select(1, 1), imaginary_width);
    width_ += imaginary_width + 2;
    for (size_t i = 0; i < real.size(); ++i) {
      const std::string im(trim(imaginary[i]));
      texts_.push_back(cat(real[i], im.starts_with('-') ? "" : "+", im, "j"));
    }
  }

  void format_integers(const at::Tensor& flat) {
    const bool boolean = flat.scalar_type() == at::kBool;
    const at::Tensor numbers = flat.to(at::kLong).contiguous();
    const int64_t* data = numbers.const_data_ptr<int64_t>();
    for (int64_t i = 0; i < numbers.numel(); ++i) {
      texts_.push_back(boolean ? (data[i] != 0 ? "True" : "False") : std::to_string(data[i]));
      width_ = std::max(width_, texts_.back().size());
    }
    for (auto& text : texts_) text.insert(0, width_ - text.size(), ' ');
  }

  std::vector<std::string> texts_;
  size_t width_ = 1;
  size_t next_ = 0;
};

// The ends of every dimension that is too long to be shown.
at::Tensor edges(const at::Tensor& tensor) {
  at::Tensor out = tensor;
  for (int64_t dim = 0; dim < tensor.dim(); ++dim) {
    const int64_t size = tensor.size(dim);
    if (size <= 2 * kEdgeItems) continue;
    out = at::cat({out.narrow(dim, 0, kEdgeItems), out.narrow(dim, size - kEdgeItems, kEdgeItems)},
                  dim);
  }
  return out;
}

class Printer {
 public:
  Printer(at::IntArrayRef sizes, bool summarised, Elements& elements)
      : sizes_(sizes), summarised_(summarised), elements_(elements) {}

  std::string print(size_t dim, size_t indent) {
    if (dim == sizes_.size()) return elements_.take();
    if (dim + 1 == sizes_.size()) return print_row(dim, indent);
    std::vector<std::string> parts;
    for_each_shown(
        dim, [&] { parts.push_back(print(dim + 1, indent + 1)); }, [&] { parts.push_back("..."); });
    const std::string separator =
        cat(",", std::string(sizes_.size() - dim - 1, '\n'), std::string(indent + 1, ' '));
    return cat("[", join(parts, separator), "]");
  }

 private:
  template <class Item, class Gap>
  void for_each_shown(size_t dim, Item item, Gap gap) {
    const int64_t size = sizes_[dim];
    const bool cut = summarised_ && size > 2 * kEdgeItems;
    for (int64_t i = 0; i < (cut ? 2 * kEdgeItems : size); ++i) {
      if (cut && i == kEdgeItems) gap();
      item();
    }
  }

  std::string print_row(size_t dim, size_t indent) {
    std::vector<std::string> items;
    for_each_shown(
        dim, [&] { items.push_back(elements_.take()); }, [&] { items.push_back(" ..."); });
    const size_t room = kLineWidth > indent ? kLineWidth - indent : 1;
    const size_t per_line = std::max<size_t>(1, room / (elements_.width() + 2));
    std::string out = "[";
    for (size_t i = 0; i < items.size(); ++i) {
      if (i > 0)
        out += i % per_line == 0 ? cat(",\n", std::string(indent + 1, ' ')) : std::string(", ");
      out += items[i];
    }
    return out + "]";
  }

  at::IntArrayRef sizes_;
  bool summarised_;
  Elements& elements_;
};

std::string body(const at::Tensor& tensor, size_t indent) {
  if (tensor.numel() == 0) return "[]";
  const bool summarised = tensor.numel() > kThreshold;
  at::Tensor shown = tensor.detach();
  if (shown.layout() != at::kStrided) shown = shown.to_dense();
  if (summarised) shown = edges(shown);
  Elements elements(shown.cpu());
  return Printer(tensor.sizes(), summarised, elements).print(0, indent);
}

std::string size_suffix(at::IntArrayRef sizes) {
  std::string out = "size=(";
  for (size_t i = 0; i < sizes.size(); ++i) out += cat(i > 0 ? ", " : "", sizes[i]);
  return out + ")";
}

std::vector<std::string> suffixes(const at::Tensor& tensor) {
  std::vector<std::string> out;
  const at::ScalarType dtype = tensor.scalar_type();
  const bool empty = tensor.numel() == 0;
  if (!tensor.is_cpu()) out.push_back(cat("device='", tensor.device().str(), "'"));
  if (empty && tensor.dim() != 1) out.push_back(size_suffix(tensor.sizes()));
  const bool usual = dtype == c10::get_default_dtype_as_scalartype() ||
                     (!empty && (dtype == at::kLong || dtype == at::kBool));
  if (!usual) out.push_back(cat("dtype=torch.", dtype_name(dtype)));
  if (const auto& fn = tensor.grad_fn()) {
    out.push_back(cat("grad_fn=<", fn->name(), ">"));
  } else if (tensor.requires_grad()) {
    out.push_back("requires_grad=True");
  }
  return out;
}

}  // namespace

std::string to_text(const at::Tensor& tensor) {
  const at::NoGradGuard no_grad;
  const std::string prefix = "tensor(";
  std::string out = prefix + body(tensor, prefix.size());
  size_t line = out.size() - (out.rfind('\n') == std::string::npos ? 0 : out.rfind('\n') + 1) + 1;
  for (const std::string& suffix : suffixes(tensor)) {
    const bool wrap = line + suffix.size() + 2 > kLineWidth;
    out += wrap ? cat(",\n", std::string(prefix.size(), ' '), suffix) : cat(", ", suffix);
    line = wrap ? prefix.size() + suffix.size() : line + suffix.size() + 2;
  }
  return out + ")";
}

}  // namespace rtrain
