// host/text/models/word_models.h: WordPiece, and WordLevel, whose tokens are whole pieces.
#pragma once

#include <string>

#include "host/text/models/byte_trie.h"
#include "host/text/models/model.h"

namespace rtrain::text {

class WordPiece final : public Model {
 public:
  WordPiece(Vocabulary vocabulary, std::string unk_token, std::string prefix,
            uint32_t longest_word);
  static std::unique_ptr<WordPiece> from_value(const Value& component);

  void tokenize(std::string_view piece, std::vector<Token>& out) const override;
  const Vocabulary& vocabulary() const override { return vocabulary_; }
  Value to_value() const override;

 private:
  bool cut(std::string_view piece, std::vector<Token>& out) const;

  Vocabulary vocabulary_;
  std::string unk_token_;
  std::string prefix_;     // of tokens within a word
  uint32_t longest_word_;  // characters; a longer one is unknown
  ByteTrie first_,
      within_;  // tokens at the beginning of a word, and those with the prefix without it
};

class WordLevel final : public Model {
 public:
  WordLevel(Vocabulary vocabulary, std::string unk_token);
  static std::unique_ptr<WordLevel> from_value(const Value& component);

  void tokenize(std::string_view piece, std::vector<Token>& out) const override;
  const Vocabulary& vocabulary() const override { return vocabulary_; }
  Value to_value() const override;

 private:
  Vocabulary vocabulary_;
  std::string unk_token_;
};

}  // namespace rtrain::text
