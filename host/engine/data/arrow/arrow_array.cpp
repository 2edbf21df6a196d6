#include "host/engine/data/arrow/arrow_array.h"

#include <charconv>
#include <limits>

#include "host/base/error.h"
#include "host/base/text/text.h"

namespace rtrain::engine {
namespace {

// Has no branch inside the loop, so that compilers vectorize it.
template <class T>
bool rises(const T* offsets, int64_t count) {
  bool falls = false;
  for (int64_t i = 0; i < count; ++i) falls |= offsets[i + 1] < offsets[i];
  return !falls;
}

}  // namespace

ArrowView::ArrowView(const ArrowSchema& schema, const ArrowArray& array, std::string_view column)
    : schema_(schema), array_(array), column_(column), begin_(array.offset), size_(array.length) {
  check_layout();
}

void ArrowView::fail(std::string_view what) const {
  throw Error(Code::kArgument, cat("column '", column_, "': its Arrow data is damaged: ", what));
}

int64_t ArrowView::expected_buffers() const {
  if (format() == "n") return 0;
  if (is_struct() || list_size() >= 0) return 1;
  return is_text() || is_bytes() ? 3 : 2;
}

void ArrowView::check_layout() const {
  constexpr int64_t kMost = std::numeric_limits<int64_t>::max() / 64;
  if (schema_.format == nullptr) fail("no format");
  if (begin_ < 0 || size_ < 0 || begin_ > kMost || size_ > kMost) {
    fail(cat("length ", size_, ", offset ", begin_));
  }
  if (array_.n_children != schema_.n_children || array_.n_children < 0 ||
      (array_.n_children > 0 && (array_.children == nullptr || schema_.children == nullptr))) {
    fail("wrong number of children");
  }
  const int64_t children = is_list() || list_size() >= 0 ? 1 : is_struct() ? array_.n_children : 0;
  if (array_.n_children != children) fail("wrong number of children");
  if (array_.n_buffers != expected_buffers()) fail("wrong number of buffers");
  if (array_.n_buffers > 0 && array_.buffers == nullptr) fail("no buffers");
}

ArrowView ArrowView::child(int64_t i) const {
  ArrowView out(*schema_.children[i], *array_.children[i], column_);
  return is_struct() ? out.slice(begin_, size_) : out;
}

ArrowView ArrowView::slice(int64_t start, int64_t length) const {
  if (start < 0 || length < 0 || start > size_ - length) fail("rows beyond its end");
  ArrowView out = *this;
  out.begin_ += start;
  out.size_ = length;
  return out;
}

const void* ArrowView::buffer(int64_t i) const { return array_.buffers[i]; }

bool ArrowView::has_nulls() const {
  if (format() == "n") return size_ > 0;
  if (array_.null_count == 0 || buffer(0) == nullptr) return false;
  for (int64_t i = 0; i < size_; ++i) {
    if (!is_valid(i)) return true;
  }
  return false;
}

bool ArrowView::is_valid(int64_t i) const {
  if (format() == "n") return false;
  const auto* bits = static_cast<const uint8_t*>(buffer(0));
  if (bits == nullptr) return true;
  const int64_t at = begin_ + i;
  return ((bits[at >> 3] >> (at & 7)) & 1) != 0;
}

bool ArrowView::bit(int64_t i) const {
  const auto* bits = static_cast<const uint8_t*>(buffer(1));
  const int64_t at = begin_ + i;
  return ((bits[at >> 3] >> (at & 7)) & 1) != 0;
}

const void* ArrowView::values(size_t width) const {
  const auto* data = static_cast<const char*>(buffer(1));
  if (data == nullptr) {
    if (size_ > 0) fail("no values");
    return nullptr;
  }
  return data + static_cast<size_t>(begin_) * width;
}

bool ArrowView::has_wide_offsets() const {
  return format() == "U" || format() == "Z" || format() == "+L";
}

int64_t ArrowView::offset(int64_t i) const {
  const void* data = buffer(1);
  if (data == nullptr) return 0;  // an array without rows has no offsets
  return has_wide_offsets() ? static_cast<const int64_t*>(data)[begin_ + i]
                            : static_cast<const int32_t*>(data)[begin_ + i];
}

void ArrowView::check_offsets() const {
  const void* data = buffer(1);
  if (data == nullptr) {
    if (size_ > 0) fail("no offsets");
    return;
  }
  const bool rising = has_wide_offsets() ? rises(static_cast<const int64_t*>(data) + begin_, size_)
                                         : rises(static_cast<const int32_t*>(data) + begin_, size_);
  if (offset(0) < 0) fail("a negative offset");
  if (!rising) fail("falling offsets");
  const int64_t last = offset(size_);
  if (is_list() && last > array_.children[0]->length) fail("an offset beyond the items");
  if (!is_list() && bytes() == nullptr && last > 0) fail("no bytes");
}

void ArrowView::copy_offsets(int64_t* out) const {
  check_offsets();
  const int64_t first = offset(0);
  if (has_wide_offsets() || buffer(1) == nullptr) {
    for (int64_t i = 0; i <= size_; ++i) out[i] = offset(i) - first;
    return;
  }
  const int32_t* data = static_cast<const int32_t*>(buffer(1)) + begin_;
  for (int64_t i = 0; i <= size_; ++i) out[i] = data[i] - first;
}

const char* ArrowView::bytes() const { return static_cast<const char*>(buffer(2)); }

ArrowView ArrowView::list_items(int64_t start, int64_t length) const {
  const ArrowView items(*schema_.children[0], *array_.children[0], column_);
  const int64_t size = list_size();
  if (size < 0) {
    const int64_t begin = offset(start);
    return items.slice(begin, offset(start + length) - begin);
  }
  int64_t begin = 0;
  int64_t count = 0;
  if (__builtin_mul_overflow(begin_ + start, size, &begin) ||
      __builtin_mul_overflow(length, size, &count)) {
    fail("items beyond its end");
  }
  return items.slice(begin, count);
}

int64_t ArrowView::list_size() const {
  constexpr std::string_view kPrefix = "+w:";
  if (!format().starts_with(kPrefix)) return -1;
  int64_t out = -1;
  const std::string_view digits = format().substr(kPrefix.size());
  const auto parsed = std::from_chars(digits.data(), digits.data() + digits.size(), out);
  if (parsed.ec != std::errc() || out < 0) fail("a list of no size");
  return out;
}

}  // namespace rtrain::engine
