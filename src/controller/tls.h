#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "controller/workspace.h"
#include "inventory/state.h"
#include "model/declarations.h"
#include "os/clock.h"

/// The certificates of the servers that Mesh runs, issued by the mesh's own authority wherever an
/// address is beyond loopback.
namespace mesh::controller {

enum class Served { Bus, Registry };

/// Where a server's certificate and key are: one file, replaced in one step, mode 0600.
[[nodiscard]] std::string certificate_file(const inventory::StatePaths& paths, Served server);

/// Every host by which the server is dialled: of `listen`, of `advertise`, and of the nodes' own
/// addresses. One that listens on every address and advertises none is dialled by this machine's
/// (`machine`) and by its loopback ones. Pure.
[[nodiscard]] std::vector<std::string> served_hosts(const model::Mesh& mesh, Served server,
                                                    std::span<const std::string> machine);

/// This machine's addresses that others may dial, and its name.
[[nodiscard]] std::vector<std::string> machine_hosts();

/// The bus as a machine dials it: `model::Mesh::bus_urls`; of a server that listens on every
/// address and advertises none, by each of `machine`. Pure.
[[nodiscard]] std::vector<std::string> dialled_urls(const model::Mesh& mesh,
                                                    const model::Node& node,
                                                    std::span<const std::string> machine);

/// Why the server needs another certificate: there is none, less than a third of its life is left,
/// it names other hosts than those that are dialled, or it is not the authority's. Nothing where it
/// is good, or where the server speaks no TLS. Errors: those of the authority's file.
[[nodiscard]] Result<std::optional<std::string>> certificate_due(const inventory::StatePaths& paths,
                                                                 const model::Mesh& mesh,
                                                                 Served server, os::WallTime now);

/// Issues another one where it is due, and says whether it did. The server is to be told.
[[nodiscard]] Result<bool> renew_certificate(const inventory::StatePaths& paths,
                                             const model::Mesh& mesh, Served server,
                                             os::WallTime now);

/// Less than a third of its life is left. False where there is none.
[[nodiscard]] bool is_certificate_old(const inventory::StatePaths& paths, Served server,
                                      os::WallTime now);

/// Issues another one for the hosts that the one there names, where little of its life is left; for
/// who looks after a server between two pushes, and does not know what is declared by now. Says
/// whether it did.
[[nodiscard]] Result<bool> prolong_certificate(const inventory::StatePaths& paths, Served server,
                                               os::WallTime now);

/// Issues one where there is none at all.
[[nodiscard]] Status ensure_certificate(const inventory::StatePaths& paths, const model::Mesh& mesh,
                                        Served server, os::WallTime now);

/// A text that is another one once the certificate is; empty where there is none.
[[nodiscard]] std::string certificate_mark(const inventory::StatePaths& paths, Served server);

/// Until when a server's certificate lasts. Errors: NotFound (there is none), Corrupt.
[[nodiscard]] Result<os::WallTime> certificate_end(const inventory::StatePaths& paths,
                                                   Served server);

}  // namespace mesh::controller
