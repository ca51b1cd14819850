// The facts of each answer, by the table in ../README.md.
#pragma once

#include <string>

#include "flightplan/v1/catalog_service.pb.h"
#include "flightplan/v1/evidence_service.pb.h"
#include "flightplan/v1/probe_service.pb.h"
#include "flightplan/v1/resolver_service.pb.h"
#include "google/rpc/status.pb.h"
#include "tests/conformance/cpp/facts.h"

namespace flightplan::conformance {

// `at` stands before every name; it is empty or ends in '.'.
void AddAnswer(const std::string& at, const v1::ResolveConfigResponse& answer, Facts* facts);
void AddAnswer(const std::string& at, const v1::ValidateConfigResponse& answer, Facts* facts);
void AddAnswer(const std::string& at, const v1::PlanResult& answer, Facts* facts);
void AddAnswer(const std::string& at, const v1::BatchResolveResponse& answer, Facts* facts);
void AddAnswer(const std::string& at, const v1::ConvertConfigResponse& answer, Facts* facts);
void AddAnswer(const std::string& at, const v1::ModelSpec& answer, Facts* facts);
void AddAnswer(const std::string& at, const v1::ListModelsResponse& answer, Facts* facts);
void AddAnswer(const std::string& at, const v1::GpuSystem& answer, Facts* facts);
void AddAnswer(const std::string& at, const v1::ListGpusResponse& answer, Facts* facts);
void AddAnswer(const std::string& at, const v1::KnobInfo& answer, Facts* facts);
void AddAnswer(const std::string& at, const v1::ListKnobsResponse& answer, Facts* facts);
void AddAnswer(const std::string& at, const v1::RuleInfo& answer, Facts* facts);
void AddAnswer(const std::string& at, const v1::ListRulesResponse& answer, Facts* facts);
void AddAnswer(const std::string& at, const v1::Measurement& answer, Facts* facts);
void AddAnswer(const std::string& at, const v1::ReportMeasurementResponse& answer, Facts* facts);
void AddAnswer(const std::string& at, const v1::ListMeasurementsResponse& answer, Facts* facts);
void AddAnswer(const std::string& at, const v1::HardwareProfile& answer, Facts* facts);
void AddAnswer(const std::string& at, const v1::ListProfilesResponse& answer, Facts* facts);

// Code, ErrorInfo, violations, RetryInfo.
void AddStatus(const std::string& at, const google::rpc::Status& status, Facts* facts);

}  // namespace flightplan::conformance
