// @ts-check
/* The zoom of a time axis in percent; a typed number zooms. 100 % shows everything. */

/** @param {number} percent */
const percentText = (percent) =>
  (percent < 1000 ? percent.toFixed(0) : Math.round(percent).toLocaleString("en-US")) + " %";

/**
 * @param {Canvas.Viewport} viewport
 * @param {() => void} moved the zoom was typed
 * @param {() => void} left the box gives the focus back
 */
function makeZoomBox(viewport, moved, left) {
  const box = document.createElement("input");
  box.className = "box";
  box.title = "Zoom; type a percentage, 100 % shows everything";
  box.setAttribute("aria-label", "Zoom in percent");
  const apply = () => {
    const percent = parseFloat(box.value.replace(/[,%\s]/g, ""));
    box.dataset.shown = "";
    if (percent > 0) viewport.setPercent(percent);
    moved();
  };
  box.addEventListener("change", apply);
  box.addEventListener("keydown", (event) => {
    if (event.key !== "Enter" && event.key !== "Escape") return;
    if (event.key === "Enter") apply();
    box.blur();
    left();
  });
  return box;
}

/**
 * Called in every frame.
 *
 * @param {HTMLInputElement | null} box
 * @param {Canvas.Viewport} viewport
 */
function showZoom(box, viewport) {
  const text = percentText(viewport.percent);
  if (!box || box.dataset.shown === text || document.activeElement === box) return;
  box.value = box.dataset.shown = text;
}

export { percentText, makeZoomBox, showZoom };
