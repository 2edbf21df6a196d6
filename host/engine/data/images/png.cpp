#include "host/engine/data/images/png.h"

#include <png.h>

#include <algorithm>
#include <csetjmp>
#include <cstdio>
#include <cstring>
#include <vector>

#include "host/base/error.h"
#include "host/base/text/text.h"
#include "host/engine/data/images/exif.h"
#include "host/engine/tensor/empty_tensor.h"

namespace rtrain::engine {
namespace {

constexpr size_t kSignatureBytes = 8;
constexpr uint64_t kMaxExpansion = 1100;  // deflate expands at most 1032-fold
constexpr size_t kMostText = 200;
constexpr size_t kMaxChunkBytes = 8'000'000;  // libpng's own default
// Chunks that may be long and do not change pixels are not read.
constexpr png_byte kSkippedChunks[] = "tEXt\0zTXt\0iTXt\0sPLT";
constexpr int kNumSkippedChunks = 4;
// torchvision's weights of red and green; blue has the rest.
constexpr double kRedWeight = 0.2989, kGreenWeight = 0.587;

// The message of libpng's last error. libpng itself holds the longjmp target.
struct Failure {
  char text[kMostText] = "";
};

[[noreturn]] void on_error(png_structp png, png_const_charp text) {
  auto* failure = static_cast<Failure*>(png_get_error_ptr(png));
  std::snprintf(failure->text, sizeof(failure->text), "%s", text);
  png_longjmp(png, 1);
}

void on_warning(png_structp /*png*/, png_const_charp /*text*/) {}

[[noreturn]] void no_memory() { throw Error(Code::kOutOfMemory, "no memory for a PNG"); }

// Runs calls of libpng. REQUIRES: `body` owns nothing at the time libpng fails.
template <class Body>
void guard(png_structp png, const Failure& failure, const Body& body) {
  if (setjmp(png_jmpbuf(png)) != 0) {
    throw Error(Code::kArgument, cat("damaged PNG: ", std::string_view(failure.text)));
  }
  body();
}

void read_bytes(png_structp png, png_bytep to, size_t size) {
  auto* rest = static_cast<ImageBytes*>(png_get_io_ptr(png));
  if (size > rest->size()) png_error(png, "it is truncated: its data ends too early");
  std::memcpy(to, rest->data(), size);
  *rest = rest->subspan(size);
}

// A chunk is its length, name, data and checksum. libpng allocates that length before it looks for
// the data, so this check rejects chunks that reach beyond the file.
void check_chunks(ImageBytes bytes) {
  constexpr size_t kFrameBytes = 12;
  for (ImageBytes rest = bytes.subspan(kSignatureBytes); rest.size() >= kFrameBytes;) {
    const size_t length = size_t{rest[0]} << 24 | rest[1] << 16 | rest[2] << 8 | rest[3];
    const std::string_view name(reinterpret_cast<const char*>(rest.data()) + 4, 4);
    if (length > rest.size() - kFrameBytes) {
      const bool plain = std::ranges::all_of(name, [](char c) { return c >= 'A' && c <= 'z'; });
      throw Error(Code::kArgument, cat("damaged PNG: it is truncated: its chunk ",
                                       plain ? name : "without a name", " should have ", length,
                                       " bytes where ", rest.size() - kFrameBytes, " are left"));
    }
    if (name == "IEND") return;  // data after IEND is not part of the image
    rest = rest.subspan(kFrameBytes + length);
  }
}

}  // namespace

bool is_png(ImageBytes bytes) {
  return bytes.size() >= kSignatureBytes && png_sig_cmp(bytes.data(), 0, kSignatureBytes) == 0;
}

struct PngDecoder::State {
  Failure failure;
  ImageBytes rest;
  png_structp png;
  png_infop info = nullptr;
  int passes = 1;

  explicit State(ImageBytes bytes)
      : rest(bytes),
        png(png_create_read_struct(PNG_LIBPNG_VER_STRING, &failure, &on_error, &on_warning)) {
    if (png == nullptr) no_memory();
    info = png_create_info_struct(png);
  }
  ~State() { png_destroy_read_struct(&png, &info, nullptr); }
  State(const State&) = delete;
  State& operator=(const State&) = delete;

  template <class Body>
  void run(const Body& body) {
    guard(png, failure, body);
  }

  void read_info() {
    run([this] {
      png_set_read_fn(png, &rest, &read_bytes);
      // The caller checks the sides against max_pixels. This lifts libpng's own limit of a million.
      png_set_user_limits(png, PNG_UINT_31_MAX, PNG_UINT_31_MAX);
      // Debian's libpng has no default limit: it would allocate any length that a chunk
      // claims.
      png_set_chunk_malloc_max(png, kMaxChunkBytes);
      png_set_keep_unknown_chunks(png, PNG_HANDLE_CHUNK_NEVER, kSkippedChunks, kNumSkippedChunks);
      png_read_info(png, info);
    });
  }

  ImageSize size() const {
    return {png_get_image_height(png, info), png_get_image_width(png, info)};
  }

  // Called before the transformations are set, so that row sizes are those in the file.
  void check_promise(size_t file_bytes) const {
    const uint64_t promised =
        uint64_t{png_get_rowbytes(png, info)} * png_get_image_height(png, info);
    if (promised / kMaxExpansion <= file_bytes) return;
    throw Error(Code::kArgument,
                cat("damaged PNG: it is truncated: ", file_bytes, " bytes cannot hold ",
                    size().width, " × ", size().height, " pixels"));
  }

  void transform(const ImageOptions& options) {
    const bool palette = png_get_color_type(png, info) == PNG_COLOR_TYPE_PALETTE;
    const bool palette_alpha = palette && png_get_valid(png, info, PNG_INFO_tRNS) != 0;
    const bool has_alpha =
        palette_alpha || (png_get_color_type(png, info) & PNG_COLOR_MASK_ALPHA) != 0;
    const bool has_colour = (png_get_color_type(png, info) & PNG_COLOR_MASK_COLOR) != 0;
    run([&] {
      if (palette) png_set_palette_to_rgb(png);
      if (!has_colour && png_get_bit_depth(png, info) < 8) png_set_expand_gray_1_2_4_to_8(png);
      if (options.keep_16_bits) {
        png_set_swap(png);  // PNG stores numbers in big-endian order
      } else {
        png_set_strip_16(png);
      }
      choose_channels(options.mode, has_colour, has_alpha);
      passes = png_set_interlace_handling(png);
      png_read_update_info(png, info);
    });
  }

  void choose_channels(ImageMode mode, bool has_colour, bool has_alpha) {
    if (mode == ImageMode::kUnchanged) return;
    const bool wants_colour = mode == ImageMode::kRgb || mode == ImageMode::kRgbAlpha;
    const bool wants_alpha = mode == ImageMode::kGrayAlpha || mode == ImageMode::kRgbAlpha;
    if (wants_colour && !has_colour) png_set_gray_to_rgb(png);
    if (!wants_colour && has_colour) {
      png_set_rgb_to_gray(png, PNG_ERROR_ACTION_NONE, kRedWeight, kGreenWeight);
    }
    if (has_alpha && !wants_alpha) png_set_strip_alpha(png);
    if (!has_alpha && wants_alpha) png_set_add_alpha(png, 0xffff, PNG_FILLER_AFTER);
  }
};

PngDecoder::PngDecoder(ImageBytes bytes, const ImageOptions& options)
    : state_(std::make_unique<State>(bytes)) {
  if (state_->info == nullptr) no_memory();
  check_chunks(bytes);
  state_->read_info();
  check_image_size(state_->size(), options.max_pixels);
  state_->check_promise(bytes.size());
  state_->transform(options);
}

PngDecoder::~PngDecoder() = default;

ImageSize PngDecoder::size() const { return state_->size(); }

int64_t PngDecoder::channels() const { return png_get_channels(state_->png, state_->info); }

bool PngDecoder::has_16_bits() const { return png_get_bit_depth(state_->png, state_->info) == 16; }

int PngDecoder::orientation() const {
  png_uint_32 size = 0;
  png_bytep data = nullptr;
  if (png_get_eXIf_1(state_->png, state_->info, &size, &data) == 0) return 1;
  return exif_orientation({data, size});
}

void PngDecoder::decode(uint8_t* out) {
  State& state = *state_;
  const int64_t height = size().height;
  const auto row_bytes = static_cast<int64_t>(png_get_rowbytes(state.png, state.info));
  state.run([&] {
    for (int pass = 0; pass < state.passes; ++pass) {
      for (int64_t y = 0; y < height; ++y) png_read_row(state.png, out + y * row_bytes, nullptr);
    }
    png_read_end(state.png, nullptr);
  });
}

namespace {

constexpr int kColourTypes[] = {PNG_COLOR_TYPE_GRAY, PNG_COLOR_TYPE_GRAY_ALPHA, PNG_COLOR_TYPE_RGB,
                                PNG_COLOR_TYPE_RGB_ALPHA};

void no_flush(png_structp /*png*/) {}

// Exceptions may not cross libpng, so std::bad_alloc becomes libpng's error.
void append_bytes(png_structp png, png_bytep bytes, size_t size) {
  bool stored = true;
  try {
    auto* out = static_cast<std::vector<uint8_t>*>(png_get_io_ptr(png));
    out->insert(out->end(), bytes, bytes + size);
  } catch (const std::bad_alloc&) {
    stored = false;
  }
  if (!stored) png_error(png, "no memory");
}

struct Writer {
  Failure failure;
  png_structp png;
  png_infop info = nullptr;

  Writer() : png(png_create_write_struct(PNG_LIBPNG_VER_STRING, &failure, &on_error, &on_warning)) {
    if (png != nullptr) info = png_create_info_struct(png);
  }
  ~Writer() { png_destroy_write_struct(&png, &info); }
  Writer(const Writer&) = delete;
  Writer& operator=(const Writer&) = delete;
};

}  // namespace

at::Tensor encode_png(const at::Tensor& image, int compression_level) {
  Writer writer;
  if (writer.info == nullptr) no_memory();
  std::vector<uint8_t> out;
  const auto height = static_cast<png_uint_32>(image.size(0));
  const auto width = static_cast<png_uint_32>(image.size(1));
  const auto* pixels = static_cast<const uint8_t*>(image.const_data_ptr());
  const int64_t row_bytes = image.size(1) * image.size(2);
  guard(writer.png, writer.failure, [&] {
    png_set_write_fn(writer.png, &out, &append_bytes, &no_flush);
    png_set_user_limits(writer.png, PNG_UINT_31_MAX, PNG_UINT_31_MAX);
    png_set_compression_level(writer.png, compression_level);
    png_set_IHDR(writer.png, writer.info, width, height, 8, kColourTypes[image.size(2) - 1],
                 PNG_INTERLACE_NONE, PNG_COMPRESSION_TYPE_DEFAULT, PNG_FILTER_TYPE_DEFAULT);
    png_write_info(writer.png, writer.info);
    for (png_uint_32 y = 0; y < height; ++y) png_write_row(writer.png, pixels + y * row_bytes);
    png_write_end(writer.png, writer.info);
  });
  at::Tensor result =
      empty_tensor({static_cast<int64_t>(out.size())}, at::TensorOptions().dtype(at::kByte));
  std::memcpy(result.mutable_data_ptr(), out.data(), out.size());
  return result;
}

}  // namespace rtrain::engine
