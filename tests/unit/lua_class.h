// tests/unit/lua_class.h: compares the annotations of a Lua class with its record in C++.
#pragma once

#include <gtest/gtest.h>

#include <map>
#include <string>
#include <type_traits>
#include <vector>

#include "host/base/codec/record.h"
#include "host/base/text/text.h"
#include "host/lua/embed.h"

namespace rtrain {

// Maps the name of a class to its fields, "name type" or "name? type" in order. Classes of nested
// records are included.
using LuaClasses = std::map<std::string, std::vector<std::string>>;

template <Strict R>
void add_lua_class(LuaClasses& out);

template <class T>
std::string lua_type(LuaClasses& out) {
  if constexpr (Strict<T>) {
    add_lua_class<T>(out);
    return std::string(T::kClass);
  } else if constexpr (record_fields::kIsOptional<T>) {
    return lua_type<typename T::value_type>(out);
  } else if constexpr (std::is_same_v<T, List>) {
    return "table[]";
  } else if constexpr (record_fields::kIsVector<T>) {
    return lua_type<typename T::value_type>(out) + "[]";
  } else if constexpr (std::is_same_v<T, StringPairs>) {
    return "table<string, string>";
  } else if constexpr (std::is_same_v<T, std::string>) {
    return "string";
  } else if constexpr (std::is_same_v<T, Value>) {
    return "any";
  } else if constexpr (std::is_same_v<T, bool>) {
    return "boolean";
  } else if constexpr (std::is_floating_point_v<T>) {
    return "number";
  } else if constexpr (std::is_enum_v<T>) {
    std::vector<std::string> names;
    for (const std::string_view name : kNamesOf<T>) names.push_back(cat("'", name, "'"));
    return join(names, "|");
  } else {
    static_assert(std::is_integral_v<T>);
    return "integer";
  }
}

template <Strict R>
void add_lua_class(LuaClasses& out) {
  std::vector<std::string> fields;
  const auto add = [&]<class T>(const Field<R, T>& field) {
    fields.push_back(cat(field.name, field.is_required ? " " : "? ", lua_type<T>(out)));
  };
  R::kFields.apply([&](const auto&... field) { (add(field), ...); });
  out[std::string(R::kClass)] = std::move(fields);
}

// Returns the classes that the module's text declares. Text behind a field's type is free.
inline LuaClasses classes_of(const std::string& text) {
  constexpr std::string_view kClassLine = "---@class ", kFieldLine = "---@field ";
  LuaClasses out;
  std::vector<std::string>* fields = nullptr;
  for (const std::string& line : split(text, '\n')) {
    if (line.starts_with(kClassLine)) fields = &out[line.substr(kClassLine.size())];
    if (!line.starts_with("---@")) fields = line.starts_with("---") ? fields : nullptr;
    if (fields == nullptr || !line.starts_with(kFieldLine)) continue;
    fields->push_back(line.substr(kFieldLine.size()));
  }
  return out;
}

// Expects that the module declares the classes of the record with its fields, followed in the
// record's own class by `others`.
template <Strict R>
void expect_lua_class(std::string_view module, const std::vector<std::string>& others = {}) {
  LuaClasses wanted;
  add_lua_class<R>(wanted);
  const auto text = lua::find_module(module);
  ASSERT_TRUE(text) << module;
  const LuaClasses found = classes_of(text->text);
  for (auto& [name, fields] : wanted) {
    if (name == R::kClass) fields.insert(fields.end(), others.begin(), others.end());
    ASSERT_TRUE(found.contains(name)) << module << " has no ---@class " << name;
    ASSERT_EQ(found.at(name).size(), fields.size()) << name << ":\n" << join(fields, "\n");
    for (size_t i = 0; i < fields.size(); ++i) {
      EXPECT_TRUE((found.at(name)[i] + " ").starts_with(fields[i] + " "))
          << name << ": ---@field " << found.at(name)[i] << ": expected " << fields[i];
    }
  }
}

}  // namespace rtrain
