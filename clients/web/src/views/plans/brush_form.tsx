// The brush by keys: from and to for both axes. The pointer draws the same one over the chart.
import type { Signal } from "@preact/signals";
import { useId } from "preact/hooks";
import type { Brush, Span } from "../../charts/scatter";
import { plural } from "../../words/text";
import type { Measure } from "./measures";

interface Props {
  x: Measure;
  y: Measure;
  /** Of the plans that may be chosen from. */
  places: readonly { x: number; y: number }[];
  brush: Signal<Brush | undefined>;
  shown: number;
}

const STEPS = 100;

/** All of it, with room for what rounding takes. */
function wholeOf(values: readonly number[]): Span {
  const [low, high] = [Math.min(...values), Math.max(...values)];
  const room = 1e-9 * (Math.abs(low) + Math.abs(high) + 1);
  return [low - room, high + room];
}

export function BrushForm({ x, y, places, brush, shown }: Props) {
  const whole = { x: wholeOf(places.map((place) => place.x)), y: wholeOf(places.map((place) => place.y)) };
  const part = brush.value ?? whole;
  const set = (axis: "x" | "y", span: Span): void => void (brush.value = { ...part, [axis]: span });
  return (
    <fieldset class="brush-form">
      <legend>only plans with (or draw over the chart)</legend>
      <Ends name={x.name} unit={x.unit} whole={whole.x} part={part.x} set={(span) => set("x", span)} />
      <Ends name={y.name} unit={y.unit} whole={whole.y} part={part.y} set={(span) => set("y", span)} />
      <p class="buttons">
        <span role="status">{shown === places.length ? plural(shown, "plan") : `${shown} of ${plural(places.length, "plan")}`}</span>
        <button type="button" disabled={!brush.value} onClick={() => (brush.value = undefined)}>all plans</button>
      </p>
    </fieldset>
  );
}

interface EndsProps {
  name: string;
  unit: string;
  whole: Span;
  part: Span;
  set: (span: Span) => void;
}

function Ends({ name, unit, whole, part, set }: EndsProps) {
  const id = useId();
  const step = (whole[1] - whole[0]) / STEPS || 1;
  // One does not pass the other.
  const input = (end: 0 | 1, word: string) => (
    <div class="slider">
      <label for={`${id}-${end}`}>{name} {word}</label>
      <input id={`${id}-${end}`} type="range" min={0} max={STEPS} step={1} value={Math.round((part[end] - whole[0]) / step)}
        aria-valuetext={`${part[end].toPrecision(3)} ${unit}`.trim()}
        onInput={(event) => {
          const value = whole[0] + step * event.currentTarget.valueAsNumber;
          set(end === 0 ? [Math.min(value, part[1]), part[1]] : [part[0], Math.max(value, part[0])]);
        }} />
      <output for={`${id}-${end}`}>{part[end].toPrecision(3)} {unit}</output>
    </div>
  );
  return <>{input(0, "from")}{input(1, "to")}</>;
}
