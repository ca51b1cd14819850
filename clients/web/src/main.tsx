// Starts the page: the question of the address bar, else the README's example, is asked at once.
import { render } from "preact";
import { App } from "./app";
import { keepAnswered } from "./state/answer";
import { start } from "./state/share";
import "./state/theme";
import { openForPrint } from "./print";

openForPrint();
void start().then(() => {
  keepAnswered();
  render(<App />, document.getElementById("page")!);
});
