// host/text/trainer.h: learns the model of a tokenizer from texts.
#pragma once

#include <span>
#include <string_view>

#include "host/text/tokenizer.h"
#include "host/text/trainers/word_counts.h"

namespace rtrain::text {

// One thread at a time.
class Trainer {
 public:
  // `tokenizer`: whose components and kind of model the new one has. `options`: vocab_size,
  // min_frequency, special_tokens, initial_alphabet, limit_alphabet, max_token_length and others,
  // with the names and defaults of tokenizers. Throws Error(kArgument) for a wrong one, and for a
  // WordLevel whose vocabulary cannot be learnt.
  Trainer(const Tokenizer& tokenizer, Value options);

  // Counts the words of texts. Throws Error(kArgument) for one that is not UTF-8.
  void feed(std::span<const std::string_view> texts);
  // Makes the tokenizer. The added tokens of the old one are dropped, special tokens are added.
  Tokenizer train() const;

 private:
  Value learned_model() const;

  std::shared_ptr<const Pipeline> pipeline_;
  std::optional<Truncation> truncation_;
  std::optional<PaddingOptions> padding_;
  Value options_;
  WordCounts counts_;
};

}  // namespace rtrain::text
