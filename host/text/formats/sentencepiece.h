// host/text/formats/sentencepiece.h: SentencePiece's files: a message of Protocol Buffers with
// pieces, their scores, and how to normalize.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "host/base/value.h"

namespace rtrain::text {

struct SentencePieceModel {
  enum class Kind { kUnigram = 1, kBpe = 2, kWord = 3, kChar = 4 };
  enum class PieceType {
    kNormal = 1,
    kUnknown = 2,
    kControl = 3,
    kUserDefined = 4,
    kUnused = 5,
    kByte = 6
  };
  struct Piece {
    std::string text;
    float score = 0;
    PieceType type = PieceType::kNormal;
  };
  std::vector<Piece> pieces;
  Kind kind = Kind::kUnigram;
  bool byte_fallback = false;
  int64_t unk_id = 0, bos_id = 1, eos_id = 2;
  std::string charsmap;
  bool add_dummy_prefix = true;
};

// Throws Error(kArgument) for bytes that are not such a message.
SentencePieceModel read_sentencepiece(std::string_view bytes);

// The component "model" of tokenizer.json: Unigram, or BPE with the merges that make its pieces.
// Throws Error(kUnsupported) for models of words and characters.
Value model_of_sentencepiece(const SentencePieceModel& model);

}  // namespace rtrain::text
