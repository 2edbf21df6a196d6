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
  std::vector<uint8_t> special;       // 1: added by the post-processor or as padding
  std::vector<uint8_t> attention;     // 0: padding
  std::vector<Encoding> overflowing;  // what split() has cut off

  size_t size() const { return ids.size(); }
  void add(uint32_t id, std::string token, Range range, uint32_t type_id);
  // To the overflowing parts too.
  void add_special(uint32_t id, const std::string& token, uint32_t type_id);
  void set_type_id(uint32_t type_id);
  // Joins each overflowing part with the other encoding and with each of its parts, as tokenizers
  // does.
  void append(const Encoding& other);
  // Keeps max_length tokens: the first ones, or with kLeft the last ones.
  void truncate(size_t max_length, Side side);
  // The same, and puts the other tokens into overflowing, as parts of max_length tokens of which
  // each begins with the last `stride` tokens of the one before it; kLeft: the other way round.
  // REQUIRES: stride < max_length, or max_length is 0: then all tokens are one part.
  void split(size_t max_length, Side side, size_t stride);
  // Pads the overflowing parts too.
  void pad(size_t length, const Padding& padding);

 private:
  Encoding part(size_t begin, size_t end) const;
};

}  // namespace rtrain::text
