// One question at a time: a newer one ends the older, and the last answer stays in sight meanwhile.
import { signal } from "@preact/signals";
import type { Signal } from "@preact/signals";
import { failureOf } from "./failure";
import type { Failure } from "./failure";

export interface Latest<Answer> {
  /** The last answer; undefined before the first. */
  answer: Signal<Answer | undefined>;
  failure: Signal<Failure | undefined>;
  /** Whether a newer answer is on its way. */
  asking: Signal<boolean>;
  /** Milliseconds from question to the last answer. */
  tookMs: Signal<number>;
  ask: (call: (signal: AbortSignal) => Promise<Answer>) => Promise<void>;
  cancel: () => void;
}

export function latest<Answer>(): Latest<Answer> {
  const state = {
    answer: signal<Answer | undefined>(undefined),
    failure: signal<Failure | undefined>(undefined),
    asking: signal(false),
    tookMs: signal(0),
  };
  let running: AbortController | undefined;
  const cancel = (): void => {
    running?.abort();
    running = undefined;
    state.asking.value = false;
  };
  const ask = async (call: (signal: AbortSignal) => Promise<Answer>): Promise<void> => {
    running?.abort();
    const mine = (running = new AbortController());
    state.asking.value = true;
    const start = performance.now();
    try {
      const answer = await call(mine.signal);
      if (running !== mine) return;
      state.tookMs.value = performance.now() - start;
      state.answer.value = answer;
      state.failure.value = undefined;
    } catch (error) {
      if (running !== mine) return;
      state.failure.value = failureOf(error);
    }
    if (running === mine) cancel();
  };
  return { ...state, ask, cancel };
}
