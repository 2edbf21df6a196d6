// host/arrow/types/type_name.h: Arrow's types as the texts that Lua sees.
#pragma once

#include <arrow/type_fwd.h>

#include <memory>
#include <string>
#include <string_view>

namespace rtrain {

// "int64", "float32", "string", "timestamp[ns]", "list<float32>", "struct<a: int64>", "image",
// "tensor<float32>[3,32,32]": one type whatever the width of its offsets or a dictionary around it.
std::string type_name(const arrow::DataType& type);

// A struct of exactly bytes (binary) and path (string): an image as Hugging Face writes it.
bool is_image(const arrow::DataType& type);

// The type of a simple name ("int64", "float32", "bool", "string", "binary", "date32",
// "timestamp[ns]", …), also PyTorch's ("float", "long", "double"), and of "list<…>" of them. Throws
// Error(kArgument) with "did you mean".
std::shared_ptr<arrow::DataType> type_from_name(std::string_view name, std::string_view what);

}  // namespace rtrain
