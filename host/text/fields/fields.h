// host/text/fields/fields.h: reads the fields of a component of tokenizer.json.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "host/base/value.h"

namespace rtrain::text {

// The component must stay where it is. Every reader throws Error(kArgument), which names component
// and field, if a value has another type; the readers without a fallback also if it is absent.
class Fields {
 public:
  // `what` is the component's name in messages. Throws if the value is not a map.
  Fields(const Value& component, std::string_view what);

  const Value* find(std::string_view name) const;  // null for absent and nil
  const Value& get(std::string_view name) const;
  bool boolean(std::string_view name) const;
  bool boolean(std::string_view name, bool fallback) const;
  std::string text(std::string_view name) const;
  std::string text(std::string_view name, std::string_view fallback) const;
  std::optional<std::string> optional_text(std::string_view name) const;
  uint32_t count(std::string_view name) const;
  uint32_t count(std::string_view name, uint32_t fallback) const;
  double number(std::string_view name, double fallback) const;
  const List& list(std::string_view name) const;
  const Map& map(std::string_view name) const;
  // The single character of a text.
  char32_t character(std::string_view name) const;
  const std::string& what() const { return what_; }

  [[noreturn]] void refuse(std::string_view name, std::string_view wanted) const;

 private:
  const Value& component_;
  std::string what_;
};

// A number between 0 and 2^32 - 1; nullopt for other values.
std::optional<uint32_t> as_count(const Value& value);

}  // namespace rtrain::text
