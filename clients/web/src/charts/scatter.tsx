// Points by two measures; the shape says the kind, a line joins the frontier. A rectangle may be drawn over it: the brush.
import { useSignal } from "@preact/signals";
import { scaleLinear } from "d3-scale";
import type { ScaleLinear } from "d3-scale";
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

export type Span = readonly [low: number, high: number];

/** Part of the plane, both ends included. */
export interface Brush {
  x: Span;
  y: Span;
}

export function isWithin({ x, y }: { x: number; y: number }, brush: Brush | undefined): boolean {
  return !brush || x >= brush.x[0] && x <= brush.x[1] && y >= brush.y[0] && y <= brush.y[1];
}

interface Props {
  title: string;
  xName: string;
  yName: string;
  kinds: readonly string[];
  points: readonly Point[];
  choose: (key: number) => void;
  brush: Brush | undefined;
  /** Undefined: everything again. */
  setBrush: (brush: Brush | undefined) => void;
}

const HEIGHT = 340;
const EDGE = { top: 26, right: 20, bottom: 44, left: 56 };
const SHAPES = [symbolCircle, symbolTriangle, symbolDiamond];
const AREA = 90;
const LEAST_DRAG = 5;  // pixels; less is a click

function shapeOf(kind: number, area = AREA): string {
  return symbol(SHAPES[kind % SHAPES.length], area)() ?? "";
}

function padded(values: readonly number[]): [number, number] {
  const [low, high] = [Math.min(...values), Math.max(...values)];
  const pad = (high - low || Math.abs(high) || 1) * 0.06;
  return [low - pad, high + pad];
}

export function Scatter({ title, xName, yName, kinds, points, choose, brush, setBrush }: Props) {
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
        <BrushArea x={x} y={y} width={width} brush={brush} setBrush={setBrush} />
        <line class="axis" x1={EDGE.left} x2={width - EDGE.right} y1={HEIGHT - EDGE.bottom} y2={HEIGHT - EDGE.bottom} />
        <text x={EDGE.left} y={14}>{yName}</text>
        <text x={width - EDGE.right} y={HEIGHT - 8} text-anchor="end">{xName}</text>
        <path class="frontier" d={path} />
        {points.map((point) => <Mark key={point.key} point={point} x={x(point.x)} y={y(point.y)} outside={!isWithin(point, brush)} choose={choose} />)}
      </svg>
      <ul class="legend">
        {kinds.map((name, kind) => <li key={name}><svg viewBox="-8 -8 16 16" aria-hidden="true"><path class={`s${kind}`} d={shapeOf(kind)} /></svg>{name}</li>)}
        <li><svg viewBox="0 0 16 16" aria-hidden="true"><path class="frontier" d="M0 12L8 6L16 4" /></svg>frontier: no other is better by both</li>
      </ul>
    </div>
  );
}

type Scale = ScaleLinear<number, number>;
type Corner = readonly [x: number, y: number];

function brushOf(x: Scale, y: Scale, [ax, ay]: Corner, [bx, by]: Corner): Brush {
  const span = (scale: Scale, a: number, b: number): Span => {
    const [low, high] = [scale.invert(a), scale.invert(b)];
    return low < high ? [low, high] : [high, low];
  };
  return { x: span(x, ax, bx), y: span(y, ay, by) };
}

/** Where a pointer draws the brush; a click beside the points takes it away. */
function BrushArea({ x, y, width, brush, setBrush }: { x: Scale; y: Scale; width: number; brush: Brush | undefined; setBrush: Props["setBrush"] }) {
  const from = useSignal<Corner | undefined>(undefined);
  const at = (event: PointerEvent): Corner => {
    const box = (event.currentTarget as SVGElement).ownerSVGElement!.getBoundingClientRect();
    const clamped = (value: number, low: number, high: number): number => Math.min(high, Math.max(low, value));
    return [clamped(event.clientX - box.left, EDGE.left, width - EDGE.right), clamped(event.clientY - box.top, EDGE.top, HEIGHT - EDGE.bottom)];
  };
  const isDrag = ([ax, ay]: Corner, [bx, by]: Corner): boolean => Math.hypot(ax - bx, ay - by) >= LEAST_DRAG;
  return (
    <>
      <rect class="plane" x={EDGE.left} y={EDGE.top} width={Math.max(0, width - EDGE.left - EDGE.right)} height={HEIGHT - EDGE.top - EDGE.bottom}
        onPointerDown={(event) => {
          event.currentTarget.setPointerCapture(event.pointerId);
          from.value = at(event);
        }}
        onPointerMove={(event) => {
          const to = at(event);
          if (from.value && isDrag(from.value, to)) setBrush(brushOf(x, y, from.value, to));
        }}
        onPointerUp={(event) => {
          if (from.value && !isDrag(from.value, at(event))) setBrush(undefined);
          from.value = undefined;
        }}
        onPointerCancel={() => (from.value = undefined)} />
      {brush && <rect class="brush" x={x(brush.x[0])} y={y(brush.y[1])} width={x(brush.x[1]) - x(brush.x[0])} height={y(brush.y[0]) - y(brush.y[1])} />}
    </>
  );
}

function Mark({ point, x, y, outside, choose }: { point: Point; x: number; y: number; outside: boolean; choose: (key: number) => void }) {
  return (
    <g class={`mark ${point.chosen ? "chosen" : ""} ${outside ? "outside" : ""}`} transform={`translate(${x} ${y})`} tabindex={0} role="checkbox" aria-checked={point.chosen}
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
