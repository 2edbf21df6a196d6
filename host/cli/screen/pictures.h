// host/cli/screen/pictures.h: pictures on a terminal, as sixel data or as half blocks.
#pragma once

#include <cstddef>
#include <string>

#include "host/base/value.h"
#include "host/cli/parser/parser.h"

namespace rtrain::cli {

enum class PictureForm {
  kNone,
  kBlocks,  // characters of two pixels each
  kSixel,
};

// --images FORM of a command that shows pictures: what picture_form() takes.
void add_images_option(Command& command, std::string& form);

// "blocks" and "sixel" are always that form. "" and "auto": none if stdout is not a terminal
// with colours (host/cli/screen/colour.h); else sixel if the terminal answers that it supports
// it.
PictureForm picture_form(const std::string& form);

// Returns the largest width and height in pixels of a picture on a terminal with that many columns.
size_t picture_size(PictureForm form, size_t columns);

// Prints the pictures, each {label, width, height, pixels}, as made by
// modules/rtrain/data/peek.lua.
void print_pictures(const List& pictures, PictureForm form);

}  // namespace rtrain::cli
