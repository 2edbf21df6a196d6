#include "host/bundle/bundle_file.h"

#include <sys/stat.h>
#include <zstd.h>

#include <algorithm>
#include <cstring>
#include <fstream>
#include <memory>

#include "host/base/error.h"
#include "host/base/files/new_file.h"
#include "host/base/text/terminal_text.h"
#include "host/base/text/text.h"
#include "host/store/files/file.h"
#include "packaging/bundle/footer.h"
#include "packaging/bundle/sha256.h"

namespace rtrain::bundle {
namespace {

// The level that packaging/formats/bundle.py uses.
constexpr int kLevel = 12;
constexpr int kWindowLog = 27;

constexpr size_t kBlock = size_t{1} << 20;
constexpr mode_t kModeBits = 0777;

// Compresses into a file, and computes the hash of the compressed bytes.
class Packer {
 public:
  explicit Packer(NewFile& out) : out_(out), context_(ZSTD_createCCtx(), &ZSTD_freeCCtx) {
    ZSTD_CCtx_setParameter(context_.get(), ZSTD_c_compressionLevel, kLevel);
    ZSTD_CCtx_setParameter(context_.get(), ZSTD_c_windowLog, kWindowLog);
    ZSTD_CCtx_setParameter(context_.get(), ZSTD_c_enableLongDistanceMatching, 1);
    ZSTD_CCtx_setParameter(context_.get(), ZSTD_c_checksumFlag, 1);
  }

  void add(std::string_view bytes) { pack({bytes.data(), bytes.size(), 0}, ZSTD_e_continue); }
  // Returns the footer; the caller sets the size of the files in it.
  BundleFooter finish(uint64_t offset) {
    pack({nullptr, 0, 0}, ZSTD_e_end);
    BundleFooter footer = {};
    footer.offset = offset;
    footer.packed_size = packed_size_;
    sha_.finish(footer.hash);
    std::memcpy(footer.magic, kBundleMagic, sizeof footer.magic);
    return footer;
  }

 private:
  void pack(ZSTD_inBuffer in, ZSTD_EndDirective end) {
    for (;;) {
      ZSTD_outBuffer block = {block_.data(), block_.size(), 0};
      const size_t left = ZSTD_compressStream2(context_.get(), &block, &in, end);
      if (ZSTD_isError(left) != 0) {
        throw Error(Code::kEnvironment,
                    cat("cannot pack the bundle: ", std::string_view(ZSTD_getErrorName(left))));
      }
      sha_.add(block_.data(), block.pos);
      packed_size_ += block.pos;
      out_.write(block_.data(), block.pos);
      const bool is_done = end == ZSTD_e_end ? left == 0 : in.pos == in.size;
      if (is_done) return;
    }
  }

  NewFile& out_;
  std::unique_ptr<ZSTD_CCtx, size_t (*)(ZSTD_CCtx*)> context_;
  std::vector<char> block_ = std::vector<char>(kBlock);
  Sha256 sha_;
  uint64_t packed_size_ = 0;
};

std::string head_of(const BundleEntry& entry, int64_t size, bool is_executable) {
  return cat(is_executable ? "755 " : "644 ", size, " ", entry.name, "\n");
}

void add_file(Packer& packer, const BundleEntry& entry, int64_t& total) {
  std::ifstream in(entry.source, std::ios::binary);
  struct stat info = {};
  if (!in || ::stat(entry.source.c_str(), &info) != 0)
    throw store::file_error("read", entry.source);
  const auto size = static_cast<int64_t>(info.st_size);
  packer.add(head_of(entry, size, (info.st_mode & S_IXUSR) != 0));
  std::vector<char> block(kBlock);
  int64_t left = size;
  while (left > 0) {
    in.read(block.data(), std::min<int64_t>(left, static_cast<int64_t>(kBlock)));
    if (in.gcount() <= 0) {
      throw Error(Code::kEnvironment, cat(entry.source, " became shorter while it was packed"));
    }
    packer.add({block.data(), static_cast<size_t>(in.gcount())});
    left -= in.gcount();
  }
  total += size;
}

mode_t umask_now() {
  const mode_t mask = ::umask(0);
  ::umask(mask);
  return mask;
}

}  // namespace

BundleSize write_bundle(const std::string& target, std::string_view program,
                        const std::vector<BundleEntry>& entries) {
  NewFile out(target);
  out.write(program.data(), program.size());
  Packer packer(out);
  BundleSize size;
  for (const BundleEntry& entry : entries) {
    if (entry.name.find('\n') != std::string::npos) {
      throw Error(Code::kUsage,
                  cat("bundle: ", terminal_line(entry.name.substr(entry.name.find('/') + 1)),
                      " has a line break in its name: a bundle has its files' names "
                      "one on a line"));
    }
    if (entry.source.empty()) {
      packer.add(head_of(entry, static_cast<int64_t>(entry.text.size()), false));
      packer.add(entry.text);
      size.unpacked += static_cast<int64_t>(entry.text.size());
    } else {
      add_file(packer, entry, size.unpacked);
    }
  }
  packer.add("\n");
  BundleFooter footer = packer.finish(program.size());
  footer.size = static_cast<uint64_t>(size.unpacked);
  out.write(&footer, sizeof footer);
  out.commit();
  if (::chmod(target.c_str(), kModeBits & ~umask_now()) != 0)
    throw store::file_error("make executable", target);
  size.file = static_cast<int64_t>(footer.offset + footer.packed_size + sizeof footer);
  return size;
}

}  // namespace rtrain::bundle
