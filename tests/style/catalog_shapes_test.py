#!/usr/bin/env python3
"""The catalogue's generated files say nothing that is dropped in silence: a fault planted at every depth is named.

knobs_test.py does the same for knobs.yaml, catalog_test.cc for models.yaml and gpus.yaml.
"""
import pathlib
import subprocess
import sys
import tempfile
import unittest

from sources import ROOT

CATALOG = ROOT / "resolver/catalog"
STEP, MEASURED, MEMORY, RELEASES = "step_rates.yaml", "measured_rates.yaml", "memory.yaml", "releases.yaml"
DERIVATIVES, IMAGES, LOG_LINES, RECIPES = "derivatives.yaml", "images.yaml", "log_lines.yaml", "perf_recipes.tsv"
LIBRARY = "library_recipes.tsv"
VERL_KEYS = "../stacks/verl/keys.tsv"


def generate(script, texts, outputs, *more):
    """What the generator says of these texts, which stand in files of these names."""
    with tempfile.TemporaryDirectory() as folder:
        root = pathlib.Path(folder)
        for name, text in texts.items():
            (root / pathlib.Path(name).name).write_text(text)
        arguments = [root / pathlib.Path(name).name for name in (*texts, *outputs)]
        done = subprocess.run([sys.executable, CATALOG / script, *arguments, *more], text=True, stderr=subprocess.PIPE,
                              check=False)
        return done.returncode, done.stderr


class Shapes(unittest.TestCase):
    def hold(self, script, names, outputs, faults, *more):
        texts = {name: (CATALOG / name).read_text() for name in names}
        self.assertEqual(generate(script, texts, outputs, *more), (0, ""))
        for name, good, bad, said in faults:
            with self.subTest(name, bad=bad):
                self.assertIn(good, texts[name])
                code, stderr = generate(script, {**texts, name: texts[name].replace(good, bad, 1)}, outputs, *more)
                self.assertEqual(code, 1)
                self.assertIn(f"{pathlib.Path(name).name}: ", stderr)
                self.assertIn(said, stderr)

    def test_rates(self):
        self.hold("gen_rates.py", (STEP, MEASURED), ("rates.h", "rates.cc"), (
            (STEP, "coefficients:", "coefficient:", "unknown 'coefficient'"),
            (STEP, "spread: 0.10", "spraed: 0.10", "coefficients[0]: spread is missing"),
            (STEP, "value: 0.72", "value: 7e-1x", "coefficients[0].value: must be a number"),
            (STEP, "error: 0.06", "error: 6", "coefficients[0].error: 6 is out of range"),
            (STEP, "prior: 0.72", "prior: 0.72, prior: 0.7", "'prior' stands twice"),
            (STEP, "name: gemm_hopper_bf16", "name: gemm_ampere_bf16", "'gemm_ampere_bf16' stands twice"),
            (MEASURED, "grouped:\n", "gruoped:\n", "unknown 'gruoped'"),
            (MEASURED, "  precision: bf16", "  precison: bf16", "gemm: unknown 'precison'"),
            (MEASURED, "columns: [m, k, n,", "columns: [m, n, k,", "gemm.columns: must be one of"),
            (MEASURED, "[2048, 2560, 8192, NN, 0.485]", "[2048, 2560, 8192, 0.485]", "gemm.rows[0]: must be a list of 5"),
            (MEASURED, "NN, 0.485]", "NX, 0.485]", "gemm.rows[0][3]: must be one of TN"),
            (MEASURED, "NN, 0.485]", "NN, 48.5]", "gemm.rows[0][4]: 48.5 is out of range"),
            (MEASURED, "nvlink, 'deep", "nvlnk, 'deep", "[6]: must be one of network")))

    def test_memory(self):
        self.hold("gen_coefficients.py", (MEMORY,), ("memory.h",), (
            (MEMORY, "unit: bytes", "units: bytes", "coefficients[0]: unit is missing"),
            (MEMORY, "low: 0.05e+9", "low: 0.3e+9", "workspace_bytes: needs low <= value <= high"),
            (MEMORY, "value: 0.20e+9", "value: 0.20e9", "coefficients[0].value: must be a number"),
            (MEMORY, "name: context_bytes", "name: workspace_bytes", "'workspace_bytes' stands twice")), "memory")

    def test_releases(self):
        self.hold("releases.py", (RELEASES,), ("releases.h",), (
            (RELEASES, "bridge:\n", "brigde:\n", "unknown 'brigde'"),
            (RELEASES, "tag: core_v0.16.1", "tga: core_v0.16.1", "core.releases[1]: unknown 'tga'"),
            (RELEASES, '"0.16", tag', "0.16, tag", "core.releases[1].release: must be a release"),
            (RELEASES, '{release: "0.16"', '{release: "0.15"', "different releases, oldest first"),
            (RELEASES, 'core: "0.17"', 'core: "0.98"', "core 0.98 is no row"),
            (RELEASES, 'core: "0.15"', 'core: "0.14"', "core 0.14 is no row"),
            (RELEASES, "core_v0.16.1}", "core_v0.16.1, command_line: false, command_line: true}", "stands twice"),
            (RELEASES, "core_v0.17.1}", "core_v0.17.1, command_line: false}", "from one release on")))

    def test_derivatives(self):
        self.hold("gen_derivatives.py", (DERIVATIVES,), ("derivatives.cc",), (
            (DERIVATIVES, "name: slime", "nmae: slime", "derivatives[0]: name is missing"),
            (DERIVATIVES, "name: MindSpeed", "name: slime", "'slime' stands twice"),
            (DERIVATIVES, "fork_of: slime", "fork_of: MindSpeed", "miles: fork_of: 'MindSpeed' is no row above"),
            (DERIVATIVES, "- --actor-num-nodes", "- actor-num-nodes", "derivatives[0].flags[1]: must be a flag"),
            (DERIVATIVES, "- --actor-num-nodes", "- --zactor", "slime: '--advantage-estimator' must come after '--zactor'")))

    def test_images(self):
        self.hold("gen_images.py", (IMAGES,), ("images.cc",), (
            (IMAGES, 'te: "2.9"', "te: 2.9", "images[10].te: must be a version"),
            (IMAGES, "[deepep], compute: 8", "[deep-ep], compute: 8", "backends[0]: must be one of deepep"),
            (IMAGES, 'release: "0.16"', 'release: "0.14"', "megatron-lm: must have a row for each release"),
            (IMAGES, "stack: loongforge", "stack: loongforg", "loongforg: is no stack"),
            (IMAGES, "LoongForge:docker/Dockerfile:78", "LoongForge:docker/Dockerfile", "must be repository:file:line")))

    def test_log_lines(self):
        self.hold("gen_log_lines.py", (LOG_LINES,), ("log_lines.cc",), (
            (LOG_LINES, "{knob: fp8, ", "{knobb: fp8, ", "knob is missing"),
            (LOG_LINES, "value: local, log:", "value: local, logg:", "unknown 'logg'"),
            (LOG_LINES, "value: local, log:", "value: local, trace: x, log:", "must have one of log, undone, trace"),
            (LOG_LINES, "fp8, value: true", "fp8, value: false", "false is no feature"),
            (LOG_LINES, "fp8_utils.py:864", "fp8_utils.py", "must be repository:file:line")))

    def test_recipes(self):
        self.hold("gen_perf_recipes.py", (RECIPES,), ("perf_recipes.cc",), (
            (RECIPES, "function\tusual", "function\tuseful", "the columns must be function, usual"),
            (RECIPES, "1024gpu_h100_bf16_config\tno", "1024gpu_h100_bf16\tno", "function: must be a recipe's function"),
            (RECIPES, "1024gpu_h100_bf16_config\tno", "1024gpu_h100_bf16_config\tmaybe", "usual: must be one of yes, no"),
            (RECIPES, "1024gpu_h100_bf16_config\tno", "1024gpu_h100_bf16_config", "needs 5 fields, has 4"),
            (RECIPES, "deepseek_v3.py:28", "deepseek_v3.py", "source: must be file:line"),
            (RECIPES, '["mixed_precision=bf16_mixed"', '["mixed_precision"', "overrides[0]: must be section.field=value"),
            (RECIPES, '["mixed_precision=bf16_mixed"', '"mixed_precision=bf16_mixed"', "overrides: must be JSON"),
            (RECIPES, "deepseek_v3_pretrain_1024gpu_h100_bf16_config", "zeta_pretrain_1024gpu_h100_bf16_config",
             "must come after 'zeta_pretrain_1024gpu_h100_bf16_config'")))

    def test_recipes_of_the_library(self):
        first = "deepseek_v2_lite_pretrain_8gpu_h100_bf16_config"
        self.hold("gen_library_recipes.py", (LIBRARY,), ("library_recipes.cc",), (
            (LIBRARY, "function\tnames", "function\tname", "the columns must be function, names"),
            (LIBRARY, f"{first}\t", f"{first}s\t", "function: must be a recipe's function"),
            (LIBRARY, "\tdeepseek_v2_lite_pretrain_config\t", "\tdeepseek v2\t", "names: must be names of recipes"),
            (LIBRARY, "\tdeepseek_v2_lite_pretrain_config\t", f"\t{first}\t", "a name stands twice"),
            (LIBRARY, "deepseek_v2.py:25", "deepseek_v2.py", "source: must be file:line")))

    def test_keys_of_verl(self):
        self.hold("gen_verl.py", (VERL_KEYS,), ("keys.cc",), (
            (VERL_KEYS, "path\tkind", "path\tkinds", "the columns must be path, kind"),
            (VERL_KEYS, "trainer.nnodes\tvalue", "trainer.nnodes\tvalues", "kind: must be one of map, null, value"),
            (VERL_KEYS, "trainer.nnodes\tvalue", "trainer..nnodes\tvalue", "path: must be a key's path"),
            (VERL_KEYS, "trainer.nnodes\tvalue", "trainer.a\tvalue", "must come after 'trainer.n_gpus_per_node'")))


if __name__ == "__main__":
    unittest.main()
