#include "host/base/codec/record.h"

#include <algorithm>

#include "host/base/text/text.h"

namespace rtrain {
namespace {

constexpr size_t kMaxErrorBytes = size_t{64} << 10;

}  // namespace

Value error_to_value(const Error& error) {
  return Map{{"code", code_name(error.code())},
             {"message", error.message().substr(0, kMaxErrorBytes)},
             {"traceback", error.traceback().substr(0, kMaxErrorBytes)}};
}

Error error_from_value(const Value& value) {
  return Error(code_from_name(value["code"].as_string()).value_or(Code::kInternal),
               value["message"].as_string(), value["traceback"].string_or(""));
}

namespace record_fields {

void missing(std::string_view field) {
  throw Error(Code::kArgument, cat("field '", field, "' is missing"));
}

void wrong(std::string_view what, std::string_view name, const Error& error) {
  throw Error(Code::kArgument, cat(what, " '", name, "': ", error.message()));
}

void wrong_class(std::string_view name, const Error& error) {
  throw Error(Code::kArgument, cat(name, ": ", error.message()));
}

void check_known(const Map& map, const std::vector<std::string>& names) {
  for (const auto& [key, value] : map) {
    const std::string name = key_text(key);
    if (std::find(names.begin(), names.end(), name) != names.end()) continue;
    throw Error(Code::kArgument, cat("unknown field '", name, "'", suggestion(name, names)));
  }
}

size_t index_of(std::string_view name, std::span<const std::string_view> names) {
  const auto found = std::find(names.begin(), names.end(), name);
  if (found != names.end()) return static_cast<size_t>(found - names.begin());
  const std::vector<std::string> known(names.begin(), names.end());
  throw Error(Code::kArgument, cat("unknown value '", name, "'", suggestion(name, known)));
}

Value to_map(StringPairs texts) {
  Map out;
  for (auto& [name, text] : texts) out.set(std::move(name), std::move(text));
  return out;
}

StringPairs to_pairs(const Value& map) {
  StringPairs out;
  for (const auto& [key, value] : map.as_map()) out.emplace_back(key_text(key), value.as_string());
  return out;
}

void out_of_range(int64_t number) {
  throw Error(Code::kArgument, cat("the number ", number, " is out of range"));
}

}  // namespace record_fields
}  // namespace rtrain
