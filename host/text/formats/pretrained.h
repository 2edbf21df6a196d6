// host/text/formats/pretrained.h: reads the tokenizer of a model's folder, whatever files it has.
//
// tokenizer.json, else a model of SentencePiece or tiktoken, else vocab.json with merges.txt, else
// vocab.txt: what is not in these is made as transformers makes it for the class of the folder's
// tokenizer_config.json.
#pragma once

#include <string>

#include "host/base/value.h"

namespace rtrain::text {

struct Pretrained {
  Value tokenizer;      // as tokenizer.json
  List added_tokens;    // of the configuration, as in tokenizer.json
  Map special_tokens;   // "bos_token" → its text, and so on
  Value chat_template;  // nil without one
};

// Throws Error(kNotFound) for a folder without a tokenizer, Error(kArgument), which names the file,
// for what is wrong in one.
Pretrained read_pretrained(const std::string& folder);

}  // namespace rtrain::text
