// host/engine/data/npz_records.h: the records of a .npz archive, unpacked one at a time.
#pragma once

#include <functional>
#include <string>

#include "host/base/files/byte_source.h"

namespace rtrain {

// Calls `visit` with each record's name, without its .npy, and its bytes, in the order of the file.
// At most one unpacked record is held at a time; how large it may be is bounded by its packed size.
// Throws Error(kArgument) for a damaged archive, a record that is not a .npy, an unknown
// compression or a wrong checksum.
void visit_npz_records(const ByteSource& source,
                       const std::function<void(const std::string&, const ByteSource&)>& visit);

}  // namespace rtrain
