// Models of the catalogue, cut and executed plainly.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/strings/string_view.h"
#include "resolver/catalog/catalog.h"
#include "resolver/derive/candidate.h"
#include "resolver/derive/pipeline.h"
#include "resolver/derive/stage_layout.h"

namespace flightplan {

inline ModelShape ShapeOf(absl::string_view name) {
  static const Catalog& catalog = *new Catalog(*Catalog::Builtin());
  return *MakeShape(**catalog.FindModel(name));
}

inline StageLayout Even(const ModelShape& shape, int pp, int vpp = 1) {
  return StagesOfSizes(
      shape, pp, vpp,
      std::vector<int64_t>(static_cast<size_t>(pp) * static_cast<size_t>(vpp), shape.num_layers / (int64_t{pp} * vpp)));
}

inline Candidate Plan(const StageLayout& stages, int64_t gpus) {
  Candidate c;
  c.stages = &stages;
  c.gpus = gpus;
  c.pp = stages.pp;
  c.vpp = stages.vpp;
  c.distributed_optimizer = true;
  c.seq_length = 4096;
  c.global_batch_size = 1024;
  return c;
}

}  // namespace flightplan
