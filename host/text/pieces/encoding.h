// host/text/pieces/encoding.h: what a text becomes: ids, tokens and where they come from.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "host/text/pieces/normalized_string.h"

namespace rtrain::text {

enum class Side { kLeft, kRight };

struct Padding {
  uint32_t id = 0;
  uint32_t type_id = 0;
  std::string token = "[PAD]";
  Side side = Side::kRight;
};

struct Encoding {
  std::vector<uint32_t> ids;
  std::vector<std::string> tokens;
  std::vector<Range> offsets;  // characters
  std::vector<uint32_t> type_ids;
  std::vector<uint8_t> special;    // 1: added by the post-processor or as padding
  std::vector<uint8_t> attention;  // 0: padding

  size_t size() const { return ids.size(); }
  void add(uint32_t id, std::string token, Range range, uint32_t type_id);
  void add_special(uint32_t id, const std::string& token, uint32_t type_id);
  void set_type_id(uint32_t type_id);
  void append(const Encoding& other);
  // Keeps max_length tokens: the first ones, or with kLeft the last ones.
  void truncate(size_t max_length, Side side);
  void pad(size_t length, const Padding& padding);
};

}  // namespace rtrain::text
