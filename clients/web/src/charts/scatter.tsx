// Points by two measures; the shape says the kind, a line joins the frontier.
import { scaleLinear } from "d3-scale";
import { line, symbol, symbolCircle, symbolDiamond, symbolTriangle } from "d3-shape";
import { useWidth } from "./use_width";

export interface Point {
  key: number;
  /** Read out for the point. */
  label: string;
  x: number;
  y: number;
  /** 0: circle, 1: triangle, 2: diamond. */
  kind: number;
  frontier: boolean;
  chosen: boolean;
}

interface Props {
  title: string;
  xName: string;
  yName: string;
  kinds: readonly string[];
  points: readonly Point[];
  choose: (key: number) => void;
}

const HEIGHT = 340;
const EDGE = { top: 26, right: 20, bottom: 44, left: 56 };
const SHAPES = [symbolCircle, symbolTriangle, symbolDiamond];
const AREA = 90;

function shapeOf(kind: number, area = AREA): string {
  return symbol(SHAPES[kind % SHAPES.length], area)() ?? "";
}

function padded(values: readonly number[]): [number, number] {
  const [low, high] = [Math.min(...values), Math.max(...values)];
  const pad = (high - low || Math.abs(high) || 1) * 0.06;
  return [low - pad, high + pad];
}

export function Scatter({ title, xName, yName, kinds, points, choose }: Props) {
  const { place, width } = useWidth();
  const x = scaleLinear().domain(padded(points.map((point) => point.x))).range([EDGE.left, width - EDGE.right]);
  const y = scaleLinear().domain(padded(points.map((point) => point.y))).range([HEIGHT - EDGE.bottom, EDGE.top]);
  const acrossTicks = Math.max(2, Math.floor(width / 90));
  const joined = points.filter((point) => point.frontier).sort((a, b) => a.x - b.x || a.y - b.y);
  const path = line<Point>((point) => x(point.x), (point) => y(point.y))(joined) ?? "";
  return (
    <div ref={place}>
      <svg class="chart" width={width} height={HEIGHT} role="group" aria-label={title}>
        {y.ticks(6).map((tick) => (
          <g key={tick}>
            <line class="grid" x1={EDGE.left} x2={width - EDGE.right} y1={y(tick)} y2={y(tick)} />
            <text x={EDGE.left - 6} y={y(tick) + 4} text-anchor="end">{y.tickFormat(6)(tick)}</text>
          </g>
        ))}
        {x.ticks(acrossTicks).map((tick) => (
          <text key={tick} x={x(tick)} y={HEIGHT - EDGE.bottom + 16} text-anchor="middle">{x.tickFormat(acrossTicks)(tick)}</text>
        ))}
        <line class="axis" x1={EDGE.left} x2={width - EDGE.right} y1={HEIGHT - EDGE.bottom} y2={HEIGHT - EDGE.bottom} />
        <text x={EDGE.left} y={14}>{yName}</text>
        <text x={width - EDGE.right} y={HEIGHT - 8} text-anchor="end">{xName}</text>
        <path class="frontier" d={path} />
        {points.map((point) => <Mark key={point.key} point={point} x={x(point.x)} y={y(point.y)} choose={choose} />)}
      </svg>
      <ul class="legend">
        {kinds.map((name, kind) => <li key={name}><svg viewBox="-8 -8 16 16" aria-hidden="true"><path class={`s${kind}`} d={shapeOf(kind)} /></svg>{name}</li>)}
        <li><svg viewBox="0 0 16 16" aria-hidden="true"><path class="frontier" d="M0 12L8 6L16 4" /></svg>frontier: no other is better by both</li>
      </ul>
    </div>
  );
}

function Mark({ point, x, y, choose }: { point: Point; x: number; y: number; choose: (key: number) => void }) {
  return (
    <g class={`mark ${point.chosen ? "chosen" : ""}`} transform={`translate(${x} ${y})`} tabindex={0} role="checkbox" aria-checked={point.chosen}
      aria-label={point.label} onClick={() => choose(point.key)}
      onKeyDown={(event) => {
        if (event.key !== "Enter" && event.key !== " ") return;
        event.preventDefault();
        choose(point.key);
      }}>
      <title>{point.label}</title>
      <path class={`s${point.kind} ${point.frontier ? "" : "behind"}`} d={shapeOf(point.kind)} />
      <circle class="ring" r="10" />
    </g>
  );
}
