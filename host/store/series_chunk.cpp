#include "host/store/series_chunk.h"

#include <zlib.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>

#include "host/base/error.h"

namespace rtrain {
namespace {

// The first byte. Readers know all versions there ever were.
constexpr char kVersion = 1;
// The second one: how the values were written.
constexpr unsigned char kNarrow = 1;  // as float, else as double
constexpr unsigned char kDelta = 2;   // differences of the bit patterns, else the patterns

// No chunk is larger than this unpacked: what says so is damaged.
constexpr size_t kMaxBytes = kMaxChunkPoints * 64;
constexpr int kMaxVarintBytes = 10;

[[noreturn]] void throw_damaged() {
  throw Error(Code::kEnvironment, "the store holds a damaged chunk of a series");
}

// Small numbers of either sign become small numbers.
uint64_t zigzag(int64_t n) {
  return (static_cast<uint64_t>(n) << 1) ^ static_cast<uint64_t>(n >> 63);
}
int64_t unzigzag(uint64_t n) { return static_cast<int64_t>(n >> 1) ^ -static_cast<int64_t>(n & 1); }

// Differences wrap around: any two numbers have one.
int64_t minus(int64_t a, int64_t b) {
  return static_cast<int64_t>(static_cast<uint64_t>(a) - static_cast<uint64_t>(b));
}
int64_t plus(int64_t a, int64_t b) {
  return static_cast<int64_t>(static_cast<uint64_t>(a) + static_cast<uint64_t>(b));
}

void put_varint(std::string& out, uint64_t n) {
  for (; n >= 0x80; n >>= 7) out.push_back(static_cast<char>(n | 0x80));
  out.push_back(static_cast<char>(n));
}

bool is_narrow(double value) {
  if (std::isnan(value)) return false;  // its payload might not survive
  return static_cast<double>(static_cast<float>(value)) == value;
}

int64_t bits_of(double value, bool narrow) {
  if (narrow) return std::bit_cast<int32_t>(static_cast<float>(value));
  return std::bit_cast<int64_t>(value);
}

double value_of(int64_t bits, bool narrow) {
  if (narrow) return std::bit_cast<float>(static_cast<int32_t>(bits));
  return std::bit_cast<double>(bits);
}

// The lowest bytes of all numbers, then the second ones, and so on: equal ones lie together.
std::string planes(std::span<const uint64_t> numbers, size_t width) {
  std::string out(numbers.size() * width, '\0');
  for (size_t i = 0; i < numbers.size(); ++i) {
    for (size_t byte = 0; byte < width; ++byte) {
      out[byte * numbers.size() + i] = static_cast<char>(numbers[i] >> (8 * byte));
    }
  }
  return out;
}

std::string values_of(std::span<const SeriesPoint> points, unsigned char form) {
  const bool narrow = (form & kNarrow) != 0;
  std::vector<uint64_t> numbers;
  numbers.reserve(points.size());
  int64_t before = 0;
  for (const SeriesPoint& point : points) {
    const int64_t bits = bits_of(point.value, narrow);
    numbers.push_back((form & kDelta) != 0 ? zigzag(minus(bits, before))
                                           : static_cast<uint64_t>(bits));
    before = bits;
  }
  // The difference of two 32-bit patterns has 33 bits and a sign; five bytes hold it.
  return planes(numbers, narrow ? ((form & kDelta) != 0 ? 5 : 4) : 8);
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

class Reader {
 public:
  explicit Reader(std::string_view text) : text_(text) {}

  uint64_t varint() {
    uint64_t out = 0;
    for (int i = 0; i < kMaxVarintBytes; ++i) {
      const auto byte = static_cast<unsigned char>(take(1)[0]);
      out |= static_cast<uint64_t>(byte & 0x7F) << (7 * i);
      if ((byte & 0x80) == 0) return out;
    }
    throw_damaged();
  }

  std::string_view rest() const { return text_; }
  std::string_view take(size_t count) {
    if (count > text_.size()) throw_damaged();
    const std::string_view out = text_.substr(0, count);
    text_.remove_prefix(count);
    return out;
  }

 private:
  std::string_view text_;
};

std::string inflate_text(std::string_view bytes, size_t size) {
  if (size > kMaxBytes) throw_damaged();
  std::string out(size, '\0');
  uLongf got = size;
  const int result = uncompress(reinterpret_cast<Bytef*>(out.data()), &got,
                                reinterpret_cast<const Bytef*>(bytes.data()), bytes.size());
  if (result != Z_OK || got != size) throw_damaged();
  return out;
}

void read_values(Reader& in, unsigned char form, std::vector<SeriesPoint>& points) {
  const bool narrow = (form & kNarrow) != 0;
  const bool delta = (form & kDelta) != 0;
  const size_t width = narrow ? (delta ? 5 : 4) : 8;
  const std::string_view bytes = in.take(points.size() * width);
  int64_t before = 0;
  for (size_t i = 0; i < points.size(); ++i) {
    uint64_t number = 0;
    for (size_t byte = 0; byte < width; ++byte) {
      number |= static_cast<uint64_t>(static_cast<unsigned char>(bytes[byte * points.size() + i]))
                << (8 * byte);
    }
    before = delta ? plus(before, unzigzag(number)) : static_cast<int64_t>(number);
    points[i].value = value_of(before, narrow);
  }
}

}  // namespace

std::string encode_series(std::span<const SeriesPoint> points) {
  RT_CHECK(points.size() <= kMaxChunkPoints);
  const bool narrow =
      std::all_of(points.begin(), points.end(), [](const auto& p) { return is_narrow(p.value); });
  std::string head;
  put_varint(head, points.size());
  int64_t step = 0;
  int64_t stride = 0;
  for (const SeriesPoint& point : points) {
    const int64_t next = minus(point.step, step);
    put_varint(head, zigzag(minus(next, stride)));
    step = point.step;
    stride = next;
  }
  int64_t time = 0;
  for (const SeriesPoint& point : points) {
    put_varint(head, zigzag(minus(point.time_ms, time)));
    time = point.time_ms;
  }
  std::string best;
  for (const int form : {0, int{kDelta}}) {
    const auto full = static_cast<unsigned char>(form | (narrow ? kNarrow : 0));
    const std::string text = head + values_of(points, full);
    std::string out{kVersion, static_cast<char>(full)};
    put_varint(out, text.size());
    out += deflate_text(text);
    if (best.empty() || out.size() < best.size()) best = std::move(out);
  }
  return best;
}

std::vector<SeriesPoint> decode_series(std::string_view bytes) {
  Reader outer(bytes);
  if (outer.take(1)[0] != kVersion) throw_damaged();
  const auto form = static_cast<unsigned char>(outer.take(1)[0]);
  if (form > (kNarrow | kDelta)) throw_damaged();
  const uint64_t size = outer.varint();
  const std::string text = inflate_text(outer.rest(), size);
  Reader in(text);
  const uint64_t count = in.varint();
  if (count > kMaxChunkPoints) throw_damaged();
  std::vector<SeriesPoint> points(count);
  int64_t step = 0;
  int64_t stride = 0;
  for (SeriesPoint& point : points) {
    stride = plus(stride, unzigzag(in.varint()));
    point.step = step = plus(step, stride);
  }
  int64_t time = 0;
  for (SeriesPoint& point : points) point.time_ms = time = plus(time, unzigzag(in.varint()));
  read_values(in, form, points);
  return points;
}

}  // namespace rtrain
