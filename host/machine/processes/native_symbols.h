// host/machine/processes/native_symbols.h: finds the functions at addresses of this process.
//
// It reads the symbol tables in the files of its libraries, including hidden functions unless they
// were stripped. It reads each file once for all addresses: the dynamic linker's dladdr() takes
// milliseconds for one address of LibTorch, this takes them for thousands.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace rtrain::machine {

struct NativeSymbol {
  std::string function;  // mangled; "" where no symbol covers the address
  std::string module;    // "libtorch_cpu.so"; "" if the address is in no library
};

// Returns them in the order of the addresses. Never throws: an unreadable file has no symbols.
std::vector<NativeSymbol> native_symbols(const std::vector<uint64_t>& addresses);

}  // namespace rtrain::machine
