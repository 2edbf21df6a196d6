// host/wire/rendezvous.h: how the processes of a job find each other when the user gives no secret:
// by a file in a folder that all nodes share. Node 0 writes its address and a new secret into it;
// the other nodes read it.
#pragma once

#include <optional>
#include <string>

#include "host/wire/contact.h"

namespace rtrain::wire {

class Rendezvous {
 public:
  // $RTRAIN_RENDEZVOUS, else ~/.local/state/rtrain/jobs/<job id>. Throws Error(kEnvironment)
  // without a home.
  static std::string path_for(const std::string& job_id);

  // `start`: a text that names this start of the job, the same on all nodes. A file of another
  // start is ignored.
  Rendezvous(const std::string& path, std::string start);
  // Removes the file that publish() wrote, unless another process has replaced it.
  ~Rendezvous();
  Rendezvous(const Rendezvous&) = delete;
  Rendezvous& operator=(const Rendezvous&) = delete;

  // Writes the file, on node 0. Throws Error(kEnvironment).
  void publish(const WireContact& contact);
  // Reads the file, on the other nodes, as WireClientOptions::find. Nullopt until node 0 has
  // published; `why` then says which file is awaited.
  std::optional<WireContact> find(std::string& why) const;

  const std::string& path() const { return path_; }

 private:
  std::string path_;
  std::string start_;
  std::string nonce_;  // of the file that this process has published
};

}  // namespace rtrain::wire
