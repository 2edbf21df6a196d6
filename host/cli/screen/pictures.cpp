#include "host/cli/screen/pictures.h"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <iostream>

#include "host/base/files/write_all.h"
#include "host/cli/screen/colour.h"
#include "host/machine/terminal_answer.h"
#include "host/machine/terminal_size.h"
#include "host/plot/half_blocks.h"
#include "host/plot/sixel.h"

namespace rtrain::cli {
namespace {

plot::TerminalColours colours_of_terminal() {
  const char* known = std::getenv("COLORTERM");
  const std::string_view name = known == nullptr ? "" : known;
  return name == "truecolor" || name == "24bit" ? plot::TerminalColours::kAll
                                                : plot::TerminalColours::kPalette;
}

struct Pixels {
  std::string bytes;  // three bytes per pixel, row by row
  size_t width = 0;
  size_t height = 0;
};

// Enlarges each pixel to a square of pixels.
Pixels enlarged(const Pixels& small, size_t factor) {
  constexpr size_t kBytes = 3;
  Pixels out{.bytes = "", .width = small.width * factor, .height = small.height * factor};
  out.bytes.reserve(out.width * out.height * kBytes);
  for (size_t row = 0; row < out.height; ++row) {
    for (size_t column = 0; column < out.width; ++column) {
      const size_t from = (row / factor * small.width + column / factor) * kBytes;
      out.bytes.append(small.bytes, from, kBytes);
    }
  }
  return out;
}

// Bypasses std::cout, which would escape the control characters.
void print_sixel(const Pixels& picture) {
  constexpr size_t kEasilySeen = 256;
  const size_t longest = std::max(picture.width, picture.height);
  const Pixels shown = enlarged(picture, std::max<size_t>(1, kEasilySeen / longest));
  std::cout.flush();
  write_all(STDOUT_FILENO, plot::sixel(shown.bytes, shown.width, shown.height));
  std::cout << "\n";
}

void print_blocks(const Pixels& picture) {
  for (const std::string& line :
       plot::half_blocks(picture.bytes, picture.width, picture.height, colours_of_terminal())) {
    std::cout << line << "\n";
  }
}

}  // namespace

void add_images_option(Command& command, std::string& form) {
  command
      .option("--images", &form,
              "how images are shown: auto (default: on a terminal with colours, as sixel where it "
              "has that, else as blocks), blocks or sixel")
      .value_name("FORM")
      .one_of({"auto", "blocks", "sixel"});
}

PictureForm picture_form(const std::string& form) {
  if (form == "blocks") return PictureForm::kBlocks;
  if (form == "sixel") return PictureForm::kSixel;
  if (!wants_colour()) return PictureForm::kNone;
  constexpr double kPatienceS = 1;
  std::cout.flush();
  return machine::terminal_has_sixel(STDOUT_FILENO, kPatienceS) ? PictureForm::kSixel
                                                                : PictureForm::kBlocks;
}

size_t picture_size(PictureForm form, size_t columns) {
  if (form == PictureForm::kSixel) {
    constexpr size_t kLargest = 640;
    constexpr size_t kNarrowColumn = 8;
    const auto terminal = machine::terminal_size(STDOUT_FILENO);
    if (!terminal) return kLargest;
    const size_t width = terminal->width_pixels;
    return std::min(kLargest, width > 0 ? width : terminal->columns * kNarrowColumn);
  }
  constexpr size_t kLargest = 64;
  return std::min(kLargest, std::max<size_t>(columns, 2) - 1);
}

void print_pictures(const List& pictures, PictureForm form) {
  for (const Value& picture : pictures) {
    const Pixels pixels{.bytes = picture["pixels"].as_string(),
                        .width = static_cast<size_t>(picture["width"].as_int()),
                        .height = static_cast<size_t>(picture["height"].as_int())};
    std::cout << "\n" << picture["label"].as_string() << "\n";
    if (form == PictureForm::kSixel) {
      print_sixel(pixels);
    } else if (form == PictureForm::kBlocks) {
      print_blocks(pixels);
    }
  }
}

}  // namespace rtrain::cli
