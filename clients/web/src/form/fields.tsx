// Fields of the forms: a label, an input, and what holds while it is empty.
import { useSignal } from "@preact/signals";
import { useId } from "preact/hooks";

interface Field {
  label: string;
  /** What holds while the field is empty: "searched", "4,096 assumed". */
  empty?: string;
}

export interface Named {
  name: string;
  note?: string;
}

/**
 * What an input shows, and what keeps it. A field that is being typed in is drawn again when an answer or a list of names
 * arrives; what is not set yet must outlive that.
 */
function useTyped(value: string, set: (text: string) => void) {
  const typed = useSignal<string | undefined>(undefined);
  return {
    value: typed.value ?? value,
    onInput: (event: { currentTarget: HTMLInputElement }) => (typed.value = event.currentTarget.value),
    onBlur: () => (typed.value = undefined),
    onChange: (event: { currentTarget: HTMLInputElement }) => {
      typed.value = undefined;
      set(event.currentTarget.value);
    },
  };
}

type TextProps = Field & { value: string; names?: readonly Named[]; onFocus?: () => void; set: (text: string) => void; problem?: string };

export function TextField({ label, empty = "", value, names, onFocus, set, problem }: TextProps) {
  const id = useId();
  const typed = useTyped(value, (text) => set(text.trim()));
  return (
    <div class="field">
      <label for={id}>{label}</label>
      <input id={id} placeholder={empty} list={names && `${id}-names`} onFocus={onFocus} spellcheck={false}
        autocomplete="off" aria-invalid={problem ? true : undefined} aria-describedby={problem ? `${id}-problem` : undefined}
        {...typed} />
      {names && <datalist id={`${id}-names`}>{names.map(({ name, note }) => <option key={name} value={name}>{note}</option>)}</datalist>}
      {problem && <p class="problem" id={`${id}-problem`} role="alert">{problem}</p>}
    </div>
  );
}

type NumberProps = Field & { value: number | bigint | undefined; most?: number; set: (number: number | undefined) => void };

export function NumberField({ label, empty = "searched", value, most = 2 ** 31 - 1, set }: NumberProps) {
  const id = useId();
  const read = (text: string): void => {
    const number = Math.trunc(Number(text));
    set(text === "" || !(number >= 1) ? undefined : Math.min(number, most));
  };
  const typed = useTyped(value === undefined ? "" : String(value), read);
  return (
    <div class="field">
      <label for={id}>{label}</label>
      <input id={id} type="number" min={1} max={most} inputMode="numeric" placeholder={empty} {...typed} />
    </div>
  );
}

export type Option<Value> = readonly [value: Value, label: string];
type ChoiceProps<Value> = Field & { value: Value; options: readonly Option<Value>[]; set: (value: Value) => void };

export function ChoiceField<Value>({ label, value, options, set }: ChoiceProps<Value>) {
  const id = useId();
  const at = options.findIndex(([option]) => option === value);
  return (
    <div class="field">
      <label for={id}>{label}</label>
      <select id={id} value={String(Math.max(at, 0))}
        onChange={(event) => set(options[Number(event.currentTarget.value)]![0])}>
        {options.map(([, text], index) => <option key={text} value={String(index)}>{text}</option>)}
      </select>
    </div>
  );
}
