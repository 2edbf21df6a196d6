// host/text/pre_tokenizers/pre_tokenizer.h: cuts a text into the pieces that the model sees one by
// one.
//
// A PreTokenizer does not change after it was made: any thread may use it.
#pragma once

#include <memory>
#include <optional>

#include "host/base/value.h"
#include "host/text/patterns/scanners.h"
#include "host/text/pieces/pre_tokenized.h"

namespace rtrain::text {

class PreTokenizer {
 public:
  virtual ~PreTokenizer() = default;
  virtual void pre_tokenize(PreTokenized& text) const = 0;
};

// Makes the pre-tokenizer of a component of tokenizer.json. Throws Error(kArgument), which says
// what is wrong with it.
std::unique_ptr<PreTokenizer> make_pre_tokenizer(const Value& component);

// The scanner that cuts as the component does, if all that it does besides is to show bytes as
// characters.
std::optional<WordScanner> byte_level_scanner(const Value& component);

}  // namespace rtrain::text
