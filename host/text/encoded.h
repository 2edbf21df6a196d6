// host/text/encoded.h: what encode() gives: ids, and the rest when it is asked for.
//
// After byte-level BPE it holds the text and the end of each token; tokens and offsets are made at
// the first call of full(), because most callers want ids alone. One thread at a time.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "host/text/pieces/encoding.h"

namespace rtrain::text {

class Pipeline;

// Tokens of byte-level BPE, without those that the post-processor adds.
struct ByteTokens {
  std::string text;
  std::vector<uint32_t> ids;
  std::vector<uint32_t> ends;   // bytes of text
  std::vector<uint32_t> added;  // positions of added tokens
};

class Encoded {
 public:
  Encoded() = default;
  explicit Encoded(Encoding full) : ids_(full.ids), full_(std::move(full)) {}
  // `ids` are those of tokens with what the post-processor adds.
  Encoded(std::vector<uint32_t> ids, ByteTokens tokens, bool add_special_tokens,
          std::shared_ptr<const Pipeline> pipeline)
      : ids_(std::move(ids)),
        tokens_(std::move(tokens)),
        add_special_tokens_(add_special_tokens),
        pipeline_(std::move(pipeline)) {}

  const std::vector<uint32_t>& ids() const { return ids_; }
  const Encoding& full();
  bool has_overflowing() const { return full_ && !full_->overflowing.empty(); }
  // Gives up the encoding.
  Encoding take();
  // Gives up what truncation has cut off.
  std::vector<Encoding> take_overflowing() {
    return full_ ? std::move(full_->overflowing) : std::vector<Encoding>();
  }

 private:
  std::vector<uint32_t> ids_;
  ByteTokens tokens_;
  bool add_special_tokens_ = false;
  std::shared_ptr<const Pipeline> pipeline_;
  std::optional<Encoding> full_;
};

}  // namespace rtrain::text
