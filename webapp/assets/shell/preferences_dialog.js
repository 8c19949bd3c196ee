// @ts-check
/* Preferences dialog (webapp/components/preferences_dialog.py): groups of choices, one pressed in each. */
(() => {
  "use strict";

  /** @param {string} name */
  function valueOf(name) {
    return name === "theme" ? popvision.themeChoice() : popvision.preference(name);
  }

  /** @param {Element} dialog */
  function show(dialog) {
    for (const choice of popvision.all("[data-preference]", dialog)) {
      const on = valueOf(choice.dataset.preference || "") === choice.dataset.value;
      choice.setAttribute("aria-checked", on ? "true" : "false");
      choice.tabIndex = on ? 0 : -1;
    }
  }

  /** @param {HTMLElement} choice */
  function choose(choice) {
    const { preference = "", value = "" } = choice.dataset;
    if (preference === "theme") popvision.setTheme(value);
    else popvision.setPreference(preference, value);
    show(popvision.part("#preferences"));
  }

  document.addEventListener(
    "popvision:open",
    (event) => {
      if (event.target instanceof HTMLElement && event.target.id === "preferences") show(event.target);
    },
    true,
  );

  document.addEventListener("click", (event) => {
    const choice = popvision.closest(event, "[data-preference]");
    if (choice) choose(choice);
  });

  document.addEventListener("keydown", (event) => {
    const choice = popvision.closest(event, "[data-preference]");
    if (!choice) return;
    const places = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
    if (!places) return;
    event.preventDefault();
    const next = popvision.neighbour(choice, places);
    choose(next);
    next.focus();
  });
})();
