#include <gtest/gtest.h>

#include <string>

#include "absl/strings/str_cat.h"
#include "resolver/stacks/edit_launch.h"
#include "resolver/stacks/megatron_bridge/dialect.h"

namespace flightplan {
namespace {

using K = Knob;

std::string Edited(const std::string& text, const Patch& patch, size_t unwritten = 0) {
  const EditedText edited = EditPython(text, ParseBridgePython(text, Environment()).knobs, patch);
  EXPECT_EQ(edited.unwritten.size(), unwritten) << text;
  return edited.text;
}

const Patch kSequenceParallel = {{K::sequence_parallel, "", Value(true)}};

TEST(EditPython, ChangesTheLiteralOfTheLastLineThatSetsAField) {
  EXPECT_EQ(Edited("cfg.model.sequence_parallel = True\ncfg.model.sequence_parallel=False  # why\nrun(cfg)\n",
                   kSequenceParallel),
            "cfg.model.sequence_parallel = True\ncfg.model.sequence_parallel=True  # why\nrun(cfg)\n");
  EXPECT_EQ(Edited("cfg.model.recompute_modules = ['moe', 'mlp']\n",
                   {{K::recompute_modules, "", Value(Value::List{"moe_act"})}}),
            "cfg.model.recompute_modules = [\"moe_act\"]\n");
  EXPECT_EQ(Edited("cfg.model.moe_token_dispatcher_type = \"flex\"", {{K::moe_token_dispatcher_type, "", Value()}}),
            "cfg.model.moe_token_dispatcher_type = None");
}

TEST(EditPython, AddsALineWhereTheOthersStand) {
  const std::string body = "def f(cfg, fast):\n  cfg.model.num_layers = 2\n";
  const std::string branch = "  if fast:\n    cfg.train.micro_batch_size = 1\n";
  EXPECT_EQ(Edited(absl::StrCat(body, branch, "  return cfg\n"), kSequenceParallel),
            absl::StrCat(body, "  cfg.model.sequence_parallel = True\n", branch, "  return cfg\n"));
  EXPECT_EQ(Edited("cfg.model.num_layers = 2", {{K::global_batch_size, "", Value(512)}}),
            "cfg.model.num_layers = 2\ncfg.train.global_batch_size = 512\n");
}

// A value that goes on below is not known, so that a later line says it.
TEST(EditPython, AddsALineBehindAValueThatItCannotRead) {
  const std::string text = "cfg.model.num_layers = \\\n  2\ncfg.model.hidden_size = 8\n";
  EXPECT_EQ(Edited(text, {{K::num_layers, "", Value(4)}}), absl::StrCat(text, "cfg.model.num_layers = 4\n"));
}

// An expression, no line to stand beside, a section that may be no object, a variable.
TEST(EditPython, LeavesWhatItWouldBreak) {
  for (const char* text : {"cfg.model.num_layers = 2\ncfg.model.sequence_parallel = tp > 1\n", "run(cfg)\n"}) {
    EXPECT_EQ(Edited(text, kSequenceParallel, 1), text);
  }
  const std::string other = "cfg.model.num_layers = 2\n";
  EXPECT_EQ(Edited(other, {{K::mixed_precision_fp8, "", Value("hybrid")}}, 1), other);
  EXPECT_EQ(Edited(other, {{K{}, "NCCL_ALGO", Value("Ring")}}, 1), other);
}

// By another name, in a body on the same line, beside another statement, by a function that is called first.
TEST(EditPython, ChangesALiteralWhereverItStands) {
  EXPECT_EQ(Edited("model = cfg.model\nmodel.sequence_parallel = False\n", kSequenceParallel),
            "model = cfg.model\nmodel.sequence_parallel = True\n");
  EXPECT_EQ(Edited("if True: cfg.model.sequence_parallel = False\n", kSequenceParallel),
            "if True: cfg.model.sequence_parallel = True\n");
  const std::string functions = "def f(cfg):\n  cfg.model.sequence_parallel = True\ndef g(cfg):\n";
  EXPECT_EQ(Edited(absl::StrCat(functions, "  cfg.model.sequence_parallel = False\n  f(cfg)\n"),
                   {{K::sequence_parallel, "", Value(false)}}),
            "def f(cfg):\n  cfg.model.sequence_parallel = False\ndef g(cfg):\n"
            "  cfg.model.sequence_parallel = False\n  f(cfg)\n");
}

// In the one line that sets it.
TEST(EditPython, ChangesTheVariableThatStandsThere) {
  EXPECT_EQ(Edited("SP = False\ncfg.model.num_layers = 2\ncfg.model.sequence_parallel = SP\n", kSequenceParallel),
            "SP = True\ncfg.model.num_layers = 2\ncfg.model.sequence_parallel = SP\n");
}

// Both lengths of a recipe by one variable, or in one loop.
TEST(EditPython, ChangesOnceWhatSetsTwoFields) {
  const Patch lengths = {{K::seq_length, "", Value(4104)}, {K::dataset_seq_length, "", Value(4104)}};
  EXPECT_EQ(Edited("SEQ = 4100\ncfg.model.seq_length = SEQ\ncfg.dataset.seq_length = SEQ\n", lengths),
            "SEQ = 4104\ncfg.model.seq_length = SEQ\ncfg.dataset.seq_length = SEQ\n");
  EXPECT_EQ(Edited("for part in (cfg.model, cfg.dataset):\n  part.seq_length = 4100\n", lengths),
            "for part in (cfg.model, cfg.dataset):\n  part.seq_length = 4104\n");
  const Patch differ = {{K::seq_length, "", Value(4104)}, {K::dataset_seq_length, "", Value(8)}};
  EXPECT_EQ(Edited("SEQ = 4100\ncfg.model.seq_length = SEQ\ncfg.dataset.seq_length = SEQ\n", differ, 1),
            "SEQ = 4104\ncfg.model.seq_length = SEQ\ncfg.dataset.seq_length = SEQ\n");
}

// A name that several lines set, a statement beside it, a call; and nothing is put inside a statement that goes on
// below.
TEST(EditPython, LeavesAValueThatIsWrittenElsewhere) {
  for (const char* text : {"SP = False\nSP = False\ncfg.model.num_layers = 2\ncfg.model.sequence_parallel = SP\n",
                           "cfg.model.sequence_parallel = False;x=2\n",
                           "cfg.model.num_layers = 2\nsetattr(cfg.model, 'sequence_parallel', False)\n",
                           "cfg.model.num_layers = 2\ncfg.model.update(sequence_parallel=args.sp)\n"}) {
    EXPECT_EQ(Edited(text, kSequenceParallel, 1), text);
  }
  const std::string list = "cfg.model.num_layers = 2\ncfg.model.recompute_modules = [\n  'moe',\n]\n";
  EXPECT_EQ(Edited(list, kSequenceParallel),
            "cfg.model.num_layers = 2\ncfg.model.sequence_parallel = True\ncfg.model.recompute_modules = [\n"
            "  'moe',\n]\n");
}

}  // namespace
}  // namespace flightplan
