/* Folding sections remember their state by name, across all reports. */
(function () {
  "use strict";
  const key = (element) => "popvision.fold." + element.dataset.fold;

  window.popvision.mount("details[data-fold]", (element) => {
    let stored = null;
    try { stored = window.localStorage.getItem(key(element)); } catch (_) { /* open */ }
    if (stored === "closed") element.open = false;
    element.addEventListener("toggle", () => {
      try { window.localStorage.setItem(key(element), element.open ? "open" : "closed"); } catch (_) { /* not kept */ }
    });
  });
})();
