#include "host/engine/runtime/dtype.h"

#include <c10/util/Exception.h>

#include <string>
#include <vector>

#include "host/base/error.h"
#include "host/base/text/text.h"

namespace rtrain::engine {
namespace {

struct DtypeName {
  std::string_view name;
  at::ScalarType dtype;
};

// The first name of each dtype is the one for messages.
constexpr DtypeName kDtypes[] = {
    {"float32", at::kFloat},
    {"float64", at::kDouble},
    {"float16", at::kHalf},
    {"bfloat16", at::kBFloat16},
    {"int64", at::kLong},
    {"int32", at::kInt},
    {"int16", at::kShort},
    {"int8", at::kChar},
    {"uint8", at::kByte},
    {"bool", at::kBool},
    {"complex64", at::kComplexFloat},
    {"complex128", at::kComplexDouble},
    {"complex32", at::kComplexHalf},
    {"float", at::kFloat},
    {"double", at::kDouble},
    {"half", at::kHalf},
    {"long", at::kLong},
    {"int", at::kInt},
    {"short", at::kShort},
    {"cfloat", at::kComplexFloat},
    {"cdouble", at::kComplexDouble},
    {"uint16", at::kUInt16},
    {"uint32", at::kUInt32},
    {"uint64", at::kUInt64},
    {"float8_e4m3fn", at::kFloat8_e4m3fn},
    {"float8_e5m2", at::kFloat8_e5m2},
    {"float8_e4m3fnuz", at::kFloat8_e4m3fnuz},
    {"float8_e5m2fnuz", at::kFloat8_e5m2fnuz},
    {"float8_e8m0fnu", at::kFloat8_e8m0fnu},
    {"chalf", at::kComplexHalf},
};

struct LayoutName {
  std::string_view name;
  at::Layout layout;
};

constexpr LayoutName kLayouts[] = {
    {"strided", at::kStrided},      {"sparse_coo", at::kSparse},    {"sparse_csr", at::kSparseCsr},
    {"sparse_csc", at::kSparseCsc}, {"sparse_bsr", at::kSparseBsr}, {"sparse_bsc", at::kSparseBsc},
    {"_mkldnn", at::kMkldnn},       {"jagged", at::kJagged},
};

std::string_view without_prefix(std::string_view name) {
  constexpr std::string_view kPrefix = "torch.";
  return name.starts_with(kPrefix) ? name.substr(kPrefix.size()) : name;
}

}  // namespace

std::string dtype_name(at::ScalarType dtype) {
  for (const auto& known : kDtypes) {
    if (known.dtype == dtype) return std::string(known.name);
  }
  return c10::toString(dtype);
}

std::optional<at::ScalarType> dtype_from_name(std::string_view name) {
  name = without_prefix(name);
  for (const auto& known : kDtypes) {
    if (known.name == name) return known.dtype;
  }
  return std::nullopt;
}

at::ScalarType parse_dtype(std::string_view name) {
  if (const auto dtype = dtype_from_name(name)) return *dtype;
  std::vector<std::string> names;
  for (const auto& known : kDtypes) names.emplace_back(known.name);
  throw Error(Code::kArgument, cat("unknown dtype '", name, "'", suggestion(name, names)));
}

std::optional<c10::Device> device_from_name(const std::string& name) {
  try {
    return c10::Device(name);
  } catch (const c10::Error&) {
    return std::nullopt;
  }
}

c10::Device parse_device(const std::string& name) {
  if (const auto device = device_from_name(name)) return *device;
  throw Error(Code::kArgument,
              cat("unknown device '", name, "': expected 'cpu', 'cuda' or 'cuda:0'"));
}

std::optional<at::MemoryFormat> memory_format_from_name(std::string_view name) {
  name = without_prefix(name);
  if (name == "contiguous_format") return at::MemoryFormat::Contiguous;
  if (name == "channels_last") return at::MemoryFormat::ChannelsLast;
  if (name == "channels_last_3d") return at::MemoryFormat::ChannelsLast3d;
  if (name == "preserve_format") return at::MemoryFormat::Preserve;
  return std::nullopt;
}

at::MemoryFormat parse_memory_format(std::string_view name) {
  if (const auto format = memory_format_from_name(name)) return *format;
  static const std::vector<std::string> kNames = {"contiguous_format", "channels_last",
                                                  "channels_last_3d", "preserve_format"};
  throw Error(Code::kArgument, cat("unknown memory format '", name, "'", suggestion(name, kNames)));
}

std::optional<at::Layout> layout_from_name(std::string_view name) {
  name = without_prefix(name);
  for (const auto& known : kLayouts) {
    if (known.name == name) return known.layout;
  }
  return std::nullopt;
}

std::string layout_name(at::Layout layout) {
  for (const auto& known : kLayouts) {
    if (known.layout == layout) return std::string(known.name);
  }
  return "unknown";
}

}  // namespace rtrain::engine
