// What memory hangs on most, to be moved: each position is asked as soon as it is reached.
import { create } from "@bufbuild/protobuf";
import { useId } from "preact/hooks";
import { KnobValueSchema } from "../../generated/flightplan/v1/finding_pb";
import { current } from "../../state/answer";
import { clearKnob, setKnob } from "../../state/pins";
import { edit, question } from "../../state/question";
import type { LayoutField } from "../../state/question";
import { valueText } from "../../words/text";

const SEARCHED = "searched";
const MICROBATCHES = [1, 2, 4, 8, 16];
const RECOMPUTE = "recompute_granularity";
const RECOMPUTES = [SEARCHED, "none", "selective", "full"];

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
  const pin = question.value.pinnedKnobs.find(({ name }) => name === RECOMPUTE);
  const at = pin ? Math.max(0, RECOMPUTES.indexOf(valueText(pin.value))) : 0;
  const move = (to: number): void => edit((draft) => {
    const word = RECOMPUTES[to]!;
    if (word === SEARCHED) clearKnob(draft, RECOMPUTE);
    else setKnob(draft, RECOMPUTE, create(KnobValueSchema, word === "none" ? {} : { kind: { case: "stringValue", value: word } }));
  });
  return <Slider name="recompute" stops={RECOMPUTES} at={at} move={move} />;
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
