#include "host/engine/data/images/jpeg.h"

#include <algorithm>
#include <csetjmp>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

#include <jpeglib.h>

#include "host/base/error.h"
#include "host/base/text/text.h"
#include "host/engine/data/images/exif.h"
#include "host/engine/tensor/empty_tensor.h"

namespace rtrain::engine {
namespace {

constexpr int kMaxScans = 500;  // only files made to waste time have more
constexpr unsigned kMaxMarkerBytes = 0xffff;
constexpr std::string_view kExifName("Exif\0\0", 6);
constexpr int kMaxHalvings = 3;

// The last message of libjpeg, and the longjmp target.
struct Failure {
  jpeg_error_mgr manager;  // first member, because libjpeg passes back its address
  std::jmp_buf jump;
  char text[JMSG_LENGTH_MAX] = "";
};

[[noreturn]] void on_error(j_common_ptr info) {
  auto* failure = reinterpret_cast<Failure*>(info->err);
  info->err->format_message(info, failure->text);
  std::longjmp(failure->jump, 1);
}

[[noreturn]] void fail_with(j_common_ptr info, const char* text) {
  auto* failure = reinterpret_cast<Failure*>(info->err);
  std::snprintf(failure->text, sizeof(failure->text), "%s", text);
  std::longjmp(failure->jump, 1);
}

void no_message(j_common_ptr /*info*/) {}

void init(Failure& failure) {
  jpeg_std_error(&failure.manager);
  failure.manager.error_exit = &on_error;
  failure.manager.output_message = &no_message;  // warnings, about damage that libjpeg repairs
}

// Runs calls of libjpeg. REQUIRES: `body` owns nothing at the time libjpeg fails.
template <class Body>
void guard(Failure& failure, const Body& body) {
  if (setjmp(failure.jump) != 0) {
    throw Error(Code::kArgument, cat("damaged JPEG: ", std::string_view(failure.text)));
  }
  body();
}

void no_source_call(j_decompress_ptr /*info*/) {}

// libjpeg has all bytes from the beginning. If it asks for more, the file is truncated.
boolean on_end(j_decompress_ptr info) {
  fail_with(reinterpret_cast<j_common_ptr>(info), "it is truncated: its data ends too early");
}

void skip(j_decompress_ptr info, long count) {
  if (count <= 0) return;
  if (static_cast<size_t>(count) > info->src->bytes_in_buffer) on_end(info);
  info->src->next_input_byte += count;
  info->src->bytes_in_buffer -= static_cast<size_t>(count);
}

void on_progress(j_common_ptr info) {
  const auto* decoder = reinterpret_cast<j_decompress_ptr>(info);
  if (decoder->input_scan_number > kMaxScans) fail_with(info, "it has more than 500 scans");
}

// x · y / 255, rounded.
int scaled(int x, int y) {
  const int v = x * y + 128;
  return ((v >> 8) + v) >> 8;
}

struct Rgb {
  int r, g, b;
};

// Like other decoders, treats the four inks as inverted, which is how Photoshop writes them.
Rgb rgb_of_inks(const uint8_t* inks) {
  const int k = inks[3];
  return {k - scaled(k, 255 - inks[0]), k - scaled(k, 255 - inks[1]), k - scaled(k, 255 - inks[2])};
}

void inks_to_rgb(const uint8_t* inks, uint8_t* out, int64_t count) {
  for (int64_t i = 0; i < count; ++i) {
    const Rgb c = rgb_of_inks(inks + 4 * i);
    out[3 * i] = static_cast<uint8_t>(c.r);
    out[3 * i + 1] = static_cast<uint8_t>(c.g);
    out[3 * i + 2] = static_cast<uint8_t>(c.b);
  }
}

// ITU-R 601-2 in units of 1/65536, as in Pillow.
void inks_to_gray(const uint8_t* inks, uint8_t* out, int64_t count) {
  for (int64_t i = 0; i < count; ++i) {
    const Rgb c = rgb_of_inks(inks + 4 * i);
    out[i] = static_cast<uint8_t>((c.r * 19595 + c.g * 38470 + c.b * 7471 + 0x8000) >> 16);
  }
}

}  // namespace

struct JpegDecoder::State {
  Failure failure;
  jpeg_decompress_struct info{};
  jpeg_source_mgr source{};
  jpeg_progress_mgr progress{};
  void (*convert)(const uint8_t*, uint8_t*, int64_t) = nullptr;  // for inks, if the mode needs it
  int64_t channels = 0;

  explicit State(ImageBytes bytes) {
    init(failure);
    info.err = &failure.manager;
    source.next_input_byte = bytes.data();
    source.bytes_in_buffer = bytes.size();
    source.init_source = &no_source_call;
    source.fill_input_buffer = &on_end;
    source.skip_input_data = &skip;
    source.resync_to_restart = &jpeg_resync_to_restart;
    source.term_source = &no_source_call;
    progress.progress_monitor = &on_progress;
  }
  ~State() { jpeg_destroy_decompress(&info); }
  State(const State&) = delete;
  State& operator=(const State&) = delete;

  bool has_inks() const {
    return info.jpeg_color_space == JCS_CMYK || info.jpeg_color_space == JCS_YCCK;
  }

  void read_header() {
    guard(failure, [this] {
      jpeg_create_decompress(&info);
      info.src = &source;
      info.progress = &progress;
      jpeg_save_markers(&info, JPEG_APP0 + 1, kMaxMarkerBytes);
      jpeg_read_header(&info, TRUE);
    });
  }

  // A Huffman code has at least one bit, and each block of 8 × 8 values begins with a code.
  void check_promise(size_t size) const {
    if (info.arith_code != FALSE) return;
    uint64_t blocks = 0;
    for (int i = 0; i < info.num_components; ++i) {
      blocks += uint64_t{info.comp_info[i].width_in_blocks} * info.comp_info[i].height_in_blocks;
    }
    if (blocks / 8 <= size) return;
    throw Error(Code::kArgument, cat("damaged JPEG: it is truncated: ", size, " bytes cannot hold ",
                                     info.image_width, " × ", info.image_height, " pixels"));
  }

  void choose_colours(ImageMode mode) {
    if (mode == ImageMode::kGrayAlpha || mode == ImageMode::kRgbAlpha) {
      throw Error(Code::kArgument, "a JPEG has no transparency: use mode 'RGB' or 'GRAY'");
    }
    if (info.jpeg_color_space == JCS_UNKNOWN) {
      throw Error(Code::kUnsupported,
                  cat("a JPEG of ", info.num_components, " colours that it does not name"));
    }
    const bool gray = mode == ImageMode::kGray;
    if (has_inks()) {
      info.out_color_space = JCS_CMYK;
      channels = mode == ImageMode::kUnchanged ? 4 : gray ? 1 : 3;
      if (channels != 4) convert = gray ? &inks_to_gray : &inks_to_rgb;
      return;
    }
    const bool one = gray || (mode == ImageMode::kUnchanged && info.num_components == 1);
    info.out_color_space = one ? JCS_GRAYSCALE : JCS_RGB;
    channels = one ? 1 : 3;
  }
};

JpegDecoder::JpegDecoder(ImageBytes bytes, ImageMode mode, int64_t max_pixels)
    : state_(std::make_unique<State>(bytes)) {
  state_->read_header();
  check_image_size({state_->info.image_height, state_->info.image_width}, max_pixels);
  state_->check_promise(bytes.size());
  state_->choose_colours(mode);
  guard(state_->failure, [this] { jpeg_calc_output_dimensions(&state_->info); });
}

JpegDecoder::~JpegDecoder() = default;

ImageSize JpegDecoder::size() const {
  return {state_->info.output_height, state_->info.output_width};
}

int64_t JpegDecoder::channels() const { return state_->channels; }

int JpegDecoder::orientation() const {
  for (const auto* marker = state_->info.marker_list; marker != nullptr; marker = marker->next) {
    const std::span<const uint8_t> data(marker->data, marker->data_length);
    if (data.size() < kExifName.size()) continue;
    if (std::memcmp(data.data(), kExifName.data(), kExifName.size()) != 0) continue;
    return exif_orientation(data.subspan(kExifName.size()));
  }
  return 1;
}

int JpegDecoder::shrink_towards(ImageSize least) {
  jpeg_decompress_struct& info = state_->info;
  unsigned divisor = 1;
  for (int i = 0; i < kMaxHalvings; ++i) {
    const unsigned next = divisor * 2;
    if (info.image_height / next < least.height || info.image_width / next < least.width) break;
    divisor = next;
  }
  info.scale_num = 1;
  info.scale_denom = divisor;
  guard(state_->failure, [&info] { jpeg_calc_output_dimensions(&info); });
  return static_cast<int>(divisor);
}

void JpegDecoder::decode(uint8_t* out) {
  State& state = *state_;
  jpeg_decompress_struct& info = state.info;
  const int64_t width = info.output_width;
  std::vector<uint8_t> inks(state.convert == nullptr ? 0 : static_cast<size_t>(width) * 4);
  guard(state.failure, [&] {
    jpeg_start_decompress(&info);
    while (info.output_scanline < info.output_height) {
      uint8_t* const line = out + int64_t{info.output_scanline} * width * state.channels;
      JSAMPROW row = state.convert == nullptr ? line : inks.data();
      jpeg_read_scanlines(&info, &row, 1);
      if (state.convert != nullptr) state.convert(inks.data(), line, width);
    }
    jpeg_finish_decompress(&info);
  });
}

namespace {

// Frees libjpeg's memory, also after an error.
struct Compressor {
  Failure failure;
  jpeg_compress_struct info{};
  unsigned char* bytes = nullptr;
  unsigned long size = 0;

  Compressor() {
    init(failure);
    info.err = &failure.manager;
  }
  ~Compressor() {
    jpeg_destroy_compress(&info);
    std::free(bytes);
  }
  Compressor(const Compressor&) = delete;
  Compressor& operator=(const Compressor&) = delete;
};

}  // namespace

at::Tensor encode_jpeg(const at::Tensor& image, int quality) {
  Compressor out;
  jpeg_compress_struct& info = out.info;
  const auto* pixels = static_cast<const uint8_t*>(image.const_data_ptr());
  const int64_t row_bytes = image.size(1) * image.size(2);
  guard(out.failure, [&] {
    jpeg_create_compress(&info);
    jpeg_mem_dest(&info, &out.bytes, &out.size);
    info.image_height = static_cast<JDIMENSION>(image.size(0));
    info.image_width = static_cast<JDIMENSION>(image.size(1));
    info.input_components = static_cast<int>(image.size(2));
    info.in_color_space = image.size(2) == 1 ? JCS_GRAYSCALE : JCS_RGB;
    jpeg_set_defaults(&info);
    jpeg_set_quality(&info, quality, TRUE);
    jpeg_start_compress(&info, TRUE);
    while (info.next_scanline < info.image_height) {
      JSAMPROW row = const_cast<uint8_t*>(pixels + int64_t{info.next_scanline} * row_bytes);
      jpeg_write_scanlines(&info, &row, 1);
    }
    jpeg_finish_compress(&info);
  });
  at::Tensor result =
      empty_tensor({static_cast<int64_t>(out.size)}, at::TensorOptions().dtype(at::kByte));
  std::memcpy(result.mutable_data_ptr(), out.bytes, out.size);
  return result;
}

}  // namespace rtrain::engine
