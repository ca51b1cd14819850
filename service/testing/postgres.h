// A PostgreSQL server for tests (tests/support/postgres.sh), started when first asked for and stopped at the end.
#pragma once

#include <string>

namespace flightplan::service {

class TestPostgres {
 public:
  // Its URL, or empty where no PostgreSQL is installed. Every call makes a new, empty database.
  static std::string NewDatabase();
  // "stop", "start" or "kill" it.
  static void Do(const std::string& action);
};

}  // namespace flightplan::service
