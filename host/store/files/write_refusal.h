// host/store/files/write_refusal.h: why this process may not write into a folder or file. Any
// thread.
#pragma once

#include <string>

namespace rtrain::store {

// "/data/x is read-only for this process, which is of ada: it belongs to root (dr-xr-xr-x)",
// "/data/x is on a file system that is mounted read-only"; empty if it is writable or does not
// exist.
std::string write_refusal(const std::string& path);

}  // namespace rtrain::store
