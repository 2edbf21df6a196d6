// host/text/formats/tiktoken.h: tiktoken's files: a token in base64 and its rank in each line.
#pragma once

#include <string_view>

#include "host/base/value.h"

namespace rtrain::text {

// Whether the bytes look like such a file.
bool is_tiktoken(std::string_view bytes);

// Returns the component "model" of tokenizer.json: byte-level BPE whose ids are the ranks. Throws
// Error(kArgument) with the line.
Value model_of_tiktoken(std::string_view bytes);

}  // namespace rtrain::text
