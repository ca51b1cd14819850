// What one step does: by rank and stream, in three zooms.
import { useSignal } from "@preact/signals";
import { useEffect, useId } from "preact/hooks";
import { Lanes } from "../../charts/lanes";
import { live } from "../../client/transport";
import type { DescribeTimelineResponse, TimelineView as View } from "../../generated/flightplan/v1/timeline_pb";
import { TimelineZoom } from "../../generated/flightplan/v1/timeline_pb";
import { CopyButton } from "../../parts/copy_button";
import { FailureNote } from "../../parts/failure_note";
import { Section } from "../../parts/section";
import { question } from "../../state/question";
import { commandText } from "../../words/command";
import { unitFor } from "../../words/forecast";
import { durationText, layoutText, SERIES, ZOOMS } from "../../words/timeline_text";
import { drawAgain, drawingOf, drawn, eventText, keepDrawn } from "./drawn";
import { Events, Ranks, Totals } from "./tables";

const MOST_ZOOM = 7;  // the window is a 128th of the whole

export function TimelineView() {
  useEffect(keepDrawn, []);
  const answer = drawn.answer.value;
  return (
    <>
      <h1>Timeline</h1>
      <FailureNote failure={drawn.failure.value} again={drawAgain} />
      {drawn.asking.value && <p role="status">asking …</p>}
      {answer && <div aria-busy={drawn.asking.value} class={drawn.asking.value ? "stale" : ""}><Step answer={answer} /></div>}
    </>
  );
}

function Step({ answer }: { answer: DescribeTimelineResponse }) {
  const zoom = useSignal(TimelineZoom.STEP);
  const view = answer.views.find((one) => one.zoom === zoom.value) ?? answer.views[0];
  const trace = `${commandText("timeline", question.value)} --format trace`;
  return (
    <>
      <p>
        step {durationText(answer.stepTimeUs)} by the forecast; {layoutText(answer)}; {answer.target}
        {!answer.willRun && "; will not run as it stands"}
        {answer.answerStepTimeUs !== undefined && `; measurements say ${durationText(answer.answerStepTimeUs)}`}
      </p>
      <fieldset class="choices">
        <legend>show</legend>
        {ZOOMS.map(([value, name]) => (
          <label key={name}><input type="radio" name="zoom" checked={value === zoom.value} onChange={() => (zoom.value = value)} /> {name}</label>
        ))}
      </fieldset>
      {view && <OneView key={view.zoom} view={view} />}
      <Totals {...answer} />
      <Ranks {...answer} />
      <ul class="dim">{answer.notes.map((note) => <li key={note}>{note}</li>)}</ul>
      {live && <p>a trace for Perfetto, on a terminal: <code>{trace}</code> <CopyButton text={trace} /></p>}
    </>
  );
}

function OneView({ view }: { view: View }) {
  const [near, middle, chosen] = [useSignal(0), useSignal(50), useSignal<number | undefined>(undefined)];
  const unit = unitFor(view.durationUs);
  const { lanes, bars } = drawingOf(view, unit.us);
  const whole = view.durationUs / unit.us;
  const window = whole / 2 ** near.value;
  const from = Math.max(0, Math.min(whole - window, (middle.value / 100) * whole - window / 2));
  return (
    <>
      {view.title && <p>{view.title}</p>}
      <div class="sliders">
        <Range label="nearer" most={MOST_ZOOM} value={near.value} set={(value) => (near.value = value)} />
        <Range label="place" most={100} value={middle.value} set={(value) => (middle.value = value)} />
      </div>
      <Lanes title={view.title || "events of the step, by rank and stream; the tables below have the sums"} lanes={lanes} bars={bars} from={from} to={from + window}
        unit={unit.name} series={SERIES.map(([name]) => name)} chosen={chosen.value} choose={(key) => (chosen.value = key)} />
      <p role="status">{chosen.value === undefined ? "a click on a bar says what it is" : eventText(view, chosen.value)}</p>
      <Section title="these events as a table">{() => <Events view={view} from={from * unit.us} to={(from + window) * unit.us} />}</Section>
    </>
  );
}

function Range({ label, most, value, set }: { label: string; most: number; value: number; set: (value: number) => void }) {
  const id = useId();
  return (
    <div class="slider wide">
      <label for={id}>{label}</label>
      <input id={id} type="range" min={0} max={most} value={value} onInput={(event) => set(Number(event.currentTarget.value))} />
    </div>
  );
}
