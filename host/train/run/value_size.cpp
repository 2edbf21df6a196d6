#include "host/train/run/value_size.h"

#include <utility>

namespace rtrain::train {

size_t approximate_bytes(const Value& value) {
  size_t bytes = sizeof(Value);
  if (value.is_string()) bytes += value.as_string().size();
  if (value.is_list()) {
    for (const Value& item : value.as_list()) bytes += approximate_bytes(item);
  }
  if (value.is_map()) {
    for (const auto& [key, item] : value.as_map()) bytes += sizeof(key) + approximate_bytes(item);
  }
  return bytes;
}

}  // namespace rtrain::train
