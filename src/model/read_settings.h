#pragma once

#include "model/declarations.h"
#include "model/table.h"

namespace mesh::model {

// Each reads one table of mesh.toml's settings over the defaults that `out` holds.

void read_bus(const Table& table, BusSettings& out);
void read_events(const Table& table, EventsSettings& out);
void read_registry(const Table& table, RegistrySettings& out);
void read_upstreams(const Table& top, std::map<std::string, Upstream>& out);

/// `[delivery]`, and the same keys of a seat.
void read_delivery(const Table& table, Delivery& out);

[[nodiscard]] EventsSettings default_events();
[[nodiscard]] Delivery default_delivery();
[[nodiscard]] RegistrySettings default_registry();

}  // namespace mesh::model
