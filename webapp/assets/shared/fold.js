/* Folding sections remember their state by name, across all reports. */
(function () {
  "use strict";
  const key = (element) => "popvision.fold." + element.dataset.fold;

  window.popvision.mount("details[data-fold]", (element) => {
    let stored = null;
    try {
      stored = window.localStorage.getItem(key(element));
    } catch (_) {
      /* open */
    }
    if (stored === "closed") element.open = false;
    const keep = (open) => {
      try {
        window.localStorage.setItem(key(element), open ? "open" : "closed");
      } catch (_) {
        /* not kept */
      }
    };
    // The browser announces a toggle later; who leaves the page at once would lose it. A click comes before the toggle.
    element.querySelector("summary").addEventListener("click", () => keep(!element.open));
    element.addEventListener("toggle", () => keep(element.open));
  });
})();
