// host/bundle/bundle_file.h: writes a bundle: one file that begins with the program of
// packaging/bundle/run.cpp, which unpacks the rest once and becomes the rtrain in it.
// packaging/formats/bundle.py writes the same form.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace rtrain::bundle {

struct BundleEntry {
  std::string name;    // where it will be, below the bundle's folder
  std::string source;  // a file; empty for `text`
  std::string text;
};

struct BundleSize {
  int64_t unpacked = 0;
  int64_t file = 0;
};

// The target appears complete or not at all, and may be executed. Files that may be executed stay
// so. The same entries give the same bytes. Throws Error(kEnvironment).
BundleSize write_bundle(const std::string& target, std::string_view program,
                        const std::vector<BundleEntry>& entries);

}  // namespace rtrain::bundle
