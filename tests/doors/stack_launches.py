"""Launches of ms-swift, verl, NeMo-RL and ROLL as their users write them, and how a test asks about them."""
import json
import pathlib
import subprocess
import tempfile
import unittest

SWIFT = """#!/bin/bash
export PYTORCH_CUDA_ALLOC_CONF='expandable_segments:True'
NPROC_PER_NODE=8 \\
megatron sft \\
    --model Qwen/Qwen3-30B-A3B-Base \\
    --dataset my/corpus \\
    --expert_model_parallel_size 8 \\
    --moe_permute_fusion true \\
    --micro_batch_size 1 \\
    --global_batch_size 16 \\
    --packing true \\
    --recompute_granularity full \\
    --recompute_method uniform \\
    --recompute_num_layers 1 \\
    --max_length 8192
"""

VERL = """#!/bin/bash
MODEL=${HOME}/models/Qwen3-30B-A3B
TP=4
python3 -m verl.trainer.main_ppo --config-path=config --config-name='ppo_megatron_trainer.yaml' \\
    algorithm.adv_estimator=grpo \\
    actor_rollout_ref.model.path=$MODEL \\
    actor_rollout_ref.rollout.name=vllm \\
    actor_rollout_ref.rollout.n=8 \\
    actor_rollout_ref.rollout.gpu_memory_utilization=0.6 \\
    actor_rollout_ref.actor.ppo_mini_batch_size=64 \\
    actor_rollout_ref.actor.ppo_micro_batch_size_per_gpu=1 \\
    actor_rollout_ref.actor.megatron.tensor_model_parallel_size=${TP} \\
    actor_rollout_ref.actor.megatron.expert_model_parallel_size=8 \\
    actor_rollout_ref.actor.megatron.expert_tensor_parallel_size=1 \\
    +actor_rollout_ref.actor.megatron.override_transformer_config.moe_permute_fusion=True \\
    data.max_prompt_length=1024 \\
    data.max_response_length=3072 \\
    trainer.n_gpus_per_node=8 \\
    trainer.nnodes=2 $@
"""

NEMO_BASE = """grpo: {num_prompts_per_step: 64}
policy:
  model_name: Qwen/Qwen2.5-1.5B
  precision: bfloat16
  train_global_batch_size: 512
  train_micro_batch_size: 1
  max_total_sequence_length: 4096
  sequence_packing:
    enabled: true
    train_mb_tokens: ${mul:${policy.max_total_sequence_length}, ${policy.train_micro_batch_size}}
  megatron_cfg:
    enabled: true
    activation_checkpointing: false
    tensor_model_parallel_size: 1
    pipeline_model_parallel_size: 1
    context_parallel_size: 1
    expert_tensor_parallel_size: 1
    expert_model_parallel_size: 1
    sequence_parallel: false
    pipeline_dtype: ${policy.precision}
    apply_rope_fusion: True
    moe_permute_fusion: true
    moe_token_dispatcher_type: alltoall
    peft: {enabled: false, dim: 8, alpha: 32, target_modules: [], exclude_modules: [], dropout: 0.0}
    optimizer: {optimizer: adam, lr: 5e-6, use_distributed_optimizer: true}
    distributed_data_parallel_config: {grad_reduce_in_fp32: false, overlap_grad_reduce: true, overlap_param_gather: true}
  generation: {backend: vllm, colocated: {enabled: true}}
cluster: {gpus_per_node: 8, num_nodes: 1}
"""

NEMO = """defaults: ../base.yaml
policy:
  model_name: Qwen/Qwen3-30B-A3B
  megatron_cfg:
    expert_model_parallel_size: 8
    activation_checkpointing: true
cluster:
  num_nodes: 2
"""

ROLL = """num_gpus_per_node: 8
rollout_batch_size: 64
prompt_length: 1024
response_length: 3072
pretrain: Qwen/Qwen3-30B-A3B-Base
actor_train:
  model_args:
    dtype: bf16
  training_args:
    learning_rate: 1.0e-6
    per_device_train_batch_size: 1
    gradient_accumulation_steps: 32
  strategy_args:
    strategy_name: megatron_train
    strategy_config:
      tensor_model_parallel_size: 1
      pipeline_model_parallel_size: 2
      expert_model_parallel_size: 8
      use_distributed_optimizer: true
      moe_token_dispatcher_type: alltoall
      moe_grouped_gemm: true
      recompute_granularity: full
  device_mapping: list(range(0,16))
actor_infer:
  strategy_args:
    strategy_name: vllm
  device_mapping: list(range(0,16))
"""


class StackLaunches(unittest.TestCase):
    flightplan = None  # the binary

    def setUp(self):
        temporary = tempfile.TemporaryDirectory()
        self.addCleanup(temporary.cleanup)
        self.root = pathlib.Path(temporary.name)

    def run_flightplan(self, *args):
        return subprocess.run([self.flightplan, *map(str, args)], capture_output=True, text=True, timeout=120,
                              stdin=subprocess.DEVNULL)

    def written(self, text, name="launch.sh"):
        path = self.root / name
        path.write_text(text)
        return path

    def judge(self, text, *args):
        done = self.run_flightplan("validate", self.written(text), "--gpu", "h100-sxm", "--format", "json", *args)
        self.assertIn(done.returncode, (0, 1), done.stderr)
        return json.loads(done.stdout)

    def errors(self, answer):
        return [f["rule_id"] for f in answer["findings"] if f["severity"] == "SEVERITY_ERROR"]

    def value(self, answer, knob):
        for entry in answer["config"]:
            if entry["name"] == knob:
                return next(iter(entry["value"].values()), None)
        return None
