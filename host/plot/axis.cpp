#include "host/plot/axis.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <limits>

#include "host/base/text/text.h"

namespace rtrain::plot {
namespace {

constexpr double kTolerance = 1e-9;

std::string formatted(const char* format, int digits, double number) {
  std::array<char, 64> text;
  std::snprintf(text.data(), text.size(), format, digits, number);
  return text.data();
}

// Shortens "2e+07" to "2e7".
std::string short_exponent(std::string text) {
  const size_t sign = text.find('e') + 1;
  const size_t digits = text.find_first_not_of('0', sign + 1);
  text.erase(sign + 1, digits - sign - 1);
  if (text[sign] == '+') text.erase(sign, 1);
  return text;
}

// Formats the number with as many digits as distinguish it from its neighbours.
std::string label(double value, double step) {
  if (std::abs(value) < step * kTolerance) return "0";
  constexpr int kMostDigits = 16;  // after the first: a double has no more
  const int power = static_cast<int>(std::floor(std::log10(std::abs(value)) + kTolerance));
  const int step_power = static_cast<int>(std::floor(std::log10(step) + kTolerance));
  const bool has_half = std::abs(step / std::pow(10, step_power) - 2.5) < kTolerance;
  const int last = step_power - (has_half ? 1 : 0);
  if (power >= 6 || power < -4) {
    return short_exponent(formatted("%.*e", std::clamp(power - last, 0, kMostDigits), value));
  }
  return formatted("%.*f", std::max(0, -last), value);
}

// Returns 1, 2, 2.5 or 5 times a power of ten, at least `least`; an integer if `whole`.
double nice_step(double least, bool whole) {
  if (whole) least = std::max(least, 1.0);
  const double power = std::pow(10, std::floor(std::log10(least)));
  for (const double factor : {1.0, 2.0, 2.5, 5.0, 10.0}) {
    const double step = factor * power;
    if (!std::isfinite(step)) break;
    if (whole && step != std::floor(step)) continue;
    if (step >= least * (1 - kTolerance)) return step;
  }
  return power;  // no larger step is finite
}

// Returns the distance between the range's largest number and the next double, since no step can be
// finer; at least the smallest normal double, by which numbers can be divided.
double finest_step(double low, double high) {
  const double largest = std::max(std::abs(low), std::abs(high));
  const double spacing = largest - std::nextafter(largest, 0.0);
  return std::max(spacing, std::numeric_limits<double>::min());
}

// These compute (high - low) / parts and log(high / low) without overflow.
double share(double low, double high, double parts) { return high / parts - low / parts; }
double log_ratio(double low, double high) {
  const double ratio = high / low;
  return std::isnormal(ratio) ? std::log(ratio) : std::log(high) - std::log(low);
}

double clamped(double value) {
  constexpr double kMost = std::numeric_limits<double>::max();
  return std::clamp(value, -kMost, kMost);
}
double clamped_positive(double value) {
  return std::max(clamped(value), std::numeric_limits<double>::denorm_min());
}

struct Range {
  double low = std::numeric_limits<double>::infinity();
  double high = -std::numeric_limits<double>::infinity();

  void add(double value) {
    if (!std::isfinite(value)) return;
    low = std::min(low, value);
    high = std::max(high, value);
  }
  bool empty() const { return low > high; }
};

}  // namespace

Axis::Axis(double low, double high, bool is_log, bool is_whole)
    : low_(low), high_(high), is_log_(is_log), is_whole_(is_whole) {
  if (high_ > low_) return;
  if (is_log_) {
    low_ = clamped_positive(low_ / 2);
    high_ = clamped(high_ * 2);
    return;
  }
  const double around =
      low_ == 0 ? 1 : std::max(std::abs(low_) / 2, std::numeric_limits<double>::min());
  low_ = clamped(low_ - around);
  high_ = clamped(high_ + around);
}

double Axis::place(double value) const {
  constexpr double kLeastRatio = 1e-6;  // below it they differ only by rounding
  if (is_log_ && log_ratio(low_, high_) > kLeastRatio) {
    return log_ratio(low_, value) / log_ratio(low_, high_);
  }
  // Large numbers are halved, so that their difference does not overflow. Small ones would lose
  // digits.
  const double parts = std::abs(low_) > 1 || std::abs(high_) > 1 ? 2 : 1;
  return share(low_, value, parts) / share(low_, high_, parts);
}

std::vector<Tick> Axis::ticks(size_t most) const {
  const double count = static_cast<double>(std::max<size_t>(most, 2));
  if (is_log_) {
    std::vector<Tick> out = log_ticks(count);
    if (out.size() >= 2 || log_ratio(low_, high_) > std::log(10)) return out;
  }
  return linear_ticks(count);
}

// Uses only powers of ten if these are enough, else also numbers between them.
std::vector<Tick> Axis::log_ticks(double count) const {
  std::vector<Tick> out;
  const double decades = log_ratio(low_, high_) / std::log(10);
  const auto every = static_cast<int>(std::max(1.0, std::ceil(decades / count)));
  const auto first = static_cast<int>(std::floor(std::log10(low_)));
  const auto last = static_cast<int>(std::ceil(std::log10(high_)));
  const bool fine = decades * 3 <= count;
  for (int power = first; power <= last; ++power) {
    const double whole = std::pow(10, power);
    for (const double factor : {1.0, 2.0, 5.0}) {
      const double value = factor * whole;
      const bool wanted = factor == 1 ? power % every == 0 : fine;
      if (!wanted || !std::isfinite(value) || value <= 0) continue;
      if (value < low_ * (1 - kTolerance) || value > high_ * (1 + kTolerance)) continue;
      out.push_back({value, label(value, whole)});
    }
  }
  return out;
}

// Multiplies instead of adding steps: above 2^53 adding a step may change nothing.
std::vector<Tick> Axis::linear_ticks(double count) const {
  std::vector<Tick> out;
  const double least = std::max(share(low_, high_, count), finest_step(low_, high_));
  const double step = nice_step(least, is_whole_);
  const double first = std::ceil(low_ / step - kTolerance);
  const double last = std::floor(high_ / step + kTolerance);
  const auto between = static_cast<int>(std::min(last - first, 2 * count));
  for (int i = 0; i <= between; ++i) {
    const double value = clamped((first + i) * step);
    if (value < low_ - step * kTolerance || value > high_ + step * kTolerance) continue;
    if (is_log_ && value <= 0) continue;
    const std::string text = label(value, step);
    if (out.empty() || out.back().label != text) out.push_back({value, text});
  }
  if (out.empty()) return {{low_, format_double(low_)}, {high_, format_double(high_)}};
  return out;
}

Axis x_axis(const Chart& chart) {
  Range range;
  bool is_whole = true;
  for (const Curve& curve : chart.curves) {
    for (const PlotPoint& point : curve.points) {
      range.add(point.x);
      is_whole = is_whole && point.x == std::floor(point.x);
    }
  }
  if (range.empty()) return {chart.log_x ? 0.1 : 0, 1, chart.log_x};
  return {range.low, range.high, chart.log_x, is_whole};
}

Axis y_axis(const Chart& chart) {
  constexpr double kMargin = 0.04;
  Range range;
  for (const Curve& curve : chart.curves) {
    for (const PlotPoint& point : curve.points) range.add(point.y);
  }
  if (range.empty()) return {chart.log_y ? 0.1 : 0, 1, chart.log_y};
  if (chart.log_y) {
    const double factor = std::exp(log_ratio(range.low, range.high) * kMargin);
    return {clamped_positive(range.low / factor), clamped(range.high * factor), true};
  }
  const double margin = share(range.low, range.high, 1 / kMargin);
  return {clamped(range.low - margin), clamped(range.high + margin), false};
}

}  // namespace rtrain::plot
