// host/text/template/items.h: values while a template runs, with Python's rules for truth,
// equality and text.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "host/base/value.h"

namespace rtrain::text {

// Plain data, a namespace, or nothing: undefined. Data is shared, never copied.
struct Item {
  std::shared_ptr<const Value> value;
  std::shared_ptr<std::map<std::string, Item>> space;  // of namespace()
  std::string name;                                    // of what is undefined, for messages

  static Item of(Value value) { return {std::make_shared<const Value>(std::move(value)), {}, {}}; }
  static Item undefined(std::string name) { return {nullptr, {}, std::move(name)}; }
  bool is_undefined() const { return value == nullptr && space == nullptr; }
  bool is_string() const { return value != nullptr && value->is_string(); }
  bool is_list() const { return value != nullptr && value->is_list(); }
  bool is_map() const { return value != nullptr && value->is_map(); }
  // A part of the data, which stays alive with it.
  Item part(const Value& inner) const { return {{value, &inner}, {}, {}}; }
};

bool is_true(const Item& item);
bool equal(const Value& a, const Value& b);
// As Python's str(), with an empty text for what is undefined.
std::string text_of(const Item& item);
// As json.dumps(value, ensure_ascii=False, indent=…); -1: all in one line.
std::string python_json(const Value& value, int indent);
// "string", "list", … as Python's people know them, for messages.
std::string kind_of(const Item& item);

// The items that a loop runs over: those of a list, keys of a map, characters of a text.
// Throws Error(kArgument) with the line for other values.
std::vector<Item> items_of(const Item& item, int line);

}  // namespace rtrain::text
