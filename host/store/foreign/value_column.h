// host/store/foreign/value_column.h: values of one type, collected for an ArrowBatch.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "host/api/arrow_batch.h"

namespace rtrain::store {

class ValueColumn {
 public:
  enum class Type { kNull, kInteger, kReal, kText, kBlob };

  ValueColumn(std::string name, Type type) : name_(std::move(name)), type_(type) {}

  const std::string& name() const { return name_; }
  Type type() const { return type_; }

  // REQUIRES: the column is of that type.
  void add(int64_t value);
  void add(double value);
  void add(std::string_view bytes);
  void add_null();

  // About the bytes of the values.
  int64_t size_bytes() const;
  // The values since the last call.
  std::shared_ptr<api::ArrowColumn> finish();

 private:
  struct Memory;

  void add_valid(bool valid);

  std::string name_;
  Type type_;
  int64_t count_ = 0;
  int64_t nulls_ = 0;
  std::vector<uint8_t> valid_;  // a bit for each value, the first in the lowest one
  std::vector<int64_t> integers_;
  std::vector<double> reals_;
  std::vector<int64_t> ends_;  // where each text or blob ends in bytes_
  std::string bytes_;
};

}  // namespace rtrain::store
