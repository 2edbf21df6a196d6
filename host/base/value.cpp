#include "host/base/value.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "host/base/error.h"
#include "host/base/text.h"

namespace rtrain {
namespace {

const Value kNil;

[[noreturn]] void wrong_type(std::string_view wanted, const Value& value) {
  throw Error(Code::kArgument, cat("expected ", wanted, ", got ", value.type_name()));
}

bool same_key(const Key& key, std::string_view name) {
  const auto* text = std::get_if<std::string>(&key);
  return text != nullptr && *text == name;
}

}  // namespace

Map::Map(std::initializer_list<std::pair<std::string, Value>> entries) {
  for (const auto& [key, value] : entries) set(key, value);
}

void Map::set(Key key, Value value) {
  for (auto& [known, old] : entries_) {
    if (known == key) {
      old = std::move(value);
      return;
    }
  }
  entries_.emplace_back(std::move(key), std::move(value));
}

const Value* Map::find(std::string_view key) const {
  for (const auto& [known, value] : entries_) {
    if (same_key(known, key)) return &value;
  }
  return nullptr;
}

const Value& Map::operator[](std::string_view key) const {
  const Value* found = find(key);
  return found == nullptr ? kNil : *found;
}

bool Map::del(std::string_view key) {
  return std::erase_if(entries_, [&](const Entry& e) { return same_key(e.first, key); }) > 0;
}

bool Map::operator==(const Map& other) const { return entries_ == other.entries_; }

bool Value::as_bool() const {
  if (const auto* v = std::get_if<bool>(&data_)) return *v;
  wrong_type("a boolean", *this);
}

int64_t Value::as_int() const {
  if (const auto* v = std::get_if<int64_t>(&data_)) return *v;
  const auto* v = std::get_if<double>(&data_);
  if (v != nullptr && std::floor(*v) == *v && std::abs(*v) < 0x1p63)
    return static_cast<int64_t>(*v);
  wrong_type("an integer", *this);
}

double Value::as_float() const {
  if (const auto* v = std::get_if<double>(&data_)) return *v;
  if (const auto* v = std::get_if<int64_t>(&data_)) return static_cast<double>(*v);
  wrong_type("a number", *this);
}

const std::string& Value::as_string() const {
  if (const auto* v = std::get_if<std::string>(&data_)) return *v;
  wrong_type("a string", *this);
}

const List& Value::as_list() const {
  if (const auto* v = std::get_if<List>(&data_)) return *v;
  wrong_type("a list", *this);
}

const Map& Value::as_map() const {
  if (const auto* v = std::get_if<Map>(&data_)) return *v;
  wrong_type("a map", *this);
}

List& Value::as_list() { return const_cast<List&>(std::as_const(*this).as_list()); }
Map& Value::as_map() { return const_cast<Map&>(std::as_const(*this).as_map()); }

std::string Value::string_or(std::string_view fallback) const {
  return is_nil() ? std::string(fallback) : as_string();
}

std::string_view Value::type_name() const {
  constexpr std::array<std::string_view, 7> kNames = {"nil",    "boolean", "integer", "float",
                                                      "string", "list",    "map"};
  return kNames[data_.index()];
}

}  // namespace rtrain
