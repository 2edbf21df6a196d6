#include "host/base/value.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <functional>

#include "host/base/error.h"
#include "host/base/text/text.h"

namespace rtrain {
namespace {

const Value kNil;

[[noreturn]] void wrong_type(std::string_view wanted, const Value& value) {
  throw Error(Code::kArgument, cat("expected ", wanted, ", got ", value.type_name()));
}

constexpr size_t kSearched = 16;  // entries of a map that is searched without an index

bool same_key(const Key& key, std::string_view name) {
  const auto* text = std::get_if<std::string>(&key);
  return text != nullptr && *text == name;
}

bool same_key(const Key& key, const Key& other) { return key == other; }

size_t hash_of(std::string_view name) { return std::hash<std::string_view>()(name); }

size_t hash_of(const Key& key) {
  if (const auto* text = std::get_if<std::string>(&key)) return hash_of(std::string_view(*text));
  // Distributes consecutive numbers.
  const auto number = static_cast<uint64_t>(std::get<int64_t>(key));
  return static_cast<size_t>((number * 0x9E3779B97F4A7C15) >> 32);
}

}  // namespace

std::string key_text(const Key& key) {
  const auto* name = std::get_if<std::string>(&key);
  return name != nullptr ? *name : std::to_string(std::get<int64_t>(key));
}

// Maps hashes of keys to positions in a map's entries: open addressing, at most half full.
class KeyIndex {
 public:
  explicit KeyIndex(const std::vector<Map::Entry>& entries)
      : slots_(std::bit_ceil(entries.size()) * 4, kFree) {
    for (size_t i = 0; i < entries.size(); ++i) add(entries[i].first, i);
  }

  bool has_room(size_t entries) const { return entries * 2 <= slots_.size(); }

  void add(const Key& key, size_t position) {
    size_t slot = hash_of(key) & mask();
    while (slots_[slot] != kFree) slot = (slot + 1) & mask();
    slots_[slot] = static_cast<uint32_t>(position);
  }

  template <class Name>
  size_t find(const std::vector<Map::Entry>& entries, const Name& key) const {
    for (size_t slot = hash_of(key) & mask(); slots_[slot] != kFree; slot = (slot + 1) & mask()) {
      if (same_key(entries[slots_[slot]].first, key)) return slots_[slot];
    }
    return entries.size();
  }

 private:
  static constexpr uint32_t kFree = UINT32_MAX;

  size_t mask() const { return slots_.size() - 1; }

  std::vector<uint32_t> slots_;
};

Map::Map() = default;
Map::Map(const Map& other)
    : entries_(other.entries_),
      index_(other.index_ ? std::make_unique<KeyIndex>(*other.index_) : nullptr) {}
Map::Map(Map&& other) noexcept = default;
Map::~Map() = default;

Map& Map::operator=(Map other) noexcept {
  entries_ = std::move(other.entries_);
  index_ = std::move(other.index_);
  return *this;
}

template <class Name>
size_t Map::position(const Name& key) const {
  if (index_) return index_->find(entries_, key);
  const auto same = [&](const Entry& entry) { return same_key(entry.first, key); };
  return static_cast<size_t>(std::find_if(entries_.begin(), entries_.end(), same) -
                             entries_.begin());
}

Map::Map(std::initializer_list<MapItem> items) {
  for (const auto& [key, value] : items) set(std::string(key), value);
}

void Map::set(Key key, Value value) {
  const size_t at = position(key);
  if (at < entries_.size()) {
    entries_[at].second = std::move(value);
    return;
  }
  entries_.emplace_back(std::move(key), std::move(value));
  if (index_ && index_->has_room(entries_.size())) return index_->add(entries_.back().first, at);
  if (entries_.size() > kSearched) index_ = std::make_unique<KeyIndex>(entries_);
}

const Value* Map::find(std::string_view key) const {
  const size_t at = position(key);
  return at < entries_.size() ? &entries_[at].second : nullptr;
}

Value* Map::find(std::string_view key) {
  return const_cast<Value*>(std::as_const(*this).find(key));
}

const Value& Map::operator[](std::string_view key) const {
  const Value* found = find(key);
  return found == nullptr ? kNil : *found;
}

bool Map::del(std::string_view key) {
  const size_t at = position(key);
  if (at == entries_.size()) return false;
  entries_.erase(entries_.begin() + static_cast<ptrdiff_t>(at));
  index_ = entries_.size() > kSearched ? std::make_unique<KeyIndex>(entries_) : nullptr;
  return true;
}

bool Map::operator==(const Map& other) const { return entries_ == other.entries_; }

Value::Value(const Value& other) = default;
Value::Value(Value&& other) noexcept = default;
Value& Value::operator=(const Value& other) = default;
Value& Value::operator=(Value&& other) noexcept = default;
Value::~Value() = default;
Value::Value(const char* v) : data_(std::in_place_type<std::string>, v) {}
Value::Value(std::string v) : data_(std::move(v)) {}
Value::Value(std::string_view v) : data_(std::in_place_type<std::string>, v) {}
Value::Value(List v) : data_(std::move(v)) {}
Value::Value(Map v) : data_(std::move(v)) {}

bool Value::operator==(const Value& other) const { return data_ == other.data_; }

bool Value::as_bool() const {
  if (const auto* v = std::get_if<bool>(&data_)) return *v;
  wrong_type("a boolean", *this);
}

Value Value::from_unsigned(uint64_t v) {
  if (v <= INT64_MAX) return static_cast<int64_t>(v);
  Value out;
  out.data_ = v;
  return out;
}

int64_t Value::as_int() const {
  if (const auto* v = std::get_if<int64_t>(&data_)) return *v;
  const auto* v = std::get_if<double>(&data_);
  if (v != nullptr && std::floor(*v) == *v && std::abs(*v) < 0x1p63)
    return static_cast<int64_t>(*v);
  if (is_large()) {
    throw Error(Code::kArgument, cat("expected an integer below 2^63, got ", as_large()));
  }
  wrong_type("an integer", *this);
}

uint64_t Value::as_large() const {
  if (const auto* v = std::get_if<uint64_t>(&data_)) return *v;
  wrong_type("an integer above 2^63 - 1", *this);
}

double Value::as_float() const {
  if (const auto* v = std::get_if<double>(&data_)) return *v;
  if (const auto* v = std::get_if<int64_t>(&data_)) return static_cast<double>(*v);
  if (const auto* v = std::get_if<uint64_t>(&data_)) return static_cast<double>(*v);
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

std::string& Value::as_string() {
  return const_cast<std::string&>(std::as_const(*this).as_string());
}

List& Value::as_list() { return const_cast<List&>(std::as_const(*this).as_list()); }
Map& Value::as_map() { return const_cast<Map&>(std::as_const(*this).as_map()); }

std::string Value::string_or(std::string_view fallback) const {
  return is_nil() ? std::string(fallback) : as_string();
}

std::string_view Value::type_name() const {
  constexpr std::array<std::string_view, 8> kNames = {"nil",   "boolean", "integer", "integer",
                                                      "float", "string",  "list",    "map"};
  return kNames[data_.index()];
}

}  // namespace rtrain
