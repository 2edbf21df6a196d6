#include "host/base/codec/json.h"

#include <cmath>
#include <nlohmann/json.hpp>

#include "host/base/error.h"
#include "host/base/text/text.h"

namespace rtrain {
namespace {

using Json = nlohmann::ordered_json;

Json float_to_json(double number) {
  if (std::isnan(number)) return "NaN";
  if (std::isinf(number)) return number > 0 ? "Infinity" : "-Infinity";
  return number;
}

Json to_tree(const Value& value) {
  if (value.is_nil()) return nullptr;
  if (value.is_bool()) return value.as_bool();
  if (value.is_int()) return value.as_int();
  if (value.is_large()) return value.as_large();
  if (value.is_float()) return float_to_json(value.as_float());
  if (value.is_string()) return value.as_string();
  if (value.is_list()) {
    Json out = Json::array();
    for (const Value& item : value.as_list()) out.push_back(to_tree(item));
    return out;
  }
  Json out = Json::object();
  auto& entries = out.get_ref<Json::object_t&>();
  // With emplace_back, since operator[] would search all earlier keys for each key.
  for (const auto& [key, item] : value.as_map()) entries.emplace_back(key_text(key), to_tree(item));
  return out;
}

// "[json.exception.parse_error.101] parse error at line 1, …" without the exception's name.
std::string_view text_of(const Json::exception& error) {
  const std::string_view text = error.what();
  const size_t end = text.starts_with("[json.exception.") ? text.find("] ") : text.npos;
  return end == text.npos ? text : text.substr(end + 2);
}

// Builds the value from the parser's callbacks: a tree of nlohmann's in addition would double the
// memory, and its depth is not limited.
class ValueBuilder final : public nlohmann::json_sax<Json> {
 public:
  Value take() { return std::move(root_); }

  bool null() override { return add({}); }
  bool boolean(bool value) override { return add(value); }
  bool number_integer(number_integer_t value) override { return add(int64_t{value}); }
  bool number_unsigned(number_unsigned_t value) override {
    return add(Value::from_unsigned(value));
  }
  bool number_float(number_float_t value, const string_t&) override { return add(value); }
  bool string(string_t& value) override { return add(std::move(value)); }
  bool binary(binary_t&) override { return false; }
  bool start_object(size_t) override { return open(Map{}); }
  bool start_array(size_t) override { return open(List{}); }
  bool end_object() override { return close(); }
  bool end_array() override { return close(); }

  bool key(string_t& name) override {
    open_.back().key = std::move(name);
    return true;
  }

  bool parse_error(size_t, const std::string&, const Json::exception& error) override {
    throw Error(Code::kArgument, cat("not JSON: ", text_of(error)));
  }

 private:
  struct Open {
    Value value;
    std::string key;  // in a map: the next entry's
  };

  bool add(Value value) {
    if (open_.empty()) {
      root_ = std::move(value);
    } else if (Value& parent = open_.back().value; parent.is_list()) {
      parent.as_list().push_back(std::move(value));
    } else {
      parent.as_map().set(std::move(open_.back().key), std::move(value));
    }
    return true;
  }

  bool open(Value value) {
    if (open_.size() == kMaxDepth) {
      throw Error(Code::kArgument, cat("nested deeper than ", kMaxDepth, " levels"));
    }
    open_.push_back({std::move(value), {}});
    return true;
  }

  bool close() {
    Value value = std::move(open_.back().value);
    open_.pop_back();
    return add(std::move(value));
  }

  static constexpr size_t kMaxDepth = 100;
  Value root_;
  std::vector<Open> open_;
};

}  // namespace

std::string to_json(const Value& value, int indent) {
  return to_tree(value).dump(indent > 0 ? indent : -1, ' ', false, Json::error_handler_t::replace);
}

Value from_json(std::string_view text) {
  ValueBuilder builder;
  Json::sax_parse(text, &builder);
  return builder.take();
}

}  // namespace rtrain
