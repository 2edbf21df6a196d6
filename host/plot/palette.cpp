#include "host/plot/palette.h"

#include <algorithm>
#include <span>
#include <tuple>
#include <unordered_map>
#include <utility>

namespace rtrain::plot {
namespace {

using Rgb = std::array<uint8_t, 3>;

struct Counted {
  Rgb colour{};
  size_t count = 0;
};

uint32_t number_of(const Rgb& colour) {
  constexpr int kBits = 8;
  uint32_t out = 0;
  for (const uint8_t part : colour) out = out << kBits | part;
  return out;
}

Rgb colour_at(std::string_view pixels, size_t pixel) {
  Rgb out{};
  for (size_t i = 0; i < out.size(); ++i) {
    out[i] = static_cast<uint8_t>(pixels[pixel * out.size() + i]);
  }
  return out;
}

// Returns the colours sorted.
std::vector<Counted> counted_colours(std::string_view pixels) {
  std::unordered_map<uint32_t, Counted> found;
  for (size_t i = 0; i < pixels.size() / std::tuple_size_v<Rgb>; ++i) {
    const Rgb colour = colour_at(pixels, i);
    Counted& entry = found[number_of(colour)];
    entry.colour = colour;
    ++entry.count;
  }
  std::vector<Counted> out;
  out.reserve(found.size());
  for (const auto& [number, entry] : found) out.push_back(entry);
  std::sort(out.begin(), out.end(),
            [](const Counted& a, const Counted& b) { return a.colour < b.colour; });
  return out;
}

// Colours that become one colour.
struct Box {
  std::span<Counted> colours;
  size_t longest = 0;  // the component in which they differ most
  size_t width = 0;    // the size of that difference
  size_t count = 0;    // number of pixels

  explicit Box(std::span<Counted> of) : colours(of) {
    for (const Counted& each : of) count += each.count;
    for (size_t part = 0; part < std::tuple_size_v<Rgb>; ++part) {
      const auto [low, high] = std::minmax_element(
          of.begin(), of.end(),
          [&](const Counted& a, const Counted& b) { return a.colour[part] < b.colour[part]; });
      const auto own = static_cast<size_t>(high->colour[part] - low->colour[part]);
      if (own > width) {
        width = own;
        longest = part;
      }
    }
  }

  Rgb mean() const {
    Rgb out{};
    for (size_t part = 0; part < out.size(); ++part) {
      size_t sum = count / 2;  // for rounding
      for (const Counted& each : colours) sum += each.count * each.colour[part];
      out[part] = static_cast<uint8_t>(sum / count);
    }
    return out;
  }
};

// Divides it into two with about as many pixels each. REQUIRES: it has at least two colours.
std::pair<Box, Box> halves(const Box& box) {
  std::sort(box.colours.begin(), box.colours.end(), [&](const Counted& a, const Counted& b) {
    return std::pair(a.colour[box.longest], a.colour) < std::pair(b.colour[box.longest], b.colour);
  });
  size_t first = 0;
  size_t seen = 0;
  while (first + 1 < box.colours.size() && (first == 0 || seen < box.count / 2)) {
    seen += box.colours[first++].count;
  }
  return {Box(box.colours.first(first)), Box(box.colours.subspan(first))};
}

std::vector<Box> boxes_of(std::vector<Counted>& colours) {
  std::vector<Box> boxes;
  if (colours.size() <= kMostColours) {
    for (Counted& each : colours) boxes.emplace_back(std::span(&each, 1));
    return boxes;
  }
  boxes.emplace_back(colours);
  while (boxes.size() < kMostColours) {
    const auto largest = std::max_element(
        boxes.begin(), boxes.end(),
        [](const Box& a, const Box& b) { return a.width * a.count < b.width * b.count; });
    auto [low, high] = halves(*largest);
    *largest = low;
    boxes.push_back(high);
  }
  return boxes;
}

}  // namespace

IndexedPicture indexed(std::string_view pixels) {
  std::vector<Counted> colours = counted_colours(pixels);
  const std::vector<Box> boxes = boxes_of(colours);
  IndexedPicture out;
  std::unordered_map<uint32_t, uint8_t> places;
  for (const Box& box : boxes) {
    const auto place = static_cast<uint8_t>(out.colours.size());
    for (const Counted& each : box.colours) places[number_of(each.colour)] = place;
    out.colours.push_back(box.mean());
  }
  const size_t count = pixels.size() / std::tuple_size_v<Rgb>;
  out.pixels.reserve(count);
  for (size_t i = 0; i < count; ++i) {
    out.pixels.push_back(places.at(number_of(colour_at(pixels, i))));
  }
  return out;
}

}  // namespace rtrain::plot
