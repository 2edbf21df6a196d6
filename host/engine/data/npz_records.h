// host/engine/data/npz_records.h: the records of a .npz archive, unpacked one at a time.
#pragma once

#include <functional>
#include <string>

#include "host/base/files/byte_source.h"

namespace rtrain::engine {

// Calls `visit` with each record's name (without .npy) and bytes, in file order. Holds at most
// one unpacked record at a time; its packed size bounds its unpacked size. Throws
// Error(kArgument) for a damaged archive, a record that is not a .npy, an unknown compression or
// a wrong checksum.
void visit_npz_records(const ByteSource& source,
                       const std::function<void(const std::string&, const ByteSource&)>& visit);

}  // namespace rtrain::engine
