#include "host/base/codec/record.h"

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

void out_of_range(int64_t number) {
  throw Error(Code::kArgument, cat("the number ", number, " is out of range"));
}

}  // namespace record_fields
}  // namespace rtrain
