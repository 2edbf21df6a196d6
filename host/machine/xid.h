// host/machine/xid.h: explains the errors ("Xid") that NVIDIA's driver records. Pure.
#pragma once

#include <cstdint>
#include <string>

namespace rtrain::machine {

// Returns "XID 79: the device has fallen off the bus: …, and what to do"; only the number for an
// error that is not listed here.
std::string xid_text(int64_t xid);
// Whether the error is the device's fault, whatever programs run on it.
bool is_hardware_xid(int64_t xid);

}  // namespace rtrain::machine
