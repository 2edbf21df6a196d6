// host/text/normalizers/normalizer.h: changes a text before it is cut into pieces.
//
// A Normalizer does not change after it was made: any thread may use it.
#pragma once

#include <memory>

#include "host/base/value.h"
#include "host/text/pieces/normalized_string.h"

namespace rtrain::text {

class Normalizer {
 public:
  virtual ~Normalizer() = default;
  virtual void normalize(NormalizedString& text) const = 0;
  // Whether the text is left as it is, found faster than by normalizing it. False when in doubt.
  virtual bool leaves(std::string_view) const { return false; }
};

// Makes the normalizer of a component of tokenizer.json. Throws Error(kArgument), which says what
// is wrong with it.
std::unique_ptr<Normalizer> make_normalizer(const Value& component);

}  // namespace rtrain::text
