// The forecast in the terminal's words (clients/cli/forecast_text.cc, resolve_page.cc).
import { FitVerdict } from "../generated/flightplan/v1/estimate_pb";
import type { Estimate, MemoryVerdict, Range, StageMemory } from "../generated/flightplan/v1/estimate_pb";
import { gibNumber, percentText, withThousands } from "./text";

const PATHS: Readonly<Record<string, string>> = {
  expert_parallel: "EP", tensor_parallel: "TP", context_parallel: "CP", pipeline_parallel: "PP", data_parallel: "DP",
};

export interface TimeUnit {
  us: number;
  name: string;
}

export function unitFor(us: number): TimeUnit {
  return us >= 1e6 ? { us: 1e6, name: "s" } : { us: 1e3, name: "ms" };
}

function figure(us: number, unit: TimeUnit): string {
  const value = us / unit.us;
  return value.toFixed(value < 10 ? 1 : 0);
}

/** "6.9 s". */
export function timeText(us: number): string {
  const unit = unitFor(us);
  return `${figure(us, unit)} ${unit.name}`;
}

/** "38 s (25..57)", one unit for all three. */
export function stepText(step: Range): string {
  const unit = unitFor(step.value);
  const band = step.high > step.low ? ` (${figure(step.low, unit)}..${figure(step.high, unit)})` : "";
  return `${figure(step.value, unit)} ${unit.name}${band}`;
}

/** "69 (56..90)". */
export function gibRange(range: Range): string {
  return `${gibNumber(range.value)} (${gibNumber(range.low)}..${gibNumber(range.high)})`;
}

/** The stage that needs most; undefined without a forecast. */
export function fullestStage(estimate: Estimate | undefined): StageMemory | undefined {
  let worst: StageMemory | undefined;
  for (const stage of estimate?.stages ?? []) {
    if (!worst || (stage.totalBytes?.value ?? 0) > (worst.totalBytes?.value ?? 0)) worst = stage;
  }
  return worst;
}

const FITS = new Map([[FitVerdict.FITS, "yes"], [FitVerdict.MARGINAL, "marginal"], [FitVerdict.DOES_NOT_FIT, "no"]]);
const FIT_SENTENCES = new Map([
  [FitVerdict.FITS, "fits"], [FitVerdict.MARGINAL, "marginal"], [FitVerdict.DOES_NOT_FIT, "does not fit"]]);

/** "yes", "marginal", "no", "unknown". */
export function fitWord(fit: FitVerdict): string {
  return FITS.get(fit) ?? "unknown";
}

/** "fits", "marginal", "does not fit"; empty where it is not known. */
export function fitSentence(fit: FitVerdict): string {
  return FIT_SENTENCES.get(fit) ?? "";
}

/** "69 GiB of 80 (56..90), stage 2"; empty without a forecast. */
export function memoryText(estimate: Estimate | undefined): string {
  const worst = fullestStage(estimate);
  const total = worst?.totalBytes;
  if (!estimate || !worst || !total) return "";
  const usable = estimate.usableBytes > 0n ? ` of ${gibNumber(estimate.usableBytes)}` : "";
  const band = total.low > 0 && total.high > total.low ? ` (${gibNumber(total.low)}..${gibNumber(total.high)})` : "";
  return `${gibNumber(total.value)} GiB${usable}${band}, stage ${worst.stage}`;
}

/** What is known of memory where there is no forecast, and the input that would bring one. */
export function memoryVerdictText(memory: MemoryVerdict): string {
  const parts = [];
  if (memory.atLeastBytes > 0n) {
    parts.push(`at least ${gibNumber(memory.atLeastBytes)} GiB of ${gibNumber(memory.usableBytes)} by parameters and optimizer alone`);
  }
  if (memory.missingInput) parts.push(`say ${missingFlag(memory.missingInput)}`);
  return parts.join("; ");
}

function missingFlag(input: string): string {
  if (input === "hardware.gpu") return "--gpu NAME";
  return input === "hardware.gpu_count" ? "--gpus N" : `--set ${input}=N`;
}

/** "865 tokens/s and 225 TFLOP/s per GPU, MFU 23 %"; empty where it is not known. */
export function speedText(estimate: Estimate | undefined): string {
  if (!estimate || estimate.tokensPerSecondPerGpu <= 0) return "";
  const tokens = withThousands(Math.round(estimate.tokensPerSecondPerGpu));
  const mfu = estimate.mfuRatio > 0 ? `, MFU ${percentText(estimate.mfuRatio)}` : "";
  return `${tokens} tokens/s and ${(estimate.flopsPerSecondPerGpu / 1e12).toFixed(0)} TFLOP/s per GPU${mfu}`;
}

/** "EP" for "expert_parallel"; a newer server's name as it is. */
export function pathWord(name: string): string {
  return PATHS[name] ?? name;
}

/** "3", or "1-6" where neighbours are equal. */
export function stagesText(stage: StageMemory): string {
  return stage.lastStageIndex > stage.stage ? `${stage.stage}-${stage.lastStageIndex}` : String(stage.stage);
}
