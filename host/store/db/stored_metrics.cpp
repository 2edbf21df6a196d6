#include "host/store/db/stored_metrics.h"

#include <cmath>

#include "host/base/codec/json.h"

namespace rtrain::store {
namespace {

bool is_nonfinite(const Value& value) {
  return value.is_float() && !std::isfinite(value.as_float());
}

void write_json(const Value& value, std::string& out) {
  if (is_nonfinite(value)) {
    const double number = value.as_float();
    out += std::isnan(number) ? "null" : number > 0 ? "1e999" : "-1e999";
    return;
  }
  const char* separator = "";
  if (value.is_list()) {
    out += '[';
    for (const Value& item : value.as_list()) {
      out += separator;
      write_json(item, out);
      separator = ",";
    }
    out += ']';
    return;
  }
  if (!value.is_map()) {
    out += to_json(value);
    return;
  }
  out += '{';
  for (const auto& [key, item] : value.as_map()) {
    out += separator;
    out += to_json(key_text(key));
    out += ':';
    write_json(item, out);
    separator = ",";
  }
  out += '}';
}

// The non-finite values, in maps of the same keys (items of a list by position); nil if there are
// none.
Value nonfinite_part(const Value& value) {
  if (is_nonfinite(value)) {
    const double number = value.as_float();
    return std::isnan(number) ? "NaN" : number > 0 ? "Infinity" : "-Infinity";
  }
  Map out;
  const auto add = [&out](std::string key, const Value& item) {
    if (Value part = nonfinite_part(item); !part.is_nil()) out.set(std::move(key), std::move(part));
  };
  if (value.is_map()) {
    for (const auto& [key, item] : value.as_map()) add(key_text(key), item);
  } else if (value.is_list()) {
    size_t position = 0;
    for (const Value& item : value.as_list()) add(std::to_string(position++), item);
  }
  if (out.empty()) return {};
  return out;
}

// Replaces 1e999, which exceeds a double and which JSON parsers refuse.
std::string without_infinities(std::string_view json) {
  constexpr std::string_view kInfinity = "1e999";
  std::string out;
  bool in_string = false;
  for (size_t i = 0; i < json.size(); ++i) {
    const char c = json[i];
    if (!in_string && json.substr(i).starts_with(kInfinity)) {
      if (!out.empty() && out.back() == '-') out.pop_back();
      out += "null";
      i += kInfinity.size() - 1;
      continue;
    }
    out += c;
    if (in_string && c == '\\' && i + 1 < json.size()) {
      out += json[++i];
    } else if (c == '"') {
      in_string = !in_string;
    }
  }
  return out;
}

double nonfinite_number(const std::string& name) {
  if (name == "NaN") return std::nan("");
  return name == "Infinity" ? HUGE_VAL : -HUGE_VAL;
}

Value overlay(const Value& value, const Value& part) {
  if (part.is_string()) return nonfinite_number(part.as_string());
  if (!part.is_map()) return value;
  if (value.is_list()) {
    List out = value.as_list();
    for (size_t i = 0; i < out.size(); ++i) out[i] = overlay(out[i], part[std::to_string(i)]);
    return out;
  }
  if (!value.is_map()) return value;
  Map out;
  for (const auto& [key, item] : value.as_map()) out.set(key, overlay(item, part[key_text(key)]));
  return out;
}

}  // namespace

StoredMetrics store_metrics(const Value& metrics) {
  StoredMetrics stored;
  write_json(metrics, stored.json);
  if (Value part = nonfinite_part(metrics); !part.is_nil()) stored.nonfinite = to_json(part);
  return stored;
}

Value load_metrics(std::string_view json, std::string_view nonfinite) {
  if (nonfinite.empty()) return from_json(json);
  return overlay(from_json(without_infinities(json)), from_json(nonfinite));
}

}  // namespace rtrain::store
