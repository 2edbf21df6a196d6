// host/base/value.h: the data type passed between Lua states, threads, processes and the store.
//
// nil, boolean, integer, float, string, list or map. An integer is an int64, or a uint64 where it
// is larger: is_large(). A map keeps the order in which entries were added; its keys are all
// strings or all integers (a Python dict with integer keys). Copies are deep.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace rtrain {

class Value;
struct MapItem;
class KeyIndex;
using List = std::vector<Value>;
using Key = std::variant<std::string, int64_t>;

// Returns the key; a number becomes decimal digits.
std::string key_text(const Key& key);

// An ordered map. Small maps, which nearly all are, are searched linearly; larger ones have an
// index, so that building a map of any size takes linear time.
class Map {
 public:
  using Entry = std::pair<Key, Value>;

  Map();
  Map(const Map& other);
  Map(Map&& other) noexcept;
  Map& operator=(Map other) noexcept;
  ~Map();
  Map(std::initializer_list<MapItem> items);

  // Adds the entry, or replaces the value of an existing key and keeps its position.
  void set(Key key, Value value);
  // The value under the key; null if absent. Valid until the next change.
  const Value* find(std::string_view key) const;
  Value* find(std::string_view key);
  // The value under the key, or a nil value.
  const Value& operator[](std::string_view key) const;
  bool del(std::string_view key);

  size_t size() const;
  bool empty() const { return size() == 0; }
  std::vector<Entry>::const_iterator begin() const;
  std::vector<Entry>::const_iterator end() const;
  bool operator==(const Map& other) const;

 private:
  // Position of the key's entry; size() if absent.
  template <class Name>
  size_t position(const Name& key) const;

  std::vector<Entry> entries_;
  std::unique_ptr<KeyIndex> index_;  // null while the map is small
};

// Wide, because each type has a test and an access. Copies, moves and the destructor are in one
// place: inline, they would be most of the executable's code.
class Value {
 public:
  Value() = default;
  Value(const Value& other);
  Value(Value&& other) noexcept;
  Value& operator=(const Value& other);
  Value& operator=(Value&& other) noexcept;
  ~Value();
  Value(std::nullptr_t) {}
  Value(bool v) : data_(v) {}
  Value(int v) : data_(int64_t{v}) {}
  Value(int64_t v) : data_(v) {}
  Value(uint32_t v) : data_(int64_t{v}) {}
  Value(size_t v) : data_(static_cast<int64_t>(v)) {}
  Value(double v) : data_(v) {}
  // An integer up to 2^64 - 1.
  static Value from_unsigned(uint64_t v);
  Value(const char* v);
  Value(std::string v);
  Value(std::string_view v);
  Value(List v);
  Value(Map v);

  bool is_nil() const { return std::holds_alternative<std::monostate>(data_); }
  bool is_bool() const { return std::holds_alternative<bool>(data_); }
  bool is_int() const { return std::holds_alternative<int64_t>(data_); }
  // An integer above 2^63 - 1.
  bool is_large() const { return std::holds_alternative<uint64_t>(data_); }
  bool is_float() const { return std::holds_alternative<double>(data_); }
  bool is_number() const { return is_int() || is_large() || is_float(); }
  bool is_string() const { return std::holds_alternative<std::string>(data_); }
  bool is_list() const { return std::holds_alternative<List>(data_); }
  bool is_map() const { return std::holds_alternative<Map>(data_); }

  // Each throws Error(kArgument) naming the actual type if the value has another type.
  bool as_bool() const;
  int64_t as_int() const;  // also for an integral float
  uint64_t as_large() const;
  double as_float() const;  // also for an integer
  const std::string& as_string() const;
  const List& as_list() const;
  const Map& as_map() const;
  std::string& as_string();
  List& as_list();
  Map& as_map();

  // Returns the entry of a map; a nil value if absent. Throws if this is not a map.
  const Value& operator[](std::string_view key) const { return as_map()[key]; }
  // The string; `fallback` if the value is nil.
  std::string string_or(std::string_view fallback) const;
  int64_t int_or(int64_t fallback) const { return is_nil() ? fallback : as_int(); }
  bool bool_or(bool fallback) const { return is_nil() ? fallback : as_bool(); }

  // "nil", "boolean", "integer", "float", "string", "list" or "map".
  std::string_view type_name() const;
  bool operator==(const Value& other) const;

 private:
  std::variant<std::monostate, bool, int64_t, uint64_t, double, std::string, List, Map> data_;
};

// An entry of a map that is written down: Map{{"rank", 3}, {"loss", 0.5}}.
struct MapItem {
  std::string_view key;
  Value value;
};

// Defined here, where the type of an entry is complete.
inline size_t Map::size() const { return entries_.size(); }
inline std::vector<Map::Entry>::const_iterator Map::begin() const { return entries_.begin(); }
inline std::vector<Map::Entry>::const_iterator Map::end() const { return entries_.end(); }

}  // namespace rtrain
