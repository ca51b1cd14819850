// Knobs that the person insists on: `--set KNOB=VALUE`, each checked against its type before it is asked.
import type { Signal } from "@preact/signals";
import { useSignal } from "@preact/signals";
import { knobs } from "../client/catalogue";
import { catalog } from "../client/clients";
import { failureOf } from "../client/failure";
import { clearKnob, parseValue, setKnob, wants } from "../state/pins";
import { changed } from "../state/question";
import type { Question } from "../state/question";
import { valueText } from "../words/text";
import { TextField } from "./fields";

export function PinsField({ of }: { of: Signal<Question> }) {
  const problem = useSignal("");
  const add = async (text: string): Promise<void> => {
    if (!text) return;
    problem.value = await takePin(of, text);
  };
  return (
    <div class="pins">
      <TextField label="your word on a knob" empty="KNOB=VALUE" value="" problem={problem.value} onFocus={() => void knobs.load()}
        names={knobs.entries.value.map(({ name }) => ({ name: `${name}=` }))} set={(text) => void add(text)} />
      <ul class="chips">
        {of.value.pinnedKnobs.map(({ name, value }) => (
          <li key={name}>
            <code>{name}={valueText(value)}</code>{" "}
            <button type="button" aria-label={`take back ${name}`}
              onClick={() => (of.value = changed(of.value, (draft) => clearKnob(draft, name)))}>×</button>
          </li>
        ))}
      </ul>
    </div>
  );
}

/** What is wrong with the words; empty: nothing, and they hold now. */
async function takePin(of: Signal<Question>, text: string): Promise<string> {
  const [name = "", ...rest] = text.split("=");
  if (rest.length === 0) return "wants KNOB=VALUE";
  try {
    const knob = await catalog.getKnob({ name: name.trim() });
    const value = parseValue(knob.type, rest.join("="));
    if (!value) return `${knob.name} ${wants(knob)}`;
    of.value = changed(of.value, (draft) => setKnob(draft, knob.name, value));
    return "";
  } catch (error) {
    return failureOf(error)?.sentence ?? "";
  }
}
