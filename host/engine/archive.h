// host/engine/archive.h: `.pt` files: the zip archive of torch.save with the records data.pkl and
// data/N.
//
// Written by LibTorch's own archive writer, so that Python's torch.load(weights_only=True) reads
// them.
#pragma once

#include <c10/core/Device.h>

#include <optional>
#include <string>

#include "host/engine/tree.h"

namespace rtrain {

// Writes the file beside `path` and renames it over `path`: a failed or interrupted save leaves the
// older file as it was. Throws Error(kEnvironment) with the path and the system's reason,
// Error(kArgument) when the value cannot be stored.
void save_archive(const Tree& tree, const std::string& path);

// Reads what save_archive or Python's torch.save wrote. Tensors go to `device`, without one to
// where they were saved from. Throws Error(kNotFound) without such a file, Error(kArgument) when it
// is no such archive, is damaged or holds anything but tensors and plain values,
// Error(kEnvironment) when its device is not there.
Tree load_archive(const std::string& path, std::optional<c10::Device> device);

}  // namespace rtrain
