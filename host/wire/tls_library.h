// host/wire/tls_library.h: loads librtrain_tls.so, the only library that calls OpenSSL (host/tls).
#pragma once

namespace rtrain::wire {

// Returns the address of a symbol of the library. The first call loads the library, so a process
// without TLS does not load it. Throws Error(kEnvironment) with the dynamic linker's message.
// RTRAIN_TLS_MODULE=path loads it from a file, for debugging. Any thread.
void* tls_symbol(const char* name);

}  // namespace rtrain::wire
