/* The preferences dialog (webapp/components/preferences_dialog.py): groups of choices, one pressed in each. */
(function () {
  "use strict";

  function now(name) {
    return name === "theme" ? window.popvision.themeChoice() : window.popvision.preference(name);
  }

  function show(dialog) {
    for (const choice of dialog.querySelectorAll("[data-preference]")) {
      const on = now(choice.dataset.preference) === choice.dataset.value;
      choice.setAttribute("aria-checked", on ? "true" : "false");
      choice.tabIndex = on ? 0 : -1;
    }
  }

  function choose(choice) {
    const { preference, value } = choice.dataset;
    if (preference === "theme") window.popvision.setTheme(value);
    else window.popvision.setPreference(preference, value);
    show(choice.closest("dialog"));
  }

  document.addEventListener(
    "popvision:open",
    (event) => {
      if (event.target.id === "preferences") show(event.target);
    },
    true,
  );

  document.addEventListener("click", (event) => {
    const choice = event.target.closest("[data-preference]");
    if (choice) choose(choice);
  });

  document.addEventListener("keydown", (event) => {
    const choice = event.target.closest && event.target.closest("[data-preference]");
    if (!choice) return;
    const all = Array.from(choice.parentElement.querySelectorAll("[data-preference]"));
    const by = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: all.length - 1, ArrowUp: all.length - 1 }[event.key];
    if (!by) return;
    event.preventDefault();
    const next = all[(all.indexOf(choice) + by) % all.length];
    choose(next);
    next.focus();
  });
})();
