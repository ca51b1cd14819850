// Figures and values as the terminal writes them (clients/cli/text.h, service/doors/spelling.h).
import type { KnobValue } from "../generated/flightplan/v1/finding_pb";

export const GIB = 1024 ** 3;

/** "1,024". */
export function withThousands(number: number | bigint): string {
  return number.toString().replace(/\B(?=(\d{3})+(?!\d))/g, ",");
}

/** "671 B", "30.5 B", "560 M". */
export function parameterText(count: bigint): string {
  const [scale, unit] = count >= 1_000_000_000n ? [1e9, "B"] : [1e6, "M"];
  const number = Number(count) / (scale as number);
  return `${number.toFixed(number < 100 ? 1 : 0)} ${unit}`;
}

/** GiB without the unit: "71", "4.2", "0.03". */
export function gibNumber(bytes: number | bigint): string {
  const gib = Number(bytes) / GIB;
  return gib.toFixed(gib >= 10 || gib === 0 ? 0 : gib >= 1 ? 1 : 2);
}

/** "27 %", "3.4 %". */
export function percentText(ratio: number): string {
  const percent = ratio * 100;
  return `${percent.toFixed(Math.abs(percent) >= 9.95 || percent === 0 ? 0 : 1)} %`;
}

/** "+8 %", "-3.4 %". */
export function signedPercent(ratio: number): string {
  return `${ratio < 0 ? "-" : "+"}${percentText(Math.abs(ratio))}`;
}

/** "1 error", "2 errors". */
export function plural(count: number, noun: string): string {
  return `${withThousands(count)} ${noun}${count === 1 ? "" : "s"}`;
}

/** As a person types it; "none" where the value is unset. */
export function valueText(value: KnobValue | undefined): string {
  const kind = value?.kind;
  switch (kind?.case) {
    case "boolValue":
    case "intValue":
    case "stringValue":
      return String(kind.value);
    case "doubleValue":
      return Number.isInteger(kind.value) ? kind.value.toFixed(1) : String(kind.value);
    case "listValue":
      return kind.value.values.map(valueText).join(",");
    default:
      return "none";
  }
}

/** A part's or a path's name for people: "optimizer_state" is "optimizer state". */
export function partName(name: string): string {
  return name.replaceAll("_", " ");
}

/** A word that a shell takes as it stands, quoted where it must be. */
export function shellWord(word: string): string {
  return /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`;
}
