// @ts-check
/* What is copied: the lines of the first page that record a report, and the address of a page. Without a clipboard the
   lines are selected, and the address is said. */
import { closest, part } from "../shared/dom.js";
import { commands } from "./commands.js";
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

async function copyLink() {
  try {
    await navigator.clipboard.writeText(window.location.href);
    notice("The link to this page is copied.");
  } catch (_) {
    notice("Copy this link: " + window.location.href);
  }
}

document.addEventListener("click", (event) => {
  if (closest(event, "[data-copy-link]")) copyLink();
});
commands.add({
  title: "Copy the link to this page",
  run: copyLink,
  when: () => document.querySelector("[data-copy-link]") !== null,
});
