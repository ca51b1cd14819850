// What the settings of a published run are to the forecast.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "resolver/catalog/catalog.h"
#include "tests/evidence/truth.h"
#include "tests/support/json_row.h"

namespace flightplan {

// What a row's settings say, on top of what `run` holds; why it cannot be expressed, or nothing.
std::string ReadSettings(const Catalog& catalog, const Json& row, const Json& extra, Run* run);

// The catalogue's model of this name, of this hub name, or whose name begins with it.
const ModelSpec* FindModelByName(const Catalog& catalog, const std::string& name, const std::string& hub_name);
// What is held out together: sizes of one architecture are one family.
std::string FamilyOf(const std::string& model);

// Single settings, in the rows' own words; nothing: not known to the forecast.
std::optional<GemmPrecision> ReadPrecision(const std::string& name);
std::optional<Dispatcher> ReadBackend(const std::string& name);
void ReadRecompute(const std::vector<std::string>& modules, Candidate* plan);
void ReadGraphs(const std::string& impl, const std::vector<std::string>& scopes, Candidate* plan);
// `layout`: the pipeline's layout string; empty: not stated.
void SetStages(const std::string& layout, Run* run);
// Rows do not state how context-parallel ranks exchange: what the decisions take.
void SetContextExchange(Run* run);

}  // namespace flightplan
