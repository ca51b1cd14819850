// The timeline as tables: what the slowest rank's time goes to, and each rank.
import type { DescribeTimelineResponse, TimelineView as View } from "../../generated/flightplan/v1/timeline_pb";
import { DataTable } from "../../parts/data_table";
import { durationText, kindWord, streamWord } from "../../words/timeline_text";

export function Totals({ totals, slowestPipelineRank, stepTimeUs }: DescribeTimelineResponse) {
  const rows = totals.map(({ kind, scheduledUs: waits, hiddenUs, forecastUs }) => ({
    key: kindWord(kind), cells: [kindWord(kind), durationText(waits), hiddenUs > 0 ? durationText(hiddenUs) : "", durationText(forecastUs)],
  }));
  const end = { key: "step", strong: true, cells: ["step", durationText(stepTimeUs), "", durationText(stepTimeUs)] };
  const columns = [{ head: "what" }, { head: "the step waits", number: true }, { head: "hidden", number: true }, { head: "forecast", number: true }];
  return <DataTable caption={`rank ${slowestPipelineRank}, the slowest, in one step`} columns={columns} rows={[...rows, end]} />;
}

export function Ranks({ ranks }: DescribeTimelineResponse) {
  const rows = ranks.map((rank) => ({
    key: String(rank.pipelineRank),
    cells: [
      rank.pipelineRank, rank.layerCounts.join("+") + (rank.embedding ? ", embedding" : "") + (rank.loss ? ", loss" : ""), String(rank.warmUpCount),
      durationText(rank.busyUs), durationText(rank.transferUs), durationText(rank.bubbleUs), durationText(rank.onceUs),
    ],
  }));
  const columns = [
    { head: "rank", number: true }, { head: "layers by chunk" }, { head: "warm-up passes", number: true }, { head: "busy", number: true },
    { head: "transfers", number: true }, { head: "bubble", number: true }, { head: "once a step", number: true },
  ];
  return <DataTable caption="every pipeline rank" columns={columns} rows={rows} />;
}

const MOST_EVENTS = 200;

/** The events of a window in microseconds, by their start. */
export function Events({ view, from, to }: { view: View; from: number; to: number }) {
  const inside = view.events.filter(({ startUs, durationUs }) => startUs < to && startUs + durationUs > from).sort((a, b) => a.startUs - b.startUs);
  const rows = inside.slice(0, MOST_EVENTS).map((event, at) => ({
    key: String(at),
    cells: [
      event.pipelineRank, streamWord(event.stream), event.name || kindWord(event.kind), kindWord(event.kind), durationText(event.startUs),
      durationText(event.durationUs), durationText(event.exposedUs),
    ],
  }));
  const columns = [
    { head: "rank", number: true }, { head: "stream" }, { head: "name" }, { head: "what" }, { head: "start", number: true }, { head: "length", number: true },
    { head: "exposed", number: true },
  ];
  const shown = inside.length > MOST_EVENTS ? `the first ${MOST_EVENTS} of ${inside.length} events` : `${inside.length} events`;
  return <DataTable caption={shown} columns={columns} rows={rows} />;
}
