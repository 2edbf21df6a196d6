// host/bind/text.h: the module `text._C`: tokenizers.
//
//   from_json(text) → a tokenizer of tokenizer.json
//   from_pretrained(folder) → a tokenizer, {special_tokens, chat_template}
//     tokenizer:encode(text, pair or nil, add_special_tokens, overflowing) → an encoding
//     tokenizer:encode_batch(texts, pairs or nil, add_special_tokens, overflowing, num_threads)
//       → encodings
//     tokenizer:pack_ids(texts, {add_special_tokens, separator, id_bytes}) → ids, lengths as bytes
//     tokenizer:decode(ids, skip_special_tokens) → text
//     tokenizer:decode_batch(lists of ids, skip_special_tokens, num_threads) → texts
//     tokenizer:decode_stream(skip_special_tokens) → a stream; :step(id) and :finish() → text
//     tokenizer:token_to_id(token), :id_to_token(id) → nil for none
//     tokenizer:vocabulary(with_added_tokens) → token → id; :vocabulary_size(with_added_tokens)
//     tokenizer:add_tokens(list, special) → how many are new
//     tokenizer:num_special_tokens(is_pair)
//     tokenizer:truncation(), :padding(), :set_truncation(component), :set_padding(component)
//     tokenizer:to_json(pretty) → text
//     tokenizer:trainer(options) → a trainer; :feed(texts), :train() → a tokenizer
//   chat_template(source) → a template; :render(variables) → text
//   encoding:ids(), :tokens(), :offsets(), :type_ids(), :attention_mask(), :special_tokens_mask(),
//     :size(), :overflowing() → encodings, once
#pragma once

#include "host/lua/lua.h"

namespace rtrain::bind {

// Pushes the module.
int open_text(lua_State* L);

}  // namespace rtrain::bind
