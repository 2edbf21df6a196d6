#include "host/plot/axis.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <limits>

namespace rtrain {
namespace {

constexpr double kTolerance = 1e-9;

std::string formatted(const char* format, int digits, double number) {
  std::array<char, 64> text;
  std::snprintf(text.data(), text.size(), format, digits, number);
  return text.data();
}

// "2e+07" → "2e7".
std::string short_exponent(std::string text) {
  const size_t sign = text.find('e') + 1;
  const size_t digits = text.find_first_not_of('0', sign + 1);
  text.erase(sign + 1, digits - sign - 1);
  if (text[sign] == '+') text.erase(sign, 1);
  return text;
}

// With as many digits as tell neighbours apart.
std::string label(double value, double step) {
  if (std::abs(value) < step * kTolerance) return "0";
  const int power = static_cast<int>(std::floor(std::log10(std::abs(value)) + kTolerance));
  const int step_power = static_cast<int>(std::floor(std::log10(step) + kTolerance));
  const bool has_half = std::abs(step / std::pow(10, step_power) - 2.5) < kTolerance;
  const int last = step_power - (has_half ? 1 : 0);
  if (power >= 6 || power < -4) {
    return short_exponent(formatted("%.*e", std::clamp(power - last, 0, 6), value));
  }
  return formatted("%.*f", std::max(0, -last), value);
}

// 1, 2, 2.5 or 5 times a power of ten; a whole number where that is wanted.
double nice_step(double least, bool whole) {
  if (whole) least = std::max(least, 1.0);
  const double power = std::pow(10, std::floor(std::log10(least)));
  for (const double factor : {1.0, 2.0, 2.5, 5.0}) {
    if (whole && factor * power != std::floor(factor * power)) continue;
    if (factor * power >= least * (1 - kTolerance)) return factor * power;
  }
  return 10 * power;
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
    low_ /= 2;
    high_ *= 2;
    return;
  }
  const double around = low_ == 0 ? 1 : std::abs(low_) / 2;
  low_ -= around;
  high_ += around;
}

double Axis::place(double value) const {
  if (is_log_) return std::log(value / low_) / std::log(high_ / low_);
  return (value - low_) / (high_ - low_);
}

std::vector<Tick> Axis::ticks(size_t most) const {
  std::vector<Tick> out;
  const double count = static_cast<double>(std::max<size_t>(most, 2));
  if (is_log_) {
    const double decades = std::log10(high_ / low_);
    // Whole powers of ten where there are enough of them, else also numbers between.
    const auto every = static_cast<int>(std::max(1.0, std::ceil(decades / count)));
    const auto first = static_cast<int>(std::floor(std::log10(low_)));
    const auto last = static_cast<int>(std::ceil(std::log10(high_)));
    const bool fine = decades * 3 <= count;
    for (int power = first; power <= last; ++power) {
      for (const double factor : {1.0, 2.0, 5.0}) {
        const double value = factor * std::pow(10, power);
        const bool wanted = factor == 1 ? power % every == 0 : fine;
        if (!wanted || value < low_ * (1 - kTolerance) || value > high_ * (1 + kTolerance))
          continue;
        out.push_back({value, label(value, std::pow(10, power))});
      }
    }
    if (out.size() >= 2 || decades > 1) return out;
    out.clear();
  }
  const double step = nice_step((high_ - low_) / count, is_whole_);
  const double first = std::ceil(low_ / step - kTolerance);
  for (double n = first; n * step <= high_ + step * kTolerance; ++n) {
    out.push_back({n * step, label(n * step, step)});
  }
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
    const double factor = std::pow(range.high / range.low, kMargin);
    return {range.low / factor, range.high * factor, true};
  }
  const double margin = (range.high - range.low) * kMargin;
  return {range.low - margin, range.high + margin, false};
}

}  // namespace rtrain
