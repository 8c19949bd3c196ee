// @ts-check
/* The lines of the first page that record a report: copied as a whole. Without a clipboard they are selected. */
(() => {
  "use strict";
  document.addEventListener("click", async (event) => {
    const button = popvision.closest(event, "[data-copy]");
    if (!button) return;
    const lines = popvision.part("#profile-lines");
    window.getSelection()?.selectAllChildren(lines);
    try {
      await navigator.clipboard.writeText(lines.textContent || "");
      button.textContent = "Copied";
    } catch (_) {
      popvision.notice("The lines are selected: copy them with Ctrl + C.");
    }
  });
})();
