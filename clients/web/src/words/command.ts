// A question as the command that asks it.
import { Objective, Stage } from "../generated/flightplan/v1/parallelism_pb";
import type { Question } from "../state/question";
import { shellWord, valueText } from "./text";

export const STAGES = new Map([[Stage.BRING_UP, "bring-up"], [Stage.TUNE, "tune"], [Stage.PRODUCTION, "production"]]);
export const OBJECTIVES = new Map([[Objective.TRAINING, "training"], [Objective.BENCHMARK, "benchmark"]]);

export const LAYOUT_FLAGS = [
  ["tensorModelParallelSize", "--tp"], ["pipelineModelParallelSize", "--pp"], ["virtualPipelineModelParallelSize", "--vpp"],
  ["contextParallelSize", "--cp"], ["expertModelParallelSize", "--ep"], ["expertTensorParallelSize", "--etp"],
  ["microBatchSize", "--mbs"],
] as const;

type Flag = readonly [flag: string, value: string | number | bigint | undefined];

function modelWord(question: Question): string {
  const source = question.model?.source;
  return source?.case === "name" ? source.value : "config.json";
}

function hardwareFlags({ hardware }: Question): Flag[] {
  const fabric = hardware?.fabric;
  return [
    ["--gpu", hardware?.gpu], ["--gpus", hardware?.gpuCount || undefined],
    ["--nvlink-domain", fabric?.nvlinkDomainGpuCount], ["--gpus-per-node", fabric?.gpusPerNodeCount], ["--transport", fabric?.transport],
  ];
}

function workloadFlags({ workload, stage }: Question): Flag[] {
  return [
    ["--seq", workload?.seqLength || undefined], ["--gbs", workload?.globalBatchSize || undefined],
    ["--precision", workload?.precision || undefined], ["--stage", STAGES.get(stage)],
    ["--objective", workload && OBJECTIVES.get(workload.objective)],
  ];
}

function stackFlags({ target, software }: Question): Flag[] {
  const installed = software?.dispatchers?.backends;
  const named = target?.framework || target?.version;
  const version = target?.version ? `@${target.version}` : "";
  return [
    ["--target", named ? `${target?.framework || "megatron-lm"}${version}` : undefined],
    ["--capability", installed && (installed.length ? installed.join(",") : "none")],
    ["--te", software?.teVersion], ["--torch", software?.torchVersion], ["--cuda", software?.cudaVersion],
  ];
}

function pinFlags({ pinnedKnobs, env }: Question): Flag[] {
  const pins = pinnedKnobs.map(({ name, value }): Flag =>
    value?.kind.case === undefined ? ["--unset", name] : ["--set", `${name}=${valueText(value)}`]);
  return [...pins, ...Object.entries(env).map(([name, value]): Flag => ["--env", `${name}=${value}`])];
}

/** Flags of `flightplan resolve` that ask this question; only what is written. */
function pairsOf(question: Question): (readonly [flag: string, value: string])[] {
  const layout = LAYOUT_FLAGS.map(([field, flag]): Flag => [flag, question.layout?.[field]]);
  const split = question.layout?.pipelineModelParallelLayout;
  const rows: Flag[] = [
    ["--model", modelWord(question)], ...hardwareFlags(question), ...layout, ["--pipeline-layout", split || undefined],
    ...workloadFlags(question), ...stackFlags(question), ...pinFlags(question),
  ];
  return rows.flatMap(([flag, value]) => (value === undefined || value === "" ? [] : [[flag, String(value)] as const]));
}

function words(pairs: readonly (readonly [string, string])[]): string[] {
  return pairs.map(([flag, value]) => `${flag} ${shellWord(value)}`);
}

/** "--model deepseek-v3 --gpu h100-sxm ...". */
export function flagsText(question: Question): string {
  return words(pairsOf(question)).join(" ");
}

/** "flightplan resolve --model deepseek-v3 ...". */
export function commandText(command: string, question: Question): string {
  return `flightplan ${command} ${flagsText(question)}`;
}

/** "flightplan diff COMMON -- ONLY_A -- ONLY_B". */
export function diffText(a: Question, b: Question): string {
  const [inA, inB] = [words(pairsOf(a)), words(pairsOf(b))];
  const common = inA.filter((word) => inB.includes(word));
  const own = (all: string[]): string[] => all.filter((word) => !common.includes(word));
  return ["flightplan diff", ...common, "--", ...own(inA), "--", ...own(inB)].join(" ");
}
