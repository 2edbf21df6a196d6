// host/engine/files/pickle_reader.h: a restricted unpickler that builds plain values and tensors
// and runs no code.
//
// Safe for untrusted bytes. It knows the opcodes of protocol 2 that torch.save emits and the names
// of pickle_calls.h. Any other opcode or name, a truncated or too deeply nested input, or a tensor
// that reaches outside its storage is an Error(kArgument). Memory and time grow with the size of
// the input, never with a number in it.
//
// Tuples, Sizes and sets become lists; dtypes, devices and layouts become strings; defaultdicts and
// Counters become maps. Python attributes of tensors and OrderedDicts are dropped.
#pragma once

#include <c10/core/Storage.h>

#include <functional>
#include <string>
#include <string_view>

#include "host/engine/files/tree.h"

namespace rtrain::engine {

struct StorageRequest {
  std::string key;  // the record data/<key>
  c10::ScalarType type;
  int64_t numel;
  std::string location;  // "cpu", "cuda:0"
};

// Called once for each key. Must return a storage of numel elements.
using StorageLoader = std::function<c10::Storage(const StorageRequest&)>;

Tree unpickle(std::string_view bytes, const StorageLoader& load);

}  // namespace rtrain::engine
