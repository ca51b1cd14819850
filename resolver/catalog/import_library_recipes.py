#!/usr/bin/env python3
"""Writes library_recipes.tsv: the recipes of Megatron-Bridge's library (`--recipe qwen3_30b_a3b_pretrain_config`), as overrides of
its ConfigContainer.

usage: import_library_recipes.py CHECKOUT
The recipes are run over stand-ins that keep what is set on them, for everything that is not of megatron.bridge.recipes. A recipe that asks
for a value that only the real classes know is left out, and named.
"""
import importlib
import importlib.abc
import importlib.machinery
import json
import pathlib
import re
import sys
import types

import knob_rows
from gen_library_recipes import COLUMNS
from import_perf_recipes import COMMIT, text

ROOT = pathlib.Path(__file__).resolve().parents[2]
RECIPES = "megatron.bridge.recipes"


# What recipes ask of a provider made from Hugging Face before they set it: sizes of the layout; what DeepSeek's and Kimi's
# bridges set (models/deepseek/deepseek_v3_bridge.py:78, deepseek_v2_bridge.py:64, models/kimi/kimi_bridge.py:66), and
# the rope_theta of DeepSeek-V2's config.json.
ASKED = {"tensor_model_parallel_size": 1, "pipeline_model_parallel_size": 1, "context_parallel_size": 1,
         "expert_model_parallel_size": 1, "apply_rope_fusion": False, "rotary_base": 10000.0}


# What DeepSeek-V4's recipes ask of the model itself, as our catalogue has it.
OF_MODEL = ("num_layers", "mtp_num_layers", "csa_compress_ratios")


def of_model(hf_model, name):
    entry = (ROOT / "resolver/catalog/models.yaml").read_text().partition(f"hf_id: {hf_model}\n")[2].partition("\n  - name:")[0]
    found = re.search(rf"^    {name}: (.*)$", entry, re.M)
    return json.loads(found[1]) if found else None


# Of the run, not of the launch: no rule and no forecast looks at them. Folders are those of the machine that asks.
OF_NO_ACCOUNT = ("adam_beta1", "adam_beta2", "adam_eps", "init_method_std", "load", "lr", "min_lr", "save", "seed",
                 "weight_decay")


class NotKnown(Exception):
    """A recipe asks what only a real class would know."""


class Unknown:
    """A value that was never set: the default of a class that is not here."""

    def __init__(self, name):
        self.name = name

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return Unknown(f"{self.name}.{name}")

    def __setattr__(self, name, value):
        if name != "name":
            raise NotKnown(f"{self.name}.{name} is set, and {self.name} is not known")
        object.__setattr__(self, name, value)

    def __bool__(self):
        raise NotKnown(self.name)

    __eq__ = __lt__ = __gt__ = __le__ = __ge__ = __iter__ = __len__ = __index__ = __int__ = lambda self, *_: bool(self)
    __hash__ = object.__hash__


class Made:
    """What a stand-in made: its name, what it was made with, and what was set since, in order."""

    def __init__(self, name, given):
        self.__dict__["name_"] = name
        self.__dict__.update(given)

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        if name in ("to_megatron_provider", "get_model_config", "to_text_provider"):
            return lambda **_: Made(self.name_, {"hf_model_": self.hf_model_})
        if name in ASKED and "hf_model_" in vars(self):
            return ASKED[name]
        if name in OF_MODEL and (known := of_model(vars(self).get("hf_model_"), name)) is not None:
            return known
        if self.name_.endswith("ConfigContainer"):  # its sections are there, of their classes' defaults
            self.__dict__[name] = None if name in ("comm_overlap", "mixed_precision", "peft") else Made(name, {})
            return self.__dict__[name]
        return Unknown(f"{self.name_}.{name}")


class StandIn:
    """A class, function or constant of a package that is not here."""

    def __init__(self, name):
        self.__dict__["name_"] = name

    def __call__(self, *args, **given):
        if self.name_.endswith("AutoBridge.from_hf_pretrained"):
            given = {"hf_model_": args[0]}
        if self.name_.endswith("apply_flex_dispatcher_backend"):
            return apply_flex_dispatcher_backend(*args)
        if self.name_.endswith("set_deepseek_v4_pipeline_model_parallel_layout"):
            return set_deepseek_v4_pipeline_model_parallel_layout(*args)
        if self.name_.endswith("set_cuda_graph_modules"):
            args[0].cuda_graph_modules, args[0].cuda_graph_scope = args[1], None
            return None
        if self.name_.endswith("get_mixed_precision_config"):
            return args[0] if isinstance(args[0], Made) else Made(args[0].replace("-", "_"), {})
        if any(isinstance(arg, Made) for arg in args) and not self.name_.rpartition(".")[2][0].isupper():
            raise NotKnown(f"what {self.name_} sets")
        return Made(self.name_, given)

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return StandIn(f"{self.name_}.{name}")

    def __or__(self, _):
        return self

    __ror__ = __or__

    def __getitem__(self, _):
        return self

    def __mro_entries__(self, _):
        return ()

    def __instancecheck__(self, value):
        return isinstance(value, Made) and value.name_ == self.name_


def apply_flex_dispatcher_backend(model, backend=None):
    """As training/flex_dispatcher_backend.py has it for the GPUs that a recipe is of."""
    if backend in ("deepep", "hybridep") and isinstance(model.__dict__.get("moe_token_dispatcher_type"), str):
        model.moe_token_dispatcher_type = "flex"
        model.moe_flex_dispatcher_backend = backend
        model.moe_shared_expert_overlap = False


def set_deepseek_v4_pipeline_model_parallel_layout(model):
    """As models/deepseek/deepseek_v4_bridge.py:125 has it: layers as even as they come, MTP and loss last."""
    stages = model.pipeline_model_parallel_size
    layers, more = divmod(model.num_layers, stages)
    layout = [["decoder"] * (layers + (stage < more)) for stage in range(stages)]
    layout[0].insert(0, "embedding")
    layout[-1] += ["mtp"] * (model.mtp_num_layers or 0) + ["loss"]
    model.pipeline_model_parallel_layout = layout if stages > 1 else None


class StandInModule(types.ModuleType):
    __path__ = []

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return StandIn(f"{self.__name__}.{name}")


class StandIns(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """For megatron, torch and what else is not installed, but for the recipes themselves."""

    def find_spec(self, name, path, target=None):
        del path, target
        if name.startswith(RECIPES) or name.split(".")[0] not in ("megatron", "numpy", "torch", "transformers"):
            return None
        return importlib.machinery.ModuleSpec(name, self, is_package=True)

    def create_module(self, spec):
        return StandInModule(spec.name)

    def exec_module(self, module):
        if module.__name__ == "megatron.bridge":
            module.__path__ = [str(pathlib.Path(sys.path[0]) / "megatron/bridge")]


def literal(value):
    """As an override spells it; None where it is no literal."""
    if isinstance(value, StandIn):
        member = re.search(r"CudaGraph(Module|Scope)\.(\w+)$", value.name_)
        return member[2] if member else value.name_ if value.name_.startswith("torch.") else None
    if isinstance(value, (list, tuple)):
        items = [literal(item) for item in value]
        return None if None in items else "[" + ",".join(items) + "]"
    return text(value) if value is None or isinstance(value, (bool, int, float, str)) else None


def fields_of(made):
    return [(name, value) for name, value in vars(made).items() if not name.endswith("_")]


def overrides(cfg, known):
    out = []
    for section, value in fields_of(cfg):
        if section == "env_vars":
            out += [f"env_vars.{name}={text(str(word))}" for name, word in sorted(value.items())]
        elif section == "mixed_precision":
            name = value if isinstance(value, str) else value.name_.rpartition(".")[2]
            out += [f"mixed_precision={name}"] if name != "MixedPrecisionConfig" else []
        elif section == "peft" and value is None:
            out.append("peft=null")
        elif section == "peft":
            out.append(f"peft._target_={value.name_}")
        if not isinstance(value, Made):
            continue
        for field, word in fields_of(value):
            spelled = literal(word)
            if (section, field) in known and field not in OF_NO_ACCOUNT and spelled is not None:
                out.append(f"{section}.{field}={spelled}")
    return out


def known_fields():
    """Section and field of the container, of every knob."""
    out = {("dataset", "seq_length")}
    for row in knob_rows.load_all():
        section = {"rerun": "rerun_state_machine"}.get(row["section"], row["section"])
        out.add((section, row["name"].removeprefix(row["section"] + ".")))
    return out


def main(checkout):
    sys.path.insert(0, str(checkout / "src"))
    sys.meta_path.insert(0, StandIns())
    known = known_fields()
    rows, names, left_out = {}, {}, {}
    for path in sorted((checkout / "src/megatron/bridge/recipes").rglob("*.py")):
        module_name = ".".join(path.relative_to(checkout / "src").with_suffix("").parts)
        if "utils" in module_name or path.name in ("__init__.py", "run_plugins.py", "common.py"):
            continue
        for name, function in vars(importlib.import_module(module_name)).items():
            if name.endswith("_config") and not name.startswith("_") and isinstance(function, types.FunctionType):
                names.setdefault(function, set()).add(name)
    for function, called in names.items():
        code = function.__code__
        if not function.__module__.startswith(RECIPES):
            continue
        source = f"{pathlib.Path(code.co_filename).relative_to(checkout / 'src/megatron/bridge/recipes')}:{code.co_firstlineno}"
        try:
            cfg = function()
        except (NotKnown, NotImplementedError, TypeError, AttributeError) as fault:
            left_out[function.__name__] = f"{source}: {fault!r}"
            continue
        if not isinstance(cfg, Made) or not cfg.name_.endswith("ConfigContainer"):
            continue
        # A provider with the model's sizes in the recipe: whose tokenizer it takes says which model that is.
        hf_model = vars(cfg.model).get("hf_model_") or vars(cfg.tokenizer).get("tokenizer_model")
        rows[function.__name__] = (function.__name__, ",".join(sorted(called - {function.__name__})) or "-",
                                   hf_model if isinstance(hf_model, str) else "-", source,
                                   json.dumps(overrides(cfg, known), separators=(",", ":")))
    out = [f"# The recipes of the library of {COMMIT}, by import_library_recipes.py: the function, its other names, the",
           "# model on the Hugging Face hub, where the function stands below src/megatron/bridge/recipes, and what it",
           "# sets, in Bridge's own spelling (a JSON list).", "\t".join(COLUMNS)]
    out += ["\t".join(rows[name]) for name in sorted(rows)]
    (ROOT / "resolver/catalog/library_recipes.tsv").write_text("\n".join(out) + "\n")
    print(len(rows), "recipes")
    for name, why in sorted(left_out.items()):
        print("left out:", name, why)


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    main(pathlib.Path(sys.argv[1]).resolve())
