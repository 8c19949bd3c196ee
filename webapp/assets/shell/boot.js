// @ts-check
/* Runs before the first paint: theme and folded menu as the user left them. Storage may be forbidden; then defaults. */
(() => {
  "use strict";
  const root = document.documentElement;
  /** @param {string} name */
  function stored(name) {
    try {
      return window.localStorage.getItem(name);
    } catch (_) {
      return null;
    }
  }
  const dark = window.matchMedia && window.matchMedia("(prefers-color-scheme: dark)").matches;
  const theme = stored("popvision.theme");
  const choice = theme === "light" || theme === "dark" ? theme : "auto";
  root.dataset.themeChoice = choice;
  root.dataset.theme = choice !== "auto" ? choice : dark ? "dark" : "light";
  // On a small screen, or one at twice its size, the page needs the width more than the names of the views do.
  const nav = stored("popvision.nav") || (window.innerWidth < 1100 ? "narrow" : "wide");
  root.dataset.nav = nav === "narrow" ? "narrow" : "wide";
})();
