#pragma once

#include "os/server_record.h"

namespace mesh::bus {

/// What bus/server.json holds, so that other verbs find the managed server.
using os::running_server;
using os::ServerRecord;
using os::write_record;

}  // namespace mesh::bus
