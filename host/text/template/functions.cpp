#include "host/text/template/functions.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "host/base/text/text.h"
#include "host/text/template/lexer.h"
#include "host/text/unicode/characters.h"
#include "host/text/unicode/classes.h"

namespace rtrain::text {

const Item* Arguments::find(size_t place, const std::string& name) const {
  if (place < list.size()) return &list[place];
  const auto found = named.find(name);
  return found == named.end() ? nullptr : &found->second;
}

std::string Arguments::text(size_t place, const std::string& name) const {
  const Item* item = find(place, name);
  if (item == nullptr || !item->is_string()) {
    refuse_template(line, cat("expected a string as '", name, "', got ",
                              item == nullptr ? "nothing" : kind_of(*item)));
  }
  return item->value->as_string();
}

bool find_member(const Item& object, const std::string& name, Item& out) {
  if (object.space) {
    const auto found = object.space->find(name);
    if (found == object.space->end()) return false;
    out = found->second;
    return true;
  }
  if (!object.is_map()) return false;
  const Value* found = object.value->as_map().find(name);
  if (found == nullptr) return false;
  out = object.part(*found);
  return true;
}

namespace {

std::string cased(const std::string& text, bool upper) {
  std::string out;
  for (const char32_t code : characters_of(text)) {
    char32_t second = 0;
    append_character(out, upper ? to_upper(code) : to_lower(code, second));
    if (second != 0) append_character(out, second);
  }
  return out;
}

std::string capitalized(const std::string& text) {
  if (text.empty()) return text;
  const size_t first = character_at(text, 0).bytes;
  return cased(text.substr(0, first), true) + cased(text.substr(first), false);
}

std::string titled(const std::string& text) {
  std::string out;
  bool is_in_word = false;
  for (const char32_t code : characters_of(text)) {
    char32_t second = 0;
    append_character(out, is_in_word ? to_lower(code, second) : to_upper(code));
    is_in_word = class_of(code) & kLetter;
  }
  return out;
}

// Python's strip: white space, or the characters of `of`.
std::string stripped(std::string_view text, bool left, bool right, const std::string* of) {
  const auto set = of == nullptr ? std::vector<char32_t>() : characters_of(*of);
  const auto goes = [&](char32_t code) {
    return of == nullptr ? is_space(code) || (code >= 0x1c && code <= 0x1f)
                         : std::find(set.begin(), set.end(), code) != set.end();
  };
  while (left && !text.empty() && goes(character_at(text, 0).code)) {
    text.remove_prefix(character_at(text, 0).bytes);
  }
  while (right && !text.empty()) {
    const size_t last = start_of_last(text, text.size());
    if (!goes(character_at(text, last).code)) break;
    text = text.substr(0, last);
  }
  return std::string(text);
}

constexpr size_t kLongestText = size_t{64} << 20;

void check_size(const std::string& text, int line) {
  if (text.size() > kLongestText) refuse_template(line, "a text becomes longer than 64 MiB");
}

std::string replaced(const std::string& text, const std::string& what, const std::string& with,
                     int line) {
  if (what.empty()) return text;
  std::string out;
  size_t done = 0;
  for (size_t at = text.find(what); at != text.npos; at = text.find(what, done)) {
    out.append(text, done, at - done).append(with);
    done = at + what.size();
    check_size(out, line);
  }
  return out.append(text, done);
}

List split_words(const std::string& text) {
  List out;
  std::string word;
  for (const char32_t code : characters_of(text)) {
    if (!is_space(code)) {
      append_character(word, code);
    } else if (!word.empty()) {
      out.push_back(std::move(word));
      word.clear();
    }
  }
  if (!word.empty()) out.push_back(std::move(word));
  return out;
}

List split_at(const std::string& text, const std::string& separator, int64_t most) {
  List out;
  size_t begin = 0;
  for (size_t at = text.find(separator); at != text.npos && most != 0;
       at = text.find(separator, begin), --most) {
    out.push_back(text.substr(begin, at - begin));
    begin = at + separator.size();
  }
  out.push_back(text.substr(begin));
  return out;
}

List pairs_of(const Item& map) {
  List out;
  for (const auto& [key, value] : map.value->as_map()) {
    out.push_back(List{Value(key_text(key)), value});
  }
  return out;
}

int64_t length_of(const Item& item, int line) {
  if (item.is_string()) return static_cast<int64_t>(count_characters(item.value->as_string()));
  if (item.is_list()) return static_cast<int64_t>(item.value->as_list().size());
  if (item.is_map()) return static_cast<int64_t>(item.value->as_map().size());
  if (item.is_undefined()) return 0;
  refuse_template(line, cat("there is no length of ", kind_of(item)));
}

List plain_list(const std::vector<Item>& items) {
  List out;
  for (const Item& item : items) out.push_back(item.value ? *item.value : Value());
  return out;
}

// selectattr and rejectattr, or select and reject.
Item selected(const Item& value, const Arguments& arguments, bool by_attribute, bool wanted) {
  List out;
  Arguments rest;
  rest.line = arguments.line;
  const size_t first = by_attribute ? 1 : 0;
  if (arguments.list.size() > first + 1) {
    rest.list.assign(arguments.list.begin() + static_cast<ptrdiff_t>(first) + 1,
                     arguments.list.end());
  }
  for (const Item& item : items_of(value, arguments.line)) {
    Item tested = item;
    if (by_attribute) {
      const std::string name = arguments.text(0, "attribute");
      if (!find_member(item, name, tested)) tested = Item::undefined(name);
    }
    const bool holds = arguments.list.size() > first
                           ? call_test(arguments.text(first, "test"), tested, rest)
                           : is_true(tested);
    if (holds == wanted) out.push_back(*item.value);
  }
  return Item::of(std::move(out));
}

Item mapped(const Item& value, const Arguments& arguments) {
  List out;
  const bool by_attribute = arguments.named.contains("attribute");
  const std::string name =
      by_attribute ? arguments.text(9, "attribute") : arguments.text(0, "filter");
  Arguments rest;
  rest.line = arguments.line;
  if (arguments.list.size() > 1) rest.list.assign(arguments.list.begin() + 1, arguments.list.end());
  for (const Item& item : items_of(value, arguments.line)) {
    Item made;
    if (!by_attribute) {
      made = call_filter(name, item, rest);
    } else if (!find_member(item, name, made)) {
      made = arguments.named.contains("default") ? arguments.named.at("default") : Item();
    }
    out.push_back(made.value ? *made.value : Value());
  }
  return Item::of(std::move(out));
}

Item joined(const Item& value, const Arguments& arguments) {
  const Item* separator = arguments.find(0, "d");
  const Item* attribute = arguments.find(1, "attribute");
  std::string out;
  bool is_first = true;
  for (const Item& item : items_of(value, arguments.line)) {
    Item shown = item;
    if (attribute != nullptr) find_member(item, text_of(*attribute), shown);
    if (!is_first && separator != nullptr) out += text_of(*separator);
    out += text_of(shown);
    check_size(out, arguments.line);
    is_first = false;
  }
  return Item::of(std::move(out));
}

Item first_or_last(const Item& value, bool first, int line) {
  const std::vector<Item> items = items_of(value, line);
  if (items.empty()) return Item::undefined(first ? "first" : "last");
  return first ? items.front() : items.back();
}

Item defaulted(const Item& value, const Arguments& arguments) {
  const Item* fallback = arguments.find(0, "default_value");
  const Item* also_false = arguments.find(1, "boolean");
  const bool replaces =
      value.is_undefined() || (also_false != nullptr && is_true(*also_false) && !is_true(value));
  if (!replaces) return value;
  return fallback == nullptr ? Item::of("") : *fallback;
}

Item to_json_item(const Item& value, const Arguments& arguments) {
  const Item* indent = arguments.find(1, "indent");
  if (value.value == nullptr) {
    refuse_template(arguments.line, cat("no JSON of ", kind_of(value)));
  }
  const bool has_indent = indent != nullptr && indent->value && indent->value->is_int();
  return Item::of(python_json(
      *value.value,
      has_indent ? static_cast<int>(std::clamp<int64_t>(indent->value->as_int(), 0, 64)) : -1));
}

Item to_integer(const Item& value, int line) {
  if (value.is_string()) {
    return Item::of(int64_t{std::strtoll(value.value->as_string().c_str(), nullptr, 10)});
  }
  if (value.value && value.value->is_number()) {
    return Item::of(static_cast<int64_t>(value.value->as_float()));
  }
  refuse_template(line, cat("no integer of ", kind_of(value)));
}

Item reversed(const Item& value, int line) {
  std::vector<Item> items = items_of(value, line);
  std::reverse(items.begin(), items.end());
  if (!value.is_string()) return Item::of(plain_list(items));
  std::string out;
  for (const Item& item : items) out += text_of(item);
  return Item::of(std::move(out));
}

Item indented(const Item& value, const Arguments& arguments) {
  const Item* width = arguments.find(0, "width");
  const int64_t blanks =
      width != nullptr && width->value && width->value->is_int() ? width->value->as_int() : 4;
  const std::string prefix(static_cast<size_t>(std::clamp<int64_t>(blanks, 0, 200)), ' ');
  const Item* first = arguments.find(1, "first");
  std::string out = first != nullptr && is_true(*first) ? prefix : "";
  const std::string text = text_of(value);
  for (size_t i = 0; i < text.size(); ++i) {
    out += text[i];
    const bool ends = text[i] == '\n' && i + 1 < text.size() && text[i + 1] != '\n';
    if (ends) out += prefix;
    check_size(out, arguments.line);
  }
  return Item::of(std::move(out));
}

}  // namespace

Item call_filter(const std::string& name, const Item& value, const Arguments& arguments) {
  const int line = arguments.line;
  if (name == "trim") {
    const Item* of = arguments.find(0, "chars");
    const std::string set = of == nullptr ? "" : text_of(*of);
    return Item::of(stripped(text_of(value), true, true, of == nullptr ? nullptr : &set));
  }
  if (name == "length" || name == "count") return Item::of(length_of(value, line));
  if (name == "tojson") return to_json_item(value, arguments);
  if (name == "string" || name == "safe") return Item::of(text_of(value));
  if (name == "upper") return Item::of(cased(text_of(value), true));
  if (name == "lower") return Item::of(cased(text_of(value), false));
  if (name == "capitalize") return Item::of(capitalized(text_of(value)));
  if (name == "title") return Item::of(titled(text_of(value)));
  if (name == "replace") {
    return Item::of(
        replaced(text_of(value), arguments.text(0, "old"), arguments.text(1, "new"), line));
  }
  if (name == "join") return joined(value, arguments);
  if (name == "first" || name == "last") return first_or_last(value, name == "first", line);
  if (name == "list") return Item::of(plain_list(items_of(value, line)));
  if (name == "default" || name == "d") return defaulted(value, arguments);
  if (name == "int") return to_integer(value, line);
  if (name == "items" && value.is_map()) return Item::of(pairs_of(value));
  if (name == "items" && value.is_undefined()) return Item::of(List{});
  if (name == "reverse") return reversed(value, line);
  if (name == "indent") return indented(value, arguments);
  if (name == "map") return mapped(value, arguments);
  if (name == "selectattr") return selected(value, arguments, true, true);
  if (name == "rejectattr") return selected(value, arguments, true, false);
  if (name == "select") return selected(value, arguments, false, true);
  if (name == "reject") return selected(value, arguments, false, false);
  refuse_template(line, cat("the filter '", name, "' is not supported for ", kind_of(value)));
}

bool call_test(const std::string& name, const Item& value, const Arguments& arguments) {
  const Value* v = value.value.get();
  if (name == "defined") return !value.is_undefined();
  if (name == "undefined") return value.is_undefined();
  if (name == "none") return v != nullptr && v->is_nil();
  if (name == "string") return value.is_string();
  if (name == "mapping") return value.is_map();
  if (name == "sequence" || name == "iterable") {
    return value.is_string() || value.is_list() || value.is_map() || value.is_undefined();
  }
  if (name == "number") return v != nullptr && (v->is_number() || v->is_bool());
  if (name == "integer") return v != nullptr && (v->is_int() || v->is_large());
  if (name == "float") return v != nullptr && v->is_float();
  if (name == "boolean") return v != nullptr && v->is_bool();
  if (name == "true") return v != nullptr && v->is_bool() && v->as_bool();
  if (name == "false") return v != nullptr && v->is_bool() && !v->as_bool();
  if (name == "odd" || name == "even") {
    if (v == nullptr || !v->is_int()) {
      refuse_template(arguments.line, cat("'", name, "' of ", kind_of(value)));
    }
    return (v->as_int() % 2 == 0) == (name == "even");
  }
  const bool is_equality = name == "equalto" || name == "eq" || name == "ne";
  if ((is_equality || name == "in") && !arguments.list.empty()) {
    const Item& other = arguments.list[0];
    if (name == "in") {
      for (const Item& item : items_of(other, arguments.line)) {
        if (v != nullptr && item.value && equal(*v, *item.value)) return true;
      }
      return false;
    }
    const bool same = v != nullptr && other.value ? equal(*v, *other.value)
                                                  : value.is_undefined() && other.is_undefined();
    return same == (name != "ne");
  }
  refuse_template(arguments.line, cat("the test '", name, "' is not supported"));
}

namespace {

Item string_method(const std::string& name, const std::string& text, const Arguments& arguments) {
  const auto affix = [&](bool at_start) {
    const Item* of = arguments.find(0, "prefix");
    if (of != nullptr && of->is_list()) {
      for (const Value& each : of->value->as_list()) {
        if (!each.is_string()) continue;
        if (at_start ? text.starts_with(each.as_string()) : text.ends_with(each.as_string())) {
          return true;
        }
      }
      return false;
    }
    const std::string part = arguments.text(0, "prefix");
    return at_start ? text.starts_with(part) : text.ends_with(part);
  };
  if (name == "strip" || name == "lstrip" || name == "rstrip") {
    const bool has_set = !arguments.list.empty() && arguments.list[0].is_string();
    const std::string set = has_set ? arguments.text(0, "chars") : "";
    return Item::of(stripped(text, name != "rstrip", name != "lstrip", has_set ? &set : nullptr));
  }
  if (name == "startswith") return Item::of(affix(true));
  if (name == "endswith") return Item::of(affix(false));
  if (name == "upper" || name == "lower") return Item::of(cased(text, name == "upper"));
  if (name == "capitalize") return Item::of(capitalized(text));
  if (name == "title") return Item::of(titled(text));
  if (name == "replace") {
    return Item::of(
        replaced(text, arguments.text(0, "old"), arguments.text(1, "new"), arguments.line));
  }
  if (name == "split") {
    if (arguments.list.empty()) return Item::of(split_words(text));
    const std::string separator = arguments.text(0, "sep");
    if (separator.empty()) refuse_template(arguments.line, "split: an empty separator");
    const Item* most = arguments.find(1, "maxsplit");
    const bool has_most = most != nullptr && most->value && most->value->is_int();
    return Item::of(split_at(text, separator, has_most ? most->value->as_int() : -1));
  }
  if (name == "join" && !arguments.list.empty()) {
    Arguments separator;
    separator.line = arguments.line;
    separator.list.push_back(Item::of(text));
    return joined(arguments.list[0], separator);
  }
  refuse_template(arguments.line, cat("the method '", name, "' of a string is not supported"));
}

}  // namespace

Item call_method(const std::string& name, const Item& object, const Arguments& arguments) {
  if (object.is_string()) return string_method(name, object.value->as_string(), arguments);
  if (object.is_map()) {
    if (name == "items") return Item::of(pairs_of(object));
    if (name == "keys") return Item::of(plain_list(items_of(object, arguments.line)));
    if (name == "values") {
      List out;
      for (const auto& [key, value] : object.value->as_map()) out.push_back(value);
      return Item::of(std::move(out));
    }
    if (name == "get") {
      Item found;
      if (find_member(object, arguments.text(0, "key"), found)) return found;
      const Item* fallback = arguments.find(1, "default");
      return fallback == nullptr ? Item::of(Value()) : *fallback;
    }
  }
  refuse_template(arguments.line,
                  cat("the method '", name, "' of ", kind_of(object), " is not supported"));
}

}  // namespace rtrain::text
