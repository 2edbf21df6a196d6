// host/arrow/readers/example_value.h: the features of a tf.train.Example, a protocol buffers
// message of TensorFlow.
#pragma once

#include <cstdint>
#include <functional>
#include <string_view>
#include <vector>

namespace rtrain::arrow {

enum class FeatureKind { kNone, kBytes, kFloats, kInts };

// Calls `found` with the name and the bytes of each feature; of features of one name the last one
// counts. Throws Error(kArgument) if the bytes are not an Example.
void read_features(
    std::string_view example,
    const std::function<void(std::string_view name, std::string_view feature)>& found);

// The values of one feature; used again for the next one, so that it keeps its memory.
class FeatureValues {
 public:
  // Throws Error(kArgument) if the bytes are not a Feature. Strings point into the bytes.
  void read(std::string_view feature);

  // kNone if no list is set, as in an empty feature.
  FeatureKind kind() const { return kind_; }
  size_t size() const;
  const std::vector<std::string_view>& strings() const { return strings_; }
  const std::vector<float>& floats() const { return floats_; }
  const std::vector<int64_t>& ints() const { return ints_; }

 private:
  void begin(FeatureKind kind);
  void read_list(std::string_view list);

  FeatureKind kind_ = FeatureKind::kNone;
  std::vector<std::string_view> strings_;
  std::vector<float> floats_;
  std::vector<int64_t> ints_;
};

}  // namespace rtrain::arrow
