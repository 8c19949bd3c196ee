// @ts-check
/* Hints at the first visit of a view. A hint goes with its button, Escape, or a turn of the wheel over the page, which
   shows that it is known; this browser remembers that. */
(() => {
  "use strict";

  popvision.mount("[data-hint]", (hint) => {
    const name = "popvision.hint." + hint.dataset.hint;
    if (popvision.recall(name)) return undefined;
    const listeners = new AbortController();
    const dismiss = () => {
      popvision.remember(name, "read");
      hint.hidden = true;
      listeners.abort();
    };
    const { signal } = listeners;
    popvision.part("button", hint).addEventListener("click", dismiss, { signal });
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
})();
