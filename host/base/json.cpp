#include "host/base/json.h"

#include <cmath>
#include <nlohmann/json.hpp>

#include "host/base/error.h"
#include "host/base/text.h"

namespace rtrain {
namespace {

using Json = nlohmann::ordered_json;

Json float_to_json(double number) {
  if (std::isnan(number)) return "NaN";
  if (std::isinf(number)) return number > 0 ? "Infinity" : "-Infinity";
  return number;
}

std::string key_text(const Key& key) {
  if (const auto* name = std::get_if<std::string>(&key)) return *name;
  return std::to_string(std::get<int64_t>(key));
}

Json to_tree(const Value& value) {
  if (value.is_nil()) return nullptr;
  if (value.is_bool()) return value.as_bool();
  if (value.is_int()) return value.as_int();
  if (value.is_float()) return float_to_json(value.as_float());
  if (value.is_string()) return value.as_string();
  if (value.is_list()) {
    Json out = Json::array();
    for (const Value& item : value.as_list()) out.push_back(to_tree(item));
    return out;
  }
  Json out = Json::object();
  for (const auto& [key, item] : value.as_map()) out[key_text(key)] = to_tree(item);
  return out;
}

Value from_tree(const Json& json) {
  if (json.is_null()) return {};
  if (json.is_boolean()) return json.get<bool>();
  if (json.is_number_integer()) return json.get<int64_t>();
  if (json.is_number_float()) return json.get<double>();
  if (json.is_string()) return json.get<std::string>();
  if (json.is_array()) {
    List out;
    for (const Json& item : json) out.push_back(from_tree(item));
    return out;
  }
  Map out;
  for (const auto& [key, item] : json.items()) out.set(key, from_tree(item));
  return out;
}

// "[json.exception.parse_error.101] parse error at line 1, …" without what only programmers know.
std::string_view text_of(const Json::exception& error) {
  const std::string_view text = error.what();
  const size_t end = text.starts_with("[json.exception.") ? text.find("] ") : text.npos;
  return end == text.npos ? text : text.substr(end + 2);
}

}  // namespace

std::string to_json(const Value& value, int indent) {
  return to_tree(value).dump(indent > 0 ? indent : -1, ' ', false, Json::error_handler_t::replace);
}

Value from_json(std::string_view text) {
  try {
    return from_tree(Json::parse(text));
  } catch (const Json::exception& e) {
    throw Error(Code::kArgument, cat("not JSON: ", text_of(e)));
  }
}

}  // namespace rtrain
