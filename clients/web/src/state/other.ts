// The second question of a comparison; undefined: none is chosen.
import { effect, signal } from "@preact/signals";
import { latest } from "../client/latest";
import { token } from "../client/token";
import { resolve } from "./answer";
import type { Answer } from "./answer";
import type { Question } from "./question";

export const other = signal<Question | undefined>(undefined);
/** What the sides are called in a report; undefined: by their questions. */
export const sideNames = signal<readonly string[] | undefined>(undefined);
export const otherAnswer = latest<Answer>();

let kept = false;
export function keepOtherAnswered(): void {
  if (kept) return;
  kept = true;
  effect(() => {
    const written = other.value;
    void token.value;
    if (written) void otherAnswer.ask((signal) => resolve(written, signal));
    else {
      otherAnswer.cancel();
      otherAnswer.answer.value = undefined;
    }
  });
}
