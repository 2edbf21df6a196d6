// packaging/bundle/footer.h: how a bundle ends. What is packed is a Zstandard frame: for each file
// the line "MODE SIZE NAME" and its bytes, then an empty line.
//
// Without a file named kBundleCommand the words of the command line are those of rtrain. With it,
// each of its lines is a word that comes before them; @ at its beginning stands for the folder.
#pragma once

#include <cstdint>

inline constexpr char kBundleMagic[] = "rtrain-bundle-1\n";
inline constexpr char kBundleCommand[] = "command";

// The last bytes of a bundle.
struct BundleFooter {
  uint64_t offset;  // of the packed bytes, from the beginning of the file
  uint64_t packed_size;
  uint64_t size;  // of the files
  unsigned char hash[32];
  char magic[16];
};
