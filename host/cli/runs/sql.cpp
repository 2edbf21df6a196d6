// rtrain sql QUERY: runs an SQL query on the store.
#include <iostream>
#include <memory>

#include "host/base/error.h"
#include "host/cli/parser/command.h"
#include "host/cli/screen/listing.h"
#include "host/store/db/schema.h"
#include "host/store/read/user_statement.h"

namespace rtrain::cli {
namespace {

void print_rows(const store::QueryAnswer& answer) {
  std::vector<Column> columns;
  for (const std::string& name : answer.columns) columns.push_back({name});
  std::vector<std::vector<std::string>> rows;
  for (const List& row : answer.rows) {
    std::vector<std::string> cells;
    for (size_t i = 0; i < row.size(); ++i) {
      cells.push_back(row[i].is_nil() ? "" : human_number(row[i]));
      if (row[i].is_number()) columns[i].right = true;
    }
    rows.push_back(std::move(cells));
  }
  print_table(columns, rows);
}

Value rows_as_maps(const store::QueryAnswer& answer) {
  List out;
  for (const List& row : answer.rows) {
    Map entry;
    for (size_t i = 0; i < row.size(); ++i) entry.set(answer.columns[i], row[i]);
    out.push_back(std::move(entry));
  }
  return out;
}

}  // namespace

void add_sql(Parser& parser) {
  struct Options : ListingOptions {
    std::string query;
    bool schema = false;
  };
  auto options = std::make_shared<Options>();
  Command command = parser.command("sql", "Ask the store in SQL; nothing can be changed");
  command.argument("QUERY", &options->query, "one SELECT");
  command.flag("--schema", &options->schema, "print the tables and views");
  add_listing_options(command, *options);
  command.footer("With --json a list of rows, each a map of column and value");
  command.action([options] {
    if (options->schema) {
      if (options->for_programs()) return options->print(Map{{"schema", store::schema_text()}});
      std::cout << store::schema_text();
      return;
    }
    if (options->query.empty()) throw Error(Code::kUsage, "sql: give a QUERY, or --schema");
    std::optional<store::OpenStore> store = options->open_store();
    const store::QueryAnswer answer =
        store ? store::answer_query(store->database(), options->query) : store::QueryAnswer{};
    if (options->for_programs()) return options->print(rows_as_maps(answer));
    if (store) print_rows(answer);
  });
}

}  // namespace rtrain::cli
