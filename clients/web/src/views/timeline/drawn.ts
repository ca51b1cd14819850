// The timeline of the question, asked whenever it changes while the view is open.
import { createClient } from "@connectrpc/connect";
import { effect } from "@preact/signals";
import { transport } from "../../client/transport";
import { latest } from "../../client/latest";
import { token } from "../../client/token";
import { TimelineKind, TimelineService } from "../../generated/flightplan/v1/timeline_pb";
import type { DescribeTimelineResponse, TimelineView as View } from "../../generated/flightplan/v1/timeline_pb";
import type { Bar, Lane } from "../../charts/lanes";
import { asked, question } from "../../state/question";
import { durationText, kindWord, laneOrder, seriesOf, streamWord } from "../../words/timeline_text";

const client = createClient(TimelineService, transport);

export const drawn = latest<DescribeTimelineResponse>();

/** Asks now and at every change; ends with the function that it gives. */
export function keepDrawn(): () => void {
  return effect(() => {
    const resolve = asked(question.value);
    void token.value;
    void drawn.ask((signal) => client.describeTimeline({ config: { case: "resolve", value: resolve } }, { signal }));
  });
}

export function drawAgain(): void {
  question.value = { ...question.value };
}

export interface Drawing {
  lanes: Lane[];
  bars: Bar[];
}

/** A lane for each stream of each rank that has an event; `scale` is microseconds of one unit of the axis. */
export function drawingOf(view: View, scale: number): Drawing {
  const keys = new Map<string, [rank: number, stream: number]>();
  for (const { pipelineRank, stream } of view.events) keys.set(`${pipelineRank}/${stream}`, [pipelineRank, stream]);
  const sorted = [...keys].sort(([, a], [, b]) => a[0] - b[0] || laneOrder(a[1]) - laneOrder(b[1]));
  const laneOf = new Map(sorted.map(([key], at) => [key, at]));
  const lanes = sorted.map(([key, [rank, stream]], at): Lane =>
    ({ key, name: sorted[at - 1]?.[1][0] === rank ? streamWord(stream) : `rank ${rank} ${streamWord(stream)}` }));
  const bars = view.events.map((event, key): Bar => ({
    key,
    lane: laneOf.get(`${event.pipelineRank}/${event.stream}`)!,
    start: event.startUs / scale,
    length: event.durationUs / scale,
    series: seriesOf(event.kind),
    label: eventText(view, key),
  }));
  return { lanes, bars };
}

/** "rank 3, compute: F 12.1 (forward), from 1.2 s, 40 ms, 40 ms exposed". */
export function eventText({ events }: View, at: number): string {
  const event = events[at];
  if (!event) return "";
  const times = [`from ${durationText(event.startUs)}`, durationText(event.durationUs), `${durationText(event.exposedUs)} exposed`];
  // Joined passes have their number in their name.
  const many = event.repeatCount === undefined || event.kind === TimelineKind.PASSES ? "" : ` × ${event.repeatCount}`;
  return `rank ${event.pipelineRank}, ${streamWord(event.stream)}: ${event.name || kindWord(event.kind)}${many} (${kindWord(event.kind)}), ${times.join(", ")}`;
}
