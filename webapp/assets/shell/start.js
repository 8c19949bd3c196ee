// @ts-check
/* The lines of the first page that record a report: copied as a whole. Without a clipboard they are selected. */
import { closest, part } from "../shared/dom.js";
import { notice } from "./viewer.js";

document.addEventListener("click", async (event) => {
  const button = closest(event, "[data-copy]");
  if (!button) return;
  const lines = part("#profile-lines");
  window.getSelection()?.selectAllChildren(lines);
  try {
    await navigator.clipboard.writeText(lines.textContent || "");
    button.textContent = "Copied";
  } catch (_) {
    notice("The lines are selected: copy them with Ctrl + C.");
  }
});
