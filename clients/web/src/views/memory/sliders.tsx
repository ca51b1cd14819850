// What memory hangs on most, to be moved: each position is asked as soon as it is reached.
import { create } from "@bufbuild/protobuf";
import { useId } from "preact/hooks";
import { KnobValueSchema } from "../../generated/flightplan/v1/finding_pb";
import type { KnobValue } from "../../generated/flightplan/v1/finding_pb";
import { current } from "../../state/answer";
import { clearKnob, setKnob } from "../../state/pins";
import { edit, question } from "../../state/question";
import type { LayoutField } from "../../state/question";
import { valueText } from "../../words/text";

const SEARCHED = "searched";
const MICROBATCHES = [1, 2, 4, 8, 16];
// What each stop pins; full recomputation needs a method and a number of layers to be accepted.
const RECOMPUTES: readonly (readonly [stop: string, pins: Readonly<Record<string, KnobValue>>])[] = [
  [SEARCHED, {}],
  ["none", { recompute_granularity: create(KnobValueSchema) }],
  ["selective", { recompute_granularity: word("selective") }],
  ["full", { recompute_granularity: word("full"), recompute_method: word("uniform"), recompute_num_layers: create(KnobValueSchema, { kind: { case: "intValue", value: 1n } }) }],
];
const RECOMPUTE_KNOBS = ["recompute_granularity", "recompute_method", "recompute_num_layers", "recompute_modules"];

function word(text: string): KnobValue {
  return create(KnobValueSchema, { kind: { case: "stringValue", value: text } });
}

function powersUpTo(most: number): number[] {
  const powers = [];
  for (let size = 1; size <= most; size *= 2) powers.push(size);
  return powers;
}

export function Sliders() {
  const response = current.answer.value?.response;
  const experts = response?.model?.numMoeExperts ?? 0;
  const layout = question.value.layout;
  return (
    <fieldset class="sliders">
      <legend>move one: it is asked again as it moves</legend>
      <SizeSlider name="microbatch" field="microBatchSize" sizes={MICROBATCHES} value={layout?.microBatchSize} />
      {experts > 0 && (
        <SizeSlider name="EP" field="expertModelParallelSize" value={layout?.expertModelParallelSize}
          sizes={powersUpTo(Math.min(experts, question.value.hardware?.gpuCount ?? 1))} />
      )}
      <RecomputeSlider />
    </fieldset>
  );
}

function SizeSlider({ name, field, sizes, value }: { name: string; field: LayoutField; sizes: readonly number[]; value: number | undefined }) {
  // A size of the person's own between the stops is a stop, too.
  const own = value !== undefined && !sizes.includes(value) ? [value] : [];
  const stops = [undefined, ...[...sizes, ...own].sort((a, b) => a - b)];
  return (
    <Slider name={name} stops={stops.map((stop) => (stop === undefined ? SEARCHED : String(stop)))} at={stops.indexOf(value)}
      move={(at) => edit((draft) => (draft.layout[field] = stops[at]))} />
  );
}

function RecomputeSlider() {
  const stops = RECOMPUTES.map(([stop]) => stop);
  const pin = question.value.pinnedKnobs.find(({ name }) => name === "recompute_granularity");
  const at = pin ? Math.max(0, stops.indexOf(valueText(pin.value))) : 0;
  const move = (to: number): void => edit((draft) => {
    for (const name of RECOMPUTE_KNOBS) clearKnob(draft, name);
    for (const [name, value] of Object.entries(RECOMPUTES[to]![1])) setKnob(draft, name, value);
  });
  return <Slider name="recompute" stops={stops} at={at} move={move} />;
}

function Slider({ name, stops, at, move }: { name: string; stops: readonly string[]; at: number; move: (at: number) => void }) {
  const id = useId();
  return (
    <div class="slider">
      <label for={id}>{name}</label>
      <input id={id} type="range" min={0} max={stops.length - 1} step={1} value={at} aria-valuetext={stops[at]}
        onInput={(event) => move(Number(event.currentTarget.value))} />
      <output for={id}>{stops[at]}</output>
    </div>
  );
}
