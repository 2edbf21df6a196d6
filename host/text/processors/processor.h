// host/text/processors/processor.h: adds special tokens to what a text, or a pair, has become.
//
// A Processor does not change after it was made: any thread may use it.
#pragma once

#include <memory>
#include <vector>

#include "host/base/value.h"
#include "host/text/pieces/encoding.h"

namespace rtrain::text {

class Processor {
 public:
  virtual ~Processor() = default;
  // Changes one encoding, or two of a pair, which may stay two; and their overflowing parts.
  virtual void process(std::vector<Encoding>& encodings, bool add_special_tokens) const = 0;
  // How many tokens process() adds.
  virtual size_t num_added(bool is_pair) const = 0;
};

// Makes the post-processor of a component of tokenizer.json. Throws Error(kArgument), which says
// what is wrong with it.
std::unique_ptr<Processor> make_processor(const Value& component);

}  // namespace rtrain::text
