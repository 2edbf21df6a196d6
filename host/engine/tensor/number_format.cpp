#include "host/engine/tensor/number_format.h"

#include <ATen/ops/view_as_real.h>

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "host/base/text/text.h"

namespace rtrain::engine {
namespace {

std::string formatted(const char* format, int precision, double number) {
  const int size = std::snprintf(nullptr, 0, format, precision, number);
  std::string out(static_cast<size_t>(size), '\0');
  std::snprintf(out.data(), out.size() + 1, format, precision, number);
  return out;
}

// Chooses one width and notation for all shown numbers of a floating-point tensor. Ignores zeros,
// nan and inf, so nan and inf may be wider.
class FloatFormat {
 public:
  FloatFormat(const std::vector<double>& values, const PrintOptions& options)
      : precision_(options.precision) {
    double smallest = INFINITY;
    double largest = 0;
    for (const double v : values) {
      if (!counts(v)) continue;
      smallest = std::min(smallest, std::abs(v));
      largest = std::max(largest, std::abs(v));
      integral_ = integral_ && v == std::ceil(v);
    }
    if (largest == 0) return;
    scientific_ =
        options.scientific.value_or(largest / smallest > 1000 || largest > 1e8 || smallest < 1e-4);
    for (const double v : values) {
      if (counts(v)) width_ = std::max(width_, plain(v).size());
    }
  }

  std::string format(double v) const {
    const std::string text = plain(v);
    return std::string(width_ > text.size() ? width_ - text.size() : 0, ' ') + text;
  }
  size_t width() const { return width_; }

 private:
  static bool counts(double v) { return std::isfinite(v) && v != 0; }

  std::string plain(double v) const {
    if (std::isnan(v)) return "nan";
    if (std::isinf(v)) return v > 0 ? "inf" : "-inf";
    if (scientific_) return formatted("%.*e", precision_, v);
    if (integral_) return formatted("%.*f", 0, v) + ".";
    return formatted("%.*f", precision_, v);
  }

  int precision_;
  bool integral_ = true;
  bool scientific_ = false;
  size_t width_ = 1;
};

std::vector<std::string> format_floats(const at::Tensor& flat, const PrintOptions& options,
                                       size_t& width) {
  const at::Tensor numbers = flat.to(at::kDouble).contiguous();
  const double* data = numbers.const_data_ptr<double>();
  const std::vector<double> values(data, data + numbers.numel());
  const FloatFormat format(values, options);
  width = format.width();
  std::vector<std::string> out;
  out.reserve(values.size());
  for (const double v : values) out.push_back(format.format(v));
  return out;
}

std::string integer_text(int64_t bits, at::ScalarType dtype) {
  if (dtype == at::kBool) return bits != 0 ? "True" : "False";
  if (dtype == at::kUInt64) return std::to_string(static_cast<uint64_t>(bits));
  return std::to_string(bits);
}

}  // namespace

ElementTexts::ElementTexts(const at::Tensor& shown, const PrintOptions& options) {
  const at::Tensor flat = shown.reshape({-1});
  if (shown.is_complex()) {
    format_complex(flat, options);
  } else if (shown.is_floating_point()) {
    texts_ = format_floats(flat, options, width_);
  } else {
    format_integers(flat);
  }
}

void ElementTexts::format_complex(const at::Tensor& flat, const PrintOptions& options) {
  const at::Tensor parts =
      at::view_as_real(flat.resolve_conj().to(at::kComplexDouble)).contiguous();
  size_t imaginary_width = 0;
  const auto real = format_floats(parts.select(1, 0), options, width_);
  const auto imaginary = format_floats(parts.select(1, 1), options, imaginary_width);
  width_ += imaginary_width + 1;
  for (size_t i = 0; i < real.size(); ++i) {
    const std::string im(trim(imaginary[i]));
    texts_.push_back(cat(real[i], im.starts_with('-') ? "" : "+", im, "j"));
  }
}

void ElementTexts::format_integers(const at::Tensor& flat) {
  const at::Tensor numbers = flat.to(at::kLong).contiguous();
  const int64_t* data = numbers.const_data_ptr<int64_t>();
  for (int64_t i = 0; i < numbers.numel(); ++i) {
    texts_.push_back(integer_text(data[i], flat.scalar_type()));
    width_ = std::max(width_, texts_.back().size());
  }
  for (auto& text : texts_) text.insert(0, width_ - text.size(), ' ');
}

}  // namespace rtrain::engine
