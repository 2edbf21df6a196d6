// host/engine/files/archive.h: `.pt` files: the zip archive of torch.save with the records data.pkl
// and data/N.
//
// Written by LibTorch's own archive writer, so that Python's torch.load(weights_only=True) reads
// them; read by the strict reader of host/base/codec/stored_zip.h.
#pragma once

#include <c10/core/Device.h>

#include <map>
#include <optional>
#include <string>

#include "host/base/files/byte_source.h"
#include "host/engine/files/pickle_writer.h"
#include "host/engine/files/tree.h"

namespace rtrain {

// Where loaded tensors go, by the device they were saved on ("cpu", "cuda:0").
struct DeviceChoice {
  std::optional<c10::Device> all;
  std::map<std::string, c10::Device> by_location;  // the rest stay on their devices
};

// Writes the file next to `path`, syncs it and renames it over `path`: a failed or interrupted save
// leaves the older file as it was. Throws Error(kEnvironment) with the path and the system's
// reason, Error(kArgument) when the value cannot be stored.
void save_archive(const Tree& tree, const std::string& path);
// The second half of it: any thread.
void write_archive(const Pickle& content, const std::string& path);

// Reads what save_archive or Python's torch.save wrote. Tensors in host memory stay in the source's
// mapping, where it has one.
// Throws Error(kArgument) when it is not such a archive, is damaged or holds anything but tensors
// and plain values, Error(kEnvironment) when a device is not there.
Tree load_archive(const ByteSource& source, const DeviceChoice& devices);

}  // namespace rtrain
