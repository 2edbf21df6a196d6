// host/text/trainers/unigram_trainer.h: learns the tokens of Unigram and their scores.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "host/text/models/unigram.h"

namespace rtrain::text {

struct UnigramTrainerOptions {
  size_t vocab_size = 8000;
  double shrinking_factor = 0.75;
  std::vector<std::string> special_tokens;
  std::string unk_token = "<unk>";
  size_t max_piece_length = 16;  // characters
  size_t n_sub_iterations = 2;
  size_t seed_size = 1'000'000;
};

struct LearnedUnigram {
  Unigram::Scores scores;
  uint32_t unk_id = 0;
};

// Begins with all parts of words that are there twice, and leaves out those that matter least,
// step by step: expectation and maximization, as SentencePiece does. Words and how often each is
// there.
LearnedUnigram train_unigram(const std::vector<std::pair<std::string, uint64_t>>& words,
                             const UnigramTrainerOptions& options);

}  // namespace rtrain::text
