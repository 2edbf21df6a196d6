// rtrain dash: the runs of a store in a browser.
#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <memory>
#include <optional>

#include "host/base/error.h"
#include "host/base/files/new_file.h"
#include "host/base/random.h"
#include "host/base/text/hex.h"
#include "host/base/text/text.h"
#include "host/cli/parser/command.h"
#include "host/cli/runs/page_files.h"
#include "host/cli/screen/listing.h"
#include "host/dash/dashboard.h"
#include "host/dash/live/store_refresh.h"
#include "host/loop/signal.h"
#include "host/machine/machine.h"
#include "host/store/files/file.h"
#include "host/store/runs/storage_folder.h"
#include "host/wire/secret_source.h"

namespace rtrain::cli {
namespace {

constexpr int kPort = 8490;
constexpr int kMorePorts = 20;
constexpr int kTokenDigits = 32;

struct Options : ListingOptions {
  std::optional<int> port;
  std::string host = "127.0.0.1";
  std::string certificate;
  std::string key;
  std::string token_file;
  std::string base_path;
  std::vector<std::string> proxies;
  bool read_only = false;
};

// Returns null if no certificate was given.
std::shared_ptr<const wire::TlsCertificate> certificate_of(const Options& options) {
  if (options.certificate.empty() != options.key.empty()) {
    throw Error(Code::kUsage, "--cert and --key belong together: give both");
  }
  if (options.certificate.empty()) return nullptr;
  try {
    return wire::TlsCertificate::parse(store::read_text(options.certificate),
                                       store::read_text(options.key));
  } catch (const Error& e) {
    if (e.code() != Code::kUsage) throw;
    throw Error(Code::kUsage,
                cat("--cert ", options.certificate, ", --key ", options.key, ": ", e.message()));
  }
}

http::HttpPortOptions server_options(const Options& options) {
  const std::string address = options.host == "localhost" ? "127.0.0.1" : options.host;
  const auto parsed = wire::SocketAddress::parse(address, 0);
  if (!parsed) {
    throw Error(Code::kUsage, cat("--host: '", options.host, "' is not a numeric address"));
  }
  auto certificate = certificate_of(options);
  if (!parsed->is_loopback() && !certificate) {
    throw Error(Code::kUsage,
                cat("--host ", options.host,
                    ": beyond this node the dashboard needs TLS: --cert FILE --key FILE. "
                    "From another machine without it: ssh -L ",
                    kPort, ":127.0.0.1:", kPort,
                    " HOST, or a proxy with TLS on this node (--allow-host NAME, --base-path)"));
  }
  return {.address = address,
          .port = options.port.value_or(kPort),
          .more_ports = options.port ? 0 : kMorePorts,
          .certificate = std::move(certificate)};
}

// Returns the token in the file. Creates a missing file, so that the token stays the same.
wire::Secret stored_token(const std::string& path) {
  if (!std::filesystem::exists(path)) {
    NewFile file(path, NewFile::Readers::kUserAlone);
    const std::string line = random_hex(2 * kTokenDigits) + "\n";
    file.write(line.data(), line.size());
    file.commit();
  }
  wire::Secret token = wire::read_secret(path);
  const bool is_plain = std::all_of(token.bytes().begin(), token.bytes().end(), [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '-' || c == '_';
  });
  if (is_plain) return token;
  throw Error(Code::kUsage, cat("--token-file ", path, ": a token has letters, digits, - and _"));
}

// Tokens and cookies. They are derived from a stored token without revealing it.
class Keys {
 public:
  explicit Keys(const std::string& token_file) {
    if (!token_file.empty()) stored_.emplace(stored_token(token_file));
  }

  dash::AccessKey writer() const {
    return {.token = stored_ ? stored_->bytes() : random_hex(kTokenDigits),
            .cookie = other("writer's cookie")};
  }
  dash::AccessKey viewer() const {
    return {.token = other("viewer's token"), .cookie = other("viewer's cookie")};
  }
  // Browsers do not separate cookies by port, so each dashboard of a host has its own cookie name.
  std::string cookie_name() const { return cat("rtrain_", other("cookie's name").substr(0, 8)); }

 private:
  std::string other(const char* what) const {
    if (!stored_) return random_hex(kTokenDigits);
    return to_hex(
        wire::tls_api().hkdf_sha256(stored_->bytes(), "rtrain dash", what, kTokenDigits / 2));
  }

  std::optional<wire::Secret> stored_;
};

// Returns "[fe80::1]" for "fe80::1", as in the address that a browser sends.
std::string host_in_address(const Options& options) {
  const bool has_colons = options.host.find(':') != std::string::npos;
  return has_colons ? cat("[", options.host, "]") : options.host;
}

dash::AccessOptions access_options(const Options& options,
                                   const wire::TlsCertificate* certificate) {
  const Keys keys(options.token_file);
  dash::AccessOptions out{.writer = keys.writer(),
                          .viewer = keys.viewer(),
                          .cookie_name = keys.cookie_name(),
                          .is_secure = certificate != nullptr,
                          .hosts = {"127.0.0.1", "localhost", "[::1]", host_in_address(options)},
                          .proxies = options.proxies,
                          .base_path = dash::checked_base_path(options.base_path),
                          .read_only = options.read_only};
  if (certificate != nullptr) {
    out.hosts.insert(out.hosts.end(), certificate->names().begin(), certificate->names().end());
  }
  return out;
}

// Returns the address for users. If the server listens on all addresses of the node, uses a host
// name.
std::string page_address(const dash::AccessOptions& access, const http::HttpPortOptions& server,
                         const wire::SocketAddress& address) {
  std::string place = address.text();
  const std::string host = address.host();
  if (host == "0.0.0.0" || host == "::") {
    const std::vector<std::string>& names = server.certificate->names();
    const auto named = std::find_if(names.begin(), names.end(),
                                    [](const std::string& name) { return name.front() != '*'; });
    place = cat(named == names.end() ? machine::hostname() : *named, ":", address.port());
  }
  return cat(server.certificate ? "https" : "http", "://", place, access.base_path, "/?token=");
}

void print_address(const std::string& storage_path, const Options& options,
                   const dash::AccessOptions& access, const std::string& page,
                   const wire::SocketAddress& address) {
  std::cout << page << access.writer.token << std::endl;
  std::cerr << "rtrain: the runs of " << storage_path << (options.read_only ? ", read only" : "")
            << "; Ctrl-C ends it\n";
  if (!options.read_only) {
    std::cerr << "rtrain: for those who only look: " << page << access.viewer.token << "\n";
  }
  if (std::getenv("SSH_CONNECTION") == nullptr || !address.is_loopback()) return;
  std::cerr << "rtrain: from your own machine: ssh -L " << address.port() << ":" << address.text()
            << " " << machine::hostname() << "\n";
}

void serve(const Options& options) {
  const http::HttpPortOptions server = server_options(options);
  const dash::AccessOptions access = access_options(options, server.certificate.get());
  loop::Loop loop;
  const std::string storage_path = store::storage_folder(options.storage);
  const auto refresh = std::make_shared<const dash::StoreRefresh>(
      storage_path,
      [](const std::string& problem) { std::cerr << cat("rtrain: ", problem, "\n"); });
  dash::Dashboard dashboard(storage_path, access, page_files(), refresh);
  const dash::HttpServer listening(loop, server, dashboard);
  const auto end = [&] {
    dashboard.stop();
    loop.stop();
  };
  const loop::Signal interrupted(loop, SIGINT, end);
  const loop::Signal terminated(loop, SIGTERM, end);
  print_address(storage_path, options, access, page_address(access, server, listening.address()),
                listening.address());
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
  command
      .option("--host", &options->host,
              "the address to listen at (default 127.0.0.1); one that is not loopback needs TLS")
      .value_name("ADDRESS");
  command
      .option("--cert", &options->certificate,
              "speak TLS with this certificate (PEM), those that lead to its authority behind it")
      .value_name("FILE");
  command.option("--key", &options->key, "the certificate's private key (PEM)").value_name("FILE");
  command
      .option("--token-file", &options->token_file,
              "the token stands there and stays the same (made where it is missing)")
      .value_name("FILE");
  command
      .option("--base-path", &options->base_path,
              "below which all addresses lie, behind a proxy: /rtrain")
      .value_name("PATH");
  command.option("--allow-host", &options->proxies, "a name under which a proxy passes requests on")
      .value_name("NAME")
      .repeatable();
  command.flag("--read-only", &options->read_only, "nothing can be changed, and no live run asked");
  command.option("--storage", &options->storage, "the folder or URI of the runs").value_name("DIR");
  command.footer(
      "Prints the address to open on stdout: whoever has it may read the runs, stop them, and\n"
      "change notes, tags and the archive; another one on stderr only shows. Listens on loopback\n"
      "alone unless told, and asks no network. `rtrain doc guide/dashboard` has the pages, TLS,\n"
      "the API and /metrics.\n"
      "Exits with 0 after Ctrl-C or SIGTERM, with 4 when it cannot listen");
  command.action([options] { serve(*options); });
}

}  // namespace rtrain::cli
