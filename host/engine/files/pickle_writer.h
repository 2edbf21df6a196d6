// host/engine/files/pickle_writer.h: a tree as Python pickle bytes (protocol 2), the way torch.save
// writes them.
//
// Only names that torch.load(weights_only=True) accepts are written: OrderedDict, complex, the
// functions that rebuild tensors, the storages, and _codecs.encode (a string that is not UTF-8).
#pragma once

#include <c10/core/Storage.h>

#include <string>
#include <vector>

#include "host/engine/files/tree.h"

namespace rtrain {

struct Pickle {
  std::string bytes;
  // Storage number i is the record data/i of the archive. Tensors that share memory share a number.
  std::vector<c10::Storage> storages;
};

// Throws Error(kArgument) for a tensor that holds no plain values (meta, quantized), and when one
// storage is seen with two dtypes.
Pickle pickle(const Tree& tree);

}  // namespace rtrain
