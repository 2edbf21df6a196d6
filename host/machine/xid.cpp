#include "host/machine/xid.h"

#include <algorithm>
#include <iterator>

#include "host/base/text/text.h"

namespace rtrain::machine {
namespace {

struct Meaning {
  int64_t xid;
  const char* text;
};

// https://docs.nvidia.com/deploy/xid-errors
constexpr Meaning kMeanings[] = {
    {13,
     "a kernel did what the device does not allow (an index out of bounds, a wrong instruction)"},
    {31, "a kernel touched memory that is not its own (an index out of bounds)"},
    {43, "the device has stopped the program's work after an error of it"},
    {45, "the device has dropped a program's work, after an error or because it was killed"},
    {48,
     "memory error that could not be corrected (double bit): reset the device, or restart the "
     "node"},
    {61, "the device's controller has stopped: restart the node"},
    {62, "the device's controller has stopped: restart the node"},
    {63, "a bad row of memory was replaced: reset the device when it is free"},
    {64,
     "a bad row of memory could not be replaced: reset the device; if it comes again, have it "
     "replaced"},
    {74, "error of an NVLink: reset the device; if it comes again, have link and device checked"},
    {79,
     "the device has fallen off the bus: restart the node; if it comes again, have device and "
     "power checked"},
    {92, "many memory errors that were corrected: have the device checked"},
    {94, "memory error that was contained: the programs that used the memory have to begin again"},
    {95, "memory error that was not contained: every program on the device is lost; reset it"},
    {119, "the device's system processor does not answer: reset the device, or restart the node"},
    {120, "the device's system processor has failed: reset the device, or restart the node"},
    {140, "memory error that could not be recovered from: reset the device"},
};

// After these errors the device must be reset, or looked at.
constexpr int64_t kHardware[] = {48, 61, 62, 64, 74, 79, 95, 119, 120, 140};

}  // namespace

std::string xid_text(int64_t xid) {
  for (const Meaning& meaning : kMeanings) {
    if (meaning.xid == xid) return cat("XID ", xid, ": ", meaning.text);
  }
  return cat("XID ", xid, " (https://docs.nvidia.com/deploy/xid-errors)");
}

bool is_hardware_xid(int64_t xid) {
  const auto* end = std::end(kHardware);
  return std::find(std::begin(kHardware), end, xid) != end;
}

}  // namespace rtrain::machine
