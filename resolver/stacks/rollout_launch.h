// What the readers of slime and its forks share: Megatron-LM's words with words of their own, of which some say how
// many GPUs the actor has, how many samples a step takes and how many tokens a microbatch holds. What a trainer does
// otherwise is data, or code in its folder.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "resolver/read/argparse.h"
#include "resolver/render/launch.h"
#include "resolver/stacks/written_knobs.h"

namespace flightplan {

// The words as pairs of flag and value. Read once: a reader asks for some hundred flags, and a launch may have as many
// words as a megabyte holds.
class RolloutWords {
 public:
  explicit RolloutWords(absl::Span<const Argument> args);

  // The last one; null: it is not written.
  const Argument* Find(absl::string_view flag) const;
  bool Has(absl::string_view flag) const { return Find(flag) != nullptr; }
  // Empty: not written, or not known.
  std::optional<absl::string_view> Text(absl::string_view flag) const;
  // Empty: not written, or not as a number.
  std::optional<int64_t> Number(absl::string_view flag) const;
  absl::Span<const Argument> all() const { return args_; }

 private:
  const absl::Span<const Argument> args_;
  absl::flat_hash_map<absl::string_view, const Argument*> last_;  // by the word up to its first `=`
};

// A flag that the trainer refuses without another, or beside another.
struct RolloutPair {
  absl::string_view flag, value = {};  // value: empty: any
  absl::string_view other, another = {};
  absl::string_view source;
  bool beside = false;  // refused where `other` is there, whose value is `another` unless that is empty
};

// A check of the trainer's, by its rule and its line.
struct RolloutCheck {
  absl::string_view rule_id, source;
};

struct RolloutTrainer {
  absl::string_view name;  // "slime"
  // How flags begin that parsers beside Megatron's take: those of the engine and of its router.
  absl::Span<const absl::string_view> of_engine;
  absl::Span<const RolloutPair> pairs;
  RolloutCheck goes_with;  // the pairs' rule; each has its own line
  RolloutCheck prompts, length;
  RolloutCheck batch, stages;
};

// Megatron-LM's flags in each release and those of the trainer, which adds what Megatron's parser lacks; its own stand
// before those that it shares. `later`: flags that the trainer's copy of Megatron-LM has from newer releases.
class RolloutTables {
 public:
  explicit RolloutTables(absl::Span<const FlagSpec> own, absl::Span<const absl::string_view> later = {});
  // Of the nearest release that is known.
  const FlagTable& Of(int core_release) const;

 private:
  std::vector<FlagTable> tables_;  // in the order of kCoreReleases
};

// Takes out of the findings of this rule those of flags that another parser of the trainer's takes.
void DropFlagsOfEngine(const RolloutTrainer& trainer, absl::string_view unknown_rule_id, ParseResult* result);

class RolloutReader {
 public:
  RolloutReader(const RolloutTrainer& trainer, absl::Span<const Argument> args, ParseResult* out)
      : trainer_(trainer), words_(args), out_(*out), knobs_(out) {}

  const RolloutWords& words() const { return words_; }
  WrittenKnobs& knobs() { return knobs_; }
  // Samples are packed up to a number of tokens.
  bool packed() const { return packed_; }

  // As many ranks as the actor has GPUs.
  void TakeWorld();
  void CheckPairs();
  // That there are prompts for a rollout, and a number of rollouts.
  void CheckLength();
  // The samples of a rollout, in as many steps as are said.
  void SetBatch();
  void SetIterations();
  // Samples of any length are packed up to the tokens of a GPU, times the GPUs that share a sequence: for memory, one
  // sequence of that length. What is written as the length is a placeholder there, which no step comes to hold, and a
  // microbatch's number of samples is passed over (slime/backends/megatron_utils/data.py, get_data_iterator).
  void SetPackedLength();
  // The layers of a first or last stage are said of a pipeline alone.
  void CheckStages();
  // Parameters that are frozen, states that are not kept: no formula weighs them.
  void NoteWhatIsNotWeighed();

 private:
  // No word may hold flags that cannot be read.
  bool clear() const { return out_.open_words.empty(); }
  void Refuse(const Argument* at, const RolloutCheck& check, std::string seen, std::string needs);
  // The same of what is not there: where a word may hold it, that is said instead.
  void RefuseWithout(const Argument* at, const RolloutCheck& check, std::string seen, std::string needs);

  const RolloutTrainer& trainer_;
  const RolloutWords words_;
  ParseResult& out_;
  WrittenKnobs knobs_;
  bool packed_ = false;
};

// A launch on the GPUs that its rollouts use too. A microbatch of one sequence is written as the tokens that it holds
// on a GPU, of several as so many samples.
Launch RenderRollout(const RenderInput& input);

}  // namespace flightplan
