// host/base/codec/flat_json.h: fast reader for JSON maps that contain only numbers, as nearly all
// reports do. Reading a map with the same names as the one before costs little more than parsing
// its digits.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace rtrain {

class FlatJson {
 public:
  // Reads `json`, which must be valid JSON. Returns false, and size() is 0, unless it is a map of
  // numbers that a double represents exactly or rounds to a finite value. Refuses integers beyond
  // 2^53, names with escapes and all other values.
  bool read(std::string_view json);

  size_t size() const { return keys_.size(); }
  std::string_view name(size_t i) const { return quoted_name(i).substr(1, keys_[i].size() - 3); }
  // The name with its quotes, as in the JSON.
  std::string_view quoted_name(size_t i) const {
    return std::string_view(keys_[i]).substr(0, keys_[i].size() - 1);
  }
  double number(size_t i) const { return numbers_[i]; }
  // Changes whenever the names or their order differ from the previous map.
  int64_t names_version() const { return names_version_; }

 private:
  bool read_entries(std::string_view json);
  bool read_key(std::string_view json, size_t place);
  void keep_keys(size_t count);

  std::vector<std::string> keys_;  // '"name":'
  std::vector<double> numbers_;
  int64_t names_version_ = 0;
};

}  // namespace rtrain
