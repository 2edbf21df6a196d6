#include "host/store/import/event_records.h"

#include <bit>
#include <cmath>
#include <optional>

#include "host/base/codec/masked_crc.h"
#include "host/base/error.h"
#include "host/base/text/text.h"

namespace rtrain::store {
namespace {

Error bad_record() { return Error(Code::kArgument, "a record is not an event of TensorBoard"); }

template <class Number>
Number fixed(std::string_view bytes) {
  if (bytes.size() < sizeof(Number)) throw bad_record();
  Number out = 0;
  for (size_t i = 0; i < sizeof(Number); ++i) {
    out |= static_cast<Number>(static_cast<Number>(static_cast<uint8_t>(bytes[i])) << (8 * i));
  }
  return out;
}

// Iterates over the fields of a protocol buffers message.
class Fields {
 public:
  explicit Fields(std::string_view bytes) : bytes_(bytes) {}

  // Returns false at the end.
  bool next() {
    if (bytes_.empty()) return false;
    const uint64_t key = varint();
    number_ = key >> 3;
    switch (key & 7) {
      case 0:
        value_ = varint();
        return true;
      case 1:
        data_ = take(8);
        return true;
      case 2:
        data_ = take(varint());
        return true;
      case 5:
        data_ = take(4);
        return true;
      default:
        throw bad_record();
    }
  }

  uint64_t number() const { return number_; }
  // For a varint.
  int64_t integer() const { return static_cast<int64_t>(value_); }
  // For the other wire types.
  std::string_view data() const { return data_; }

  bool at_end() const { return bytes_.empty(); }
  uint64_t varint() {
    uint64_t out = 0;
    for (int shift = 0; shift < 64; shift += 7) {
      const auto byte = static_cast<uint8_t>(take(1)[0]);
      out |= static_cast<uint64_t>(byte & 0x7F) << shift;
      if (byte < 0x80) return out;
    }
    throw bad_record();
  }

 private:
  std::string_view take(uint64_t size) {
    if (size > bytes_.size()) throw bad_record();
    const std::string_view out = bytes_.substr(0, size);
    bytes_.remove_prefix(size);
    return out;
  }

  std::string_view bytes_;
  uint64_t number_ = 0;
  uint64_t value_ = 0;
  std::string_view data_;
};

double float_of(std::string_view bytes) { return std::bit_cast<float>(fixed<uint32_t>(bytes)); }
double double_of(std::string_view bytes) { return std::bit_cast<double>(fixed<uint64_t>(bytes)); }

// The number in a TensorProto with one number; nullopt for any other.
std::optional<double> tensor_value(std::string_view bytes) {
  constexpr int64_t kFloat = 1;
  constexpr int64_t kDouble = 2;
  constexpr int64_t kInt32 = 3;
  constexpr int64_t kInt64 = 9;
  int64_t dtype = 0;
  std::optional<double> out;
  std::string_view content;
  for (Fields fields(bytes); fields.next();) {
    const uint64_t number = fields.number();
    if (number == 1) dtype = fields.integer();
    if (number == 4) content = fields.data();
    if (number == 5 && fields.data().size() == 4) out = float_of(fields.data());
    if (number == 6 && fields.data().size() == 8) out = double_of(fields.data());
    if ((number == 7 || number == 10) && !fields.data().empty()) {
      Fields packed(fields.data());
      const auto value = static_cast<int64_t>(packed.varint());
      if (packed.at_end()) out = static_cast<double>(value);
    }
  }
  if (dtype == kFloat && content.size() == 4) return float_of(content);
  if (dtype == kDouble && content.size() == 8) return double_of(content);
  if (dtype == kInt32 && content.size() == 4) {
    return static_cast<double>(std::bit_cast<int32_t>(fixed<uint32_t>(content)));
  }
  if (dtype == kInt64 && content.size() == 8) {
    return static_cast<double>(std::bit_cast<int64_t>(fixed<uint64_t>(content)));
  }
  return dtype == kFloat || dtype == kDouble || dtype == kInt32 || dtype == kInt64 ? out
                                                                                   : std::nullopt;
}

// Reads tag and value from a Summary.Value. Returns false if it is not a scalar.
bool read_value(std::string_view bytes, EventScalar& out) {
  std::optional<double> value;
  out.tag.clear();
  for (Fields fields(bytes); fields.next();) {
    if (fields.number() == 1) out.tag = fields.data();
    if (fields.number() == 2) value = float_of(fields.data());
    if (fields.number() == 8) value = tensor_value(fields.data());
  }
  out.value = value.value_or(0);
  return value && !out.tag.empty();
}

void read_event(std::string_view bytes, std::vector<EventScalar>& out) {
  constexpr double kMsPerSecond = 1000;
  constexpr double kLatestMs = 1e15;
  EventScalar scalar;
  std::string_view summary;
  for (Fields fields(bytes); fields.next();) {
    if (fields.number() == 1) {
      const double time_ms = double_of(fields.data()) * kMsPerSecond;
      if (std::abs(time_ms) < kLatestMs) scalar.time_ms = std::llround(time_ms);
    }
    if (fields.number() == 2) scalar.step = fields.integer();
    if (fields.number() == 5) summary = fields.data();
  }
  for (Fields values(summary); values.next();) {
    if (values.number() == 1 && read_value(values.data(), scalar)) out.push_back(scalar);
  }
}

}  // namespace

EventRecords read_event_records(std::string_view bytes) {
  constexpr size_t kLength = 8;
  constexpr size_t kCrc = 4;
  EventRecords out;
  size_t place = 0;
  for (; place < bytes.size();) {
    const std::string_view rest = bytes.substr(place);
    out.is_cut = true;
    if (rest.size() < kLength + kCrc) break;
    const auto size = fixed<uint64_t>(rest);
    if (fixed<uint32_t>(rest.substr(kLength)) != masked_crc(rest.substr(0, kLength))) {
      throw Error(Code::kArgument, cat("a record is damaged at byte ", place));
    }
    if (size > rest.size() || rest.size() - size < kLength + 2 * kCrc) break;
    const std::string_view event = rest.substr(kLength + kCrc, size);
    if (fixed<uint32_t>(rest.substr(kLength + kCrc + size)) != masked_crc(event)) {
      throw Error(Code::kArgument, cat("a record is damaged at byte ", place));
    }
    read_event(event, out.scalars);
    place += kLength + 2 * kCrc + size;
    out.is_cut = false;
  }
  return out;
}

}  // namespace rtrain::store
