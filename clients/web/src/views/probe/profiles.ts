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
