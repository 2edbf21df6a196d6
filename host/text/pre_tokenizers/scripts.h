// host/text/pre_tokenizers/scripts.h: cuts a text where its script changes.
#pragma once

#include "host/text/pre_tokenizers/pre_tokenizer.h"

namespace rtrain::text {

// As SentencePiece does: Hiragana, Katakana and Han are one script, and a space is of any.
class UnicodeScripts final : public PreTokenizer {
 public:
  void pre_tokenize(PreTokenized& text) const override;
};

}  // namespace rtrain::text
