// rtrain dash: the runs of a store in a browser.
#include <cstdlib>
#include <iostream>
#include <memory>

#include "host/base/error.h"
#include "host/base/random.h"
#include "host/base/text.h"
#include "host/cli/command.h"
#include "host/cli/listing.h"
#include "host/dash/dashboard.h"
#include "host/loop/signal.h"
#include "host/lua/embed.h"
#include "host/machine/machine.h"

namespace rtrain {
namespace {

constexpr int kPort = 8490;
constexpr int kMorePorts = 20;
constexpr int kTokenDigits = 32;

struct Options : ListingOptions {
  std::optional<int> port;
  std::string host = "127.0.0.1";
  std::string base_path;
  std::vector<std::string> proxies;
  bool read_only = false;
};

std::string type_of(std::string_view name) {
  if (name.ends_with(".html")) return "text/html; charset=utf-8";
  if (name.ends_with(".js")) return "text/javascript; charset=utf-8";
  if (name.ends_with(".css")) return "text/css; charset=utf-8";
  if (name.ends_with(".svg")) return "image/svg+xml";
  return kJsonType;
}

std::vector<PageFile> page_files() {
  std::vector<PageFile> out;
  for (const NamedText& page : embedded_web_files()) {
    const bool is_first = page.name == "index.html";
    out.push_back({.path = is_first ? "/" : cat("/", page.name),
                   .type = type_of(page.name),
                   .bytes = page.text});
  }
  return out;
}

HttpServerOptions server_options(const Options& options) {
  const std::string address = options.host == "localhost" ? "127.0.0.1" : options.host;
  const auto parsed = SocketAddress::parse(address, 0);
  if (!parsed) {
    throw Error(Code::kUsage, cat("--host: '", options.host, "' is not a numeric address"));
  }
  if (!parsed->is_loopback()) {
    throw Error(Code::kUsage,
                cat("--host ", options.host,
                    ": beyond this host the dashboard would need TLS, "
                    "which it does not have. From another machine: ssh -L ",
                    kPort, ":127.0.0.1:", kPort,
                    " HOST, or a proxy with TLS on this host (--allow-host NAME, --base-path)"));
  }
  return {.address = address,
          .port = options.port.value_or(kPort),
          .more_ports = options.port ? 0 : kMorePorts};
}

AccessOptions access_options(const Options& options) {
  return {.token = random_hex(kTokenDigits),
          .cookie = random_hex(kTokenDigits),
          .cookie_name = cat("rtrain_", random_hex(8)),
          .hosts = {"127.0.0.1", "localhost", "[::1]"},
          .proxies = options.proxies,
          .base_path = checked_base_path(options.base_path),
          .read_only = options.read_only};
}

void print_address(const Options& options, const AccessOptions& access,
                   const SocketAddress& address) {
  std::cout << "http://" << address.text() << access.base_path << "/?token=" << access.token
            << std::endl;
  std::cerr << "rtrain: the runs of " << options.storage_path()
            << (options.read_only ? ", read only" : "") << "; Ctrl-C ends it\n";
  if (std::getenv("SSH_CONNECTION") == nullptr) return;
  std::cerr << "rtrain: from your own machine: ssh -L " << address.port() << ":" << address.text()
            << " " << hostname() << "\n";
}

void serve(const Options& options) {
  const AccessOptions access = access_options(options);
  const HttpServerOptions server = server_options(options);
  Dashboard dashboard(options.storage_path(), access, page_files());
  Loop loop;
  const HttpServer listening(loop, server, dashboard);
  const Signal interrupted(loop, SIGINT, [&loop] { loop.stop(); });
  const Signal terminated(loop, SIGTERM, [&loop] { loop.stop(); });
  print_address(options, access, listening.address());
  loop.run();
}

}  // namespace

void add_dash(Parser& parser) {
  auto options = std::make_shared<Options>();
  Command command = parser.command("dash", "Show the runs in a browser");
  command
      .option("--port", &options->port,
              cat("to listen at; 0: any that is free (else ", kPort, " or one of the next)"))
      .value_name("N")
      .within(0, 65535);
  command.option("--host", &options->host, "the loopback address to listen at (default 127.0.0.1)")
      .value_name("ADDRESS");
  command
      .option("--base-path", &options->base_path,
              "below which all addresses lie, behind a proxy: /rtrain")
      .value_name("PATH");
  command.option("--allow-host", &options->proxies, "a name under which a proxy passes requests on")
      .value_name("NAME")
      .repeatable();
  command.flag("--read-only", &options->read_only, "nothing can be changed");
  command.option("--storage", &options->storage, "the folder of the runs").value_name("DIR");
  command.footer(
      "Prints the address to open on stdout: whoever has it may read the runs, and change notes,\n"
      "tags and the archive. Listens on loopback alone, and asks no network. `rtrain doc\n"
      "guide/dashboard` has the pages, the API and /metrics.\n"
      "Exits with 0 after Ctrl-C or SIGTERM, with 4 when it cannot listen");
  command.action([options] { serve(*options); });
}

}  // namespace rtrain
