// host/engine/runtime/dtype.h: dtypes, devices, layouts and memory formats as strings in
// Lua.
#pragma once

#include <c10/core/Device.h>
#include <c10/core/Layout.h>
#include <c10/core/MemoryFormat.h>
#include <c10/core/ScalarType.h>

#include <optional>
#include <string>
#include <string_view>

namespace rtrain::engine {

// "float32", "int64", "bool", …
std::string dtype_name(at::ScalarType dtype);
// Also accepts PyTorch's aliases ("float", "long", "half", "torch.float32"). nullopt for an unknown
// name.
std::optional<at::ScalarType> dtype_from_name(std::string_view name);
// Throws Error(kArgument) with "did you mean" and the valid names.
at::ScalarType parse_dtype(std::string_view name);

// Throws Error(kArgument) for a string that does not name a device.
c10::Device parse_device(const std::string& name);
std::optional<c10::Device> device_from_name(const std::string& name);

std::optional<at::MemoryFormat> memory_format_from_name(std::string_view name);
// Throws Error(kArgument) with "did you mean" for an unknown name.
at::MemoryFormat parse_memory_format(std::string_view name);

// "strided", "sparse_coo", …
std::string layout_name(at::Layout layout);
std::optional<at::Layout> layout_from_name(std::string_view name);

}  // namespace rtrain::engine
