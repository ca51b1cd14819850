#!/usr/bin/env python3
"""What launches of ms-swift, verl and LoongForge take of a GPU's memory, and what is said where that is not known.

usage: stacks_memory_test.py FLIGHTPLAN_BINARY
"""
import os
import sys
import unittest

from stack_launches import SWIFT, VERL, StackLaunches

FLIGHTPLAN = os.path.abspath(sys.argv.pop(1))


class StacksMemory(StackLaunches):
    flightplan = FLIGHTPLAN

    def bytes_of(self, answer, part):
        return sum(int(p["part_bytes"]) for p in answer["estimate"]["stages"][0]["parts"] if p["name"] == part)

    def test_the_rollout_engine_that_stays_awake_holds_its_share(self):
        answer = self.judge(VERL.replace("trainer.nnodes=2 $@", "trainer.nnodes=2"))
        asleep = answer["memory"]
        self.assertEqual(asleep["reserved_bytes"], "0")
        keeps = "actor_rollout_ref.rollout.free_cache_engine=False trainer.nnodes=2"
        awake = self.judge(VERL.replace("trainer.nnodes=2 $@", keeps))
        whole = int(asleep["usable_bytes"])
        self.assertAlmostEqual(int(awake["memory"]["reserved_bytes"]) / whole, 0.6, places=3)
        self.assertEqual(int(awake["memory"]["usable_bytes"]) + int(awake["memory"]["reserved_bytes"]), whole)

    def test_memory_that_nobody_states_is_unknown_until_it_is_stated(self):
        text = VERL.replace("adv_estimator=grpo", "adv_estimator=gae").replace(" $@", "")
        answer = self.judge(text)
        self.assertEqual(answer["memory"]["missing_input"], "hardware.reserved_bytes")
        self.assertTrue(any("the critic holds memory" in what for what in answer["not_judged"]), answer["not_judged"])
        stated = self.judge(text, "--reserved-memory-gib", "8")
        self.assertEqual(int(stated["memory"]["reserved_bytes"]), 8 << 30)
        self.assertEqual(stated["memory"]["missing_input"], "")

    def test_a_reference_model_holds_as_much_as_the_weights(self):
        text = VERL.replace("trainer.nnodes=2 $@", "actor_rollout_ref.actor.use_kl_loss=True trainer.nnodes=2")
        answer = self.judge(text)
        weights = self.bytes_of(answer, "parameters")
        self.assertGreater(weights, 1 << 30)
        self.assertEqual(int(answer["memory"]["reserved_bytes"]), weights)
        offloaded = self.judge(text.replace("trainer.nnodes=2", "actor_rollout_ref.ref.megatron.param_offload=True trainer.nnodes=2"))
        self.assertEqual(offloaded["memory"]["reserved_bytes"], "0")
        # What a caller says of all that others hold stands over it.
        stated = self.judge(text, "--reserved-memory-gib", "8")
        self.assertEqual(int(stated["memory"]["reserved_bytes"]), 8 << 30)

    def test_pairs_of_samples_are_two_sequences_each(self):
        pairs = SWIFT.replace("megatron sft", "megatron rlhf --rlhf_type dpo").replace("--packing true", "--tuner_type lora")
        singles = SWIFT.replace("--packing true", "--tuner_type lora")
        two, one = self.judge(pairs), self.judge(singles)
        self.assertEqual(self.value(two, "micro_batch_size"), "1", "as it is written")
        for part in ("attention_activations", "logits_and_loss"):
            self.assertAlmostEqual(self.bytes_of(two, part) / self.bytes_of(one, part), 2, places=2, msg=part)
        self.assertEqual(self.bytes_of(two, "parameters"), self.bytes_of(one, "parameters"))
        packed = self.judge(pairs.replace("--tuner_type lora", "--tuner_type lora --packing true"))
        self.assertEqual(self.bytes_of(packed, "attention_activations"), self.bytes_of(one, "attention_activations"))
        whole = self.judge(pairs.replace("--tuner_type lora", "--tuner_type full"))
        self.assertEqual(int(whole["memory"]["reserved_bytes"]), self.bytes_of(whole, "parameters"))

    def test_arguments_that_a_script_may_be_given_keep_no_forecast(self):
        answer = self.judge(VERL)
        self.assertEqual(answer["memory"]["fit"], "FIT_VERDICT_FITS")
        self.assertTrue(any("runs without any" in finding["needs"] for finding in answer["findings"]), answer["findings"])
        whole = self.judge(VERL.replace(" $@", ""))
        self.assertEqual(answer["estimate"]["stages"], whole["estimate"]["stages"])
        large = VERL.replace("max_response_length=3072", "max_response_length=130000")
        answer = self.judge(large.replace(" $@", ""))  # rollouts may be shorter: neither no, nor "will run"
        self.assertEqual((answer["memory"]["fit"], answer["estimate"]["fit"]), ("FIT_VERDICT_UNKNOWN",) * 2)
        self.assertTrue(any("samples of full length" in what for what in answer["not_judged"]), answer["not_judged"])
        answer = self.judge(large)
        self.assertEqual((answer["memory"]["fit"], self.errors(answer)), ("FIT_VERDICT_UNKNOWN", []))

    def test_weights_that_do_not_fit_are_no_word_that_it_will_run(self):
        text = SWIFT.replace("Qwen3-30B-A3B", "Qwen3-235B-A22B")
        self.assertNotEqual(text, SWIFT)
        answer = self.judge(text)
        self.assertIn("fit.static-memory", [finding["rule_id"] for finding in answer["findings"]])
        self.assertEqual(answer["memory"]["fit"], "FIT_VERDICT_UNKNOWN")

    def test_adapters_need_no_gradients_of_the_weights(self):
        whole = self.judge(SWIFT)
        for text in (SWIFT.replace("--packing true", "--packing true --tuner_type lora"),
                     SWIFT.replace("--packing true", "--packing true --adapters my/adapter")):
            adapters = self.judge(text)
            self.assertEqual(self.value(adapters, "peft.dim"), "8")
            self.assertLess(self.bytes_of(adapters, "gradients"), self.bytes_of(whole, "gradients") / 20)
            self.assertLess(self.bytes_of(adapters, "optimizer_state"), self.bytes_of(whole, "optimizer_state") / 20)
        verl = self.judge(VERL.replace("trainer.nnodes=2 $@", "actor_rollout_ref.model.lora.rank=16 trainer.nnodes=2"))
        self.assertEqual(self.value(verl, "peft.dim"), "16")
        self.assertIn("estimate", verl)

    def test_a_model_file_of_loongforge_says_what_memory_rests_on(self):
        text = ("export LOONGFORGE_PATH=/workspace/LoongForge\ntorchrun --nproc_per_node 8 $LOONGFORGE_PATH/loongforge/train.py "
                "--config-file $LOONGFORGE_PATH/configs/models/qwen3/FILE --seq-length 4096 --max-position-embeddings 4096 "
                "--micro-batch-size 1 --global-batch-size 16 --bf16 --use-distributed-optimizer --train-iters 10 --lr 1e-5 "
                "--tokenizer-type HFTokenizer --hf-tokenizer-path t --data-path d --training-phase pretrain\n")
        whole, adapters = (self.judge(text.replace("FILE", name)) for name in ("qwen3_1_7b.yaml", "qwen3_1_7b_lora.yaml"))
        for answer in (whole, adapters):
            self.assertEqual((answer["target"], self.errors(answer)), ("loongforge main", []))
            self.assertEqual(answer["memory"]["fit"], "FIT_VERDICT_FITS")
            self.assertEqual(self.value(answer, "vocab_size"), "151936")
        self.assertEqual(self.value(adapters, "peft.dim"), "16")
        states = [sum(int(part["part_bytes"]) for part in answer["estimate"]["stages"][0]["parts"] if part["name"] == "optimizer_state")
                  for answer in (whole, adapters)]
        self.assertLess(states[1], states[0] / 20)

    def test_adapters_that_no_formula_has_are_said_to_be_unknown(self):
        answer = self.judge(VERL.replace("trainer.nnodes=2 $@", "actor_rollout_ref.model.lora.rank=16 "
                                         "actor_rollout_ref.model.lora.type=dora trainer.nnodes=2"))
        self.assertTrue(any("DoRA adapters of routed experts are not modelled" in what for what in answer["not_judged"]),
                        answer["not_judged"])
        self.assertNotIn("estimate", answer)


if __name__ == "__main__":
    unittest.main()
