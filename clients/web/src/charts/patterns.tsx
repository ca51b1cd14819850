// Colour and pattern of a series, so that no chart depends on colour alone.
import type { JSX } from "preact";

export const SERIES_COUNT = 8;

// What is drawn over the colour, in a square of 8; the first series is plain.
const MARKS: readonly JSX.Element[] = [
  <></>,
  <path class="hatch" d="M0 8L8 0" />,
  <circle class="hatch-dot" cx="4" cy="4" r="1.5" />,
  <path class="hatch" d="M0 0L8 8" />,
  <path class="hatch" d="M0 4H8" />,
  <path class="hatch" d="M4 0V8" />,
  <path class="hatch" d="M0 4H8M4 0V8" />,
  <path class="hatch" d="M0 0L8 8M0 8L8 0" />,
];

/** Definitions for one drawing; `id` is its own. */
export function Patterns({ id }: { id: string }) {
  return (
    <defs>
      {MARKS.map((mark, at) => (
        <pattern key={at} id={`${id}-${at}`} width="8" height="8" patternUnits="userSpaceOnUse">
          <rect class={`s${at}`} width="8" height="8" />{mark}
        </pattern>
      ))}
    </defs>
  );
}

export function fillOf(id: string, series: number): string {
  return `url(#${id}-${series % SERIES_COUNT})`;
}

/** What a colour and pattern stand for. */
export function Legend({ id, names }: { id: string; names: readonly string[] }) {
  return (
    <ul class="legend">
      {names.map((name, at) => (
        <li key={name}>
          <svg viewBox="0 0 16 16" aria-hidden="true"><Patterns id={`${id}-k${at}`} /><rect width="16" height="16" fill={fillOf(`${id}-k${at}`, at)} /></svg>
          {name}
        </li>
      ))}
    </ul>
  );
}
