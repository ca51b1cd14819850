// The standard streams of the process. What a command has to say counts only once it is written: a full disk or a
// closed descriptor is an error, and a reader that went away (`| head`) ends the program as it ends git and coreutils.
#pragma once

#include <string>

namespace flightplan::cli {

// Opens /dev/null for each of the three that is closed, the wrong way round so that using it stays an error. Otherwise
// the first file that is opened takes its number, and a database gets our output. Needs no initialized global.
void OpenStandardStreams();

// Writes `out` to standard output after what stdio still holds, then `err` to standard error, and closes standard
// output. Returns `code`, or kExitOutput after a line on standard error if something could not be written. If nobody
// reads standard output any more, does not return: ends the process by SIGPIPE, in silence, also if its parent ignored
// that.
int WriteStandardStreams(const std::string& out, const std::string& err, int code);

}  // namespace flightplan::cli
