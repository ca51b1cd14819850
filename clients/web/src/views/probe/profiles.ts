// Profiles of GPUs that the server has stored.
import { createClient } from "@connectrpc/connect";
import { transport } from "../../client/transport";
import { latest } from "../../client/latest";
import { ProbeService } from "../../generated/flightplan/v1/probe_service_pb";
import type { HardwareProfile, ProbeRow } from "../../generated/flightplan/v1/profile_pb";

const MOST = 100;
const probe = createClient(ProbeService, transport);

export const profiles = latest<HardwareProfile[]>();

export function load(): void {
  void profiles.ask(async (signal) => (await probe.listProfiles({ pageSize: MOST }, { signal })).profiles);
}

/** What was measured, with its shape: "ceilings.copy, bytes 1e+09". */
export function rowName({ id, parameters, labels }: ProbeRow): string {
  const shape = Object.entries(parameters).map(([name, value]) => `${name} ${value >= 1e6 ? value.toExponential(2) : value}`);
  return [id, ...Object.values(labels), ...shape].join(", ");
}

const SCALES: Readonly<Record<string, readonly [number, string]>> = {
  us: [1, "us"], bytes_per_second: [1e9, "GB/s"], flops_per_second: [1e12, "TFLOP/s"], ratio: [1, ""],
};

export function rowText(value: number, unit: string): string {
  const [scale, name] = SCALES[unit] ?? [1, unit];
  return `${Number((value / scale).toPrecision(3))}${name && ` ${name}`}`;
}

type RowPair = readonly [a: ProbeRow, b: ProbeRow];

/** Rows that both have, with the same shape and unit, by what was measured. */
export function commonRows(a: readonly ProbeRow[], b: readonly ProbeRow[]): Map<string, RowPair[]> {
  const others = new Map(b.map((row) => [rowName(row), row]));
  const groups = new Map<string, RowPair[]>();
  for (const row of a) {
    const other = others.get(rowName(row));
    if (!other || other.unit !== row.unit) continue;
    const group = groups.get(row.id);
    if (group) group.push([row, other]);
    else groups.set(row.id, [[row, other]]);
  }
  return groups;
}

/** What tells rows of one measurement apart: the parameters and labels that are not the same in all; of a single row all. */
export function variedNames(rows: readonly ProbeRow[]): string[] {
  const partsOf = (row: ProbeRow): [string, string][] => [
    ...Object.entries(row.labels), ...Object.entries(row.parameters).map(([name, value]): [string, string] => [name, compactText(value)]),
  ];
  const all = rows.map((row) => new Map(partsOf(row)));
  const varied = new Set(all.flatMap((one) => [...one.keys()]).filter((name) => rows.length === 1 || new Set(all.map((one) => one.get(name))).size > 1));
  const names = all.map((one) => [...one].filter(([name]) => varied.has(name)).map(([name, value]) => `${name} ${value}`).join(", "));
  // Rows that nothing tells apart are numbered.
  return names.map((name, at) => (names.indexOf(name) === at && name ? name : `${name || "row"} #${at + 1}`));
}

/** "64 Mi", "40 G", "4,096". */
export function compactText(value: number): string {
  if (value >= 2 ** 20 && value % 2 ** 20 === 0) return `${value / 2 ** 20} Mi`;
  if (value >= 1e9) return `${Number((value / 1e9).toPrecision(3))} G`;
  return value.toString();
}

export function medianRatio(pairs: readonly RowPair[]): number {
  const ratios = pairs.map(([a, b]) => b.value / a.value).sort((x, y) => x - y);
  const middle = Math.floor(ratios.length / 2);
  return ratios.length % 2 === 1 ? ratios[middle]! : (ratios[middle - 1]! + ratios[middle]!) / 2;
}
