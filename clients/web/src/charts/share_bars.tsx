// A bar for each row, a part of which is of another kind; figures stand behind it.
import { scaleLinear } from "d3-scale";
import { useId } from "preact/hooks";
import { withThousands } from "../words/text";
import { fillOf, Legend, Patterns } from "./patterns";
import { useWidth } from "./use_width";

export interface ShareBar {
  name: string;
  whole: number;
  /** Of `whole`. */
  part: number;
}

interface Props {
  title: string;
  /** Of what is left of the whole, and of the part. */
  names: readonly [string, string];
  bars: readonly ShareBar[];
}

const ROW = 24;
const CHARACTER = 7.2;  // of a pixel, about

export function ShareBars({ title, names, bars }: Props) {
  const { place, width } = useWidth();
  const id = useId().replaceAll(":", "");
  const start = Math.min(320, width * 0.42);
  const most = Math.floor(start / CHARACTER) - 1;
  const x = scaleLinear().domain([0, Math.max(1, ...bars.map(({ whole }) => whole))]).range([start, width - 110]);
  return (
    <div ref={place}>
      <svg class="chart" width={width} height={bars.length * ROW + 6} role="img" aria-label={title}>
        <Patterns id={id} />
        {bars.map(({ name, whole, part }, at) => (
          <g key={name} transform={`translate(0 ${at * ROW})`}>
            <text x={start - 8} y={17} text-anchor="end">{name.length > most ? `${name.slice(0, most - 1)}…` : name}</text>
            <rect x={start} y={4} width={Math.max(0, x(whole - part) - start)} height={16} fill={fillOf(id, 0)} />
            <rect x={x(whole - part)} y={4} width={Math.max(0, x(whole) - x(whole - part))} height={16} fill={fillOf(id, 1)} />
            <text x={x(whole) + 6} y={17}>{withThousands(whole)}{part > 0 && `, ${withThousands(part)} refused`}</text>
          </g>
        ))}
      </svg>
      <Legend id={`${id}-l`} names={names} />
    </div>
  );
}
