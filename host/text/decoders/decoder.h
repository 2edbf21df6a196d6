// host/text/decoders/decoder.h: makes text of tokens.
//
// A Decoder does not change after it was made: any thread may use it.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "host/base/value.h"

namespace rtrain::text {

class Decoder {
 public:
  virtual ~Decoder() = default;
  // Changes the tokens, whose concatenation is the text.
  virtual void decode(std::vector<std::string>& tokens) const = 0;
};

// Makes the decoder of a component of tokenizer.json. Throws Error(kArgument), which says what is
// wrong with it.
std::unique_ptr<Decoder> make_decoder(const Value& component);

}  // namespace rtrain::text
