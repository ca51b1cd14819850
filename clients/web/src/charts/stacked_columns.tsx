// Stacked columns with a band over each and a limit across all.
import { scaleBand, scaleLinear } from "d3-scale";
import { useId } from "preact/hooks";
import { fillOf, Legend, Patterns } from "./patterns";
import { useWidth } from "./use_width";

export interface Stack {
  key: string;
  /** Read out for the column. */
  label: string;
  /** One for each series. */
  values: readonly number[];
  low: number;
  high: number;
}

interface Props {
  /** What the drawing shows, read out. */
  title: string;
  unit: string;
  series: readonly string[];
  stacks: readonly Stack[];
  limit: { value: number; label: string };
  chosen: string;
  choose: (key: string) => void;
}

const HEIGHT = 340;
const EDGE = { top: 22, right: 8, bottom: 34, left: 40 };

export function StackedColumns({ title, unit, series, stacks, limit, chosen, choose }: Props) {
  const { place, width } = useWidth();
  const id = useId().replaceAll(":", "");
  const most = Math.max(limit.value, ...stacks.map(({ high }) => high)) * 1.02;
  const y = scaleLinear().domain([0, most]).range([HEIGHT - EDGE.bottom, EDGE.top]).nice();
  const x = scaleBand().domain(stacks.map(({ key }) => key)).range([EDGE.left, width - EDGE.right]).padding(0.2);
  const every = Math.max(1, Math.ceil(stacks.length / Math.floor(width / 28)));
  return (
    <div ref={place}>
      <svg class="chart" width={width} height={HEIGHT} role="group" aria-label={title}>
        <Patterns id={id} />
        {y.ticks(6).map((tick) => (
          <g key={tick}>
            <line class="grid" x1={EDGE.left} x2={width - EDGE.right} y1={y(tick)} y2={y(tick)} />
            <text x={EDGE.left - 6} y={y(tick) + 4} text-anchor="end">{tick}</text>
          </g>
        ))}
        <text x={EDGE.left} y={12}>{unit}</text>
        {stacks.map((stack, at) => (
          <Column key={stack.key} stack={stack} id={id} x={x(stack.key)!} width={x.bandwidth()} y={y} chosen={stack.key === chosen}
            choose={choose} named={at % every === 0} />
        ))}
        <line class="limit" x1={EDGE.left} x2={width - EDGE.right} y1={y(limit.value)} y2={y(limit.value)} />
        <line class="limit" x1={EDGE.left + 48} x2={EDGE.left + 72} y1={8} y2={8} />
        <text x={EDGE.left + 78} y={12}>{limit.label}</text>
        <text x={(EDGE.left + width - EDGE.right) / 2} y={HEIGHT - 3} text-anchor="middle">pipeline stage</text>
      </svg>
      <Legend id={`${id}-l`} names={series} />
    </div>
  );
}

interface ColumnProps {
  stack: Stack;
  id: string;
  x: number;
  width: number;
  y: (value: number) => number;
  chosen: boolean;
  choose: (key: string) => void;
  named: boolean;
}

function Column({ stack, id, x, width, y, chosen, choose, named }: ColumnProps) {
  const middle = x + width / 2;
  const cap = Math.min(8, width / 3);
  let sum = 0;
  const rects = stack.values.map((value, at) => {
    const top = y((sum += value));
    return <rect key={at} x={x} y={top} width={width} height={Math.max(0, y(sum - value) - top)} fill={fillOf(id, at)} />;
  });
  return (
    <g class={`mark ${chosen ? "chosen" : ""}`} tabindex={0} role="button" aria-pressed={chosen} aria-label={stack.label}
      onClick={() => choose(stack.key)}
      onKeyDown={(event) => {
        if (event.key !== "Enter" && event.key !== " ") return;
        event.preventDefault();
        choose(stack.key);
      }}>
      <title>{stack.label}</title>
      {rects}
      <path class="band" fill="none" d={`M${middle} ${y(stack.low)}V${y(stack.high)}M${middle - cap} ${y(stack.high)}h${2 * cap}M${middle - cap} ${y(stack.low)}h${2 * cap}`} />
      <rect class="ring" x={x - 2} y={y(Math.max(stack.high, sum)) - 2} width={width + 4} height={y(0) - y(Math.max(stack.high, sum)) + 4} />
      {named && <text x={middle} y={y(0) + 15} text-anchor="middle">{stack.key}</text>}
    </g>
  );
}
