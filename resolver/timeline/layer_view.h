// One forward and one backward of a rank, layer by layer, and one layer, operator by operator.
#pragma once

#include <string>
#include <vector>

#include "resolver/derive/shape.h"
#include "resolver/derive/stage_layout.h"
#include "resolver/estimate/step_detail.h"
#include "resolver/timeline/pass_cost.h"
#include "resolver/timeline/replay.h"
#include "resolver/timeline/timeline.h"

namespace flightplan {

// Something that a chunk runs as a whole: a decoder layer, an MTP projection, an output layer; or several alike.
struct ChunkUnit {
  const LayerParts* parts = nullptr;
  std::string name;    // "layer 12", "layers 12..40", "output layer"
  int64_t layer = -1;  // the first decoder layer; -1: none
  int64_t repeat = 1;
};

// In the order of the forward pass. `layer`: the chunk's first decoder layer.
std::vector<ChunkUnit> UnitsOf(const ModelShape& shape, const StepDetail& detail, const ChunkContents& chunk,
                               int64_t layer);

// What a pair of passes in one schedule node looks like.
struct PairRules {
  bool delay_wgrad = false, early_attention_release = false;
};

// Units of one rank as events that follow each other from 0 on.
class LayerDrawing {
 public:
  // `operators`: attention by its products, kernels and norms, and so on; else by module.
  LayerDrawing(const StepDetail& detail, const RankCosts& costs, int rank, bool operators);

  void DrawForward(const ChunkUnit& unit);
  void DrawBackward(const ChunkUnit& unit);
  // Both in one pass. Units of one kind that exchange tokens are drawn as the two streams run them; others one after
  // the other, each at its half of what the forecast gives to a pair of its kind. Null: there is none.
  void DrawPair(const ChunkUnit* forward, const ChunkUnit* backward, const PairRules& rules);
  // What stands behind a pass: transfers between stages, and traffic of sharded weights.
  struct Directions {
    bool forward = false, backward = false;
  };
  void DrawBehind(const PassCost& every_pass, const PipelineHop& hop, const Directions& passes);

  TimelineView Take(TimelineZoom zoom, std::string title) &&;
  double now() const { return now_; }

 private:
  struct Piece {
    const char* name;
    TimelineKind kind;
    TimelineStream stream;
    double us;          // that the pass waits for
    double hidden = 0;  // that run beside what came before
  };

  std::vector<Piece> ForwardPieces(const LayerParts& parts) const;
  std::vector<Piece> BackwardPieces(const LayerParts& parts) const;
  void AddCompute(const char* module, const Load& load, TimelineKind kind, std::vector<Piece>* pieces) const;
  static void AddTransfers(const Load& load, std::vector<Piece>* pieces);
  std::vector<Piece> NodePieces(PairNode node, const LayerParts& parts) const;
  // Pieces in a row, made to take `us` altogether; a unit of several layers is one event.
  void DrawRow(const ChunkUnit& unit, const std::vector<Piece>& pieces, const PassCost& cost, double us, bool backward);
  void DrawWalk(const ChunkUnit& forward, const ChunkUnit& backward, const PairRules& rules);
  void DrawWaits(const PassCost& cost, double scale, bool backward, int64_t layer);
  TimelineEvent& Put(TimelineKind kind, TimelineStream stream, double start_us, double us, double exposed_us,
                     const char* name);

  const StepDetail& detail_;
  const RankCosts& costs_;
  const int rank_;
  const bool operators_;
  double now_ = 0;
  std::array<double, 8> free_{};  // by stream: when its last event ends
  std::vector<TimelineEvent> events_;
  TimelineEvent dropped_;
};

// The pipeline rank that holds a layer; -1: none does.
int RankOfLayer(const StageLayout& stages, int64_t layer);

}  // namespace flightplan
