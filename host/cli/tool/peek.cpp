// rtrain peek FILE: shows the content of a data file (modules/rtrain/data/peek.lua).
#include <algorithm>
#include <iostream>
#include <memory>

#include "host/base/codec/json.h"
#include "host/base/error.h"
#include "host/base/text/counted.h"
#include "host/base/text/text.h"
#include "host/bind/modules.h"
#include "host/cli/parser/command.h"
#include "host/cli/screen/listing.h"
#include "host/cli/screen/pictures.h"
#include "host/lua/convert.h"
#include "host/lua/guard.h"
#include "host/lua/null.h"
#include "host/lua/require.h"
#include "host/lua/state.h"
#include "host/store/files/file.h"

namespace rtrain::cli {
namespace {

struct Options : ListingOptions {
  std::string action;
  std::string path;
  std::string file_format;
  int64_t rows = 5;
  std::string images;
};

Value look(const Options& options, PictureForm form) {
  Map request{{"path", options.path}, {"rows", options.rows}};
  if (!options.file_format.empty()) request.set("format", options.file_format);
  if (form != PictureForm::kNone) {
    request.set("picture_size", picture_size(form, options.width()));
  }
  lua::State state;
  bind::add_host_modules(state);
  lua::push_module_function(state, "rtrain.data.peek", "look");
  lua::push_value(state, request);
  lua::push_null(state);
  lua::protected_call(state, 2, 1);
  return lua::to_value(state, -1, "what the file holds");
}

std::string cell_text(const Value& value) {
  if (value.is_nil()) return "";
  if (value.is_string()) return value.as_string();
  const bool is_tensor = value.is_map() && value.as_map().size() == 2 && !value["shape"].is_nil() &&
                         !value["dtype"].is_nil();
  if (is_tensor) return cat(value["dtype"].as_string(), " ", human_shape(value["shape"]));
  return value.is_number() ? human_number(value) : to_json(value);
}

void print_rows(const Value& document, size_t width) {
  std::vector<Column> columns{{.header = "ROW", .right = true, .key = true}};
  for (const Value& column : document["columns"].as_list()) {
    columns.push_back({.header = column["name"].as_string()});
  }
  std::vector<std::vector<std::string>> rows;
  constexpr size_t kWidest = 60;
  for (const Value& row : document["rows"].as_list()) {
    std::vector<std::string> cells{cat(rows.size())};
    for (const Value& column : document["columns"].as_list()) {
      const std::string text = cell_text(row[column["name"].as_string()]);
      cells.push_back(width == kAnyWidth ? text : shortened(text, kWidest));
    }
    rows.push_back(std::move(cells));
  }
  if (rows.empty()) return;
  std::cout << "\n";
  print_table(columns, rows, width);
}

void print_data_table(const Value& document, size_t width) {
  const auto count = static_cast<size_t>(document["num_rows"].as_int());
  std::cout << document["path"].as_string() << "  " << document["format"].as_string() << ", "
            << counted(count, "row") << ", "
            << counted(document["columns"].as_list().size(), "column") << "\n\n";
  std::vector<std::vector<std::string>> rows;
  for (const Value& column : document["columns"].as_list()) {
    rows.push_back({column["name"].as_string(), column["type"].as_string()});
  }
  print_table({{.header = "COLUMN", .key = true}, {"TYPE"}}, rows, width);
  print_rows(document, width);
}

void print_tensors(const Value& document, size_t width) {
  const List& tensors = document["tensors"].as_list();
  int64_t numbers = 0;
  std::vector<std::vector<std::string>> rows;
  for (const Value& tensor : tensors) {
    int64_t size = 1;
    for (const Value& each : tensor["shape"].as_list()) size *= each.as_int();
    numbers += size;
    rows.push_back(
        {tensor["name"].as_string(), human_shape(tensor["shape"]), tensor["dtype"].as_string()});
  }
  std::cout << document["path"].as_string() << "  " << document["format"].as_string() << ", "
            << counted(tensors.size(), "tensor") << " of "
            << counted(static_cast<size_t>(numbers), "number") << "\n";
  if (!rows.empty()) {
    std::cout << "\n";
    print_table({{.header = "TENSOR", .key = true}, {"SHAPE"}, {"DTYPE"}}, rows, width);
  }
  std::vector<std::vector<std::string>> others;
  for (const char* part : {"values", "metadata"}) {
    if (!document[part].is_map()) continue;
    for (const auto& [key, value] : document[part].as_map()) {
      others.push_back({std::get<std::string>(key), cell_text(value)});
    }
  }
  if (others.empty()) return;
  std::cout << "\n";
  print_table({{.header = "VALUE", .key = true}, {.header = "", .fills = true}}, others, width);
}

void peek(const Options& options) {
  if (store::path_kind(options.path) != "file") {
    throw Error(Code::kUsage, cat("peek: ", options.path, ": there is no such file"));
  }
  const PictureForm form =
      options.for_programs() ? PictureForm::kNone : picture_form(options.images);
  Value document = look(options, form);
  if (options.for_programs()) {
    document.as_map().del("pictures");
    return options.print(document);
  }
  if (!document["tensors"].is_nil()) {
    print_tensors(document, options.width());
  } else if (!document["columns"].is_nil()) {
    print_data_table(document, options.width());
  } else {
    std::cout << document["path"].as_string() << "  image, " << document["dtype"].as_string() << " "
              << human_shape(document["shape"]) << "\n";
  }
  if (document["pictures"].is_list()) print_pictures(document["pictures"].as_list(), form);
}

void add_arguments(Command& command, const std::shared_ptr<Options>& options) {
  command
      .argument(
          "FILE", &options->path,
          "Parquet, CSV, JSON lines, text, Arrow, TFRecord, WebDataset, idx (also .gz), NumPy, "
          "safetensors, .pt, an image")
      .required();
  command.option("--rows", &options->rows, "that many of the first rows (default 5)")
      .value_name("N")
      .within(0, 10000);
  command.option("--as", &options->file_format, "the format, where the name does not say it")
      .value_name("FORMAT")
      .one_of({"arrow", "csv", "idx", "image", "json", "numpy", "parquet", "pt", "safetensors",
               "text", "tfrecord", "webdataset"});
  add_images_option(command, options->images);
  add_json_option(command, *options);
  add_wide_option(command, *options);
  command.footer(
      "A terminal that has colours shows images too: columns of images, and arrays of bytes that\n"
      "may be some.\n"
      "Keys of --json: path, format; of a table num_rows, columns (name, type), rows (a map each;\n"
      "of a tensor with more than 16 elements shape and dtype); of tensors: tensors (name, shape,\n"
      "dtype), values (all else), metadata; of an image: shape (height, width, channels), dtype");
  command.action([options] { peek(*options); });
}

}  // namespace

void add_peek(Parser& parser) {
  Command command = parser.command("peek", "Show what a file of data holds");
  add_arguments(command, std::make_shared<Options>());
}

void add_data(Parser& parser) {
  auto options = std::make_shared<Options>();
  Command command = parser.old_command("data", "peek FILE");
  command.argument("ACTION", &options->action, "peek").required().one_of({"peek"});
  add_arguments(command, options);
}

}  // namespace rtrain::cli
