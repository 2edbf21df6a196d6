// host/machine/xid.h: the numbers of the errors that NVIDIA's driver writes down ("Xid"), in words.
// Pure.
#pragma once

#include <cstdint>
#include <string>

namespace rtrain::machine {

// "XID 79: the device has fallen off the bus: …, and what to do". The number alone for one that is
// not known here.
std::string xid_text(int64_t xid);
// Whether it speaks against the device, whatever the programs do.
bool is_hardware_xid(int64_t xid);

}  // namespace rtrain::machine
