// The stages of a forecast as columns of a chart: every stage, and the parts that are worth a colour.
import type { Estimate, StageMemory } from "../../generated/flightplan/v1/estimate_pb";
import type { Stack } from "../../charts/stacked_columns";
import { SERIES_COUNT } from "../../charts/patterns";
import { GIB, gibNumber, partName } from "../../words/text";
import { gibRange } from "../../words/forecast";

/** A part below this share of the usable memory in every stage is one of the rest, as the terminal's bar has it. */
const SMALLEST_SHARE = 1 / 40;

function seriesOf(name: string): string {
  return name.endsWith("_activations") ? "activations" : partName(name);
}

function amounts({ parts }: StageMemory): Map<string, number> {
  const sums = new Map<string, number>();
  for (const { name, partBytes } of parts) sums.set(seriesOf(name), (sums.get(seriesOf(name)) ?? 0) + Number(partBytes));
  return sums;
}

/** Names of the series, the rest last. */
function seriesNames(estimate: Estimate, sums: readonly Map<string, number>[]): string[] {
  const most = new Map<string, number>();
  for (const sum of sums) for (const [name, bytes] of sum) most.set(name, Math.max(most.get(name) ?? 0, bytes));
  const large = [...most].filter(([, bytes]) => bytes >= SMALLEST_SHARE * Number(estimate.usableBytes)).map(([name]) => name);
  const shown = large.slice(0, SERIES_COUNT - 1);
  return shown.length < most.size ? [...shown, "rest"] : shown;
}

export interface Columns {
  series: string[];
  stacks: Stack[];
  /** The entry that a column's key stands for. */
  stageOf: Map<string, StageMemory>;
}

export function columnsOf(estimate: Estimate): Columns {
  const sums = estimate.stages.map(amounts);
  const series = seriesNames(estimate, sums);
  const stacks: Stack[] = [];
  const stageOf = new Map<string, StageMemory>();
  estimate.stages.forEach((stage, at) => {
    const total = stage.totalBytes!;
    const named = series.filter((name) => name !== "rest").map((name) => sums[at]!.get(name) ?? 0);
    const rest = total.value - named.reduce((a, b) => a + b, 0);
    const values = [...named, ...(series.includes("rest") ? [Math.max(0, rest)] : [])].map((bytes) => bytes / GIB);
    for (let index = stage.stage; index <= Math.max(stage.stage, stage.lastStageIndex); ++index) {
      const label = `stage ${index}: ${gibRange(total)} GiB of ${gibNumber(estimate.usableBytes)}`;
      stacks.push({ key: String(index), label, values, low: total.low / GIB, high: total.high / GIB });
      stageOf.set(String(index), stage);
    }
  });
  return { series, stacks, stageOf };
}
