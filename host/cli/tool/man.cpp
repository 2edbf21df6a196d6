// rtrain man [COMMAND]: the manual page of rtrain or of a command, in roff; with -o all of them.
#include <algorithm>
#include <filesystem>
#include <iostream>
#include <memory>
#include <system_error>

#include "host/base/error.h"
#include "host/base/text/text.h"
#include "host/cli/parser/command.h"
#include "host/cli/screen/listing.h"
#include "host/cli/tool/man_page.h"

namespace rtrain::cli {
namespace {

namespace fs = std::filesystem;

struct ManOptions {
  std::string command;
  std::string folder;
};

void write_pages(const CommandTable& table, const std::string& folder) {
  std::error_code failure;
  fs::create_directories(folder, failure);
  if (failure) {
    throw Error(Code::kEnvironment,
                cat("cannot make the folder ", folder, ": ", failure.message()));
  }
  const auto path = [&](const std::string& name) { return cat(folder, "/", name, ".1"); };
  write_output(path(table.program), man_page(table));
  for (const CommandRow& command : table.commands) {
    write_output(path(cat(table.program, "-", command.name)), man_page(table, command));
  }
  std::cerr << "wrote " << table.commands.size() + 1 << " pages to " << folder << "\n";
}

const CommandRow& find_command(const CommandTable& table, const std::string& name) {
  std::vector<std::string> names;
  for (const CommandRow& command : table.commands) {
    if (command.name == name) return command;
    names.push_back(command.name);
  }
  throw Error(Code::kUsage, cat("man: unknown command '", name, "'", suggestion(name, names)));
}

void print_pages(const CommandTable& table, const ManOptions& options) {
  if (!options.folder.empty()) return write_pages(table, options.folder);
  std::cout << (options.command.empty() ? man_page(table)
                                        : man_page(table, find_command(table, options.command)));
}

}  // namespace

void add_man(Parser& parser) {
  auto options = std::make_shared<ManOptions>();
  Command command = parser.command("man", "Print a manual page: rtrain man run | man -l -");
  command.hide();
  Option name = command.argument("COMMAND", &options->command,
                                 "whose page; without it: the list of commands, exit statuses and "
                                 "environment variables");
  command
      .option("-o,--output", &options->folder,
              "write all pages to this folder, as ~/.local/share/man/man1")
      .value_name("FOLDER")
      .excludes(name);
  command.action([options, &parser] { print_pages(parser.table(), *options); });
}

}  // namespace rtrain::cli
