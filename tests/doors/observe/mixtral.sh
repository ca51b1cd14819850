#!/bin/bash
# Mixtral 8x7B on two nodes of eight H100: a launch of the size that NVIDIA/Megatron-LM#756 reports on.
export CUDA_DEVICE_MAX_CONNECTIONS=1
torchrun --nproc-per-node 8 --nnodes 2 --node-rank "$NODE_RANK" --master-addr "$MASTER_ADDR" pretrain_gpt.py \
  --use-mcore-models --disable-bias-linear --seq-length 2048 --max-position-embeddings 32768 \
  --num-layers 32 --hidden-size 4096 --ffn-hidden-size 14336 --num-attention-heads 32 \
  --group-query-attention --num-query-groups 8 --normalization RMSNorm --position-embedding-type rope --swiglu \
  --untie-embeddings-and-output-weights --no-masked-softmax-fusion --vocab-size 32000 \
  --num-experts 8 --moe-router-topk 2 --moe-router-load-balancing-type aux_loss --moe-aux-loss-coeff 1e-2 \
  --moe-grouped-gemm --moe-token-dispatcher-type alltoall \
  --tensor-model-parallel-size 1 --pipeline-model-parallel-size 2 --expert-model-parallel-size 8 \
  --use-distributed-optimizer --overlap-grad-reduce --overlap-param-gather \
  --micro-batch-size 1 --global-batch-size 128 --train-iters 100 --lr 1e-4 --bf16 \
  --tokenizer-type NullTokenizer --mock-data --log-throughput --log-interval 1
