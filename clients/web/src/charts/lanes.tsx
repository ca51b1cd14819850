// Events in lanes over time. A window of it may be looked at; what is outside is not drawn.
import { scaleLinear } from "d3-scale";
import { useId } from "preact/hooks";
import { fillOf, Legend, Patterns } from "./patterns";
import { useWidth } from "./use_width";

export interface Lane {
  key: string;
  name: string;
}

export interface Bar {
  key: number;
  lane: number;
  start: number;
  length: number;
  series: number;
  label: string;
}

interface Props {
  title: string;
  lanes: readonly Lane[];
  bars: readonly Bar[];
  /** Of the whole, which is [0, end]. */
  from: number;
  to: number;
  unit: string;
  series: readonly string[];
  chosen: number | undefined;
  choose: (key: number) => void;
}

const ROW = 18;
const TOP = 20;
const SMALLEST = 0.4;  // of a pixel

export function Lanes({ title, lanes, bars, from, to, unit, series, chosen, choose }: Props) {
  const { place, width } = useWidth();
  const id = useId().replaceAll(":", "");
  const left = Math.min(150, width * 0.3);
  const x = scaleLinear().domain([from, to]).range([left, width - 10]).clamp(true);
  const height = TOP + lanes.length * ROW + 4;
  const shown = bars.filter((bar) => bar.start < to && bar.start + bar.length > from);
  const ticks = Math.max(2, Math.floor(width / 110));
  return (
    <div ref={place}>
      <svg class="chart lanes" width={width} height={height} role="img" aria-label={title}>
        <Patterns id={id} />
        {x.ticks(ticks).map((tick) => (
          <g key={tick}>
            <line class="grid" x1={x(tick)} x2={x(tick)} y1={TOP - 4} y2={height} />
            <text x={x(tick)} y={12} text-anchor="middle">{x.tickFormat(ticks)(tick)} {unit}</text>
          </g>
        ))}
        {lanes.map(({ key, name }, at) => <text key={key} x={left - 6} y={TOP + at * ROW + 13} text-anchor="end">{name}</text>)}
        {shown.map((bar) => (
          <rect key={bar.key} class={`event ${bar.key === chosen ? "picked" : ""}`} x={x(bar.start)} y={TOP + bar.lane * ROW + 2}
            width={Math.max(SMALLEST, x(bar.start + bar.length) - x(bar.start))} height={ROW - 4} fill={fillOf(id, bar.series)}
            onClick={() => choose(bar.key)}>
            <title>{bar.label}</title>
          </rect>
        ))}
      </svg>
      <Legend id={`${id}-l`} names={series} />
    </div>
  );
}
