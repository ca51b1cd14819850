// A question as the command that asks it.
import { HostCpuClass } from "../generated/flightplan/v1/hardware_pb";
import { Objective, Stage, Wall } from "../generated/flightplan/v1/parallelism_pb";
import type { Question } from "../state/question";
import { GIB, shellWord, valueText } from "./text";

export const STAGES = new Map([[Stage.BRING_UP, "bring-up"], [Stage.TUNE, "tune"], [Stage.PRODUCTION, "production"]]);
export const OBJECTIVES = new Map([[Objective.TRAINING, "training"], [Objective.BENCHMARK, "benchmark"]]);
const HOST_CPUS = new Map([[HostCpuClass.X86_FAST, "x86-fast"], [HostCpuClass.X86_SLOW, "x86-slow"], [HostCpuClass.ARM, "arm"]]);
const WALLS = new Map([[Wall.MEMORY, "memory"], [Wall.COMMUNICATION, "communication"], [Wall.HOST, "host"], [Wall.COMPUTE, "compute"]]);

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

function gib(bytes: bigint | undefined): number | undefined {
  return bytes === undefined ? undefined : Number(bytes) / GIB;
}

function hardwareFlags({ hardware }: Question): Flag[] {
  const fabric = hardware?.fabric;
  return [
    ["--gpu", hardware?.gpu], ["--gpus", hardware?.gpuCount || undefined],
    ["--nvlink-domain", fabric?.nvlinkDomainGpuCount], ["--gpus-per-node", fabric?.gpusPerNodeCount], ["--transport", fabric?.transport],
    ["--reserved-memory-gib", gib(hardware?.reservedBytes)], ["--host-memory-gib", gib(hardware?.hostMemoryBytes)],
    ["--host-cpu", hardware && HOST_CPUS.get(hardware.hostCpuClass)],
  ];
}

function workloadFlags({ workload, stage }: Question): Flag[] {
  return [
    ["--seq", workload?.seqLength || undefined], ["--gbs", workload?.globalBatchSize || undefined],
    ["--precision", workload?.precision || undefined], ["--stage", STAGES.get(stage)],
    ["--objective", workload && OBJECTIVES.get(workload.objective)], ["--iterations", workload?.trainIters],
  ];
}

function stackFlags({ target, software }: Question): Flag[] {
  const stash = software?.pagedStash ? ["paged_stash"] : [];
  const backends = software?.dispatchers?.backends;
  const installed = backends ? [...(backends.length ? backends : ["none"]), ...stash] : stash;
  const named = target?.framework || target?.version;
  const version = target?.version ? `@${target.version}` : "";
  return [
    ["--target", named ? `${target?.framework || "megatron-lm"}${version}` : undefined],
    ["--capability", installed.join(",")],
    ["--te", software?.teVersion], ["--torch", software?.torchVersion], ["--cuda", software?.cudaVersion],
    ["--nccl", software?.ncclVersion], ["--driver", software?.driverVersion],
    ...Object.entries(software?.packages ?? {}).map(([name, version]): Flag => ["--package", `${name}=${version}`]),
    ["--dispatcher-transport", software?.dispatchers?.transport],
  ];
}

function profileFlags({ profile, probeProfile }: Question): Flag[] {
  const stepUs = profile?.stepTimeUs;
  return [
    ["--profile", probeProfile && "profile.json"], ["--profile-step-ms", stepUs === undefined ? undefined : stepUs / 1000],
    ["--profile-exposed", profile?.exposedCommunicationRatio], ["--profile-a2a", profile?.exposedAllToAllRatio],
    ["--profile-host", profile?.hostGapRatio], ["--profile-bubble", profile?.pipelineBubbleRatio],
    ["--profile-memory-gib", gib(profile?.memoryHighWaterBytes)],
    ["--profile-wall", profile?.wall === undefined ? undefined : WALLS.get(profile.wall)],
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
    ...workloadFlags(question), ...stackFlags(question), ...pinFlags(question), ...profileFlags(question),
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
