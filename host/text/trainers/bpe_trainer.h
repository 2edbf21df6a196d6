// host/text/trainers/bpe_trainer.h: learns the merges of BPE, and the tokens of WordPiece.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "host/text/models/bpe.h"

namespace rtrain::text {

struct BpeTrainerOptions {
  size_t vocab_size = 30000;
  uint64_t min_frequency = 0;
  std::vector<std::string> special_tokens;
  std::string initial_alphabet;  // characters that are tokens even if no text has them
  std::optional<size_t> limit_alphabet;
  std::optional<size_t> max_token_length;  // characters
  std::string continuing_subword_prefix;
  std::string end_of_word_suffix;
};

struct LearnedBpe {
  std::vector<std::string> tokens;  // by id
  Bpe::Merges merges;
};

// Merges the pair that is there most often, again and again; of equally frequent ones that of the
// lower ids, as tokenizers does. Words and how often each is there.
LearnedBpe train_bpe(const std::vector<std::pair<std::string, uint64_t>>& words,
                     const BpeTrainerOptions& options);

}  // namespace rtrain::text
