// host/wire/tls_library.h: librtrain_tls.so, which alone calls OpenSSL (host/tls).
#pragma once

namespace rtrain::wire {

// The address of what the library calls so. Loads it on first call: a process that uses no TLS does
// not pay for it. Throws Error(kEnvironment) with the dynamic linker's message.
// RTRAIN_TLS_MODULE=path loads it from a file, for debugging. Any thread.
void* tls_symbol(const char* name);

}  // namespace rtrain::wire
