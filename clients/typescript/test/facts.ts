// Answers as facts, and what a case wants of them; tests/conformance/README.md has the vocabulary.
import { Check } from "./generated/conformance";

const MASK = (1n << 64n) - 1n;

function fnv1a(bytes: Uint8Array): bigint {
  let hash = 0xcbf29ce484222325n;
  for (const byte of bytes) hash = ((hash ^ BigInt(byte)) * 0x100000001b3n) & MASK;
  return hash;
}

/** A real number as millionths, cut to an integer. */
export function millionths(value: number): string {
  return BigInt(Math.trunc(value * 1e6)).toString();
}

export class Facts {
  private readonly values = new Map<string, string[]>();

  add(name: string, value: string | boolean | number | bigint): void {
    const values = this.values.get(name) ?? [];
    values.push(String(value));
    this.values.set(name, values);
  }

  addReal(name: string, value: number): void {
    this.add(name, millionths(value));
  }

  addEach(name: string, values: Iterable<string>): void {
    for (const value of values) this.add(name, value);
  }

  of(name: string): string[] {
    return this.values.get(name) ?? [];
  }

  fingerprint(): string {
    let sum = 0n;
    for (const [name, values] of this.values) {
      if (name.includes("~")) continue;
      values.forEach((value, index) => (sum += fnv1a(Buffer.from(`${name}\0${index}\0${value}`))));
    }
    return (sum & MASK).toString(16).padStart(16, "0");
  }
}

export function holds(check: Check, values: string[]): boolean {
  const integer = values.length === 1 && /^-?\d+$/.test(values[0]!) ? BigInt(values[0]!) : undefined;
  const want = check.condition;
  switch (want?.$case) {
    case "is":
      return values.length === 1 && values[0] === want.is;
    case "has":
      return values.includes(want.has);
    case "lacks":
      return !values.includes(want.lacks);
    case "contains":
      return values.some((value) => value.includes(want.contains));
    case "run": {
      const run = want.run.values;
      return run.length > 0 && values.some((_, at) => run.every((value, i) => values[at + i] === value));
    }
    case "atLeast":
      return integer !== undefined && integer >= want.atLeast;
    case "atMost":
      return integer !== undefined && integer <= want.atMost;
    case "count":
      return values.length === want.count;
    default:
      return false;
  }
}
