// host/arrow/readers/input.h: opening files for Arrow's readers.
#pragma once

#include <arrow/io/interfaces.h>

#include <memory>
#include <string>

namespace rtrain {

// `path`: of a file, or a URI (host/arrow/objects/object_store.h). Throws Error(kNotFound) without
// such a file, Error(kArgument) when it is a folder, a pipe or a device, Error(kEnvironment) when
// it cannot be opened.
std::shared_ptr<arrow::io::RandomAccessFile> open_input(const std::string& path);

}  // namespace rtrain
