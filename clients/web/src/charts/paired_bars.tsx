// Pairs of bars on one axis: A above B for each row.
import { scaleLinear } from "d3-scale";
import { useId } from "preact/hooks";
import { fillOf, Legend, Patterns } from "./patterns";
import { useWidth } from "./use_width";

export interface Pair {
  name: string;
  a: number;
  b: number;
}

const ROW = 38;
const NAME_SHARE = 0.36;
const MOST_NAME = 260;
const CHARACTER = 6.8;  // of a pixel, about

export function PairedBars({ title, pairs, text }: { title: string; pairs: readonly Pair[]; text: (value: number) => string }) {
  const { place, width } = useWidth();
  const id = useId().replaceAll(":", "");
  const room = Math.min(MOST_NAME, width * NAME_SHARE);
  const longest = Math.max(...pairs.map(({ name }) => name.length)) * CHARACTER + 12;
  const start = Math.min(room, longest);
  const characters = Math.floor((start - 10) / CHARACTER);
  const x = scaleLinear().domain([0, Math.max(1e-9, ...pairs.flatMap(({ a, b }) => [a, b]))]).range([start, width - 76]);
  return (
    <div ref={place}>
      <svg class="chart" width={width} height={pairs.length * ROW + 6} role="img" aria-label={title}>
        <Patterns id={id} />
        {pairs.map((pair, at) => (
          <g key={pair.name} transform={`translate(0 ${at * ROW})`}>
            <text x={start - 8} y={ROW / 2 + 2} text-anchor="end">{pair.name.length > characters ? `${pair.name.slice(0, characters - 1)}…` : pair.name}</text>
            {[pair.a, pair.b].map((value, side) => (
              <g key={side}>
                <rect x={start} y={3 + side * 16} width={Math.max(1, x(value) - start)} height={14} fill={fillOf(id, side)} />
                <text x={x(value) + 5} y={14 + side * 16}>{text(value)}</text>
              </g>
            ))}
          </g>
        ))}
      </svg>
      <Legend id={`${id}-l`} names={["A", "B"]} />
    </div>
  );
}
