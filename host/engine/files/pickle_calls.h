// host/engine/files/pickle_calls.h: the closed list of Python names that a pickle may refer to, and
// the results of calling them.
//
// No Python code runs: for each name a few lines here build the value. The list is that of
// torch.load(weights_only=True), without quantized, nested and meta tensors and wrapper subclasses,
// plus bytes and defaultdict.
#pragma once

#include "host/engine/files/pickle_items.h"

namespace rtrain::engine {

// Throws Error(kArgument) for a name outside the list, with advice.
void check_known(const std::string& name);

// The element type of a typed or untyped storage class. Throws for any other item.
c10::ScalarType storage_type(const Item& item);

// Converts an item for use in a container: a value, a tuple as a list, a dtype as its name.
Tree to_tree(const Item& item, PickleNodes& nodes);

// Calls the function with the tuple's items. Throws Error(kArgument) for wrong arguments, and for a
// tensor that reaches outside its storage.
Tree call_name(const std::string& name, const std::vector<Item>& given, PickleNodes& nodes);

}  // namespace rtrain::engine
