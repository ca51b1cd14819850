// The same as tables: one stage's parts, and all stages.
import type { Estimate, StageMemory } from "../../generated/flightplan/v1/estimate_pb";
import { FigureKind } from "../../generated/flightplan/v1/estimate_pb";
import { DataTable } from "../../parts/data_table";
import { gibRange, stagesText } from "../../words/forecast";
import { gibNumber, partName } from "../../words/text";

const KINDS = new Map([
  [FigureKind.EXACT, "closed formula"], [FigureKind.MODEL, "model, a few per cent"], [FigureKind.MARGIN, "margin"],
]);

export function StageParts({ stage }: { stage: StageMemory }) {
  const rows = [...stage.parts].sort((a, b) => Number(b.partBytes - a.partBytes)).map(({ name, partBytes, kind }) => ({
    key: name, cells: [partName(name), gibNumber(partBytes), KINDS.get(kind) ?? ""],
  }));
  const total = stage.totalBytes && { key: "total", strong: true, cells: ["total", gibRange(stage.totalBytes), "what the GPU must have"] };
  const allocated = stage.allocatedBytes && { key: "allocated", cells: ["allocated", gibRange(stage.allocatedBytes), "what PyTorch counts"] };
  const device = stage.deviceBytes && { key: "device", cells: ["on the device", gibRange(stage.deviceBytes), "what nvidia-smi shows, with freed blocks that PyTorch keeps"] };
  return (
    <DataTable caption={`stage ${stagesText(stage)}, GiB`} columns={[{ head: "part" }, { head: "GiB", number: true }, { head: "how it was made" }]}
      rows={[...rows, ...(total ? [total] : []), ...(allocated ? [allocated] : []), ...(device ? [device] : [])]} />
  );
}

export function AllStages({ estimate }: { estimate: Estimate }) {
  const names = [...new Set(estimate.stages.flatMap(({ parts }) => parts.map(({ name }) => name)))];
  const rows = estimate.stages.map((stage) => {
    const parts = new Map(stage.parts.map(({ name, partBytes }) => [name, partBytes]));
    return {
      key: stagesText(stage),
      cells: [stagesText(stage), ...names.map((name) => (parts.has(name) ? gibNumber(parts.get(name)!) : "")), stage.totalBytes ? gibNumber(stage.totalBytes.value) : ""],
    };
  });
  const columns = [{ head: "stage" }, ...names.map((name) => ({ head: partName(name), number: true })), { head: "total", number: true }];
  return <DataTable caption="GiB by pipeline stage" columns={columns} rows={rows} />;
}
