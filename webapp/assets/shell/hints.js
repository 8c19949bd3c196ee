// @ts-check
/* Hints at the first visit of a view. A hint goes with its button, Escape, or a turn of the wheel over the page, which
   shows that it is known; this browser remembers that. */
import { part } from "../shared/dom.js";
import { mount, recall, remember } from "./viewer.js";

mount("[data-hint]", (hint) => {
  const name = "popvision.hint." + hint.dataset.hint;
  if (recall(name)) return undefined;
  const listeners = new AbortController();
  const dismiss = () => {
    remember(name, "read");
    hint.hidden = true;
    listeners.abort();
  };
  const { signal } = listeners;
  part("button", hint).addEventListener("click", dismiss, { signal });
  document.addEventListener("wheel", dismiss, { signal, passive: true });
  document.addEventListener(
    "keydown",
    (event) => {
      if (event.key === "Escape") dismiss();
    },
    { signal },
  );
  hint.hidden = false;
  return () => listeners.abort();
});
