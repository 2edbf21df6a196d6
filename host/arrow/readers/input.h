// host/arrow/readers/input.h: opens files for Arrow's readers.
#pragma once

#include <arrow/io/interfaces.h>

#include <memory>
#include <string>

namespace rtrain::arrow {

// `path`: of a file, or a URI (host/arrow/objects/object_store.h). Throws Error(kNotFound) if it
// does not exist, Error(kArgument) for a folder, a pipe or a device, Error(kEnvironment) if it
// cannot be opened.
std::shared_ptr<::arrow::io::RandomAccessFile> open_input(const std::string& path);

}  // namespace rtrain::arrow
