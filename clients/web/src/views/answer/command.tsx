// The question as a terminal asks it.
import { CopyButton } from "../../parts/copy_button";
import type { Question } from "../../state/question";
import { commandText } from "../../words/command";

export function Command({ question }: { question: Question }) {
  const text = commandText("resolve", question);
  return <><pre>{text}</pre><CopyButton text={text} /></>;
}
