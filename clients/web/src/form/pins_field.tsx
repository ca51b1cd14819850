// Knobs that the person insists on: `--set KNOB=VALUE`, each checked against its type before it is asked.
import { useSignal } from "@preact/signals";
import { knobs } from "../client/catalogue";
import { catalog } from "../client/clients";
import { failureOf } from "../client/failure";
import type { KnobSetting, KnobValue } from "../generated/flightplan/v1/finding_pb";
import { parseValue, wants } from "../state/pins";
import { valueText } from "../words/text";
import { TextField } from "./fields";

interface Props {
  label: string;
  pins: readonly KnobSetting[];
  set: (name: string, value: KnobValue) => void;
  clear: (name: string) => void;
}

export function PinsField({ label, pins, set, clear }: Props) {
  const problem = useSignal("");
  const add = async (text: string): Promise<void> => {
    if (!text) return;
    problem.value = await takePin(set, text);
  };
  return (
    <div class="pins">
      <TextField label={label} empty="KNOB=VALUE" value="" problem={problem.value} onFocus={() => void knobs.load()}
        names={knobs.entries.value.map(({ name }) => ({ name: `${name}=` }))} set={(text) => void add(text)} />
      <ul class="chips">
        {pins.map(({ name, value }) => (
          <li key={name}>
            <code>{name}={valueText(value)}</code>{" "}
            <button type="button" aria-label={`take back ${name}`}
              onClick={() => clear(name)}>×</button>
          </li>
        ))}
      </ul>
    </div>
  );
}

/** What is wrong with the words; empty: nothing, and they hold now. */
async function takePin(set: Props["set"], text: string): Promise<string> {
  const [name = "", ...rest] = text.split("=");
  if (rest.length === 0) return "wants KNOB=VALUE";
  try {
    const knob = await catalog.getKnob({ name: name.trim() });
    const value = parseValue(knob.type, rest.join("="));
    if (!value) return `${knob.name} ${wants(knob)}`;
    set(knob.name, value);
    return "";
  } catch (error) {
    return failureOf(error)?.sentence ?? "";
  }
}
