#include "clients/cli/mask_secrets.h"

#include "flightplan/v1/resolver_service.pb.h"
#include "gtest/gtest.h"

namespace flightplan::cli {
namespace {

TEST(MaskSecrets, TakesOutWhatIsSetUnderASecretsName) {
  const struct {
    const char *text, *masked;
  } kRows[] = {
      {"export HF_TOKEN=hf_abc\nrun", "export HF_TOKEN=***\nrun"},
      {"export WANDB_API_KEY='a b'; run", "export WANDB_API_KEY='***'; run"},
      {"flightplan resolve --env HF_TOKEN=x --gpus 8", "flightplan resolve --env HF_TOKEN=*** --gpus 8"},
      {"train.py --hf-token hf_abc --lr 1", "train.py --hf-token *** --lr 1"},
      {"train.py --hf-token=hf_abc", "train.py --hf-token=***"},
      {"  wandb_api_key: abc\n", "  wandb_api_key: ***\n"},
      {R"({"env_vars": {"HF_TOKEN": "a b", "N": "1"}})", R"({"env_vars": {"HF_TOKEN": "***", "N": "1"}})"},
      {R"({\"HF_TOKEN\": \"abc\"})", R"({\"HF_TOKEN\": \"***\"})"},
      {"os.environ['HF_TOKEN'] = 'abc'", "os.environ['HF_TOKEN'] = '***'"},
      {"export HF_TOKEN=${HF_TOKEN:-hf_abc}\n", "export HF_TOKEN=***\n"},
      {"export HF_TOKEN=\"${HF_TOKEN:-hf_abc}\"\n", "export HF_TOKEN=\"***\"\n"},
  };
  for (const auto& row : kRows) EXPECT_EQ(MaskSecrets(row.text), row.masked);
}

TEST(MaskSecrets, LeavesTheRest) {
  for (const char* text : {"export HF_TOKEN=$SAVED\n", "export HF_TOKEN=${SAVED}\n", "export HF_TOKEN=", "HF_TOKEN",
                           "2 bytes a token: more than fits", "--hf-token --lr 1", "--fim-eod-token <eod>",
                           "use_gigatoken=true", "NCCL_DEBUG=INFO", ""}) {
    EXPECT_EQ(MaskSecrets(text), text);
  }
}

TEST(MaskSecrets, ReadsWordsWhole) {
  EXPECT_EQ(MaskSecretWord("--env", "HF_TOKEN=a b"), "HF_TOKEN=***");
  EXPECT_EQ(MaskSecretWord("", "--env=HF_TOKEN=a b"), "--env=HF_TOKEN=***");
  EXPECT_EQ(MaskSecretWord("--hf-token", "a b"), "***");
  EXPECT_EQ(MaskSecretWord("--hf-token", "--lr"), "--lr");
  EXPECT_EQ(MaskSecretWord("--env", "NOTE=a b"), "NOTE=a b");
}

TEST(MaskSecrets, ReadsMessages) {
  v1::ValidateConfigRequest request;
  (*request.mutable_env())["HF_TOKEN"] = "a b";
  (*request.mutable_env())["NCCL_DEBUG"] = "INFO";
  request.mutable_file()->set_text("export HF_TOKEN=a\ntorchrun pretrain_gpt.py\n");
  MaskSecretsIn(&request);
  EXPECT_EQ(request.env().at("HF_TOKEN"), "***");
  EXPECT_EQ(request.env().at("NCCL_DEBUG"), "INFO");
  EXPECT_EQ(request.file().text(), "export HF_TOKEN=***\ntorchrun pretrain_gpt.py\n");
  for (const char* word : {"--hf-token", "a", "--lr", "1"}) request.mutable_arguments()->add_values(word);
  MaskSecretsIn(&request);
  EXPECT_EQ(request.arguments().values(1), "***");
  EXPECT_EQ(request.arguments().values(3), "1");
}

}  // namespace
}  // namespace flightplan::cli
