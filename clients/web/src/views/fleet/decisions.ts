// What the server decided of late, for its operators.
import { createClient } from "@connectrpc/connect";
import { latest } from "../../client/latest";
import { transport } from "../../client/transport";
import { FleetService } from "../../generated/flightplan/v1/fleet_service_pb";
import type { SummarizeDecisionsResponse } from "../../generated/flightplan/v1/fleet_service_pb";
import { plural } from "../../words/text";

export const MOST = 200;
const fleet = createClient(FleetService, transport);

export interface Filter {
  /** Empty: all. */
  tenant: string;
  ruleId: string;
}

export const decisions = latest<SummarizeDecisionsResponse>();

export function ask({ tenant, ruleId }: Filter): void {
  void decisions.ask((signal) => fleet.summarizeDecisions({ tenant, ruleId, maxDecisionCount: MOST }, { signal }));
}

interface Timestamp {
  seconds: bigint;
  nanos: number;
}

/** "2026-11-25 12:00:01", as the log says it. */
export function timeText(time: Timestamp | undefined): string {
  return time ? new Date(Number(time.seconds) * 1000 + time.nanos / 1e6).toISOString().slice(0, 19).replace("T", " ") : "";
}

/** Of a line that names no tenant. */
export function tenantText(name: string): string {
  return name || "(none)";
}

/** "1,203 decisions since 2026-11-25 12:00:01, of the last 8.0 MiB of the log". */
export function headText({ decisionCount, oldestTime, whole, readBytes, unreadableCount }: SummarizeDecisionsResponse, filtered: boolean): string {
  const part = whole ? "of the whole log" : `of the last ${(Number(readBytes) / 2 ** 20).toFixed(1)} MiB of the log`;
  const since = oldestTime ? `, read back to ${timeText(oldestTime)} UTC` : "";
  const bad = unreadableCount > 0n ? `; ${plural(Number(unreadableCount), "line")} of it cannot be read` : "";
  return `${plural(Number(decisionCount), "decision")}${filtered ? " that are as chosen" : ""}, ${part}${since}${bad}`;
}
