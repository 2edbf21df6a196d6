// host/text/models/model.h: what makes tokens of a piece of text: BPE, WordPiece, Unigram or
// WordLevel.
//
// A Model does not change after it was made: any thread may use it.
#pragma once

#include <memory>
#include <string_view>
#include <vector>

#include "host/base/value.h"
#include "host/text/models/vocabulary.h"
#include "host/text/pieces/token.h"

namespace rtrain::text {

class Model {
 public:
  virtual ~Model() = default;
  // Appends the tokens of a piece. Throws Error(kArgument) where the vocabulary lacks the token for
  // what is unknown.
  virtual void tokenize(std::string_view piece, std::vector<Token>& out) const = 0;
  virtual const Vocabulary& vocabulary() const = 0;
  // The component of tokenizer.json.
  virtual Value to_value() const = 0;
};

// Makes the model of a component. Throws Error(kArgument), which says what is wrong with it.
std::unique_ptr<Model> make_model(const Value& component);

// "<0x0A>", the token of a byte.
std::string byte_token(unsigned char byte);

}  // namespace rtrain::text
