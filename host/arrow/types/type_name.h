// host/arrow/types/type_name.h: names of Arrow's types in Lua.
#pragma once

#include <arrow/type_fwd.h>

#include <memory>
#include <string>
#include <string_view>

namespace rtrain::arrow {

// "int64", "float32", "string", "timestamp[ns]", "list<float32>", "struct<a: int64>", "image",
// "tensor<float32>[3,32,32]". The name does not depend on the width of offsets or on a dictionary.
std::string type_name(const ::arrow::DataType& type);

// Whether it is a struct of exactly bytes (binary) and path (string): Hugging Face's form of an
// image.
bool is_image(const ::arrow::DataType& type);

// Parses a simple name ("int64", "float32", "bool", "string", "binary", "date32", "timestamp[ns]",
// …), a name of PyTorch ("float", "long", "double"), or "list<…>", "list<…>[3]" or "tensor<…>[2,3]"
// of one. Throws Error(kArgument) with "did you mean".
std::shared_ptr<::arrow::DataType> type_from_name(std::string_view name, std::string_view what);

}  // namespace rtrain::arrow
