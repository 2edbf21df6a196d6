#include "host/arrow/readers/example_value.h"

#include <bit>
#include <cstring>

#include "host/base/codec/protobuf.h"

namespace rtrain::arrow {
namespace {

using Type = ProtobufFields::Type;

constexpr std::string_view kFailure = "it is not a tf.train.Example";

class Fields : public ProtobufFields {
 public:
  explicit Fields(std::string_view bytes) : ProtobufFields(bytes, kFailure) {}

  // Returns the field's bytes; a field of another type is refused.
  std::string_view bytes() const {
    if (type() != Type::kBytes) fail();
    return data();
  }
};

void add_floats(const Fields& fields, std::vector<float>& out) {
  const std::string_view data = fields.data();
  if (fields.type() == Type::kVarint || data.size() % sizeof(float) != 0) fields.fail();
  if (fields.type() == Type::kFixed64) fields.fail();
  const size_t before = out.size();
  out.resize(before + data.size() / sizeof(float));
  static_assert(std::endian::native == std::endian::little);
  if (!data.empty()) std::memcpy(out.data() + before, data.data(), data.size());
}

void add_ints(const Fields& fields, std::vector<int64_t>& out) {
  if (fields.type() == Type::kVarint) return out.push_back(fields.integer());
  for (Fields packed(fields.bytes()); !packed.at_end();) {
    out.push_back(static_cast<int64_t>(packed.varint()));
  }
}

}  // namespace

void read_features(
    std::string_view example,
    const std::function<void(std::string_view name, std::string_view feature)>& found) {
  for (Fields fields(example); fields.next();) {
    if (fields.number() != 1) continue;
    for (Fields entries(fields.bytes()); entries.next();) {
      if (entries.number() != 1) continue;
      std::string_view name;
      std::string_view feature;
      for (Fields entry(entries.bytes()); entry.next();) {
        if (entry.number() == 1) name = entry.bytes();
        if (entry.number() == 2) feature = entry.bytes();
      }
      found(name, feature);
    }
  }
}

void FeatureValues::begin(FeatureKind kind) {
  if (kind == kind_) return;
  kind_ = kind;
  strings_.clear();
  floats_.clear();
  ints_.clear();
}

void FeatureValues::read(std::string_view feature) {
  begin(FeatureKind::kNone);
  for (Fields fields(feature); fields.next();) {
    if (fields.number() < 1 || fields.number() > 3) continue;
    begin(static_cast<FeatureKind>(fields.number()));
    read_list(fields.bytes());
  }
}

void FeatureValues::read_list(std::string_view list) {
  for (Fields values(list); values.next();) {
    if (values.number() != 1) continue;
    if (kind_ == FeatureKind::kBytes) strings_.push_back(values.bytes());
    if (kind_ == FeatureKind::kFloats) add_floats(values, floats_);
    if (kind_ == FeatureKind::kInts) add_ints(values, ints_);
  }
}

size_t FeatureValues::size() const { return strings_.size() + floats_.size() + ints_.size(); }

}  // namespace rtrain::arrow
