// host/engine/files/archive.h: `.pt` files: torch.save's zip archive with the records data.pkl and
// data/N.
//
// LibTorch's own archive writer writes them, so Python's torch.load(weights_only=True) reads them.
// The strict reader of host/base/codec/stored_zip.h reads them.
#pragma once

#include <c10/core/Device.h>

#include <map>
#include <optional>
#include <string>

#include "host/base/files/byte_source.h"
#include "host/engine/files/pickle_writer.h"
#include "host/engine/files/tree.h"

namespace rtrain::engine {

// The device of each loaded tensor, by the device it was saved on ("cpu", "cuda:0").
struct DeviceChoice {
  std::optional<c10::Device> all;
  std::map<std::string, c10::Device> by_location;  // others keep their device
};

// Writes a file next to `path`, syncs it and renames it to `path`: after a failed or interrupted
// save the older file is unchanged. Throws Error(kEnvironment) with the path and the system's
// reason, and Error(kArgument) if the value cannot be stored.
void save_archive(const Tree& tree, const std::string& path);
// Writes content that was pickled before. Any thread.
void write_archive(const Pickle& content, const std::string& path);

// Reads files of save_archive and of Python's torch.save. Tensors in host memory stay in the
// source's mapping, if it has one. Throws Error(kArgument) if the file is not such an archive, is
// damaged or holds anything but tensors and plain values, and Error(kEnvironment) if a device does
// not exist.
Tree load_archive(const ByteSource& source, const DeviceChoice& devices);

}  // namespace rtrain::engine
