// Every row that the worker may report: its group, and what it measures.
#pragma once

#include <string_view>

namespace flightplan::probe {

struct RowKindInfo {
  std::string_view group, id, unit, about;
};

// Null: no such row. The worker reports no row that is not in this table.
const RowKindInfo* FindRow(std::string_view id);
const RowKindInfo* RowTableBegin();
const RowKindInfo* RowTableEnd();

bool IsGroup(std::string_view name);

}  // namespace flightplan::probe
