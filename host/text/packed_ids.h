// host/text/packed_ids.h: the ids of many texts one after another, as bytes: for files of tokens.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "host/text/tokenizer.h"

namespace rtrain::text {

struct PackOptions {
  bool add_special_tokens = false;
  std::optional<uint32_t> separator;  // after each text
  size_t id_bytes = 4;                // 2 or 4
};

struct PackedIds {
  std::string ids;      // numbers of id_bytes, in the machine's order
  std::string lengths;  // int64: how many ids each text has, with its separator
};

// Without the tokenizer's truncation and padding. Throws Error(kArgument) that names the text, from
// 1: one that is not UTF-8, or has an id that needs more bytes.
PackedIds pack_ids(const Tokenizer& tokenizer, const std::vector<std::string_view>& texts,
                   const PackOptions& options);

}  // namespace rtrain::text
