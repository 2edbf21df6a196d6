#include "host/text/fields/fields.h"

#include "host/base/error.h"
#include "host/base/text/text.h"
#include "host/text/unicode/characters.h"

namespace rtrain::text {

Fields::Fields(const Value& component, std::string_view what) : component_(component), what_(what) {
  if (!component.is_map()) {
    throw Error(Code::kArgument, cat(what, ": expected a map, got ", component.type_name()));
  }
}

void Fields::refuse(std::string_view name, std::string_view wanted) const {
  const Value* value = find(name);
  throw Error(Code::kArgument, cat(what_, ": '", name, "': expected ", wanted, ", got ",
                                   value == nullptr ? "nothing" : value->type_name()));
}

const Value* Fields::find(std::string_view name) const {
  const Value* value = component_.as_map().find(name);
  return value == nullptr || value->is_nil() ? nullptr : value;
}

const Value& Fields::get(std::string_view name) const {
  const Value* value = find(name);
  if (value == nullptr) refuse(name, "a value");
  return *value;
}

bool Fields::boolean(std::string_view name) const {
  const Value* value = find(name);
  if (value == nullptr || !value->is_bool()) refuse(name, "true or false");
  return value->as_bool();
}

bool Fields::boolean(std::string_view name, bool fallback) const {
  return find(name) == nullptr ? fallback : boolean(name);
}

std::string Fields::text(std::string_view name) const {
  const Value* value = find(name);
  if (value == nullptr || !value->is_string()) refuse(name, "a string");
  return value->as_string();
}

std::string Fields::text(std::string_view name, std::string_view fallback) const {
  return find(name) == nullptr ? std::string(fallback) : text(name);
}

std::optional<std::string> Fields::optional_text(std::string_view name) const {
  if (find(name) == nullptr) return {};
  return text(name);
}

std::optional<uint32_t> as_count(const Value& value) {
  if (!value.is_int() || value.as_int() < 0 || value.as_int() > 0xffffffffLL) return {};
  return static_cast<uint32_t>(value.as_int());
}

uint32_t Fields::count(std::string_view name) const {
  const Value* value = find(name);
  const auto count = value == nullptr ? std::nullopt : as_count(*value);
  if (!count) refuse(name, "a whole number from 0 on");
  return *count;
}

uint32_t Fields::count(std::string_view name, uint32_t fallback) const {
  return find(name) == nullptr ? fallback : count(name);
}

double Fields::number(std::string_view name, double fallback) const {
  const Value* value = find(name);
  if (value == nullptr) return fallback;
  if (!value->is_number()) refuse(name, "a number");
  return value->as_float();
}

const List& Fields::list(std::string_view name) const {
  const Value* value = find(name);
  if (value == nullptr || !value->is_list()) refuse(name, "a list");
  return value->as_list();
}

const Map& Fields::map(std::string_view name) const {
  const Value* value = find(name);
  if (value == nullptr || !value->is_map()) refuse(name, "a map");
  return value->as_map();
}

char32_t Fields::character(std::string_view name) const {
  const std::string value = text(name);
  if (count_characters(value) != 1) refuse(name, "one character");
  return character_at(value, 0).code;
}

}  // namespace rtrain::text
