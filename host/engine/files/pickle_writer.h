// host/engine/files/pickle_writer.h: serializes a tree as Python pickle bytes (protocol 2), as
// torch.save does.
//
// Uses only names that torch.load(weights_only=True) accepts: OrderedDict, complex, the functions
// that rebuild tensors, the storages, and _codecs.encode (for strings that are not UTF-8).
#pragma once

#include <c10/core/Storage.h>

#include <string>
#include <vector>

#include "host/engine/files/tree.h"

namespace rtrain::engine {

struct Pickle {
  std::string bytes;
  // Storage number i is the record data/i of the archive. Tensors that share memory share a number.
  std::vector<c10::Storage> storages;
};

// Throws Error(kArgument) for a tensor without plain values (meta, quantized), and if one storage
// is used with two dtypes.
Pickle pickle(const Tree& tree);

}  // namespace rtrain::engine
