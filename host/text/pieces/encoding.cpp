#include "host/text/pieces/encoding.h"

#include <algorithm>

namespace rtrain::text {
namespace {

template <class T>
std::vector<T> slice(const std::vector<T>& items, size_t begin, size_t end) {
  return {items.begin() + static_cast<ptrdiff_t>(begin),
          items.begin() + static_cast<ptrdiff_t>(end)};
}

Encoding joined(const Encoding& first, const Encoding& second) {
  Encoding out = first;
  out.append(second);
  return out;
}

template <class T>
void keep(std::vector<T>& items, size_t begin, size_t end) {
  items.erase(items.begin() + static_cast<ptrdiff_t>(end), items.end());
  items.erase(items.begin(), items.begin() + static_cast<ptrdiff_t>(begin));
}

template <class T>
void join(std::vector<T>& items, const std::vector<T>& others) {
  items.insert(items.end(), others.begin(), others.end());
}

template <class T>
void fill(std::vector<T>& items, size_t count, Side side, const T& item) {
  items.insert(side == Side::kLeft ? items.begin() : items.end(), count, item);
}

}  // namespace

void Encoding::add(uint32_t id, std::string token, Range range, uint32_t type_id) {
  ids.push_back(id);
  tokens.push_back(std::move(token));
  offsets.push_back(range);
  type_ids.push_back(type_id);
  special.push_back(0);
  attention.push_back(1);
}

void Encoding::add_special(uint32_t id, const std::string& token, uint32_t type_id) {
  add(id, token, {}, type_id);
  special.back() = 1;
  for (Encoding& part : overflowing) part.add_special(id, token, type_id);
}

void Encoding::set_type_id(uint32_t type_id) { type_ids.assign(ids.size(), type_id); }

void Encoding::append(const Encoding& other) {
  std::vector<Encoding> parts;
  for (const Encoding& mine : overflowing) {
    parts.push_back(joined(mine, other));
    for (const Encoding& theirs : other.overflowing) parts.push_back(joined(mine, theirs));
  }
  for (const Encoding& theirs : other.overflowing) parts.push_back(joined(*this, theirs));
  overflowing = std::move(parts);
  join(ids, other.ids);
  join(tokens, other.tokens);
  join(offsets, other.offsets);
  join(type_ids, other.type_ids);
  join(special, other.special);
  join(attention, other.attention);
}

void Encoding::truncate(size_t max_length, Side side) {
  if (size() <= max_length) return;
  const size_t begin = side == Side::kLeft ? size() - max_length : 0;
  const size_t end = begin + max_length;
  keep(ids, begin, end);
  keep(tokens, begin, end);
  keep(offsets, begin, end);
  keep(type_ids, begin, end);
  keep(special, begin, end);
  keep(attention, begin, end);
}

Encoding Encoding::part(size_t begin, size_t end) const {
  return {slice(ids, begin, end),
          slice(tokens, begin, end),
          slice(offsets, begin, end),
          slice(type_ids, begin, end),
          slice(special, begin, end),
          slice(attention, begin, end),
          {}};
}

void Encoding::split(size_t max_length, Side side, size_t stride) {
  if (size() <= max_length) return;
  std::vector<Encoding> parts;
  if (max_length == 0) {
    parts.push_back(part(0, size()));
  } else {
    const size_t step = max_length - stride;
    for (size_t at = step; at + stride < size(); at += step) {
      const size_t end = std::min(at + max_length, size());
      parts.push_back(side == Side::kRight ? part(at, end) : part(size() - end, size() - at));
    }
  }
  truncate(max_length, side);
  overflowing = std::move(parts);
}

void Encoding::pad(size_t length, const Padding& padding) {
  for (Encoding& each : overflowing) each.pad(length, padding);
  if (size() >= length) return;
  const size_t count = length - size();
  fill(ids, count, padding.side, padding.id);
  fill(tokens, count, padding.side, padding.token);
  fill(offsets, count, padding.side, Range{});
  fill(type_ids, count, padding.side, padding.type_id);
  fill(special, count, padding.side, uint8_t{1});
  fill(attention, count, padding.side, uint8_t{0});
}

}  // namespace rtrain::text
