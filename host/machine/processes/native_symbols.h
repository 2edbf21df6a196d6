// host/machine/processes/native_symbols.h: the functions that addresses of this process lie in.
//
// Reads the tables of symbols in the files of its libraries, hidden functions included where they
// were not stripped. Each file is gone through once for all addresses: where the dynamic linker's
// dladdr() takes milliseconds for one address of LibTorch, this takes them for thousands.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace rtrain::machine {

struct NativeSymbol {
  std::string function;  // mangled; "" where no symbol covers the address
  std::string module;    // "libtorch_cpu.so"; "" where no library does
};

// In the order of the addresses. Throws nothing: a file that cannot be read has no symbols.
std::vector<NativeSymbol> native_symbols(const std::vector<uint64_t>& addresses);

}  // namespace rtrain::machine
