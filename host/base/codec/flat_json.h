// host/base/codec/flat_json.h: JSON maps of numbers alone, as nearly all reports are, read one
// after the other without a tree: those that have the names of the one before cost little more than
// their digits.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace rtrain {

class FlatJson {
 public:
  // Whether `json`, which is valid JSON, is a map of numbers that a double holds exactly as they
  // are written or rounds to a finite one; integers beyond 2^53, names with escapes and all other
  // values are refused, and then size() is 0.
  bool read(std::string_view json);

  size_t size() const { return keys_.size(); }
  std::string_view name(size_t i) const { return quoted_name(i).substr(1, keys_[i].size() - 3); }
  // As it stands in JSON.
  std::string_view quoted_name(size_t i) const {
    return std::string_view(keys_[i]).substr(0, keys_[i].size() - 1);
  }
  double number(size_t i) const { return numbers_[i]; }
  // Another one whenever the names, or their order, are not those of the read before.
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
