#include "service/observe/replay_record.h"

#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "flightplan/v1/resolver_service.pb.h"
#include "gtest/gtest.h"
#include "resolver/normalize/canonical_bytes.h"

namespace flightplan::service {
namespace {

// What a text must not be found in, as such or in base64.
std::string Stored(const v1::ValidateConfigRequest& request, LoggedText text = LoggedText::kNone) {
  const std::string bytes = CanonicalBytes(request);
  JsonLine line;
  MakeReplayRecord(request, text, bytes, "answer").AppendTo(&line);
  const std::string json = line.Take();
  return absl::StrContains(json, "\"request\"") ? json + bytes : json;
}

v1::ValidateConfigRequest Arguments(const std::vector<std::string>& values) {
  v1::ValidateConfigRequest request;
  request.mutable_target()->set_framework("megatron-lm");
  for (const std::string& value : values) request.mutable_arguments()->add_values(value);
  return request;
}
v1::ValidateConfigRequest Script(const std::string& text) {
  v1::ValidateConfigRequest request;
  request.mutable_target()->set_framework("megatron-lm");
  request.mutable_file()->set_name("train.sh");
  request.mutable_file()->set_text(text);
  return request;
}
v1::ValidateConfigRequest Variable(const std::string& name, const std::string& value) {
  v1::ValidateConfigRequest request = Arguments({"--num-layers", "8"});
  (*request.mutable_env())[name] = value;
  return request;
}

// Letters that a scanner of the sources does not take for a leaked key.
std::string Made(const std::string& prefix, size_t size) {
  std::string text = prefix;
  for (size_t i = 0; text.size() < prefix.size() + size; ++i) text += "a7Kq2Zx9"[i % 8];
  return text;
}

// The forms in which secrets usually stand in launches.
std::vector<std::string> Secrets() {
  return {Made("AKIA", 16),       Made("hf_", 34),
          Made("ghp_", 36),       Made("glpat-", 20),
          Made("sk-", 48),        Made("", 40),
          Made("xoxb-1234-", 24), "s3cr3t-p4ss",
          Made("eyJhbGci.", 60),  "correct horse battery staple"};
}

TEST(NotForLogs, NoUsualFormOfASecretIsStored) {
  int forms = 0;
  for (const std::string& secret : Secrets()) {
    const v1::ValidateConfigRequest requests[] = {
        Script("export AWS_SECRET_ACCESS_KEY=" + secret + "\ntorchrun pretrain_gpt.py --num-layers 8\n"),
        Script("WANDB_API_KEY=" + secret + " python pretrain_gpt.py --num-layers 8\n"),
        Script("wandb login " + secret + "\npython pretrain_gpt.py\n"),
        Script("huggingface-cli login --token " + secret + "\n"),
        Script("curl -H 'Authorization: Bearer " + secret + "' https://host/data\n"),
        Script("git clone https://user:" + secret + "@host/repo.git\n"),
        Script("mysql -p" + secret + " -u root\n"),
        Script("docker login -u me -p " + secret + "\n"),
        Script("cat > key <<EOF\n-----BEGIN PRIVATE KEY-----\n" + secret + "\n-----END PRIVATE KEY-----\nEOF\n"),
        Script("curl --user name:" + secret + " https://host\n"),
        Script("sshpass -p " + secret + " ssh host\n"),
        Script("# the password is " + secret + "\n"),
        Script("aws configure set aws_secret_access_key " + secret + "\n"),
        Script("python train.py --config '{\"password\": \"" + secret + "\"}'\n"),
        Arguments({"--num-layers", "8", "--password", secret}),
        Arguments({"--num-layers", "8", "--password=" + secret}),
        Arguments({"--num-layers", "8", "--wandb-api-key", secret}),
        Arguments({"--num-layers", "8", "--hf-token=" + secret}),
        Arguments({"--num-layers", "8", "-p" + secret}),
        Arguments({secret, "--num-layers", "8"}),
        Arguments({"--load", "s3://user:" + secret + "@bucket/x"}),
        Arguments({"--data-path", "https://host/x?sig=" + secret}),
        Variable("WANDB_API_KEY", secret),
        Variable("HF_TOKEN", secret),
        Variable("AWS_SESSION_TOKEN", secret),
        Variable("DATABASE_URL", "postgresql://user:" + secret + "@host/db"),
        Variable("NCCL_SECRET", secret),
        Variable("SOME_SETTING", secret),
        Variable("NCCL_NOTE", "Bearer " + secret),
    };
    for (const v1::ValidateConfigRequest& request : requests) {
      ++forms;
      const std::string stored = Stored(request);
      EXPECT_EQ(stored.find(secret), std::string::npos) << stored;
      EXPECT_EQ(stored.find(absl::Base64Escape(secret)), std::string::npos);
      EXPECT_NE(stored.find("request_withheld"), std::string::npos) << stored;
    }
  }
  EXPECT_GE(forms, 200);
}

TEST(NotForLogs, TokensAreNoValuesOfKnownFlags) {
  for (const std::string& secret : Secrets()) {
    if (secret.size() < 20) continue;  // a short word is a name
    EXPECT_EQ(Stored(Arguments({"--tokenizer-model", secret})).find(secret), std::string::npos) << secret;
    EXPECT_EQ(Stored(Variable("NCCL_IB_HCA", secret)).find(secret), std::string::npos) << secret;
  }
}

TEST(NotForLogs, NoFreeTextOfAResolveRequest) {
  v1::ResolveConfigRequest request;
  request.mutable_model()->set_hf_config_json("{\"hidden_size\": 8, \"note\": \"s3cr3t\"}");
  EXPECT_EQ(NotForLogs(request, LoggedText::kNone), "model.hf_config_json");
  request.mutable_model()->set_name("qwen3-30b-a3b");
  EXPECT_EQ(NotForLogs(request, LoggedText::kNone), "");
  request.add_pinned_knobs()->set_name("moe token dispatcher");
  EXPECT_EQ(NotForLogs(request, LoggedText::kNone), "pinned_knobs.name");
  request.clear_pinned_knobs();
  request.mutable_probe_profile()->set_device_name("NVIDIA H200");
  EXPECT_EQ(NotForLogs(request, LoggedText::kNone), "");
  request.GetReflection()->MutableUnknownFields(&request)->AddLengthDelimited(9999, "s3cr3t");
  EXPECT_EQ(NotForLogs(request, LoggedText::kNone), "unknown");
}

TEST(NotForLogs, UsualLaunchesAreStored) {
  for (const v1::ValidateConfigRequest& request :
       {Arguments({"--num-layers", "48", "--hidden-size=2048", "--moe-layer-freq", "([0]*3+[1]*45)", "--bf16",
                   "--data-path", "0.5", "/data/a_text_document", "0.5", "/data/b_text_document", "--recompute-modules",
                   "moe_act", "layernorm"}),
        Arguments({"model.tensor_model_parallel_size=2", "train.global_batch_size=1024"}),
        Variable("CUDA_DEVICE_MAX_CONNECTIONS", "1"), Variable("NCCL_IB_HCA", "mlx5_0:1,mlx5_1:1"),
        Variable("PYTORCH_CUDA_ALLOC_CONF", "expandable_segments:True"), Variable("NCCL_SOCKET_IFNAME", "^lo")}) {
    EXPECT_EQ(NotForLogs(request, LoggedText::kNone), "");
  }
}

TEST(NotForLogs, TextIsStoredWhereItIsAskedFor) {
  EXPECT_EQ(NotForLogs(Script("python pretrain_gpt.py --num-layers 8\n"), LoggedText::kNone), "file.text");
  EXPECT_EQ(NotForLogs(Script("python pretrain_gpt.py --num-layers 8\n"), LoggedText::kAll), "");
  EXPECT_EQ(NotForLogs(Script("export WANDB_API_KEY=x\n"), LoggedText::kAll), "WANDB_API_KEY");
  EXPECT_EQ(NotForLogs(Arguments({"--unknown-flag", "3"}), LoggedText::kNone), "arguments.values[0]");
  EXPECT_EQ(NotForLogs(Arguments({"--unknown-flag", "3"}), LoggedText::kAll), "");
}

}  // namespace
}  // namespace flightplan::service
