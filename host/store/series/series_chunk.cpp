#include "host/store/series/series_chunk.h"

#include <zlib.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <utility>

#include "host/base/error.h"
#include "host/store/series/series_bytes.h"

namespace rtrain::store {
namespace {

// The first byte of a chunk. Readers support all versions.
constexpr char kVersion = 1;
// The second byte: how values are encoded.
constexpr unsigned char kNarrow = 1;  // as float, else as double
constexpr unsigned char kDelta = 2;   // differences of the bit patterns, else the patterns

// The largest unpacked chunk: a larger size means damage.
constexpr size_t kMaxBytes = kMaxChunkPoints * 64;

int64_t bits_of(double value, bool narrow) {
  if (narrow) return std::bit_cast<int32_t>(static_cast<float>(value));
  return std::bit_cast<int64_t>(value);
}

double value_of(int64_t bits, bool narrow) {
  if (narrow) return std::bit_cast<float>(static_cast<int32_t>(bits));
  return std::bit_cast<double>(bits);
}

// The lowest bytes of all numbers, then the second ones, and so on, so that equal bytes are
// adjacent.
std::string planes(std::span<const uint64_t> numbers, size_t width) {
  std::string out(numbers.size() * width, '\0');
  for (size_t i = 0; i < numbers.size(); ++i) {
    for (size_t byte = 0; byte < width; ++byte) {
      out[byte * numbers.size() + i] = static_cast<char>(numbers[i] >> (8 * byte));
    }
  }
  return out;
}

std::vector<uint64_t> numbers_of(std::span<const SeriesPoint> points, unsigned char form) {
  const bool narrow = (form & kNarrow) != 0;
  std::vector<uint64_t> numbers;
  numbers.reserve(points.size());
  int64_t before = 0;
  for (const SeriesPoint& point : points) {
    const int64_t bits = bits_of(point.value, narrow);
    numbers.push_back((form & kDelta) != 0 ? zigzag(wrapped_minus(bits, before))
                                           : static_cast<uint64_t>(bits));
    before = bits;
  }
  return numbers;
}

// The difference of two 32-bit patterns has 33 bits and a sign, which fit into five bytes.
size_t width_of(unsigned char form) {
  if ((form & kNarrow) == 0) return sizeof(double);
  return (form & kDelta) != 0 ? sizeof(float) + 1 : sizeof(float);
}

// Estimates the bits that deflate needs for noisy data, by coding each byte on its own. Ignores
// repetitions, which deflate finds in both encodings.
double estimated_bits(std::string_view planes, size_t plane_bytes) {
  double bits = 0;
  for (size_t begin = 0; begin < planes.size(); begin += plane_bytes) {
    std::array<uint32_t, 256> counts{};
    for (const char byte : planes.substr(begin, plane_bytes)) {
      ++counts[static_cast<unsigned char>(byte)];
    }
    const auto all = static_cast<double>(plane_bytes);
    for (const uint32_t count : counts) {
      if (count > 0) bits -= count * std::log2(count / all);
    }
  }
  return bits;
}

struct Values {
  unsigned char form;
  std::string bytes;
};

// Chooses the encoding whose estimated deflated size is smaller. Deflating both would double the
// work.
Values values_of(std::span<const SeriesPoint> points) {
  const bool narrow =
      std::all_of(points.begin(), points.end(), [](const auto& p) { return is_float(p.value); });
  const unsigned char plain = narrow ? kNarrow : 0;
  const unsigned char delta = plain | kDelta;
  std::string as_they_are = planes(numbers_of(points, plain), width_of(plain));
  std::string differences = planes(numbers_of(points, delta), width_of(delta));
  if (estimated_bits(differences, points.size()) < estimated_bits(as_they_are, points.size())) {
    return {delta, std::move(differences)};
  }
  return {plain, std::move(as_they_are)};
}

std::string deflate_text(std::string_view text) {
  uLongf size = compressBound(text.size());
  std::string out(size, '\0');
  const int result = compress2(reinterpret_cast<Bytef*>(out.data()), &size,
                               reinterpret_cast<const Bytef*>(text.data()), text.size(), 6);
  RT_CHECK(result == Z_OK);
  out.resize(size);
  return out;
}

std::string inflate_text(std::string_view bytes, size_t size) {
  if (size > kMaxBytes) throw_damaged_series();
  std::string out(size, '\0');
  uLongf got = size;
  const int result = uncompress(reinterpret_cast<Bytef*>(out.data()), &got,
                                reinterpret_cast<const Bytef*>(bytes.data()), bytes.size());
  if (result != Z_OK || got != size) throw_damaged_series();
  return out;
}

void read_values(SeriesBytes& in, unsigned char form, std::vector<SeriesPoint>& points) {
  const bool narrow = (form & kNarrow) != 0;
  const bool delta = (form & kDelta) != 0;
  const size_t width = width_of(form);
  const std::string_view bytes = in.take(points.size() * width);
  int64_t before = 0;
  for (size_t i = 0; i < points.size(); ++i) {
    uint64_t number = 0;
    for (size_t byte = 0; byte < width; ++byte) {
      number |= static_cast<uint64_t>(static_cast<unsigned char>(bytes[byte * points.size() + i]))
                << (8 * byte);
    }
    before = delta ? wrapped_plus(before, unzigzag(number)) : static_cast<int64_t>(number);
    points[i].value = value_of(before, narrow);
  }
}

}  // namespace

std::string encode_series(std::span<const SeriesPoint> points) {
  RT_CHECK(points.size() <= kMaxChunkPoints);
  std::string head;
  put_varint(head, points.size());
  int64_t step = 0;
  int64_t stride = 0;
  for (const SeriesPoint& point : points) {
    const int64_t next = wrapped_minus(point.step, step);
    put_varint(head, zigzag(wrapped_minus(next, stride)));
    step = point.step;
    stride = next;
  }
  int64_t time = 0;
  for (const SeriesPoint& point : points) {
    put_varint(head, zigzag(wrapped_minus(point.time_ms, time)));
    time = point.time_ms;
  }
  const Values values = values_of(points);
  const std::string text = head + values.bytes;
  std::string out{kVersion, static_cast<char>(values.form)};
  put_varint(out, text.size());
  return out + deflate_text(text);
}

std::vector<SeriesPoint> decode_series(std::string_view bytes) {
  SeriesBytes outer(bytes);
  if (outer.take(1)[0] != kVersion) throw_damaged_series();
  const auto form = static_cast<unsigned char>(outer.take(1)[0]);
  if (form > (kNarrow | kDelta)) throw_damaged_series();
  const uint64_t size = outer.varint();
  const std::string text = inflate_text(outer.rest(), size);
  SeriesBytes in(text);
  const uint64_t count = in.varint();
  if (count > kMaxChunkPoints) throw_damaged_series();
  std::vector<SeriesPoint> points(count);
  int64_t step = 0;
  int64_t stride = 0;
  for (SeriesPoint& point : points) {
    stride = wrapped_plus(stride, unzigzag(in.varint()));
    point.step = step = wrapped_plus(step, stride);
  }
  int64_t time = 0;
  for (SeriesPoint& point : points)
    point.time_ms = time = wrapped_plus(time, unzigzag(in.varint()));
  read_values(in, form, points);
  return points;
}

}  // namespace rtrain::store
