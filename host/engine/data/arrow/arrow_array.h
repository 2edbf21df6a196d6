// host/engine/data/arrow/arrow_array.h: one checked array of the Arrow C data interface.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "host/api/arrow_batch.h"

namespace rtrain::engine {

// A view; the column must outlive it. Indices count from the first row of the view.
// Wide, because each layout of Arrow has its readers.
class ArrowView {
 public:
  // Throws Error(kArgument) naming the column when the numbers in the structs contradict each other
  // or the format.
  ArrowView(const ArrowSchema& schema, const ArrowArray& array, std::string_view column);

  std::string_view format() const { return schema_.format; }
  std::string_view name() const { return schema_.name == nullptr ? "" : schema_.name; }
  int64_t size() const { return size_; }
  int64_t num_children() const { return array_.n_children; }
  // A child of a list or struct. A child of a struct is cut to the struct's rows.
  ArrowView child(int64_t i) const;
  // Only the rows [start, start + length). REQUIRES: start + length <= size().
  ArrowView slice(int64_t start, int64_t length) const;

  bool has_nulls() const;
  bool is_valid(int64_t i) const;
  // The value of row i of a boolean array.
  bool bit(int64_t i) const;

  // The values, for a type of `width` bytes.
  const void* values(size_t width) const;

  // For strings, binary and lists: the offset at which value i begins; i may be size(). Throws
  // Error(kArgument) when offsets decrease or are negative.
  int64_t offset(int64_t i) const;
  void check_offsets() const;
  // Checks all offsets and writes size() + 1 of them to `out`, shifted so that the first is 0.
  void copy_offsets(int64_t* out) const;
  const char* bytes() const;  // for strings and binary

  bool is_text() const { return format() == "u" || format() == "U"; }
  bool is_bytes() const { return format() == "z" || format() == "Z"; }
  bool is_list() const { return format() == "+l" || format() == "+L"; }
  bool is_struct() const { return format() == "+s"; }
  // Number of elements in each row of a fixed-size list; -1 for other types.
  int64_t list_size() const;
  // The items of the given rows of a list or fixed-size list.
  ArrowView list_items(int64_t start, int64_t length) const;

  [[noreturn]] void fail(std::string_view what) const;

 private:
  bool has_wide_offsets() const;
  const void* buffer(int64_t i) const;
  void check_layout() const;
  int64_t expected_buffers() const;

  const ArrowSchema& schema_;
  const ArrowArray& array_;
  std::string column_;
  int64_t begin_;
  int64_t size_;
};

}  // namespace rtrain::engine
