// host/bundle/bundle_file.h: writes a bundle: one file that begins with the program of
// packaging/bundle/run.cpp. That program unpacks the rest once, and then executes the rtrain in it.
// packaging/formats/bundle.py writes the same format.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace rtrain::bundle {

struct BundleEntry {
  std::string name;    // its path below the bundle's folder
  std::string source;  // a file; empty to use `text`
  std::string text;
};

struct BundleSize {
  int64_t unpacked = 0;
  int64_t file = 0;
};

// Writes an executable file that appears complete or not at all. Entries keep whether they are
// executable. The same entries give the same bytes. Throws Error(kEnvironment).
BundleSize write_bundle(const std::string& target, std::string_view program,
                        const std::vector<BundleEntry>& entries);

}  // namespace rtrain::bundle
