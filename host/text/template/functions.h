// host/text/template/functions.h: filters, tests and methods that chat templates call.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "host/text/template/items.h"

namespace rtrain::text {

struct Arguments {
  std::vector<Item> list;
  std::map<std::string, Item> named;
  int line = 1;

  // The argument of this place or name; null without it.
  const Item* find(size_t place, const std::string& name) const;
  // As text, for an argument that must be there. Throws Error(kArgument) with the line.
  std::string text(size_t place, const std::string& name) const;
};

// Each throws Error(kArgument) with the line, for a name that is not supported and for wrong
// values.
Item call_filter(const std::string& name, const Item& value, const Arguments& arguments);
bool call_test(const std::string& name, const Item& value, const Arguments& arguments);
Item call_method(const std::string& name, const Item& object, const Arguments& arguments);

// Whether the item has the attribute that a dot or a subscript with a text names; sets it.
bool find_member(const Item& object, const std::string& name, Item& out);

}  // namespace rtrain::text
