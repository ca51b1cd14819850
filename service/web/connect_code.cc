#include "service/web/connect_code.h"

#include <cstddef>
#include <iterator>

namespace flightplan::service {
namespace {

constexpr ConnectCode kCodes[] = {
    {"unknown", 500},              // 0, OK, is no error
    {"canceled", 499},             // 1
    {"unknown", 500},              // 2
    {"invalid_argument", 400},     // 3
    {"deadline_exceeded", 504},    // 4
    {"not_found", 404},            // 5
    {"already_exists", 409},       // 6
    {"permission_denied", 403},    // 7
    {"resource_exhausted", 429},   // 8
    {"failed_precondition", 400},  // 9
    {"aborted", 409},              // 10
    {"out_of_range", 400},         // 11
    {"unimplemented", 501},        // 12
    {"internal", 500},             // 13
    {"unavailable", 503},          // 14
    {"data_loss", 500},            // 15
    {"unauthenticated", 401},      // 16
};

}  // namespace

const ConnectCode& ConnectCodeOf(int code) {
  const bool known = code > 0 && static_cast<size_t>(code) < std::size(kCodes);
  return kCodes[known ? static_cast<size_t>(code) : 2];
}

}  // namespace flightplan::service
