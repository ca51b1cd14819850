#include "resolver/answer/estimate_message.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <string>
#include <vector>

#include "flightplan/v1/estimate.pb.h"

namespace flightplan {

void PutRange(int field, double value, double low, double high, WireWriter* w) {
  using M = v1::Range;
  w->PutMessage(field, [&] {
    w->Real(M::kValueFieldNumber, value);
    w->Real(M::kLowFieldNumber, low);
    w->Real(M::kHighFieldNumber, high);
  });
}

namespace {

v1::FigureKind KindOf(Certainty certainty) {
  switch (certainty) {
    case Certainty::kExact:
      return v1::FIGURE_KIND_EXACT;
    case Certainty::kModel:
      return v1::FIGURE_KIND_MODEL;
    case Certainty::kMargin:
      return v1::FIGURE_KIND_MARGIN;
  }
  return v1::FIGURE_KIND_UNSPECIFIED;
}

v1::FitVerdict FitOf(FitVerdict fit) {
  switch (fit) {
    case FitVerdict::kUnknown:
      return v1::FIT_VERDICT_UNKNOWN;
    case FitVerdict::kFits:
      return v1::FIT_VERDICT_FITS;
    case FitVerdict::kMarginal:
      return v1::FIT_VERDICT_MARGINAL;
    case FitVerdict::kDoesNotFit:
      return v1::FIT_VERDICT_DOES_NOT_FIT;
  }
  return v1::FIT_VERDICT_UNSPECIFIED;
}

// What never changes of a part's message, as it is sent.
struct EncodedPart {
  std::string name, kind;
};

const std::array<EncodedPart, kMemoryParts>& EncodedParts() {
  using M = v1::MemoryPart;
  static const auto* const kParts = [] {
    auto* parts = new std::array<EncodedPart, kMemoryParts>();
    for (size_t i = 0; i < kMemoryParts; ++i) {
      const auto part = static_cast<MemoryPart>(i);
      WireWriter name(64), kind(64);
      name.Text(M::kNameFieldNumber, Name(part));
      kind.Int(M::kKindFieldNumber, KindOf(CertaintyOf(part)));
      (*parts)[i] = {std::string(name.bytes()), std::string(kind.bytes())};
    }
    return parts;
  }();
  return *kParts;
}

void PutStage(int field, const StageForecast& stage, int last_rank, WireWriter* w) {
  using M = v1::StageMemory;
  const std::array<EncodedPart, kMemoryParts>& parts = EncodedParts();
  w->PutMessage(field, [&] {
    w->Int(M::kStageFieldNumber, stage.rank);
    for (size_t i = 0; i < kMemoryParts; ++i) {
      if (stage.bytes.parts[i] < 1) continue;
      w->PutMessage(M::kPartsFieldNumber, [&] {
        w->PutEncoded(parts[i].name);
        w->Int(v1::MemoryPart::kPartBytesFieldNumber, std::llround(stage.bytes.parts[i]));
        w->PutEncoded(parts[i].kind);
      });
    }
    PutRange(M::kTotalBytesFieldNumber, stage.total.value, stage.total.low, stage.total.high, w);
    w->Int(M::kLastStageIndexFieldNumber, last_rank);
    PutRange(M::kAllocatedBytesFieldNumber, stage.allocated.value, stage.allocated.low, stage.allocated.high, w);
    if (stage.device.value > 0) {
      PutRange(M::kDeviceBytesFieldNumber, stage.device.value, stage.device.low, stage.device.high, w);
    }
  });
}

void PutHost(int field, const EstimatedPlan& estimate, WireWriter* w) {
  using M = v1::HostMemory;
  w->PutMessage(field, [&] {
    PutRange(M::kNodeBytesFieldNumber, estimate.host.value, estimate.host.low, estimate.host.high, w);
    w->Int(M::kUsableBytesFieldNumber, estimate.host_memory_bytes);
    w->Int(M::kFitFieldNumber, FitOf(estimate.host_fit));
  });
}

// Fields of an Estimate.
void PutThroughput(const Throughput& throughput, WireWriter* w) {
  using M = v1::Estimate;
  w->Real(M::kStepFlopsFieldNumber, throughput.step_flops);
  w->Real(M::kTokensPerSecondFieldNumber, throughput.tokens_per_second);
  w->Real(M::kTokensPerSecondPerGpuFieldNumber, throughput.tokens_per_second_per_gpu);
  w->Real(M::kFlopsPerSecondPerGpuFieldNumber, throughput.flops_per_second_per_gpu);
  w->Real(M::kPeakFlopsPerSecondFieldNumber, throughput.peak_flops_per_second);
  w->Real(M::kMfuRatioFieldNumber, throughput.mfu);
  for (const CommunicationPath& path : throughput.communication) {
    if (path.exposed_us <= 0 && path.hidden_us <= 0) continue;
    w->PutMessage(M::kCommunicationFieldNumber, [&] {
      using P = v1::CommunicationPath;
      w->Text(P::kNameFieldNumber, path.name);
      w->Real(P::kExposedUsFieldNumber, path.exposed_us);
      w->Real(P::kHiddenUsFieldNumber, path.hidden_us);
    });
  }
}

void PutOutlook(const StepOutlook& outlook, const Throughput* throughput, WireWriter* w) {
  using M = v1::Estimate;
  PutRange(M::kStepTimeUsFieldNumber, outlook.us, outlook.low_us, outlook.high_us, w);
  std::vector<WallShare> walls = outlook.walls;
  std::sort(walls.begin(), walls.end(), [](const WallShare& a, const WallShare& b) { return a.name < b.name; });
  for (const WallShare& wall : walls) {
    w->PutMessage(M::kWallRatiosFieldNumber, [&] {
      w->PutText(1, wall.name);
      w->PutReal(2, wall.ratio);
    });
  }
  if (throughput != nullptr) PutThroughput(*throughput, w);
  for (const absl::string_view term : outlook.unmeasured) w->Text(M::kUnmeasuredTermsFieldNumber, term);
}

}  // namespace

void PutMemory(int field, const MemoryStanding& memory, WireWriter* w) {
  using M = v1::MemoryVerdict;
  w->PutMessage(field, [&] {
    w->Int(M::kFitFieldNumber, FitOf(memory.fit));
    w->Text(M::kMissingInputFieldNumber, memory.missing_input);
    w->Int(M::kAtLeastBytesFieldNumber, memory.at_least_bytes);
    w->Int(M::kUsableBytesFieldNumber, memory.usable_bytes);
    w->Int(M::kReservedBytesFieldNumber, memory.reserved_bytes);
  });
}

// Neighbouring stages with the same figures stand in one entry.
void PutEstimate(int field, const EstimatedPlan& estimate, const StepOutlook* outlook, const Throughput* throughput,
                 WireWriter* w) {
  using M = v1::Estimate;
  const auto same = [](const StageForecast& a, const StageForecast& b) {
    return a.bytes.parts == b.bytes.parts && a.total.high == b.total.high;
  };
  w->PutMessage(field, [&] {
    w->Int(M::kFitFieldNumber, FitOf(estimate.fit));
    w->Int(M::kUsableBytesFieldNumber, estimate.usable_bytes);
    for (size_t first = 0, last = 0; first < estimate.stages.size(); first = last + 1) {
      for (last = first; last + 1 < estimate.stages.size();) {
        if (!same(estimate.stages[first], estimate.stages[last + 1])) break;
        ++last;
      }
      PutStage(M::kStagesFieldNumber, estimate.stages[first], estimate.stages[last].rank, w);
    }
    w->Text(M::kScopeFieldNumber, estimate.scope);
    if (outlook != nullptr) PutOutlook(*outlook, throughput, w);
    w->Int(M::kReservedBytesFieldNumber, estimate.reserved_bytes);
    if (estimate.host.value > 0) PutHost(M::kHostFieldNumber, estimate, w);
  });
}

}  // namespace flightplan
