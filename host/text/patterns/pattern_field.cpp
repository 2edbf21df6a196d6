#include "host/text/patterns/pattern_field.h"

namespace rtrain::text {

PatternPointer pattern_field(const Fields& fields) {
  const Value& pattern = fields.get("pattern");
  if (pattern.is_string()) return literal_pattern(pattern.as_string());
  if (!pattern.is_map()) fields.refuse("pattern", R"({"String": …} or {"Regex": …})");
  const Value& literal = pattern["String"];
  if (literal.is_string()) return literal_pattern(literal.as_string());
  const Value& expression = pattern["Regex"];
  if (!expression.is_string()) fields.refuse("pattern", R"({"String": …} or {"Regex": …})");
  return regex_pattern(expression.as_string());
}

}  // namespace rtrain::text
