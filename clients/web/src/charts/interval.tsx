// One value with its interval beside zero.
import { scaleLinear } from "d3-scale";
import { useWidth } from "./use_width";

interface Props {
  title: string;
  low: number;
  value: number;
  high: number;
  text: (value: number) => string;
  /** What it means to be below zero, and above. */
  below: string;
  above: string;
}

const HEIGHT = 74;
const MIDDLE = 34;
const EDGE = 40;

export function Interval({ title, low, value, high, text, below, above }: Props) {
  const { place, width } = useWidth();
  const reach = 1.15 * Math.max(Math.abs(low), Math.abs(high), 1e-9);
  const x = scaleLinear().domain([-reach, reach]).range([EDGE, width - EDGE]);
  const ticks = Math.max(2, Math.floor(width / 140));
  return (
    <div ref={place}>
      <svg class="chart" width={width} height={HEIGHT} role="img" aria-label={`${title}: ${text(value)}, ${text(low)} to ${text(high)}`}>
        <text x={EDGE} y={12}>← {below}</text>
        <text x={width - EDGE} y={12} text-anchor="end">{above} →</text>
        <line class="axis" x1={EDGE} x2={width - EDGE} y1={MIDDLE + 16} y2={MIDDLE + 16} />
        {x.ticks(ticks).map((tick) => <text key={tick} x={x(tick)} y={HEIGHT - 8} text-anchor="middle">{tick === 0 ? "0" : text(tick)}</text>)}
        <line class="zero" x1={x(0)} x2={x(0)} y1={18} y2={MIDDLE + 16} />
        <rect class="interval" x={x(low)} y={MIDDLE - 8} width={Math.max(1, x(high) - x(low))} height={16} />
        <line class="band" x1={x(value)} x2={x(value)} y1={MIDDLE - 12} y2={MIDDLE + 12} />
      </svg>
    </div>
  );
}
