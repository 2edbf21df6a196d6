// host/engine/files/pickle_calls.h: the closed list of Python names that a pickle may refer to, and
// what comes of calling them.
//
// Nothing of Python's is run: each name stands for a few lines here that build a value. The list is
// that of torch.load(weights_only=True) without quantized, nested and meta tensors and wrapper
// subclasses, plus bytes and defaultdict.
#pragma once

#include "host/engine/files/pickle_items.h"

namespace rtrain {

// Throws Error(kArgument), with what to do instead, for a name outside the list.
void check_known(const std::string& name);

// The element type that a typed or untyped storage class stands for. Throws for any other item.
c10::ScalarType storage_type(const Item& item);

// What may stand in a container: a value, a tuple as a list, a dtype as its name.
Tree to_tree(const Item& item, PickleNodes& nodes);

// Calls the name with the items of the tuple. Throws Error(kArgument) for arguments that do not
// fit, and for a tensor that reaches outside its storage.
Tree call_name(const std::string& name, const std::vector<Item>& given, PickleNodes& nodes);

}  // namespace rtrain
