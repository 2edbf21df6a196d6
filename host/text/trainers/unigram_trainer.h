// host/text/trainers/unigram_trainer.h: learns the tokens of Unigram and their scores.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "host/text/models/unigram.h"

namespace rtrain::text {

struct UnigramTrainerOptions {
  size_t vocab_size = 8000;
  double shrinking_factor = 0.75;
  std::vector<std::string> special_tokens;
  std::set<char32_t> initial_alphabet;  // characters that are tokens even if no text has them
  std::string unk_token = "<unk>";
  size_t max_piece_length = 16;  // characters
  size_t n_sub_iterations = 2;
  size_t seed_size = 1'000'000;
};

struct LearnedUnigram {
  Unigram::Scores scores;
  uint32_t unk_id = 0;
};

// Begins with the parts of words that are there twice, and leaves out those that matter least, step
// by step: expectation and maximization, as SentencePiece and tokenizers do. Pieces are those of
// tokenizers, and scores within rounding; only a character that is not a piece at the end gets its
// score by chance there, and by its code here. Words and how often each is there. All characters
// are tokens, also where they are more than vocab_size. Throws Error(kArgument) for a vocab_size
// that has no space for the special tokens.
LearnedUnigram train_unigram(const std::vector<std::pair<std::string, uint64_t>>& words,
                             const UnigramTrainerOptions& options);

}  // namespace rtrain::text
