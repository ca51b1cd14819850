#!/usr/bin/env python3
"""The JSON Schemas of the YAML formats: sound by their meta-schema; files that the stacks read fit, wrong types, unknown
words and unknown sections do not; and what a schema refuses the reader of the format does not take either.

usage: schema_test.py FLIGHTPLAN_BINARY
"""
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

try:
    import jsonschema
    import yaml
except ImportError as missing:
    print(f"skipped: {missing.name} is not installed (python3-jsonschema, python3-yaml)")
    sys.exit(77)

FLIGHTPLAN = os.path.abspath(sys.argv.pop(1))
ROOT = pathlib.Path(__file__).resolve().parents[2]
CORPUS = ROOT / "tests/fuzz/corpus"
TARGETS = {"megatron-lm-yaml": "megatron-lm", "bridge-yaml": "megatron-bridge", "loongforge-yaml": "loongforge"}

# What each format takes, as its stack has it.
GOOD = {
    "megatron-lm-yaml": [
        "{}",
        "language_model: {num_layers: 24, kv_channels: null, activation_func: swiglu, window_size: null}\n"
        "model_parallel: {tensor_model_parallel_size: 2, sequence_parallel: yes}\nlr: 2.5e-4\nadam_eps: 1.e-08\n",
        "lr: 1e-4\nno_such_key: {deeper: [1, 2]}\nrampup_batch_size: [32, 32, 65324160]\n",  # upstream never looks at it
        "num_layers: ${LAYERS}\nrecompute_modules: [core_attn, mlp]\nmoe_layer_freq: ([0]*3+[1]*58)\n",
        "moe_router_load_balancing_type: [aux_loss, seq_aux_loss]\nmoe_aux_loss_coeff: 0\nsplit: '99,1,0'\n",
        "num_layers: None\nbf16: on\ndata_path: [0.5, a, 0.5, b]\nempty_unused_memory_level: 1\nnum_experts: 8\n",
    ],
    "bridge-yaml": [
        "model: {num_layers: 4, some_providers_field: {a: 1}}\nmixed_precision: bf16_mixed\ncomm_overlap: null\n",
        "_target_: x.ConfigContainer\nft: null\ncheckpoint: {_target_: x, save: /a, anything: [1]}\n",
        "model:\n  attention_backend: {_target_: x.AttnBackend, _args_: [5], _name_: auto}\n"
        "  params_dtype: {_target_: torch.bfloat16, _call_: false}\n"
        "  pipeline_model_parallel_layout: [[embedding, decoder], [decoder, loss]]\n"
        "train: {manual_gc_eval: 100}\nenv_vars: {NCCL_NVLS_ENABLE: 0}\n",
    ],
    "loongforge-yaml": [
        "_target_: x\nnum_layers: 61\nmoe_layer_freq: ${moe_freq:\"[0]*3+[1]*58\"}\nmodel_type: deepseek\nunknown: 1\n",
        "normalization: Torch_RMSNorm\n",  # the fork's own model classes take further words
        "defaults: [_self_]\nmodel:\n  model_type: qwen3_vl\n  foundation: {num_layers: 48, model_spec: [a, b]}\n",
    ],
    "serve-config": [
        "", "listen: [0.0.0.0:50051]\ndrain_delay: 5s\ncache_bytes: 64MiB\nprobe: true\nlog_level: debug\n",
        "listen: unix:/run/x.sock\nmax_in_flight: 0\ncache_bytes: 0\nmax_deadline: 1h30m\nreflection: \"no\"\nprobe: Yes\n",
    ],
}
# What it does not take: a wrong type, an unknown word, an unknown section.
BAD = {
    "megatron-lm-yaml": ["num_layers: four", "num_layers: 1.5", "num_layers: [1]", "language_model: {num_layers: four}",
                         "lr: fast", "bf16: maybe", "bf16: 1", "recompute_granularity: some",
                         "moe_router_load_balancing_type: [aux_los]", "empty_unused_memory_level: 3",
                         "moe_layer_freq: often", "- 1", "num_experts: few"],
    "bridge-yaml": ["model: {num_layers: four}", "model: 4", "optimiser: {lr: 1}", "model: null",
                    "model: {recompute_granularity: some}", "train: {manual_gc: maybe}", "model: {num_layers: {a: 1}}",
                    "env_vars: {A: [1]}"],
    "loongforge-yaml": ["num_layers: many", "model: {foundation: {num_layers: many}}", "recompute_granularity: some",
                        "bf16: maybe", "ckpt_format: torch_dcp", "[1]"],
    "serve-config": ["listne: x", "listen: {a: 1}", "drain_delay: soon", "drain_delay: 5", "cache_bytes: many",
                     "cache_bytes: -1", "log_level: loud", "webhook_mode: refuse", "max_in_flight: 1000001", "probe: 2",
                     "- 1"],
}
# A reader of ours says nothing of these: upstream's own code refuses the value later, or Python takes it.
UNREAD = {"bridge-yaml": {"train: {manual_gc: maybe}"},  # a text counts as true, which is said
          "megatron-lm-yaml": {"num_layers: [1]", "recompute_granularity: some", "empty_unused_memory_level: 3",
                               "moe_router_load_balancing_type: [aux_los]"},
          "loongforge-yaml": {"recompute_granularity: some", "ckpt_format: torch_dcp"}}


def loaded(text):
    return json.loads(json.dumps(yaml.safe_load(text), default=str))


def is_yaml(text):
    """As the stacks' own reader has it, which takes less than ours."""
    try:
        yaml.safe_load(text)
    except yaml.YAMLError:
        return False
    return True


class Schemas(unittest.TestCase):
    def setUp(self):
        self.validators = {}
        for name in GOOD:
            schema = json.loads(subprocess.run([FLIGHTPLAN, "schema", name], check=True, capture_output=True).stdout)
            self.validators[name] = jsonschema.Draft202012Validator(schema)

    def faults(self, name, text):
        return [f"{'/'.join(map(str, e.path))}: {e.message[:120]}" for e in self.validators[name].iter_errors(loaded(text))]

    def test_every_format_has_one_and_it_is_sound(self):
        done = subprocess.run([FLIGHTPLAN, "schema"], capture_output=True, text=True)
        self.assertEqual(done.returncode, 2)
        self.assertEqual(sorted(done.stderr.splitlines()[0].split("wants one of ")[1].split(", ")), sorted(GOOD))
        for name, validator in self.validators.items():
            self.assertEqual(validator.META_SCHEMA["$id"], validator.schema["$schema"])
            validator.check_schema(validator.schema)
            self.assertTrue(all("description" in value for key, value in validator.schema["properties"].items()
                                if "anyOf" in value), name)

    def test_what_the_stacks_read_fits(self):
        for name, texts in GOOD.items():
            corpus = CORPUS / name
            samples = [path.read_text() for path in sorted(corpus.iterdir())] if corpus.is_dir() else []
            samples = [text for text in samples if is_yaml(text)]
            self.assertTrue(samples or name == "serve-config")
            for text in texts + samples:
                with self.subTest(name, text=text):
                    self.assertEqual(self.faults(name, text), [])

    def test_configurations_that_ship_fit(self):
        texts = [(ROOT / "deploy/kubernetes/base/config.yaml").read_text(),
                 (ROOT / "deploy/kubernetes/webhook/config.yaml").read_text(),
                 subprocess.run([FLIGHTPLAN, "serve", "--print_config"], check=True, capture_output=True, text=True).stdout]
        for text in texts:
            self.assertEqual(self.faults("serve-config", text), [])

    def test_what_is_wrong_does_not_fit(self):
        for name, texts in BAD.items():
            for text in texts:
                with self.subTest(name, text=text):
                    self.assertNotEqual(self.faults(name, text), [])

    def test_what_does_not_fit_the_reader_refuses_too(self):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "config.yaml"
            for name, texts in BAD.items():
                for text in sorted(set(texts) - UNREAD.get(name, set())):
                    path.write_text(text)
                    question = (["serve", f"--config={path}", "--check_config"] if name == "serve-config" else
                                ["validate", str(path), "--target", TARGETS[name], "--input-format", name])
                    done = subprocess.run([FLIGHTPLAN, *question], capture_output=True, text=True)
                    with self.subTest(name, text=text):
                        self.assertNotEqual(done.returncode, 0, done.stdout)

    def test_defaults_fit_their_own_schemas(self):
        for name, validator in self.validators.items():
            maps = [validator.schema.get("properties", {}), validator.schema.get("$defs", {}).get("arguments", {})
                    .get("properties", {})]
            maps += [section["properties"] for section in maps[0].values() if "properties" in section]
            count = 0
            for properties in maps:
                for key, value in properties.items():
                    if "default" not in value:
                        continue
                    count += 1
                    own = validator.evolve(schema={**value, "$defs": validator.schema.get("$defs", {})})
                    with self.subTest(name, key=key):
                        self.assertEqual([e.message for e in own.iter_errors(value["default"])], [])
            self.assertGreater(count, 20, name)


if __name__ == "__main__":
    unittest.main()
