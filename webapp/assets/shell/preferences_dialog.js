// @ts-check
/* Preferences dialog (webapp/components/preferences_dialog.py): groups of choices, one pressed in each. */
import { all, closest, neighbour, part } from "../shared/dom.js";
import * as preferences from "./preferences.js";
import { setTheme, themeChoice } from "./viewer.js";

/** @param {string} name */
function valueOf(name) {
  return name === "theme" ? themeChoice() : preferences.preference(name);
}

/** @param {Element} dialog */
function show(dialog) {
  for (const choice of all("[data-preference]", dialog)) {
    const on = valueOf(choice.dataset.preference || "") === choice.dataset.value;
    choice.setAttribute("aria-checked", on ? "true" : "false");
    choice.tabIndex = on ? 0 : -1;
  }
}

/** @param {HTMLElement} choice */
function choose(choice) {
  const { preference = "", value = "" } = choice.dataset;
  if (preference === "theme") setTheme(value);
  else preferences.setPreference(preference, value);
  show(part("#preferences"));
}

document.addEventListener(
  "popvision:open",
  (event) => {
    if (event.target instanceof HTMLElement && event.target.id === "preferences") show(event.target);
  },
  true,
);

document.addEventListener("click", (event) => {
  const choice = closest(event, "[data-preference]");
  if (choice) choose(choice);
});

document.addEventListener("keydown", (event) => {
  const choice = closest(event, "[data-preference]");
  if (!choice) return;
  const places = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
  if (!places) return;
  event.preventDefault();
  const next = neighbour(choice, places);
  choose(next);
  next.focus();
});
