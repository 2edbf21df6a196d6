#include "host/store/import/event_records.h"

#include <bit>
#include <cmath>
#include <optional>

#include "host/base/codec/masked_crc.h"
#include "host/base/codec/protobuf.h"
#include "host/base/error.h"
#include "host/base/text/text.h"

namespace rtrain::store {
namespace {

constexpr std::string_view kFailure = "a record is not an event of TensorBoard";

class Fields : public ProtobufFields {
 public:
  explicit Fields(std::string_view bytes) : ProtobufFields(bytes, kFailure) {}
};

template <class Number>
Number fixed(std::string_view bytes) {
  if (bytes.size() < sizeof(Number)) throw Error(Code::kArgument, std::string(kFailure));
  return little_endian<Number>(bytes);
}

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
