#pragma once

#include <string>

namespace mesh::host {

/// The keeper of one unit: `mesh-host keep DIRECTORY`, started by Commands and by nobody else. It
/// takes the lock of the unit's directory, starts the command that spec.json there says, keeps its
/// output in a bounded log, ends it when it is told to (SIGTERM to the keeper, with the grace in
/// milliseconds as the signal's value; the component's own grace without), takes with it all that
/// the command started, writes down how it ended, and ends. One thread, little memory; it opens no
/// connection.
///
/// The first line on stdout says whether the command began: `ok`, or the error as JSON; then stdout
/// is closed. Returns the exit code of the keeper: 0 where the command began, whatever became of
/// it. Call it before any thread is started and before any library is set up.
int keep(const std::string& directory);

}  // namespace mesh::host
